"""Dates as results pages show them: the least that can be said of how old they are.

A page's language is not known for sure (Brave goes by what the Chrome at hand prefers, whatever was asked for), so a
date is understood by its own words or not at all; one that can be read in two ways is taken for the newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

LIMITS = {
    "day": timedelta(days=1.5),
    "week": timedelta(days=8),
    "month": timedelta(days=32),
    "year": timedelta(days=367),
}
"""Ages beyond which a result is plainly older than a time range. What is over is for time zones and for rounding."""


def plainly_older(recency: str, shown: Iterable[str], now: datetime) -> int:
    """How many of the dates are older than the time range, whichever way they are read; see :func:`youngest`."""
    ages = (youngest(each, now) for each in shown)
    return sum(age is not None and age > LIMITS[recency] for age in ages)


def youngest(shown: str, now: datetime) -> timedelta | None:
    """The least age that a date can mean.

    Args:
        shown: as the page shows it: ``3 days ago``, ``vor 3 Tagen``, ``Nov 3, 2026``, ``2026-11-03T00:00:00``.
        now: when it was shown (tz-aware).

    Returns:
        ``None`` where it is not understood, or has no year. Negative where it can mean a day that is still to come:
        a day alone ends when it has ended everywhere on earth.
    """
    words = " ".join(shown.split())
    for phrase in _AGO:
        if found := phrase.fullmatch(words):
            number, *units = found.groups()
            unit = next(length for length, named in zip(_UNITS, units, strict=True) if named)
            return (int(number) - 0.5) * unit  # it may have been rounded up
    day = _newest_day(words)
    return None if day is None else now - day - _DAY_ENDS


def _ago(phrase: str, *units: str) -> re.Pattern[str]:
    named = "|".join(f"({unit})" for unit in units)
    return re.compile(phrase.replace("#", rf"(\d{{1,4}}) (?:{named})"), re.IGNORECASE)


_UNITS = (timedelta(minutes=1), timedelta(hours=1), *(timedelta(days=days) for days in (1, 7, 30, 365)))
_AGO = (
    _ago("# ago", "minutes?|mins?", "hours?", "days?", "weeks?", "months?", "years?"),
    _ago("vor #", "Minuten?", "Stunden?", "Tag(?:en)?", "Wochen?", "Monat(?:en)?", "Jahr(?:en)?"),
    _ago("il y a #", "minutes?", "heures?", "jours?", "semaines?", "mois", "ans?"),
    _ago("hace #", "minutos?", "horas?", "días?", "semanas?", "mes(?:es)?", "años?"),
    _ago("há #", "minutos?", "horas?", "dias?", "semanas?", "m[eê]s(?:es)?", "anos?"),
    _ago("# fa", "minut[oi]", "or[ae]", "giorn[oi]", "settiman[ae]", "mes[ei]", "ann[oi]"),
    _ago("# geleden", "minuut|minuten", "uur", "dag(?:en)?", "week|weken", "maand(?:en)?", "jaar"),
)
"""How seven languages say it, with their minutes, hours, days, weeks, months and years."""

_DAY_ENDS = timedelta(days=1, hours=12)
"""From midnight UTC to the end of that day in the last time zone, UTC-12."""

_WORDED = re.compile(r"\d{1,2}\D{1,20}\d{4}\D?|\d{4}\D{1,3}\d{1,2}\D{1,3}\d{1,2}\D?")
"""A day, a month that may have a name, and a year; or the other way round."""


def _newest_day(words: str) -> datetime | None:
    """The last day that words with a year can mean, at midnight UTC."""
    years = {int(number) for number in re.findall(r"(?<!\d)\d{4}(?!\d)", words) if 1900 <= int(number) < 2100}
    if len(years) != 1:
        return None
    if days := _read(words):
        return max(days).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)
    # The month's name is in a language that is not known here. The year is enough for last year's and older ones.
    return datetime(years.pop(), 12, 31, tzinfo=UTC) if _WORDED.fullmatch(words) else None


def _read(words: str) -> list[datetime]:
    """What words can mean that say year, month and day: in 3/4/2026 either of the two may be the month."""
    from dateutil import parser  # 20 ms, and few searches ask for a time range

    days = []
    for day_first in (False,) if re.match(r"\d{4}", words) else (False, True):
        try:
            # What is not said is filled in from the default. Where that makes no difference, all of it was said.
            one, other = (
                parser.parse(words, dayfirst=day_first, ignoretz=True, default=default) for default in _DEFAULTS
            )
        except (ValueError, OverflowError):
            continue
        if one == other:
            days.append(one)
    return days


_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 2, 2))
