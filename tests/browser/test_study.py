"""A small study of the lab's, from plan to frames."""

from pathlib import Path

import pandas as pd
import pytest

import castlenb as cn
from castlenb import study
from castlenb.lab import Truth

EXACT_MS = 17.0


def agrees(measured: float | None, true: float | None) -> bool:
    if true is None or pd.isna(measured):
        return true is None and pd.isna(measured)
    return abs(measured - true) <= EXACT_MS


def disagreements(trial: pd.Series, truth: Truth) -> list[str]:
    """The times of a trial that are not those which the page itself has noted."""
    names = ["parse_ready_ms", "ai_shell_ms", "ai_loading_ms", "ai_appear_ms", "ai_declined_ms"]
    times = {name: getattr(truth, name) for name in names}
    seen = [mark.ms for mark in truth.ai_growth if mark.ms <= trial["observed_ms"]]  # the page goes on until it closes
    times["ai_settle_observed_ms"] = max(seen, default=None)
    return [
        f"{trial['trial_id']} {name}: {trial[name]}, and it was {true}"
        for name, true in times.items()
        if not agrees(trial[name], true)
    ]


def test_a_study_is_planned_run_recorded_and_not_run_again(lab: cn.Lab, tmp_path: Path) -> None:
    lab.play("answer-stream")
    lab.play("marked", engine="duckduckgo")
    plan = study.plan(["tea"], engines=("google", "duckduckgo"), repeats=1, conditions={"layout": ("classic",)})
    options = {"horizon_s": 1.5, "quiet_ms": 300, "progress": False}
    run = study.run(plan, journal=tmp_path / "tea.jsonl", browser=lab.browser, signed_in="no", **options)

    assert list(run.trials["trial_id"]) == list(plan["trial_id"])
    assert list(run.trials["warmup"]) == [True, True, False, False]
    assert set(run.trials["outcome"]) == {"results"}
    asked = lab.web.searches()
    assert [request.scenario for request in asked] == [
        "answer-stream" if engine == "google" else "marked" for engine in plan["engine"]
    ]
    for (_, trial), request in zip(run.trials.iterrows(), asked, strict=True):
        google = trial["engine"] == "google"
        assert trial["ai_state"] == ("settled" if google else "unsupported")
        assert trial["n_results"] == 10
        if google:  # DuckDuckGo's pages have no scripts, and so tell no times
            truth = lab.web.truth(request)
            assert disagreements(trial, truth) == []
            assert trial["observed_ms"] >= 1500, "it was watched to the horizon, though its answer was whole before"
            assert (trial["settled_by"], trial["ai_settle_censored"]) == ("marker", False)
            assert agrees(trial["marker_ms"], truth.ai_marker_ms)
            assert trial["ai_chars"] == truth.ai_growth[-1].held
            growth = run.growth[run.growth["trial_id"] == trial["trial_id"]]
            assert list(growth["t_ms"].dropna()) == sorted(growth["t_ms"])
            assert growth["chars"].iloc[-1] == trial["ai_chars"]
            assert (run.citations["trial_id"] == trial["trial_id"]).sum() == trial["ai_citations"] == 3
            request_row = run.requests.set_index("trial_id").loc[trial["trial_id"]]
            assert request_row["url_host_and_path"] == "www.google.com/async/folsrch"
            assert request_row["asked_ms"] <= trial["ai_appear_ms"]
            assert 200 < trial["heartbeat_median_gap_ms"] < 1000
    assert run.results.groupby("trial_id").size().eq(10).all()
    about = run.runs.iloc[0]
    assert (about["planned"], about["sittings"], about["signed_in"], about["headless"]) == (4, 1, "no", True)
    assert about["ended_at"] > about["started_at"]
    assert about["plan_seed"] == 0
    assert about["chrome"].startswith("Chrome/")
    assert run.latency_table().shape[0] == 2

    again = study.run(plan, journal=tmp_path / "tea.jsonl", browser=lab.browser, **options)
    assert lab.web.searches() == asked, "nothing that is in the journal is measured again"
    pd.testing.assert_frame_equal(again.trials, run.trials)
    assert again.runs.loc[0, "sittings"] == 2
    for name, frame in study.Run.load(tmp_path / "tea.jsonl").frames().items():
        pd.testing.assert_frame_equal(frame, again.frames()[name])
    with pytest.raises(cn.StudyError, match="another study: its horizon_ms is 1500"):
        study.run(plan, journal=tmp_path / "tea.jsonl", browser=lab.browser, **{**options, "horizon_s": 2.0})
    assert lab.web.searches() == asked


def test_nothing_is_asked_where_nothing_can_be_written(lab: cn.Lab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for journal in ("/dev/full", tmp_path / "file" / "journal.jsonl"):
        with pytest.raises(cn.JournalError):
            study.run(study.plan(), journal=journal, browser=lab.browser, progress=False)
    assert lab.web.searches() == []


def test_nothing_is_asked_where_the_arguments_make_no_sense(lab: cn.Lab) -> None:
    for wrong, says in [
        ({"horizon_s": 1.0, "quiet_ms": 1000}, "longer than quiet_ms"),
        ({"pace": (0, 1)}, "pace"),
        ({"results": 0}, "results"),
        ({"horizon_s": float("nan")}, "horizon_s"),
        ({"browsers": [lab.browser, lab.browser]}, "each once"),
        ({"browsers": []}, "at least one"),
        ({"browsers": [lab.browser], "browser": lab.browser}, "either"),
    ]:
        with pytest.raises(ValueError, match=says):
            study.run(study.plan(), **({} if "browsers" in wrong else {"browser": lab.browser}), **wrong)  # type: ignore[arg-type]
    assert lab.web.searches() == []
