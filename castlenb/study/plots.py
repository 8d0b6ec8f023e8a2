"""A study drawn: a question each.

Every function draws on one or more axes and returns the figure, 9 inches wide, as a notebook shows it whole. Colours
are Okabe and Ito's, which people with any of the common colour blindnesses can tell apart; engines differ by line style
or marker as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .cells import Frames, appeared, cells, counted, floats, keys_of, query_codes
from .intervals import clustered, share_interval
from .policy_table import BUDGETS_S, GATES_S, policies
from .records import BLOCKED_OUTCOMES, ERROR_OUTCOMES, QUERY_CLASSES, VALID_OUTCOMES
from .resample import survival_band
from .settle import replay, settling
from .survival import log_log_band, survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 9.0
CURVES = 40
"""Growth curves that are drawn of a cell; more would be a smear."""


def plot_growth(run: Frames, *, seed: int = 0) -> Figure:
    """How do answers grow? Characters over time, a line a trial, a panel an engine and condition.

    Every curve ends where its answer was last seen; a dot says that it had settled there, an open ring that it was
    still growing. The dashed line is horizon - W, beyond which nothing can be confirmed without a marker. Of more than
    :data:`CURVES` curves some are drawn by lot.
    """
    trials = counted(run)
    keys = [key for key in keys_of(trials) if key != "query_class"]
    panels = list(cells(trials[appeared(trials)], keys))
    figure, axes = _panels(len(panels), height=2.6)
    chance = np.random.default_rng(seed)
    for number, ((key, among), axis) in enumerate(zip(panels, axes, strict=False)):
        drawn = among.sample(min(CURVES, len(among)), random_state=chance)
        played = replay(run, drawn)
        settled = settling(played.trials).seen
        colour = COLOURS[number % len(COLOURS)]
        for row, (first, end) in enumerate(zip(played.first[:-1], played.first[1:], strict=True)):
            if first == end:
                continue
            ms, chars = played.changes[first:end], played.chars[first:end]
            axis.step(_s([ms[0], *ms]), [0, *chars], where="post", color=colour, alpha=0.35, linewidth=0.8)
            face = colour if settled[row] else "white"
            axis.plot(_s(ms[-1:]), chars[-1:], "o", color=colour, markersize=3.5, markerfacecolor=face)
        axis.axvline(_s(settling(among).limit_ms), color="0.4", linestyle="--", linewidth=0.8)
        of = f"{len(drawn)} of {len(among)}" if len(drawn) < len(among) else str(len(among))
        axis.set_title(f"{_named(key)} (n = {of})", fontsize=10)
        axis.set(xlim=(0, None), ylim=(0, None))
    _label(figure, axes, "time from navigation (s)", "characters of answer")
    _handles(
        figure,
        [
            ("settled", {"marker": "o", "color": "0.3", "linestyle": ""}),
            ("still growing when left", {"marker": "o", "color": "0.3", "markerfacecolor": "white", "linestyle": ""}),
            ("horizon − W", {"color": "0.4", "linestyle": "--", "linewidth": 0.8}),
        ],
    )
    return figure


def plot_survival(run: Frames) -> Figure:
    """When has an answer settled? The share that is still unsettled over time, Kaplan and Meier's, a panel a class.

    Of trials with an answer. Bands are 95 % for each time by itself: log-log where every trial has a query of its own,
    else the bootstrap's by query, and none below five queries. Ticks are trials lost from sight while unsettled. Lines
    end at horizon - W.
    """
    trials = counted(run)
    trials = trials[appeared(trials)]
    keys = [key for key in keys_of(trials) if key != "query_class"]
    looks = _looks(_named(key) for key, _ in cells(trials, keys))
    classes = [name for name in QUERY_CLASSES if (trials["query_class"] == name).any()]
    figure, axes = _panels(len(classes), height=2.9)
    for name, axis in zip(classes, axes, strict=False):
        for key, among in cells(trials[trials["query_class"] == name], keys):
            look = looks[_named(key)]
            _draw_survival(axis, among, color=look["color"], linestyle=look["linestyle"], label=_named(key))
        axis.axhline(0.5, color="0.8", linewidth=0.8, zorder=0)
        counts = [f"{_named(key)} {len(among)}" for key, among in cells(trials[trials["query_class"] == name], keys)]
        axis.set_title(f"{name} (n: {'; '.join(counts)})", fontsize=10)
        axis.set(xlim=(0, None), ylim=(0, 1.02))
    _label(figure, axes, "time from navigation (s)", "share not settled")
    _legend(figure, axes)
    return figure


def _draw_survival(axis: Axes, trials: pd.DataFrame, *, color: str, linestyle: Any, label: str) -> None:
    known = settling(trials)
    estimate = survival(known.ms, known.seen, limit_ms=known.limit_ms)
    if not len(estimate.ms):
        end = [0.0, known.limit_ms]
        axis.plot(_s(end), [1, 1], color=color, linestyle=linestyle, label=label)
        return
    queries = query_codes(trials)
    if len(np.unique(queries)) == len(queries):
        low, high = log_log_band(known.ms, known.seen)
    else:
        low, high = survival_band(known.ms, known.seen, queries, estimate.ms)
    end_ms = max(known.limit_ms, estimate.ms[-1])
    ms = np.concatenate(([0.0], estimate.ms, [end_ms]))
    share = np.concatenate(([1.0], estimate.share, estimate.share[-1:]))
    axis.step(_s(ms), share, where="post", color=color, linestyle=linestyle, label=label)
    low, high = (np.concatenate(([1.0], each, each[-1:])) for each in (low, high))
    axis.fill_between(_s(ms), low, high, step="post", color=color, alpha=0.15, linewidth=0)
    lost = estimate.censored_ms
    axis.plot(_s(lost), [estimate.at(min(each, known.limit_ms)) for each in lost], "|", color=color, markersize=7)


def plot_presence(run: Frames) -> Figure:
    """How often is there an answer? Share of searches with one, by class, with 95 % intervals; n beside each."""
    trials = counted(run)
    trials = trials[(trials["ai_state"] != "unsupported").fillna(True)]
    keys = [key for key in keys_of(trials) if key != "query_class"]
    looks = _looks(_named(key) for key, _ in cells(trials, keys))
    classes = [name for name in QUERY_CLASSES if (trials["query_class"] == name).any()]
    figure, (axis,) = _panels(
        1 if classes else 0, height=0.9 + 0.32 * max(3, sum(1 for _ in cells(trials, keys_of(trials))))
    )
    place, ticks = 0.0, []
    for name in classes:
        start = place
        for key, among in cells(trials[trials["query_class"] == name], keys):
            present = appeared(among)
            low, high = share_interval(clustered(present, query_codes(among)))
            look = looks[_named(key)]
            axis.plot([100 * low, 100 * high], [place, place], color=look["color"], linewidth=1.6)
            axis.plot(100 * present.mean(), place, look["marker"], color=look["color"], label=_named(key))
            words = f"{present.sum()} of {len(among)}"
            axis.annotate(words, (1.0, place), xycoords=("axes fraction", "data"), xytext=(6, 0),
                          textcoords="offset points", va="center", fontsize=8, annotation_clip=False)  # fmt: skip
            place += 1
        ticks.append(((start + place - 1) / 2, name))
        place += 0.8
    axis.set_yticks([tick for tick, _ in ticks], [name for _, name in ticks])
    axis.set(xlim=(-2, 102))
    axis.invert_yaxis()
    _label(figure, [axis], "searches with an AI answer (%)", "")
    _legend(figure, [axis])
    return figure


def plot_frontier(
    run: Frames,
    *,
    budgets_s: Sequence[float] = BUDGETS_S,
    gates_s: Sequence[float] = GATES_S,
    windows_ms: Sequence[float] | None = None,
    seed: int = 0,
) -> Figure:
    """What does a complete answer cost? Mean wait against the share of searches that end with the whole answer.

    A point a policy, a panel an engine and class; up and left is better. Figures are those of the half of the queries
    that may score (see :func:`.policy_table.policies`, also for the arguments). The line joins those that no other
    beats in both; a policy for which the study was too short is not drawn.
    """
    table = policies(run, budgets_s=budgets_s, gates_s=gates_s, windows_ms=windows_ms, signals=(None,), seed=seed)
    table = table[(table["half"] == "score") & table["complete"].notna() & (table["policy"] != "opt_in")]
    keys = [name for name in ("lot", "engine", "query_class", "layout", "visibility") if name in table]
    panels = [(key, among) for key, among in cells(table, keys) if among["complete"].max() > 0]
    figure, axes = _panels(len(panels), height=2.6)
    shapes = ("opportunistic", "always", "two_stage")
    looks = dict(zip(shapes, (("0.2", "X"), (COLOURS[0], "o"), (COLOURS[1], "^")), strict=True))
    for (key, among), axis in zip(panels, axes, strict=False):
        wait, share = among["added_ms"].to_numpy() / 1000, 100 * among["complete"].to_numpy()
        for shape, (colour, marker) in looks.items():
            mine = (among["policy"] == shape).to_numpy()
            axis.plot(wait[mine], share[mine], marker, color=colour, markersize=5, alpha=0.75, clip_on=False)
        order = np.lexsort((-share, wait))
        best = order[share[order] > np.concatenate(([-1.0], np.maximum.accumulate(share[order])[:-1]))]
        axis.plot(wait[best], share[best], color="0.4", linewidth=0.9, zorder=0)
        axis.set_title(f"{_named(key)} (n = {among['n'].max()})", fontsize=10)
        axis.set(xlim=(0, None), ylim=(0, None))
    _label(figure, axes, "mean wait after the results (s)", "whole answers (% of searches)")
    words = {"opportunistic": "take what is there", "always": "wait to the budget", "two_stage": "stop at a gate"}
    _handles(
        figure,
        [(words[shape], {"color": colour, "marker": marker, "linestyle": ""})
         for shape, (colour, marker) in looks.items()],
    )  # fmt: skip
    return figure


def plot_timeline(run: Frames) -> Figure:
    """Did anything change during the study? When results were parseable in each trial, and what was blocked or failed.

    A panel an engine, over the time since its first trial; trials without such a time stand at the top.
    """
    trials = counted(run, valid=False)
    trials = trials[trials["started_at"].notna()]
    engines = [(key["engine"], among) for key, among in cells(trials, ["engine"])]
    figure, axes = _panels(len(engines), height=1.7, columns=1)
    began = trials["started_at"].min()
    whole = (trials["started_at"].max() - began).total_seconds()
    unit, seconds = ("h", 3600) if whole > 7200 else ("min", 60)
    kinds: tuple[tuple[str, Sequence[str], dict[str, Any]], ...] = (
        ("valid", VALID_OUTCOMES, {"marker": "o", "color": COLOURS[0], "markersize": 3}),
        ("blocked", BLOCKED_OUTCOMES, {"marker": "X", "color": COLOURS[1], "markersize": 7}),
        ("failed", ERROR_OUTCOMES, {"marker": "v", "color": COLOURS[3], "markersize": 6}),
    )
    for (name, among), axis in zip(engines, axes, strict=False):
        since = (among["started_at"] - began).dt.total_seconds().to_numpy() / seconds
        ready = floats(among, "parse_ready_ms") / 1000
        highest = np.nanmax(ready, initial=0.1)
        for _, outcomes, look in kinds:
            mine = among["outcome"].isin(outcomes).to_numpy()
            height = np.where(np.isnan(ready[mine]), 1.12 * highest, ready[mine])
            axis.plot(since[mine], height, linestyle="", alpha=0.75, **look)
        axis.set_title(f"{name} (n = {len(among)})", fontsize=10)
        axis.set(ylim=(0, 1.22 * highest))
    _label(figure, axes, f"time since the first trial ({unit})", "results parseable (s)")
    _handles(figure, [(label, {**look, "linestyle": ""}) for label, _, look in kinds])
    return figure


def _s(ms: Any) -> Any:
    return np.asarray(ms, dtype=np.float64) / 1000


def _named(key: dict[str, Any]) -> str:
    words = [str(value) for value in key.values() if value not in ("default", "emulated")]
    return ", ".join(words)


def _looks(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """A colour, a line style and a marker for each, the same in every panel."""
    looks: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(dict.fromkeys(names)):
        looks[name] = {
            "color": COLOURS[number % len(COLOURS)],
            "linestyle": STYLES[number % len(STYLES)],
            "marker": MARKERS[number % len(MARKERS)],
        }
    return looks


def _panels(count: int, *, height: float, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure of its own, which no notebook shows twice: pyplot knows nothing of it. It is shown without
    ``%matplotlib inline``, too."""
    from matplotlib import figure as matplotlib_figure  # 0.5 s

    class Figure(matplotlib_figure.Figure):
        def _repr_png_(self) -> bytes:
            self.savefig(png := BytesIO(), format="png")
            return png.getvalue()

    columns = min(columns, max(count, 1))
    rows = max(1, -(-count // columns))
    figure = Figure(figsize=(WIDTH, height * rows + 0.5), layout="constrained", dpi=100)
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis in axes[:count]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(True, color="0.92", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=9)
    for axis in axes[max(count, 1) :]:
        axis.remove()
    if not count:
        axes[0].set_axis_off()
        axes[0].text(0.5, 0.5, "no trial to draw", ha="center", va="center", color="0.4")
    return figure, axes[: max(count, 1)]


def _label(figure: Figure, axes: list[Axes], x: str, y: str) -> None:
    figure.supxlabel(x, fontsize=10)
    if y:
        figure.supylabel(y, fontsize=10)


def _legend(figure: Figure, axes: list[Axes]) -> None:
    """What the lines and markers of all panels mean, once."""
    found: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(found.values(), found.keys(), loc="outside upper left", ncols=4, frameon=False, fontsize=9)


def _handles(figure: Figure, looks: list[tuple[str, dict[str, Any]]]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=label, **look) for label, look in looks]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9)
