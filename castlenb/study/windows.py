"""Quiet windows, tried on recorded curves: how often each would have taken a pause for the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .cells import Bools, Floats, Frames, Ints, appeared, cells, counted, keys_of, query_codes
from .intervals import at_most, clustered
from .settle import Replay, replay

WINDOWS_MS = (250, 500, 750, 1000, 1500, 2000, 3000)

_KINDS = {
    "rule": "str",
    "quiet_ms": "Float64",
    "n": "Int64",
    "queries": "Int64",
    "unknown": "Int64",
    **dict.fromkeys(("premature", "premature_high", "text_missing", "text_missing_worst", "added_ms"), "Float64"),
    "keeps": "boolean",
}


def quiet_windows(run: Frames, *, windows_ms: Sequence[float] = WINDOWS_MS, target: float = 0.05) -> pd.DataFrame:
    """How well "no change for W ms" tells that an answer is whole, for several W, and how well the page's marker does.

    One row an engine, class and condition, and a rule: ``quiet`` with its ``quiet_ms``, and ``marker``. Columns:

    - ``n``: answers; ``queries``: different ones; ``unknown``: answers that the rule would not have cut as far as they
      were seen, and whose end was not: no marker, and changes until less than the largest window before the horizon;
    - ``premature``: share of ``n`` that the rule has surely taken for whole too early; ``premature_high``: one-sided
      95 % upper bound of the share, the unknown ones counted as premature;
    - ``text_missing``, ``text_missing_worst``: share of the final characters missing then, mean and largest over the
      premature ones. Where in a sentence the cut falls is not recorded;
    - ``added_ms``: mean wait from the last change until the rule says so, over those that are not premature;
    - ``keeps``: whether ``premature_high`` is at most ``target`` for this window and every larger one. Tried in that
      order, from the largest down, the smallest window that keeps may be chosen without a correction for the number
      that was tried. Missing for the marker.

    The page's own sign that it is still writing, for which a search waits beyond any window, is not in the curves.

    Args:
        run: a run, or several combined.
        windows_ms: windows to try. The largest has to fit into the horizon with room to spare, or most are unknown.
        target: the share of premature ones that is acceptable.

    Raises:
        ValueError: there is no window, one is not above 0, or the target is no share.
    """
    if not windows_ms or min(windows_ms) <= 0:
        raise ValueError(f"windows_ms has to hold at least one window, each above 0 ms, not {list(windows_ms)!r}")
    if not 0 < target < 1:
        raise ValueError(f"target is a share between 0 and 1, not {target!r}")
    trials = counted(run)
    keys = keys_of(trials)
    rows: list[dict[str, Any]] = []
    for key, among in cells(trials[appeared(trials)], keys):
        played = replay(run, among)
        rows += [{**key, **row} for row in _rows(played, sorted(windows_ms), target)]
    return pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})


def _rows(played: Replay, windows_ms: Sequence[float], target: float) -> list[dict[str, Any]]:
    queries = query_codes(played.trials)
    marked = ~np.isnan(played.marker)
    whole = marked | (played.end - played.last >= windows_ms[-1])
    rows = []
    for window in windows_ms:
        settled = played.settled(window)
        early = settled < played.last
        row = _row(played, queries, early, whole, settled, settled + window)
        rows.append({"rule": "quiet", "quiet_ms": window, **row})
    keeps = True
    for row in reversed(rows):
        keeps = bool(keeps and row["premature_high"] <= target)
        row["keeps"] = keeps
    if marked.any():
        told = np.where(marked, np.maximum(played.marker, played.appear), np.inf)
        rows.append({"rule": "marker", **_row(played, queries, told < played.last, whole & marked, told, told)})
    return rows


def _row(played: Replay, queries: Ints, early: Bools, whole: Bools, at_ms: Floats, told_ms: Floats) -> dict[str, Any]:
    known = early | whole
    final = played.chars_at(played.last)
    missing = 1 - played.chars_at(at_ms)[early] / np.maximum(final[early], 1)
    kept = known & ~early & np.isfinite(told_ms)
    return {
        "n": len(early),
        "queries": len(np.unique(queries)),
        "unknown": int((~known).sum()),
        "premature": early.mean(),
        "premature_high": at_most(clustered(early | ~known, queries)),
        # A rewrite can end with fewer characters than it had.
        "text_missing": np.maximum(missing, 0).mean() if early.any() else None,
        "text_missing_worst": np.maximum(missing, 0).max() if early.any() else None,
        "added_ms": (told_ms - played.last)[kept].mean() if kept.any() else None,
    }
