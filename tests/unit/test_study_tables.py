"""What the tables of a study say, read as a stranger would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from castlenb.errors import Misuse
from castlenb.study import Run
from castlenb.study.combining import combine
from castlenb.study.latency import latency_figures, latency_table
from castlenb.study.layout import layout_cost
from castlenb.study.objections import check
from castlenb.study.signals import early_signals
from castlenb.study.sources import citation_overlap
from castlenb.study.windows import quiet_windows

from ..made_studies import Model, by_hand, study, whole


def cell(run: Run, column: str) -> str:
    table = latency_table(run, draws=200)
    assert len(table) == 1, table.index
    return str(table[column].iloc[0])


def test_a_median_that_is_not_reached_says_how_many_were_growing() -> None:
    late = [{"changes": [1000, 1100 + each]} for each in range(3)] + [{"changes": [1000, 4900]}] * 5
    assert cell(by_hand(*late, horizon_ms=5000, quiet_ms=1500), "AI answer settles, ms").startswith(
        "> 3500, 5 of 8 growing"
    )
    soon = [{"changes": [1000, 1100 + each]} for each in range(5)] + [{"changes": [1000, 4900]}] * 3
    said = cell(by_hand(*soon, horizon_ms=5000, quiet_ms=1500), "AI answer settles, ms")
    assert said == "1103 (1100–not reached); p90: n too small; 3 of 8 growing"


def test_times_stand_with_their_interval_and_their_number() -> None:
    made = study({"google": Model(present=0.6)}, queries=20, repeats=2, seed=3)
    figures = latency_figures(made.run, draws=500).iloc[0]
    table = latency_table(made.run, draws=500).iloc[0]
    low, high = figures["results_p50_low_ms"], figures["results_p50_high_ms"]
    assert low < figures["results_p50_ms"] < high
    p90 = f"p90 {figures['results_p90_ms']:.0f} ("
    assert table["results parseable, ms"].startswith(f"{figures['results_p50_ms']:.0f} ({low:.0f}–{high:.0f}); {p90}")
    assert table["AI answer appears, ms"].endswith(f"; of {figures['n_present']}")
    assert table["AI answer settles, ms"].endswith(f"; 0 of {figures['n_present']} growing")
    share = figures["n_present"] / 40
    assert figures["present"] == share
    assert table["AI answer present"].startswith(f"{figures['n_present']} of 40, {100 * share:.0f} % (")


def test_what_was_blocked_or_failed_is_counted_and_never_absent() -> None:
    """An engine that begins to serve a challenge, and then empty pages, half-way."""
    good = [{"changes": [1000, 2000]}] * 4 + [{}] * 4
    ends = ["challenge"] * 3 + ["suspected_block"] * 2 + ["lost", "unparseable", "error"]
    bad = [{"outcome": outcome, "ai_state": None, "parse_ready_ms": None} for outcome in ends]
    run = by_hand(*good, *bad, {"warmup": True}, {"outcome": "no_results", "ai_state": "absent"})
    row = latency_figures(run, draws=100).iloc[0]
    assert (row["n_valid"], row["n_blocked"], row["n_errors"], row["n_present"]) == (9, 5, 3, 4)
    assert row["present"] == pytest.approx(4 / 9)
    assert cell(run, "AI answer present") == "4 of 9, 44 % (19–73)"
    said = " ".join(check(run))
    assert "google blocked 5 of 17 trials (3 challenge, 2 suspected_block), the first after 8 of 17 trials" in said
    assert "1 of 17 pages had results that could not be read" in said
    assert "2 of 17 trials failed" in said


def test_the_container_is_no_answer_and_the_table_says_so() -> None:
    run = by_hand(*[{"ai_shell_ms": 1502.0, "changes": [1752, 2300]}] * 6)
    assert cell(run, "container seen, ms").startswith("1502 (1502–1502)")
    assert cell(run, "AI answer appears, ms").startswith("1752 (1752–1752)")
    assert "the container is there 250 ms before the first prose" in cell(run, "remarks")
    assert "the field notes' “appears”" in cell(run, "remarks")


def test_markers_are_counted_among_those_that_settled_in_time() -> None:
    """A marker can come after horizon - W, where some settle by quiet and some do not."""
    run = Run.load(Path(__file__).parents[2] / "data" / "runs" / "lab-2026-11-30.jsonl")
    figures = latency_figures(run, draws=2)
    assert (figures["settle_by_marker"] <= figures["settle_n"] - figures["settle_growing"]).all()
    assert figures["settle_by_marker"].max() > 0


def test_declined_is_an_outcome_of_its_own() -> None:
    run = by_hand({"changes": [1000, 2000]}, *[{"ai_state": "declined", "ai_declined_ms": 900.0}] * 2)
    assert cell(run, "AI answer present") == "1 of 3, 33 % (6–79)"
    assert "the page said that there is none: 2" in cell(run, "remarks")


def test_an_engine_without_answers_is_not_one_whose_answers_were_absent() -> None:
    run = by_hand(*[{"engine": "duckduckgo", "layout": "default", "ai_state": "unsupported", "observed_ms": 600.0}] * 6)
    assert cell(run, "AI answer present") == "none: not offered here"
    assert cell(run, "AI answer settles, ms") == "–"


def test_few_queries_and_few_trials_are_refused_in_words() -> None:
    three = by_hand(*[{"query": f"q{number % 3}", "changes": [1000, 2000]} for number in range(9)])
    assert cell(three, "results parseable, ms") == "450; p90: n too small"
    assert "no intervals of times from 3 queries" in cell(three, "remarks")
    assert "fewer than 5 queries: no interval can be given" in " ".join(check(three))
    assert cell(by_hand({}, {}), "results parseable, ms") == "n too small (2)"
    assert cell(by_hand({"changes": [900, 9900]}), "AI answer settles, ms") == "n too small (1), 1 of 1 growing"


def test_a_study_without_trials_has_tables_without_rows() -> None:
    run = by_hand()
    assert latency_table(run).empty
    assert quiet_windows(run).empty
    assert early_signals(run).empty
    assert citation_overlap(run).empty
    assert layout_cost(run).empty
    assert check(run) == ["There is no trial but warm-ups: nothing can be said."]


# Quiet windows


def test_a_window_is_judged_by_the_pauses_it_would_have_taken_for_the_end() -> None:
    run = by_hand(*[{"changes": [1000, 1200, 2000]}] * 3, {"changes": [1000, 3500]}, {"changes": [1000, 9000]})
    table = quiet_windows(run, windows_ms=(500, 1000, 2500, 3000)).set_index("quiet_ms")
    assert table["n"].unique().tolist() == [5]
    assert table["premature"].tolist() == [1.0, 0.4, 0.4, 0.2]
    assert table["unknown"].tolist() == [0, 0, 0, 0]  # the one that grew to the end would have been cut by each
    assert table["added_ms"].tolist()[1:] == [1000, 2500, 3000]
    assert table.loc[500, "text_missing"] == pytest.approx((3 / 3 + 1 / 2 + 1 / 2) / 5)
    assert table.loc[3000, "premature_high"] == pytest.approx(0.657, abs=1e-3)
    assert not table["keeps"].any()


def test_an_answer_that_was_not_seen_to_end_counts_against_a_window() -> None:
    run = by_hand(*[{"changes": [1000, 1100]}] * 58, *[{"changes": [*range(1000, 10_000, 100)]}] * 2)
    row = quiet_windows(run, windows_ms=(500,), target=0.1).iloc[0]
    assert (row["premature"], row["unknown"]) == (0, 2)
    assert row["premature_high"] == pytest.approx(0.101, abs=2e-3)
    assert not row["keeps"]


def test_a_window_keeps_its_target_only_where_every_larger_one_does() -> None:
    run = by_hand(*[{"changes": [1000, 1100]}] * 99, {"changes": [1000, 3000]})
    table = quiet_windows(run, windows_ms=(500, 1500, 2500), target=0.06).set_index("quiet_ms")
    assert table["keeps"].tolist() == [True, True, True]
    assert quiet_windows(run, windows_ms=(500, 1500, 2500), target=0.04)["keeps"].tolist() == [False, False, True]


def test_a_marker_is_judged_too() -> None:
    run = by_hand({"changes": [1000, 2000], "marker_ms": 2100.0}, {"changes": [1000, 4000], "marker_ms": 3000.0})
    row = quiet_windows(run).set_index("rule").loc["marker"]
    assert (row["n"], row["premature"], row["added_ms"], row["text_missing"]) == (2, 0.5, 100, 0.5)


@pytest.mark.parametrize(("windows", "target"), [((), 0.05), ((0, 5), 0.05), ((500,), 1)])
def test_senseless_windows_are_refused(windows: tuple[float, ...], target: float) -> None:
    with pytest.raises(ValueError, match=r"windows_ms has to|target is a share"):
        quiet_windows(by_hand({}), windows_ms=windows, target=target)


# Early signs


def test_what_the_no_wrapper_rule_would_have_missed() -> None:
    run = by_hand(
        *[{"changes": [1000], "no_wrapper_stops": False}] * 29,
        {"changes": [1000], "no_wrapper_stops": True},
        *[{"no_wrapper_stops": True}] * 6,
        *[{"no_wrapper_stops": False}] * 2,
        {"changes": [1000]},
    )
    row = early_signals(run).set_index("signal").loc["wrapper"]
    assert (row["n"], row["answers"], row["foretold"]) == (38, 30, 31)
    assert row["missed"] == pytest.approx(1 / 30)
    assert row["missed_high"] == pytest.approx(0.149, abs=1e-3)
    assert row["right"] == pytest.approx(29 / 31)
    assert row["empty_waits_spared"] == pytest.approx(6 / 8)
    assert row["after_ms"] == 500
    assert pd.isna(early_signals(run).set_index("signal").loc["loading", "missed"])


# Sources


def test_sources_among_the_results_and_from_one_time_to_the_next() -> None:
    run = by_hand(*[{"query": "q", "changes": [1000], "ai_citations": 2}] * 3)
    cited = [("t0", "https://www.a.org/x#y", None), ("t0", None, "hidden.org"), ("t1", "https://a.org/z", None)]
    run.citations = whole(
        "citations",
        pd.DataFrame([{"run_id": "run", "trial_id": trial, "url": url, "site": site} for trial, url, site in cited]),
    )
    listed = [("t0", 1, "http://a.org/x/"), ("t0", 2, "https://b.org/"), ("t1", 11, "https://a.org/z")]
    run.results = whole(
        "results",
        pd.DataFrame([{"run_id": "run", "trial_id": trial, "rank": rank, "url": url} for trial, rank, url in listed]),
    )
    row = citation_overlap(run).iloc[0]
    assert (row["answers"], row["uncited"], row["pairs"]) == (2, 1, 1)
    assert row["sites_in_results"] == pytest.approx((1 / 2 + 0) / 2)
    assert row["pages_in_results"] == pytest.approx((1 + 0) / 2)
    assert row["sites_kept"] == pytest.approx(1 / 2)
    assert (row["pages_kept"], row["nothing_kept"]) == (0, 0)
    assert citation_overlap(run, top=11).iloc[0]["pages_in_results"] == 1


# Layouts


def test_what_the_classic_layout_costs_is_counted_in_pairs() -> None:
    trials = []
    for number in range(6):
        alike = {"query": f"q{number}", "repeat": 1}
        trials += [
            alike | {"layout": "web", "parse_ready_ms": 400.0 + 100 * number, "n_results": 10},
            alike | {"layout": "classic", "parse_ready_ms": 460.0 + 100 * number, "n_results": 8},
        ]
    run = by_hand(*trials, {"layout": "web", "query": "alone", "parse_ready_ms": 5000.0})
    rows = [("t0", 1, "https://a.org/"), ("t0", 2, "https://b.org/"), ("t1", 1, "https://b.org/")]
    rows += [("t1", 2, "https://www.google.com/search?q=more"), ("t1", 3, None), ("t1", 4, "http://b.org")]
    run.results = whole(
        "results",
        pd.DataFrame([{"run_id": "run", "trial_id": trial, "rank": rank, "url": url} for trial, rank, url in rows]),
    )
    row = layout_cost(run).iloc[0]
    assert (row["pairs"], row["queries"]) == (6, 6)
    assert row["parse_ready_ms"] == pytest.approx(60)
    assert row["parse_ready_ms_low"] == pytest.approx(60)
    assert (row["n_results_web"], row["n_results_classic"], row["n_results"]) == (10, 8, -2)
    assert (row["overlap"], row["rank_shift"]) == (0.5, 1)
    assert (row["misread_web"], row["misread_classic"]) == (0, 0.75)


# Combining


def test_runs_that_were_measured_alike_are_taken_together() -> None:
    one = by_hand({"run_id": "one"}, {"run_id": "one"}, run_id="one")
    two = by_hand({"run_id": "two", "changes": [1000, 2000]}, run_id="two")
    both = combine([one, two])
    assert latency_figures(both)["n_valid"].tolist() == [3]
    # A trial's name comes again in the other run, and is another trial.
    assert quiet_windows(both)["n"].unique().tolist() == [1]
    with pytest.raises(Misuse, match="the run one comes twice"):
        combine([one, both])
    with pytest.raises(Misuse, match="at least one run"):
        combine([])


def test_runs_that_were_not_are_kept_apart_and_the_warning_says_why() -> None:
    one = by_hand({"run_id": "one"}, run_id="one", probe_hash="old")
    two = by_hand({"run_id": "two"}, run_id="two", probe_hash="new", horizon_ms=5000)
    with pytest.warns(UserWarning, match="not measured alike") as said:
        both = combine([one, two])
    assert "A is one; B is two" in str(said[0].message)
    assert "the scripts in the page (probe_hash A: old, B: new)" in str(said[0].message)
    assert "how long each page was watched" in str(said[0].message)
    table = latency_figures(both)
    assert table["lot"].tolist() == ["A", "B"]
    assert table["n_valid"].tolist() == [1, 1]
    assert any("The runs differ in horizon_ms and probe_hash" in each for each in check(both))


# Objections


def test_objections_to_the_browser_and_the_machine() -> None:
    calm = [{"parse_ready_ms": 400.0 + each} for each in range(15)]
    slower = [{"parse_ready_ms": 700.0 + each} for each in range(15)]
    rest = [{"hidden_ms": 3.0, "heartbeat_max_gap_ms": 2000.0, "chrome_id": "d"}, {"changes": [900, 9900]}]
    run = by_hand(
        *calm, *slower, *rest, load_start=0.5, load_end=9.0, cpu_count=2, planned=40, dropped='{"bing": "sorry"}'
    )
    said = check(run)
    for words in (
        "1 of 32 pages believed themselves hidden",
        "In 1 of 32 trials the page's timer of 250 ms paused for more than 1000 ms (at worst 2000)",
        "results took 404 ms in the first third",
        "The trials are from 2 Chromes: one was replaced",
        "1 of 1 answers had not settled when the page was left after 10000 ms",
        "bing was left off during the study: sorry",
        "32 of 40 planned trials of run were made",
        "The client was busy during run (load 9.0 on 2 processors)",
    ):
        assert any(words in each for each in said), (words, said)


def test_a_good_study_meets_no_objection() -> None:
    assert check(study({"google": Model()}, queries=20, repeats=3, seed=0).run) == []


def test_numbers_and_words_are_the_same_whatever_the_order_of_the_trials() -> None:
    run = study({"google": Model(), "bing": Model(present=0.2)}, queries=6, repeats=3, seed=2).run
    mixed = Run(**{**run.frames(), "trials": run.trials.sample(frac=1, random_state=1)})
    ours, theirs = latency_figures(run, draws=300), latency_figures(mixed, draws=300)
    exact = [name for name in ours if "_low_" not in name and "_high_" not in name]
    pd.testing.assert_frame_equal(ours[exact], theirs[exact])
    assert np.isfinite(ours["results_p50_low_ms"]).all()
