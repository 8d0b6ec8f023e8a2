"""Plain calls over the loop thread: from a script, a thread, a running loop, after a fork; interrupted; at exit."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from castlenb import bridge
from castlenb.errors import Misuse


async def where() -> threading.Thread:
    return threading.current_thread()


def test_a_plain_call_runs_on_one_thread_of_its_own() -> None:
    first, second = bridge.run(where()), bridge.run(where())
    assert first is second
    assert first is not threading.main_thread()
    assert first.daemon


def test_it_works_inside_a_running_loop() -> None:
    async def cell() -> threading.Thread:
        return bridge.run(where())

    assert asyncio.run(cell()) is bridge.run(where())


def test_it_works_from_other_threads_at_once() -> None:
    async def nap(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    got: list[float] = []
    threads = [threading.Thread(target=lambda s=s: got.append(bridge.run(nap(s)))) for s in (0.2, 0.1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [0.1, 0.2]


def test_an_error_reaches_the_caller_as_it_was() -> None:
    async def fails() -> None:
        raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        bridge.run(fails())


def test_a_plain_call_on_the_loop_thread_is_refused() -> None:
    async def nested() -> None:
        bridge.run(where())

    with pytest.raises(Misuse, match=r"castlenb\.aio"):
        bridge.run(nested())


def test_the_wrapped_function_keeps_its_name_and_signature() -> None:
    async def named(query: str, *, n: int = 1) -> int:
        """Says so."""
        return n

    wrapped = bridge.plain(named)
    assert wrapped("q", n=3) == 3
    assert (wrapped.__name__, wrapped.__doc__) == ("named", "Says so.")


async def _cancelled(cleaning_up_s: float) -> threading.Event:
    """Awaits what is cancelled and then takes so long to clean up; returns what is set when it has."""
    cleaned = threading.Event()

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(cleaning_up_s)
            cleaned.set()

    waiting = asyncio.ensure_future(bridge.arun(long()))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    return cleaned


async def test_awaiting_from_another_loop_cancels_what_it_started() -> None:
    cleaned = await _cancelled(0.05)
    assert cleaned.is_set(), "the cancellation was raised before the work had cleaned up"


async def test_a_cancelled_await_leaves_a_long_cleaning_up_behind() -> None:
    cleaned = await _cancelled(2)
    assert not cleaned.is_set(), "everything else on the caller's loop was held up until the work had cleaned up"
    assert await asyncio.to_thread(cleaned.wait, 20), "what was left behind did not go on"


async def test_an_async_context_manager_is_entered_on_the_loop_thread() -> None:
    from contextlib import asynccontextmanager

    seen: list[str] = []

    @asynccontextmanager
    async def house():
        seen.append(threading.current_thread().name)
        try:
            yield "inside"
        except ValueError:
            seen.append("caught")

    async with bridge.aentered(house()) as value:
        assert value == "inside"
    with bridge.entered(house()):
        raise ValueError
    with pytest.raises(KeyError), bridge.entered(house()):
        raise KeyError
    assert seen == ["castlenb", "castlenb", "caught", "castlenb"]


def script(body: str, **kwargs: object) -> subprocess.Popen[str]:
    source = "import asyncio, os, sys, time, threading\nfrom castlenb import bridge\n" + textwrap.dedent(body)
    return subprocess.Popen([sys.executable, "-c", source], stdout=-1, stderr=-1, text=True, **kwargs)  # type: ignore[call-overload, no-any-return]


LONG = """
async def long():
    print("started", flush=True)
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep({cleanup})
        print("cleaned", flush=True)
"""


def test_an_interrupt_waits_for_the_cleaning_up_and_is_raised() -> None:
    child = script(
        LONG.format(cleanup=0.5)
        + """
try:
    bridge.run(long())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    )
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert out == "cleaned\ninterrupted\n"
    assert err == ""


@pytest.mark.proof
def test_a_second_interrupt_returns_at_once_and_the_cleaning_up_goes_on() -> None:
    child = script(
        LONG.format(cleanup=1.5)
        + """
try:
    bridge.run(long())
except KeyboardInterrupt:
    print("interrupted", flush=True)
time.sleep(3)
"""
    )
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGINT)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert out == "interrupted\ncleaned\n"
    assert err == ""


@pytest.mark.proof
def test_exit_cleans_up_what_still_runs_and_never_hangs() -> None:
    child = script(
        LONG.format(cleanup=0.3)
        + """
threading.Thread(target=bridge.run, args=(long(),), daemon=True).start()
time.sleep(0.5)
"""
    )
    out, _ = child.communicate(timeout=20)
    assert out == "started\ncleaned\n"
    assert child.returncode == 0

    closing = script(
        """
async def close():
    await asyncio.sleep(0.5)
    print("closed", flush=True)
async def leave():
    global task
    task = asyncio.create_task(close(), name="castlenb tab close")
bridge.run(leave())
"""
    )
    out, _ = closing.communicate(timeout=20)
    assert out == "closed\n", "a tab that was still being closed was left open"

    stubborn = script(
        LONG.format(cleanup=600)
        + """
threading.Thread(target=bridge.run, args=(long(),), daemon=True).start()
time.sleep(0.5)
"""
    )
    out, _ = stubborn.communicate(timeout=20)
    assert out == "started\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    child = script(
        """
async def name():
    return (os.getpid(), threading.current_thread().name)
assert bridge.run(name())[0] == os.getpid()
pid = os.fork()
if pid == 0:
    print(bridge.run(name()) == (os.getpid(), "castlenb"), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(bridge.run(name())[0] == os.getpid(), flush=True)
"""
    )
    out, err = child.communicate(timeout=20)
    assert out == "True\nTrue\n", err
