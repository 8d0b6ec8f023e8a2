"""What no Chromium can be made to do on demand: a peer on loopback does it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import castlenb.cdp.connection as module
import castlenb.cdp.tab as tab_module
from castlenb.cdp import Connection, Endpoint, background_tab
from castlenb.errors import (
    CallTimeout,
    ConnectionLost,
    EndpointRefused,
    EndpointUnreachable,
    NotDevTools,
    ProtocolError,
    TabClosed,
)

from .conftest import Peer, connected, listening, peer, resolve_as_loopback

# Frames


@pytest.mark.parametrize(
    "frame",
    [
        '{"error": {"code": -32700, "message": "JSON: invalid"}}',
        '{"result": {}}',
        '{"id": null, "method": null}',
        '{"id": 999, "result": {}}',
        '{"id": 0, "result": {}}',
        '{"id": "1", "result": {}}',
        '{"method": "Some.event"}',
        '{"method": "Some.event", "sessionId": "of nobody", "params": {}}',
        '{"method": "Target.detachedFromTarget", "params": {}}',
        '{"method": "Target.detachedFromTarget", "params": {"sessionId": "of nobody"}}',
        "[]",
        "7",
        "not JSON",
        "",
        b"\xff\xfe binary",
        '{"deep": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
async def test_the_reader_outlives_any_frame(frame: str | bytes) -> None:
    async def part(chrome: Peer) -> None:
        await chrome.websocket.send(frame)
        await chrome.answers(Browser_getVersion={"product": "still there"})

    async with connected(part) as connection:
        assert await connection.root.call("Browser.getVersion", timeout=5) == {"product": "still there"}


async def test_answers_find_their_callers_in_any_order() -> None:
    async def part(chrome: Peer) -> None:
        commands = [await chrome.heard() for _ in range(5)]
        for command in reversed(commands):
            await chrome.say(id=command["id"], result={"to": command["method"]})

    async with connected(part) as connection:
        found = await asyncio.gather(*(connection.root.call(f"Method.{n}", timeout=5) for n in range(5)))
        assert [one["to"] for one in found] == [f"Method.{n}" for n in range(5)]


async def test_what_is_sent() -> None:
    heard: list[Any] = []

    async def part(chrome: Peer) -> None:
        for _ in range(3):
            heard.append(await chrome.websocket.recv())
            await chrome.say(id=json.loads(heard[-1])["id"], result={})

    async with connected(part) as connection:
        await connection.root.call("Some.method")
        await connection.root.call("Some.method", {"none": None, "kept": {"none": None}, "text": "ü\ud800"})
        await connection.session("S", "T").call("Some.method", {})
    assert all(isinstance(frame, str) for frame in heard), "Chrome reads text frames"
    assert all(frame.isascii() for frame in heard), "half a surrogate pair can not be sent as UTF-8"
    assert [json.loads(frame) for frame in heard] == [
        {"id": 1, "method": "Some.method"},
        {"id": 2, "method": "Some.method", "params": {"kept": {"none": None}, "text": "ü\ud800"}},
        {"id": 3, "method": "Some.method", "sessionId": "S"},
    ]


async def test_an_error_shows_all_that_was_said() -> None:
    async def part(chrome: Peer) -> None:
        error = {"code": -32602, "message": "Invalid parameters", "data": "url: string value expected"}
        await chrome.say(id=(await chrome.heard())["id"], error=error)

    async with connected(part) as connection:
        with pytest.raises(ProtocolError) as caught:
            await connection.root.call("Page.navigate")
    assert str(caught.value) == "Page.navigate: Invalid parameters (-32602): url: string value expected"


async def test_a_flood_of_events_neither_blocks_the_reader_nor_loses_an_answer() -> None:
    async def part(chrome: Peer) -> None:
        command = await chrome.heard()
        for n in range(5000):
            await chrome.say(method="Flood.event", params={"n": n})
        await chrome.say(id=command["id"], result={})

    async with connected(part) as connection:
        seen: list[int] = []
        connection.root.on("Flood.event", lambda params: seen.append(params["n"]))
        await connection.root.call("Some.method", timeout=30)
        assert seen == list(range(5000)), "all that came before the answer was heard before it"


# Ends


@pytest.mark.parametrize("code", [1000, 1001, 1011])
async def test_however_the_socket_is_closed_what_waits_ends(code: int) -> None:
    async def part(chrome: Peer) -> None:
        await chrome.heard()
        await chrome.websocket.close(code, "the reason given")

    async with connected(part) as connection:
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionLost, match=rf"\({code}: the reason given\)"):
                await connection.root.call("Some.method", timeout=60)
        assert connection.lost is not None
        assert (connection.lost.code, connection.lost.reason) == (code, "the reason given")


async def test_an_answer_that_came_before_the_close_counts() -> None:
    async def part(chrome: Peer) -> None:
        await chrome.say(id=(await chrome.heard())["id"], result={"n": 1})
        await chrome.websocket.close()

    async with connected(part) as connection:
        assert await connection.root.call("Some.method") == {"n": 1}


async def test_a_frame_that_breaks_the_protocol_ends_the_connection_with_our_reason() -> None:
    async def part(chrome: Peer) -> None:
        await chrome.heard()
        chrome.websocket.transport.write(b"\xf1\x01x")  # reserved bits set

    async with connected(part) as connection:
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionLost, match="1002"):
                await connection.root.call("Some.method", timeout=60)


async def test_closing_is_bounded_when_the_other_side_says_nothing() -> None:
    release = asyncio.Event()

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from websockets.http11 import Request
        from websockets.server import ServerProtocol

        protocol = ServerProtocol()
        protocol.receive_data(await reader.readuntil(b"\r\n\r\n"))
        [request] = protocol.events_received()
        assert isinstance(request, Request)
        protocol.send_response(protocol.accept(request))
        writer.writelines(protocol.data_to_send())
        await release.wait()

    async with listening(deaf) as port:
        connection = await Connection.open(f"ws://127.0.0.1:{port}/")
        async with asyncio.timeout(5):
            await connection.aclose()
        assert connection._websocket.state.name == "CLOSED"
        release.set()


# The handshake


async def test_a_refused_handshake_shows_what_was_said() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b"Rejected an incoming WebSocket connection from the http://x origin."
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async with listening(refuse) as port:
        url = f"ws://127.0.0.1:{port}/devtools?token=secret"
        with pytest.raises(EndpointRefused, match=r"handshake was refused: HTTP 403 Rejected an incoming") as caught:
            await Connection.open(url)
    assert caught.value.status == 403
    assert "secret" not in str(caught.value)


async def test_a_redirect_is_not_followed() -> None:
    followed: list[str] = []

    async def elsewhere(chrome: Peer) -> None:
        followed.append("followed")

    async with peer(elsewhere) as other:

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {other}\r\nContent-Length: 0\r\n\r\n".encode())

        async with listening(redirect) as port:
            with pytest.raises(EndpointRefused, match="302"):
                await Connection.open(f"ws://127.0.0.1:{port}/")
    assert not followed


async def test_what_does_not_speak_websocket_is_no_devtools() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

    async with listening(greet) as port:
        with pytest.raises(NotDevTools, match="does not speak WebSocket"):
            await Connection.open(f"ws://127.0.0.1:{port}/")


async def test_nothing_there_is_unreachable() -> None:
    with pytest.raises(EndpointUnreachable, match=r"no connection to 127\.0\.0\.1:1 .*--user-data-dir"):
        await Connection.open("ws://127.0.0.1:1/")


async def test_no_origin_is_sent_and_nothing_is_compressed() -> None:
    async def part(chrome: Peer) -> None:
        assert chrome.websocket.request is not None
        assert "Origin" not in chrome.websocket.request.headers
        assert "Sec-WebSocket-Extensions" not in chrome.websocket.request.headers
        await chrome.answers()

    async with connected(part) as connection:
        await connection.root.call("Some.method")


async def test_pings_keep_the_line_and_only_a_distant_peer_has_to_answer_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine an event loop that was busy for a minute must not cost the connection."""
    resolve_as_loopback(monkeypatch, "castle.example")
    async with peer(Peer.answers) as url:
        for address, timeout in ((url, None), (url.replace("127.0.0.1", "castle.example"), 60)):
            connection = await Connection.open(address)
            assert (connection._websocket.ping_interval, connection._websocket.ping_timeout) == (20, timeout)
            await connection.aclose()


