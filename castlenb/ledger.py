"""What castlenb's processes on this machine keep together, in one small SQLite file in the user's state directory.

Whose turn it is, how many pages an engine has been asked for, which engine has turned us away, which tabs are whose.
No query and no address of a page is ever in it. The file is worked on in a thread of its own, one short transaction at
a time, so that neither a slow disk nor another process that holds it can stop the loop.

Where the file can not be used (a full disk, a home that is read-only, somebody holding it) the same is kept in memory,
for this process alone, until it can: with a warning, because other processes are then not known of.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import platform
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

log = logging.getLogger("castlenb")

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_S = 1.0
"""How long another process may hold the file. Each of our transactions takes about a millisecond."""

ALONE_S = 30.0
"""How long memory is used in the file's place before the file is tried again."""

IDLE_S = 30.0
"""After so long without work the file is closed and the thread ends, until there is some: labs come and go."""

FILE = "manners-1.sqlite3"
"""Named for its layout: another version of castlenb with another layout keeps a file of its own."""

_TABLES = """
CREATE TABLE IF NOT EXISTS line (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT, token TEXT UNIQUE, chrome TEXT, engine TEXT, who TEXT, seen REAL);
CREATE TABLE IF NOT EXISTS places (token TEXT PRIMARY KEY, chrome TEXT, who TEXT, since REAL);
CREATE TABLE IF NOT EXISTS blocks (
    engine TEXT, chrome TEXT, kind TEXT, since REAL, until REAL, probe_at REAL, words TEXT,
    PRIMARY KEY (engine, chrome));
CREATE TABLE IF NOT EXISTS tabs (mark TEXT PRIMARY KEY, chrome TEXT, target TEXT, who TEXT, since REAL);
CREATE TABLE IF NOT EXISTS salt (salt TEXT);
"""


