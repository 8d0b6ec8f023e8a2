"""A search through a real Chromium, on the lab's engines: what comes back, what is raised, what is left behind."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

import castlenb as cn
from castlenb import bridge
from castlenb.results import COLUMNS

from .conftest import Onlooker


def asked(lab: cn.Lab) -> list[dict[str, str]]:
    """The parameters of each results page that was asked for."""
    return [dict(request.query) for request in lab.web.requests if request.path == "/search"]


def test_a_search_returns_ranked_results(lab: cn.Lab) -> None:
    page = cn.search("pour over coffee", browser=lab.browser)
    assert list(page.results.columns) == list(COLUMNS)
    assert page.results["rank"].tolist() == list(range(1, 11))
    assert page.results["title"].notna().all()
    assert page.results["url"].str.startswith("https://").all()
    assert page.results["url"].is_unique
    assert (page.results["link_form"] == "direct").all()
    hosts = [str(urlsplit(url).hostname).removeprefix("www.") for url in page.results["url"]]
    assert hosts == page.results["site"].tolist()
    assert page.results["snippet"].str.len().gt(20).all()
    assert (page.engine, page.query, page.page_state, page.status) == ("google", "pour over coffee", "results", 200)
    assert urlsplit(page.url).hostname == "www.google.com"
    assert len(page) == 10


def test_the_frame_keeps_its_schema_when_empty(lab: cn.Lab) -> None:
    lab.play("no-results")
    with pytest.raises(cn.NoResultsError) as raised:
        cn.search("nothing at all", browser=lab.browser)
    full = cn.SearchPage.results.func(_some_page(lab))  # type: ignore[attr-defined]
    assert raised.value.page.results.dtypes.equals(full.dtypes)


def _some_page(lab: cn.Lab) -> cn.SearchPage:
    lab.play("instant")
    return cn.search("coffee", browser=lab.browser)


def test_the_parameters_are_those_that_work(lab: cn.Lab) -> None:
    cn.search("a & b", browser=lab.browser, hl="de", gl="at")
    assert asked(lab) == [{"q": "a & b", "udm": "14", "hl": "de", "gl": "at"}]


@pytest.mark.parametrize(("recency", "letter"), [("day", "d"), ("week", "w"), ("month", "m"), ("year", "y")])
def test_a_time_limit_drops_udm_and_never_uses_tbs(lab: cn.Lab, recency: str, letter: str) -> None:
    page = cn.search("news", browser=lab.browser, recency=recency)
    assert asked(lab) == [{"q": "news", "as_qdr": letter, "hl": "en"}]
    assert len(page) == 10, "the classic layout's furniture was counted, or its results were not"


@pytest.mark.parametrize(("number", "pages"), [(1, 1), (9, 1), (10, 1), (11, 2), (20, 2)])
def test_more_than_a_page_is_read_by_paging_in_the_same_tab(lab: cn.Lab, number: int, pages: int) -> None:
    page = cn.search("coffee", browser=lab.browser, num_results=number)
    assert page.results["rank"].tolist() == list(range(1, number + 1))
    assert page.results["url"].is_unique
    assert [query.get("start") for query in asked(lab)] == [None, "10"][:pages]


def test_encrypted_links_are_results(lab: cn.Lab) -> None:
    lab.play("goto")
    results = cn.search("coffee", browser=lab.browser).results
    assert len(results) == 10
    assert (results["link_form"] == "encrypted").all()
    assert results["url"].isna().all()
    assert results["link"].str.startswith("https://www.google.com/goto?url=").all()
    assert results["site"].notna().all()
    assert not results["site"].str.contains("google").any()


def test_encrypted_links_can_be_resolved_without_asking_their_targets(lab: cn.Lab) -> None:
    plain = cn.search("coffee", browser=lab.browser).results["url"].tolist()
    lab.play("goto")
    page = cn.search("coffee", browser=lab.browser)
    lab.web.server.requests.clear()
    some = page.resolve_links(ranks=[2, 4])
    assert some.results["link_form"].tolist() == ["encrypted", "resolved", "encrypted", "resolved", *["encrypted"] * 6]
    assert [url for url in some.results["url"] if isinstance(url, str)] == [plain[1], plain[3]]
    assert some.results["link"].equals(page.results["link"])
    assert [(request.host, request.path) for request in lab.web.requests] == [("www.google.com", "/goto")] * 2
    assert page.results["url"].isna().all()
    lab.web.server.requests.clear()
    assert some.resolve_links().results["url"].tolist() == plain
    assert len(lab.web.requests) == 8, "a link that was known was asked for again"


def test_wrapped_links_are_unwrapped(lab: cn.Lab) -> None:
    lab.play("url-wrapped")
    results = cn.search("coffee", browser=lab.browser).results
    assert (results["link_form"] == "redirect").all()
    assert results["link"].str.startswith("https://www.google.com/url?").all()
    assert not results["url"].str.contains("google.com").any()


def test_results_in_two_parts_are_waited_for(lab: cn.Lab) -> None:
    lab.play("two-parts")
    page = cn.search("coffee", browser=lab.browser)
    assert len(page) == 10, "the first part was taken for the whole"
    assert page.timings["parse_ready_ms"] < page.timings["results_complete_ms"]


@pytest.mark.parametrize(
    ("scenario", "kind", "host"),
    [
        ("sorry", "sorry", "www.google.com"),
        ("sorry-429", "sorry", "www.google.com"),
        ("consent", "consent", "www.google.com"),
        ("enablejs", "enablejs", "www.google.com"),
    ],
)
def test_a_challenge_says_what_a_person_has_to_open(lab: cn.Lab, scenario: str, kind: str, host: str) -> None:
    lab.play(scenario)
    with pytest.raises(cn.SearchChallengeError) as raised:
        cn.search("coffee grinder", browser=lab.browser)
    error = raised.value
    assert (error.kind, error.engine, error.query, error.browser) == (
        kind,
        "google",
        "coffee grinder",
        str(lab.browser.target),
    )
    human = urlsplit(error.human_url)
    assert (human.hostname, human.path, parse_qs(human.query)["q"]) == (host, "/search", ["coffee grinder"])
    assert error.human_url in str(error)
    assert error.page.page_state == "challenge"


def test_a_gate_that_reloads_itself_is_waited_through(lab: cn.Lab) -> None:
    lab.play("enablejs-reloads")
    page = cn.search("coffee", browser=lab.browser)
    assert len(page) == 10
    assert page.documents == 2
    assert 0 < page.timings["parse_ready_ms"] <= page.timings["results_complete_ms"]


def test_a_dialog_over_results_is_a_warning(lab: cn.Lab) -> None:
    lab.play("consent-overlay")
    page = cn.search("coffee", browser=lab.browser)
    assert len(page) == 10
    assert any("consent" in warning for warning in page.warnings)


@pytest.mark.parametrize(
    ("scenario", "error"),
    [("no-results", cn.NoResultsError), ("unparseable", cn.UnparseableError), ("empty", cn.SuspectedBlockError)],
)
def test_no_state_is_taken_for_another(lab: cn.Lab, scenario: str, error: type[cn.SearchError]) -> None:
    lab.play(scenario)
    with pytest.raises(error) as raised:
        cn.search("coffee", browser=lab.browser)
    assert type(raised.value) is error


def test_a_reset_connection_is_a_failed_navigation(lab: cn.Lab) -> None:
    lab.play("reset")
    with pytest.raises(cn.NavigationFailed, match="net::ERR_"):
        cn.search("coffee", browser=lab.browser)


def test_headers_that_never_come_end_at_the_deadline(lab: cn.Lab) -> None:
    lab.play("silent")
    before = time.monotonic()
    with pytest.raises(cn.SearchTimeout, match="navigate") as raised:
        cn.search("coffee", browser=lab.browser, deadline_s=1.0)
    assert time.monotonic() - before < 6
    assert isinstance(raised.value, TimeoutError)
    assert raised.value.page is None


def test_what_came_before_the_deadline_is_in_the_error(lab: cn.Lab) -> None:
    lab.play("stalled")
    with pytest.raises(cn.SearchTimeout, match="watch") as raised:
        cn.search("coffee", browser=lab.browser, deadline_s=2.0)
    assert len(raised.value.page) == 4


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"query": "  "}, "query is empty"),
        ({"num_results": 0}, "from 1 to 20"),
        ({"num_results": 21}, "from 1 to 20"),
        ({"num_results": 2.5}, "from 1 to 20"),
        ({"recency": "hour"}, "day, week, month, year"),
        ({"visibility": "front"}, "emulated, hidden"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"engine": "altavista"}, "google"),
    ],
)
def test_bad_arguments_are_said_before_anything_is_dialled(argument: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, cn.CastleError), match=message):
        cn.search(**{"query": "coffee", "browser": "127.0.0.1:1", **argument})  # type: ignore[arg-type]


@pytest.mark.proof
def test_ten_in_a_row_and_ten_at_once_leave_nothing(lab: cn.Lab) -> None:
    for turn in range(10):
        assert len(cn.search(f"row {turn}", browser=lab.browser)) == 10
    with ThreadPoolExecutor(10) as pool:
        pages = list(pool.map(lambda turn: cn.search(f"heap {turn}", browser=lab.browser), range(10)))
    assert [page.query for page in pages] == [f"heap {turn}" for turn in range(10)]
    assert all(len(page) == 10 for page in pages)


def test_two_at_a_time_and_the_rest_in_line(lab: cn.Lab, onlooker: Onlooker) -> None:
    lab.play("slow-head")
    before = len(onlooker.tabs())
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(onlooker.tabs()) - before)
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(5) as pool:
        pages = list(pool.map(lambda turn: cn.search(f"q{turn}", browser=lab.browser), range(5)))
    done.set()
    watcher.join()
    assert most == 2
    assert sorted(page.timings["queued_ms"] > 500 for page in pages) == [False, False, True, True, True]


async def test_the_same_browser_serves_coroutines_and_plain_calls(lab: cn.Lab) -> None:
    pages = await asyncio.gather(*(cn.aio.search(f"q{n}", browser=lab.browser) for n in range(3)))
    assert [len(page) for page in pages] == [10, 10, 10]
    assert len(await asyncio.to_thread(cn.search, "plain", browser=lab.browser)) == 10


def test_connecting_by_address(lab: cn.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(cn.search("by target", browser=lab.web.target)) == 10
    monkeypatch.setenv("BU_CDP_HTTP", lab.web.target)
    assert len(cn.search("by environment")) == 10
    with cn.connect() as browser:
        assert browser.version["Browser"]
        assert len(cn.search("by connection", browser=browser)) == 10
    with pytest.raises(cn.Misuse, match="closed"):
        cn.search("too late", browser=browser)


def test_an_unreachable_chrome_names_the_target_and_who_chose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BU_CDP_HTTP", "127.0.0.1:1")
    with pytest.raises(cn.EndpointUnreachable, match=r"127\.0\.0\.1:1.*BU_CDP_HTTP"):
        cn.search("coffee")


class TestNothingIsLeftBehind:
    """Each of these ends in a tab less: the ``lab`` fixture counts them through a second client."""

    def test_after_an_exception_in_the_reader(self, lab: cn.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
        from castlenb import page

        broken = page.init_script
        monkeypatch.setattr(
            page,
            "init_script",
            lambda spec, **rest: (
                broken(spec, **rest)
                + ";castlenb.reader.read = () => { throw new Error('torn') };castlenb.reader.results = castlenb.reader.read"
            ),
        )
        before = time.monotonic()
        with pytest.raises(cn.ScriptError, match="torn"):
            cn.search("coffee", browser=lab.browser)
        assert time.monotonic() - before < 15, "it was waited on until the deadline"

    def test_after_the_tab_was_closed_by_a_person(self, lab: cn.Lab, onlooker: Onlooker) -> None:
        lab.play("stalled")
        with ThreadPoolExecutor(1) as pool:
            searching = pool.submit(cn.search, "closed midway", browser=lab.browser)
            onlooker.close(onlooker.wait_for_tab("closed+midway")["targetId"])
            with pytest.raises(cn.TabClosed):
                searching.result(timeout=10)

    def test_after_the_renderer_was_killed(self, lab: cn.Lab, onlooker: Onlooker) -> None:
        lab.play("stalled")
        with ThreadPoolExecutor(1) as pool:
            searching = pool.submit(cn.search, "crashed midway", browser=lab.browser)
            onlooker.crash(onlooker.wait_for_tab("crashed+midway")["targetId"])
            with pytest.raises(cn.TabCrashed):
                searching.result(timeout=10)

    @pytest.mark.proof
    def test_after_cancellation_at_any_await(self, lab: cn.Lab) -> None:
        async def cut_off(turns: int) -> bool:
            task = asyncio.ensure_future(cn.aio.search(f"cut {turns}", browser=lab.browser))
            for _ in range(turns):
                if task.done():
                    break
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=10)
            assert done
            return task.cancelled()

        cancelled = 0
        for turns in [*range(60), *range(60, 3000, 147)]:
            cancelled += bridge.run(cut_off(turns))
        assert cancelled > 60, "the search was over before it could be cancelled"
        assert len(cn.search("afterwards", browser=lab.browser)) == 10


@pytest.mark.proof
def test_chrome_killed_and_restarted_on_the_same_port() -> None:
    with cn.Lab("instant") as lab:
        assert len(cn.search("before", browser=lab.browser)) == 10
        lab.web.chromium.kill()
        with pytest.raises((cn.EndpointUnreachable, cn.ConnectionLost)):
            cn.search("meanwhile", browser=lab.browser, deadline_s=5)
        lab.web.chromium.start()
        assert len(cn.search("after", browser=lab.browser)) == 10

        lab.play("stalled")
        with ThreadPoolExecutor(1) as pool:
            searching = pool.submit(cn.search, "killed midway", browser=lab.browser)
            Onlooker(lab.web.target).wait_for_tab("killed+midway")
            lab.web.chromium.kill()
            with pytest.raises(cn.ConnectionLost):
                searching.result(timeout=10)
        lab.web.chromium.start()
        lab.play("instant")
        assert len(cn.search("after that", browser=lab.browser)) == 10
        assert len(Onlooker(lab.web.target).tabs()) == 1


def test_frames_are_plain_data(lab: cn.Lab) -> None:
    results = cn.search("coffee", browser=lab.browser).results
    assert isinstance(results, pd.DataFrame)
    assert not results.attrs
