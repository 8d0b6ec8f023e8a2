"""Plain calls over one event-loop thread.

Chrome's socket lives on a loop of its own, in a daemon thread started when first needed: a cell that computes for a
minute stalls nothing, and the same Browser serves plain calls and coroutines. :func:`plain` turns a coroutine function
into a plain one, :func:`marshalled` into one that can be awaited on any loop.

An interrupt (Stop in a notebook, Ctrl-C) cancels what runs on the thread, waits up to three seconds for it to clean up
(a tab is closed there), and is raised. A second one while waiting is raised at once; the cleaning-up goes on behind it,
and is waited for once more at exit. A cancelled ``await`` waits a quarter of a second and leaves the rest behind: it
holds up everything else on the caller's loop.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import functools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Generic, ParamSpec, TypeVar

from .errors import Misuse

P = ParamSpec("P")
T = TypeVar("T")

CLEANUP_S = 3.0
"""How long an interrupted call may take to clean up before the interrupt is raised."""

AWAITED_CLEANUP_S = 0.25
"""The same for a call that is awaited: with the heartbeat before it, Stop is back within half a second."""

EXIT_S = 2.0
"""How long the end of the process waits for tabs to be closed."""


def plain(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The coroutine function as a plain one: runs on the loop thread, blocks until done.

    Raises (the returned function, beside what the coroutine raises):
        Misuse: called from the loop thread itself, where blocking would never end.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(function(*args, **kwargs))

    return call


def marshalled(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The coroutine function, to be awaited on any loop: the work itself is done on the loop thread."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return await arun(function(*args, **kwargs))

    return call


def run(coroutine: Coroutine[Any, Any, T], *, beat: Callable[[], object] | None = None) -> T:
    """Runs a coroutine on the loop thread and returns its result (see :func:`plain`).

    Args:
        beat: called a few times a second meanwhile, on the calling thread.
    """
    if threading.current_thread() is _house.thread:
        coroutine.close()
        raise Misuse("a plain castlenb call was made on castlenb's own event loop; await its twin in castlenb.aio")
    job = _Job(coroutine)
    try:
        job.start()
        return job.result(beat)
    except KeyboardInterrupt:
        job.cancel()
        job.wait(CLEANUP_S)
        raise


async def arun(coroutine: Coroutine[Any, Any, T], *, beat: Callable[[], object] | None = None) -> T:
    """Awaits a coroutine that runs on the loop thread (see :func:`marshalled`); ``beat`` as for :func:`run`."""
    if threading.current_thread() is _house.thread:
        return await coroutine
    job = _Job(coroutine)
    job.start()
    waiting = asyncio.wrap_future(job.done)
    try:
        # The short waits are a heartbeat: a kernel delivers an interrupt to an awaiting cell only when its loop turns
        # (measured on ipykernel 7.4: 8 s late without, 0.12 s with a heartbeat of 100 ms).
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=0.1)
            if beat is not None:
                beat()
    except asyncio.CancelledError:
        job.cancel()
        await asyncio.wait({waiting}, timeout=AWAITED_CLEANUP_S)
        raise
    return job.outcome()


def start(
    coroutine: Coroutine[Any, Any, Any], *, ended: Callable[[BaseException | None], object]
) -> Callable[[], None]:
    """Starts a coroutine on the loop thread, and returns at once what cancels it.

    Args:
        ended: called on the loop thread when it has ended, with what it raised, if anything.
    """
    job = _Job(coroutine)
    job.done.add_done_callback(lambda _: ended(job.error()))
    job.start()
    return job.cancel


@contextmanager
def entered(manager: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """An async context manager as a plain one; both its halves run on the loop thread."""
    value = run(manager.__aenter__())
    try:
        yield value
    except BaseException as error:
        if not run(manager.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        run(manager.__aexit__(None, None, None))


@asynccontextmanager
async def aentered(manager: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """An async context manager for any loop; both its halves run on the loop thread."""
    value = await arun(manager.__aenter__())
    try:
        yield value
    except BaseException as error:
        if not await arun(manager.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        await arun(manager.__aexit__(None, None, None))


class _Job(Generic[T]):
    """One coroutine, to be started on the loop thread. ``done`` completes, with nothing, when its task has ended."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.done: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._coroutine = coroutine
        self._task: asyncio.Task[T] | None = None
        self._loop = _house.loop()

    def start(self) -> None:
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._coroutine)
        _house.jobs.add(self._task)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[T]) -> None:
        _house.jobs.discard(task)
        if not task.cancelled():
            task.exception()  # asked for, so that asyncio does not print it where the caller has been interrupted
        self.done.set_result(None)

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    def wait(self, seconds: float) -> None:
        concurrent.futures.wait([self.done], timeout=seconds)

    def result(self, beat: Callable[[], object] | None) -> T:
        # In short waits, because a wait without an end can not be interrupted on Windows.
        while not self.done.done():
            self.wait(1.0 if beat is None else 0.25)
            if beat is not None:
                beat()
        return self.outcome()

    def outcome(self) -> T:
        assert self._task is not None
        return self._task.result()

    def error(self) -> BaseException | None:
        assert self._task is not None
        return asyncio.CancelledError() if self._task.cancelled() else self._task.exception()


class _House:
    """The thread, its loop, and the jobs on it; made anew after a fork, where threads do not survive."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.jobs: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None or self.thread is None or not self.thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self.thread = threading.Thread(target=self._live, args=(self._loop,), name="castlenb", daemon=True)
                self.thread.start()
            return self._loop

    @staticmethod
    def _live(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    def close(self) -> None:
        """Ends what still runs, its tabs with it, within :data:`EXIT_S`; never hangs."""
        loop, thread = self._loop, self.thread
        if loop is None or thread is None or not thread.is_alive():
            return
        ended = asyncio.run_coroutine_threadsafe(self._cancel_jobs(), loop)
        concurrent.futures.wait([ended], timeout=EXIT_S + 0.5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=0.5)

    async def _cancel_jobs(self) -> None:
        for job in self.jobs:
            job.cancel()
        # A tab that took longer to close than its visit waits for is closed by a task of its own, which is no job.
        ending = {*self.jobs, *(task for task in asyncio.all_tasks() if task.get_name() in _CLOSING)}
        if ending:
            await asyncio.wait(ending, timeout=EXIT_S)


_CLOSING = ("castlenb tab create", "castlenb tab close")
"""Names of the tasks by which a tab comes and goes (``cdp/tab.py``)."""

_house = _House()


def close() -> None:
    """Ends what still runs, its tabs with it, within :data:`EXIT_S`. At the end of a process it is called by itself,
    unless that end is a signal."""
    _house.close()


def _after_fork() -> None:
    global _house
    _house = _House()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
