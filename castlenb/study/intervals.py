"""Intervals for shares and means of trials that come in clusters: several of the same query.

Trials of one query resemble each other; taken for independent, ten repeats of ten queries would pass for a hundred
queries, and an interval would be far too narrow (simulated in measurement.md: 1554-2030 where 1241-2498 is right).
All here are at 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .cells import Bools, Floats, Ints

LEVEL = 0.95

FEW = 5
"""Queries below which no interval of a time is given: from so few nothing can be said about others."""


@dataclass(frozen=True)
class Clusters:
    """What the trials of each query come to.

    Attributes:
        total: sum of the values, or number of hits, in each query.
        count: trials of each, none of them 0.
    """

    total: Floats
    count: Floats

    @property
    def mean(self) -> float:
        """Over all trials; NaN where there is none."""
        return float(self.total.sum() / self.count.sum()) if len(self.count) else math.nan


def clustered(values: Floats | Bools, queries: Ints) -> Clusters:
    """Values of trials, by the query of each."""
    count = np.bincount(queries).astype(np.float64)
    total: Floats = np.bincount(queries, weights=values).astype(np.float64)
    return Clusters(total[count > 0], count[count > 0])


def effective(hits: Clusters) -> float:
    """How many independent trials these are worth: between the number of queries and the number of trials.

    The number of trials over the design effect, which is the variance between queries over that of independent
    trials. Where all trials agree there is no variance to tell it from: then each query counts once.
    """
    n, share, clusters = float(hits.count.sum()), hits.mean, len(hits.count)
    if clusters == n:
        return n
    if clusters == 1 or share in (0.0, 1.0):
        return float(clusters)
    between = _variance(hits)
    return float(np.clip(share * (1 - share) / between if between else n, clusters, n))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share seen in ``n`` independent trials; not a number where there are none.

    ``scipy.stats.binomtest`` gives the same for whole numbers, and takes no others: an effective number is not whole.
    """
    from scipy.special import ndtri  # 0.3 s

    if not n:
        return math.nan, math.nan
    z2 = float(ndtri((1 + LEVEL) / 2)) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def share_interval(hits: Clusters) -> tuple[float, float]:
    """Wilson's interval at the effective number of trials; plain Wilson where every trial has a query of its own.

    With repeats that number is itself an estimate, from as many queries as there are, and is made smaller by the square
    of normal over t quantile (as in Korn and Graubard's interval for surveys).
    """
    clusters = len(hits.count)
    if not clusters:
        return math.nan, math.nan
    n = effective(hits)
    if 1 < clusters < hits.count.sum():
        n *= few(clusters)
    return wilson(hits.mean, n)


def few(clusters: int) -> float:
    """What an effective number is multiplied with, having been told from so few clusters (Korn and Graubard)."""
    return (_normal() / _student(clusters - 1)) ** 2


def at_most(hits: Clusters) -> float:
    """One-sided 95 % upper bound of a share (Clopper and Pearson's, at the effective number of trials).

    None of 30 still allows 9.5 %. Not a number where there is no trial.
    """
    from scipy.special import betaincinv

    if not len(hits.count):
        return math.nan
    n = effective(hits)
    k = hits.mean * n
    return 1.0 if k >= n else float(betaincinv(k + 1, n - k, LEVEL))


def mean_interval(values: Clusters) -> tuple[float, float]:
    """t interval of a mean over trials, from the differences between queries; NaN below :data:`FEW` queries."""
    clusters = len(values.count)
    if clusters < FEW:
        return math.nan, math.nan
    half = _student(clusters - 1) * math.sqrt(_variance(values))
    return values.mean - half, values.mean + half


def _variance(values: Clusters) -> float:
    """Of the mean, from the differences between queries."""
    clusters = len(values.count)
    apart = float(np.square(values.total - values.mean * values.count).sum())
    return clusters / (clusters - 1) * apart / float(values.count.sum()) ** 2


def _normal() -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + LEVEL) / 2))


def _student(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