class Ledger:
    """The file, or memory in its place.

    Args:
        folder: where the file is, or will be made.

    Attributes:
        path: the file.
        alone: why memory is used in its place; empty where it is not.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.alone = ""
        self._alone_until = 0.0
        self._file: sqlite3.Connection | None = None
        self._memory: sqlite3.Connection | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def shown(self) -> str:
        """Where it is, as it may be shown."""
        return f"in memory ({self.alone})" if self.alone else homeless(self.path)

    async def run(self, work: Work[T]) -> T:
        """The result of ``work``, done in one transaction of its own; what it raises undoes it.

        Cancelling is safe, but the work is done all the same. Works are done in the order in which they are given.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            outcome: T | None = None
            failed: BaseException | None = None
            try:
                outcome = self._do(work)
            except BaseException as exc:
                failed = exc
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(_tell, done, outcome, failed)

        self._give(job)
        return await done

    def later(self, work: Work[object]) -> None:
        """Has the work done without anybody waiting for it. What it raises is logged."""

        def job() -> None:
            try:
                self._do(work)
            except Exception as failed:
                log.debug("the ledger: %r", failed)

        self._give(job)

    def close(self) -> None:
        """Closes the file once all works are done; the next one opens it again."""
        with self._starting:
            if self._thread is not None:
                self._jobs.put(self._close_file)

    def _give(self, job: Callable[[], None]) -> None:
        with self._starting:
            if self._thread is None:
                # A daemon, because an executor's threads can not be given anything more once the process is ending,
                # which is when the last tabs are closed and struck off.
                self._thread = threading.Thread(target=self._live, name="castlenb ledger", daemon=True)
                self._thread.start()
            self._jobs.put(job)

    def _live(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                with self._starting:
                    if not self._jobs.empty():
                        continue
                    self._close_file()
                    self._thread = None
                    return
            job()

    def _do(self, work: Work[T]) -> T:
        if time.monotonic() >= self._alone_until:
            try:
                outcome = _transacted(self._opened(), work)
            except sqlite3.Error as failed:
                self._give_up_on_file(failed)
            else:
                self.alone = ""
                return outcome
        if self._memory is None:
            self._memory = _connected(":memory:")
        return _transacted(self._memory, work)

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            try:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file = _patiently_connected(str(self.path))
            except OSError as failed:
                # Without the path, which can bear somebody's name.
                raise sqlite3.OperationalError(failed.strerror or type(failed).__name__) from failed
            except sqlite3.DatabaseError as failed:
                if isinstance(failed, sqlite3.OperationalError):  # busy, full, read-only: not the file's fault
                    raise
                self._put_aside(failed)
                self._file = _connected(str(self.path))
        return self._file

    def _give_up_on_file(self, failed: sqlite3.Error) -> None:
        if self._file is not None:
            self._close_file()
            if not isinstance(failed, sqlite3.OperationalError):  # damaged under our hands
                self._put_aside(failed)
        if not self.alone:
            log.warning(
                "castlenb's state file %s can not be used (%s): until it can, this process keeps its pace by itself, "
                "and other kernels and scripts do not know of it",
                homeless(self.path),
                failed,
            )
        self.alone = str(failed)
        self._alone_until = time.monotonic() + ALONE_S

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(sqlite3.Error):
                self._file.close()
            self._file = None

    def _put_aside(self, failed: sqlite3.Error) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
        log.warning("castlenb's state file is damaged (%s); it is kept as %s", failed, homeless(aside))
        with contextlib.suppress(OSError):
            self.path.replace(aside)
        for rest in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                self.path.with_name(self.path.name + rest).unlink()


def _tell(done: asyncio.Future[Any], outcome: object, failed: BaseException | None) -> None:
    if done.done():
        return
    if failed is None:
        done.set_result(outcome)
    else:
        done.set_exception(failed)


def _patiently_connected(path: str) -> sqlite3.Connection:
    end = time.monotonic() + BUSY_S
    while True:
        try:
            return _connected(path)
        except sqlite3.OperationalError as failed:
            # Who makes the file's log does not wait for another that is making it just then.
            if "locked" not in str(failed) or time.monotonic() > end:
                raise
        time.sleep(0.02)


def _connected(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        # With a log beside the file no commit waits for the disk, and none can damage the file.
        connection.execute("PRAGMA journal_mode=WAL").close()
        connection.execute("PRAGMA synchronous=NORMAL").close()
        connection.executescript(_TABLES)
    except BaseException:
        connection.close()
        raise
    return connection


def _transacted(connection: sqlite3.Connection, work: Work[T]) -> T:
    connection.execute("BEGIN IMMEDIATE").close()  # nobody else's work comes between what ours reads and writes
    try:
        outcome = work(connection)
        connection.execute("COMMIT").close()
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK").close()
        raise
    return outcome


def homeless(path: Path) -> str:
    """The path as it may be shown: the home folder, which bears a name, as ``~``."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


# Which ledger


def ledger(folder: Path) -> Ledger:
    """The process's ledger in that folder."""
    global _ours
    if _ours != os.getpid():  # after a fork neither thread nor connection is ours: they are left alone, and not closed
        _forked.append(dict(_ledgers))
        _ledgers.clear()
        _ours = os.getpid()
    if folder not in _ledgers:
        _ledgers[folder] = Ledger(folder)
    return _ledgers[folder]


def state_folder() -> Path:
    """The user's own."""
    import platformdirs

    return platformdirs.user_state_path("castlenb")


def lab_folder(port: int) -> Path | None:
    """The state folder of the lab whose Chromium listens on this machine's port; ``None`` where no lab's does."""
    try:
        said = json.loads((state_folder() / "labs" / str(port)).read_text("utf-8"))
        folder = Path(said["folder"])
        return folder if folder.parent.is_dir() and _started(int(said["pid"])) is not None else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


_ledgers: dict[Path, Ledger] = {}
_forked: list[object] = []
_ours = os.getpid()


# Who is who


def whoami() -> str:
    """This process, so that it is told from any that bears its number later: machine, number and start."""
    global _me
    if _me[0] != os.getpid():
        _me = os.getpid(), f"{_machine()}|{os.getpid()}|{_started(os.getpid())}"
    return _me[1]


def is_dead(who: str) -> bool:
    """Whether that process has surely ended. Of one on another machine, or in another container, that is not known."""
    machine, pid, started = who.split("|")
    return machine == _machine() and _started(int(pid)) != started


_me = 0, ""


def _machine() -> str:
    if sys.platform != "linux":
        return platform.node()
    # Numbers of processes count within one boot and one namespace; a home can be shared by several of both.
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return platform.node()


def _started(pid: int) -> str | None:
    """When the process was started, in words that never change while it lives; ``None`` where there is none."""
    if sys.platform == "linux":
        try:
            state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        # In ticks since boot, so a clock that is set changes nothing. A zombie has ended.
        return None if state in "ZX" else rest[18]
    import psutil

    try:
        return str(round(psutil.Process(pid).create_time()))
    except psutil.Error:
        return None
