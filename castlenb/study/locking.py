"""One writer at a time: the lock on a study's journal, which ends with the process that has it."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

LEAVING_S = 3.0
"""How long a stopped study may take to let go of its journal: its load is stopped and its tab closed first."""


def locked(file: int) -> bool:
    """Whether the lock could be had, and now is; where there are no locks, it could."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


async def let_go(path: Path) -> None:
    """Returns when nobody is writing the journal, or after :data:`LEAVING_S`: a study that was stopped may go on
    closing its tab behind a caller who has been given the word back, and who resumes it."""
    until = time.monotonic() + LEAVING_S
    while _held(path) and time.monotonic() < until:  # noqa: ASYNC110  (it may be held by another process)
        await asyncio.sleep(0.05)


def _held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return not locked(file)
    finally:
        os.close(file)
