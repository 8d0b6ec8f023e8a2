"""The decision: whether and how long to wait for an answer that is worth so many seconds, and how sure that is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .cells import Bools, Frames, appeared, cells, counted, keys_of, query_codes
from .intervals import FEW, clustered, mean_interval
from .layout import layout_cost
from .policy import Policy, grid, known, play
from .policy_table import BUDGETS_S, GATES_S, MOST_SHORT, choosing
from .settle import Replay, replay
from .wording import percent

NOT_ASKED = "do not ask for the answer"

UNDECIDED = (
    "What timing can't decide: whether an answer belongs in the reader's context at all. It is text that another "
    "model wrote, with no more to vouch for it than the sources it names; whether it is right was not looked at. Nor "
    "was what half an answer is worth: truncated ones count as nothing here, and could do harm. The figures are those "
    "of these queries, from these places, at that time; engines change."
)

_KINDS = {
    "choice": "str",
    **dict.fromkeys(("n", "queries"), "Int64"),
    **dict.fromkeys(("net_s", "net_low_s", "net_high_s", "complete", "truncated", "added_ms", "layout_ms"), "Float64"),
    "stable": "boolean",
    "verdict": "str",
}


@dataclass(frozen=True, repr=False)
class Advice:
    """What to do, if a complete answer is worth ``worth_s`` seconds of waiting. Printed, it is a text.

    Attributes:
        worth_s: what was assumed.
        choices: one row an engine, class and condition: ``choice``; ``net_s`` (``net_low_s``, ``net_high_s``): worth of
            the complete answers less all waiting, in s a search, over not asking for answers; ``complete``,
            ``truncated``: share of searches; ``added_ms``: mean wait; ``layout_ms``: what asking alone adds to the
            results, where it takes another layout; ``stable``: whether both halves of the queries choose the same;
            ``verdict``: the same in words. Figures are cross-fitted: each query is scored by what the other half of the
            queries chose. Missing where there are too few queries to do so.
        text: all of it in words.
    """

    worth_s: float
    choices: pd.DataFrame
    text: str

    def __repr__(self) -> str:
        return self.text


def recommend(
    run: Frames,
    *,
    worth_s: float,
    budgets_s: Sequence[float] = BUDGETS_S,
    gates_s: Sequence[float] = GATES_S,
    windows_ms: Sequence[float] | None = None,
    signals: Sequence[str | None] = (None, "wrapper"),
    seed: int = 0,
) -> Advice:
    """What to do about AI answers, engine by engine and class by class.

    A search is worth ``worth_s`` where it brings the complete answer, less the seconds waited; not asking is worth 0.
    Of all policies that the study was long enough to try, the one with the largest mean is chosen, on each half of the
    queries, and scored on the other. Where asking takes another layout, what that adds to the results is waiting too.

    Args:
        run: a run, or several combined.
        worth_s: seconds that a complete answer is worth waiting for.
        budgets_s, gates_s, windows_ms, signals: policies to choose among, as for :func:`.policy_table.policies`.
        seed: of the split.

    Raises:
        ValueError: ``worth_s`` is not above 0.
    """
    if not worth_s > 0:
        raise ValueError(f"worth_s has to be above 0 s, not {worth_s!r}")
    trials = counted(run)
    keys = keys_of(trials)
    trials = trials[(trials["ai_state"] != "unsupported") & trials["ai_state"].notna()]
    costs = layout_cost(run)
    rows = []
    for key, among in cells(trials, keys):
        played = replay(run, among)
        windows = windows_ms or sorted(float(each) for each in np.unique(played.quiet))
        policies = grid(budgets_s, gates_s, windows, signals, shapes=("opportunistic", "always", "two_stage"))
        policies = [each for each in policies if known(played, each).mean() >= 1 - MOST_SHORT]
        rows.append({**key, **_row(played, policies, worth_s, _layout_ms(key, costs), seed)})
    choices = pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})
    return Advice(worth_s, choices, _text(choices, keys, worth_s))


def _layout_ms(key: dict[str, Any], costs: pd.DataFrame) -> float:
    """What the layout of a cell adds to the results; NaN where that was not measured, 0 where there is no other."""
    if key["layout"] != "classic":
        return 0.0
    same = [name for name in key if name in costs and name != "layout"]
    mine = costs[(costs[same] == [key[name] for name in same]).all(axis=1)]
    return float(mine["complete_ms"].astype("float64").iloc[0]) if len(mine) else np.nan


def _row(played: Replay, policies: Sequence[Policy], worth_s: float, layout_ms: float, seed: int) -> dict[str, Any]:
    queries = query_codes(played.trials)
    row: dict[str, Any] = {"n": len(queries), "queries": len(np.unique(queries)), "layout_ms": layout_ms}
    if not policies:
        return row | {"verdict": "the pages were not watched for long enough to try any way of waiting"}
    if row["queries"] < 2 * FEW:
        return row | {
            "verdict": f"{row['queries']} of the {2 * FEW} queries that it takes to choose on one half and to score on "
            "the other: no recommendation"
        }
    opted = np.ones(len(queries), dtype=bool)
    outcomes = [play(played, each, finished=played.finished(each.quiet_ms), opted=opted) for each in policies]
    fixed_s = (0.0 if np.isnan(layout_ms) else layout_ms) / 1000
    gains = [
        np.where(each.known, worth_s * each.complete - each.added_ms / 1000 - fixed_s, np.nan) for each in outcomes
    ]
    net = np.stack([np.zeros(len(queries)), *gains])  # not asking comes first, and wins where nothing is better
    best = int(np.nanmean(net, axis=1).argmax())
    chooses = choosing(played.trials, seed)
    of_half = {half: int(np.nanmean(net[:, chooses == half], axis=1).argmax()) for half in (True, False)}
    scored = np.where(chooses, of_half[False], of_half[True])
    trial = np.arange(len(queries))
    fair = net[scored, trial]
    some = ~np.isnan(fair)
    low, high = mean_interval(clustered(fair[some], queries[some]))

    def crossed(name: str) -> float:
        values = np.stack([np.zeros(len(trial)), *(getattr(outcome, name) for outcome in outcomes)])
        return float(values[scored, trial][some].mean())

    row |= {
        "choice": str(policies[best - 1]) if best and fair[some].mean() > 0 else NOT_ASKED,
        "net_s": fair[some].mean(),
        "net_low_s": low,
        "net_high_s": high,
        "complete": crossed("complete"),
        "truncated": crossed("truncated"),
        "added_ms": crossed("added_ms"),
        "stable": of_half[True] == of_half[False],
    }
    return row | {"verdict": _verdict(row, "" if not best else str(policies[best - 1]), appeared(played.trials))}


def _verdict(row: dict[str, Any], best: str, present: Bools) -> str:
    seen = f"{percent(present.mean())} of {row['n']} searches ({row['queries']} queries) had an answer"
    net = f"{row['net_s']:+.2f} s a search (95 %: {row['net_low_s']:+.2f} to {row['net_high_s']:+.2f})"
    if row["choice"] != NOT_ASKED:
        said = (
            f"{row['choice']}. Whole answer in {percent(row['complete'])} of searches, cut short in "
            f"{percent(row['truncated'])}, {row['added_ms'] / 1000:.1f} s of waiting on average; net {net}; {seen}"
        )
        if row["net_low_s"] <= 0:
            said += ". That it gains anything is not settled by these queries"
    elif best:
        said = (
            f"{NOT_ASKED}. The best way of waiting for these queries ({best}) gains nothing where it was not chosen: "
            f"net {net}; {seen}"
        )
    else:
        said = f"{NOT_ASKED}: no way of waiting that was tried gains more than it costs; {seen}"
    if not row["stable"]:
        said += ". The two halves of the queries choose differently, so more queries could change it"
    if np.isnan(row["layout_ms"]):
        said += ". What this layout costs was not measured, and is not in it: add the web layout to the conditions"
    elif row["layout_ms"]:
        said += (
            f". Asking at all takes the classic layout: {row['layout_ms']:+.0f} ms until the results, which is in it"
        )
    return said


def _text(choices: pd.DataFrame, keys: Sequence[str], worth_s: float) -> str:
    head = f"If a complete AI answer is worth {worth_s:g} s of waiting:"
    items = []
    for row in choices.to_dict("records"):
        where = ", ".join(str(row[key]) for key in keys if row[key] not in ("default", "emulated"))
        said = f"{where}: {row['verdict']}.".replace(" %", "\N{NO-BREAK SPACE}%")
        items.append(textwrap.fill(said, 110, initial_indent="- ", subsequent_indent="  "))
    if not items:
        items = ["- there is no trial of an engine with AI answers to say it from."]
    return "\n".join([head, *items, "", textwrap.fill(UNDECIDED, 110)])
