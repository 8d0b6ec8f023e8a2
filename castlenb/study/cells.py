"""What a study's figures are counted over: trials in cells, and which of them count.

A cell is one engine, one class of queries and one condition. Every trial is in exactly one and is counted there,
whatever came of it: blocked ones and failures are a figure of their own, never answers that were absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .records import VALID_OUTCOMES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.integer[Any]]

KEYS = ("engine", "query_class", "layout", "visibility")
"""What a cell is told by; ``lot`` comes before them where the runs were not measured alike."""

MEASURED_AS = {
    "horizon_ms": "how long each page was watched",
    "quiet_ms": "the quiet window",
    "results": "how many results make a page complete",
    "probe_hash": "the scripts in the page",
    "engines_hash": "the tables of selectors",
    "castlenb_version": "the version of castlenb",
    "schema_version": "the version of the records",
    "hl": "the language of the pages",
    "gl": "the country of the results",
}
"""Columns of ``runs`` in which two runs have to agree before their figures may be taken together."""


class Frames(Protocol):
    """What the tables are made from: the frames of a run, or of several runs combined."""

    trials: pd.DataFrame
    growth: pd.DataFrame
    citations: pd.DataFrame
    results: pd.DataFrame
    runs: pd.DataFrame


def floats(frame: pd.DataFrame, name: str) -> Floats:
    """A column as float64, NaN where it is missing."""
    return frame[name].to_numpy(dtype=np.float64, na_value=np.nan)


def flags(frame: pd.DataFrame, name: str) -> Bools:
    """A column as bool, False where it is missing."""
    return frame[name].to_numpy(dtype=bool, na_value=False)


def lots(runs: pd.DataFrame) -> pd.Series[str]:
    """Which runs were measured alike: for each ``run_id`` the letter of its lot.

    Two runs are of one lot where they agree in all of :data:`MEASURED_AS`.
    """
    number = runs.groupby(list(MEASURED_AS), dropna=False, sort=False).ngroup()
    return pd.Series([_letters(each) for each in number], index=runs["run_id"], dtype="str")


def _letters(number: int) -> str:
    more, last = divmod(number, 26)
    return (_letters(more - 1) if more else "") + chr(ord("A") + last)


def counted(run: Frames, *, valid: bool = True) -> pd.DataFrame:
    """The trials that figures are made from: without warm-ups and, with ``valid``, without what brought no page of
    results. With a column ``lot`` where the runs were not all measured alike."""
    trials = run.trials[~flags(run.trials, "warmup")]
    if valid:
        trials = trials[trials["outcome"].isin(VALID_OUTCOMES)]
    lot = lots(run.runs)
    if lot.nunique() > 1:
        trials = trials.assign(lot=trials["run_id"].map(lot))
    return trials


def keys_of(trials: pd.DataFrame) -> list[str]:
    """The columns a cell of these trials is told by."""
    return ["lot", *KEYS] if "lot" in trials else list(KEYS)


def cells(trials: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The trials of each cell, with what tells it from the others, in the order of the keys."""
    for values, trials_in_it in trials.groupby(list(keys), observed=True, dropna=False, sort=True):
        yield dict(zip(keys, values, strict=True)), trials_in_it


def query_codes(trials: pd.DataFrame) -> Ints:
    """The query of each trial as a number from 0."""
    codes, _ = pd.factorize(trials["query"])
    return np.asarray(codes, dtype=np.intp)


def appeared(trials: pd.DataFrame) -> Bools:
    """Which trials had an answer: prose was seen, and the page did not say afterwards that there is none."""
    return ~np.isnan(floats(trials, "ai_appear_ms")) & (trials["ai_state"] != "declined").to_numpy(bool, na_value=True)


def results_ready(trials: pd.DataFrame) -> Floats:
    """When the results were in the reader's hand, in ms: complete; else readable; else, where the engine says that
    nothing matches, parsed. NaN where none of the three was seen."""
    ready = floats(trials, "results_complete_ms")
    for name in ("parse_ready_ms", "parsed_ms"):
        ready = np.where(np.isnan(ready), floats(trials, name), ready)
    return ready
