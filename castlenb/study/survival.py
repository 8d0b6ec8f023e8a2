"""Kaplan and Meier's estimate of times some of which were not seen to their end."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cells import Bools, Floats

SLACK = 1e-9
"""A product of ratios that should be one half may miss it by some 1e-16; no two shares of a study lie so close."""


@dataclass(frozen=True)
class Survival:
    """The share of trials in which it has not yet happened, over time.

    Attributes:
        ms: when something was seen to happen, ascending, in ms.
        share: the share that is left from each of them on, 0 to 1.
        at_risk: how many were still watched and waited for just before.
        censored_ms: when trials were lost from sight without it, ascending.
        n: trials.
        limit_ms: how far the estimate holds.
    """

    ms: Floats
    share: Floats
    at_risk: Floats
    censored_ms: Floats
    n: int
    limit_ms: float

    def at(self, ms: float) -> float:
        """The share that is left at ``ms``; NaN beyond the limit."""
        if not self.n or ms > self.limit_ms:
            return float("nan")
        return float(np.concatenate(([1.0], self.share))[np.searchsorted(self.ms, ms, side="right")])

    def quantile(self, share: float) -> float:
        """The first ms by which ``share`` of the trials are through; infinite where they never are within the limit."""
        reached = self.ms[(self.share <= 1 - share + SLACK) & (self.ms <= self.limit_ms)]
        return float(reached[0]) if len(reached) else float("inf")

    def restricted_mean(self, upto_ms: float) -> float:
        """The mean time, none counted with more than ``upto_ms``: the area below the curve. NaN beyond the limit."""
        if not self.n or upto_ms > self.limit_ms:
            return float("nan")
        inside = self.ms < upto_ms
        edges = np.concatenate(([0.0], self.ms[inside], [upto_ms]))
        return float((np.diff(edges) * np.concatenate(([1.0], self.share[inside]))).sum())


def survival(ms: Floats, seen: Bools, *, limit_ms: float = float("inf")) -> Survival:
    """Estimates how long it takes.

    Args:
        ms: for each trial when it happened, or how long it was watched in vain.
        seen: whether it happened.
        limit_ms: beyond it the estimate does not hold, whatever the numbers say.
    """
    if not len(ms):
        return Survival(np.empty(0), np.empty(0), np.empty(0), np.empty(0), 0, limit_ms)
    left = _left(ms, seen)
    happened = np.isin(left.quantiles, ms[seen])
    return Survival(
        ms=left.quantiles[happened],
        share=left.probabilities[happened],
        at_risk=len(ms) - np.searchsorted(np.sort(ms), left.quantiles[happened]).astype(np.float64),
        censored_ms=np.sort(ms[~seen]),
        n=len(ms),
        limit_ms=limit_ms,
    )


def log_log_band(ms: Floats, seen: Bools) -> tuple[Floats, Floats]:
    """The 95 % log-log interval of the share at each time of :attr:`Survival.ms`, for independent trials. NaN where
    nothing or everything is left."""
    with warnings.catch_warnings():  # scipy says so of each of those
        warnings.simplefilter("ignore", RuntimeWarning)
        left = _left(ms, seen)
        band = left.confidence_interval(method="log-log")
    happened = np.isin(left.quantiles, ms[seen])
    return band.low.probabilities[happened], band.high.probabilities[happened]


def _left(ms: Floats, seen: Bools) -> Any:
    from scipy import stats  # 1 s

    return stats.ecdf(stats.CensoredData.right_censored(ms, ~seen)).sf
