"""What a notebook shows of a study: plain data for :mod:`castlenb.display`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .cells import Frames
from .latency import latency_table
from .objections import check

SHOWN = (
    "AI answer present",
    "results parseable, ms",
    "AI answer appears, ms",
    "AI answer settles, ms",
)
"""Columns of the latency table that are shown; what is left out is in ``Run.latency_table``."""


def as_shown(run: Frames) -> dict[str, Any]:
    """The run as :func:`castlenb.display.run_html` takes it."""
    trials = run.trials
    measured = trials[~trials["warmup"].fillna(value=False)]
    return {
        "engines": list(trials["engine"].dropna().unique()),
        "trials": len(trials),
        "warmups": len(trials) - len(measured),
        "queries": int(trials["query"].nunique()),
        "facts": _facts(run.runs),
        "varying": ["run", "measured"],
        "outcomes": _outcomes(measured),
        "latency_columns": ["", *SHOWN],
        "latency": [] if measured.empty else _latency(run),
        "objections": check(run),
    }


def _facts(runs: pd.DataFrame) -> list[tuple[str, str]]:
    """What they were measured with; where the runs differ, each once."""
    told = [
        ("run", [str(name) for name in runs["run_id"]]),
        ("measured", [_when(begun, ended) for begun, ended in zip(runs["started_at"], runs["ended_at"], strict=True)]),
        ("Chrome", _each(runs["chrome"])),
        ("from", _each(runs["vantage"])),
        ("signed in", _each(runs["signed_in"])),
        ("network", _each(runs["network"])),
        ("each page watched", [f"{ms / 1000:g} s" for ms in runs["horizon_ms"].dropna()]),
        ("pace", _each(runs["pace"])),
        ("trials planned", _each(runs["planned"])),
    ]
    return [(name, "; ".join(dict.fromkeys(values))) for name, values in told if values]


def _each(column: pd.Series[Any]) -> list[str]:
    return [str(value) for value in column.dropna()]


def _when(begun: pd.Timestamp, ended: pd.Timestamp) -> str:
    if pd.isna(begun):
        return "unknown"
    if pd.isna(ended):
        return f"{begun:%Y-%m-%d %H:%M} UTC, and was cut off"
    return f"{begun:%Y-%m-%d %H:%M} to {ended:%H:%M}{f' on {ended:%Y-%m-%d}' * (begun.date() != ended.date())} UTC"


def _outcomes(measured: pd.DataFrame) -> list[dict[str, Any]]:
    """How the trials of each engine ended, and in what state their answers were then."""
    return [
        {"engine": engine, "pages": _counts(among["outcome"]), "answers": _counts(among["ai_state"])}
        for engine, among in measured.groupby("engine")
    ]


def _counts(states: pd.Series[Any]) -> str:
    return ", ".join(f"{str(state).replace('_', ' ')} {count}" for state, count in states.value_counts().items())


def _latency(run: Frames) -> list[list[str]]:
    """The latency table, its keys as one; those that are the same in all of its rows, and ``default``, left out."""
    table = latency_table(run)
    keys = table.index.to_frame(index=False).astype("str")
    told = [name for name in keys if name == "engine" or keys[name].nunique() > 1]
    named = [" ".join(value for value in row if value != "default") for row in keys[told].itertuples(index=False)]
    return [[name, *map(str, row)] for name, row in zip(named, table[list(SHOWN)].itertuples(index=False), strict=True)]
