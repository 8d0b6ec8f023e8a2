"""Refusals: what their sentences say, and when trying again is sensible."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest

from castlenb import Searches
from castlenb.errors import NeedsPerson, SearchChallengeError, SuspectedBlockError

WHERE = ("google", "tea", "https://www.google.com/sorry/index", "http://127.0.0.1:9222")
LATER = datetime(2026, 8, 4, 13, 30, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture(params=["challenge", "block"])
def refusal(request: pytest.FixtureRequest) -> Any:
    def make(**rest: Any) -> NeedsPerson:
        rest = {"human_url": "https://www.google.com/search?q=tea", **rest}
        if request.param == "challenge":
            return SearchChallengeError("sorry", *WHERE, **rest)
        return SuspectedBlockError(*WHERE, **rest)

    return make


def test_nothing_is_said_of_a_time_that_is_not_known(refusal: Any) -> None:
    error = refusal()
    assert error.retry_at is None
    assert "Not before" not in str(error)
    assert error.human_url in str(error)


def test_a_time_is_kept_and_said_in_utc(refusal: Any) -> None:
    error = refusal(retry_at=LATER)
    assert error.retry_at == LATER
    assert error.retry_at.tzinfo is UTC
    assert str(error).startswith("google, 'tea': ")
    assert str(error).endswith(". Not before 2026-08-04 11:30:00 UTC")
    assert repr(error) == f"{type(error).__name__}('google', 'tea', 'https://www.google.com/sorry/index')"


def test_a_frame_of_failures_holds_the_time(refusal: Any) -> None:
    found = Searches((), {("google", "tea"): refusal(retry_at=LATER), ("google", "pots"): refusal()})
    assert found.failures["retry_at"].tolist() == [pd.Timestamp(LATER), pd.NaT]
    assert str(found.failures["retry_at"].dtype) == "datetime64[us, UTC]"
    assert Searches((), {("google", "tea"): refusal()}).failures["retry_at"].isna().all()
