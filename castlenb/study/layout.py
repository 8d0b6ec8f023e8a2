"""What it costs to ask for AI answers where that takes another layout of the page: Google's, without ``udm=14``."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from ..engines import engine as engine_named
from ..links import same_target, site_of
from .cells import Frames, cells, counted, floats, keys_of, query_codes, results_ready
from .intervals import clustered, mean_interval
from .settle import rows_of

_PAIRED = ("run_id", "vantage", "repeat", "query")
_DIFFERENCES = ("parse_ready_ms", "complete_ms", "n_results")
_SHARES = ("overlap", "rank_shift")
_KINDS = {
    **dict.fromkeys(("pairs", "queries"), "Int64"),
    **{f"{name}_{layout}": "Float64" for name in _DIFFERENCES for layout in ("web", "classic")},
    **{f"{name}{end}": "Float64" for name in (*_DIFFERENCES, *_SHARES) for end in ("", "_low", "_high")},
    **{f"misread_{layout}": "Float64" for layout in ("web", "classic")},
}


def layout_cost(run: Frames) -> pd.DataFrame:
    """What giving up the web layout costs a search: each query in both, one beside the other.

    One row an engine that has both layouts, class of queries and way of keeping the tab. Columns:

    - ``pairs``: trials of the same query and repeat, both of which brought a page; ``queries``;
    - ``parse_ready_ms_web``, ``…_classic``, and so for ``complete_ms`` (results complete) and ``n_results``: means of
      the pairs; without a layout in the name: mean of classic minus web, with ``_low`` and ``_high``;
    - ``overlap``: targets that both list over those that either lists; ``rank_shift``: by how many places the shared
      ones differ; means over the pairs, with ``_low`` and ``_high``;
    - ``misread_web``, ``misread_classic``: share of rows that are no result to a reader: without a target, on the
      engine's own hosts, or on the same page a second time. It counts only what shows on the row itself.

    Intervals are 95 % t intervals between queries, missing below five. The frame is empty where no query was tried in
    both.
    """
    trials = counted(run)
    keys = [name for name in keys_of(trials) if name != "layout"]
    listed = _Listed(run, trials)
    trials = trials.assign(_row=np.arange(len(trials)), complete_ms=results_ready(trials))
    web, classic = (trials[trials["layout"] == layout] for layout in ("web", "classic"))
    pairs = web.merge(classic, on=[*keys, *_PAIRED], suffixes=("_web", "_classic"))
    rows = [{**key, **_figures(among, listed)} for key, among in cells(pairs, keys)]
    return pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})


class _Listed:
    """The targets of each trial in their order, and how many of its rows are none."""

    def __init__(self, run: Frames, trials: pd.DataFrame) -> None:
        self.ranks: list[dict[str, int]] = [{} for _ in range(len(trials))]
        self.rows = np.zeros(len(trials))
        self.misread = np.zeros(len(trials))
        own = {name: re.compile(engine_named(name).own) for name in trials["engine"].unique()}
        engines = trials["engine"].to_numpy()
        results = run.results.sort_values("rank", kind="stable")
        for row, rank, url in zip(rows_of(results, trials), results["rank"], results["url"], strict=True):
            if row < 0:
                continue
            self.rows[row] += 1
            target = None if pd.isna(url) else same_target(url)
            if target is None or target in self.ranks[row] or own[engines[row]].search(site_of(url)):
                self.misread[row] += 1
            else:
                self.ranks[row][target] = int(rank)

    def misread_share(self, rows: pd.Series[int]) -> float:
        """Share of the rows of these trials that are no results."""
        return float(self.misread[rows].sum() / self.rows[rows].sum()) if self.rows[rows].sum() else np.nan


def _figures(pairs: pd.DataFrame, listed: _Listed) -> dict[str, Any]:
    figures: dict[str, Any] = {"pairs": len(pairs), "queries": pairs["query"].nunique()}
    values = {}
    for name in _DIFFERENCES:
        web, classic = floats(pairs, f"{name}_web"), floats(pairs, f"{name}_classic")
        values[name] = classic - web
        both = ~np.isnan(values[name])
        if both.any():
            figures |= {f"{name}_web": web[both].mean(), f"{name}_classic": classic[both].mean()}
    overlap, shift = [], []
    for web, classic in zip(pairs["_row_web"], pairs["_row_classic"], strict=True):
        one, other = listed.ranks[web], listed.ranks[classic]
        shared = one.keys() & other.keys()
        overlap.append(len(shared) / len(one.keys() | other.keys()) if one and other else np.nan)
        shift.append(np.mean([abs(one[target] - other[target]) for target in shared]) if shared else np.nan)
    values |= {"overlap": np.asarray(overlap, dtype=np.float64), "rank_shift": np.asarray(shift, dtype=np.float64)}
    for name, numbers in values.items():
        some = ~np.isnan(numbers)
        if some.any():
            low, high = mean_interval(clustered(numbers[some], query_codes(pairs[some])))
            figures |= {name: numbers[some].mean(), f"{name}_low": low, f"{name}_high": high}
    for layout in ("web", "classic"):
        figures[f"misread_{layout}"] = listed.misread_share(pairs[f"_row_{layout}"])
    return figures
