"""From what a hook found to a verdict, the history of verdicts, and what is proposed for hooks that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import castlenb as cn
from castlenb import selectors
from castlenb.engines import engine
from castlenb.engines.base import EVERY_PAGE, ONCE, Hook
from castlenb.selectors import Check, Repair, Seen, Verification
from castlenb.selectors.judge import Page, verdict_on
from castlenb.selectors.record import keep
from castlenb.selectors.repair import Trial, ranked
from castlenb.selectors.sources import source_from

GOOGLE = engine("google")
RESULTS = Page("results", "settled")

MONTHS = ("2026-01", "2026-10")
AREA = Hook("area", "#rso", "id", "high", "this test", MONTHS, expected=ONCE)
SNIPPET = Hook("snippet", ".s", "class", "high", "this test", MONTHS, expected=EVERY_PAGE)
DATE = Hook("date", ".d", "class", "high", "this test", MONTHS)
BODY = Hook("answer_body", "[data-rl]", "attribute", "high", "this test", MONTHS, expected=EVERY_PAGE)
WRAPPER = Hook("answer_wrapper", "#eKIzJc", "id", "high", "this test", MONTHS, expected=ONCE)
REFUSAL = Hook("refusal", "#captcha-form", "id", "high", "this test", MONTHS)
REQUEST = Hook("request", r"^www\.google\.com/async/", "address", "medium", "this test", MONTHS)

OFFERED = Hook("answer_offered", "[jsname=x]", "attribute", "low", "this test", MONTHS)


def found(count: int | None = 1, placed: int | None = None, **more: Any) -> dict[str, Any]:
    plain = {"asked": True, "why": None, "where": "", "sample": "", "agrees": [], "apart": []}
    return {"found": count, "placed": (count or 0) if placed is None else placed, **plain, **more}


@pytest.mark.parametrize(
    ("hook", "said", "page", "verdict"),
    [
        (AREA, found(1), RESULTS, "ok"),
        (AREA, found(0), RESULTS, "missing"),
        (AREA, found(0, asked=False), RESULTS, "not_judgeable"),
        (AREA, found(2, 1), RESULTS, "ambiguous"),
        (AREA, found(1, 0, why="holds"), RESULTS, "misplaced"),
        (AREA, found(1, apart=["#search"]), RESULTS, "disagrees"),
        (AREA, found(1, agrees=["#search"], apart=["#unheard-of"]), RESULTS, "ok"),
        (AREA, found(0), Page("no_results", "absent"), "not_judgeable"),
        (AREA, found(0), Page("unparseable", "absent"), "missing"),
        (AREA, found(0), Page("challenge", "absent"), "blocked"),
        (AREA, found(0), Page("suspected_block", "absent"), "blocked"),
        (SNIPPET, found(40, 12), RESULTS, "ok"),
        (DATE, found(0), RESULTS, "not_judgeable"),
        (DATE, found(3, 0, why="outside"), RESULTS, "not_judgeable"),
        (BODY, found(0), RESULTS, "missing"),
        (BODY, found(0), Page("results", "absent"), "not_judgeable"),
        (BODY, found(0), Page("results", "declined"), "not_judgeable"),
        (WRAPPER, found(0), Page("results", "absent"), "not_judgeable"),
        (WRAPPER, found(0), Page("results", "growing"), "missing"),
        (WRAPPER, found(2, 1, why="outside"), RESULTS, "ambiguous"),
        (WRAPPER, found(1, apart=["#m-x-content"]), RESULTS, "ok"),
        (REFUSAL, found(0), RESULTS, "not_judgeable"),
        (REFUSAL, found(1), Page("challenge", "absent"), "ok"),
        (REQUEST, found(None), RESULTS, "not_judgeable"),
        (REQUEST, found(None), Page("results", "settled", ["/async/folsrch"]), "ok"),
        (REQUEST, found(None), Page("results", "settled", ["/else"]), "not_judgeable"),
        (OFFERED, found(1), Page("results", "offered"), "ok"),
        (OFFERED, found(0), Page("results", "absent"), "not_judgeable"),
    ],
)
def test_a_verdict(hook: Hook, said: Mapping[str, Any], page: Page, verdict: str) -> None:
    given, why = verdict_on(hook, said, page, GOOGLE)
    assert given == verdict, why
    assert (why == "") == (verdict == "ok") or hook is REFUSAL


def _count(hook: Hook, verdict: str) -> int | None:
    return None if hook is REQUEST else int(verdict == "ok")


def seen(at: str, *verdicts: tuple[Hook, str], name: str = "q", **more: Any) -> Seen:
    checks = tuple(
        Check(hook, found(_count(hook, verdict)), verdict, "", verdict not in ("blocked", "not_judgeable"))
        for hook, verdict in verdicts
    )
    page = {
        "layout": "web",
        "url": "https://www.google.com/search?q=q",
        "page_state": "results",
        "answer_state": "settled",
    }
    return Seen(engine="google", name=name, at=at, placement="top", checks=checks, **{**page, **more})


def verification(*pages: Seen) -> Verification:
    return Verification(pages, {})


class TestHistory:
    def test_since_when_a_hook_holds_or_fails(self, tmp_path: Path) -> None:
        file = tmp_path / "new" / "verifications.csv"
        for day, area in (("01", "ok"), ("02", "ok"), ("03", "missing"), ("04", "not_judgeable"), ("05", "missing")):
            unseen = (REQUEST, "not_judgeable")  # of which there is no count
            keep(verification(seen(f"2026-11-{day}T10:00:00+00:00", (AREA, area), (DATE, "ok"), unseen)), file)
        told = selectors.history(file).set_index("hook")
        assert list(told.index) == ["#rso", ".d"]  # what fails comes first
        assert told.loc["#rso", "state"] == "fails"
        assert told.loc["#rso", "since"].isoformat() == "2026-11-03T10:00:00+00:00"
        assert told.loc["#rso", "last"].isoformat() == "2026-11-05T10:00:00+00:00"
        assert (told.loc["#rso", "runs"], told.loc["#rso", "changes"]) == (4, 1)
        assert told.loc[".d", "state"] == "holds"
        assert told.loc[".d", "since"].isoformat() == "2026-11-01T10:00:00+00:00"

    def test_it_is_empty_where_nothing_was_verified(self, tmp_path: Path) -> None:
        told = selectors.history(tmp_path / "none.csv")
        assert told.empty
        assert "since" in told.columns
        with pytest.raises(ValueError, match="no verification up to 2026-01-01"):
            selectors.diff("2026-01-01", "2026-02-01", file=tmp_path / "none.csv")

    def test_a_file_that_is_no_history_is_said_to_be_none(self, tmp_path: Path) -> None:
        other = tmp_path / "other.csv"
        other.write_text("a,b\n1,2\n")
        with pytest.raises(cn.CaptureError, match="no history of verifications: it lacks the columns"):
            selectors.history(other)

    def test_what_changed_between_two_days_and_between_two_verifications(self, tmp_path: Path) -> None:
        file = tmp_path / "verifications.csv"
        before = verification(seen("2026-11-01T10:00:00+00:00", (AREA, "ok"), (DATE, "ok"), (BODY, "not_judgeable")))
        after = verification(seen("2026-11-03T10:00:00+00:00", (AREA, "missing"), (DATE, "ok"), (BODY, "ok")))
        for each in (before, after):
            keep(each, file)
        for changed in (selectors.diff(before, after), selectors.diff("2026-11-02", "2026-11-03", file=file)):
            assert changed.to_dict("records") == [
                {
                    "engine": "google",
                    "layout": "web",
                    "part": "area",
                    "hook": "#rso",
                    "before": "ok",
                    "after": "missing",
                }
            ]
        assert selectors.diff("2026-11-01", "2026-11-02", file=file).empty

    def test_the_usual_file_of_a_checkout_is_in_it(self) -> None:
        assert selectors.history_file().parts[-2:] == ("data", "verifications.csv")


class TestVerification:
    def test_a_line_that_a_person_can_act_on(self) -> None:
        trial = Trial(0, right=3, repaired=2, months={"2026-09", "2026-11"})
        drifted = Verification(
            (seen("2026-11-03", (AREA, "missing"), (DATE, "ok"), (BODY, "not_judgeable")),),
            {"bing": cn.CaptureError("no such page")},
            (Repair("google", AREA, "#tqm", trial),),
        )
        assert str(drifted).splitlines() == [
            "Google: 1 of 3 hooks have drifted on 1 page: area #rso missing on 1, use #tqm",
            "bing: not checked: no such page",
        ]
        assert not drifted.holds
        assert str(verification(seen("2026-11-03", (AREA, "ok"), (DATE, "not_judgeable")))) == (
            "Google: 1 hook holds on 1 page, 1 had nothing to be judged by"
        )

    def test_a_blocked_engine_says_what_to_open(self) -> None:
        blocked = verification(seen("2026-11-03", (AREA, "blocked"), page_state="challenge"))
        assert "Google: blocked (challenge): open https://www.google.com/search?q=q yourself" in str(blocked)
        assert not blocked.holds

    def test_hook_by_month(self) -> None:
        told = verification(
            seen("2026-10-01", (AREA, "ok"), (DATE, "not_judgeable")),
            seen("2026-10-20", (AREA, "missing"), (DATE, "ok")),
            seen("2026-11-03", (AREA, "missing"), (DATE, "ok")),
        ).by_month()
        assert list(told.columns) == ["2026-10", "2026-11"]
        assert told.loc[("google", "area", "#rso")].tolist() == [0.5, 0.0]
        assert told.loc[("google", "date", ".d")].tolist() == [1.0, 1.0]

    def test_checks_and_repairs_have_their_columns_even_when_empty(self) -> None:
        nothing = Verification((), {})
        assert list(nothing.checks.columns)[:4] == ["engine", "layout", "part", "hook"]
        assert list(nothing.repairs.columns)[:4] == ["engine", "part", "hook", "proposal"]
        assert nothing.by_month().empty


class TestRepairs:
    def test_what_lasts_comes_first_and_what_mends_nothing_not_at_all(self) -> None:
        trials = {
            ".class-name": Trial(3, right=9, repaired=1),
            "#search > div": Trial(2, right=9, repaired=1),
            "[data-results]": Trial(1, right=9, repaired=1),
            "#often-wrong": Trial(0, right=5, wrong=4, repaired=1),
            "#mends-nothing": Trial(0, right=9, still_broken=1),
        }
        assert ranked(trials) == ["[data-results]", "#search > div", ".class-name", "#often-wrong"]

    def test_a_page_counts_for_what_was_found_on_it(self) -> None:
        trial = Trial(1)
        trial.note((1, 1, True), missing=False, fits=True, month="2026-09")  # the same as the hook
        trial.note((3, 3, False), missing=False, fits=False, month="2026-08")  # something else
        trial.note((0, 0, False), missing=False, fits=False, month="2026-08")  # nothing
        trial.note((1, 1, None), missing=True, fits=True, month="2026-10")  # where the hook is gone
        trial.note((9, 9, None), missing=True, fits=False, month="2026-11")
        trial.note((1, 1, None), missing=False, fits=True, month="2026-07")  # where there is nothing to find
        trial.note((0, 0, None), missing=False, fits=False, month="2026-07")
        assert (trial.right, trial.wrong, trial.absent, trial.repaired, trial.still_broken) == (1, 2, 1, 1, 1)
        assert trial.months == {"2026-09", "2026-10"}

    def test_the_line_is_ready_for_the_engines_file(self) -> None:
        trial = Trial(1, right=3, repaired=2, wrong=1, months={"2026-09", "2026-11"})
        line = Repair("google", AREA, '[data-x="1"]', trial).line
        made = eval(line.rstrip(","), {"Hook": Hook})
        assert (made.part, made.css, made.kind, made.expected) == ("area", '[data-x="1"]', "attribute", (1, 1))
        assert made.held == ("2026-09", "2026-11")
        assert made.evidence == "verify: right on 5 of 6 pages"


def test_a_files_date_is_in_its_name(tmp_path: Path) -> None:
    for name, at in (("2026-02-06_x.html", "2026-02-06"), ("2025-03_x.html", "2025-03"), ("2019_x.html", "2019")):
        (tmp_path / name).write_text("<p>x")
        assert source_from(tmp_path / name).at == at
    (tmp_path / "page.html").write_text("<p>x")
    assert source_from(tmp_path / "page.html").at.startswith("20")
    with pytest.raises(cn.CaptureError):
        source_from(tmp_path / "none.html")
