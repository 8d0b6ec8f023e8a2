"""Dates as pages show them: never said to be older than they can be."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlenb.dates import LIMITS, plainly_older, youngest
from castlenb.engines import RECENCIES

NOW = datetime(2026, 8, 4, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("shown", "age"),
    [
        # Rounded, perhaps: 2 days ago can be 36 hours.
        ("20 minutes ago", 19.5 * timedelta(minutes=1)),
        ("16 hours ago", 15.5 * HOUR),
        ("1 day ago", 0.5 * DAY),
        ("2\xa0days  ago", 1.5 * DAY),
        ("3 weeks ago", 17.5 * DAY),
        ("1 month ago", 15 * DAY),
        ("18 years ago", 17.5 * 365 * DAY),
        ("vor 3 Tagen", 2.5 * DAY),
        ("Vor 1 Stunde", 0.5 * HOUR),
        ("vor 2 Monaten", 45 * DAY),
        ("il y a 2 semaines", 10.5 * DAY),
        ("il y a 1 an", 182.5 * DAY),
        ("hace 3 días", 2.5 * DAY),
        ("hace 2 meses", 45 * DAY),
        ("há 7 dias", 6.5 * DAY),
        ("há 2 meses", 45 * DAY),
        ("3 settimane fa", 17.5 * DAY),
        ("5 uur geleden", 4.5 * HOUR),
        # Of a day the end counts, where it ends last.
        ("Aug 3, 2026", -12 * HOUR + 12 * HOUR),
        ("July 4, 2026", 29.5 * DAY + 12 * HOUR),
        ("16. Aug. 2019", datetime(2026, 8, 4, 12) - datetime(2019, 8, 17, 12)),
        ("26. jul 2023.", datetime(2026, 8, 4, 12) - datetime(2023, 7, 27, 12)),
        ("2026-03-04T00:00:00.0000000", datetime(2026, 8, 4, 12) - datetime(2026, 3, 5, 12)),
        ("2026-03-04", datetime(2026, 8, 4, 12) - datetime(2026, 3, 5, 12)),
        # The fourteenth is a day; of the tenth and the seventh either can be.
        ("14/8/2019", datetime(2026, 8, 4, 12) - datetime(2019, 8, 15, 12)),
        ("10/7/2019", datetime(2026, 8, 4, 12) - datetime(2019, 10, 8, 12)),
        # A month that is not known can be December.
        ("9. Juni 2024", datetime(2026, 8, 4, 12) - datetime(2025, 1, 1, 12)),
        ("26 de mar. de 2024", datetime(2026, 8, 4, 12) - datetime(2025, 1, 1, 12)),
        ("2024年6月9日", datetime(2026, 8, 4, 12) - datetime(2025, 1, 1, 12)),
        ("9. Juni 2026", datetime(2026, 8, 4, 12) - datetime(2027, 1, 1, 12)),
    ],
)
def test_the_least_age_that_is_meant(shown: str, age: timedelta) -> None:
    assert youngest(shown, NOW) == age


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "yesterday",
        "3 дня назад",
        "3天前",
        "2 days",
        "in 3 days",
        "570+ comments",
        "12 March",
        "2019",
        "2,019 posts",
        "2019 posts",
        "Jan 2019",
        "2019–2024",
        "26 Mar 2567",
        "99999 years ago",
        "31/31/2019 and more",
    ],
)
def test_what_is_not_understood_has_no_age(shown: str) -> None:
    assert youngest(shown, NOW) is None


@pytest.mark.parametrize(
    ("recency", "inside", "outside"),
    [
        (
            "day",
            ("1 day ago", "2 days ago", "Aug 3, 2026", "Aug 2, 2026"),
            ("3 days ago", "Jul 31, 2026", "1 week ago"),
        ),
        ("week", ("7 days ago", "1 week ago", "Jul 26, 2026"), ("9 days ago", "2 weeks ago", "Jul 20, 2026")),
        ("month", ("1 month ago", "4 weeks ago", "Jul 3, 2026"), ("2 months ago", "Jun 4, 2026", "vor 1 Jahr")),
        ("year", ("1 year ago", "12 months ago", "Aug 4, 2025"), ("2 years ago", "Jul 1, 2025", "2019年6月9日")),
    ],
)
def test_what_is_plainly_older(recency: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    assert [each for each in inside if plainly_older(recency, [each], NOW)] == []
    assert [each for each in outside if not plainly_older(recency, [each], NOW)] == []
    assert plainly_older(recency, [*inside, *outside, "some day"], NOW) == len(outside)


def written(age: timedelta, zone: timedelta, now: datetime) -> list[str]:
    """An age as engines write it, in a time zone of theirs: counted off, rounded, by the calendar."""
    there = now - age + zone
    units = {"hour": HOUR, "day": DAY, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}
    said = [f"{count} {unit}s ago" for unit, length in units.items() for count in (age // length, round(age / length))]
    dates = [f"{there:%b} {there.day}, {there.year}", f"{there:%d/%m/%Y}", f"{there:%m/%d/%Y}", there.isoformat()]
    return [*said, *dates, f"{there.day}. {there:%B} {there.year}".replace("y", "ij"), f"vor {age // DAY} Tagen"]


@settings(deadline=None)
@given(
    recency=st.sampled_from(RECENCIES),
    share=st.floats(0, 1),
    zone=st.integers(-12, 14),
    now=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),
)
def test_no_honest_date_is_older(recency: str, share: float, zone: int, now: datetime) -> None:
    window = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}[recency]
    now = now.replace(tzinfo=UTC)
    dates = written(share * window, zone * HOUR, now)
    assert [each for each in dates if plainly_older(recency, [each], now)] == []


@settings(deadline=None)
@given(st.one_of(st.text(), st.from_regex(r"[\d./: ,-]{1,20} ?(?:19|20)\d\d ?(?:ago|AM|GMT)?", fullmatch=True)))
def test_no_text_breaks_it(shown: str) -> None:
    age = youngest(shown, NOW)
    assert age is None or isinstance(age, timedelta)


def test_every_time_range_has_a_limit() -> None:
    assert set(LIMITS) == set(RECENCIES)
