"""The bootstrap, by query: whole queries are drawn, with every trial they have.

Drawing a query three times counts its trials three times, so a draw is a row of weights, and a quantile of the draw is
read off the running sum of weights over the sorted times. No draw is ever made into a table of trials.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .cells import Bools, Floats, Ints
from .intervals import FEW, LEVEL
from .survival import SLACK

DRAWS = 2000
_AT_ONCE = 2_000_000
"""Weights held at a time: 16 MB."""


def quantile_intervals(
    ms: Floats,
    queries: Ints,
    shares: Sequence[float],
    *,
    seen: Bools | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[tuple[float, float]]:
    """95 % intervals of quantiles, as :meth:`.survival.Survival.quantile` gives them.

    An end is infinite where the quantile is not reached in that part of the draws, and both are NaN below
    :data:`.intervals.FEW` queries.

    Args:
        ms: for each trial its time, or how long it was watched in vain.
        queries: the query of each.
        shares: which quantiles.
        seen: whether it happened; everywhere where it is not given.
        draws: how many.
        seed: of the draws.
    """
    codes, queries = np.unique(queries, return_inverse=True)
    if len(codes) < FEW:
        return [(np.nan, np.nan)] * len(shares)
    found = np.concatenate(list(_drawn(ms, queries, shares, seen, draws, seed)), axis=1)
    return [interval(each, len(codes)) for each in found]


def interval(drawn: Floats, queries: int) -> tuple[float, float]:
    """The interval that so many drawn figures give: percentiles, moved outwards for few queries.

    Percentiles alone are too narrow by sqrt((K - 1) / K) and by normal instead of t quantiles; the further percentiles
    that make up for both are Hesterberg's (2015, "What teachers should know about the bootstrap").
    """
    from scipy.special import ndtr, stdtrit  # 0.3 s

    out = np.sqrt(queries / (queries - 1)) * stdtrit(queries - 1, (1 + LEVEL) / 2)
    low, high = np.quantile(drawn, [float(ndtr(-out)), float(ndtr(out))], method="inverted_cdf")
    return float(low), float(high)


def _drawn(
    ms: Floats, queries: Ints, shares: Sequence[float], seen: Bools | None, draws: int, seed: int
) -> list[Floats]:
    # Of several at one time those that happened come first: the others were still watched then.
    order = np.lexsort((ms,)) if seen is None else np.lexsort((~seen, ms))
    ms, queries = ms[order], queries[order]
    watched = None if seen is None or seen.all() else seen[order]
    chance = np.random.default_rng(seed)
    count = int(queries.max()) + 1
    drawn = []
    for first in range(0, draws, step := max(1, _AT_ONCE // len(ms))):
        size = min(step, draws - first)
        weights = chance.multinomial(count, np.full(count, 1 / count), size=size).astype(np.float64)
        drawn.append(_quantiles(ms, weights[:, queries], watched, shares))
    return drawn


def _quantiles(ms: Floats, weights: Floats, watched: Bools | None, shares: Sequence[float]) -> Floats:
    """Of each row of weights every quantile, infinite where it is not reached."""
    through = np.cumsum(weights, axis=1)
    total = through[:, -1:]
    if watched is None:
        left = 1 - through / total
    else:
        at_risk = total - through + weights
        gone = np.divide(weights, at_risk, out=np.zeros_like(weights), where=(at_risk > 0) & watched)
        left = np.cumprod(1 - gone, axis=1)
    after = np.concatenate((ms, [np.inf]))
    return np.stack([after[(left > 1 - share + SLACK).sum(axis=1)] for share in shares])
