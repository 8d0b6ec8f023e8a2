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
import functools
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import CastleError, ConnectionLost, Misuse, TabClosed
from .endpoint import Endpoint, is_loopback, redact, refused, unreachable

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

Handler = Callable[[dict[str, Any]], None]
Outcome = dict[str, Any] | BaseException

CONSENT_S = 120.0
"""For a handshake that a person has to allow; 60 s was not enough (chrome-devtools-mcp#2778)."""

WAITING_S = 3.0
IDLE_S = 5.0
PROBE_S = 2.0
LARGEST_MESSAGE = 100 * 2**20
"""Above it Chrome drops the socket without a word (measured on Chromium 156)."""

LARGEST_ID = 2**31 - 1
"""A larger id is answered by an error without an id (measured on Chromium 156)."""

log = logging.getLogger("castlenb.cdp")


class Connection:
    """An open DevTools socket.

    Attributes:
        root: the session of the browser itself.
        lost: why the connection ended; ``None`` while it is open.
    """

    def __init__(self, websocket: ClientConnection, url: str) -> None:
        self.lost: ConnectionLost | None = None
        self.root = Session(self, None, "")
        self._url = url
        self._websocket = websocket
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[str, Session] = {}
        self._waits: dict[int, tuple[Session, str, asyncio.Future[Outcome]]] = {}
        self._last_id = 0
        self._heard = time.time()
        self._closing: asyncio.Task[None] | None = None
        self._reader = asyncio.create_task(self._read(), name="castlenb cdp reader")

    def __repr__(self) -> str:
        return f"<Connection to {redact(self._url)}: {self.lost or 'open'}>"

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
            endpoint: what :func:`~castlenb.cdp.endpoint.discover` found, or a ``ws(s)://`` URL, used as it is.
            open_timeout: seconds for the handshake; 10, or 120 where a person has to allow it first.
            trust_env: whether the environment's proxies may be used; never for this machine's own addresses.
            on_waiting: called after 3 s of waiting for that person.

        Raises:
            EndpointUnreachable: nothing listens there, or the handshake did not end in time.
            EndpointRefused: Chrome said no; its own words are in the message.
            NotDevTools: what answers there speaks something else.
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
            raise refused(url, "the WebSocket handshake", status, body) from exc
        except (InvalidHandshake, InvalidURI) as exc:
            raise errors.NotDevTools(url, f"what answers there does not speak WebSocket ({redact(str(exc))})") from exc
        except TimeoutError as exc:
            problem = f"no WebSocket handshake within {seconds:g} s"
            if consent:
                problem += ": nobody clicked Allow in the dialog that Chrome shows (a headless one can not show it)"
            raise errors.EndpointUnreachable(url, problem) from exc
        except OSError as exc:
            raise unreachable([url], exc) from exc
        finally:
            if notice is not None:
                notice.cancel()
        return cls(websocket, url)

    def session(self, session_id: str, target_id: str) -> Session:
        """The session of that id, the same object for as long as it lives."""
        known = self._sessions.get(session_id)
        if known is None:
            known = self._sessions[session_id] = Session(self, session_id, target_id)
        return known

    async def verify_alive(self) -> None:
        """Make sure that somebody is still there, before building on it.

        A socket heard from within 5 s is taken to be alive. Else Chrome is asked for its version and has 2 s to answer.

        Raises:
            ConnectionLost: the connection had ended, or did so now.
        """
        # By the wall clock: the monotonic one may stand still while a laptop sleeps, and sockets die meanwhile.
        if self.lost is None and 0 <= time.time() - self._heard <= IDLE_S:
            return
        try:
            await self.root.call("Browser.getVersion", timeout=PROBE_S)
        except errors.CallTimeout as exc:
            lost = ConnectionLost(1006, f"Browser.getVersion was not answered within {PROBE_S:g} s")
            self._end(lost)
            raise lost from exc
        except errors.ProtocolError:
            return  # a gateway that does not pass the question on has answered all the same

    async def aclose(self) -> None:
        """Close the socket; Chrome and its tabs stay. Takes about a second at most, and may be repeated."""
        await asyncio.shield(self._end(ConnectionLost(1000, "closed by castlenb")))

    def _end(self, why: ConnectionLost) -> asyncio.Task[None]:
        self._lose(why)
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="castlenb cdp close")
        return self._closing

    async def _close(self) -> None:
        await self._websocket.close()
        await asyncio.wait({self._reader})

    async def _send(self, text: str) -> None:
        from websockets.exceptions import ConnectionClosed

        # A closed socket is the reader's to report: it still has to read what Chrome said before.
        with contextlib.suppress(ConnectionClosed):
            await self._websocket.send(text)

    async def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        why = ConnectionLost(1006, "the reader was stopped")
        try:
            while True:
                frame = await self._websocket.recv(decode=False)
                self._heard = time.time()
                try:
                    self._receive(json.loads(frame))
                except Exception:
                    log.exception("a frame that can not be understood: %.500r", frame)
        except ConnectionClosed as exc:
            said = exc.rcvd or exc.sent  # what we said, where they said nothing, tells why we closed
            why = ConnectionLost(said.code, said.reason) if said else ConnectionLost(1006, str(exc.__cause__ or ""))
        finally:
            self._lose(why)

    def _receive(self, message: dict[str, Any]) -> None:
        if (number := message.get("id")) is not None:
            # By id alone: an error that a session is gone does not name the session. An id that nobody waits for is
            # the late answer to a call that timed out or was cancelled.
            if (wait := self._waits.get(number)) is not None:
                session, method, future = wait
                error = message.get("error")
                if error is None:
                    _settle(future, message.get("result") or {})
                elif error.get("code") == -32001 and session is not self.root:
                    self._lose_session(session, TabClosed(session.target_id))
                else:
                    said = error.get("code", 0), error.get("message", ""), error.get("data")
                    _settle(future, errors.ProtocolError(method, *said))
        elif (method := message.get("method")) is None:
            log.warning("Chrome sent a frame with neither id nor method: %.500r", message)
        elif (to := self._sessions.get(message["sessionId"]) if "sessionId" in message else self.root) is not None:
            params = message.get("params") or {}
            if method == "Target.attachedToTarget":
                # Not where attachToTarget was called: this event, and others of the session, overtake that answer.
                self.session(params["sessionId"], params["targetInfo"]["targetId"])
            elif method == "Target.detachedFromTarget":
                # Also at an ordinary closing. Inspector.detached says "Render process gone" even then, and is no help.
                if ended := self._sessions.pop(params["sessionId"], None):
                    self._lose_session(ended, TabClosed(ended.target_id))
            elif method == "Inspector.targetCrashed":
                self._lose_session(to, errors.TabCrashed(to.target_id))
            to._hear(method, params)

    def _lose_session(self, session: Session, why: CastleError) -> None:
        session.lost = session.lost or why
        for waiting, _, future in self._waits.values():
            if waiting is session:
                _settle(future, _another(session.lost))

    def _lose(self, why: ConnectionLost) -> None:
        if self.lost is None:
            self.lost = why
            for session in (self.root, *self._sessions.values()):
                self._lose_session(session, why)


