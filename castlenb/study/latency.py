"""The latency table: how long results and answers take, a row for each engine, class of queries and condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from . import wording
from .cells import (
    Bools,
    Floats,
    Frames,
    appeared,
    cells,
    counted,
    floats,
    keys_of,
    query_codes,
)
from .intervals import clustered, share_interval
from .records import BLOCKED_OUTCOMES, ERROR_OUTCOMES, VALID_OUTCOMES
from .resample import DRAWS, quantile_intervals
from .settle import settling
from .survival import survival

SHARES = {"p50": 0.5, "p90": 0.9}
LEAST = {"p50": 3, "p90": 10}
"""Times below which a quantile is not given: it would be one of the few values there are."""

TIMES = {"results": "parse_ready_ms", "container": "ai_shell_ms", "appear": "ai_appear_ms"}
"""Columns of ``trials`` by the figure that is made of them; ``settle`` is the fourth."""


def latency_figures(run: Frames, *, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """The latency table as numbers.

    One row an engine, class and condition (and lot, where runs were not measured alike). Warm-ups are left out of
    everything; what was blocked or failed is counted, and left out of the times. Columns, times in ms (page clock):

    - ``n_valid``, ``n_blocked``, ``n_errors``: trials; ``queries``: different ones among the valid (all Int64);
    - ``n_present``, ``n_declined``, ``n_offered``, ``n_unsupported``: what came of the answer in the valid ones;
    - ``present``, ``present_low``, ``present_high``: share with an answer within the horizon, Wilson's interval at the
      effective number of trials;
    - for each of ``results`` (parseable), ``container`` (the answer's place on the page was seen, holding something
      else or nothing), ``appear`` (first prose, of those that had any) and ``settle`` (last change of words, of the
      same): ``…_n``, and for p50 and p90 ``…_p50_ms``, ``…_p50_low_ms``, ``…_p50_high_ms``. Quantiles are times that
      were measured, never between two. Intervals are those of :func:`.resample.quantile_intervals`, by query. Missing:
      too few trials; infinite: not reached within ``settle_limit_ms``;
    - ``settle_growing``: those not seen to settle by ``settle_limit_ms`` (horizon - W; the horizon where markers
      settled all), right-censored in Kaplan and Meier's estimate; ``settle_by_marker``: of the others, by a marker;
    - ``chars_p50``, ``citations_p50``: of settled answers; ``heartbeat_ms``: the longest gap of the page's own timer,
      median over trials; ``visible``: share of trials whose page was never hidden; ``quiet_ms``: W; ``horizon_ms``;
    - ``container_lead_ms``: from the container to the first prose, median over trials that show both;
    - ``first_at``, ``last_at``: when its trials were started; ``chromes``: how many; ``measured``: dates, Chrome,
      vantage, label of the profile and language in words.

    Args:
        run: a run, or several combined.
        draws: resamples for each interval.
        seed: of the resampling.
    """
    trials = counted(run, valid=False)
    keys = keys_of(trials)
    rows = [
        {**key, **_figures(among, draws, seed), "measured": _measured(among, run.runs)}
        for key, among in cells(trials, keys)
    ]
    return pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})


def latency_table(run: Frames, *, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """The latency table as it is read: the field notes' four times with what they are worth, in words.

    One row an engine, class and condition. A cell such as ``512 (498–530); p90 640 (601–702)`` is the median with its
    95 % interval and the 90th percentile with its own, in ms from the start of the navigation. ``> 3500, 3 of 8
    growing`` is a median that is not reached within what can be told. The numbers behind it: :func:`latency_figures`.

    Args:
        run: a run, or several combined.
        draws: resamples for each interval.
        seed: of the resampling.
    """
    figures = latency_figures(run, draws=draws, seed=seed)
    keys = [name for name in figures.columns if name not in _KINDS]
    rows = [wording.latency_row(row) for row in figures.to_dict("records")]
    table = pd.DataFrame(rows, columns=list(wording.LATENCY_COLUMNS))
    return table.set_index(pd.MultiIndex.from_frame(figures[keys].rename(columns=wording.KEY_NAMES)))


def _figures(trials: pd.DataFrame, draws: int, seed: int) -> dict[str, Any]:
    valid = trials[trials["outcome"].isin(VALID_OUTCOMES)]
    present = appeared(valid)
    answers = valid[present]
    low, high = share_interval(clustered(present, query_codes(valid)))
    known = settling(answers)
    figures: dict[str, Any] = {
        "n_valid": len(valid),
        "n_blocked": int(trials["outcome"].isin(BLOCKED_OUTCOMES).sum()),
        "n_errors": int(trials["outcome"].isin(ERROR_OUTCOMES).sum()),
        "queries": valid["query"].nunique(),
        "n_present": len(answers),
        **{f"n_{state}": int((valid["ai_state"] == state).sum()) for state in ("declined", "offered", "unsupported")},
        "present": present.mean() if len(valid) else None,
        "present_low": low,
        "present_high": high,
        "settle_growing": int((~known.seen).sum()),
        "settle_by_marker": int((answers[known.seen]["settled_by"] == "marker").sum()),
        "settle_limit_ms": known.limit_ms if len(answers) else None,
        "chars_p50": _middle(answers[known.seen], "ai_chars"),
        "citations_p50": _middle(answers[known.seen], "ai_citations"),
        "container_lead_ms": _middle(answers.assign(lead=answers["ai_appear_ms"] - answers["ai_shell_ms"]), "lead"),
        "heartbeat_ms": _middle(valid, "heartbeat_max_gap_ms"),
        "visible": float((~(floats(valid, "hidden_ms") > 0)).mean()) if len(valid) else None,
        "quiet_ms": _middle(valid, "quiet_ms"),
        "horizon_ms": _middle(valid, "horizon_ms"),
        "first_at": trials["started_at"].min(),
        "last_at": trials["started_at"].max(),
        "chromes": trials["chrome_id"].nunique(),
    }
    for name, column in TIMES.items():
        among = answers if name == "appear" else valid
        figures |= _quantiles(name, among[among[column].notna()], column, draws, seed)
    return figures | _estimated("settle", known.ms, known.seen, answers, draws, seed, known.limit_ms)


def _measured(trials: pd.DataFrame, runs: pd.DataFrame) -> str:
    days = dict.fromkeys(f"{at:%Y-%m-%d}" for at in (trials["started_at"].min(), trials["started_at"].max()))
    theirs = runs[runs["run_id"].isin(trials["run_id"].unique())]
    labels = [" to ".join(days)]
    for name, words in (("chrome", "{}"), ("vantage", "from {}"), ("signed_in", "profile: {}"), ("hl", "hl={}")):
        labels += [words.format(label) for label in theirs[name].dropna().unique()]
    return ", ".join(labels)


def _quantiles(name: str, trials: pd.DataFrame, column: str, draws: int, seed: int) -> dict[str, Any]:
    ms = floats(trials, column)
    return _estimated(name, ms, np.ones(len(ms), dtype=bool), trials, draws, seed)


def _estimated(
    name: str,
    ms: Floats,
    seen: Bools,
    trials: pd.DataFrame,
    draws: int,
    seed: int,
    limit_ms: float = float("inf"),
) -> dict[str, Any]:
    figures: dict[str, Any] = {f"{name}_n": len(ms)}
    told = [share for share in SHARES if len(ms) >= LEAST[share]]
    if not told:
        return figures
    estimate = survival(ms, seen, limit_ms=limit_ms)
    shares = [SHARES[share] for share in told]
    intervals = quantile_intervals(ms, query_codes(trials), shares, seen=seen, draws=draws, seed=seed)
    for share, (low, high) in zip(told, intervals, strict=True):
        figures |= {
            f"{name}_{share}_ms": estimate.quantile(SHARES[share]),
            f"{name}_{share}_low_ms": low,
            f"{name}_{share}_high_ms": high,
        }
    return figures


def _middle(trials: pd.DataFrame, column: str) -> float | None:
    values = floats(trials, column)
    values = values[~np.isnan(values)]
    return float(np.median(values)) if len(values) else None


def _kinds() -> Mapping[str, str]:
    times = {}
    for name in (*TIMES, "settle"):
        times[f"{name}_n"] = "Int64"
        times |= {f"{name}_{share}{end}_ms": "Float64" for share in SHARES for end in ("", "_low", "_high")}
    counts = ("n_valid", "n_blocked", "n_errors", "queries", "n_present", "n_declined", "n_offered", "n_unsupported")
    rest = (
        *("settle_limit_ms", "container_lead_ms", "chars_p50", "citations_p50", "heartbeat_ms", "visible"),
        *("quiet_ms", "horizon_ms"),
    )
    return {
        **dict.fromkeys(counts, "Int64"),
        **dict.fromkeys(("present", "present_low", "present_high"), "Float64"),
        **times,
        **dict.fromkeys(("settle_growing", "settle_by_marker"), "Int64"),
        **dict.fromkeys(rest, "Float64"),
        **dict.fromkeys(("first_at", "last_at"), "datetime64[us, UTC]"),
        "chromes": "Int64",
        "measured": "str",
    }


_KINDS = _kinds()
