"""The bootstrap, by query: whole queries are drawn, with every trial they have.

Drawing a query three times counts its trials three times, so a draw is a row of weights, and a quantile of the draw is
read off the running sum of weights over the sorted times. No draw is ever made into a table of trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    # Of several at one time those that happened come first: the others were still watched then.
    order = np.argsort(ms, kind="stable") if seen is None else np.lexsort((~seen, ms))
    ms, queries = ms[order], queries[order]
    happened = None if seen is None or seen.all() else seen[order]
    after = np.append(ms, np.inf)
    drawn = [
        np.stack([after[(left > 1 - share + SLACK).sum(axis=1)] for share in shares])
        for left in _left(queries, happened, draws, seed)
    ]
    return [interval(each, len(codes)) for each in np.concatenate(drawn, axis=1)]


def survival_band(ms: Floats, seen: Bools, queries: Ints, at_ms: Floats, *, seed: int = 0) -> tuple[Floats, Floats]:
    """95 % interval of the share that is left, at each of the times ``at_ms`` by itself; NaN below
    :data:`.intervals.FEW` queries. Arguments as for :func:`quantile_intervals`."""
    codes, queries = np.unique(queries, return_inverse=True)
    if len(codes) < FEW:
        return np.full(len(at_ms), np.nan), np.full(len(at_ms), np.nan)
    order = np.lexsort((~seen, ms))
    upto = np.searchsorted(ms[order], at_ms, side="right")
    drawn = [
        np.column_stack((np.ones(len(left)), left))[:, upto] for left in _left(queries[order], seen[order], DRAWS, seed)
    ]
    ends = [interval(each, len(codes)) for each in np.concatenate(drawn).T]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def interval(drawn: Floats, queries: int) -> tuple[float, float]:
    """The interval that so many drawn figures give: percentiles, moved outwards for few queries.

    Percentiles alone are too narrow by sqrt((K - 1) / K) and by normal instead of t quantiles; the further percentiles
    that make up for both are Hesterberg's (2015, "What teachers should know about the bootstrap").
    """
    from scipy.special import ndtr, stdtrit  # 0.3 s

    out = np.sqrt(queries / (queries - 1)) * stdtrit(queries - 1, (1 + LEVEL) / 2)
    low, high = np.quantile(drawn, [float(ndtr(-out)), float(ndtr(out))], method="inverted_cdf")
    return float(low), float(high)


def _left(queries: Ints, happened: Bools | None, draws: int, seed: int) -> Iterator[Floats]:
    """Of each draw (a row) the share that is left after each trial, the trials sorted by time; some draws at a time."""
    chance = np.random.default_rng(seed)
    count = int(queries.max()) + 1
    step = max(1, _AT_ONCE // len(queries))
    for first in range(0, draws, step):
        drawn = chance.multinomial(count, np.full(count, 1 / count), size=min(step, draws - first))
        weights = drawn.astype(np.float64)[:, queries]
        through = np.cumsum(weights, axis=1)
        total = through[:, -1:]
        if happened is None:
            yield 1 - through / total
            continue
        at_risk = total - through + weights
        gone = np.divide(weights, at_risk, out=np.zeros_like(weights), where=(at_risk > 0) & happened)
        yield np.cumprod(1 - gone, axis=1)
