"""The lab's pages in time, on an unruly wire, and as they are chosen and logged."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from castlenb.errors import CallTimeout, NavigationFailed
from castlenb.lab import FakeWeb, Scenario, names, scenario

from .test_lab import QUERY, Page, address, classic, opened

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb("marked") as web:
        yield web
        assert web.server.errors == []


@pytest.fixture
async def page(web: FakeWeb) -> AsyncIterator[Page]:
    web.play("marked")
    web.server.requests.clear()
    async with opened(web) as page:
        yield page


class TestWire:
    """What servers do when they do not behave."""

    @pytest.mark.parametrize(
        ("name", "error"),
        [
            ("reset", "ERR_CONNECTION_RESET"),
            ("too-many-bare", "ERR_HTTP_RESPONSE_CODE_FAILURE"),
            ("no-content", "ERR_ABORTED"),
            ("endless-redirect", "ERR_TOO_MANY_REDIRECTS"),
        ],
    )
    async def test_no_page(self, web: FakeWeb, page: Page, name: str, error: str) -> None:
        web.play(name)
        with pytest.raises(NavigationFailed, match=error):
            await page.tab.navigate(address())

    async def test_status_429_with_a_body(self, web: FakeWeb, page: Page) -> None:
        web.play("too-many")
        await page.go(address())
        assert (await page.facts())["status"] == 429

    async def test_headers_that_never_come(self, web: FakeWeb, page: Page) -> None:
        web.play("silent")
        with pytest.raises(CallTimeout):
            await page.tab.navigate(address(), timeout=0.6)
        assert [request.scenario for request in web.searches()] == ["silent"], "the request did come in"

    async def test_headers_and_nothing_more(self, web: FakeWeb, page: Page) -> None:
        web.play("headers-only")
        await page.tab.navigate(address())
        await asyncio.sleep(0.3)
        facts = await page.facts()
        assert (facts["url"], facts["ready"], facts["search"]) == (address(), "loading", False)

    @pytest.mark.parametrize(("name", "count"), [("endless", 10), ("stalled", 4)])
    async def test_a_body_without_end(self, web: FakeWeb, page: Page, name: str, count: int) -> None:
        web.play(name)
        await page.tab.navigate(address())
        await page.until(f"document.querySelectorAll('#rso h3').length == {count}")
        await asyncio.sleep(0.3)
        facts = await page.facts()
        assert (facts["ready"], facts["h3"]) == ("loading", count)

    async def test_a_reset_midway(self, web: FakeWeb, page: Page) -> None:
        web.play("reset-midway")
        async with page.tab.session.expect("Network.loadingFailed", where=lambda got: got["type"] == "Document") as got:
            await page.tab.session.call("Network.enable")
            await page.tab.navigate(address())
        assert got.params["errorText"] in ("net::ERR_CONNECTION_RESET", "net::ERR_INCOMPLETE_CHUNKED_ENCODING")
        await page.until(
            "document.querySelectorAll('#rso h3').length > 0"
        )  # the network's end comes before the parser's
        assert (await page.facts())["h3"] == 4

    async def test_redirects_by_script_without_end(self, web: FakeWeb, page: Page) -> None:
        web.play("endless-script")
        await page.tab.navigate(address())
        async with asyncio.timeout(20):
            while len(web.searches()) < 5:  # noqa: ASYNC110  (another thread's doing)
                await asyncio.sleep(0.02)
        assert [request.query.get("turn") for request in web.searches()[:5]] == [None, "1", "2", "3", "4"]


class TestTime:
    async def test_parts_come_in_their_order_and_not_before_their_time(self, web: FakeWeb, page: Page) -> None:
        for name in ("two-parts", "slow-head"):
            web.play(name)
            await page.go(address(name))
            (request,) = web.searches(name)
            noted = web.parts(request)
            planned = [(step.part, step.at_ms) for step in scenario(name).steps]
            planned.insert(1, ("row", planned[1][1]))
            assert [part for part, _ in noted] == [part for part, _ in planned]
            assert all(ms >= at_ms for (_, ms), (_, at_ms) in zip(noted, planned, strict=True))
            assert [ms for _, ms in noted] == sorted(ms for _, ms in noted)
            assert [list(mark) for mark in web.truth(request).marks] == await page.value("window.__truth")
            marks = "performance.getEntriesByType('mark').map((m) => [m.name, m.startTime])"
            assert await page.value(marks) == [[f"lab:{part}", ms] for part, ms in noted]

    async def test_headers_wait_apart_from_the_page(self, web: FakeWeb, page: Page) -> None:
        started = "performance.getEntriesByType('navigation')[0].responseStart"
        web.play("slow-headers")
        await page.go(address("slow headers"))
        assert await page.value(started) >= 1500
        web.play("slow-head")
        await page.go(address("slow head"))
        assert web.parts(web.searches("slow head")[0])[0][1] - await page.value(started) > 200

    async def test_the_noted_instants_are_those_of_the_changes(self, web: FakeWeb, page: Page) -> None:
        """An observer of ours, in a world of its own, sees the results when the page says that they are there."""
        watch = """
            globalThis.seen = [];
            new MutationObserver(() => {
                const count = document.querySelectorAll("#rso h3").length;
                if (count !== (seen.at(-1)?.[0] ?? 0)) seen.push([count, performance.now()]);
            }).observe(document, {childList: true, subtree: true});
        """
        script = {"source": watch, "worldName": "watch", "runImmediately": False}
        await page.tab.session.call("Page.addScriptToEvaluateOnNewDocument", script)
        web.play("two-parts")
        await page.go(address("watched"))
        context = await page.tab.world("watch")
        seen = await page.tab.session.evaluate("seen", context_id=context)
        first, last = (ms for part, ms in web.parts(web.searches("watched")[0]) if part == "results")
        assert next(ms for count, ms in seen if count == 5) == pytest.approx(first, abs=100)
        assert next(ms for count, ms in seen if count == 10) == pytest.approx(last, abs=100)

    async def test_the_answer_of_the_field_notes(self, web: FakeWeb, page: Page) -> None:
        watch = """
            globalThis.sizes = [];
            new MutationObserver(() => {
                const answer = document.querySelector("#m-x-content");
                const prose = answer?.querySelector("[data-container-id=main-col]");
                const texts = [...(prose?.querySelectorAll("[data-sfc-cp]") ?? [])].map((p) => p.firstChild.data);
                const size = prose ? ["prose", texts.join("").length] : ["shell", answer?.textContent.length];
                if (answer && String(size) !== String(sizes.at(-1))) sizes.push(size);
            }).observe(document, {childList: true, subtree: true});
        """
        script = {"source": watch, "worldName": "watch"}
        await page.tab.session.call("Page.addScriptToEvaluateOnNewDocument", script)
        web.play("2026-08-04")
        await page.go(classic("field"))
        assert [part for part, _ in web.parts(web.searches("field")[0])] == (
            ["head", "row", "results", "wrapper", "shell", *["answer"] * 5, "sources", "settled", "end"]
        )
        context = await page.tab.world("watch")
        sizes = await page.tab.session.evaluate("sizes", context_id=context)
        assert sizes == [["shell", 28_864], *(["prose", chars] for chars in (142, 385, 640, 811, 903))]
        assert await page.value("document.querySelectorAll('#eKIzJc [data-complete=true]').length") == 1
        await page.go(address("field, plain"))
        assert [part for part, _ in web.parts(web.searches("field, plain")[0])] == ["head", "row", "results", "end"]

    async def test_without_marks_there_is_no_script(self, web: FakeWeb, page: Page) -> None:
        web.play("instant")
        await page.go(address())
        assert (await page.facts())["scripts"] == 0
        assert web.parts(web.searches()[0], timeout=0) == []


class TestPlaying:
    async def test_the_narrower_choice_wins(self, page: Page) -> None:
        with FakeWeb("instant") as web:
            web.play("empty", engine="google")
            web.play("few", query="few")
            web.play("no-results", query="few", engine="google")
            web.play(Scenario("mine", "Two of them.", scenario("instant").steps, total=2), query="two")
            async with opened(web) as page:
                for query, count in (("any", 0), ("few", 0), ("two", 2)):
                    await page.go(address(query))
                    assert (await page.facts())["h3"] == count
                web.play("marked")
                await page.go(address("few"))
                assert (await page.facts())["h3"] == 10, "playing something everywhere forgets the narrower choices"
            assert [request.scenario for request in web.searches()] == ["empty", "no-results", "mine", "marked"]

    async def test_requests_are_logged(self, web: FakeWeb, page: Page) -> None:
        before = await page.value("performance.timeOrigin + performance.now()")
        await page.go(address(start="", hl="de"))
        (request,) = web.searches()
        assert (request.method, request.host, request.path, request.url) == (
            "GET",
            "www.google.com",
            "/search",
            address(start="", hl="de"),
        )
        assert request.query == {"q": QUERY, "udm": "14", "start": "", "hl": "de"}
        assert "Chrome/" in request.headers["user-agent"]
        assert 1024 < request.port < 65536
        assert before / 1000 - 1 < request.at < before / 1000 + 20
        assert [each.path for each in web.requests] == ["/search"], "reports of the page's marks are not in the log"

    async def test_every_scenario_can_be_played(self, web: FakeWeb, page: Page) -> None:
        for name in names():
            web.play(name)
            try:
                await page.tab.navigate(address(name), timeout=2)
            except (NavigationFailed, CallTimeout):
                continue
        assert {request.scenario for request in web.searches()} == set(names())
        assert web.server.errors == []
