"""The estimators of a study: golden values, properties that hold for any data, the bootstrap against a plain one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from castlenb.study import resample
from castlenb.study.intervals import at_most, clustered, effective, mean_interval, share_interval, wilson
from castlenb.study.resample import interval, quantile_intervals, survival_band
from castlenb.study.settle import replay, settling
from castlenb.study.survival import log_log_band, survival

from ..made_studies import by_hand

# measurement.md, "Censoring, verified"
MS = np.array([900, 1200, 1500, 1500, 1800, 2300, 4000, 6000, 6000, 6000], dtype=float)
SEEN = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)

times = st.lists(st.integers(1, 50).map(float), min_size=1, max_size=30)


def test_golden_values_of_kaplan_and_meier() -> None:
    found = survival(MS, SEEN)
    assert found.ms.tolist() == [900, 1200, 1500, 1800, 2300]
    assert found.share == pytest.approx([0.9, 0.8, 0.7, 0.583333, 0.466667], abs=1e-6)
    assert found.at_risk.tolist() == [10, 9, 8, 6, 5]
    assert found.censored_ms.tolist() == [1500, 4000, 6000, 6000, 6000]
    low, high = log_log_band(MS, SEEN)
    assert low == pytest.approx([0.473009, 0.408691, 0.328717, 0.229787, 0.149552], abs=1e-6)
    assert high == pytest.approx([0.985281, 0.945873, 0.891949, 0.820739, 0.736610], abs=1e-6)
    assert found.restricted_mean(6000) == pytest.approx(3638.333, abs=1e-3)
    assert found.quantile(0.5) == 2300
    assert found.quantile(0.9) == np.inf


def test_nothing_is_told_beyond_the_limit() -> None:
    found = survival(MS, SEEN, limit_ms=2000)
    assert found.quantile(0.5) == np.inf
    assert found.quantile(0.4) == 1800
    assert np.isnan(found.restricted_mean(2001))
    assert np.isnan(found.at(2001))
    assert found.at(1500) == pytest.approx(0.7)


@pytest.mark.parametrize("seen", [[], [False, False]])
def test_nothing_was_seen_to_happen(seen: list[bool]) -> None:
    found = survival(np.full(len(seen), 7.0), np.array(seen, dtype=bool), limit_ms=9)
    assert found.quantile(0.5) == np.inf
    assert len(found.share) == 0


@settings(max_examples=25, deadline=None)
@given(times, st.data())
def test_the_share_that_is_left_only_falls(ms: list[float], data: st.DataObject) -> None:
    seen = data.draw(st.lists(st.booleans(), min_size=len(ms), max_size=len(ms)))
    found = survival(np.array(ms), np.array(seen))
    assert (np.diff(np.concatenate(([1.0], found.share, [0.0]))) <= 0).all()


@settings(max_examples=25, deadline=None)
@given(times, st.floats(0.01, 0.99))
def test_without_censoring_it_is_the_plain_distribution(ms: list[float], share: float) -> None:
    found = survival(np.array(ms), np.ones(len(ms), dtype=bool))
    assert found.share == pytest.approx([np.mean(np.array(ms) > each) for each in found.ms])
    assert found.quantile(share) == np.quantile(ms, share, method="inverted_cdf")
    assert found.restricted_mean(30) == pytest.approx(np.minimum(ms, 30).mean())


def test_golden_values_of_wilson() -> None:
    assert wilson(0.6, 10) == pytest.approx((0.312674, 0.831820), abs=1e-6)
    for k, n in ((0, 7), (3, 7), (7, 7)):
        theirs = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert wilson(k / n, n) == pytest.approx((theirs.low, theirs.high))


def test_repeats_of_a_query_do_not_pass_for_queries() -> None:
    hits = np.repeat([1, 1, 1, 0, 0, 1, 0, 1, 0, 1], 10).astype(bool)
    alone, together = np.arange(100), np.repeat(np.arange(10), 10)
    assert share_interval(clustered(hits, alone)) == pytest.approx(wilson(0.6, 100))
    assert effective(clustered(hits, together)) == 10
    low, high = share_interval(clustered(hits, together))
    assert low < 0.312674 < 0.831820 < high
    mixed = np.tile([1, 0], 50).astype(bool)
    assert effective(clustered(mixed, together)) == 100  # queries do not differ: the trials are as good as independent


def test_none_of_thirty_still_allows_nine_and_a_half_per_cent() -> None:
    none = np.zeros(30, dtype=bool)
    assert at_most(clustered(none, np.arange(30))) == pytest.approx(0.0950, abs=1e-4)
    assert at_most(clustered(none, np.repeat(np.arange(10), 3))) == pytest.approx(1 - 0.05**0.1)
    three = np.arange(30) < 3
    theirs = stats.binomtest(3, 30, alternative="less").proportion_ci(0.95, method="exact").high
    assert at_most(clustered(three, np.arange(30))) == pytest.approx(theirs)
    assert at_most(clustered(~none, np.arange(30))) == 1


def test_the_mean_of_clusters_of_one_has_the_t_interval() -> None:
    values = np.array([3.0, 5, 6, 9, 11, 2])
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    assert mean_interval(clustered(values, np.arange(6))) == pytest.approx((theirs.low, theirs.high))
    assert np.isnan(mean_interval(clustered(values, np.array([0, 0, 1, 1, 2, 3])))).all()


def test_the_bootstrap_is_that_of_whole_queries_drawn_one_by_one() -> None:
    chance = np.random.default_rng(5)
    queries = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 3, 4, 5])
    ms = np.round(chance.exponential(100, 12), -1)  # with ties
    seen = chance.random(12) < 0.7
    draws = np.random.default_rng(3).multinomial(6, np.full(6, 1 / 6), size=resample.DRAWS)
    for watched in (seen, np.ones(12, dtype=bool)):
        at = np.unique(ms)
        drawn = []
        for weights in draws:
            made = np.repeat(np.arange(12), weights[queries])
            estimate = survival(ms[made], watched[made])
            drawn.append([estimate.at(each) for each in at])
        low, high = zip(*(interval(each, 6) for each in np.array(drawn).T), strict=True)
        found = survival_band(ms, watched, queries, at, seed=3)
        assert found[0] == pytest.approx(low)
        assert found[1] == pytest.approx(high)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_quantiles_of_queries_asked_once_have_the_exact_interval(share: float) -> None:
    ms = np.random.default_rng(4).exponential(100, 60)
    exact = stats.quantile_test(ms, p=share).confidence_interval(0.95)
    assert quantile_intervals(ms, np.arange(60), [share]) == [(exact.low, exact.high)]


def test_an_end_that_no_time_is_extreme_enough_for_is_open() -> None:
    """Of 30 trials none is beyond the 90th percentile one time in 24, and of 5 all are beyond the median one in 32."""
    ((low, high),) = quantile_intervals(np.arange(1.0, 31), np.arange(30), [0.9])
    ((of_few, _),) = quantile_intervals(np.arange(1.0, 6), np.arange(5), [0.5])
    assert (low, high, of_few) == (23, np.inf, 0)


def test_repeats_that_all_agree_tell_a_quantile_no_better_than_once() -> None:
    ms = np.sort(np.random.default_rng(6).exponential(100, 40))
    (once,) = quantile_intervals(ms, np.arange(40), [0.5])
    (often,) = quantile_intervals(np.repeat(ms, 5), np.repeat(np.arange(40), 5), [0.5])
    assert often[0] <= once[0]
    assert once[1] <= often[1]
    (apart,) = quantile_intervals(np.repeat(ms, 5), np.tile(np.arange(40), 5), [0.5])
    assert once[0] < apart[0]
    assert apart[1] < once[1]


def test_few_queries_widen_an_interval_and_fewer_are_refused_one() -> None:
    drawn = np.arange(10_000.0)
    assert interval(drawn, 10_000) == pytest.approx((249, 9749), abs=3)
    assert interval(drawn, 6)[0] < 60
    ms, queries = np.arange(8.0), np.arange(8) % 4
    assert np.isnan(quantile_intervals(ms, queries, [0.5])).all()
    assert np.isnan(survival_band(ms, ms > 2, queries, ms)).all()


def test_a_band_holds_its_curve() -> None:
    chance = np.random.default_rng(1)
    queries = np.arange(90) % 15
    ms = chance.exponential(100, 90) + 40 * (queries % 3)
    seen = chance.random(90) < 0.8
    curve = survival(ms, seen)
    low, high = survival_band(ms, seen, queries, curve.ms)
    assert ((low <= curve.share) & (curve.share <= high)).all()
    assert (high - low).max() < 0.5


# Settling


def test_an_answer_that_changed_in_its_last_window_has_not_settled() -> None:
    run = by_hand(
        {"changes": [1000, 3000]},
        {"changes": [1000, 8000]},
        {"changes": [1000, 8001]},
        {"changes": [1000, 9900]},
    )
    known = settling(run.trials)
    assert known.ms.tolist() == [3000, 8000, 8000, 8000]
    assert known.seen.tolist() == [True, True, False, False]
    assert known.limit_ms == 8000
    wider = settling(run.trials, quiet_ms=5000)
    assert wider.ms.tolist() == [3000, 5000, 5000, 5000]
    assert wider.limit_ms == 5000


def test_markers_tell_of_settling_up_to_the_horizon_where_all_have_one() -> None:
    with_marker = {"changes": [1000, 9000], "marker_ms": 9100.0}
    assert settling(by_hand(with_marker).trials).seen.tolist() == [True]
    assert settling(by_hand(with_marker).trials).limit_ms == 10_000
    # Beside one without, times beyond horizon - W would be seen of the one kind only.
    mixed = settling(by_hand(with_marker, {"changes": [1000, 2000]}).trials)
    assert mixed.seen.tolist() == [False, True]
    assert mixed.limit_ms == 8000


gaps = st.lists(st.integers(1, 30), min_size=1, max_size=12)


@settings(max_examples=8, deadline=None)
@given(st.lists(gaps, min_size=10, max_size=30))
def test_a_longer_window_never_settles_earlier(curves: list[list[int]]) -> None:
    run = by_hand(*({"changes": np.cumsum(each).astype(float).tolist()} for each in curves), horizon_ms=100)
    played = replay(run, run.trials)
    settled = np.array([played.settled(window) for window in range(1, 40)])
    assert (settled[:-1] <= settled[1:]).all()


def test_a_window_settles_at_the_first_pause_that_is_as_long() -> None:
    run = by_hand({"changes": [1000, 1500, 4000, 9000]}, {}, {"changes": [9500]})
    played = replay(run, run.trials)
    assert played.settled(500).tolist() == [1000, np.inf, 9500]
    assert played.settled(2500).tolist() == [1500, np.inf, np.inf]
    assert played.settled(5000).tolist() == [4000, np.inf, np.inf]
    assert played.settled(5001).tolist() == [np.inf] * 3
    assert played.chars_at(np.array([999.0, 5000, 9500])).tolist() == [0, 0, 40]
    assert played.chars_at(np.array([4000.0, 5000, 20_000])).tolist() == [120, 0, 40]


def test_a_change_of_state_alone_is_no_change_of_words() -> None:
    run = by_hand({"changes": [1000, 1500]})
    again = run.growth.iloc[[1]].assign(t_ms=3000.0, kind="settled")
    run.growth = pd.concat([again, run.growth])
    played = replay(run, run.trials)
    assert played.changes.tolist() == [1000, 1500]