class Session:
    """The conversation with one target.

    Attributes:
        target_id: DevTools target id; empty for the browser itself.
        session_id: ``None`` for the browser itself.
        lost: why the session ended (TabClosed, TabCrashed or ConnectionLost); ``None`` while it lives.
    """

    def __init__(self, connection: Connection, session_id: str | None, target_id: str) -> None:
        self.connection = connection
        self.session_id = session_id
        self.target_id = target_id
        self.lost: CastleError | None = connection.lost
        self._handlers: dict[str, tuple[Handler, ...]] = {}

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float = 10.0
    ) -> dict[str, Any]:
        """Send one command and wait for its answer. Cancelling is safe; Chrome may carry the command out all the same.

        Commands leave in the order in which their calls begin: ``asyncio.gather`` of several is one burst.

        Args:
            method: such as ``Page.navigate``.
            params: those that are ``None`` are left out, because Chrome rejects them.
            timeout: seconds.

        Raises:
            ProtocolError: Chrome answered with an error.
            CallTimeout: no answer came in time.
            TabClosed, TabCrashed, ConnectionLost: who should have answered is gone.
            Misuse: Chrome could not read these parameters.
        """
        connection = self.connection
        with self._waiting(method) as (number, future):
            message: dict[str, Any] = {"id": number, "method": method}
            if params:
                message["params"] = {name: value for name, value in params.items() if value is not None}
            if self.session_id is not None:
                message["sessionId"] = self.session_id
            await connection._send(_encoded(message))
            return await _outcome(future, method, timeout)

    async def evaluate(
        self, expression: str, *, context_id: int, await_promise: bool = False, timeout: float = 10.0
    ) -> Any:
        """Run JavaScript in one world of the page; returns a copy of its value, ``None`` for ``undefined``.

        Args:
            expression: what to evaluate. What has no copy as JSON becomes ``{}`` or an error: better return a string.
            context_id: from :meth:`Tab.world <castlenb.cdp.tab.Tab.world>`.
            await_promise: wait for the promise that the expression gives.
            timeout: seconds.

        Raises:
            ScriptError: the script threw, or its promise was rejected.
            ProtocolError: such as: the page went elsewhere meanwhile.
        """
        wish = {"expression": expression, "contextId": context_id, "awaitPromise": await_promise, "returnByValue": True}
        answer = await self.call("Runtime.evaluate", wish, timeout=timeout)
        if "exceptionDetails" in answer:
            raise errors.ScriptError(answer["exceptionDetails"])
        value = answer["result"]
        if (special := value.get("unserializableValue")) is None:
            return value.get("value")
        return int(special[:-1]) if special.endswith("n") else float(special)  # a bigint; or NaN, Infinity, -0

    def on(self, method: str, handler: Handler) -> Callable[[], None]:
        """Run ``handler(params)`` at every such event of this session. Returns the function that ends it.

        The handler runs inside the reader, so it must not block. What it raises is logged.
        """
        self._handlers[method] = (*self._handlers.get(method, ()), handler)

        def stop() -> None:
            self._handlers[method] = tuple(kept for kept in self._handlers[method] if kept is not handler)

        return stop

    @contextlib.asynccontextmanager
    async def expect(
        self, *methods: str, where: Callable[[dict[str, Any]], bool] | None = None, timeout: float = 10.0
    ) -> AsyncIterator[Expected]:
        """Act in the block, then wait for an event that this causes.

        It listens before the block runs, so an event that comes at once is not missed::

            async with session.expect("Page.loadEventFired") as got:
                await session.call("Page.reload")
            got.params

        Args:
            methods: the first event of any of these counts.
            where: a test of its params; what the test raises is raised here.
            timeout: seconds to wait after the block.

        Raises:
            CallTimeout: no such event came in time.
            TabClosed, TabCrashed, ConnectionLost: none can come any more.
        """
        got = Expected()
        label = " or ".join(methods)
        with self._waiting(label) as (_, future), contextlib.ExitStack() as stack:

            def offer(method: str, params: dict[str, Any]) -> None:
                try:
                    if where is None or where(params):
                        _settle(future, {"method": method, "params": params})
                except Exception as exc:
                    _settle(future, exc)

            for method in methods:
                stack.callback(self.on(method, functools.partial(offer, method)))
            yield got
            vars(got).update(await _outcome(future, label, timeout))

    @contextlib.contextmanager
    def _waiting(self, label: str) -> Iterator[tuple[int, asyncio.Future[Outcome]]]:
        """A number and a future in the one map of waits, which ends with the answer, the session or the socket."""
        if self.lost is not None:
            raise _another(self.lost)
        connection = self.connection
        connection._last_id = number = connection._last_id % LARGEST_ID + 1
        future: asyncio.Future[Outcome] = connection._loop.create_future()
        connection._waits[number] = (self, label, future)
        try:
            yield number, future
        finally:
            del connection._waits[number]

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        for handler in self._handlers.get(method, ()):
            try:
                handler(params)
            except (Exception, asyncio.CancelledError):  # the latter from looking into a cancelled future
                log.exception("a handler of %s failed", method)


class Expected:
    """The event that :meth:`Session.expect` waited for, filled in after the block.

    Attributes:
        method: which one it was.
        params: what it said.
    """

    method: str
    params: dict[str, Any]


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def _encoded(message: dict[str, Any]) -> str:
    try:
        text = _encode(message)
    except (TypeError, ValueError) as exc:
        raise Misuse(f"{message['method']}: these parameters can not be sent: {exc}") from exc
    if len(text) > LARGEST_MESSAGE:  # all of it is ASCII: characters are bytes
        raise Misuse(f"{message['method']}: {len(text)} bytes are more than Chrome takes in one message (100 MiB)")
    return text


async def _outcome(future: asyncio.Future[Outcome], label: str, seconds: float) -> dict[str, Any]:
    timer = future.get_loop().call_later(seconds, _settle, future, errors.CallTimeout(label, seconds))
    try:
        outcome = await future
    finally:
        timer.cancel()
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _settle(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    # Failures travel as results: asyncio would report an exception that was set for a waiter cancelled just then as
    # "never retrieved".
    if not future.done():
        future.set_result(outcome)


def _another(lost: CastleError) -> CastleError:
    # One for each waiter: an exception raised in several tasks collects the tracebacks of all.
    return type(lost)(*lost.args)
