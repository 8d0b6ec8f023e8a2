"""``search(ai_answer=True)`` on every scenario of an answer, at every engine that has one, against the page's own marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import pytest

import castlenb as cn
from castlenb.engines import ENGINES
from castlenb.lab import ALL_ANSWER, Truth, scenario
from castlenb.lab.content import passage

pytestmark = pytest.mark.proof

HAVE = ("google", "bing", "brave")
NEAR_MS = 500
"""Marks and stamps are a millisecond apart on a machine that is let be; what is detected late is later than this."""

GROWN = (
    "answer-stream",
    "answer-inline",
    "answer-first",
    "answer-late",
    "answer-loading",
    "answer-rewrite",
    "answer-swap",
    "answer-whole",
    "hostile",
)
SILENT = {
    "answer-declined": ("declined", "absent", "absent"),
    "answer-loading-declined": ("declined", "absent", "absent"),
    "answer-offered": ("offered", "absent", "offered"),
}
"""The state at each of the engines: Bing and Brave are not known to say that there is none, nor Bing to offer one."""


@pytest.fixture(scope="module")
def own_lab() -> Iterator[cn.Lab]:
    with cn.Lab("instant") as lab:
        yield lab


def searched(lab: cn.Lab, query: str, budget_s: float) -> dict[str, tuple[cn.SearchPage, Truth]]:
    """The same search at all three at once; what it gave, and what the page noted itself."""
    found = cn.compare(query, engines=HAVE, ai_answer=True, budget_s=budget_s, browser=lab.browser)
    assert not found.errors, found.errors
    truths = {}
    for page in found.pages:
        [*_, request] = [each for each in lab.web.searches(query) if each.host == ENGINES[page.engine].hosts[0]]
        truths[page.engine] = page, lab.web.truth(request)
    return truths


def assert_as_written(page: cn.SearchPage, truth: Truth, query: str, wording: int = 0) -> None:
    answer = page.answer
    assert answer is not None
    assert answer.state == "settled", page.engine
    grown = truth.ai_growth
    written = "\n\n".join(" ".join(text.split()) for text in passage(query, grown[-1].chars, wording))
    assert answer.text == written, page.engine
    assert answer.warnings == ()
    for name in ("parse_ready_ms", "results_complete_ms", "ai_appear_ms", "ai_settle_ms"):
        true, measured = getattr(truth, name), page.timings[name]
        assert measured is not None, (page.engine, name)
        # Rows that are written as a page is left, before it has loaded, are in no report of it.
        if true is None and name in ("parse_ready_ms", "results_complete_ms"):
            assert measured > truth.ai_settle_ms  # type: ignore[operator]
            continue
        assert true is not None, (page.engine, name)
        assert abs(measured - true) < NEAR_MS, (page.engine, name)
    prose = answer.growth[answer.growth["chars"] > 0]
    assert [chars for chars, _ in groupby(prose["chars"])] == [held for held, _ in groupby(mark.held for mark in grown)]
    assert prose["t_ms"].iloc[0] == answer.timings["ai_appear_ms"]
    assert answer.growth["t_ms"].is_monotonic_increasing
    assert answer.growth["kind"].iloc[-1] == ("settled" if answer.settled_by == "marker" else "growing")


@pytest.mark.parametrize("name", GROWN)
def test_an_answer_is_what_was_written_when_it_was(own_lab: cn.Lab, name: str) -> None:
    own_lab.play(name)
    query = f"steeping {name}"
    planned = [step for step in scenario(name).answer or () if step.part == "answer"]
    for engine, (page, truth) in searched(own_lab, query, budget_s=6).items():
        assert_as_written(page, truth, query, planned[-1].wording if planned else 0)
        assert page.answer is not None
        unmarked = engine == "bing" or (engine, name) == ("google", "answer-whole")
        assert page.answer.settled_by == ("quiet" if unmarked else "marker"), engine
        assert page.answer.placement == ("inline" if (engine, name) == ("google", "answer-inline") else "top")


@pytest.mark.parametrize("name", SILENT)
def test_where_there_is_none_the_state_says_why(own_lab: cn.Lab, name: str) -> None:
    own_lab.play(name)
    pages = searched(own_lab, f"steeping {name}", budget_s=2)
    for engine, state in zip(HAVE, SILENT[name], strict=True):
        page, truth = pages[engine]
        assert page.answer is not None
        assert (page.answer.state, page.answer.settled_by, page.answer.text) == (state, None, None), engine
        assert page.timings["ai_appear_ms"] is None
        if state == "declined":
            assert abs(page.timings["ai_declined_ms"] - truth.ai_declined_ms) < NEAR_MS  # type: ignore[operator]


def test_the_day_of_the_field_notes(own_lab: cn.Lab) -> None:
    own_lab.play("2026-08-04")
    pages = searched(own_lab, ALL_ANSWER, budget_s=10)
    for page, truth in pages.values():
        assert_as_written(page, truth, ALL_ANSWER)
    google, truth = pages["google"]
    shell = google.timings["ai_shell_ms"]
    assert shell is not None
    assert abs(shell - truth.ai_shell_ms) < NEAR_MS  # type: ignore[operator]


def test_times_count_from_the_first_of_several_documents(own_lab: cn.Lab) -> None:
    own_lab.web.play(replace(scenario("answer-stream"), name="answer-redirected", route="script"))
    page = cn.search("steeping elsewhere", ai_answer=True, browser=own_lab.browser)
    answer = page.answer
    assert answer is not None
    assert page.documents == 2
    [first, second] = own_lab.web.searches("steeping elsewhere")
    truth = own_lab.web.truth(second)
    appear = answer.timings["ai_appear_ms"]
    assert appear is not None
    # The documents' origins are as far apart as their requests, give or take what a request takes.
    apart_ms = 1000 * (second.at - first.at)
    assert abs(appear - truth.ai_appear_ms - apart_ms) < NEAR_MS  # type: ignore[operator]
    assert appear > truth.ai_appear_ms  # type: ignore[operator]
    assert answer.growth[answer.growth["chars"] > 0]["t_ms"].iloc[0] == appear