async def test_a_person_is_waited_for_and_the_caller_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_S", 0.05)
    told = asyncio.Event()

    async def consent(websocket: object, request: object) -> None:
        await told.wait()

    async with peer(Peer.answers, process_request=consent) as url:
        endpoint = Endpoint(url, {}, consent_expected=True)
        connection = await Connection.open(endpoint, on_waiting=told.set)
        assert await connection.root.call("Browser.getVersion") == {}
        await connection.aclose()


async def test_a_person_has_two_minutes_and_everybody_else_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (module.CONSENT_S, module.WAITING_S) == (120, 3)
    monkeypatch.setattr(module, "CONSENT_S", 0.2)
    monkeypatch.setattr(module, "WAITING_S", 0.01)
    hanging = asyncio.Event()

    async def hang(websocket: object, request: object) -> None:
        await hanging.wait()

    told: list[str] = []
    async with peer(Peer.answers, process_request=hang) as url:
        with pytest.raises(EndpointUnreachable, match=r"no WebSocket handshake within 0\.2 s: nobody clicked Allow"):
            await Connection.open(Endpoint(url, {}, consent_expected=True), on_waiting=lambda: told.append("person"))
        with pytest.raises(EndpointUnreachable, match=r"no WebSocket handshake within 0\.1 s$"):
            await Connection.open(url, open_timeout=0.1, on_waiting=lambda: told.append("nobody"))
        hanging.set()
    assert told == ["person"]


