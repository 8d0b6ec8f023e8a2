"""A tab of our own in a real Chromium: how it opens, where it goes, and that it closes whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import types
from collections.abc import Coroutine, Generator
from typing import Any

import pytest

import castlenb.cdp.tab as module
from castlenb.cdp import Connection, Tab, background_tab, discover
from castlenb.errors import CallTimeout, CastleError, NavigationFailed, ProtocolError, TabClosed, TabCrashed
from castlenb.lab.chromium import Chromium

from .conftest import Onlooker, Relay, Site


async def ask(tab: Tab, expression: str, **options: Any) -> Any:
    return await tab.session.evaluate(expression, context_id=await tab.world("test"), **options)


async def loaded(tab: Tab, url: str) -> None:
    async with tab.session.expect("Page.loadEventFired"):
        await tab.navigate(url)


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
        "Page.getFrameTree",
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


# Closing


async def test_the_tab_is_gone_for_everybody_when_the_block_has_ended(
    connection: Connection, onlooker: Onlooker
) -> None:
    created: list[str] = []
    closed: list[str] = []
    for _ in range(10):
        async with background_tab(connection, on_created=created.append, on_closed=closed.append) as tab:
            assert created[-1] == tab.target_id
            assert tab.target_id in await onlooker.pages()
            assert tab.target_id not in closed
        assert tab.target_id not in await onlooker.pages()
        assert closed == created


async def test_a_tab_is_closed_in_the_middle_of_a_navigation(
    connection: Connection, onlooker: Onlooker, site: Site
) -> None:
    """Chrome loses a closing that arrives while a document is committed, and answers it with success."""
    for _ in range(10):
        async with background_tab(connection) as tab:
            await tab.navigate(site.url("plain"))
        assert tab.target_id not in await onlooker.pages()


async def test_a_tab_is_closed_while_its_document_does_not_come(
    connection: Connection, onlooker: Onlooker, site: Site
) -> None:
    async with background_tab(connection) as tab:
        navigation = asyncio.create_task(tab.navigate(site.url("hangs")))
        await site.hanging.wait()
    assert tab.target_id not in await onlooker.pages()
    async with asyncio.timeout(5):  # Chrome itself ends it, and not always with an error
        with contextlib.suppress(NavigationFailed, TabClosed):
            await navigation


async def test_a_tab_is_closed_while_its_script_runs_for_ever(connection: Connection, onlooker: Onlooker) -> None:
    async with background_tab(connection) as tab:
        busy = asyncio.create_task(ask(tab, "for (;;);"))
        await asyncio.sleep(0.1)
    with pytest.raises(TabClosed):
        await busy
    await onlooker.gone(tab.target_id)


async def test_an_error_in_the_block_closes_the_tab(connection: Connection, onlooker: Onlooker) -> None:
    with pytest.raises(ZeroDivisionError):
        async with background_tab(connection) as tab:
            raise ZeroDivisionError
    assert tab.target_id not in await onlooker.pages()


async def test_an_error_in_on_created_closes_the_tab(connection: Connection) -> None:
    closed: list[str] = []

    def fail(target_id: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with background_tab(connection, on_created=fail, on_closed=closed.append):
            pytest.fail("the block must not run")
    assert len(closed) == 1


async def test_a_tab_that_somebody_else_closed_is_closed(connection: Connection, onlooker: Onlooker) -> None:
    closed: list[str] = []
    async with background_tab(connection, on_closed=closed.append) as tab:
        await onlooker.call("Target.closeTarget", targetId=tab.target_id)
        with pytest.raises(TabClosed):
            await ask(tab, "new Promise(() => 0)", await_promise=True)
    assert closed == [tab.target_id]


async def test_a_tab_whose_renderer_crashed_is_closed(connection: Connection, onlooker: Onlooker) -> None:
    closed: list[str] = []
    with pytest.raises(TabCrashed):
        async with background_tab(connection, on_closed=closed.append) as tab:
            await tab.session.call("Page.crash")
    assert tab.target_id not in await onlooker.pages()
    assert closed == [tab.target_id]


async def test_closing_may_be_repeated(connection: Connection) -> None:
    closed: list[str] = []
    async with background_tab(connection, on_closed=closed.append) as tab:
        await asyncio.gather(tab.aclose(), tab.aclose())
        await tab.aclose()
    assert closed == [tab.target_id]


async def test_a_deadline_closes_the_tab_before_it_is_raised(connection: Connection, onlooker: Onlooker) -> None:
    async def visit() -> None:
        async with background_tab(connection) as tab:
            tabs.append(tab.target_id)
            await asyncio.sleep(60)

    tabs: list[str] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(visit(), 0.5)
    assert tabs
    assert tabs[0] not in await onlooker.pages()


async def test_a_second_cancellation_does_not_stop_the_closing(connection: Connection, onlooker: Onlooker) -> None:
    opened = asyncio.Event()
    tabs: list[Tab] = []

    async def visit() -> None:
        async with background_tab(connection) as tab:
            tabs.append(tab)
            opened.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(visit())
    await opened.wait()
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tabs[0].target_id not in await onlooker.pages()


async def test_closing_takes_no_longer_than_its_limit_when_chrome_is_silent(
    relay: Relay, onlooker: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.CLOSE_S == 2
    monkeypatch.setattr(module, "CLOSE_S", 0.2)
    connection = await Connection.open(await discover(f"http://127.0.0.1:{relay.port}"))
    closed: list[str] = []
    async with asyncio.timeout(10):
        async with background_tab(connection, on_closed=closed.append) as tab:
            relay.dead = True
        assert tab._closing is not None
        assert not tab._closing.done()
        await connection.aclose()
        await tab._closing
    assert not closed, "it can not be known"
    await onlooker.call("Target.closeTarget", targetId=tab.target_id)


@types.coroutine
def cancelled_at(step: int, moment: str, coroutine: Coroutine[Any, Any, None]) -> Generator[Any, None, int]:
    """Run the coroutine and cancel it at one of its awaits; returns the number of awaits, if it came to its end.

    The moment is ``early``, when the wait begins; ``midway``, when what it waits for is on its way; or ``late``, when
    that has come and the coroutine is about to go on, so that the result is lost.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    count, thrown = 0, None
    while True:
        try:
            waited_for = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
        except StopIteration:
            return count
        count, thrown = count + 1, None
        if count == step and moment == "early":
            task.cancel()
        if count == step and moment == "midway":
            loop.call_soon(lambda: loop.call_soon(task.cancel))
        try:
            yield waited_for
        except asyncio.CancelledError as exc:
            thrown = exc
        if count == step and moment == "late":
            thrown = asyncio.CancelledError()


