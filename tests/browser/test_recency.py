"""A time limit that an engine did not apply shows in the dates of its results; one that it did never warns."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

import castlenb as cn
from castlenb.engines import ENGINES, RECENCIES
from castlenb.lab import content
from castlenb.lab.content import Result

EACH = pytest.mark.parametrize("engine", ["google", "bing", "brave", "duckduckgo"])
HOURS = {"day": 24, "week": 7 * 24, "month": 30 * 24, "year": 365 * 24}

Age = Callable[[int], timedelta | None]


@pytest.fixture
def aged(monkeypatch: pytest.MonkeyPatch) -> Callable[[Age], None]:
    """Has the lab's engines ignore every time limit: results are as old as their rank says."""
    honest = content.results

    def play(age: Age) -> None:
        def results(query: str, first: int, count: int, **rest: object) -> list[Result]:
            found = honest(query, first, count, **rest)  # type: ignore[arg-type]
            return [replace(each, age=age(each.rank)) for each in found]

        monkeypatch.setattr(content, "results", results)

    return play


@pytest.mark.proof
@EACH
@pytest.mark.parametrize("recency", RECENCIES)
def test_no_false_alarm(lab: cn.Lab, engine: str, recency: str) -> None:
    page = cn.search(f"honest {recency}", engine=engine, recency=recency, browser=lab.browser)
    assert len(page) == 10
    assert page.results["date"].notna().sum() >= 8  # two rows of its Google's have none
    assert page.warnings == ()


@pytest.mark.proof
@EACH
@pytest.mark.parametrize("recency", RECENCIES)
def test_results_that_fill_the_range_to_its_end_are_no_alarm(
    lab: cn.Lab, aged: Callable[[Age], None], engine: str, recency: str
) -> None:
    aged(lambda rank: timedelta(hours=HOURS[recency] * min(rank, 10) / 10))
    page = cn.search(f"to the end {recency}", engine=engine, recency=recency, browser=lab.browser)
    assert page.results["date"].notna().sum() >= 8
    assert page.warnings == ()


@pytest.mark.proof
@EACH
@pytest.mark.parametrize("recency", RECENCIES)
def test_a_limit_that_was_not_applied_is_said(
    lab: cn.Lab, aged: Callable[[Age], None], engine: str, recency: str
) -> None:
    aged(lambda rank: timedelta(hours=HOURS[recency] * (3 if rank % 2 else 0.1)))
    page = cn.search(f"ignored {recency}", engine=engine, recency=recency, browser=lab.browser)
    dates = page.results["date"].dropna()
    assert len(dates) >= 8
    older = int((dates != page.records[1]["date"]).sum())  # those of even ranks are new
    assert older >= 3
    assert page.warnings == (
        f"{older} of {len(dates)} dated results are older than the {recency} asked for: {ENGINES[engine].label} may "
        "not have applied the time limit",
    )
    assert page.warnings[0] in " ".join(repr(page).split())


@EACH
def test_nothing_is_said_where_nothing_was_asked(lab: cn.Lab, aged: Callable[[Age], None], engine: str) -> None:
    aged(lambda rank: timedelta(days=3000))
    assert cn.search("old, and why not", engine=engine, browser=lab.browser).warnings == ()


@pytest.mark.proof
@EACH
def test_a_few_old_ones_or_none_dated_are_no_alarm(lab: cn.Lab, aged: Callable[[Age], None], engine: str) -> None:
    aged(lambda rank: timedelta(days=3000) if rank in (2, 7) else timedelta(hours=3))
    assert cn.search("two old ones", engine=engine, recency="week", browser=lab.browser).warnings == ()
    aged(lambda rank: None)
    undated = cn.search("no dates", engine=engine, recency="week", browser=lab.browser)
    # A forum's row at the lab's Google shows the age of its thread in place of its address.
    assert undated.results["date"].notna().sum() == (1 if engine == "google" else 0)
    assert undated.warnings == ()


def test_the_only_result_is_enough(lab: cn.Lab, aged: Callable[[Age], None]) -> None:
    aged(lambda rank: timedelta(days=70))
    one = cn.search("the only one", engine="brave", recency="week", num_results=1, browser=lab.browser)
    assert [warning.startswith("1 of 1 dated results is older than the week") for warning in one.warnings] == [True]


def test_a_comparison_says_whose_it_is(lab: cn.Lab, aged: Callable[[Age], None]) -> None:
    aged(lambda rank: timedelta(days=70))
    found = cn.compare("old ones", engines=["bing", "brave"], recency="day", num_results=3, browser=lab.browser)
    assert [len(page.warnings) for page in found.pages] == [1, 1]
    said = " ".join(str(found).split())
    assert "Note: bing: 3 of 3 dated results are older than the day asked for: Bing may not have applied" in said
