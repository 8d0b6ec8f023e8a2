"""``search(ai_answer=True)``: the wait for an answer, on the lab's pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

import castlenb as cn
from castlenb.lab import Scenario, Step, register, scenario

from .conftest import Onlooker

FIELD = scenario("2026-08-04", "google")
QUERY = "LangChain valuation Series C funding 2026"


def play(lab: cn.Lab, name: str, *answer: Step, **other: object) -> Scenario:
    """Plays the field notes' page with this answer."""
    played = replace(FIELD, name=name, answer=answer, **other)  # type: ignore[arg-type]
    register(played)
    lab.play(name)
    return played


def asked(lab: cn.Lab, **other: object) -> cn.SearchPage:
    return cn.search(QUERY, ai_answer=True, browser=lab.browser, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("visibility", ["emulated", "hidden"])
def test_an_answer_is_waited_for_until_it_says_that_it_is_whole(
    lab: cn.Lab, onlooker: Onlooker, visibility: str
) -> None:
    lab.play("2026-08-04")
    front = onlooker.open("about:blank")
    try:
        page = asked(lab, visibility=visibility)
    finally:
        onlooker.close(front)
    answer = page.answer
    assert answer is not None
    assert (answer.state, answer.settled_by, answer.label) == ("settled", "marker", "Google AI Overview")
    assert len(answer.text or "") > 850
    assert len(page) == 10
    times = answer.timings
    appear, settle = times["ai_appear_ms"], times["ai_settle_ms"]
    assert appear is not None
    assert settle is not None
    assert page.timings["results_complete_ms"] < appear < settle  # type: ignore[operator]
    assert not page.warnings
    assert not any(each["url"] in (answer.text or "") for each in page.records if each["url"])


def test_google_gives_up_udm_for_it(lab: cn.Lab) -> None:
    assert "udm" not in asked(lab).url
    assert "udm=14" in cn.search(QUERY, browser=lab.browser).url


def test_without_being_asked_for_there_is_none(lab: cn.Lab) -> None:
    page = cn.search(QUERY, browser=lab.browser)
    assert page.answer is None
    assert not any(name.startswith("ai_") for name in page.timings)


def test_a_budget_cuts_an_answer_short_and_says_so(lab: cn.Lab) -> None:
    play(lab, "endless-answer", *(Step(700 + 150 * n, "answer", chars=100 + 20 * n) for n in range(40)))
    page = asked(lab, budget_s=1.5)
    assert page.answer is not None
    assert (page.answer.state, page.answer.settled_by) == ("growing", None)
    assert page.answer.text
    assert page.answer.timings["ai_settle_ms"] is None
    assert any("cut" in warning for warning in page.warnings)


def test_a_deadline_that_comes_before_the_budget_loses_no_results(lab: cn.Lab) -> None:
    play(lab, "endless-answer-2", *(Step(700 + 150 * n, "answer", chars=100 + 20 * n) for n in range(40)))
    page = asked(lab, budget_s=2.5, deadline_s=2.5)
    assert len(page) == 10
    assert page.answer is not None
    assert page.answer.state == "growing"


def test_without_a_marker_quiet_settles_it_at_its_last_change(lab: cn.Lab) -> None:
    play(lab, "unmarked", Step(700, "answer", chars=120), Step(1000, "answer", chars=400))
    page = asked(lab)
    assert page.answer is not None
    assert (page.answer.state, page.answer.settled_by) == ("settled", "quiet")
    settle = page.answer.timings["ai_settle_ms"]
    assert settle is not None
    assert settle < 2500, "the time of the change, not of its detection"


def test_a_visible_decline_ends_the_wait_unless_told_otherwise(lab: cn.Lab) -> None:
    play(lab, "declines", Step(800, "loading"), Step(1200, "declined"))
    page = asked(lab, budget_s=6)
    assert page.answer is not None
    assert (page.answer.state, page.answer.text) == ("declined", None)
    times = page.answer.timings
    assert times["ai_loading_ms"] < times["ai_declined_ms"]  # type: ignore[operator]
    assert page.timings["call_total_ms"] < 5000  # type: ignore[operator]
    patient = asked(lab, budget_s=3, early_stop=False)
    assert patient.answer is not None
    assert patient.answer.state == "declined"
    assert patient.timings["call_total_ms"] > page.timings["results_complete_ms"] + 3000  # type: ignore[operator]


def test_an_engine_without_answers_is_not_waited_for(lab: cn.Lab) -> None:
    page = asked(lab, engine="duckduckgo", budget_s=15)
    assert page.answer is not None
    assert page.answer.state == "unsupported"
    assert page.timings["call_total_ms"] < 10_000  # type: ignore[operator]


def test_whoever_follows_a_search_is_told_how_far_it_is(lab: cn.Lab) -> None:
    rows = (Step(20, "head"), Step(50, "results", last=4), Step(1900, "results", first=4), Step(2000, "end"))
    grown = (Step(2100, "wrapper"), *(Step(2200 + 150 * n, "answer", chars=100 + 20 * n) for n in range(40)))
    play(lab, "followed", *grown, steps=rows)
    told: list[tuple[str, int]] = []
    page = asked(lab, budget_s=2.5, progress=lambda state, count: told.append((state, count)))
    assert page.answer is not None
    assert told[0] == ("results", 4)
    lengths = [count for state, count in told if state == "growing"]
    assert lengths == sorted(lengths)
    assert 100 <= lengths[0] <= len(page.answer.text or "")


def test_an_answer_stands_on_the_first_page_alone(lab: cn.Lab) -> None:
    lab.play("2026-08-04")
    page = asked(lab, num_results=20)
    assert len(page) == 20
    assert page.answer is not None
    assert page.answer.state == "settled"


@pytest.mark.parametrize("budget_s", [-1, float("nan")])
def test_a_budget_out_of_its_range(lab: cn.Lab, budget_s: float) -> None:
    with pytest.raises(ValueError, match="budget_s"):
        asked(lab, budget_s=budget_s)


def test_an_early_answer_costs_no_wait(lab: cn.Lab) -> None:
    rows = (Step(90, "head"), Step(95, "results", last=1), Step(700, "results", first=1), Step(720, "end"))
    play(lab, "early", Step(100, "answer", chars=500), Step(120, "settled"), steps=rows)
    page = asked(lab)
    assert page.answer is not None
    assert page.answer.settled_by == "marker"
    assert page.answer.timings["ai_settle_ms"] < page.timings["results_complete_ms"]  # type: ignore[operator]


def test_citations_with_their_ranks_among_the_results(lab: cn.Lab) -> None:
    lab.play("2026-08-04")
    page = asked(lab)
    ranks = page.citation_ranks()
    assert list(ranks.columns) == ["n", "title", "url", "site", "page_rank", "site_rank"]
    assert page.answer is not None
    assert len(ranks) == len(page.answer.records) > 0
    known = {record["url"]: record["rank"] for record in page.records}
    for row in ranks.to_dict("records"):
        assert row["page_rank"] == known[row["url"]]
        assert row["site_rank"] <= row["page_rank"]


def test_without_an_answer_there_are_no_citations_to_rank(lab: cn.Lab) -> None:
    ranks = cn.search(QUERY, browser=lab.browser).citation_ranks()
    assert len(ranks) == 0
    assert str(ranks["page_rank"].dtype) == "Int64"


def test_several_engines_with_their_answers(lab: cn.Lab) -> None:
    lab.play("2026-08-04")
    found = cn.compare(QUERY, engines=("google", "duckduckgo"), ai_answer=True, browser=lab.browser)
    assert [page.answer.state for page in found.pages if page.answer] == ["settled", "unsupported"]
    several = cn.searches([QUERY, "another one"], ai_answer=True, browser=lab.browser)
    assert [page.answer.state for page in several.pages if page.answer] == ["settled", "settled"]
