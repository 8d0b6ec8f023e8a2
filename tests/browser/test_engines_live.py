"""Searches through a real Chromium on the lab's Bing, Brave and DuckDuckGo: as good as on its Google."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from markupsafe import escape

import castlenb as cn
from castlenb import cli, engines, lab
from castlenb.engines.base import Engine, Hook, LinkForm, Query, Refusal
from castlenb.lab import content, scenario
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
    for playing, forms in (("url-wrapped", ["redirect"] * 10), ("links-mixed", ["redirect", "direct"] * 5)):
        lab.play(playing)
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
    ],
)
def test_paging(lab: cn.Lab, engine: str, number: int, pages: list[str | None]) -> None:
    page = cn.search("coffee", engine=engine, num_results=number, browser=lab.browser)
    assert page.results["rank"].tolist() == list(range(1, number + 1))
    assert page.results["url"].is_unique
    assert page.warnings == ()
    assert [query.get("first") for query in asked(lab)] == pages


def test_the_one_page_that_has_an_address_is_all_there_is_and_says_so(lab: cn.Lab) -> None:
    page = cn.search("coffee", engine="duckduckgo", num_results=20, browser=lab.browser)
    assert page.results["rank"].tolist() == list(range(1, 11))
    assert page.warnings == ("10 of the 20 results asked for: DuckDuckGo's further pages have no address to go to",)
    assert len(asked(lab)) == 1
    assert cn.search("coffee", engine="duckduckgo", num_results=10, browser=lab.browser).warnings == ()
    lab.play("few")
    few = cn.search("coffee", engine="duckduckgo", num_results=20, browser=lab.browser)
    assert (len(few), few.warnings) == (3, ()), "there are no more than three"


def test_ads_are_not_counted_among_those_asked_for(lab: cn.Lab) -> None:
    """deedy5/ddgs#139: cutting before filtering gave fewer results. The lab's page has an ad before its first row."""
    assert len(cn.search("coffee", engine="duckduckgo", num_results=3, browser=lab.browser)) == 3


@pytest.mark.parametrize(("total", "again"), [(10, "10 of its 10"), (3, "3 of its 3")])
def test_the_first_page_in_place_of_the_second_adds_nothing_and_is_said(lab: cn.Lab, total: int, again: str) -> None:
    """searxng/searxng#4546: what a session gets that Bing distrusts. The lab's Bing does so past its last page."""
    lab.play(replace(scenario("instant"), name="no second page", total=total))
    page = cn.search("coffee", engine="bing", num_results=20, browser=lab.browser)
    assert page.results["url"].tolist() == [each.url for each in Bing().results("coffee", total=total)]
    assert page.results["rank"].tolist() == list(range(1, total + 1))
    assert page.warnings == (f"page 2 of the results repeats earlier ones ({again}): Bing may have more than it gave",)
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


@pytest.mark.proof
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
    assert "/static-pages/418.html" in raised.value.url
    assert raised.value.human_url == "https://html.duckduckgo.com/html/?q=coffee", (
        "the refusal's own page is a dead end"
    )
    assert raised.value.human_url in str(raised.value)


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


@pytest.mark.proof
@OTHERS
def test_a_slow_page_and_a_heavy_one(lab: cn.Lab, engine: str) -> None:
    for playing in ("slow-head", "heavy"):
        lab.play(playing)
        assert len(cn.search("coffee", engine=engine, browser=lab.browser)) == 10


@pytest.mark.proof
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
        for playing, error in (("challenge", cn.SearchChallengeError), ("no-results", cn.NoResultsError)):
            fifth.play(playing, engine="finder")
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
        assert compared.targets["finder"].dropna().sort_values().tolist() == list(range(1, 11))
        shared = {each.url for each in content.results("tea", 1, 10)} & {
            each.url for each in Brave().results("tea")[:10]
        }
        assert compared.agreement[["engine_a", "engine_b", "shared"]].values.tolist() == [[*names, len(shared)]]

    @pytest.mark.proof
    def test_the_commands_know_it(self, fifth: cn.Lab, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
        fifth.play("instant")
        target = ["--target", fifth.web.target]
        first = content.results("tea", 1, 1)[0].url
        assert cli.main(["search", "-e", "finder", "-n", "2", *target, "tea"]) == 0
        said = capsys.readouterr().out
        assert said.startswith("SearchPage(finder, 'tea', 2 results)")
        assert first in said
        assert cli.main(["compare", "-e", "finder,bing", *target, "tea"]) == 0
        assert "'tea': finder 10 results, bing 10 results" in capsys.readouterr().out
        assert cli.main(["compare", "--json", *target, "tea"]) == 0
        assert [page["engine"] for page in json.loads(capsys.readouterr().out)["pages"]] == ["google", *NAMES, "finder"]
        saved = tmp_path / "saved.html"
        row = FINDER_ROW.format(to="https%3A%2F%2Fa.example%2F", title="Row", words="w")
        saved.write_text(FINDER_PAGE.format(query="tea", rows=row, nothing=""))
        assert cli.main(["read", "-e", "finder", "--json", *target, str(saved)]) == 0
        assert [row["url"] for row in json.loads(capsys.readouterr().out)["results"]] == ["https://a.example/"]
        fifth.play("challenge", engine="finder")
        assert cli.main(["search", "-e", "finder", *target, "tea"]) == 1
        assert "open https://www.finder.example/search?q=tea" in capsys.readouterr().err
