"""Intervals for shares and means of trials that come in clusters: several of the same query.

Trials of one query resemble each other; taken for independent, ten repeats of ten queries would pass for a hundred
queries, and an interval would be far too narrow (simulated in measurement.md: 1554-2030 where 1241-2498 is right).
All here are at 95 %.
"""

from __future__ import annotations

import numpy as np

from .cells import Bools, Floats, Ints

LEVEL = 0.95

FEW = 5
"""Queries below which no interval of a time is given: from so few nothing can be said about others."""


def effective(hits: Bools, queries: Ints) -> float:
    """How many independent trials these are worth: between the number of queries and the number of trials.

    The number of trials over the design effect, which is the variance between queries over that of independent
    trials. Where all trials agree there is no variance to tell it from: then each query counts once.
    """
    n, share = len(hits), float(hits.mean())
    counts = np.bincount(queries)
    counts = counts[counts > 0]
    clusters = len(counts)
    if clusters == n:
        return float(n)
    if clusters == 1 or share in (0.0, 1.0):
        return float(clusters)
    excess = np.bincount(queries, weights=hits - share)
    between = clusters / (clusters - 1) * float(np.square(excess).sum()) / n**2
    independent = share * (1 - share) / n
    return float(np.clip(n * independent / between if between else n, clusters, n))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share seen in ``n`` independent trials; not a number where there are none.

    ``scipy.stats.binomtest`` gives the same for whole numbers, and takes no others: an effective number is not whole.
    """
    from scipy.special import ndtri  # 0.3 s

    if not n:
        return np.nan, np.nan
    z2 = float(ndtri((1 + LEVEL) / 2)) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def share_interval(hits: Bools, queries: Ints) -> tuple[float, float]:
    """Wilson's interval at the effective number of trials; plain Wilson where every trial has a query of its own.

    With repeats that number is itself an estimate, from as many queries as there are, and is made smaller by the square
    of normal over t quantile (as in Korn and Graubard's interval for surveys).
    """
    if not len(hits):
        return np.nan, np.nan
    n = effective(hits, queries)
    clusters = len(np.unique(queries))
    if 1 < clusters < len(hits):
        n *= (_normal() / _student(clusters - 1)) ** 2
    return wilson(float(hits.mean()), n)


def at_most(hits: Bools, queries: Ints) -> float:
    """One-sided 95 % upper bound of a share (Clopper and Pearson's, at the effective number of trials).

    None of 30 still allows 9.5 %. Not a number where there is no trial.
    """
    from scipy.special import betaincinv

    if not len(hits):
        return np.nan
    n = effective(hits, queries)
    k = float(hits.mean()) * n
    return 1.0 if k >= n else float(betaincinv(k + 1, n - k, LEVEL))


def mean_interval(values: Floats, queries: Ints) -> tuple[float, float]:
    """t interval of a mean over trials, from the differences between queries; NaN below :data:`FEW` queries."""
    total = np.bincount(queries, weights=values)
    count = np.bincount(queries)
    return totals_interval(total[count > 0], count[count > 0].astype(np.float64))


def totals_interval(total: Floats, count: Floats) -> tuple[float, float]:
    """The same from the sum and the number of trials of each query."""
    clusters = len(count)
    if clusters < FEW:
        return np.nan, np.nan
    mean = total.sum() / count.sum()
    spread = np.sqrt(clusters / (clusters - 1) * np.square(total - mean * count).sum()) / count.sum()
    half = _student(clusters - 1) * float(spread)
    return float(mean - half), float(mean + half)


def _normal() -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + LEVEL) / 2))


def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
