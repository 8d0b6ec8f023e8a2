"""A tab of our own closes, whatever happens, and is gone for everybody when its block has ended."""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import Coroutine, Generator
from typing import Any

import pytest

import castlenb.cdp.tab as module
from castlenb.cdp import Connection, Tab, background_tab, discover
from castlenb.errors import CastleError, NavigationFailed, TabClosed, TabCrashed
from castlenb.lab.chromium import Chromium

from .conftest import Onlooker, Relay, Site, ask

pytestmark = pytest.mark.proof


async def test_the_tab_is_gone_for_everybody_when_the_block_has_ended(
    connection: Connection, onlooker: Onlooker
) -> None:
    created: list[str] = []
    closed: list[str] = []
    for _ in range(10):
        async with background_tab(connection, on_created=created.append, on_closed=closed.append) as tab:
            assert created[-1] == tab.target_id
            assert tab.target_id in await onlooker.pages()
            assert tab.target_id not in closed
        assert tab.target_id not in await onlooker.pages()
        assert closed == created


async def test_a_tab_is_closed_in_the_middle_of_a_navigation(
    connection: Connection, onlooker: Onlooker, site: Site
) -> None:
    """Chrome loses a closing that arrives while a document is committed, and answers it with success."""
    for _ in range(10):
        async with background_tab(connection) as tab:
            await tab.navigate(site.url("plain"))
        assert tab.target_id not in await onlooker.pages()


async def test_a_tab_is_closed_while_its_document_does_not_come(
    connection: Connection, onlooker: Onlooker, site: Site
) -> None:
    async with background_tab(connection) as tab:
        navigation = asyncio.create_task(tab.navigate(site.url("hangs")))
        await site.hanging.wait()
    assert tab.target_id not in await onlooker.pages()
    async with asyncio.timeout(5):  # Chrome itself ends it, and not always with an error
        with contextlib.suppress(NavigationFailed, TabClosed):
            await navigation


async def test_a_tab_is_closed_while_its_script_runs_for_ever(connection: Connection, onlooker: Onlooker) -> None:
    async with background_tab(connection) as tab:
        busy = asyncio.create_task(ask(tab, "for (;;);"))
        await asyncio.sleep(0.1)
    with pytest.raises(TabClosed):
        await busy
    await onlooker.gone(tab.target_id)


async def test_an_error_in_the_block_closes_the_tab(connection: Connection, onlooker: Onlooker) -> None:
    with pytest.raises(ZeroDivisionError):
        async with background_tab(connection) as tab:
            raise ZeroDivisionError
    assert tab.target_id not in await onlooker.pages()


async def test_an_error_in_on_created_closes_the_tab(connection: Connection) -> None:
    closed: list[str] = []

    def fail(target_id: str) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with background_tab(connection, on_created=fail, on_closed=closed.append):
            pytest.fail("the block must not run")
    assert len(closed) == 1


async def test_a_tab_that_somebody_else_closed_is_closed(connection: Connection, onlooker: Onlooker) -> None:
    closed: list[str] = []
    async with background_tab(connection, on_closed=closed.append) as tab:
        await onlooker.call("Target.closeTarget", targetId=tab.target_id)
        with pytest.raises(TabClosed):
            await ask(tab, "new Promise(() => 0)", await_promise=True)
    assert closed == [tab.target_id]


async def test_a_tab_whose_renderer_crashed_is_closed(connection: Connection, onlooker: Onlooker) -> None:
    closed: list[str] = []
    with pytest.raises(TabCrashed):
        async with background_tab(connection, on_closed=closed.append) as tab:
            await tab.session.call("Page.crash")
    assert tab.target_id not in await onlooker.pages()
    assert closed == [tab.target_id]


async def test_closing_may_be_repeated(connection: Connection) -> None:
    closed: list[str] = []
    async with background_tab(connection, on_closed=closed.append) as tab:
        await asyncio.gather(tab.aclose(), tab.aclose())
        await tab.aclose()
    assert closed == [tab.target_id]


