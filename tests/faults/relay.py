"""A wire to a Chromium on which every frame is kept, and something can happen at any step."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

from websockets.asyncio.client import connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

Act = Callable[[], object]


class Relay:
    """Answers as a Chrome's DevTools would, on a thread of its own, and passes everything on to the real one.

    Attributes:
        port: on 127.0.0.1; its own.
        said: every frame of every client's, in order.
        heard: every frame of Chrome's.
        discovery: in place of the answer to ``/json/version``: given the true one, it returns status and body, or takes
            its time; ``None`` passes the true one on.
        mute: nothing is passed on any more, in either direction.
        into: frames that Chrome has not sent and the client is to get, before the next true one.
    """

    def __init__(self, chromium_port: int) -> None:
        self.port = 0
        self.said: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []
        self.heal()
        self._chromium_port = chromium_port
        self._pairs: set[Any] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="relay")

    def heal(self) -> None:
        """From now on everything is passed on."""
        self.discovery: Callable[[bytes], Awaitable[tuple[int, bytes]]] | None = None
        self.mute = False
        self.into: list[str] = []
        self._plan: tuple[str, str, Act] | None = None

    def at(self, method: str, act: Act, when: str = "sent") -> None:
        """Once, as the client's next command of that name comes by, or its answer (``when="answered"``): do that, with
        the frame held back meanwhile."""
        self._plan = method, when, act

    def cut(self) -> None:
        """Aborts every connection, as a cable that is pulled."""
        self._loop.call_soon_threadsafe(lambda: [end.transport.abort() for end in self._pairs])

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._run(self._serve())
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def close() -> None:
            self._server.close()
            for end in list(self._pairs):
                end.transport.abort()
            await self._server.wait_closed()

        self._run(close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _serve(self) -> Server:
        return await serve(
            self._carry, "127.0.0.1", 0, compression=None, max_size=None, process_request=self._ask, ping_interval=None
        )

    async def _ask(self, near: ServerConnection, request: Request) -> Response | None:
        def true() -> bytes:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._chromium_port}/json/version", timeout=5) as answer:
                return bytes(answer.read())

        try:
            status, body = 200, await asyncio.to_thread(true)
        except OSError:
            near.transport.abort()  # as from a port where nothing listens
            return None
        if not request.path.startswith("/json"):
            known = json.loads(body)["webSocketDebuggerUrl"].endswith(request.path)
            return None if known else Response(404, "Not Found", Headers({"Content-Length": "0"}), b"")
        if self.discovery is not None:
            status, body = await self.discovery(body)
        return Response(status, "Some", Headers({"Content-Length": str(len(body)), "Connection": "close"}), body)

    async def _carry(self, near: ServerConnection) -> None:
        assert near.request is not None
        try:
            url = f"ws://127.0.0.1:{self._chromium_port}{near.request.path}"
            async with connect(url, compression=None, max_size=None, proxy=None, ping_interval=None) as far:
                self._pairs |= {near, far}
                both = {asyncio.create_task(self._out(near, far)), asyncio.create_task(self._back(far, near))}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                for task in both:
                    task.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        except OSError:
            near.transport.abort()
        finally:
            self._pairs -= {near}

    async def _out(self, near: Any, far: Any) -> None:
        try:
            async for frame in near:
                command = json.loads(frame)
                self.said.append(command)
                await self._happens(command["method"], "sent")
                if not self.mute:
                    await far.send(frame)
        except ConnectionClosed:
            pass
        finally:
            far.transport.abort()

    async def _back(self, far: Any, near: Any) -> None:
        asked: dict[int, str] = {}
        try:
            async for frame in far:
                message = json.loads(frame)
                self.heard.append(message)
                if "id" in message:
                    asked = {each["id"]: each["method"] for each in self.said[-200:]}
                    await self._happens(asked.get(message["id"], ""), "answered")
                into, self.into = self.into, []
                for extra in into:
                    await near.send(extra)
                if not self.mute:
                    await near.send(frame)
        except ConnectionClosed:
            pass
        finally:
            near.transport.abort()

    async def _happens(self, method: str, when: str) -> None:
        if self._plan is not None and self._plan[:2] == (method, when):
            act, self._plan = self._plan[2], None
            await asyncio.to_thread(act)
            await asyncio.sleep(0.02)  # what it has done arrives first
