"""One socket to Chrome, one reader, and the sessions that share them.

:class:`Connection` owns the WebSocket and the only task that reads it. :class:`Session` is the conversation with one
target (or, as ``connection.root``, with the browser itself): it sends commands and listens to events.

Two rules carry the rest. The reader never waits: it parses a frame, sets futures and runs plain functions, so nothing
a caller does can hold up another caller, and pongs are always read. And everything that waits, waits in one map, so
there is one place where an answer, a closed tab, a crash or a lost socket ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from castlenb.cdp.endpoint import Endpoint, is_loopback, redact, refused, resolved, unreachable
from castlenb.errors import (
    CallTimeout,
    CastleError,
    ConnectionLost,
    EndpointUnreachable,
    Misuse,
    NotDevTools,
    ProtocolError,
    ScriptError,
    TabClosed,
    TabCrashed,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed

Handler = Callable[[dict[str, Any]], None]
Outcome = dict[str, Any] | BaseException

log = logging.getLogger("castlenb.cdp")

OPEN_S = 10.0
CONSENT_S = 120.0  # Chrome >= 144 asks the person in front of it; 60 s was too short (chrome-devtools-mcp#2778)
WAITING_S = 3.0
IDLE_S = 5.0
PROBE_S = 2.0
CLOSE_S = 1.0
LARGEST_MESSAGE = 100 * 2**20  # above it Chrome drops the socket without a word (measured on Chromium 156)
LARGEST_ID = 2**31 - 1  # a larger id is answered with an error that has no id (measured on Chromium 156)
SESSION_GONE = -32001


class Connection:
    """An open DevTools socket.

    Attributes:
        root: the session of the browser itself.
        lost: why the connection ended; ``None`` while it is open.
    """

    def __init__(self, websocket: ClientConnection, url: str, closed_error: type[ConnectionClosed]) -> None:
        self.root = Session(self, None, "")
        self.lost: ConnectionLost | None = None
        self._url = url
        self._websocket = websocket
        self._closed_error = closed_error
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[str, Session] = {}
        self._waits: dict[int, tuple[Session, str, asyncio.Future[Outcome]]] = {}
        self._last_id = 0
        self._heard = time.time()
        self._closing: asyncio.Task[None] | None = None
        self._reader = asyncio.create_task(self._read(), name="castlenb cdp reader")

    def __repr__(self) -> str:
        return f"<Connection {redact(self._url)} {self.lost or 'open'}>"

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint | str,
        *,
        open_timeout: float | None = None,
        trust_env: bool = False,
        on_waiting: Callable[[], None] | None = None,
    ) -> Connection:
        """Open the one socket that everything else shares. Cancelling is safe.

        Args:
            endpoint: what :func:`~castlenb.cdp.endpoint.discover` found, or a ``ws(s)://`` URL.
            open_timeout: seconds for the handshake; 10, or 120 where Chrome first asks the person in front of it.
            trust_env: whether the environment's proxies may be used (never for this machine's own addresses).
            on_waiting: told after 3 s of such asking, in one sentence, what has to be clicked.

        Raises:
            EndpointUnreachable: nothing listens there, or the handshake did not end in time.
            EndpointRefused: Chrome said no; its own words are in the message.
            NotDevTools: what answers speaks something else.
        """
        # Imported here because it costs a tenth of a second, which `import castlenb` does not have.
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidProxy, InvalidStatus, InvalidURI

        class Connect(connect):
            def process_redirect(self, exc: Exception) -> Exception | str:
                return exc  # the token in the query was given for this host alone

        if isinstance(endpoint, str):
            endpoint = Endpoint(await resolved(endpoint), {}, consent_expected=False)
        url, consent = endpoint.websocket_url, endpoint.consent_expected
        seconds = open_timeout or (CONSENT_S if consent else OPEN_S)
        nearby = is_loopback(url)
        notice = None
        if consent and on_waiting is not None:
            notice = asyncio.get_running_loop().call_later(WAITING_S, _tell, on_waiting)
        try:
            websocket = await Connect(
                url,
                compression=None,  # 18.8 MB: 1.90 s deflated, 0.48 s plain (measured on Chromium 156)
                max_size=None,  # the default of 1 MiB ends the connection, and every tab's session with it
                max_queue=None,  # a full queue stops the reading, pongs included; our reader never lags
                write_limit=LARGEST_MESSAGE,  # so that sending never waits, and a timeout covers all of a call
                open_timeout=seconds,
                close_timeout=CLOSE_S,
                ping_interval=20,
                ping_timeout=None if nearby else 60,
                proxy=True if trust_env and not nearby else None,
            )
        except InvalidStatus as exc:
            body = bytes(exc.response.body or b"")
            raise refused(url, "the WebSocket handshake", exc.response.status_code, body, consent) from exc
        except (InvalidURI, InvalidProxy) as exc:
            raise EndpointUnreachable(url, redact(str(exc))) from exc
        except InvalidHandshake as exc:
            raise NotDevTools(url, f"what answers there does not speak WebSocket ({exc})") from exc
        except TimeoutError as exc:
            asked = f". {_WHAT_TO_CLICK}; a headless Chrome can not show that question" if consent else ""
            raise EndpointUnreachable(url, f"the WebSocket handshake did not end within {seconds:g} s{asked}") from exc
        except OSError as exc:
            raise unreachable(url, exc) from exc
        finally:
            if notice is not None:
                notice.cancel()
        return cls(websocket, url, ConnectionClosed)

    def session(self, session_id: str, target_id: str) -> Session:
        """The session of that id; the same object as long as it lives."""
        found = self._sessions.get(session_id)
        if found is None:
            found = self._sessions[session_id] = Session(self, session_id, target_id)
            found.lost = self.lost
        return found

    async def verify_alive(self) -> None:
        """Make sure that somebody is still there, before building on it.

        A socket heard from within 5 s is taken as alive. An older one is asked for its version and given 2 s; if it
        stays silent the connection ends.

        Raises:
            ConnectionLost: it had ended, or it ended now.
        """
        # By the wall clock: the monotonic one stands still while a laptop sleeps, and sockets die then.
        if self.lost is None and 0 <= time.time() - self._heard <= IDLE_S:
            return
        try:
            await self.root.call("Browser.getVersion", timeout=PROBE_S)
        except CallTimeout as exc:
            self._end(1006, f"no answer to Browser.getVersion within {PROBE_S:g} s")
            assert self.lost is not None
            raise _again(self.lost) from exc

    async def aclose(self) -> None:
        """Close the socket, and nothing else: Chrome and its tabs stay. At most about a second; may be repeated."""
        await asyncio.shield(self._end(1000, "closed by castlenb"))

    def _end(self, code: int, reason: str) -> asyncio.Task[None]:
        self._lose(ConnectionLost(code, reason))
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="castlenb cdp close")
        return self._closing

    async def _close(self) -> None:
        await self._websocket.close()
        await asyncio.wait({self._reader})

    async def _read(self) -> None:
        code, reason = 1006, "the reader was stopped"
        try:
            while True:
                frame = await self._websocket.recv(decode=False)
                self._heard = time.time()
                self._receive(frame)
        except self._closed_error as exc:
            said = exc.rcvd or exc.sent
            code, reason = (said.code, said.reason) if said else (1006, str(exc.__cause__ or ""))
        finally:
            self._lose(ConnectionLost(code, reason))

    def _receive(self, frame: bytes) -> None:
        try:
            message = json.loads(frame)
            number = message.get("id")
            if number is not None:
                wait = self._waits.get(number)
                if wait is not None:  # else nobody waits any more: it timed out, or was cancelled
                    _settle(wait[2], _outcome(message, wait[0], wait[1]))
            elif "method" in message:
                self._dispatch(message["method"], message.get("params") or {}, message.get("sessionId"))
            else:
                log.warning("Chrome sent a frame with neither id nor method: %.500r", frame)
        except Exception as exc:
            log.warning("a frame from Chrome can not be read (%s): %.500r", exc, frame)
            # Valid JSON can still be nested too deeply for Python; whoever waits for it should not wait in vain.
            answer = re.match(rb'{"id":(\d+)', frame)
            if answer and (wait := self._waits.get(int(answer[1]))):
                _settle(wait[2], ProtocolError(wait[1], -32700, f"its answer can not be read: {exc}"))

    def _dispatch(self, method: str, params: dict[str, Any], session_id: str | None) -> None:
        session = self.root if session_id is None else self._sessions.get(session_id)
        if session is None:
            return  # a late event of a session that has ended
        if method == "Target.attachedToTarget":
            # Here, not where attachToTarget was called: this event and others of the session overtake that answer.
            self.session(params["sessionId"], params["targetInfo"]["targetId"])
        elif method == "Target.detachedFromTarget":
            self._drop(params["sessionId"])
        elif method == "Inspector.targetCrashed":
            self._lose_session(session, TabCrashed(session.target_id))
        session._event(method, params)

    def _drop(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._lose_session(session, TabClosed(session.target_id))

    def _lose_session(self, session: Session, why: TabClosed | TabCrashed) -> None:
        if session.lost is None:
            session.lost = why
            for waiting, _, future in self._waits.values():
                if waiting is session:
                    _settle(future, _again(why))

    def _lose(self, why: ConnectionLost) -> None:
        if self.lost is None:
            self.lost = why
            for session in (self.root, *self._sessions.values()):
                session.lost = session.lost or why
            for _, _, future in self._waits.values():
                _settle(future, _again(why))


class Session:
    """The conversation with one target.

    Attributes:
        target_id: DevTools target id; empty for the browser itself.
        session_id: ``None`` for the browser itself.
        lost: why the session ended (:class:`TabClosed`, :class:`TabCrashed`, :class:`ConnectionLost`), or ``None``.
    """

    def __init__(self, connection: Connection, session_id: str | None, target_id: str) -> None:
        self.connection = connection
        self.session_id = session_id
        self.target_id = target_id
        self.lost: CastleError | None = None
        self._handlers: dict[str, tuple[Handler, ...]] = {}

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float = 10.0
    ) -> dict[str, Any]:
        """Send one command and wait for its answer. Cancelling is safe; Chrome may still carry the command out.

        Commands leave in the order in which the calls began, so ``asyncio.gather`` of several is one burst.

        Args:
            method: such as ``Page.navigate``.
            params: its parameters; those that are ``None`` are left out, because Chrome rejects them.
            timeout: seconds.

        Raises:
            ProtocolError: Chrome answered with an error.
            CallTimeout: it did not answer in time.
            TabClosed, TabCrashed, ConnectionLost: who should have answered is gone.
            Misuse: the parameters can not be sent.
        """
        connection = self.connection
        number, future = self._wait(method)
        timer = connection._loop.call_later(timeout, _expire, future, method, timeout)
        try:
            message: dict[str, Any] = {"id": number, "method": method}
            if self.session_id is not None:
                message["sessionId"] = self.session_id
            if params:
                message["params"] = {name: value for name, value in params.items() if value is not None}
            # A closed socket is reported by the reader, which has what Chrome said before it closed.
            try:
                await connection._websocket.send(_encoded(message))
            except connection._closed_error:
                pass
            outcome = await future
        finally:
            timer.cancel()
            connection._waits.pop(number, None)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def evaluate(
        self, expression: str, *, context_id: int, await_promise: bool = False, timeout: float = 10.0
    ) -> Any:
        """Run JavaScript in one world of the page and return its value (``undefined`` is ``None``).

        Args:
            expression: its value is copied as JSON; a bare promise needs ``await_promise``.
            context_id: execution context, from :meth:`Tab.world <castlenb.cdp.tab.Tab.world>`.
            await_promise: wait for the promise that the expression gives.
            timeout: seconds.

        Raises:
            ScriptError: the script threw, or its promise was rejected.
            ProtocolError: also when the page went away meanwhile, and for values that have no copy.
        """
        answer = await self.call(
            "Runtime.evaluate",
            {"expression": expression, "contextId": context_id, "awaitPromise": await_promise, "returnByValue": True},
            timeout=timeout,
        )
        if "exceptionDetails" in answer:
            raise ScriptError(answer["exceptionDetails"])
        value = answer["result"]
        if "unserializableValue" in value:
            text = value["unserializableValue"]  # NaN, Infinity, -Infinity, -0, or a bigint
            return int(text[:-1]) if text.endswith("n") else float(text)
        return value.get("value")

    def on(self, method: str, handler: Handler) -> Callable[[], None]:
        """Run ``handler(params)`` on every such event of this session; returns the function that ends it.

        The handler runs inside the reader: it must not block. What it raises is logged.
        """
        self._handlers[method] = (*self._handlers.get(method, ()), handler)

        def stop() -> None:
            self._handlers[method] = tuple(kept for kept in self._handlers.get(method, ()) if kept is not handler)

        return stop

    @contextlib.asynccontextmanager
    async def expect(
        self, *methods: str, where: Callable[[dict[str, Any]], bool] | None = None, timeout: float = 10.0
    ) -> AsyncIterator[Expected]:
        """Act in the body, then wait for an event that the action causes.

        ::

            async with session.expect("Page.loadEventFired") as got:
                await session.call("Page.reload")
            got.params

        It listens before the body runs, so that an event that comes early is not missed.

        Args:
            methods: the first event among these counts.
            where: a test of its params; what the test raises is raised here.
            timeout: seconds of waiting after the body.

        Raises:
            CallTimeout: no such event came.
            TabClosed, TabCrashed, ConnectionLost: none can come any more.
        """
        got = Expected()
        label = " or ".join(methods)
        number, future = self._wait(label)

        def listener(method: str) -> Handler:
            def offer(params: dict[str, Any]) -> None:
                try:
                    if where is None or where(params):
                        _settle(future, {"method": method, "params": params})
                except Exception as exc:
                    _settle(future, exc)

            return offer

        stops = [self.on(method, listener(method)) for method in methods]
        try:
            yield got
            timer = self.connection._loop.call_later(timeout, _expire, future, label, timeout)
            try:
                outcome = await future
            finally:
                timer.cancel()
        finally:
            self.connection._waits.pop(number, None)
            for stop in stops:
                stop()
        if isinstance(outcome, BaseException):
            raise outcome
        got.method, got.params = outcome["method"], outcome["params"]

    def _wait(self, label: str) -> tuple[int, asyncio.Future[Outcome]]:
        if self.lost is not None:
            raise _again(self.lost)
        connection = self.connection
        connection._last_id = number = connection._last_id % LARGEST_ID + 1
        future: asyncio.Future[Outcome] = connection._loop.create_future()
        connection._waits[number] = (self, label, future)
        return number, future

    def _event(self, method: str, params: dict[str, Any]) -> None:
        for handler in self._handlers.get(method, ()):
            try:
                handler(params)
            except (Exception, asyncio.CancelledError):  # a handler that looks into a cancelled future raises the latter
                log.exception("a handler of %s failed", method)


class Expected:
    """The event that :meth:`Session.expect` waited for; filled in after the block.

    Attributes:
        method: which one it was.
        params: what it said.
    """

    method: str = ""
    params: dict[str, Any]


_WHAT_TO_CLICK = (
    "Chrome is asking whether to allow remote debugging: bring its window to the front and click Allow in that dialog"
)

_encoder = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def _encoded(message: dict[str, Any]) -> str:
    try:
        text = _encoder.encode(message)
    except (TypeError, ValueError) as exc:
        raise Misuse(f"{message['method']}: these parameters can not be sent: {exc}") from exc
    if len(text) > LARGEST_MESSAGE:  # characters are bytes here: all is ASCII
        raise Misuse(f"{message['method']}: {len(text)} bytes are more than Chrome accepts in one message (100 MiB)")
    return text


def _outcome(message: dict[str, Any], session: Session, method: str) -> Outcome:
    error = message.get("error")
    if error is None:
        return message.get("result") or {}
    code = error.get("code", 0)
    if code == SESSION_GONE and session.session_id is not None:
        session.connection._drop(session.session_id)
        return TabClosed(session.target_id)
    return ProtocolError(method, code, error.get("message", ""), error.get("data"))


def _settle(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    # Failures travel as results: an exception set on a future whose waiter was just cancelled would be reported
    # by asyncio as never retrieved.
    if not future.done():
        future.set_result(outcome)


def _expire(future: asyncio.Future[Outcome], method: str, seconds: float) -> None:
    _settle(future, CallTimeout(method, seconds))


def _again(lost: CastleError) -> CastleError:
    # Every waiter gets an exception of its own: a shared one would collect all their tracebacks.
    return type(lost)(*lost.args)


def _tell(listener: Callable[[], None]) -> None:
    try:
        listener()
    except Exception:
        log.exception("on_waiting failed")
