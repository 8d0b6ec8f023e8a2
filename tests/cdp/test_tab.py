"""A tab of our own in a real Chromium: how it opens, where it goes, and what it does about dialogs."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest

from castlenb.cdp import Connection, background_tab
from castlenb.errors import CallTimeout, NavigationFailed, ProtocolError

from .conftest import Onlooker, Site, ask, loaded

# Opening


async def test_a_tab_is_in_the_background_and_at_a_blank_page(connection: Connection, onlooker: Onlooker) -> None:
    async with background_tab(connection, emulate_focus=False) as tab:
        target = (await onlooker.targets())[tab.target_id]
        assert (target["type"], target["url"]) == ("page", "about:blank")
        assert await ask(tab, "document.visibilityState") == "hidden"
        assert tab.frame_id == (await tab.session.call("Page.getFrameTree"))["frameTree"]["frame"]["id"]


async def test_focus_emulation_lets_the_page_run_at_full_speed_from_the_start(
    connection: Connection, site: Site
) -> None:
    ticks = "new Promise(done => { let n = 0; setInterval(() => { n++ }, 10); setTimeout(() => done(n), 600) })"
    async with background_tab(connection) as lit, background_tab(connection, emulate_focus=False) as dark:
        for tab in (lit, dark):
            await loaded(tab, site.url("plain"))
        assert await ask(lit, "[document.visibilityState, document.hasFocus()]") == ["visible", True]
        assert await ask(dark, "[document.visibilityState, document.hasFocus()]") == ["hidden", False]
        assert await ask(lit, ticks, await_promise=True) > 3 * await ask(dark, ticks, await_promise=True)
        frame = "new Promise(done => requestAnimationFrame(() => done('painted')))"
        assert await ask(lit, frame, await_promise=True) == "painted"
        with pytest.raises(CallTimeout):
            await ask(dark, frame, await_promise=True, timeout=0.3)


async def test_what_was_prepared_is_in_place_when_the_block_begins(connection: Connection, site: Site) -> None:
    script = {"source": "globalThis.early = document.documentElement === null", "worldName": "ours"}
    async with background_tab(connection, prepare=[("Page.addScriptToEvaluateOnNewDocument", script)]) as tab:
        for path in ("plain", "csp", "other"):
            await tab.navigate(site.url(path))
            ours = await tab.world("ours")
            assert await tab.session.evaluate("early", context_id=ours) is True, "before anything of the page"
            assert await tab.session.evaluate("typeof early", context_id=await tab.world("another")) == "undefined"
            assert await tab.world("ours") == ours, "one world a name and document"


async def test_a_command_that_can_not_be_prepared_fails_the_opening(connection: Connection) -> None:
    opened: list[str] = []
    closed: list[str] = []
    with pytest.raises(ProtocolError, match=r"No\.such"):
        async with background_tab(
            connection, prepare=[("No.such", {})], on_created=opened.append, on_closed=closed.append
        ):
            pytest.fail("the block must not run")
    assert len(opened) == 1
    assert closed == opened


async def test_ten_tabs_at_once(connection: Connection, onlooker: Onlooker) -> None:
    before = await onlooker.pages()
    async with contextlib.AsyncExitStack() as stack:
        tabs = await asyncio.gather(*(stack.enter_async_context(background_tab(connection)) for _ in range(10)))
        assert await onlooker.pages() == before | {tab.target_id for tab in tabs}
        assert [await ask(tab, "1") for tab in tabs] == [1] * 10
    assert await onlooker.pages() == before


async def test_a_guest_sends_nothing_that_a_guest_must_not(
    connection: Connection, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = connection._websocket.send

    async def record(text: str) -> None:
        sent.append(json.loads(text)["method"])
        await send(text)

    monkeypatch.setattr(connection._websocket, "send", record)
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("plain"))
        await ask(tab, "1")
    assert set(sent) == {
        "Target.createTarget",
        "Target.attachToTarget",
        "Page.enable",
        "Emulation.setFocusEmulationEnabled",
        "Page.navigate",
        "Page.createIsolatedWorld",
        "Runtime.evaluate",
        "Target.closeTarget",
    }


# Going somewhere


@pytest.mark.parametrize(("path", "status"), [("plain", 200), ("missing", 404), ("limited", 429)])
async def test_a_page_is_a_page_whatever_its_status(connection: Connection, site: Site, path: str, status: int) -> None:
    async with background_tab(connection) as tab:
        async with tab.session.expect("Page.loadEventFired"):
            loader_id = await tab.navigate(site.url(path))
        assert loader_id == (await tab.session.call("Page.getFrameTree"))["frameTree"]["frame"]["loaderId"]
        assert await ask(tab, "document.title") == path
        assert await ask(tab, "performance.getEntriesByType('navigation')[0].responseStatus") == status


@pytest.mark.proof
@pytest.mark.parametrize(
    ("path", "error_text", "hint"),
    [
        ("nothing", "net::ERR_HTTP_RESPONSE_CODE_FAILURE", "an error status and an empty page"),
        ("failed", "net::ERR_HTTP_RESPONSE_CODE_FAILURE", "an error status and an empty page"),
        ("no-content", "net::ERR_ABORTED", "no document"),
        ("file", "net::ERR_ABORTED", "download"),
        ("loop", "net::ERR_TOO_MANY_REDIRECTS", ""),
        ("http://127.0.0.1:1/", "net::ERR_UNSAFE_PORT", ""),
        ("http://127.0.0.1:1023/", "net::ERR_CONNECTION_REFUSED", ""),
        ("http://nowhere.invalid/", "net::ERR_NAME_NOT_RESOLVED", ""),
        ("javascript:void 0", "net::ERR_ABORTED", "no document"),
        ("not an address", "Cannot navigate to invalid URL", ""),
    ],
)
async def test_what_can_not_be_opened_says_so(
    connection: Connection, site: Site, path: str, error_text: str, hint: str
) -> None:
    url = path if ":" in path or " " in path else site.url(path)
    async with background_tab(connection) as tab:
        with pytest.raises(NavigationFailed) as caught:
            await tab.navigate(url)
        assert (caught.value.url, caught.value.error_text) == (url, error_text)
        assert hint in caught.value.hint
        assert url in str(caught.value)
        await loaded(tab, site.url("plain"))
        assert await ask(tab, "document.title") == "plain"


async def test_a_fragment_is_no_new_document(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("plain"))
        async with tab.session.expect("Page.navigatedWithinDocument"):
            assert await tab.navigate(site.url("plain#part")) == ""


async def test_the_loader_id_names_the_first_document_of_a_redirect_by_script(
    connection: Connection, site: Site
) -> None:
    async with background_tab(connection) as tab:
        async with tab.session.expect(
            "Page.frameNavigated", where=lambda event: bool(event["frame"]["url"].endswith("plain"))
        ) as got:
            first = await tab.navigate(site.url("moves"))
        assert first
        assert got.params["frame"]["loaderId"] != first


async def test_a_document_that_never_comes_is_given_up_and_the_tab_goes_on(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("plain"))
        with pytest.raises(CallTimeout, match=r"Page\.navigate"):
            await tab.navigate(site.url("hangs"), timeout=0.2)
        assert await ask(tab, "document.title", timeout=5) == "plain", "the load was stopped, or nothing is answered"
        await tab.navigate(site.url("other"))


async def test_a_cancelled_navigation_is_stopped(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("plain"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await tab.navigate(site.url("hangs"), timeout=60)
        assert await ask(tab, "document.title", timeout=5) == "plain"


async def test_a_second_navigation_takes_the_place_of_the_first(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        first = asyncio.create_task(tab.navigate(site.url("hangs")))
        await site.hanging.wait()
        await tab.navigate(site.url("plain"))
        with pytest.raises(NavigationFailed, match=r"ERR_ABORTED\. .*another navigation"):
            await first


async def test_the_session_stays_the_same_across_sites(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        before = tab.session.session_id, tab.target_id, tab.frame_id
        await tab.navigate(site.url("plain"))
        await tab.navigate(site.url("plain").replace("127.0.0.1", "localhost"))
        assert await ask(tab, "location.hostname") == "localhost"
        tree = (await tab.session.call("Page.getFrameTree"))["frameTree"]["frame"]
        assert (tab.session.session_id, tab.target_id, tree["id"]) == before


# Dialogs


async def test_a_dialog_is_declined(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("alerts"))
        assert await ask(tab, "document.title", timeout=5) == "said false"


async def test_a_page_that_asks_to_stay_is_left(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("clings"))
        # Only a page that somebody has touched may ask.
        touch = {"expression": "1", "userGesture": True}
        await tab.session.call("Runtime.evaluate", touch)
        async with tab.session.expect("Page.javascriptDialogOpening") as got:
            await loaded(tab, site.url("plain"))
        assert got.params["type"] == "beforeunload"
        assert await ask(tab, "document.title") == "plain"


async def test_a_page_that_asks_to_stay_is_closed(connection: Connection, site: Site, onlooker: Onlooker) -> None:
    async with background_tab(connection) as tab:
        await loaded(tab, site.url("clings"))
        await tab.session.call("Runtime.evaluate", {"expression": "1", "userGesture": True})
    assert tab.target_id not in await onlooker.pages()
