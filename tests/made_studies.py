"""Studies that nobody ran: trials drawn from a model, so that the truth behind every figure is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from castlenb.study import Run, records
from castlenb.study.records import SCHEMA, SCHEMA_VERSION


@dataclass(frozen=True)
class Model:
    """How an engine answers.

    Attributes:
        present: share of queries with an answer; how far queries differ is ``clumping`` (1: each always or never).
        results_ms, appear_ms: medians from navigation, and from the results, on.
        changes: mean number of changes of an answer's words; ``gap_ms`` apart, and now and then ``pause_ms``.
        spread: standard deviation, on the log scale, between trials and again between queries.
        marker: share of answers that end with a marker.
    """

    present: float = 0.6
    clumping: float = 0.5
    results_ms: float = 500.0
    appear_ms: float = 1000.0
    changes: float = 12.0
    gap_ms: float = 80.0
    pause_share: float = 0.05
    pause_ms: float = 600.0
    spread: float = 0.25
    marker: float = 0.0
    blocked: float = 0.0


@dataclass(frozen=True)
class Made:
    """A study, and what was true of its trials (ms on the page clock, infinite where it never came)."""

    run: Run
    appear: np.ndarray
    settle: np.ndarray
    changes: list[np.ndarray] = field(default_factory=list)


CLASSES = ("question", "lookup", "navigational", "fresh")


def study(
    models: dict[str, Model],
    *,
    queries: int,
    repeats: int,
    seed: int,
    horizon_ms: float = 15_000.0,
    quiet_ms: float = 2000.0,
    classes: tuple[str, ...] = ("question",),
    run_id: str = "made",
    **columns: Any,
) -> Made:
    """A run of every query so often on every engine."""
    chance = np.random.default_rng(seed)
    parts = [
        _engine(chance, name, model, queries, repeats, horizon_ms, quiet_ms, classes, run_id)
        for name, model in models.items()
    ]
    trials = pd.concat([part[0] for part in parts], ignore_index=True).assign(**columns)
    growth = pd.concat([part[1] for part in parts], ignore_index=True)
    runs = pd.DataFrame(
        {
            "run_id": [run_id],
            "schema_version": [SCHEMA_VERSION],
            "castlenb_version": ["0"],
            "horizon_ms": [horizon_ms],
            "quiet_ms": [quiet_ms],
            "results": [10],
            "probe_hash": ["p"],
            "engines_hash": ["e"],
            "hl": ["en"],
            "chrome": ["Chrome/156.0"],
            "vantage": ["here"],
            "signed_in": ["no"],
        }
    )
    frames = {"trials": trials, "growth": growth, "runs": runs}
    run = Run(**{name: whole(name, frames.get(name, pd.DataFrame())) for name in SCHEMA})
    truth = [np.concatenate([part[number] for part in parts]) for number in (2, 3)]
    return Made(run, *truth, [each for part in parts for each in part[4]])


def by_hand(*trials: dict[str, Any], horizon_ms: float = 10_000.0, quiet_ms: float = 2000.0, **run: Any) -> Run:
    """A run of these trials, each a question of its own to Google unless it says otherwise.

    A trial is its columns. ``changes`` is when its words changed (40 characters more each time): appear, last change,
    state and characters follow from it.
    """
    rows, growth = [], []
    for number, given in enumerate(trials):
        known = dict(given)
        changes = [at for at in known.pop("changes", ()) if at <= known.get("observed_ms", horizon_ms)]
        row: dict[str, Any] = {
            "run_id": "run",
            "trial_id": f"t{number}",
            "repeat": 1,
            "query": f"query {number}",
            "query_class": "question",
            "engine": "google",
            "layout": "classic",
            "visibility": "emulated",
            "warmup": False,
            "vantage": "here",
            "started_at": pd.Timestamp("2026-08-04", tz="UTC") + pd.Timedelta(minutes=number),
            "outcome": "results",
            "results_complete_ms": 500.0,
            "parse_ready_ms": 450.0,
            "ai_state": "absent",
            "horizon_ms": horizon_ms,
            "quiet_ms": quiet_ms,
            "observed_ms": horizon_ms,
            "chrome_id": "c",
        }
        if changes:
            by = "marker" if "marker_ms" in known else "quiet" if horizon_ms - changes[-1] >= quiet_ms else None
            row |= {
                "ai_state": "settled" if by else "growing",
                "settled_by": by,
                "ai_appear_ms": changes[0],
                "ai_settle_observed_ms": changes[-1],
                "ai_settle_ms": changes[-1] if by else None,
                "ai_settle_censored": by is None,
                "ai_chars": 40 * len(changes),
            }
        rows.append(row | known)
        growth += [
            {"run_id": rows[-1]["run_id"], "trial_id": rows[-1]["trial_id"], "t_ms": at, "chars": 40 * (place + 1),
             "kind": "growing", "signature": place}
            for place, at in enumerate(changes)
        ]  # fmt: skip
    one = {"run_id": "run", "schema_version": SCHEMA_VERSION, "horizon_ms": horizon_ms, "quiet_ms": quiet_ms} | run
    frames = {"trials": pd.DataFrame(rows), "growth": pd.DataFrame(growth), "runs": pd.DataFrame([one])}
    return Run(**{name: whole(name, frames.get(name, pd.DataFrame())) for name in SCHEMA})


def whole(frame: str, known: pd.DataFrame) -> pd.DataFrame:
    """The frame with all its columns, those that nothing is known of missing."""
    columns = {
        name: known[name].astype(column.dtype) if name in known else records.array([None] * len(known), column.dtype)
        for name, column in SCHEMA[frame].items()
    }
    return pd.DataFrame(columns).reset_index(drop=True)


def _engine(
    chance: np.random.Generator,
    name: str,
    model: Model,
    queries: int,
    repeats: int,
    horizon_ms: float,
    quiet_ms: float,
    classes: tuple[str, ...],
    run_id: str,
) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray, list[np.ndarray]]:
    n = queries * repeats
    query = np.tile(np.arange(queries), repeats)
    like_all = chance.random(n) < 1 - model.clumping
    has = np.where(like_all, chance.random(n) < model.present, (chance.random(queries) < model.present)[query])

    def drawn(median: float) -> np.ndarray:
        of_query = chance.normal(0, model.spread, queries)[query]
        return median * np.exp(of_query + chance.normal(0, model.spread, n))

    results = drawn(model.results_ms)
    appear = np.where(has, results + drawn(model.appear_ms), np.inf)
    pieces = np.maximum(1, np.rint(drawn(model.changes))).astype(int) * has
    first = np.concatenate(([0], np.cumsum(pieces)))
    owner = np.repeat(np.arange(n), pieces)
    gaps = chance.exponential(model.gap_ms, len(owner))
    gaps += np.where(chance.random(len(owner)) < model.pause_share, chance.exponential(model.pause_ms, len(owner)), 0)
    gaps[first[:-1][has]] = 0
    run_up = np.cumsum(gaps)
    at = appear[owner] + run_up - run_up[first[owner]]
    number = np.arange(len(owner)) - first[:-1][owner]
    settle = np.full(n, np.inf)
    settle[has] = at[first[1:][has] - 1]
    marked = has & (chance.random(n) < model.marker)
    marker = np.where(marked, settle + 100, np.inf)

    inside = at <= horizon_ms
    last = np.full(n, np.nan)
    np.fmax.at(last, owner[inside], at[inside])
    chars = 40.0 * (number + 1)
    seen_chars = np.zeros(n)
    np.maximum.at(seen_chars, owner[inside], chars[inside])
    by_marker = marker <= horizon_ms
    settled = by_marker | (horizon_ms - last >= quiet_ms)
    state = np.where(settled, "settled", np.where(np.isnan(last), "absent", "growing"))
    outcome = np.where(chance.random(n) < model.blocked, "challenge", "results")
    trial_id = pd.Series([f"{name}-{number}" for number in range(n)])
    class_of = np.asarray(classes)[np.arange(queries) % len(classes)]
    trials = pd.DataFrame(
        {
            "run_id": run_id,
            "trial_id": trial_id,
            "block": query + 1,
            "position": 0,
            "repeat": np.repeat(np.arange(repeats), queries) + 1,
            "query": pd.Series([f"query {each}" for each in range(queries)]).to_numpy()[query],
            "query_class": class_of[query],
            "engine": name,
            "layout": "default",
            "visibility": "emulated",
            "warmup": False,
            "vantage": "here",
            "started_at": pd.Timestamp("2026-08-04", tz="UTC") + pd.to_timedelta(np.arange(n) * 20.0, unit="s"),
            "outcome": outcome,
            "parse_ready_ms": results * 0.9,
            "results_complete_ms": results,
            "parsed_ms": results,
            "ai_state": state,
            "settled_by": np.where(by_marker, "marker", np.where(settled, "quiet", None)),
            "ai_appear_ms": _none_for(np.where(appear <= horizon_ms, appear, np.nan)),
            "ai_settle_ms": _none_for(np.where(settled, last, np.nan)),
            "ai_settle_observed_ms": _none_for(last),
            "marker_ms": _none_for(np.where(by_marker, marker, np.nan)),
            "ai_chars": seen_chars,
            "ai_citations": 4 * has,
            "horizon_ms": horizon_ms,
            "quiet_ms": quiet_ms,
            "observed_ms": horizon_ms,
            "hidden_ms": 0.0,
            "heartbeat_median_gap_ms": 250.0,
            "heartbeat_max_gap_ms": 260.0,
            "chrome_id": "c",
        }
    )
    growth = pd.DataFrame(
        {
            "run_id": run_id,
            "trial_id": trial_id.to_numpy()[owner[inside]],
            "t_ms": at[inside],
            "chars": chars[inside],
            "kind": "growing",
            "signature": number[inside],
        }
    )
    curves = np.split(at, first[1:-1]) if n < 5000 else []
    return trials, growth, appear, settle, curves


def _none_for(ms: np.ndarray) -> pd.arrays.FloatingArray:
    return pd.arrays.FloatingArray(np.nan_to_num(ms), np.isnan(ms))
