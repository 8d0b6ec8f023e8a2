"""Ways of waiting for an answer, played on recorded curves.

A policy acts on what a page had shown by each instant, and the curves tell what that was; so every policy can be tried
on every trial, and no search is made again. What came after the end of observation is not known, and nothing is made
up about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from .cells import Bools, Floats, flags, floats
from .settle import Replay

SHAPES = ("opportunistic", "opt_in", "always", "two_stage")
"""``opportunistic``: take what is there when the results are; ``opt_in``: wait, for queries of some classes only;
``always``: wait for every query; ``two_stage``: wait, but stop at a gate where no prose has appeared."""

SIGNALS: Mapping[str, str] = {"wrapper": "no_wrapper_stops", "loading": "early_loading", "request": "early_request"}
"""What can be asked of a page at parse-ready, with the column of ``trials`` that tells. ``wrapper`` is what the
no-wrapper rule says: its column is true where it would stop."""


@dataclass(frozen=True)
class Policy:
    """One way of waiting.

    Attributes:
        shape: one of :data:`SHAPES`.
        budget_s: how long, in s from the results on.
        gate_s: of ``two_stage``: by when prose has to have appeared.
        quiet_ms: how long words have to stand unchanged to be taken for all; a marker tells so at once.
        signal: one of :data:`SIGNALS`: not to wait where it is absent at parse-ready; ``None``: to ask none.
    """

    shape: str
    budget_s: float = 0.0
    gate_s: float | None = None
    quiet_ms: float = 2000.0
    signal: str | None = None

    def __str__(self) -> str:
        if self.shape == "opportunistic":
            return "take only what is there with the results"
        words = f"wait up to {self.budget_s:g} s after the results"
        if self.gate_s is not None:
            words += f", but {self.gate_s:g} s where no prose has appeared by then"
        if self.signal is not None:
            words += f", and not at all without the early sign “{self.signal}”"
        return f"{words}; taken for whole after {self.quiet_ms:g} ms without a change, or by a marker"


def grid(
    budgets_s: Sequence[float],
    gates_s: Sequence[float],
    windows_ms: Sequence[float],
    signals: Sequence[str | None],
    shapes: Sequence[str] = SHAPES,
) -> list[Policy]:
    """Every policy of these shapes, budgets, gates (below the budget only), windows and signals."""
    found: list[Policy] = []
    for shape in shapes:
        if shape == "opportunistic":
            found += [Policy(shape, quiet_ms=window) for window in windows_ms]
            continue
        gates: Iterable[float | None] = gates_s if shape == "two_stage" else (None,)
        for budget, gate, window, signal in product(budgets_s, gates, windows_ms, signals):
            if gate is None or gate < budget:
                found.append(Policy(shape, budget, gate, window, signal))
    return found


@dataclass(frozen=True)
class Outcome:
    """What a policy would have brought, in each trial.

    Attributes:
        added_ms: wait after the results.
        complete: the answer was whole, and the policy knew.
        unconfirmed: it was whole, and was handed over as unfinished.
        truncated: prose was in hand, and more came later.
        missed: nothing was in hand, and an answer came later.
        wasted_ms: the wait, where nothing was in hand at its end.
        text_missing: share of the final characters that were missing; NaN where nothing was truncated.
        chars: characters of answer in hand.
        citations: sources of an answer that was whole; how many a truncated one had is not recorded, and counts as 0.
        known: whether the trial was watched for long enough to tell all this (:func:`known`).
    """

    added_ms: Floats
    complete: Bools
    unconfirmed: Bools
    truncated: Bools
    missed: Bools
    wasted_ms: Floats
    text_missing: Floats
    chars: Floats
    citations: Floats
    known: Bools


def play(played: Replay, policy: Policy, *, finished: Floats, opted: Bools) -> Outcome:
    """Plays one policy on every trial.

    Args:
        played: the trials.
        policy: the policy.
        finished: ``played.finished(policy.quiet_ms)``, the same for many policies.
        opted: of ``opt_in``: for which trials it waits.
    """
    ready = played.ready
    stop = ready + _patience_ms(played, policy, opted)
    end = np.minimum(stop, np.maximum(np.minimum(finished, played.declined), ready))
    in_hand = played.appear <= end
    whole = in_hand & (played.last <= end)
    complete = whole & (finished <= end)
    truncated = in_hand & ~whole
    chars = np.where(in_hand, played.chars_at(end), 0.0)
    final = np.maximum(played.chars_at(played.last), 1.0)
    cited = np.nan_to_num(floats(played.trials, "ai_citations"))
    added = end - ready
    return Outcome(
        added_ms=added,
        complete=complete,
        unconfirmed=whole & ~complete,
        truncated=truncated,
        missed=~in_hand & np.isfinite(played.appear) & ~np.isfinite(played.declined),
        wasted_ms=np.where(in_hand, 0.0, added),
        text_missing=np.where(truncated, np.maximum(1 - chars / final, 0.0), np.nan),
        chars=chars,
        citations=np.where(whole, cited, 0.0),
        known=known(played, policy),
    )


def known(played: Replay, policy: Policy) -> Bools:
    """Which trials were watched for long enough: to the end of the budget, and then for the quiet window of the study,
    in which shows whether more was to come. It asks the same of every trial, whatever the policy meets with in it:
    else those that end early would be left over, and be the figure."""
    until = played.ready + policy.budget_s * 1000
    return np.asarray(until <= played.end - np.maximum(played.quiet, policy.quiet_ms))


def _patience_ms(played: Replay, policy: Policy, opted: Bools) -> Floats:
    """How long after the results the policy waits in each trial, if nothing ends it before."""
    patience = np.full(len(played.trials), policy.budget_s * 1000)
    if policy.gate_s is not None:
        gate = policy.gate_s * 1000
        patience[played.appear > played.ready + gate] = gate
    if policy.signal is not None:
        said = flags(played.trials, SIGNALS[policy.signal])
        stops = said if policy.signal == "wrapper" else ~said
        # A signal that was not recorded stops nothing.
        patience[stops & played.trials[SIGNALS[policy.signal]].notna().to_numpy()] = 0.0
    if policy.shape == "opt_in":
        patience[~opted] = 0.0
    return patience
