"""Several pages of one search as one list: how many are gone to, and what of them counts."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from castlenb.asked import Asked
from castlenb.browser import Browser
from castlenb.engines import ENGINES, Engine, EngineError
from castlenb.results import COLUMNS, page_from
from castlenb.target import Target
from castlenb.visit import Visit

BING, DUCK = ENGINES["bing"], ENGINES["duckduckgo"]


def row(n: int, url: str | None = "", **rest: Any) -> dict[str, Any]:
    said = dict.fromkeys(COLUMNS[1:])
    url = f"https://a{n}.example/" if url == "" else url
    return {**said, "title": f"Title {n}", "url": url, "link": url or f"https://x.example/?{n}", "site": "a", **rest}


def visit(rows: list[dict[str, Any]], state: str = "results") -> Visit:
    reading = {
        "page_state": state,
        "challenge_kind": None,
        "results": rows,
        "warnings": [],
        "url": "https://x.example/",
    }
    timeline: dict[str, Any] = {"counts": []}
    return Visit("https://x.example/", reading, None, timeline, None, "results", 1, 0.0, datetime.now(UTC), "emulated")


def joined(*pages: list[dict[str, Any]], most: int | None = None) -> Any:
    return page_from([visit(rows) for rows in pages], BING, "q", Browser(Target("x", "x")), most)


def test_pages_follow_each_other() -> None:
    page = joined([row(n) for n in range(10)], [row(n) for n in range(10, 20)], most=15)
    assert [record["rank"] for record in page.records] == list(range(1, 16))
    assert page.records[14]["title"] == "Title 14"
    assert set(page.records[0]) == set(COLUMNS)
    assert page.warnings == ()


def test_a_row_counts_once_whatever_its_title() -> None:
    page = joined([row(n) for n in range(10)], [row(3, title="In other words"), *(row(n) for n in range(10, 19))])
    assert [record["title"] for record in page.records] == [f"Title {n}" for n in range(19)]
    assert page.warnings == (), "one row of ten is no page that repeats"


@pytest.mark.parametrize(("again", "warned"), [(5, False), (6, True), (10, True)])
def test_a_page_that_mostly_repeats_is_said(again: int, warned: bool) -> None:
    page = joined([row(n) for n in range(10)], [row(n) for n in range(10 - again, 20 - again)])
    assert len(page) == 20 - again
    said = f"page 2 of the results repeats earlier ones ({again} of its 10): Bing may have more than it gave"
    assert page.warnings == ((said,) if warned else ())


def test_hidden_targets_are_known_again_by_what_their_rows_say() -> None:
    """Their links are minted for each impression (serpapi/public-roadmap#3600)."""
    once = [row(n, None, link=f"https://x.example/goto?url=A{n}") for n in range(3)]
    again = [{**each, "link": each["link"] + "B"} for each in once]
    assert len(joined(once, again)) == 3
    other = [{**each, "site": "b"} for each in again]
    assert len(joined(once, other)) == 6


def test_rows_of_one_page_are_all_kept() -> None:
    blanked = [row(n, "https://blank.example/") for n in range(10)]
    assert len(joined(blanked)) == 10


def pages_of(engine: Engine, number: int) -> list[int]:
    asked = Asked("q", engine, num_results=number)
    wanted = [asked.wanted(page * engine.page_size) for page in range(5)]
    return wanted[: wanted.index(0)]


def test_as_many_pages_as_it_takes() -> None:
    assert [pages_of(BING, number) for number in (1, 10, 11, 20)] == [[1], [10], [10, 1], [10, 10]]
    assert [pages_of(ENGINES["brave"], number) for number in (7, 20)] == [[7], [20]]


def test_no_page_that_has_no_address_is_gone_to() -> None:
    """Of the last that has one, all there is will do: it can hold some rows more."""
    assert (DUCK.page_size, DUCK.max_pages) == (10, 1)
    assert [pages_of(DUCK, number) for number in (3, 10, 20)] == [[3], [10], [20]]
    two = replace(DUCK, max_pages=2, page_size=5)
    assert [pages_of(two, number) for number in (3, 10, 20)] == [[3], [5, 5], [5, 15]]
    with pytest.raises(EngineError, match="DuckDuckGo's further pages have no address: there are only the rows of the"):
        DUCK.search_url("q", start=10)
    with pytest.raises(EngineError, match="only the rows of the first 2"):
        two.search_url("q", start=10)
    assert two.search_url("q", start=5)
