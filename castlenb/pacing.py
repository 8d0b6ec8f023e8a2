"""How fast an engine may be asked through one Chrome, counted for all kernels and scripts of this machine together.

The counting is pyrate-limiter's, over the pages that were asked for lately; which of several callers is first is
decided in :mod:`castlenb.turns`.
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyrate_limiter import SQLiteBucket

Rates = tuple[tuple[int, float], ...]
"""``((pages, seconds), …)``: at most so many pages in so many seconds, shortest time first. Empty: no pace is kept."""

PaceLike = tuple[int, float] | Sequence[tuple[int, float]] | str | None
"""What ``pace=`` takes: ``(pages, seconds)``, several of these, ``"off"``, or ``None`` for :data:`PACE`."""

PACE: Rates = ((3, 20.0), (12, 300.0))
"""A few pages at once, then one in 25 s. Field notes, 2026-08-04: Google blocks after a handful in seconds, and about
30 in a few minutes cost 90 minutes. Of the other engines no limit is known, so they are asked no faster."""

OFF = "off"

LONGEST_S = 86400.0


def rates(pace: PaceLike) -> Rates:
    """The pace as rates.

    Raises:
        ValueError: it is none.
    """
    if pace is None:
        return PACE
    if pace == OFF:
        return ()
    given: Iterable[Any] = (pace,) if isinstance(pace, tuple) and pace and not isinstance(pace[0], tuple) else pace
    found: dict[float, int] = {}
    try:
        if isinstance(pace, str):
            raise TypeError
        for pages, seconds in given:
            if pages != int(pages) or pages < 1 or not 0.001 <= seconds <= LONGEST_S:
                raise TypeError
            found[float(seconds)] = min(int(pages), found.get(float(seconds), int(pages)))
        if not found:
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f'pace has to be (pages, seconds), several such pairs, or "off", not {pace!r}; pages from 1 on, seconds up '
            f"to {LONGEST_S:g}"
        ) from None
    # One that allows no less than a shorter time does, or more in proportion than a longer one, never decides.
    kept: list[tuple[int, float]] = []
    for seconds in sorted(found, reverse=True):
        if not kept or found[seconds] < kept[-1][0]:
            kept.append((found[seconds], seconds))
    kept.reverse()
    slowest: list[tuple[int, float]] = []
    for pages, seconds in kept:
        if not slowest or pages / seconds < slowest[-1][0] / slowest[-1][1]:
            slowest.append((pages, seconds))
    return tuple(slowest)


def check_pages(pages: int, kept: Rates) -> None:
    """Raises ValueError where so many pages, which one search needs at once, are never granted."""
    for most, seconds in kept:
        if pages > most:
            raise ValueError(
                f"this search takes {pages} pages at once, and the pace allows {most} in {seconds:g} s: ask for fewer "
                "results, or give another pace"
            )


def in_words(kept: Rates) -> str:
    """For a message."""
    return ", ".join(f"{pages} page{'s' * (pages > 1)} in {seconds:g} s" for pages, seconds in kept)


def take(db: sqlite3.Connection, engine: str, chrome: str, kept: Rates, pages: int, token: str, now: float) -> float:
    """Counts so many pages, now, under that token; or returns the seconds until they may be asked for.

    Returns:
        0 where they may be asked for now.
    """
    if not kept or not pages:
        return 0.0
    from pyrate_limiter import RateItem

    bucket, table = _bucket(db, engine, chrome, kept)
    moment = int(now * 1000)
    # After the clock was set back, what was counted lies in the future, and would be in the way until it is past.
    db.execute(f'UPDATE "{table}" SET item_timestamp = ? WHERE item_timestamp > ?', (moment, moment)).close()
    db.execute(f'DELETE FROM "{table}" WHERE item_timestamp < ?', (moment - int(LONGEST_S * 1000),)).close()
    item = RateItem(token, moment, weight=pages)
    if bucket.put(item):
        return 0.0
    wait = bucket.waiting(item)
    assert isinstance(wait, int)
    return max(0.001, wait / 1000)


def give_back(db: sqlite3.Connection, engine: str, chrome: str, token: str) -> None:
    """What was taken under that token: no page was asked for."""
    table = _table(db, engine, chrome)
    db.execute(f'DELETE FROM "{table}" WHERE name = ?', (token,)).close()


def add(db: sqlite3.Connection, engine: str, chrome: str, token: str, now: float) -> None:
    """Counts a page that was asked for without having been taken."""
    table = _table(db, engine, chrome)
    db.execute(f'INSERT INTO "{table}" (name, item_timestamp) VALUES (?, ?)', (token, int(now * 1000))).close()


def asked(db: sqlite3.Connection, engine: str, chrome: str, seconds: float, now: float) -> int:
    """How many pages were counted within the last so many seconds."""
    since = math.floor((now - seconds) * 1000)
    query = f'SELECT COUNT(*) FROM "{_table(db, engine, chrome)}" WHERE item_timestamp >= ?'
    return int(db.execute(query, (since,)).fetchone()[0])


class _Held:
    """A connection for pyrate-limiter, which commits each count by itself; here it is part of a transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.execute = db.execute
        self.executemany = db.executemany

    def commit(self) -> None:
        pass


def _bucket(db: sqlite3.Connection, engine: str, chrome: str, kept: Rates) -> tuple[SQLiteBucket, str]:
    # Here, because it costs a tenth of a second, which `import castlenb` does not have.
    from pyrate_limiter import Rate, SQLiteBucket

    table = _table(db, engine, chrome)
    every: list[Any] = [Rate(pages, round(seconds * 1000)) for pages, seconds in kept]
    held: Any = _Held(db)
    return SQLiteBucket(every, held, table), table


def _table(db: sqlite3.Connection, engine: str, chrome: str) -> str:
    """The table of that engine's pages, in pyrate-limiter's layout."""
    table = "pages_" + hashlib.sha256(f"{engine} {chrome}".encode()).hexdigest()[:16]
    db.execute(f'CREATE TABLE IF NOT EXISTS "{table}" (name VARCHAR, item_timestamp INTEGER)').close()
    return table
