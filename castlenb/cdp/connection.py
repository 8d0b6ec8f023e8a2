"""One socket to Chrome, one reader, and the sessions that share them.

:class:`Connection` owns the WebSocket and the only task that reads it. :class:`Session` is the conversation with one
target or, as ``connection.root``, with the browser itself.

Two rules carry the rest. The reader never waits: it parses a frame, sets futures and runs plain functions, so nobody's
code can hold up anybody else, and pongs are always read. And whatever waits, waits in one map, so that there is one
place where an answer, a closed tab, a crash or a lost socket ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import errors
from ..errors import CastleError, ConnectionLost, Misuse, TabClosed
from .endpoint import Endpoint, is_loopback, shown

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

Json = dict[str, Any]
T = TypeVar("T")

CONSENT_S = 120.0  # 60 s were not enough for a person to find the dialog (chrome-devtools-mcp#2778)
WAITING_S = 3.0
IDLE_S = 5.0
PROBE_S = 2.0
LARGEST_MESSAGE = 100 * 2**20  # above it Chrome drops the socket without a word (measured on Chromium 156)
LARGEST_ID = 2**31 - 1  # a larger one is answered by an error without an id (measured on Chromium 156)

log = logging.getLogger("castlenb.cdp")


class Connection:
    """An open DevTools socket: ``root`` is the browser's session, ``lost`` why it ended (``None`` while it is open)."""

    def __init__(self, websocket: ClientConnection) -> None:
        self.lost: ConnectionLost | None = None
        self.root = Session(self, None, "")
        self._loop = asyncio.get_running_loop()
        self._websocket = websocket
        self._sessions: dict[str, Session] = {}
        self._waits: dict[int, Wait] = {}
        self._alarm = math.inf
        self._last_id = 0
        self._heard = time.time()
        self._closing: asyncio.Task[None] | None = None
        self._reader = asyncio.create_task(self._read(), name="castlenb cdp reader")

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint | str,
        *,
        open_timeout: float | None = None,
        trust_env: bool = False,
        on_waiting: Callable[[], None] | None = None,
    ) -> Connection:
        """Open the one socket that everything shares. Cancelling is safe.

        Args:
            endpoint: what ``discover`` found, or a ``ws(s)://`` URL, used as it is.
            open_timeout: seconds for the handshake; 10, or 120 where a person has to allow it first.
            trust_env: whether the environment's proxies may be used; never for this machine's own addresses.
            on_waiting: called after 3 s of waiting for that person.

        Raises EndpointUnreachable, EndpointRefused and NotDevTools, as ``discover`` does.
        """
        # Here, because it costs a tenth of a second, which `import castlenb` does not have.
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

        class Connect(connect):
            def process_redirect(self, exc: Exception) -> Exception | str:
                return exc  # the token in the query is meant for this host alone

        endpoint = Endpoint(endpoint) if isinstance(endpoint, str) else endpoint
        url, consent = endpoint.websocket_url, endpoint.consent_expected
        seconds = open_timeout or (CONSENT_S if consent else 10.0)
        nearby = is_loopback(url)
        notice = asyncio.get_running_loop().call_later(WAITING_S, on_waiting) if consent and on_waiting else None
        try:
            websocket = await Connect(
                url,
                compression=None,  # 18.8 MB: 1.90 s deflated, 0.48 s plain (measured on Chromium 156)
                max_size=None,  # the default of 1 MiB would end the connection, and every tab's session with it
                max_queue=None,  # a full queue would stop the reading, pongs included; our reader never lags
                write_limit=LARGEST_MESSAGE,  # sending never waits, so the timeout of a call covers all of it
                open_timeout=seconds,
                close_timeout=1,
                ping_interval=20,
                ping_timeout=None if nearby else 60,
                proxy=True if trust_env and not nearby else None,
            )
        except InvalidStatus as exc:
            status, body = exc.response.status_code, bytes(exc.response.body or b"")
            raise errors.EndpointRefused(url, "the WebSocket handshake", status, shown(body)) from exc
        except (InvalidHandshake, InvalidURI) as exc:
            raise errors.NotDevTools(
                url, f"what answers there does not speak WebSocket ({errors.redact(str(exc))})"
            ) from exc
        except TimeoutError as exc:
            nobody = ": nobody clicked Allow in Chrome's dialog, which a headless one can not show" if consent else ""
            raise errors.EndpointUnreachable(url, f"no WebSocket handshake within {seconds:g} s{nobody}") from exc
        except OSError as exc:
            raise errors.EndpointUnreachable.at([url], exc) from exc
        finally:
            if notice is not None:
                notice.cancel()
        return cls(websocket)

    def session(self, session_id: str, target_id: str) -> Session:
        """The session of that id, the same object for as long as it lives."""
        if session_id not in self._sessions:
            self._sessions[session_id] = Session(self, session_id, target_id)
        return self._sessions[session_id]

    async def verify_alive(self) -> None:
        """Make sure that somebody is still there: raises ConnectionLost if the connection has ended, or does so now.

        A socket heard from within 5 s is taken to be alive. Else Chrome is asked for its version and has 2 s to answer.
        """
        # By the wall clock: the monotonic one may stand still while a laptop sleeps, and sockets die meanwhile.
        if self.lost is None and 0 <= time.time() - self._heard <= IDLE_S:
            return
        try:
            await self.root.call("Browser.getVersion", timeout=PROBE_S)
        except errors.ProtocolError:
            return  # a gateway that does not pass the question on has answered all the same
        except errors.CallTimeout as exc:
            lost = ConnectionLost(1006, f"Browser.getVersion was not answered within {PROBE_S:g} s")
            self._end(lost)
            raise lost from exc

    async def aclose(self) -> None:
        """Close the socket; Chrome and its tabs stay. Takes about a second at most, and may be repeated."""
        await asyncio.wait({self._end(ConnectionLost(1000, "closed by castlenb")), self._reader})

    def _end(self, why: ConnectionLost) -> asyncio.Task[None]:
        self._lose(why)
        if self._closing is None:
            self._closing = asyncio.create_task(self._websocket.close(), name="castlenb cdp close")
        return self._closing

    async def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        why = ConnectionLost(1006, "the reader was stopped")
        try:
            while True:
                frame = await self._websocket.recv(decode=False)
                self._heard = time.time()
                try:
                    self._receive(json.loads(frame))
                except Exception as exc:  # of the frame itself nothing is told: it can hold what somebody searched for
                    log.warning("a frame of %d bytes can not be understood (%s)", len(frame), type(exc).__name__)
        except ConnectionClosed as exc:
            said = exc.rcvd or exc.sent  # what we said, where they said nothing, tells why we closed
            why = ConnectionLost(said.code, said.reason) if said else ConnectionLost(1006, str(exc.__cause__ or ""))
        finally:
            self._lose(why)

    def _receive(self, message: Json) -> None:
        if (number := message.get("id")) is not None:
            # By id alone: an error that a session is gone does not name the session. An id that nobody waits for is
            # the late answer to a call that timed out or was cancelled.
            if (wait := self._waits.get(number)) is not None:
                error, result = message.get("error"), message.get("result") or {}
                if not isinstance(result if error is None else error, dict):
                    wait.settle(errors.ProtocolError(wait.label, 0, "the answer is none that DevTools gives"))
                elif error is None:
                    wait.settle(result)
                elif error.get("code") == -32001 and wait.session is not self.root:
                    self._lose_session(wait.session, TabClosed(wait.session.target_id))
                else:
                    said = error.get("code", 0), str(error.get("message", "")), error.get("data")
                    wait.settle(errors.ProtocolError(wait.label, *said))
        elif (method := message.get("method")) is None:
            log.warning("Chrome sent a frame with neither id nor method: %s", ", ".join(message) or "empty")
        elif to := self._sessions.get(message["sessionId"]) if "sessionId" in message else self.root:
            params = message.get("params") or {}
            if method == "Target.attachedToTarget":
                # Not where attachToTarget was called: this event, and others of the session, overtake that answer.
                self.session(params["sessionId"], params["targetInfo"]["targetId"])
            elif method == "Target.detachedFromTarget":
                # Comes at any end. Inspector.detached says "Render process gone" at an ordinary one, and is no help.
                if ended := self._sessions.pop(params["sessionId"], None):
                    self._lose_session(ended, TabClosed(ended.target_id))
            elif method == "Inspector.targetCrashed":
                self._lose_session(to, errors.TabCrashed(to.target_id))
            to._hear(method, params)

    def _lose_session(self, session: Session, why: CastleError) -> None:
        session.lost = session.lost or why
        for wait in self._waits.values():
            if wait.session is session:
                wait.settle(_another(session.lost))

    def _lose(self, why: ConnectionLost) -> None:
        if self.lost is None:
            self.lost = why
            for session in (self.root, *self._sessions.values()):
                self._lose_session(session, why)

    def _limit(self, wait: Wait, seconds: float) -> None:
        # One timer for all waits: a timer for each would be the dearest part of a call.
        wait.seconds, wait.deadline = seconds, self._loop.time() + seconds
        if wait.deadline < self._alarm:
            self._alarm = wait.deadline
            self._loop.call_at(self._alarm, self._ring)

    def _ring(self) -> None:
        now = self._loop.time()
        if now >= self._alarm:  # else an earlier one was set since
            for wait in self._waits.values():
                if wait.deadline <= now:
                    wait.settle(errors.CallTimeout(wait.label, wait.seconds))
            self._alarm = min((wait.deadline for wait in self._waits.values() if wait.deadline > now), default=math.inf)
            if self._alarm < math.inf:
                self._loop.call_at(self._alarm, self._ring)


