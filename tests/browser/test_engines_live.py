"""Searches through a real Chromium on the lab's Bing, Brave and DuckDuckGo: as good as on its Google."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from markupsafe import escape

import castlenb as cn
from castlenb import engines, lab
from castlenb.engines.base import Engine, Hook, LinkForm, Query, Refusal
from castlenb.lab import content
from castlenb.lab.bing import Bing
from castlenb.lab.brave import Brave
from castlenb.lab.content import Result
from castlenb.lab.duckduckgo import DuckDuckGo
from castlenb.lab.scenario import Scenario, Step
from castlenb.lab.server import Reply, Request
from castlenb.lab.stage import ResultsPage, Stage

QUERY = 'tea & "cake" <b> $5'
NAMES = ("bing", "brave", "duckduckgo")
LISTED: Mapping[str, Callable[..., list[Result]]] = {
    "bing": Bing().results,
    "brave": Brave().results,
    "duckduckgo": DuckDuckGo().results,
}
OTHERS = pytest.mark.parametrize("engine", NAMES)


def asked(lab: cn.Lab) -> list[dict[str, str]]:
    """The parameters of each results page that was asked for."""
    return [dict(request.query) for request in lab.web.searches()]


@OTHERS
def test_a_search_returns_what_the_page_lists_and_nothing_else(lab: cn.Lab, engine: str) -> None:
    page = cn.search(QUERY, engine=engine, browser=lab.browser)
    listed = LISTED[engine](QUERY)[:10]
    results = page.results
    assert results["rank"].tolist() == list(range(1, 11))
    assert results["title"].tolist() == [" ".join(each.title.split()) for each in listed]
    assert results["url"].tolist() == [each.url for each in listed]
    assert (results["link_form"] == "direct").all()
    assert results["snippet"].tolist() == [" ".join(each.snippet.split()) for each in listed]
    assert results["date"].fillna("").tolist() == [each.dated() for each in listed]
    assert results["site"].tolist() == [str(urlsplit(each.url).hostname).removeprefix("www.") for each in listed]
    assert (page.engine, page.query, page.page_state, page.status) == (engine, QUERY, "results", 200)
    assert page.warnings == ()


@OTHERS
def test_wrapped_links_are_unwrapped_one_by_one(lab: cn.Lab, engine: str) -> None:
    for scenario, forms in (("url-wrapped", ["redirect"] * 10), ("links-mixed", ["redirect", "direct"] * 5)):
        lab.play(scenario)
        page = cn.search(QUERY, engine=engine, browser=lab.browser)
        assert page.results["url"].tolist() == [each.url for each in LISTED[engine](QUERY)[:10]]
        if engine != "brave":
            assert page.results["link_form"].tolist() == forms
            through = page.results["link"].str.contains(r"/ck/a\?|/l/\?")
            assert through.tolist() == [form == "redirect" for form in forms]


@pytest.mark.parametrize(
    ("engine", "number", "pages"),
    [
        ("bing", 1, [None]),
        ("bing", 10, [None]),
        ("bing", 11, [None, "11"]),
        ("bing", 20, [None, "11"]),
        ("brave", 20, [None]),
        ("brave", 7, [None]),
        ("duckduckgo", 20, [None]),
    ],
)
def test_paging(lab: cn.Lab, engine: str, number: int, pages: list[str | None]) -> None:
    page = cn.search("coffee", engine=engine, num_results=number, browser=lab.browser)
    have = 10 if engine == "duckduckgo" else number  # its first page is all that has an address
    assert page.results["rank"].tolist() == list(range(1, have + 1))
    assert page.results["url"].is_unique
    assert [query.get("first") for query in asked(lab)] == pages


def test_a_page_that_comes_once_more_adds_nothing(lab: cn.Lab) -> None:
    lab.play("few")
    assert len(cn.search("coffee", engine="bing", num_results=20, browser=lab.browser)) == 3
    assert [query.get("first") for query in asked(lab)] == [None, "11"]


@OTHERS
@pytest.mark.parametrize(("recency", "units"), [("day", ("hour",)), ("week", ("hour", "day"))])
def test_a_time_limit_limits(lab: cn.Lab, engine: str, recency: str, units: tuple[str, ...]) -> None:
    page = cn.search("news", engine=engine, recency=recency, browser=lab.browser)
    dates = page.results["date"]
    assert dates.notna().all()
    assert all(any(f" {unit}" in date for unit in units) and date.endswith(" ago") for date in dates)
    [query] = asked(lab)
    assert set(query) & {"filters", "tf", "df"}


@OTHERS
@pytest.mark.parametrize("recency", ["month", "year"])
def test_a_wider_limit_is_understood_too(lab: cn.Lab, engine: str, recency: str) -> None:
    assert cn.search("news", engine=engine, recency=recency, browser=lab.browser).results["date"].notna().all()


@OTHERS
def test_results_in_two_parts_are_waited_for(lab: cn.Lab, engine: str) -> None:
    lab.play("two-parts")
    page = cn.search("coffee", engine=engine, browser=lab.browser)
    assert len(page) == 10, "the first part was taken for the whole"
    assert page.timings["parse_ready_ms"] < page.timings["results_complete_ms"]


@pytest.mark.parametrize(
    ("engine", "kind", "status"), [("bing", "captcha", 200), ("brave", "captcha", 429), ("duckduckgo", "anomaly", 202)]
)
def test_a_challenge_says_what_a_person_has_to_open(lab: cn.Lab, engine: str, kind: str, status: int) -> None:
    lab.play("challenge")
    with pytest.raises(cn.SearchChallengeError) as raised:
        cn.search("coffee grinder", engine=engine, browser=lab.browser)
    error = raised.value
    assert (error.kind, error.engine, error.query) == (kind, engine, "coffee grinder")
    assert error.browser == str(lab.browser.target)
    human = urlsplit(error.human_url)
    assert human.hostname in engines.engine(engine).hosts
    assert parse_qs(human.query)["q"] == ["coffee grinder"]
    assert error.human_url in str(error)
    assert (error.page.page_state, error.page.status) == ("challenge", status)


def test_the_page_for_programs_is_a_challenge(lab: cn.Lab) -> None:
    lab.play("teapot", engine="duckduckgo")
    with pytest.raises(cn.SearchChallengeError) as raised:
        cn.search("coffee", engine="duckduckgo", browser=lab.browser)
    assert raised.value.kind == "anomaly"


def test_a_header_and_nothing_else_is_suspect(lab: cn.Lab) -> None:
    lab.play("shell", engine="bing")
    with pytest.raises(cn.SuspectedBlockError) as raised:
        cn.search("coffee", engine="bing", browser=lab.browser)
    assert urlsplit(raised.value.human_url).hostname == "www.bing.com"


@OTHERS
@pytest.mark.parametrize(
    ("scenario", "error"),
    [("no-results", cn.NoResultsError), ("unparseable", cn.UnparseableError), ("empty", cn.SuspectedBlockError)],
)
def test_no_state_is_taken_for_another(lab: cn.Lab, engine: str, scenario: str, error: type[cn.SearchError]) -> None:
    lab.play(scenario)
    with pytest.raises(error) as raised:
        cn.search("coffee", engine=engine, browser=lab.browser)
    assert type(raised.value) is error
    assert raised.value.engine == engine


@pytest.mark.parametrize(("engine", "kind"), [("bing", "captcha"), ("brave", "captcha"), ("duckduckgo", "anomaly")])
def test_a_challenge_over_results_is_a_warning(lab: cn.Lab, engine: str, kind: str) -> None:
    lab.play("challenge-overlay")
    page = cn.search("coffee", engine=engine, browser=lab.browser)
    assert len(page) == 10
    assert [kind in warning for warning in page.warnings] == [True]


@OTHERS
def test_a_slow_page_and_a_heavy_one(lab: cn.Lab, engine: str) -> None:
    for scenario in ("slow-head", "heavy"):
        lab.play(scenario)
        assert len(cn.search("coffee", engine=engine, browser=lab.browser)) == 10


@OTHERS
def test_a_broken_wire(lab: cn.Lab, engine: str) -> None:
    lab.play("stalled")
    with pytest.raises(cn.SearchTimeout) as raised:
        cn.search("coffee", engine=engine, browser=lab.browser, deadline_s=2.0)
    assert len(raised.value.page) == 4
    lab.play("reset")
    with pytest.raises(cn.NavigationFailed, match="net::ERR_"):
        cn.search("coffee", engine=engine, browser=lab.browser)


def test_all_four_at_once(lab: cn.Lab) -> None:
    with ThreadPoolExecutor(4) as pool:
        searching = {
            each: pool.submit(cn.search, "tea", engine=each, browser=lab.browser) for each in ("google", *NAMES)
        }
        pages = {each: found.result(timeout=30) for each, found in searching.items()}
    assert {each: page.engine for each, page in pages.items()} == {each: each for each in ("google", *NAMES)}
    assert {len(page) for page in pages.values()} == {10}


# A fifth engine, in one file: this one.

FINDER_PAGE = """<!doctype html><html><head><title>{query}</title></head><body>
<form action="/search"><input name="q" value="{query}"></form>
<div id="hits">{rows}</div>{nothing}</body></html>"""
FINDER_ROW = """
<section class="hit"><header><a href="/out?to={to}"><strong>{title}</strong></a></header><p>{words}</p></section>
<section class="paid"><header><a href="https://shop.adverts.example/"><strong>Buy</strong></a></header></section>"""

FINDER = Engine(
    name="finder",
    label="Finder",
    hosts=("www.finder.example",),
    own=r"^www\.finder\.example$",
    page_size=5,
    address=lambda query: finder_address(query),
    hooks=(
        Hook("row", ".hit", "class", "high", "this test", ("2026-11", "2026-11")),
        Hook("area", "#hits", "id", "high", "this test", ("2026-11", "2026-11")),
        Hook("heading", "header strong", "structure", "high", "this test", ("2026-11", "2026-11")),
        Hook("snippet", ".hit > p", "class", "high", "this test", ("2026-11", "2026-11")),
        Hook("furniture", ".paid", "class", "high", "this test", ("2026-11", "2026-11")),
        Hook("nothing", "#none", "id", "high", "this test", ("2026-11", "2026-11")),
    ),
    links=(LinkForm("redirect", "/out", ("to",)),),
    refusals=(Refusal("captcha", css=("#who",), evidence="this test"),),
    recencies=frozenset({"week"}),
)


def finder_address(query: Query) -> str:
    asked = {"q": query.text, "from": query.start} | ({"new": "7d"} if query.recency else {})
    return "https://www.finder.example/search?" + urlencode(asked)


class FinderPage(ResultsPage):
    def head(self) -> str:
        return ""

    def opening(self) -> Iterable[str]:
        return ()

    def row(self, place: int, result: Result) -> Iterable[str]:
        to = quote(result.url, safe="")
        yield FINDER_ROW.format(to=to, title=escape(result.title), words=escape(result.snippet))

    def closing(self) -> Iterable[str]:
        return ()

    def end(self) -> str:
        return ""

    def part(self, step: Step) -> str:
        if step.part != "results":
            return ""
        rows = "".join(self._rows(step))
        nothing = "<p id=none>Nothing.</p>" if self.kind == "no-results" else ""
        return FINDER_PAGE.format(query=escape(self.query), rows=rows, nothing=nothing)


class Finder(Stage):
    name = "finder"
    hosts: tuple[str, ...] = ("www.finder.example",)

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        start = int(request.query.get("from", "0"))
        results = content.results(request.query["q"], start + 1, 5)
        return FinderPage(request, scenario, results, query=request.query["q"])

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        if scenario.page == "challenge":
            await reply.send(200, "<!doctype html><title>Who?</title><form id=who></form>")
        return scenario.page == "challenge"


@pytest.fixture(scope="module")
def fifth() -> Iterator[cn.Lab]:
    """A lab with a fifth engine, made in this file and registered through public names alone."""
    engines.register(FINDER)
    leave = lab.add_engine(Finder)
    with cn.Lab("instant") as five:
        yield five
    leave()
    engines.ENGINES.pop(FINDER.name)


class TestAFifthEngine:
    def test_it_is_searched(self, fifth: cn.Lab) -> None:
        fifth.play("instant")
        page = cn.search("ça & là", engine="finder", num_results=12, recency="week", browser=fifth.browser)
        assert page.results["url"].tolist() == [each.url for each in content.results("ça & là", 1, 12)]
        assert page.results["snippet"].tolist() == [
            " ".join(each.snippet.split()) for each in content.results("ça & là", 1, 12)
        ]
        assert (page.results["link_form"] == "redirect").all()
        assert [(each.query["from"], each.query["new"]) for each in fifth.web.searches("ça & là")] == [
            ("0", "7d"),
            ("5", "7d"),
            ("10", "7d"),
        ]
        assert "Finder" in page._repr_html_()

    def test_it_refuses_like_any_other(self, fifth: cn.Lab) -> None:
        for scenario, error in (("challenge", cn.SearchChallengeError), ("no-results", cn.NoResultsError)):
            fifth.play(scenario, engine="finder")
            with pytest.raises(error) as raised:
                cn.search("tea", engine="finder", browser=fifth.browser)
            assert raised.value.engine == "finder"
        with pytest.raises(engines.EngineError, match="Finder has no time range 'day'; it has week"):
            cn.search("tea", engine="finder", recency="day", browser=fifth.browser)

    def test_its_saved_pages_are_read(self, fifth: cn.Lab, tmp_path: Any) -> None:
        rows = "".join(
            FINDER_ROW.format(to=f"https%3A%2F%2Fa{n}.example%2F", title=f"Row {n}", words="w") for n in range(3)
        )
        saved = tmp_path / "saved.html"
        saved.write_text(FINDER_PAGE.format(query="tea", rows=rows, nothing="") + "<!-- www.finder.example -->")
        [page] = cn.read(saved, browser=fifth.browser)
        assert (page.engine, page.results["url"].tolist()) == ("finder", [f"https://a{n}.example/" for n in range(3)])

    async def test_it_stands_beside_the_others(self, fifth: cn.Lab) -> None:
        fifth.play("instant")
        names = ("finder", "brave")
        pages = await asyncio.gather(*(cn.aio.search("tea", engine=name, browser=fifth.browser) for name in names))
        assert [page.engine for page in pages] == list(names)
        compared = await asyncio.to_thread(cn.compare, "tea", engines=names, browser=fifth.browser)
        assert [page.engine for page in compared.pages] == list(names)
