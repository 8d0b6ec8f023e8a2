"""The tabs that castlenb has open, process by process, and the closing of those that were left behind.

A tab is on the list before Chrome is asked for it, under a mark that is in the blank page's address, and with its
target id before it is sent anywhere: so there is no instant at which our process can die and leave a tab that nobody
knows again. Nothing else in that Chrome is ever closed.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

from .cdp.connection import Connection
from .errors import CastleError
from .ledger import Ledger, is_dead, whoami

SWEEP_S = 2.0
"""What closing tabs that were left behind may take of a connect; what is left then is left to the next one."""

_AGAIN_S = 0.05

_BLANK = "about:blank#castlenb-"


class Entry:
    """One tab's line on the list; see :func:`listed`.

    Attributes:
        blank: the address of the blank page that it is to be opened with.
    """

    def __init__(self, book: Ledger) -> None:
        self._book = book
        self.mark = uuid.uuid4().hex[:16]
        self.blank = _BLANK + self.mark
        self._naming: asyncio.Task[None] | None = None

    def named(self, target: str) -> None:
        """The tab is there, and this is its id."""
        self._naming = asyncio.get_running_loop().create_task(self._book.run(lambda db: self._name(db, target)))

    async def written(self) -> None:
        """Returns once the id is on the list: before that the tab must not leave its blank page."""
        if self._naming is not None:
            await self._naming

    def struck(self) -> None:
        """The tab is gone."""
        self._book.later(lambda db: _strike(db, self.mark))

    def _name(self, db: sqlite3.Connection, target: str) -> None:
        db.execute("UPDATE tabs SET target = ? WHERE mark = ?", (target, self.mark)).close()


@asynccontextmanager
async def listed(book: Ledger, chrome: str) -> AsyncIterator[Entry]:
    """A line on the list, for a tab that is about to be opened. What is not struck out by the end of the block is taken
    for left behind."""
    entry = Entry(book)
    row = (entry.mark, chrome, "", whoami(), time.time())
    _held.add(entry.mark)
    try:
        await book.run(lambda db: db.execute("INSERT INTO tabs VALUES (?, ?, ?, ?, ?)", row).close())
        yield entry
    finally:
        _held.discard(entry.mark)


def ours(db: sqlite3.Connection, chrome: str) -> tuple[int, int]:
    """How many tabs living processes have open there, and how many were left behind."""
    left = len(_left(db, chrome))
    return db.execute("SELECT COUNT(*) FROM tabs WHERE chrome = ?", (chrome,)).fetchone()[0] - left, left


async def sweep(book: Ledger, chrome: str, connection: Connection) -> int:
    """Closes the tabs at that Chrome whose process has ended, and those of ours whose end was never known. Returns how
    many there were; takes 2 s at most."""
    left = await book.run(lambda db: _left(db, chrome))
    if not left:
        return 0
    closed = 0
    try:
        async with asyncio.timeout(SWEEP_S):
            while left:
                infos = (await connection.root.call("Target.getTargets", timeout=SWEEP_S))["targetInfos"]
                here = {info["targetId"]: info["url"] for info in infos}
                marked = {url: target for target, url in here.items() if url.startswith(_BLANK)}
                open_still = {}
                for mark, known in left.items():
                    if target := known if known in here else marked.get(_BLANK + mark, ""):
                        open_still[mark] = target
                        # A closing can get lost, so it counts once the tab is no longer listed.
                        await connection.root.call("Target.closeTarget", {"targetId": target}, timeout=SWEEP_S)
                gone = [mark for mark in left if mark not in open_still]
                await book.run(partial(_strike_all, gone))
                closed = max(closed, len(open_still))
                left = open_still
                if left:
                    await asyncio.sleep(_AGAIN_S)
    except (TimeoutError, CastleError):
        pass  # a lost connection is for the caller's own calls to notice
    return closed


def _left(db: sqlite3.Connection, chrome: str) -> dict[str, str]:
    """Mark and target of each; the target is empty where the process ended before it was known."""
    rows = db.execute("SELECT mark, target, who FROM tabs WHERE chrome = ?", (chrome,)).fetchall()
    return {mark: target for mark, target, who in rows if _is_left(mark, who)}


def _is_left(mark: str, who: str) -> bool:
    return is_dead(who) or (who == whoami() and mark not in _held)


def _strike(db: sqlite3.Connection, mark: str) -> None:
    db.execute("DELETE FROM tabs WHERE mark = ?", (mark,)).close()


def _strike_all(marks: Sequence[str], db: sqlite3.Connection) -> None:
    for mark in marks:
        _strike(db, mark)


_held: set[str] = set()
