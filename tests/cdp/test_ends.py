"""Whatever ends, a tab, a renderer, a Chrome or the wire to it, ends what waits for it."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

import castlenb.cdp.connection as module
from castlenb.cdp import Connection, background_tab, discover
from castlenb.errors import ConnectionLost, TabClosed, TabCrashed
from castlenb.lab.chromium import Chromium

from .conftest import Onlooker, Relay, event, forever


async def test_a_tab_closed_by_somebody_else_ends_what_waits_for_it(connection: Connection, onlooker: Onlooker) -> None:
    async with background_tab(connection) as tab, background_tab(connection) as other:
        reasons: list[str] = []
        tab.session.on("Inspector.detached", lambda params: reasons.append(params["reason"]))
        waiting = asyncio.create_task(forever(tab))
        elsewhere = asyncio.create_task(forever(other))
        await asyncio.sleep(0.05)
        await onlooker.call("Target.closeTarget", targetId=tab.target_id)
        async with asyncio.timeout(5):
            with pytest.raises(TabClosed, match=tab.target_id):
                await waiting
        assert reasons == ["Render process gone."], "an ordinary closing must not pass for a crash"
        assert isinstance(tab.session.lost, TabClosed)
        with pytest.raises(TabClosed):
            await tab.session.call("Page.getFrameTree")
        assert not elsewhere.done()
        elsewhere.cancel()


async def test_our_own_detaching_ends_what_waits_for_the_session(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        waiting = asyncio.create_task(forever(tab))
        await asyncio.sleep(0.05)
        await connection.root.call("Target.detachFromTarget", {"sessionId": tab.session.session_id})
        async with asyncio.timeout(5):
            with pytest.raises(TabClosed):
                await waiting


async def test_an_answer_that_the_session_is_gone_ends_it(connection: Connection) -> None:
    unknown = connection.session("F" * 32, "some target")
    with pytest.raises(TabClosed, match="some target"):
        await unknown.call("Page.enable")
    assert isinstance(unknown.lost, TabClosed)


async def test_a_crash_ends_what_waits_for_the_tab(connection: Connection, onlooker: Onlooker) -> None:
    async with background_tab(connection) as tab:
        waiting = asyncio.create_task(forever(tab))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            with pytest.raises(TabCrashed, match=tab.target_id):
                await tab.session.call("Page.crash", timeout=60)
            with pytest.raises(TabCrashed):
                await waiting
        with pytest.raises(TabCrashed):
            await tab.navigate("about:blank")
        assert tab.target_id in await onlooker.pages(), "a crashed tab stays open until it is closed"


async def test_a_killed_chrome_ends_everything() -> None:
    with Chromium() as victim:
        connection = await Connection.open(await discover(f"http://{victim.target}"))
        async with background_tab(connection) as tab:
            waiting = [forever(tab), event(tab.session), event(connection.root)]
            ends = asyncio.gather(*waiting, return_exceptions=True)
            await asyncio.sleep(0.05)
            await asyncio.to_thread(victim.kill)
            async with asyncio.timeout(5):
                assert [type(end) for end in await ends] == [ConnectionLost] * 3
            assert connection.lost is not None
            assert connection.lost.code == 1006
            for session in (connection.root, tab.session):
                with pytest.raises(ConnectionLost):
                    await session.call("Browser.getVersion")
        await connection.aclose()


async def test_a_dropped_socket_ends_everything(relay: Relay, onlooker: Onlooker) -> None:
    connection = await Connection.open(await discover(f"http://127.0.0.1:{relay.port}"))
    known = await onlooker.pages()
    left: set[str] = set()
    async with background_tab(connection, on_created=left.add, on_closed=left.discard) as tab:
        waiting = asyncio.create_task(forever(tab))
        await asyncio.sleep(0.05)
        relay.cut()
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionLost):
                await waiting
    await connection.aclose()
    assert left == await onlooker.pages() - known, "a tab whose end can not be known must not be reported as closed"
    for target_id in left:
        await onlooker.call("Target.closeTarget", targetId=target_id)


async def test_chrome_quitting_ends_everything() -> None:
    with Chromium() as victim:
        connection = await Connection.open(await discover(f"http://{victim.target}"))
        other = await Connection.open(await discover(f"http://{victim.target}"))
        waiting = asyncio.create_task(event(connection.root))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await other.root.call("Browser.close")
            with pytest.raises(ConnectionLost):
                await waiting
        await connection.aclose()
        await other.aclose()


async def test_closing_ends_everything_may_be_repeated_and_leaves_chrome_alone(
    chromium: Chromium, onlooker: Onlooker
) -> None:
    connection = await Connection.open(await discover(f"http://{chromium.target}"))
    waiting = asyncio.create_task(event(connection.root))
    await asyncio.sleep(0)
    await asyncio.gather(connection.aclose(), connection.aclose())
    with pytest.raises(ConnectionLost, match=r"the connection to Chrome ended \(1000: closed by castlenb\)"):
        await waiting
    with pytest.raises(ConnectionLost, match="closed by castlenb"):
        await connection.root.call("Browser.getVersion")
    with pytest.raises(ConnectionLost):
        await connection.session("late", "target").call("Page.enable")
    await connection.aclose()
    assert connection._websocket.state.name == "CLOSED"
    assert await onlooker.pages()


# Is anybody there


async def test_a_socket_heard_from_just_now_is_not_asked(connection: Connection) -> None:
    await connection.root.call("Browser.getVersion")
    before = connection._last_id
    await connection.verify_alive()
    assert connection._last_id == before


async def test_an_idle_socket_is_asked(connection: Connection) -> None:
    connection._heard = time.time() - 6
    await connection.verify_alive()
    assert time.time() - connection._heard < 5


async def test_an_idle_socket_that_does_not_answer_is_given_up(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROBE_S", 0.2)
    connection = await Connection.open(await discover(f"http://127.0.0.1:{relay.port}"))
    relay.dead = True
    connection._heard = time.time() - 6
    waiting = asyncio.create_task(connection.root.call("Target.getTargets", timeout=60))
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        with pytest.raises(ConnectionLost, match=r"Browser\.getVersion was not answered"):
            await connection.verify_alive()
        with pytest.raises(ConnectionLost):
            await waiting
        with pytest.raises(ConnectionLost):
            await connection.verify_alive()
        await connection.aclose()


async def test_a_stopped_chrome_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel still takes what is sent; only an answer shows that somebody is there."""
    monkeypatch.setattr(module, "PROBE_S", 0.2)
    with Chromium() as victim:
        connection = await Connection.open(await discover(f"http://{victim.target}"))
        os.kill(victim.pid, signal.SIGSTOP)
        connection._heard = time.time() - 6
        async with asyncio.timeout(10):
            with pytest.raises(ConnectionLost):
                await connection.verify_alive()
            await connection.aclose()
        os.kill(victim.pid, signal.SIGCONT)