class Session:
    """The conversation with one target; for the browser itself ``session_id`` is ``None`` and ``target_id`` empty.

    ``lost`` is why it ended (TabClosed, TabCrashed or ConnectionLost), or ``None`` while it lives.
    """

    def __init__(self, connection: Connection, session_id: str | None, target_id: str) -> None:
        self.connection = connection
        self.session_id = session_id
        self.target_id = target_id
        self.lost: CastleError | None = connection.lost
        self._handlers: dict[str, tuple[Callable[[Json], object], ...]] = {}

    async def call(self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float = 10.0) -> Json:
        """Send one command and wait ``timeout`` seconds for its answer.

        Commands leave in the order in which their calls begin: ``asyncio.gather`` of several is one burst. Parameters
        that are ``None`` are left out; Chrome rejects them. Cancelling is safe, though Chrome may still do it.

        Raises ProtocolError for an error that Chrome answers with; CallTimeout; TabClosed, TabCrashed or ConnectionLost
        if who should answer is gone; and Misuse for parameters that Chrome could not read.
        """
        message: Json = {"id": 0, "method": method}
        if params:
            message["params"] = {name: value for name, value in params.items() if value is not None}
        if self.session_id is not None:
            message["sessionId"] = self.session_id
        message["id"], wait = self._wait(method)
        try:
            text = _encoded(message)
            self.connection._limit(wait, timeout)
            try:
                await self.connection._websocket.send(text)
            except Exception as exc:
                log.debug("%s was not sent (%r); the reader will say why, once it has read the rest", method, exc)
            outcome = await wait.future
        finally:
            del self.connection._waits[message["id"]]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def evaluate(
        self, expression: str, *, context_id: int, await_promise: bool = False, timeout: float = 10.0
    ) -> Any:
        """Run JavaScript in a world of the page (see ``Tab.world``); returns a copy of its value, as from JSON.

        What has no such copy becomes ``{}`` or a ProtocolError: better return a string. ``undefined`` is ``None``.
        Raises ScriptError where it throws or its promise is rejected, ProtocolError where the page goes elsewhere.
        """
        wish = {"expression": expression, "contextId": context_id, "awaitPromise": await_promise, "returnByValue": True}
        answer = await self.call("Runtime.evaluate", wish, timeout=timeout)
        if "exceptionDetails" in answer:
            raise errors.ScriptError(told(answer, "exceptionDetails", "Runtime.evaluate", dict))
        result = told(answer, "result", "Runtime.evaluate", dict)
        if not isinstance(special := result.get("unserializableValue"), str):
            return result.get("value")
        try:
            return int(special[:-1]) if special.endswith("n") else float(special)  # a bigint; or NaN, Infinity, -0
        except ValueError as exc:
            raise errors.ProtocolError("Runtime.evaluate", 0, "its answer is no number") from exc

    def on(self, method: str, handler: Callable[[Json], object]) -> Callable[[], None]:
        """Run ``handler(params)`` at every such event of this session; returns the function that ends it.

        The handler runs inside the reader, so it must not block. What it raises is logged.
        """
        entry = functools.partial(handler)  # distinct, also where the same handler is added twice
        self._handlers[method] = (*self._handlers.get(method, ()), entry)

        def stop() -> None:
            self._handlers[method] = tuple(kept for kept in self._handlers[method] if kept is not entry)

        return stop

    @contextlib.asynccontextmanager
    async def expect(
        self, *methods: str, where: Callable[[Json], bool] | None = None, timeout: float = 10.0
    ) -> AsyncIterator[Wait]:
        """Act in the block, then wait ``timeout`` seconds for an event that this causes, then read ``got.params``.

            async with session.expect("Page.loadEventFired") as got:
                await session.call("Page.reload")

        It listens before the block runs, so that an event that comes at once is not missed. The first of any of
        ``methods`` counts for which ``where(params)`` holds; without methods, only the end of the session is waited
        for. Raises CallTimeout, or what the session was lost of.
        """
        number, wait = self._wait(" or ".join(methods) or "the end of the session")

        def offer(method: str, params: Json) -> None:
            if not wait.method and (where is None or where(params)):
                wait.method, wait.params = method, params
                wait.settle({})

        stops = [self.on(method, functools.partial(offer, method)) for method in methods]
        try:
            yield wait
            self.connection._limit(wait, timeout)
            outcome = await wait.future
        finally:
            del self.connection._waits[number]
            for stop in stops:
                stop()
        if isinstance(outcome, BaseException):
            raise outcome

    def _wait(self, label: str) -> tuple[int, Wait]:
        if self.lost is not None:
            raise _another(self.lost)
        connection = self.connection
        connection._last_id = number = connection._last_id % LARGEST_ID + 1
        connection._waits[number] = wait = Wait(self, label, connection._loop.create_future())
        return number, wait

    def _hear(self, method: str, params: Json) -> None:
        for handler in self._handlers.get(method, ()):
            try:
                handler(params)
            except (Exception, asyncio.CancelledError):  # the latter from looking into a cancelled future
                log.exception("a handler of %s failed", method)


