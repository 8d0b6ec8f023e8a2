"""What a row of the bench is, and how a figure beside a peer's is arrived at."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

PAIRS = 60
"""Pairs a comparison is made of."""

T = TypeVar("T")

WARM_UP = 5
RESAMPLES = 10_000


@dataclass(frozen=True)
class Limit:
    """What a row has to keep: its ``value``, or the upper bound of its ratio to the peer, at most so much."""

    on: Literal["value", "ratio_high"]
    at_most: float


@dataclass(frozen=True)
class Row:
    """One measured figure; less is better.

    Attributes:
        value: ours, in ``unit``; None where it could not be measured here.
        peer, peer_value: who else was measured, in the same run, and what they took.
        ratio: ours to the peer's, the median over the pairs.
        ratio_high: upper end of its 95 % bootstrap interval, pairs resampled.
        n: pairs, loads or starts.
        why: why there is no value.
    """

    name: str
    unit: str
    value: float | None
    n: int
    limit: Limit | None
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    ratio_high: float | None = None
    why: str = ""

    @property
    def missed(self) -> bool:
        """Whether the limit is broken. A row that could not be measured, or is told for comparison, breaks none."""
        measured = None if self.limit is None else getattr(self, self.limit.on)
        return self.limit is not None and measured is not None and bool(measured > self.limit.at_most)


Measure = Callable[[], Sequence[Row]]

MEASURES: dict[str, Measure] = {}
"""Every measure by its name; one may yield several rows."""


def measure(function: Measure) -> Measure:
    """Registers a function that measures and returns rows."""
    MEASURES[function.__name__] = function
    return function


def beside(
    name: str, unit: str, ours: Sequence[float], theirs: Sequence[float], *, peer: str, at_most: float | None
) -> Row:
    """A row from pairs that were taken side by side, with a limit, if any, on the upper bound of the paired ratio."""
    pairs = np.asarray(ours) / np.asarray(theirs)
    return Row(
        name=name,
        unit=unit,
        value=float(np.median(ours)),
        n=len(pairs),
        limit=None if at_most is None else Limit("ratio_high", at_most),
        peer=peer,
        peer_value=float(np.median(theirs)),
        ratio=float(np.median(pairs)),
        ratio_high=highest_median(pairs),
    )


def highest_median(values: np.ndarray) -> float:
    """Upper end of the 95 % bootstrap interval of the median."""
    resampled = np.random.default_rng(0).choice(values, size=(RESAMPLES, len(values)))
    return float(np.quantile(np.median(resampled, axis=1), 0.975))


async def in_pairs(
    ours: Callable[[], Awaitable[T]],
    theirs: Callable[[], Awaitable[T]],
    *,
    pairs: int = PAIRS,
    seed: int = 0,
    rest_s: float = 0.0,
) -> tuple[list[T], list[T]]:
    """Takes both in turn, the order within each pair drawn by lot, so that whatever drifts or disturbs meets both.

    ``rest_s`` is slept before each, where one leaves work behind that would weigh on the next.
    """
    order = random.Random(seed)
    taken: tuple[list[T], list[T]] = ([], [])
    for number in range(-WARM_UP, pairs):
        for which in order.sample((0, 1), 2):
            await asyncio.sleep(rest_s)
            figure = await (ours, theirs)[which]()
            if number >= 0:
                taken[which].append(figure)
    return taken