@pytest.mark.parametrize("moment", ["early", "midway", "late"])
async def test_a_cancellation_at_any_await_leaves_no_tab(
    connection: Connection, onlooker: Onlooker, site: Site, moment: str
) -> None:
    before = await onlooker.pages()
    created: set[str] = set()
    closed: set[str] = set()

    async def visit() -> None:
        async with background_tab(connection, on_created=created.add, on_closed=closed.add) as tab:
            await tab.navigate(site.url("plain"))
            await ask(tab, "1")

    async def run(step: int) -> int:
        return await cancelled_at(step, moment, visit())

    awaits = await run(0)
    assert awaits > 6
    for step in range(1, awaits + 1):
        [outcome] = await asyncio.gather(asyncio.create_task(run(step)), return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)
        assert await onlooker.pages() == before, f"cancelled at await {step} of {awaits}"
        assert created == closed
        assert not connection._waits


# The connection goes on


async def test_nothing_is_left_on_the_books_after_all_this(connection: Connection, site: Site) -> None:
    for path in ("plain", "nothing", "hangs"):
        with contextlib.suppress(CastleError):
            async with background_tab(connection) as tab:
                await tab.navigate(site.url(path), timeout=1)
    assert not connection._waits
    assert not connection._sessions
    assert not any(connection.root._handlers.values())


async def test_tabs_of_a_killed_chrome_are_not_waited_for() -> None:
    with Chromium() as victim:
        connection = await Connection.open(await discover(f"http://{victim.target}"))
        async with asyncio.timeout(10):
            async with background_tab(connection):
                await asyncio.to_thread(victim.kill)
        await connection.aclose()
