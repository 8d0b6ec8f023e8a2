"""A visitor's turn, and what castlenb's processes on this machine keep of one Chrome."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from . import blocks, leftovers, pacing
from .addresses import Desk
from .blocks import Block
from .engines import ENGINES


@dataclass(frozen=True)
class Turn:
    """A place in line that has come up.

    Attributes:
        queued_ms: how long it was waited for, for a place and for the pace.
        refused: engines that are not to be asked now, because they have turned us away; see ``retry_at``.
        known: engines that have, or seemed to, and may be asked.
        warnings: what a reader of the results should know.
    """

    queued_ms: float = 0.0
    refused: Mapping[str, Block] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manners:
    """What castlenb's processes on this machine keep of one Chrome.

    Attributes:
        chrome: its name there.
        state: the file; or why memory is used in its place.
        is_lab: whether it is a lab's, where no pace is kept.
        blocks: the cool-downs that stand.
        asked: pages that each engine was asked for within the longest time of its pace.
        tabs: tabs that are open for processes that live.
        left_behind: tabs of processes that have ended; the next connect closes them.
    """

    chrome: str
    state: str
    is_lab: bool
    blocks: tuple[Block, ...]
    asked: Mapping[str, int]
    tabs: int
    left_behind: int


def manners_of(desk: Desk, db: sqlite3.Connection) -> Manners:
    """What the ledger has of that Chrome."""
    now, longest = time.time(), pacing.PACE[-1][1]
    tabs, left = leftovers.ours(db, desk.chrome)
    asked = {name: pacing.asked(db, name, desk.chrome, longest, now) for name in ENGINES}
    standing = tuple(blocks.all_standing(db, desk.chrome, now))
    return Manners(desk.chrome, desk.book.shown(), desk.is_lab, standing, asked, tabs, left)
