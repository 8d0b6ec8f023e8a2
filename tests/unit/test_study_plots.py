"""What the plots of a study draw, read off their axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from castlenb.study import Run, plots
from castlenb.study.survival import log_log_band, survival

from ..made_studies import Model, by_hand, study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("growth", "survival", "presence", "frontier", "timeline")


def drawn(run: Run, name: str) -> Figure:
    figure: Figure = getattr(run, f"plot_{name}")()
    figure.draw_without_rendering()  # what can not be laid out fails here
    return figure


def lines(axis: Axes, marker: str) -> list[Any]:
    return [line for line in axis.get_lines() if line.get_marker() == marker]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for each in figure.legends for text in each.get_texts()]


@pytest.fixture(scope="module")
def two() -> Run:
    models = {"brave": Model(present=0.9, gap_ms=300), "google": Model(present=0.6, blocked=0.1)}
    return study(models, queries=16, repeats=2, seed=1, classes=("question", "lookup")).run


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("growth", "time from navigation (s)", "characters of answer"),
        ("survival", "time from navigation (s)", "share not settled"),
        ("presence", "searches with an AI answer (%)", ""),
        ("frontier", "mean wait after the results (s)", "whole answers (% of searches)"),
        ("timeline", "time since the first trial (min)", "results parseable (s)"),
    ],
)
def test_axes_have_units_and_figures_the_width_of_a_notebook(two: Run, name: str, x: str, y: str) -> None:
    figure = drawn(two, name)
    assert (figure.get_supxlabel(), figure.get_supylabel()) == (x, y)
    assert figure.get_figwidth() == plots.WIDTH
    assert legend(figure)


@pytest.mark.parametrize("name", DRAWN)
def test_of_a_run_without_trials_it_is_said_that_there_is_nothing(name: str) -> None:
    (axis,) = drawn(by_hand(), name).axes
    assert [text.get_text() for text in axis.texts] == ["no trial to draw"]


def test_growth_has_a_curve_a_trial_that_ends_in_a_dot_or_a_ring() -> None:
    run = by_hand({"changes": [1000, 1500, 2000]}, {"changes": [1000, 9000]}, {})
    figure = drawn(run, "growth")
    (axis,) = figure.axes
    curves = [line for line in axis.get_lines() if line.get_drawstyle() == "steps-post"]
    assert [line.get_xydata().tolist() for line in curves] == [
        [[1.0, 0], [1.0, 40], [1.5, 80], [2.0, 120]],
        [[1.0, 0], [1.0, 40], [9.0, 80]],
    ]
    ends = [(*line.get_xydata()[0], line.get_markerfacecolor()) for line in lines(axis, "o")]
    assert ends == [(2.0, 120, plots.COLOURS[0]), (9.0, 80, "white")]
    (limit,) = [line for line in axis.get_lines() if line.get_linestyle() == "--"]
    assert limit.get_xdata()[0] == 8.0
    assert axis.get_title().endswith("(n = 2)")


def test_survival_is_kaplan_and_meiers_with_its_band_and_a_tick_for_each_that_was_lost() -> None:
    last = [1500, 2000, 2500, 3000, 3500, 4000, 9500, 9800]
    run = by_hand(*({"changes": [1000, each]} for each in last))
    (axis,) = drawn(run, "survival").axes
    ms, seen = np.array([*last[:6], 8000, 8000], dtype=float), np.arange(8) < 6
    estimate = survival(ms, seen)
    (curve,) = [line for line in axis.get_lines() if line.get_drawstyle() == "steps-post"]
    assert curve.get_xdata() == pytest.approx([0, *(estimate.ms / 1000), 8])
    assert curve.get_ydata() == pytest.approx([1, *estimate.share, 0.25])
    (ticks,) = lines(axis, "|")
    assert ticks.get_xydata().tolist() == [[8.0, 0.25], [8.0, 0.25]]
    (band,) = axis.collections
    low, high = log_log_band(ms, seen)
    ends = band.get_datalim(axis.transData)
    assert (ends.y0, ends.y1) == (pytest.approx(min(low)), pytest.approx(1.0))
    assert max(high) < 1


def test_engines_keep_their_look_in_every_panel_and_are_named_once(two: Run) -> None:
    figure = drawn(two, "survival")
    assert legend(figure) == ["brave", "google"]
    looks = [
        {line.get_label(): (line.get_color(), line.get_linestyle()) for line in axis.get_lines()
         if line.get_label() in ("brave", "google")}
        for axis in figure.axes
    ]  # fmt: skip
    assert looks[0] == looks[1]
    assert len({*looks[0].values()}) == len({colour for colour, _ in looks[0].values()}) == 2


def test_presence_shows_the_share_with_its_interval_and_its_number() -> None:
    run = by_hand(*[{"changes": [1000, 1500]}] * 6, *[{}] * 4, {"outcome": "challenge", "ai_state": None})
    (axis,) = drawn(run, "presence").axes
    (point,) = lines(axis, "o")
    assert point.get_xdata()[0] == pytest.approx(60)
    (bar,) = [line for line in axis.get_lines() if len(line.get_xdata()) == 2]
    assert bar.get_xdata() == pytest.approx([31.2674, 83.1820], abs=1e-3)  # measurement.md's golden value
    assert [text.get_text() for text in axis.texts] == ["6 of 10"]


def test_the_frontier_joins_what_nothing_beats(two: Run) -> None:
    figure = drawn(two, "frontier")
    assert legend(figure) == ["take what is there", "wait to the budget", "stop at a gate"]
    for axis in figure.axes:
        (front,) = [line for line in axis.get_lines() if line.get_linestyle() == "-"]
        wait, share = front.get_data()
        assert (np.diff(wait) >= 0).all()
        assert (np.diff(share) > 0).all()
        points = np.concatenate([line.get_xydata() for line in axis.get_lines() if line.get_linestyle() == "None"])
        assert all(share[wait <= x].max() >= y for x, y in points)


def test_the_timeline_shows_what_was_blocked_and_what_failed() -> None:
    run = by_hand({}, {"outcome": "challenge", "parse_ready_ms": None}, {"outcome": "lost", "parse_ready_ms": None}, {})
    (axis,) = drawn(run, "timeline").axes
    assert [(*line.get_xydata().T.tolist(), line.get_marker()) for line in axis.get_lines()] == [
        ([0.0, 3.0], [0.45, 0.45], "o"),
        ([1.0], [pytest.approx(1.12 * 0.45)], "X"),
        ([2.0], [pytest.approx(1.12 * 0.45)], "v"),
    ]
