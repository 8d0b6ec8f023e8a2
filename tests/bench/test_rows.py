"""The bench's own arithmetic, on figures made up here: nothing is timed."""

from __future__ import annotations

import pytest

from .rows import PAIRS, WARM_UP, Limit, Row, beside, in_pairs


def test_a_ratio_is_taken_pair_by_pair() -> None:
    """A machine that slows down five-fold half way through changes neither the ratio nor its bound."""
    theirs = [100.0] * 20 + [500.0] * 20
    row = beside("x", "ms", [0.5 * each for each in theirs], theirs, peer="p", at_most=0.6)
    assert (row.ratio, row.ratio_high, row.n) == (0.5, 0.5, 40)
    assert not row.missed


def test_a_limit_is_on_the_upper_bound() -> None:
    ours = [60.0, 80.0] * 20 + [60.0] * 3
    row = beside("x", "ms", ours, [100.0] * 43, peer="p", at_most=0.65)
    assert row.ratio == 0.6
    assert row.ratio_high == 0.8
    assert row.missed


@pytest.mark.parametrize(("value", "missed"), [(1.0, False), (1.1, True), (None, False)])
def test_a_value_may_reach_its_limit_and_what_was_not_measured_misses_none(value: float | None, missed: bool) -> None:
    assert Row("x", "s", value, 1, Limit("value", 1.0)).missed is missed


async def test_both_are_taken_equally_often_in_either_order_and_warm_up_is_left_out() -> None:
    calls: list[str] = []

    async def take(name: str) -> int:
        calls.append(name)
        return len(calls)

    ours, theirs = await in_pairs(lambda: take("ours"), lambda: take("theirs"))
    assert len(ours) == len(theirs) == PAIRS
    assert len(calls) == 2 * (PAIRS + WARM_UP)
    assert min(ours + theirs) > 2 * WARM_UP
    pairs = list(zip(ours, theirs, strict=True))
    assert all(abs(our - their) == 1 for our, their in pairs)
    assert 0 < sum(our < their for our, their in pairs) < PAIRS
