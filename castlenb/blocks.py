"""Which engine has turned us away at which Chrome, so that nobody on this machine makes it worse.

A challenge (a captcha, a consent wall, a script gate) starts a cool-down, and so does a second empty page in a row that
nothing explains, on words that have nothing to do with the first one's. Within it calls are refused before a tab is
opened. After a challenge one call is let through every minute all the same, because a person may have cleared it
meanwhile. A page that is answered ends it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

CHALLENGE_S = 90 * 60.0
"""How long a challenge is remembered. Field notes, 2026-08-04: about 30 searches in a few minutes cost 90 minutes."""

EMPTY_S = 20 * 60.0
"""The same of empty pages. They come as a block wears off, which nobody has timed."""

PROBE_S = 60.0
"""From one call that is let through after a challenge to the next."""

IN_A_ROW_S = 3600.0
"""An empty page that is older says nothing about one of now."""

EMPTY = "suspected_block"
"""The kind of a cool-down that no challenge started; else it is the challenge's."""


@dataclass(frozen=True)
class Block:
    """What is remembered of an engine at one Chrome.

    Attributes:
        engine: its name.
        kind: of the challenge; or ``suspected_block``.
        since: when it was last turned away (tz-aware UTC, as the others).
        until: when the cool-down ends.
        retry_at: when the next call is let through.
    """

    engine: str
    kind: str
    since: datetime
    until: datetime
    retry_at: datetime


def standing(db: sqlite3.Connection, engine: str, chrome: str, now: float) -> Block | None:
    """The cool-down that stands; ``None`` where none does."""
    query = "SELECT kind, since, until, probe_at FROM blocks WHERE engine = ? AND chrome = ?"
    row = db.execute(query, (engine, chrome)).fetchone()
    if row is None or row[2] is None:
        return None
    kind, since, until, probe_at = row
    # However the clock was set meanwhile, none lasts longer than it would from now on.
    until = min(until, now + (EMPTY_S if kind == EMPTY else CHALLENGE_S))
    if until <= now:
        return None
    retry_at = until if probe_at is None else min(probe_at, until, now + PROBE_S)
    return Block(engine, kind, _utc(min(since, now)), _utc(until), _utc(retry_at))


def all_standing(db: sqlite3.Connection, chrome: str, now: float) -> list[Block]:
    """Every cool-down at that Chrome."""
    engines = [row[0] for row in db.execute("SELECT engine FROM blocks WHERE chrome = ? ORDER BY engine", (chrome,))]
    return [block for engine in engines if (block := standing(db, engine, chrome, now))]


def known(db: sqlite3.Connection, engine: str, chrome: str) -> bool:
    """Whether there is anything that an answered page would end: a cool-down, be it over, or a first empty page."""
    return db.execute("SELECT 1 FROM blocks WHERE engine = ? AND chrome = ?", (engine, chrome)).fetchone() is not None


def probing(db: sqlite3.Connection, engine: str, chrome: str, now: float) -> None:
    """A call is let through: the next one not before a minute from now."""
    change = "UPDATE blocks SET probe_at = ? WHERE engine = ? AND chrome = ? AND probe_at IS NOT NULL"
    db.execute(change, (now + PROBE_S, engine, chrome)).close()


def challenged(db: sqlite3.Connection, engine: str, chrome: str, kind: str, now: float) -> Block | None:
    """The engine asked for a person."""
    row = (engine, chrome, kind, now, now + CHALLENGE_S, now + PROBE_S, "")
    db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", row).close()
    return standing(db, engine, chrome, now)


def came_empty(db: sqlite3.Connection, engine: str, chrome: str, query: str, now: float) -> Block | None:
    """The engine answered with an empty page that nothing explains. Returns the cool-down, where one stands then."""
    found = "SELECT since, words FROM blocks WHERE engine = ? AND chrome = ? AND until IS NULL"
    first = db.execute(found, (engine, chrome)).fetchone()
    words = _words(db, query)
    row: tuple[object, ...]
    if standing(db, engine, chrome, now) is None:
        in_a_row = first is not None and abs(now - first[0]) <= IN_A_ROW_S
        if in_a_row and not _related(words, first[1].split()):
            row = (engine, chrome, EMPTY, now, now + EMPTY_S, None, "")
        elif in_a_row:
            return None  # the same words again tell nothing new
        else:
            row = (engine, chrome, EMPTY, now, None, None, " ".join(words))
        db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", row).close()
    return standing(db, engine, chrome, now)


def cleared(db: sqlite3.Connection, engine: str, chrome: str) -> bool:
    """Forgets what is remembered of that engine there. Returns whether there was anything."""
    done = db.execute("DELETE FROM blocks WHERE engine = ? AND chrome = ?", (engine, chrome))
    return done.rowcount > 0


def _words(db: sqlite3.Connection, query: str) -> list[str]:
    """The words of a query, by which it is known again and by which nobody learns it."""
    if (row := db.execute("SELECT salt FROM salt").fetchone()) is None:
        row = (os.urandom(16).hex(),)
        db.execute("INSERT INTO salt VALUES (?)", row).close()
    words = sorted(set(re.findall(r"\w+", query.casefold())))
    return [hashlib.sha256(f"{row[0]} {word}".encode("utf-8", "replace")).hexdigest()[:8] for word in words]


def _related(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two queries share half of their words, or more."""
    shared = len({*some} & {*others})
    return shared * 2 >= len({*some} | {*others})


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
