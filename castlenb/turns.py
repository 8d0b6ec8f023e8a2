"""Who may send a visit next: one place among all processes of this machine, and the pace of every engine it asks.

First come, first served, among callers that want the same. Who waits for one engine's pace holds up nobody who asks
another, and takes no place meanwhile.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import blocks, pacing
from .blocks import Block
from .ledger import is_dead, whoami
from .pacing import Rates

PLACE_S = 300.0
"""How long a place counts, where the one who holds it does not say that it is free: a process can be stopped."""

SEEN_S = 20.0
"""One in line who has not asked for so long is passed over: a process can be stopped in line as well."""


@dataclass(frozen=True)
class Wanted:
    """What a caller wants.

    Attributes:
        chrome: which Chrome, as the ledger knows it.
        pages: how many pages of each engine it will ask for.
        pace: the pace of each of them.
        most: visits that may be under way in that Chrome, this one included.
        even_if_blocked: send it into a cool-down as well.
        token: under which it is in line and holds its place.
    """

    chrome: str
    pages: Mapping[str, int] = field(default_factory=dict)
    pace: Rates = pacing.PACE
    most: int = 2
    even_if_blocked: bool = False
    token: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True)
class Granted:
    """Go. ``refused`` are engines in a cool-down, which are not to be asked; ``known`` those of which something is
    remembered that an answered page ends."""

    refused: Mapping[str, Block]
    known: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wait:
    """Not yet. ``seconds`` as far as can be told, for the pace of ``engine``, or for a place where that is empty;
    ``ahead`` callers come first."""

    seconds: float
    engine: str = ""
    ahead: int = 0


def claim(db: sqlite3.Connection, wanted: Wanted) -> Granted | Wait:
    """Takes a place and the pages, or a place in line. To be asked again until it is granted, or :func:`given_up`."""
    now = time.time()
    refused = {
        engine: block
        for engine in wanted.pages
        if not wanted.even_if_blocked
        and (block := blocks.standing(db, engine, wanted.chrome, now))
        and block.retry_at.timestamp() > now
    }
    pages = {engine: number for engine, number in wanted.pages.items() if engine not in refused}
    if wanted.pages and not pages:
        given_up(db, wanted)
        return Granted(refused)
    before = _before(db, wanted, now)
    for engine in pages:
        if ahead := before.count(engine):
            return _in_line(db, wanted, Wait(0.0, engine, ahead), now)
    if wait := _paced(db, wanted, pages, now):
        return _in_line(db, wanted, wait, now)
    places = _places(db, wanted.chrome, now)
    ahead = before.count("")
    if places + ahead >= wanted.most:
        for engine in pages:
            pacing.give_back(db, engine, wanted.chrome, wanted.token)
        return _in_line(db, wanted, Wait(0.0, ahead=ahead), now)
    db.execute("DELETE FROM line WHERE token = ?", (wanted.token,)).close()
    db.execute("INSERT INTO places VALUES (?, ?, ?, ?)", (wanted.token, wanted.chrome, whoami(), now)).close()
    known = frozenset(engine for engine in pages if blocks.known(db, engine, wanted.chrome))
    for engine in known:
        blocks.probing(db, engine, wanted.chrome, now)
    return Granted(refused, known)


def given_up(db: sqlite3.Connection, wanted: Wanted) -> None:
    """The caller has gone, or is done: neither place nor place in line is wanted any more."""
    db.execute("DELETE FROM line WHERE token = ?", (wanted.token,)).close()
    db.execute("DELETE FROM places WHERE token = ?", (wanted.token,)).close()


def not_asked(db: sqlite3.Connection, wanted: Wanted) -> None:
    """None of the pages was asked for: they do not count."""
    for engine in wanted.pages if wanted.pace else ():
        pacing.give_back(db, engine, wanted.chrome, wanted.token)


def _paced(db: sqlite3.Connection, wanted: Wanted, pages: Mapping[str, int], now: float) -> Wait | None:
    """Takes the pages of all engines, or of none."""
    longest: Wait | None = None
    taken = []
    for engine, number in pages.items():
        seconds = pacing.take(db, engine, wanted.chrome, wanted.pace, number, wanted.token, now)
        if not seconds:
            taken.append(engine)
        elif longest is None or seconds > longest.seconds:
            longest = Wait(seconds, engine)
    if longest is not None and wanted.pace:
        for engine in taken:
            pacing.give_back(db, engine, wanted.chrome, wanted.token)
    return longest


def _before(db: sqlite3.Connection, wanted: Wanted, now: float) -> list[str]:
    """What those wait for who came before: an engine's pace, or a place (empty)."""
    mine = db.execute("SELECT ticket FROM line WHERE token = ?", (wanted.token,)).fetchone()
    query = "SELECT token, engine, who, seen FROM line WHERE chrome = ? AND ticket < ?"
    found = []
    for token, engine, who, seen in db.execute(query, (wanted.chrome, mine[0] if mine else 2**62)).fetchall():
        if is_dead(who):
            db.execute("DELETE FROM line WHERE token = ?", (token,)).close()
        elif abs(now - seen) <= SEEN_S:
            found.append(engine)
    return found


def _in_line(db: sqlite3.Connection, wanted: Wanted, wait: Wait, now: float) -> Wait:
    renewed = "UPDATE line SET seen = ?, engine = ? WHERE token = ?"
    if not db.execute(renewed, (now, wait.engine, wanted.token)).rowcount:
        row = (wanted.token, wanted.chrome, wait.engine, whoami(), now)
        db.execute("INSERT INTO line (token, chrome, engine, who, seen) VALUES (?, ?, ?, ?, ?)", row).close()
    return wait


def _places(db: sqlite3.Connection, chrome: str, now: float) -> int:
    """How many are taken."""
    taken = 0
    for token, who, since in db.execute("SELECT token, who, since FROM places WHERE chrome = ?", (chrome,)).fetchall():
        if is_dead(who) or abs(now - since) > PLACE_S:
            db.execute("DELETE FROM places WHERE token = ?", (token,)).close()
        else:
            taken += 1
    return taken
