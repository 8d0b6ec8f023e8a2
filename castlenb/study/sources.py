"""What answers cite: how much of it is among the results, and how much of it stays from one time to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..links import same_target
from .cells import Floats, Frames, cells, counted, keys_of, query_codes
from .intervals import clustered, mean_interval
from .settle import rows_of

_KINDS = {
    **dict.fromkeys(("answers", "queries", "uncited"), "Int64"),
    "citations": "Float64",
    **{f"{name}{end}": "Float64" for name in ("sites_in_results", "pages_in_results") for end in ("", "_low", "_high")},
    "pairs": "Int64",
    **{f"{name}{end}": "Float64" for name in ("sites_kept", "pages_kept") for end in ("", "_low", "_high")},
    "nothing_kept": "Float64",
}


def citation_overlap(run: Frames, *, top: int = 10) -> pd.DataFrame:
    """How far the sources of an answer are among the results beside it, and how far they stay between repeats.

    One row an engine, class and condition. Columns:

    - ``answers``: settled ones that name a source; ``queries``: of these; ``uncited``: settled ones that name none;
      ``citations``: mean number of sources;
    - ``sites_in_results``, ``pages_in_results`` (with ``_low``, ``_high``): share of an answer's cited sites, and of
      its cited pages, among the first ``top`` results of the same page; mean over the answers;
    - ``pairs``: answers to the same query, one after the other in the same condition; ``sites_kept``, ``pages_kept``
      (with ``_low``, ``_high``): what the two have in common over what either cites (Jaccard), mean over the pairs;
      ``nothing_kept``: share of the pairs without a site in common.

    Pages are the same where host and path are, as in :func:`castlenb.compare`; sites are told by the host of the
    address, and by the name on the page only where the address is hidden. Intervals are 95 % t intervals between
    queries, missing below five.

    Args:
        run: a run, or several combined.
        top: how many results.

    Raises:
        ValueError: ``top`` is below 1.
    """
    if top < 1:
        raise ValueError(f"top has to be at least 1, not {top}")
    trials = counted(run)
    keys = keys_of(trials)
    trials = trials[(trials["ai_state"] == "settled").to_numpy(bool, na_value=False) | trials["settled_by"].notna()]
    cited = _sets(run.citations, trials)
    listed = _sets(run.results[(run.results["rank"] <= top).fillna(False)], trials)
    trials = trials.assign(_row=np.arange(len(trials)))
    rows = [{**key, **_figures(among, cited, listed)} for key, among in cells(trials, keys)]
    return pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})


Sets = dict[str, list[set[str]]]


def _sets(frame: pd.DataFrame, trials: pd.DataFrame) -> Sets:
    """For each trial the sites and the pages that a frame names in it."""
    found: Sets = {name: [set() for _ in range(len(trials))] for name in ("sites", "pages")}
    owners = rows_of(frame, trials)
    pages = {url: same_target(url) for url in frame["url"].dropna().unique()}
    for owner, url, site in zip(owners, frame["url"], frame["site"], strict=True):
        if owner < 0:
            continue
        if not pd.isna(url):
            found["pages"][owner].add(pages[url])
            found["sites"][owner].add(pages[url].partition("/")[0].partition("?")[0])
        elif not pd.isna(site):
            found["sites"][owner].add(str(site))
    return found


def _figures(trials: pd.DataFrame, cited: Sets, listed: Sets) -> dict[str, Any]:
    naming = trials[[bool(cited["sites"][row]) for row in trials["_row"]]]
    figures: dict[str, Any] = {
        "answers": len(naming),
        "queries": naming["query"].nunique(),
        "uncited": len(trials) - len(naming),
        "citations": naming["ai_citations"].mean() if len(naming) else None,
    }
    pairs = _pairs(naming)
    figures["pairs"] = len(pairs)
    for kind in ("sites", "pages"):
        inside = [_share(cited[kind][row], listed[kind][row]) for row in naming["_row"]]
        figures |= _mean(f"{kind}_in_results", inside, naming)
        kept = [_jaccard(cited[kind][one], cited[kind][next_]) for one, next_ in pairs.itertuples(index=False)]
        figures |= _mean(f"{kind}_kept", kept, naming.loc[pairs.index])
        if kind == "sites" and kept:
            figures["nothing_kept"] = float(np.mean(np.asarray(kept) == 0))
    return figures


def _pairs(trials: pd.DataFrame) -> pd.DataFrame:
    """Rows of an answer and of the next to the same query, indexed as the first of the two."""
    ordered = trials.sort_values("started_at", kind="stable")
    following = ordered.groupby("query", observed=True)["_row"].shift(-1)
    return pd.DataFrame({"one": ordered["_row"], "next": following}).dropna().astype(int)


def _share(cited: set[str], listed: set[str]) -> float:
    return len(cited & listed) / len(cited) if cited else np.nan


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else np.nan


def _mean(name: str, values: list[float], trials: pd.DataFrame) -> dict[str, float]:
    """With its interval, over those where there is something to take a share of."""
    numbers: Floats = np.asarray(values, dtype=np.float64)
    some = ~np.isnan(numbers)
    if not some.any():
        return {}
    low, high = mean_interval(clustered(numbers[some], query_codes(trials[some])))
    return {name: float(numbers[some].mean()), f"{name}_low": max(low, 0.0), f"{name}_high": min(high, 1.0)}