async def test_a_quick_handshake_tells_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_S", 1)
    told: list[str] = []
    async with peer(Peer.answers) as url:
        connection = await Connection.open(Endpoint(url, {}, True), on_waiting=lambda: told.append("told"))
        await asyncio.sleep(1.2)
        await connection.aclose()
    assert not told


async def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "WS_PROXY", "ws_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for trusting in (False, True):  # trusting or not: a proxy has no way to this machine's own addresses
        async with peer(Peer.answers) as url:
            connection = await Connection.open(url, trust_env=trusting)
            assert await connection.root.call("Browser.getVersion") == {}
            await connection.aclose()


# Tabs


async def test_a_chrome_without_a_window_is_asked_for_one_once() -> None:
    asked: list[dict[str, Any]] = []

    async def part(chrome: Peer) -> None:
        while True:
            command = await chrome.heard()
            asked.append(command)
            await chrome.say(id=command["id"], error={"code": -32000, "message": "no browser is open"})

    async with connected(part) as connection:
        with pytest.raises(ProtocolError, match="no browser is open"):
            async with background_tab(connection):
                pytest.fail("there is no tab")
    assert [command["params"] for command in asked] == [
        {"url": "about:blank", "background": True},
        {"url": "about:blank", "background": True, "newWindow": True},
    ]


async def test_another_refusal_of_a_tab_is_not_answered_with_a_window() -> None:
    asked: list[dict[str, Any]] = []

    async def part(chrome: Peer) -> None:
        while True:
            asked.append(command := await chrome.heard())
            await chrome.say(id=command["id"], error={"code": -32000, "message": "not allowed"})

    async with connected(part) as connection:
        with pytest.raises(ProtocolError, match="not allowed"):
            async with background_tab(connection):
                pytest.fail("there is no tab")
    assert len(asked) == 1


async def test_a_tab_that_comes_too_late_is_closed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab_module, "OPEN_S", 0.05)
    monkeypatch.setattr(tab_module, "CLOSE_S", 0.05)
    gave_up = asyncio.Event()
    closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def part(chrome: Peer) -> None:
        command = await chrome.heard()
        await gave_up.wait()
        await chrome.say(id=command["id"], result={"targetId": "late"})
        await chrome.say(id=(await chrome.heard())["id"], result={"sessionId": "S"})
        command = await chrome.heard()
        assert command["method"] == "Target.closeTarget"
        await chrome.say(id=command["id"], result={"success": True})
        await chrome.say(method="Target.detachedFromTarget", params={"sessionId": "S", "targetId": "late"})

    async with connected(part) as connection:
        with pytest.raises(CallTimeout, match=r"Target\.createTarget"):
            async with background_tab(connection, on_closed=closed.set_result):
                pytest.fail("there is no tab")
        gave_up.set()
        async with asyncio.timeout(5):
            assert await closed == "late"


async def test_a_closing_that_chrome_loses_is_repeated() -> None:
    closings = 0

    async def part(chrome: Peer) -> None:
        nonlocal closings
        answers: dict[str, Any] = {
            "Target.createTarget": {"targetId": "T"},
            "Target.attachToTarget": {"sessionId": "S"},
            "Page.createIsolatedWorld": {"executionContextId": 1},
        }
        async for frame in chrome.websocket:
            command = json.loads(frame)
            await chrome.say(id=command["id"], result=answers.get(command["method"], {}))
            if command["method"] == "Target.closeTarget":
                closings += 1
                if closings == 3:
                    await chrome.say(method="Target.detachedFromTarget", params={"sessionId": "other"})
                    await chrome.say(method="Target.detachedFromTarget", params={"sessionId": "S"})

    closed: list[str] = []
    async with connected(part) as connection:
        async with background_tab(connection, on_closed=closed.append):
            pass
        assert closings == 3
        assert closed == ["T"]


async def test_a_tab_that_will_not_close_is_not_reported_as_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tab_module, "CLOSE_AGAIN_S", (0.01, 0.01, 0.01))

    async def part(chrome: Peer) -> None:
        await chrome.answers(
            Target_createTarget={"targetId": "T"},
            Target_attachToTarget={"sessionId": "S"},
            Page_createIsolatedWorld={"executionContextId": 1},
        )

    closed: list[str] = []
    async with connected(part) as connection, background_tab(connection, on_closed=closed.append):
        pass
    assert closed == []
    assert "the tab T can not be closed" in caplog.text


async def test_a_tab_gone_before_we_attach_is_closed() -> None:
    closed: list[str] = []

    async def part(chrome: Peer) -> None:
        await chrome.say(id=(await chrome.heard())["id"], result={"targetId": "T"})
        while True:
            gone = {"code": -32602, "message": "No target with given id found"}
            await chrome.say(id=(await chrome.heard())["id"], error=gone)

    async with connected(part) as connection:
        with pytest.raises(TabClosed, match="T"):
            async with background_tab(connection, on_closed=closed.append):
                pytest.fail("there is no tab")
    assert closed == ["T"]
