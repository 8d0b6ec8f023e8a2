"""A real Chromium for the run; a second client that counts; and, where no Chromium can be made to misbehave, a peer."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

import castlenb.cdp.tab as tab_module
from castlenb.cdp import Connection, Session, Tab, discover
from castlenb.lab.chromium import Chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


@pytest.fixture
async def connection(
    chromium: Chromium, onlooker: Onlooker, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connection]:
    """A connection to the Chromium; a test that leaves a tab open fails.

    A closing is waited for as long as it takes: how long depends on who else uses the machine.
    """
    monkeypatch.setattr(tab_module, "CLOSE_S", 60)
    before = await onlooker.pages()
    connection = await Connection.open(await discover(f"http://{chromium.target}"))
    yield connection
    await connection.aclose()
    assert await onlooker.pages() == before, "tabs left open"


@pytest.fixture
async def onlooker(chromium: Chromium) -> AsyncIterator[Onlooker]:
    endpoint = await discover(f"http://{chromium.target}")
    async with connect(endpoint.websocket_url, compression=None, max_size=None, proxy=None) as websocket:
        yield Onlooker(websocket)


class Onlooker:
    """Another client of the same Chromium, that shares no code with ours."""

    def __init__(self, websocket: ClientConnection) -> None:
        self._websocket = websocket
        self._ids = itertools.count(1)

    async def call(self, method: str, session_id: str | None = None, **params: Any) -> dict[str, Any]:
        message = {"id": next(self._ids), "method": method, "params": params}
        await self._websocket.send(json.dumps(message | ({"sessionId": session_id} if session_id else {})))
        while True:
            answer: dict[str, Any] = json.loads(await self._websocket.recv())
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def targets(self) -> dict[str, dict[str, Any]]:
        """Every page, by its target id."""
        infos = (await self.call("Target.getTargets"))["targetInfos"]
        return {info["targetId"]: info for info in infos if info["type"] == "page"}

    async def pages(self) -> set[str]:
        return set(await self.targets())

    async def gone(self, target_id: str) -> None:
        """Return once that page is gone."""
        for _ in range(300):
            if target_id not in await self.pages():
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{target_id} is still open")


async def ask(tab: Tab, expression: str, **options: Any) -> Any:
    return await tab.session.evaluate(expression, context_id=await tab.world("test"), **options)


async def loaded(tab: Tab, url: str) -> None:
    async with tab.session.expect("Page.loadEventFired"):
        await tab.navigate(url)


NEVER = "new Promise(() => 0)"


async def forever(tab: Tab) -> None:
    """A call that Chrome will not answer by itself."""
    await tab.session.evaluate(NEVER, context_id=await tab.world("test"), await_promise=True, timeout=30)


async def event(session: Session) -> None:
    """An event that never comes."""
    async with session.expect("Never.comes", timeout=30):
        pass


def waits(connection: Connection) -> int:
    """How many calls and expected events are still on the books."""
    return len(connection._waits)


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(answer: Answer, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """The port of a server that does this for each client, then hangs up; what still runs at the end is cut off."""
    serving: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving[task] = writer
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await answer(reader, writer)
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    async with await asyncio.start_server(serve_one, host, 0) as server:
        yield server.sockets[0].getsockname()[1]
        for writer in serving.values():
            writer.transport.abort()
        await asyncio.gather(*serving)


class Site:
    """A web server on loopback whose pages are bytes, as they go over the wire."""

    def __init__(self) -> None:
        self.port = 0
        self.hanging = asyncio.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().lstrip("/")
        if path == "hangs":  # headers that never come
            self.hanging.set()
            await reader.read()
        else:
            writer.write(PAGES.get(path, _page(404, b"no such page")))
            await writer.drain()


def _page(status: int, body: bytes, *headers: str, kind: str = "text/html; charset=utf-8") -> bytes:
    lines = [f"HTTP/1.1 {status} Some", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


PAGES = {
    "plain": _page(200, b"<title>plain</title><p>plain"),
    "other": _page(200, b"<title>other</title><p>other"),
    "missing": _page(404, b"<title>missing</title>nothing here"),
    "nothing": _page(404, b""),
    "failed": _page(500, b""),
    "limited": _page(429, b"<title>limited</title>too fast"),
    "no-content": b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    "file": _page(200, b"data", "Content-Disposition: attachment; filename=file.bin", kind="application/octet-stream"),
    "loop": _page(302, b"", "Location: /loop"),
    "moves": _page(200, b"<title>moves</title><script>location.replace('/plain')</script>"),
    "alerts": _page(200, b"<title>alerts</title><script>document.title = 'said ' + confirm('?')</script>"),
    "clings": _page(200, b"<title>clings</title><button>x</button><script>onbeforeunload = e => '?'</script>"),
    "csp": _page(200, b"<title>csp</title>", "Content-Security-Policy: default-src 'none'"),
}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    found = Site()
    async with listening(found.answer) as found.port:
        yield found


class Peer:
    """What answers in place of a Chrome: a WebSocket on loopback, played by the test."""

    def __init__(self, websocket: ServerConnection) -> None:
        self.websocket = websocket

    async def heard(self) -> dict[str, Any]:
        """The next command."""
        return json.loads(await self.websocket.recv())  # type: ignore[no-any-return]

    async def say(self, **message: Any) -> None:
        await self.websocket.send(json.dumps(message))

    async def answers(self, **results: dict[str, Any]) -> None:
        """Answer commands until the client goes, with the result of their method (dots as underscores) or ``{}``."""
        async for frame in self.websocket:
            command = json.loads(frame)
            await self.say(id=command["id"], result=results.get(command["method"].replace(".", "_"), {}))


Part = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def peer(part: Part, **options: Any) -> AsyncIterator[str]:
    """The ``ws://`` URL of a peer that plays ``part`` to each client. What the part raises fails the test."""
    failures: list[BaseException] = []

    async def play(websocket: ServerConnection) -> None:
        try:
            await part(Peer(websocket))
        except ConnectionClosed:
            pass  # the client has gone
        except Exception as exc:
            failures.append(exc)

    async with serve(play, "127.0.0.1", 0, compression=None, max_size=None, **options) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/devtools/browser/it"
    assert not failures, failures


