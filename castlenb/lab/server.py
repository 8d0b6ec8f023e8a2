"""The lab's HTTPS server: one loopback port that answers as every engine's host.

Chromium is made to come here by its resolver rules, so that addresses stay true. An engine is an object with a name,
its hosts and an ``answer()``; what it is given to answer with is a :class:`Reply`, which can do what servers do in
life: send in time, fall silent, reset.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import itertools
import json
import logging
import socket
import ssl
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qs, parse_qsl

from ..errors import LabError
from .scenario import Scenario
from .truth import Report

if TYPE_CHECKING:
    from tornado.httputil import HTTPServerRequest

HOSTS = (
    "www.google.com",
    "google.com",
    "consent.google.com",
    "www.bing.com",
    "search.brave.com",
    "html.duckduckgo.com",
    "duckduckgo.com",
)
"""Hosts the server answers for, whether an engine of the lab's is behind them or not; its engines may bring more."""

TRUTH_PATH = "/lab-truth"
"""Where pages report the instants of their parts; not in the log of requests."""

ICON_PATH = "/favicon.ico"
"""What Chrome asks of a new host now and then, for its own ends: there is none, and the log does not have it."""


@dataclass(frozen=True)
class Request:
    """One request as the server saw it.

    Attributes:
        id: counted from 1; a page with marks reports under it.
        at: when its headers had been read, seconds since 1970 (the machine's clock, as ``performance.timeOrigin`` is).
        method, host, path, query, body: as sent; of repeated parameters the last counts.
        target: path and query as they were sent.
        headers: names in lower case.
        port: the client's, by which connections can be told apart.
        scenario: name of what was played.
        report: what is known of when each part of the page was written, and was there.
    """

    id: int
    at: float
    method: str
    host: str
    path: str
    query: Mapping[str, str]
    target: str
    headers: Mapping[str, str]
    body: str
    port: int
    scenario: str
    report: Report = field(default_factory=Report, compare=False)

    @property
    def parts(self) -> list[tuple[str, float]]:
        """``[(part, ms), …]``, when each part of the page was there, on its own clock, as far as it has reported."""
        return [(mark.part, mark.ms) for mark in self.report.marks]

    @property
    def url(self) -> str:
        """The whole address."""
        return f"https://{self.host}{self.target}"

    def cookie(self, name: str) -> str | None:
        """Value of a cookie that was sent."""
        pairs = (pair.strip().partition("=") for pair in self.headers.get("cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), None)


class Engine(Protocol):
    """What stands behind some of the hosts."""

    name: str
    hosts: tuple[str, ...]

    def query_of(self, path: str, query: Mapping[str, str]) -> str:
        """The words a request is about, by which a scenario may have been chosen; empty where it has none."""

    async def answer(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        """Answer one request."""


class Gone(Exception):
    """The client left before the answer was complete."""


class Reply:
    """The answer to one request, to be sent in time.

    Every method that sends raises :class:`Gone` when the client has left.

    Attributes:
        started: what ``until()`` counts from, on ``time.perf_counter()``; may be set to another request's.
        begun: the headers have been sent.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        self._connection = cast(Any, request.connection)
        self.started = time.perf_counter()
        self._gone = asyncio.Event()
        self.begun = False
        self._connection.set_close_callback(self._gone.set)
        # Without this the second chunk of a page waits for the client's delayed acknowledgement of the first.
        self._connection.stream.set_nodelay(True)

    async def until(self, ms: float) -> None:
        """Wait until so many milliseconds after ``started``, which is when the request came in."""
        left = ms / 1000 - (time.perf_counter() - self.started)
        if left > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._gone.wait(), left)
        if self._gone.is_set():
            raise Gone

    async def begin(self, status: int = 200, headers: Iterable[tuple[str, str]] = (), first: bytes = b"") -> None:
        """Send status line and headers (and perhaps the first of the body)."""
        from tornado.httputil import HTTPHeaders, ResponseStartLine

        lines = HTTPHeaders()
        for name, value in headers:
            lines.add(name, value)
        for name, value in (("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", "private, max-age=0")):
            lines.setdefault(name, value)
        self.begun = True
        await self._sent(
            self._connection.write_headers(ResponseStartLine("", status, _REASONS.get(status, "Lab")), lines, first)
        )

    async def write(self, part: bytes) -> None:
        """Send a part of the body at once."""
        await self._sent(self._connection.write(part))

    def end(self) -> None:
        """Say that the body is complete."""
        with contextlib.suppress(Exception):
            self._connection.finish()

    async def send(self, status: int, text: str = "", headers: Iterable[tuple[str, str]] = ()) -> None:
        """A whole answer in one piece."""
        body = text.encode()
        length = () if status in (204, 304) else (("Content-Length", str(len(body))),)
        await self.begin(status, (*length, *headers), body)
        self.end()

    async def redirect(self, url: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        """A 302 with a page of one link, as servers send it."""
        await self.send(302, "<!doctype html><title>302 Moved</title><h1>302 Moved</h1>", (("Location", url), *headers))

    async def never(self) -> None:
        """Send nothing more until the client has had enough."""
        await self._gone.wait()
        raise Gone

    def reset(self) -> None:
        """Close the connection with an RST."""
        stream = self._connection.stream
        if stream.socket is not None:
            linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        stream.close()

    async def _sent(self, writing: Any) -> None:
        try:
            await writing
        except Exception as error:  # tornado's StreamClosedError, or what the TLS layer makes of it
            raise Gone from error


Choose = Callable[[Engine, str], Scenario]


class Server:
    """The server, on a thread and an event loop of its own.

    Args:
        engines: what it answers as.
        choose: which scenario is played for an engine and a query.

    Attributes:
        port: on 127.0.0.1.
        hosts: every name it answers to.
        trusted_key: base64 SHA-256 of its certificate's public key, for ``Chromium(trusted_keys=…)``.
        requests: all requests so far, in the order of their coming.
        errors: tracebacks of what an engine failed to answer.
    """

    def __init__(self, engines: Sequence[Engine], choose: Choose) -> None:
        self.port = 0
        self.trusted_key = ""
        self.requests: list[Request] = []
        self.errors: list[str] = []
        self._engines = {host: engine for engine in engines for host in engine.hosts}
        self.hosts = tuple(dict.fromkeys((*HOSTS, *self._engines)))
        self._choose = choose
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None

    @property
    def answering(self) -> int:
        """Requests that are being answered."""
        return len(self._tasks)

    @property
    def resolver_rules(self) -> str:
        """``--host-resolver-rules`` that send every host here, and every other name nowhere."""
        hosts = ", ".join(f"MAP {host} 127.0.0.1:{self.port}" for host in self.hosts)
        return f"{hosts}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"

    def start(self) -> None:
        """Start answering.

        Raises:
            LabError: no socket could be had.
        """
        import trustme

        leaf = trustme.CA().issue_cert(*self.hosts)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.configure_cert(self._tls)
        self.trusted_key = _key_hash(leaf.cert_chain_pems[0].bytes())
        try:
            self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        except OSError as refused:
            raise LabError(f"the lab's server got no socket: {refused}") from refused
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="castlenb-lab", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Drop every connection and end the thread; idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            thread.join(10.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _serve(self) -> None:
        from tornado.httpserver import HTTPServer

        server = HTTPServer(self._on_request, ssl_options=self._tls)
        server.add_sockets([self._socket])
        await self._stopping.wait()
        server.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(server.close_all_connections(), 2.0)

    def _on_request(self, incoming: HTTPServerRequest) -> None:
        self._keep(self._answer(incoming))

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, incoming: HTTPServerRequest) -> None:
        at = time.time()
        reply = Reply(incoming)
        request = None
        try:
            if incoming.path == TRUTH_PATH:
                self._note_truth(incoming.query, incoming.body)
                await reply.send(204)
                return
            if incoming.path == ICON_PATH:
                await reply.send(404)
                return
            engine = self._engines.get(incoming.host.partition(":")[0])
            request, scenario = self._read(incoming, at, engine)
            self.requests.append(request)
            if engine is None or scenario is None:
                await reply.send(501, f"<!doctype html><title>501</title>The lab does not play {request.host!r} yet.")
                return
            await engine.answer(request, reply, scenario)
        except Gone:
            if request is not None:  # what its page has reported last may be on its way
                self._loop.call_later(0.5, request.report.end)
        except Exception:
            self.errors.append(traceback.format_exc())
            _log.exception("the lab could not answer %s", incoming.uri)
            if reply.begun:
                reply.reset()
                return
            with contextlib.suppress(Gone):
                await reply.send(500, "<!doctype html><title>500</title>The lab failed; see its errors.")

    def _read(self, incoming: HTTPServerRequest, at: float, engine: Engine | None) -> tuple[Request, Scenario | None]:
        query = dict(parse_qsl(incoming.query, keep_blank_values=True))
        scenario = self._choose(engine, engine.query_of(incoming.path, query)) if engine else None
        socket_ = cast(Any, incoming.connection).stream.socket
        peer = socket_.getpeername() if socket_ else ("", 0)
        request = Request(
            id=next(self._ids),
            at=at,
            method=str(incoming.method),
            host=incoming.host.partition(":")[0],
            path=incoming.path,
            query=query,
            target=str(incoming.uri),
            headers={name.lower(): value for name, value in incoming.headers.get_all()},
            body=incoming.body.decode("utf-8", "replace"),
            port=peer[1],
            scenario=scenario.name if scenario else "",
        )
        return request, scenario

    def _note_truth(self, query: str, body: bytes) -> None:
        page = int(parse_qs(query)["page"][0])
        for request in reversed(self.requests):
            if request.id == page:
                request.report.note(json.loads(body))
                return


_log = logging.getLogger("castlenb.lab")
_REASONS = {
    200: "OK",
    204: "No Content",
    302: "Found",
    404: "Not Found",
    429: "Too Many Requests",
    501: "Not Implemented",
}


def _key_hash(pem: bytes) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = x509.load_pem_x509_certificate(pem).public_key()
    digest = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    return base64.b64encode(digest).decode()
