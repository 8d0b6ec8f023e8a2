"""Policies compared: what each would have brought and cost, on queries that did not choose it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .cells import Bools, Floats, Frames, Ints, counted, keys_of
from .intervals import Clusters, mean_interval, share_interval
from .policy import SIGNALS, Outcome, Policy, grid, play
from .records import QUERY_CLASSES
from .settle import replay

BUDGETS_S = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
GATES_S = (1.0, 1.5, 2.0)
HALVES = ("choose", "score")
MIX = "mix"

MOST_SHORT = 0.05
"""Share of trials that may have been watched for too short a time for a policy; with more of them it has no figures."""

_SHARES = ("complete", "unconfirmed", "truncated", "missed")
_MEANS = (*_SHARES, "added_ms", "wasted_ms", "chars", "citations")
_KINDS = {
    "half": "str",
    "policy": "str",
    "budget_s": "Float64",
    "gate_s": "Float64",
    "quiet_ms": "Float64",
    "signal": "string",
    **dict.fromkeys(("n", "n_short", "queries"), "Int64"),
    **dict.fromkeys(("complete", "complete_low", "complete_high"), "float64"),
    **dict.fromkeys(_SHARES[1:], "float64"),
    **dict.fromkeys(("added_ms", "added_low_ms", "added_high_ms", "added_p50_ms", "added_p90_ms"), "float64"),
    **dict.fromkeys(("wasted_ms", "ms_per_complete", "text_missing", "chars", "citations"), "float64"),
}


def policies(
    run: Frames,
    *,
    budgets_s: Sequence[float] = BUDGETS_S,
    gates_s: Sequence[float] = GATES_S,
    windows_ms: Sequence[float] | None = None,
    signals: Sequence[str | None] = (None, "wrapper"),
    opt_in: Collection[str] = ("question",),
    mix: Mapping[str, float] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """What each way of waiting would have brought and cost on the recorded curves.

    The queries are split in two at random, whole queries and class by class: every policy has a row for each half.
    Choose by the rows of ``half == "choose"`` and quote those of ``"score"``; the best of many looks better than it is
    on the queries that made it the best.

    One row an engine, class of queries, condition, half and policy. Columns beside these:

    - ``policy`` (opportunistic, opt_in, always, two_stage), ``budget_s`` from the results on, ``gate_s``, ``quiet_ms``,
      ``signal`` (the early sign without which it does not wait; missing: none is asked);
    - ``n``: trials it was played on; ``n_short``: trials that were watched for too short a time to be used for it;
      ``queries``;
    - ``complete`` (with ``complete_low``, ``complete_high``): share of searches that ended with the whole answer, known
      to be whole; ``unconfirmed``: whole, and handed over as unfinished; ``truncated``: more came later; ``missed``: an
      answer came later, and nothing of it was in hand. What is left to 1 had no answer;
    - ``added_ms`` (with ``added_low_ms``, ``added_high_ms``, ``added_p50_ms``, ``added_p90_ms``): wait after the
      results; its mean is the restricted mean of the time to the end. ``wasted_ms``: the part of that mean that
      brought nothing. ``ms_per_complete``: mean wait for each complete answer; infinite where there was none;
    - ``text_missing``: share of the final characters missing, mean over the truncated ones. ``chars``, ``citations``:
      mean characters and sources that it adds to a reader's context, the sources of whole answers only.

    A figure is NaN where more than :data:`MOST_SHORT` of the trials were not watched until the budget's end and the
    quiet window after it: nothing is known there, and nothing is extrapolated. Intervals count by query:
    Wilson's at the effective number of trials, and for waits t intervals between queries, NaN below five.

    Args:
        run: a run, or several combined.
        budgets_s: budgets to try, in s.
        gates_s: gates of ``two_stage``, in s.
        windows_ms: quiet windows to try; that of the study where they are not given.
        signals: early signs to ask, names of :data:`.policy.SIGNALS`; ``None``: ask none.
        opt_in: classes of queries for which ``opt_in`` waits.
        mix: share of each class among the searches to come; adds rows of the class ``"mix"``, the classes' means in
            these shares, NaN where one of them was not measured. Nothing else makes opt-in comparable with always-on.
        seed: of the split.

    Raises:
        ValueError: a signal, class or share makes no sense.
    """
    _check(signals, opt_in, mix)
    trials = counted(run)
    keys = keys_of(trials)
    played = replay(run, trials)
    windows = windows_ms or sorted({float(each) for each in np.unique(played.quiet[~np.isnan(played.quiet)])})
    trials = played.trials
    table = _Table(trials, keys, choosing(trials, seed))
    opted = trials["query_class"].isin(opt_in).to_numpy(bool)
    finished = {window: played.finished(window) for window in windows}
    rows: list[dict[str, Any]] = []
    for policy in grid(budgets_s, gates_s, windows, signals):
        outcome = play(played, policy, finished=finished[policy.quiet_ms], opted=opted)
        rows += table.rows(policy, outcome)
    frame = pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})
    if mix is not None:
        frame = pd.concat([frame, _mixed(frame, keys, mix)], ignore_index=True)
    return frame


def choosing(trials: pd.DataFrame, seed: int) -> Bools:
    """Which trials belong to the half of the queries that chooses, each class halved by itself."""
    chance = np.random.default_rng(seed)
    chosen: set[tuple[str, str]] = set()
    for name, queries in trials.groupby("query_class", observed=True)["query"]:
        drawn = chance.permutation(np.sort(queries.unique().astype(object)))
        chosen |= {(str(name), str(query)) for query in drawn[: (len(drawn) + 1) // 2]}
    if not chosen:
        return np.zeros(len(trials), dtype=bool)
    of = pd.MultiIndex.from_frame(trials[["query_class", "query"]])
    return np.asarray(of.isin(list(chosen)))


class _Table:
    """Figures by cell and half, without taking the trials apart again for each policy."""

    def __init__(self, trials: pd.DataFrame, keys: list[str], chooses: Bools) -> None:
        by = trials[keys].assign(half=np.where(chooses, *HALVES))
        groups = by.groupby([*keys, "half"], observed=True, sort=True)
        self._code = groups.ngroup().to_numpy(np.intp)
        self._names = [dict(zip([*keys, "half"], name, strict=True)) for name in groups.size().index]
        cluster, owners = pd.factorize(pd.MultiIndex.from_arrays([self._code, trials["query"]]))
        self._cluster: Ints = np.asarray(cluster, dtype=np.intp)
        self._owner = np.asarray([owner for owner, _ in owners], dtype=np.intp)
        self._members = np.split(np.argsort(self._code, kind="stable"), np.cumsum(np.bincount(self._code))[:-1])

    def rows(self, policy: Policy, outcome: Outcome) -> list[dict[str, Any]]:
        """A row a cell and half."""
        known = outcome.known
        size = len(self._names)
        code, cluster = self._code[known], self._cluster[known]
        n = np.bincount(code, minlength=size)
        short = np.bincount(self._code, minlength=size) - n
        means = {name: self._mean(getattr(outcome, name)[known], code, n) for name in _MEANS}
        cut = outcome.truncated & known
        cut_n = np.bincount(self._code[cut], minlength=size)
        missing = self._mean(outcome.text_missing[cut], self._code[cut], cut_n)
        count = np.bincount(cluster, minlength=len(self._owner)).astype(np.float64)
        totals = {
            name: np.bincount(cluster, weights=getattr(outcome, name)[known], minlength=len(self._owner))
            for name in ("complete", "added_ms")
        }
        rows = []
        for number, name in enumerate(self._names):
            mine = (self._owner == number) & (count > 0)
            row: dict[str, Any] = {
                **name,
                "policy": policy.shape,
                "budget_s": policy.budget_s,
                "gate_s": policy.gate_s,
                "quiet_ms": policy.quiet_ms,
                "signal": policy.signal,
                "n": n[number],
                "n_short": short[number],
                "queries": int(mine.sum()),
            }
            if n[number] and short[number] <= MOST_SHORT * (n[number] + short[number]):
                row |= {each: means[each][number] for each in _MEANS}
                row |= self._spread(
                    number, outcome, {each: Clusters(totals[each][mine], count[mine]) for each in totals}
                )
                row["text_missing"] = missing[number]
                row["ms_per_complete"] = row["added_ms"] / row["complete"] if row["complete"] else np.inf
            rows.append(row)
        return rows

    def _spread(self, number: int, outcome: Outcome, totals: Mapping[str, Clusters]) -> dict[str, float]:
        members = self._members[number]
        waits = outcome.added_ms[members[outcome.known[members]]]
        p50, p90 = np.quantile(waits, [0.5, 0.9], method="inverted_cdf")
        spread = {"added_p50_ms": p50, "added_p90_ms": p90}
        spread["complete_low"], spread["complete_high"] = share_interval(totals["complete"])
        spread["added_low_ms"], spread["added_high_ms"] = mean_interval(totals["added_ms"])
        return spread

    @staticmethod
    def _mean(values: Floats | Bools, code: Ints, n: Ints) -> Floats:
        sums = np.bincount(code, weights=values, minlength=len(n))
        means: Floats = np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0, dtype=np.float64)
        return means


def _mixed(frame: pd.DataFrame, keys: list[str], mix: Mapping[str, float]) -> pd.DataFrame:
    """Each policy over searches of all classes, in the shares of ``mix``."""
    which = [name for name in keys if name != "query_class"]
    which += ["half", "policy", "budget_s", "gate_s", "quiet_ms", "signal"]
    needed = {name: share for name, share in mix.items() if share > 0}
    rows = []
    for values, among in frame[frame["query_class"].isin(needed)].groupby(which, dropna=False, sort=False):
        row: dict[str, Any] = {**dict(zip(which, values, strict=True)), "query_class": MIX}
        row |= {name: int(among[name].sum()) for name in ("n", "n_short", "queries")}
        if len(among) == len(needed):
            weight = among["query_class"].map(needed).astype("float64") / sum(needed.values())
            row |= {name: float((weight * among[name]).to_numpy().sum()) for name in _MEANS}
            row["ms_per_complete"] = row["added_ms"] / row["complete"] if row["complete"] else np.inf
            for name, ends in (("complete", "complete_{}"), ("added_ms", "added_{}_ms")):
                halves = (among[ends.format("high")] - among[ends.format("low")]) / 2
                out = float(np.sqrt(np.square((weight * halves).to_numpy()).sum()))
                row |= {ends.format("low"): row[name] - out, ends.format("high"): row[name] + out}
        rows.append(row)
    return pd.DataFrame(rows, columns=list(frame.columns)).astype(dict(frame.dtypes))


def _check(signals: Sequence[str | None], opt_in: Collection[str], mix: Mapping[str, float] | None) -> None:
    for name in signals:
        if name is not None and name not in SIGNALS:
            raise ValueError(f"there is no early signal {name!r}; there are {', '.join(SIGNALS)}, and None")
    for name in (*opt_in, *(mix or ())):
        if name not in QUERY_CLASSES:
            raise ValueError(f"there is no class of queries {name!r}; there are {', '.join(QUERY_CLASSES)}")
    if mix is not None and (min(mix.values(), default=0) < 0 or not sum(mix.values()) > 0):
        raise ValueError(f"mix has to give classes their shares, none below 0 and one above it, not {dict(mix)!r}")
