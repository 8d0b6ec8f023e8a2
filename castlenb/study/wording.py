"""How the tables say what they say: figures with what they are worth, in words that stand alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .intervals import FEW

KEY_NAMES = {"query_class": "class", "visibility": "tab"}

LATENCY_COLUMNS = (
    "queries",
    "valid",
    "blocked",
    "errors",
    "AI answer present",
    "results parseable, ms",
    "container seen, ms",
    "AI answer appears, ms",
    "AI answer settles, ms",
    "characters",
    "sources",
    "tab visible",
    "timer gap, ms",
    "horizon, ms",
    "window W, ms",
    "measured",
    "remarks",
)

NOTHING = "–"


def latency_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """One row of :func:`.latency.latency_figures` as it is read."""
    return {
        "queries": row["queries"],
        "valid": row["n_valid"],
        "blocked": row["n_blocked"],
        "errors": row["n_errors"],
        "AI answer present": _present(row),
        "results parseable, ms": times(row, "results"),
        "container seen, ms": times(row, "container"),
        "AI answer appears, ms": times(row, "appear"),
        "AI answer settles, ms": settles(row),
        "characters": number(row["chars_p50"]),
        "sources": number(row["citations_p50"]),
        "tab visible": percent(row["visible"]),
        "timer gap, ms": number(row["heartbeat_ms"]),
        "horizon, ms": number(row["horizon_ms"]),
        "window W, ms": number(row["quiet_ms"]),
        "measured": row["measured"],
        "remarks": "; ".join(_remarks(row)),
    }


def number(value: Any) -> str:
    """A whole number; a dash where there is none."""
    return NOTHING if known(value) is None else f"{value:.0f}"


def percent(share: Any) -> str:
    """A share in per cent, with a decimal where the nearest whole number would be 0 or 100 and it is neither."""
    if known(share) is None:
        return NOTHING
    shown = f"{100 * share:.0f}"
    return f"{100 * share:.1f} %" if shown in ("0", "100") and share not in (0, 1) else f"{shown} %"


def known(value: Any) -> float | None:
    """The number, or ``None`` where it is missing."""
    return None if pd.isna(value) else float(value)


def times(row: Mapping[str, Any], name: str) -> str:
    """``512 (498–530); p90 640 (601–702); of 80``: median and 90th percentile with their intervals."""
    n = row[f"{name}_n"]
    if not n:
        return NOTHING
    if known(row[f"{name}_p50_ms"]) is None:
        return f"n too small ({n})"
    median = f"{row[f'{name}_p50_ms']:.0f}{_interval(row, f'{name}_p50')}"
    return f"{median}; {_p90(row, name)}" + (f"; of {n}" if n != row["n_valid"] else "")


def settles(row: Mapping[str, Any]) -> str:
    """``2304 (2210–2400); p90 …; 0 of 8 growing``, or ``> 3500, 3 of 8 growing`` where the median is not reached."""
    n = row["settle_n"]
    if not n:
        return NOTHING
    growing = f"{row['settle_growing']} of {n} growing"
    median = known(row["settle_p50_ms"])
    if median is None:
        return f"n too small ({n}), {growing}"
    if np.isfinite(median):
        return f"{median:.0f}{_interval(row, 'settle_p50')}; {_p90(row, 'settle')}; {growing}"
    low = known(row["settle_p50_low_ms"])
    at_least = f" (95 %: {low:.0f} or later)" if low is not None and np.isfinite(low) else ""
    return f"> {number(row['settle_limit_ms'])}, {growing}{at_least}"


def _p90(row: Mapping[str, Any], name: str) -> str:
    value = known(row[f"{name}_p90_ms"])
    if value is None:
        return "p90: n too small"
    if not np.isfinite(value):
        return f"p90 > {number(row['settle_limit_ms'])}"
    return f"p90 {value:.0f}{_interval(row, f'{name}_p90')}"


def _interval(row: Mapping[str, Any], name: str) -> str:
    low, high = known(row[f"{name}_low_ms"]), known(row[f"{name}_high_ms"])
    if low is None or high is None:
        return ""
    return f" ({low:.0f}–{f'{high:.0f}' if np.isfinite(high) else 'not reached'})"


def _present(row: Mapping[str, Any]) -> str:
    n = row["n_valid"]
    if not n:
        return "no valid trial"
    if row["n_unsupported"] == n:
        return "none: not offered here"
    low, high = 100 * row["present_low"], 100 * row["present_high"]
    return f"{row['n_present']} of {n}, {percent(row['present'])} ({low:.0f}–{high:.0f})"


def _remarks(row: Mapping[str, Any]) -> list[str]:
    said = []
    lead = known(row["container_lead_ms"])
    if lead is not None and lead > 0:
        said.append(
            f"the container is there {lead:.0f} ms before the first prose, empty or holding something else: a figure "
            "for it, such as the field notes' “appears”, is none for the answer"
        )
    if row["settle_n"] > row["settle_growing"]:
        settled = row["settle_n"] - row["settle_growing"]
        by_quiet = settled - row["settle_by_marker"]
        ways = [f"{row['settle_by_marker']} by a marker of the page"] * bool(row["settle_by_marker"])
        ways += [f"{by_quiet} by {number(row['quiet_ms'])} ms without a change"] * bool(by_quiet)
        said.append(f"settled: {', '.join(ways)}")
    if row["settle_growing"]:
        said.append(
            f"growing: not settled by {number(row['settle_limit_ms'])} ms, as far as can be told from pages watched "
            f"for {number(row['horizon_ms'])} ms"
        )
    for state, words in (("declined", "the page said that there is none"), ("offered", "offered on a click only")):
        if row[f"n_{state}"]:
            said.append(f"{words}: {row[f'n_{state}']}")
    if row["n_valid"] and row["queries"] < FEW:
        queries = "1 query" if row["queries"] == 1 else f"{row['queries']} queries"
        said.append(f"no intervals of times from {queries}: what is said holds for no other")
    if row["chromes"] > 1:
        said.append(f"measured in {row['chromes']} Chromes")
    return said
