"""The lab's pages, changed as engines change theirs: verdicts name the hooks concerned, and a search lists no wrong row."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import castlenb as cn
from castlenb.lab import MUTATIONS, Mutation
from castlenb.lab.mutations import still, unchanged

pytestmark = pytest.mark.proof

QUERY = "how does a heat pump work"


@pytest.fixture(scope="module")
def stage() -> Iterator[cn.Lab]:
    with cn.Lab("instant") as lab:
        yield lab


@pytest.fixture(scope="module")
def as_it_was(stage: cn.Lab) -> dict[str, cn.SearchPage]:
    """What a search finds on each engine's page before it is changed."""
    stage.play(still)
    engines = {changed.engine for changed in MUTATIONS}
    return {each: cn.search(QUERY, engine=each, ai_answer=True, browser=stage.browser) for each in engines}


def drifted(found: cn.Verification) -> set[tuple[str, str]]:
    assert not found.failures
    return {(check.hook.css, check.verdict) for check in found.drifted}


def rows(page: cn.SearchPage) -> list[tuple[object, ...]]:
    return [(row["rank"], row["title"], row["url"]) for row in page.records]


def test_on_unchanged_pages_all_hooks_hold(stage: cn.Lab) -> None:
    stage.play(still)
    found = cn.verify(query=QUERY, browser=stage.browser)
    assert drifted(found) == set()
    assert found.holds
    assert [(seen.engine, seen.layout) for seen in found.pages] == [
        ("google", "web"),
        ("google", "classic"),
        ("bing", ""),
        ("brave", ""),
        ("duckduckgo", "html"),
    ]
    held = found.checks[found.checks["verdict"] == "ok"]
    assert set(held["engine"]) == {"google", "bing", "brave", "duckduckgo"}
    assert {"area", "heading", "answer_wrapper", "answer_body", "answer_card"} <= set(held["part"])
    assert found.repairs.empty


@pytest.mark.parametrize("changed", MUTATIONS, ids=lambda each: f"{each.engine}: {each.name}")
def test_a_change_is_named_and_never_makes_a_wrong_row(
    stage: cn.Lab, as_it_was: dict[str, cn.SearchPage], changed: Mutation
) -> None:
    changes = []

    def noted(text: str) -> str:
        changes.append(changed.alter(unchanged(text)) != unchanged(text))
        return changed.alter(unchanged(text))

    stage.play(replace(changed.scenario, alter=noted), engine=changed.engine)
    found = cn.verify(engines=[changed.engine], query=QUERY, browser=stage.browser)
    assert any(changes), "nothing was changed, so nothing is proved"
    assert drifted(found) == set(changed.breaks)
    assert found.holds == (not changed.breaks)
    proposed = {(each.hook.css, each.css) for each in found.proposed}
    assert {css for css, _ in proposed} <= {css for css, verdict in changed.breaks if verdict == "missing"}
    before = as_it_was[changed.engine]
    try:
        after = cn.search(QUERY, engine=changed.engine, ai_answer=True, browser=stage.browser)
    except cn.UnparseableError:
        assert changed.repair
        return
    assert rows(after) == rows(before)
    assert after.answer is not None
    assert before.answer is not None
    assert after.answer.text == before.answer.text
    lost = {css for css, _ in changed.breaks}
    assert {css for css in lost if any(css in warning for warning in after.warnings)} == lost
    if not changed.breaks:
        assert after.warnings == ()