@contextlib.asynccontextmanager
async def connected(part: Part) -> AsyncIterator[Connection]:
    """A connection to a peer that plays ``part``."""
    async with peer(part) as url:
        connection = await Connection.open(url)
        try:
            yield connection
        finally:
            await connection.aclose()


class Relay:
    """A wire to the Chromium that can be cut, or go dead."""

    def __init__(self, to: int) -> None:
        self.port = 0
        self.to = to
        self.accepted = 0
        self.sent = b""
        self.dead = False
        self._ends: list[asyncio.StreamWriter] = []

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        self._ends += [writer, far_writer]
        try:
            await asyncio.gather(self._pump(reader, far_writer, outward=True), self._pump(far_reader, writer))
        finally:
            far_writer.transport.abort()

    def cut(self) -> None:
        for writer in self._ends:
            writer.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, outward: bool = False) -> None:
        while data := await reader.read(2**16):
            self.sent += data if outward else b""
            if not self.dead:
                writer.write(data)
        writer.transport.abort()


@pytest.fixture
async def relay(chromium: Chromium) -> AsyncIterator[Relay]:
    found = Relay(chromium.port)
    async with listening(found.carry) as found.port:
        yield found


def resolve_as_loopback(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let that name, and no other, resolve to 127.0.0.1, without asking anybody."""
    getaddrinfo = socket.getaddrinfo

    def lookup(host: str | bytes | None, *args: object, **options: object) -> object:
        said = host.decode() if isinstance(host, bytes) else host
        if said == name:
            host = "127.0.0.1"
        elif said is not None and said.endswith(".example"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return getaddrinfo(host, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
