"""When answers were whole: what a trial tells of it, and what any other rule would have made of the same trial.

An answer has settled when its words changed for the last time, and that is known of it only where a marker of the page
says so, or where it was watched for a quiet window W beyond. In the last W of a trial without marker nothing can be
confirmed, so the estimate ends at horizon - W.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .cells import Bools, Floats, Frames, Ints, floats, results_ready

PROSE = ("growing", "settled")
"""States of an answer in which what is seen of it are its words."""

_APART_MS = 1e7
"""Between one trial and the next on the one axis on which all changes are sorted; no trial lasts three hours."""


@dataclass(frozen=True)
class Settling:
    """Of trials with an answer: the last change of its words, or how long it is known to have been unsettled.

    Attributes:
        ms: one or the other.
        seen: whether it is the first.
        limit_ms: how far an estimate from them holds.
    """

    ms: Floats
    seen: Bools
    limit_ms: float


def settling(trials: pd.DataFrame, quiet_ms: float | None = None) -> Settling:
    """What is known of the settling of each trial, all of which had an answer.

    A trial without marker tells nothing about its last W: a last change in there may or may not have been the last, so
    it is censored where its last W begins, which all that is known of it (not settled by its last change) implies.
    Censored at that last change itself, the trials that just miss being confirmed would be lost from sight at the very
    moment at which they settle, and trials of different horizons would be late together. Up to the shortest horizon - W
    the two are the same. Where a marker settled every answer there is no such end, and the limit is the horizon.

    Args:
        trials: with the columns of ``Run.trials``.
        quiet_ms: W; as recorded in each trial where it is not given.
    """
    last = floats(trials, "ai_settle_observed_ms")
    end = floats(trials, "observed_ms")
    quiet = floats(trials, "quiet_ms") if quiet_ms is None else np.full(len(trials), float(quiet_ms))
    marked = (trials["settled_by"] == "marker").to_numpy(bool, na_value=False)
    if len(trials) and marked.all():
        return Settling(last, marked, float(end.max()))
    confirmable = end - quiet
    seen = last <= confirmable
    limit = float(np.max(confirmable, initial=0.0))
    return Settling(np.where(seen, last, np.maximum(confirmable, 0.0)), seen, limit)


@dataclass(frozen=True)
class Replay:
    """Trials as they can be played again: what a reader of the page would have had in hand at any time.

    All are arrays over the trials, in ms on the page clock, NaN or infinite where it did not happen.

    Attributes:
        trials: their rows, those without a time of their results left out.
        ready: the results were complete.
        appear: first prose.
        last: the last change of words that was seen.
        declined: the page said that there is none.
        marker: the page showed that it is whole.
        end: the page was no longer watched.
        quiet: the window that the study itself used.
        changes, chars: every change of words and how many characters there were from then on, trial after trial.
        first: where each trial's changes begin, and where the last one's end.
        axis: the changes with trials set apart, so that one search finds a time in each of them.
    """

    trials: pd.DataFrame
    ready: Floats
    appear: Floats
    last: Floats
    declined: Floats
    marker: Floats
    end: Floats
    quiet: Floats
    changes: Floats
    chars: Floats
    first: Ints
    axis: Floats

    def settled(self, quiet_ms: float) -> Floats:
        """S_W: the first change of words that ``quiet_ms`` without another followed; infinite where none was seen."""
        found = np.full(len(self.trials), np.inf)
        if not len(self.changes):
            return found
        until = np.append(self.changes[1:], np.inf)
        some = self.first[1:] > self.first[:-1]
        until[self.first[1:][some] - 1] = self.end[some]
        still = np.append(np.flatnonzero(until - self.changes >= quiet_ms), len(self.changes))
        candidate = still[np.searchsorted(still, self.first[:-1])]
        confirmed = candidate < self.first[1:]
        found[confirmed] = self.changes[candidate[confirmed]]
        return found

    def finished(self, quiet_ms: float) -> Floats:
        """When a wait with that window would have taken the answer for whole; infinite where it never would."""
        marked = np.maximum(self.marker, self.appear)
        return np.fmin(self.settled(quiet_ms) + quiet_ms, np.where(np.isnan(marked), np.inf, marked))

    def chars_at(self, ms: Floats) -> Floats:
        """Characters of answer at a time of each trial; 0 before its first."""
        number = np.arange(len(self.trials))
        upto = np.searchsorted(self.axis, number * _APART_MS + np.minimum(ms, _APART_MS / 2), side="right")
        return np.where(upto > self.first[:-1], np.append(self.chars, 0.0)[upto - 1], 0.0)


def replay(run: Frames, trials: pd.DataFrame) -> Replay:
    """Makes trials replayable from the curves of the run."""
    ready = results_ready(trials)
    trials, ready = trials[~np.isnan(ready)], ready[~np.isnan(ready)]
    owner, changes, chars = _changes(run.growth, trials)
    # Of an engine without answers all is known at once, however long it was watched.
    end = np.where(trials["ai_state"] == "unsupported", np.inf, floats(trials, "observed_ms"))
    declined = np.where(trials["ai_state"] == "declined", floats(trials, "ai_declined_ms"), np.inf)
    return Replay(
        trials=trials,
        ready=ready,
        appear=_or_never(floats(trials, "ai_appear_ms")),
        last=_or_never(floats(trials, "ai_settle_observed_ms")),
        declined=_or_never(declined),
        marker=floats(trials, "marker_ms"),
        end=end,
        quiet=floats(trials, "quiet_ms"),
        changes=changes,
        chars=chars,
        first=np.searchsorted(owner, np.arange(len(trials) + 1)),
        axis=owner * _APART_MS + changes,
    )


def _or_never(ms: Floats) -> Floats:
    return np.where(np.isnan(ms), np.inf, ms)


def _changes(growth: pd.DataFrame, trials: pd.DataFrame) -> tuple[Ints, Floats, Floats]:
    """Of all changes of words: whose they are (the row of ``trials``), when, and how many characters then."""
    owner = rows_of(growth, trials)
    prose = (growth["kind"].isin(PROSE) & (growth["chars"] > 0)).to_numpy(bool, na_value=False) & (owner >= 0)
    ms, chars = floats(growth, "t_ms"), floats(growth, "chars")
    words = pd.factorize(growth["signature"])[0]
    order = np.flatnonzero(prose)
    order = order[np.lexsort((ms[order], owner[order]))]
    owner, ms, chars, words = owner[order], ms[order], chars[order], words[order]
    # The page's state can change while its words stay.
    new = np.ones(len(order), dtype=bool)
    new[1:] = (owner[1:] != owner[:-1]) | (words[1:] != words[:-1]) | (chars[1:] != chars[:-1])
    return owner[new], ms[new], chars[new]


def rows_of(frame: pd.DataFrame, trials: pd.DataFrame) -> Ints:
    """For each row of a frame the number of its trial's row, -1 where that is not among them.

    A trial's name is made of the plan, so two runs of one plan share it: it is the run's and the trial's together.
    """
    if trials["run_id"].nunique() == 1:
        rows = pd.Index(trials["trial_id"]).get_indexer(pd.Index(frame["trial_id"]))
        same = (frame["run_id"] == trials["run_id"].iloc[0]).to_numpy(bool, na_value=False) if len(trials) else False
        return np.where(same, rows, -1)
    whose = pd.MultiIndex.from_frame(trials[["run_id", "trial_id"]])
    return np.asarray(whose.get_indexer(pd.MultiIndex.from_frame(frame[["run_id", "trial_id"]])), dtype=np.intp)
