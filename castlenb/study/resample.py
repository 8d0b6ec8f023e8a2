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
    happened = np.ones(len(ms), dtype=bool) if seen is None else seen[order]
    after = np.append(ms, np.inf)
    drawn = after[_places(queries, happened, 1 - np.asarray(shares) + SLACK, draws, seed)]
    return [interval(each, len(codes)) for each in drawn]


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


def _places(queries: Ints, happened: Bools, above: Floats, draws: int, seed: int) -> Ints:
    """For each share in ``above`` (a row) and each draw: after how many trials no more than that is left; the number
    of trials where more is left to the end. The trials are sorted by time.

    Up to the first that was censored the share that is left is that of the weights still to come. So it is first looked
    at after every block of trials only, where it is a product of two small matrices, and then within one block; which
    is some thirty times quicker than to follow each draw from trial to trial. From there on it has to be followed.
    """
    n = len(queries)
    plain = n if happened.all() else int(np.argmin(happened))
    size = max(1, round(plain**0.5))
    blocks = max(1, -(-plain // size))
    count = int(queries.max()) + 1
    in_blocks = np.bincount(queries[:plain] * blocks + np.arange(plain) // size, minlength=count * blocks)
    upto = np.cumsum(in_blocks.reshape(count, blocks), axis=1).astype(np.float64)
    each = np.bincount(queries, minlength=count).astype(np.float64)
    end = plain + int(np.max(np.flatnonzero(happened[plain:]), initial=-1)) + 1
    found = []
    for drawn in _draws(count, n, draws, seed):
        through, total = drawn @ upto, (drawn @ each)[:, None]
        late = _left_from(plain, end, queries, happened, drawn) if end > plain else None
        places = np.empty((len(above), len(drawn)), dtype=np.intp)
        for row, share in enumerate(above):
            block = (1 - through / total > share).sum(axis=1)
            first = np.minimum(block * size, plain)
            among = first[:, None] + np.arange(size)
            weights = drawn[np.arange(len(drawn))[:, None], queries[np.minimum(among, n - 1)]] * (among < plain)
            before = np.where(block > 0, through[np.arange(len(drawn)), block - 1], 0.0)[:, None]
            within = (1 - (before + np.cumsum(weights, axis=1)) / total > share).sum(axis=1)
            places[row] = np.where(block < blocks, first + within, n)
            if late is not None:
                on = (late > share).sum(axis=1)
                places[row] = np.where(block < blocks, places[row], np.where(on < end - plain, plain + on, n))
        found.append(places)
    return np.concatenate(found, axis=1)


def _left(queries: Ints, happened: Bools, draws: int, seed: int) -> Iterator[Floats]:
    """Of each draw (a row) the share that is left after each trial, the trials sorted by time; some draws at a time."""
    for drawn in _draws(int(queries.max()) + 1, len(queries), draws, seed):
        yield _left_from(0, len(queries), queries, happened, drawn)


def _draws(count: int, trials: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each query was drawn, a row a draw; so many draws at a time that there is room for all trials'."""
    chance = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // trials)
    for first in range(0, draws, step):
        yield chance.multinomial(count, np.full(count, 1 / count), size=min(step, draws - first)).astype(np.float64)


def _left_from(first: int, end: int, queries: Ints, happened: Bools, drawn: Floats) -> Floats:
    """Of each draw the share that is left after each of the trials from ``first`` (before which none was censored) to
    ``end``."""
    total = drawn @ np.bincount(queries, minlength=drawn.shape[1])
    weights = drawn[:, queries[first:end]]
    before = drawn @ np.bincount(queries[:first], minlength=drawn.shape[1])
    at_risk = (total - before)[:, None] - np.cumsum(weights, axis=1) + weights
    gone = np.divide(weights, at_risk, out=np.zeros_like(weights), where=(at_risk > 0) & happened[first:end])
    return (1 - before / total)[:, None] * np.cumprod(1 - gone, axis=1)
