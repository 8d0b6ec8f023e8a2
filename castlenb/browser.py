"""The guest's manners: one socket to somebody's Chrome, two visits at a time, and a list of our own open tabs.

A Browser dials nothing until it is first used, resolves its endpoint anew on every connect (Chrome mints a new
websocket address at each launch), and reconnects on the next use when the socket was lost. It never tries another
Chrome than the one it was given.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from . import bridge, display, page
from .cdp.connection import Connection
from .cdp.endpoint import discover
from .cdp.tab import Tab, background_tab
from .errors import ConnectionLost, EndpointError, Misuse
from .target import Target, TargetLike, resolve_target

log = logging.getLogger("castlenb")

MAX_VISITS = 2
"""Visits at a time in one Chrome; more wait in line. Field notes, 2026-08-04: searching hard blocks the whole host."""


CONNECT_S = 20.0
"""How long connecting may take where no visit's deadline says otherwise."""


class Browser:
    """A Chrome that somebody else started, and our place in it.

    Made by :func:`castlenb.connect`; a context manager, plain or ``async``, that closes our socket and our tabs on the
    way out, never the Chrome. One Browser serves plain calls and coroutines, from any thread.

    Args:
        target: which Chrome; see :func:`castlenb.target.resolve_target`.
        max_visits: visits at a time; further ones queue.

    Attributes:
        target: the decision and who took it.
        version: what ``/json/version`` said at the last connect (``Browser``, ``Protocol-Version``, …); empty before.
    """

    def __init__(self, target: Target, *, max_visits: int = MAX_VISITS) -> None:
        if max_visits < 1:
            raise Misuse(f"max_visits has to be 1 or more, not {max_visits}")
        self.target = target
        self.max_visits = max_visits
        self.version: Mapping[str, str] = {}
        self._closed = False
        self._consent_expected = False
        self._start_over()

    def _start_over(self) -> None:
        """State that belongs to one event loop: a forked child gets a new one and must leave its parent's alone."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._slots = asyncio.Semaphore(self.max_visits)
        self._open_tabs: set[str] = set()

    @property
    def address(self) -> str:
        """The endpoint as it may be shown: tokens redacted."""
        return str(self.target)

    def __repr__(self) -> str:
        return f"Browser({self.address!r}{', closed' if self._closed else ''})"

    def _repr_html_(self) -> str:
        stands = self._connection is not None and self._connection.lost is None
        state = "closed" if self._closed else "connected" if stands else "not connected; connects when used"
        facts = [
            ("Chrome", self.address),
            ("decided by", self.target.decided_by),
            ("version", self.version.get("Browser", "")),
            ("state", state),
            ("visits at a time", self.max_visits),
        ]
        return display.facts_html([fact for fact in facts if fact[1]])

    async def open(self, *, timeout_s: float = CONNECT_S) -> float:
        """Connects, where no connection stands. Returns the seconds a person took to allow it, mostly 0.

        Chrome 144 and later can ask the person in front of it; that wait has a limit of its own, 120 s, beside
        ``timeout_s`` for all the rest.

        Raises:
            EndpointError: nothing answers, or not Chrome; the message names the target and who chose it.
            TimeoutError: the connection did not stand within ``timeout_s``.
        """
        asked = time.perf_counter()
        await self._connected(timeout_s)
        return time.perf_counter() - asked if self._consent_expected else 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """A place in line: one of ``max_visits``. Yields how long it was waited for, in milliseconds."""
        self._adopt_loop()
        asked = time.perf_counter()
        async with self._slots:
            yield (time.perf_counter() - asked) * 1000

    @asynccontextmanager
    async def tab(
        self, *, emulate_focus: bool = True, prepare: Sequence[tuple[str, dict[str, Any]]] = ()
    ) -> AsyncIterator[Tab]:
        """A background tab of our own, closed on every path; see :func:`castlenb.cdp.tab.background_tab`."""
        async with AsyncExitStack() as stack:
            try:
                tab = await stack.enter_async_context(self._tab(await self._connected(), emulate_focus, prepare))
            except ConnectionLost as gone:
                log.info("%s: %s; connecting anew", self.address, gone)  # recycled just now: nothing was opened yet
                tab = await stack.enter_async_context(self._tab(await self._connected(), emulate_focus, prepare))
            yield tab

    def _tab(
        self, connection: Connection, emulate_focus: bool, prepare: Sequence[tuple[str, dict[str, Any]]]
    ) -> AbstractAsyncContextManager[Tab]:
        return background_tab(
            connection,
            emulate_focus=emulate_focus,
            world=page.WORLD,
            prepare=prepare,
            on_created=self._open_tabs.add,
            on_closed=self._open_tabs.discard,
        )

    async def _connected(self, timeout_s: float = CONNECT_S) -> Connection:
        """The connection, known to be alive; a new one where the old is lost."""
        self._adopt_loop()
        async with self._connecting:
            if self._closed:
                raise Misuse("this Browser is closed; connect again")
            if self._connection is not None and self._connection.lost is None:
                try:
                    await self._connection.verify_alive()
                except ConnectionLost as gone:
                    log.info("%s: %s; connecting anew", self.address, gone)
                else:
                    return self._connection
            self._connection = await self._connect(timeout_s)
            return self._connection

    async def _connect(self, timeout_s: float) -> Connection:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                endpoint = await discover(self.target.address)
                self.version = endpoint.version
                self._consent_expected = endpoint.consent_expected
                if endpoint.consent_expected:
                    limit.reschedule(None)
                return await Connection.open(endpoint, on_waiting=self._tell_what_to_click)
        except EndpointError as failed:
            failed.decided_by = self.target.decided_by
            raise

    def _tell_what_to_click(self) -> None:
        log.warning(
            "%s: Chrome is asking the person in front of it whether to allow remote debugging; "
            "somebody has to click Allow there",
            self.address,
        )

    def _adopt_loop(self) -> None:
        running = asyncio.get_running_loop()
        if self._loop is not running:
            if self._loop is not None:
                self._start_over()
            self._loop = running

    async def aclose(self) -> None:
        """Closes our socket; idempotent. Our tabs are closed by the visits that own them."""
        await bridge.arun(self._close())

    def close(self) -> None:
        """As :meth:`aclose`, as a plain call."""
        bridge.run(self._close())

    async def _close(self) -> None:
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None and self._loop is asyncio.get_running_loop():
            await connection.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


_shared: dict[Target, Browser] = {}

BrowserLike = Browser | TargetLike
"""What ``browser=`` takes: a Browser, anything that names a Chrome, or ``None`` for the configured one."""


def browser_for(browser: BrowserLike) -> Browser:
    """The Browser itself, or the process's shared one for the Chrome that is named.

    Raises:
        TargetError: the name makes no sense.
    """
    if isinstance(browser, Browser):
        return browser
    target = resolve_target(browser)
    known = _shared.get(target)
    if known is None or known._closed:
        known = _shared[target] = Browser(target)
    return known
