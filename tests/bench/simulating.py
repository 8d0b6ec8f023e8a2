"""Studies of which the truth is known: whether intervals hold it as often as they say, and whether estimates miss it.

Each study is drawn from a model; what is true of the model is read off very many searches of it, each of a query of its
own. A study's own figures come from the functions that a user calls.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from castlenb.study.cells import Floats, appeared, counted, query_codes
from castlenb.study.latency import SHARES, latency_figures
from castlenb.study.policy_table import policies
from castlenb.study.resample import survival_band
from castlenb.study.settle import settling
from castlenb.study.survival import log_log_band, survival

from ..made_studies import Made, Model, study
from .rows import Limit, Row, measure

STUDIES = 500
DRAWS = 1000
POPULATION = 100_000
BUDGET_S, GATE_S = 4.0, 1.0
WAIT = "added wait"


@dataclass(frozen=True)
class Design:
    """How the studies of one row are made.

    Attributes:
        queries, repeats: of each.
        horizon_ms, quiet_ms: as everywhere.
        at_ms: times of the survival curve that are looked at.
        mean_ms: up to where means are restricted, below horizon - W.
    """

    model: Model
    queries: int
    repeats: int
    horizon_ms: float
    quiet_ms: float
    at_ms: tuple[float, ...]
    mean_ms: float

    def made(self, seed: int, *, queries: int = 0) -> Made:
        """One of them; of other ``queries``, each asked once, where they are given."""
        return study(
            {"google": self.model},
            queries=queries or self.queries,
            repeats=1 if queries else self.repeats,
            seed=seed,
            horizon_ms=self.horizon_ms,
            quiet_ms=self.quiet_ms,
        )


DESIGNS = {
    "repeats": Design(Model(present=0.7, clumping=0.5, marker=0.3), 40, 4, 8000, 2000, (2000, 3000), 4000),
    "once": Design(Model(present=0.7), 40, 1, 8000, 2000, (2000, 3000), 4000),
    "growing": Design(Model(present=0.9, gap_ms=250, pause_share=0.1), 24, 5, 8000, 2000, (4000, 5500), 6000),
}


@dataclass(frozen=True)
class Figure:
    """What a study says of something, with its interval; NaN where it says nothing."""

    value: float
    low: float
    high: float


def truth(design: Design) -> dict[str, float]:
    """Of the model: what the figures of its studies are estimates of."""
    made = design.made(10**6, queries=POPULATION)
    trials = made.run.trials
    has = np.isfinite(made.appear) & (made.appear <= design.horizon_ms)
    settle = made.settle[has]
    waits = [
        direct(*each, budget_ms=BUDGET_S * 1000, gate_ms=None, quiet_ms=design.quiet_ms) for each in searches(design)
    ]
    found = {
        "present": float(has.mean()),
        **_quantiles("results", trials["parse_ready_ms"].to_numpy(float)),
        **_quantiles("appear", made.appear[has]),
        **_quantiles("settle", settle),
        **{f"left at {at:g}": float((settle > at).mean()) for at in design.at_ms},
        "restricted mean": float(np.minimum(settle, design.mean_ms).mean()),
        WAIT: float(np.mean([each["added_ms"] for each in waits])),
    }
    if found["settle p90"] > design.horizon_ms - design.quiet_ms:
        del found["settle p90"]  # nothing is told there, and an open interval would hold anything
    return found


def figures(design: Design, made: Made, *, seed: int) -> dict[str, Figure]:
    """What one study says."""
    table = latency_figures(made.run, draws=DRAWS, seed=seed).iloc[0]
    found = {"present": Figure(table["present"], table["present_low"], table["present_high"])}
    for name in ("results", "appear", "settle"):
        for share in ("p50", "p90"):
            ends = (table[f"{name}_{share}{end}_ms"] for end in ("", "_low", "_high"))
            found[f"{name} {share}"] = Figure(*(float(each) if pd.notna(each) else np.nan for each in ends))
    answers = counted(made.run)
    answers = answers[appeared(answers)]
    known = settling(answers)
    left = survival(known.ms, known.seen, limit_ms=known.limit_ms)
    codes = query_codes(answers)
    at = np.asarray(design.at_ms)
    if design.repeats == 1:
        low, high = (_stepped(left.ms, ends, at) for ends in log_log_band(known.ms, known.seen))
    else:
        low, high = survival_band(known.ms, known.seen, codes, at, seed=seed)
    for number, when in enumerate(design.at_ms):
        found[f"left at {when:g}"] = Figure(left.at(when), low[number], high[number])
    table = policies(made.run, budgets_s=(BUDGET_S,), gates_s=(), signals=(None,), seed=seed)
    wait = table[(table["policy"] == "always") & (table["half"] == "score")].iloc[0]
    found[WAIT] = Figure(wait["added_ms"], wait["added_low_ms"], wait["added_high_ms"])
    found["restricted mean"] = Figure(left.restricted_mean(design.mean_ms), np.nan, np.nan)
    return found


def searches(design: Design) -> Iterator[tuple[float, float, float, Floats]]:
    """Many searches, each of a query of its own: when results, the answer and its marker came, and its changes."""
    for seed in range(4):
        made = design.made(2 * 10**6 + seed, queries=4000)
        trials = made.run.trials
        ready, marker = (trials[name].to_numpy(float, na_value=np.inf) for name in ("results_complete_ms", "marker_ms"))
        yield from zip(ready, made.appear, marker, made.changes, strict=True)


def direct(
    ready: float,
    appear: float,
    marker: float,
    changes: Floats,
    *,
    budget_ms: float,
    gate_ms: float | None,
    quiet_ms: float,
) -> dict[str, float]:
    """One search waited for step by step, by a reader who sees one change after the other and no trial's record."""
    left = ready + (gate_ms if gate_ms is not None and appear > ready + gate_ms else budget_ms)
    told = marker
    for at, after in zip(changes, [*changes[1:], np.inf], strict=False):
        if after - at >= quiet_ms:
            told = min(told, at + quiet_ms)
            break
    end = min(left, max(told, ready))
    in_hand = sum(each <= end for each in changes)
    whole = 0 < in_hand == len(changes)
    return {
        "complete": whole and told <= end,
        "unconfirmed": whole and told > end,
        "truncated": 0 < in_hand < len(changes),
        "missed": in_hand == 0 and len(changes) > 0,
        "added_ms": end - ready,
        "wasted_ms": 0.0 if in_hand else end - ready,
    }