async def test_a_deadline_closes_the_tab_before_it_is_raised(connection: Connection, onlooker: Onlooker) -> None:
    opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def visit() -> None:
        async with background_tab(connection) as tab:
            opened.set_result(tab.target_id)
            await asyncio.sleep(60)

    task = asyncio.create_task(visit())
    target_id = await opened
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(task, 0.01)
    assert target_id not in await onlooker.pages()


async def test_a_second_cancellation_does_not_stop_the_closing(connection: Connection, onlooker: Onlooker) -> None:
    opened = asyncio.Event()
    tabs: list[Tab] = []

    async def visit() -> None:
        async with background_tab(connection) as tab:
            tabs.append(tab)
            opened.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(visit())
    await opened.wait()
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tabs[0].target_id not in await onlooker.pages()


async def test_closing_takes_no_longer_than_its_limit_when_chrome_is_silent(
    relay: Relay, onlooker: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.CLOSE_S == 2
    monkeypatch.setattr(module, "CLOSE_S", 0.2)
    connection = await Connection.open(await discover(f"http://127.0.0.1:{relay.port}"))
    closed: list[str] = []
    async with asyncio.timeout(10):
        async with background_tab(connection, on_closed=closed.append) as tab:
            relay.dead = True
        assert tab._closing is not None
        assert not tab._closing.done()
        await connection.aclose()
        await tab._closing
    assert not closed, "it can not be known"
    await onlooker.call("Target.closeTarget", targetId=tab.target_id)


@types.coroutine
def cancelled_at(step: int, moment: str, coroutine: Coroutine[Any, Any, None]) -> Generator[Any, None, int]:
    """Run the coroutine and cancel it at one of its awaits; returns the number of awaits, if it came to its end.

    The moment is ``early``, when the wait begins; ``midway``, when what it waits for is on its way; or ``late``, when
    that has come and the coroutine is about to go on, so that the result is lost.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    count, thrown = 0, None
    while True:
        try:
            waited_for = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
        except StopIteration:
            return count
        count, thrown = count + 1, None
        if count == step and moment == "early":
            task.cancel()
        if count == step and moment == "midway":
            loop.call_soon(lambda: loop.call_soon(task.cancel))
        try:
            yield waited_for
        except asyncio.CancelledError as exc:
            thrown = exc
        if count == step and moment == "late":
            thrown = asyncio.CancelledError()


@pytest.mark.parametrize("moment", ["early", "midway", "late"])
async def test_a_cancellation_at_any_await_leaves_no_tab(
    connection: Connection, onlooker: Onlooker, site: Site, moment: str
) -> None:
    before = await onlooker.pages()
    created: set[str] = set()
    closed: set[str] = set()

    async def visit() -> None:
        async with background_tab(connection, on_created=created.add, on_closed=closed.add) as tab:
            await tab.navigate(site.url("plain"))
            await ask(tab, "1")

    async def run(step: int) -> int:
        return await cancelled_at(step, moment, visit())

    awaits = await run(0)
    assert awaits > 6
    for step in range(1, awaits + 1):
        [outcome] = await asyncio.gather(asyncio.create_task(run(step)), return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError)
        assert await onlooker.pages() == before, f"cancelled at await {step} of {awaits}"
        assert created == closed
        assert not connection._waits


# The connection goes on


async def test_nothing_is_left_on_the_books_after_all_this(connection: Connection, site: Site) -> None:
    for path in ("plain", "nothing", "hangs"):
        with contextlib.suppress(CastleError):
            async with background_tab(connection) as tab:
                await tab.navigate(site.url(path), timeout=1)
    assert not connection._waits
    assert not connection._sessions
    assert not any(connection.root._handlers.values())


async def test_tabs_of_a_killed_chrome_are_not_waited_for() -> None:
    with Chromium() as victim:
        connection = await Connection.open(await discover(f"http://{victim.target}"))
        async with asyncio.timeout(10):
            async with background_tab(connection):
                await asyncio.to_thread(victim.kill)
        await connection.aclose()