def told(answer: Json, name: str, method: str, kind: type[T]) -> T:
    """What an answer says under that name. Raises ProtocolError where it says nothing of the kind."""
    if not isinstance(said := answer.get(name), kind):
        raise errors.ProtocolError(method, 0, f"its answer has no {name}")
    return said


@dataclasses.dataclass(slots=True, eq=False)
class Wait:
    """A command, or an expected event, that somebody waits for; ``method`` and ``params`` are those of the event."""

    session: Session
    label: str
    future: asyncio.Future[Json | CastleError]
    seconds: float = math.inf
    deadline: float = math.inf
    method: str = ""
    params: Json = dataclasses.field(default_factory=dict)

    def settle(self, outcome: Json | CastleError) -> None:
        # Failures travel as results: asyncio would complain that an exception was never retrieved, where it was set for
        # a waiter that was cancelled just then.
        if not self.future.done():
            self.future.set_result(outcome)


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _encoded(message: Json) -> str:
    try:
        text = _encode(message)
    except (TypeError, ValueError) as exc:
        raise Misuse(f"{message['method']}: these parameters can not be sent: {exc}") from exc
    if len(text) > LARGEST_MESSAGE:  # all of it is ASCII: characters are bytes
        raise Misuse(f"{message['method']}: {len(text)} bytes are more than Chrome takes in one message (100 MiB)")
    return text


def _another(lost: CastleError) -> CastleError:
    # One for each waiter: an exception raised in several tasks collects the tracebacks of all.
    return type(lost)(*lost.args)
