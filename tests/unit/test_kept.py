"""How old a kept page may be."""

from datetime import timedelta

import pytest

import castlenb as cn
from castlenb import kept


@pytest.mark.parametrize(
    ("age", "meant"),
    [
        ("90s", timedelta(seconds=90)),
        ("30m", timedelta(minutes=30)),
        ("1.5h", timedelta(hours=1.5)),
        (" 1d ", timedelta(days=1)),
        ("2w", timedelta(weeks=2)),
        (timedelta(days=3), timedelta(days=3)),
        (None, None),
    ],
)
def test_ages(age: kept.Age, meant: timedelta | None) -> None:
    assert kept.oldest(age) == meant


@pytest.mark.parametrize("age", ["1", "day", "-1d", "1d 2h", "", 1, True, timedelta(days=-1), "9" * 400 + "d"])
def test_what_is_no_age_is_said_before_anything_is_dialled(age: kept.Age) -> None:
    with pytest.raises(ValueError, match="reuse has to be an age"):
        cn.search("tea", reuse=age, browser="127.0.0.1:1")
    with pytest.raises(ValueError, match="reuse has to be an age"):
        cn.reuse(age)


def test_what_is_said_for_all_counts_where_nothing_else_is_said() -> None:
    cn.reuse("1d")
    try:
        assert kept.oldest(None) == timedelta(days=1)
        assert kept.oldest("1h") == timedelta(hours=1)
    finally:
        cn.reuse(None)
    assert kept.oldest(None) is None