@measure
def study_truth() -> list[Row]:
    """Of each design how far coverage is from 95 % at worst, and how large the bias of a curve or mean is at worst."""
    rows = []
    for name, design in DESIGNS.items():
        true = truth(design)
        told = simulated(design, STUDIES)
        held = {
            figure: coverage(found, true[figure])
            for figure, found in told.items()
            if figure in true and figure not in UNBOUNDED
        }
        biased = {figure: bias(told[figure], true[figure]) for figure in true if figure.startswith(("left", "restr"))}
        for figure in true:
            said = f"{held[figure]:.1f} % held" if figure in held else f"{biased[figure]:+.2f} % bias"
            print(f"  study_truth: {name}: {figure} ({true[figure]:.4g}): {said}", file=sys.stderr)
        off = max(abs(each - 95) for each in held.values())
        rows.append(Row(f"coverage_off_{name}", "%", off, STUDIES, Limit("value", 3)))
        rows.append(Row(f"survival_bias_{name}", "%", max(map(abs, biased.values())), STUDIES, Limit("value", 2)))
    return rows


@measure
def policy_truth() -> list[Row]:
    """How many standard errors the figures of policies lie from those of waiting for other searches of the same
    model, at most; of a hundred figures the largest is below 4 if nothing is wrong."""
    return [Row("policy_off_sigma", "", max(policy_distances(40_000)), 40_000, Limit("value", 4))]


def policy_distances(queries: int) -> Iterator[float]:
    """Of every figure of every policy its distance from the direct one, in standard errors of their difference."""
    design = DESIGNS["once"]
    run = study({"google": replace(design.model, marker=0.3)}, queries=queries, repeats=1, seed=6).run
    others = list(searches(replace(design, model=replace(design.model, marker=0.3), horizon_ms=15_000)))
    table = policies(run, budgets_s=(2.0, BUDGET_S), gates_s=(GATE_S,), windows_ms=(750.0, 2000.0), signals=(None,))
    for row in table[table["policy"].isin(("always", "two_stage"))].to_dict("records"):
        gate = row["gate_s"] * 1000 if pd.notna(row["gate_s"]) else None
        budget, quiet = row["budget_s"] * 1000, row["quiet_ms"]
        waits = [direct(*each, budget_ms=budget, gate_ms=gate, quiet_ms=quiet) for each in others]
        for name in waits[0]:
            values = np.array([each[name] for each in waits], dtype=float)
            error = values.std() * (1 / row["n"] + 1 / len(values)) ** 0.5
            yield abs(row[name] - values.mean()) / max(error, 1 / len(values))


UNBOUNDED = ("restricted mean",)
"""Figures that no interval is given of."""


def simulated(design: Design, studies: int) -> dict[str, list[Figure]]:
    """What so many studies say of each figure."""
    told = defaultdict(list)
    for seed in range(studies):
        for name, figure in figures(design, design.made(seed), seed=seed).items():
            told[name].append(figure)
    return told


def coverage(told: list[Figure], true: float) -> float:
    """In how many of 100 studies the interval holds what is true; one that is not given holds nothing."""
    return 100 * float(np.mean([each.low <= true <= each.high for each in told]))


def bias(told: list[Figure], true: float) -> float:
    """By how much, in %, the mean of an estimate is off."""
    return 100 * (float(np.mean([each.value for each in told])) / true - 1)


def _quantiles(name: str, ms: Floats) -> dict[str, float]:
    return {f"{name} {each}": float(np.quantile(ms, share)) for each, share in SHARES.items()}


def _stepped(ms: Floats, share: Floats, at_ms: Floats) -> Floats:
    return np.concatenate(([1.0], share))[np.searchsorted(ms, at_ms, side="right")]
