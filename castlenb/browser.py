"""The guest's manners: one socket to somebody's Chrome, a turn for every visit, and a list of our own open tabs.

A Browser dials nothing until it is first used, resolves its endpoint anew on every connect (Chrome mints a new
websocket address at each launch), and reconnects on the next use when the socket was lost. It never tries another
Chrome than the one it was given. Turns, cool-downs and tabs are kept with every other castlenb on this machine, in
:mod:`castlenb.ledger`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from . import blocks, bridge, display, leftovers, pacing, page
from .addresses import Desk, desk_of
from .blocks import Block
from .cdp.connection import Connection
from .cdp.endpoint import discover
from .cdp.tab import Tab, background_tab
from .engines import ENGINES, engine
from .errors import ConnectionLost, EndpointError, Misuse, SearchTimeout
from .manners import Manners, Turn, manners_of
from .pacing import PaceLike
from .target import Target, TargetLike, resolve_target
from .turns import Granted, Wait, Wanted, claim, given_up, not_asked
from .unruly import kept_in_bounds

log = logging.getLogger("castlenb")

MAX_VISITS = 2
"""Visits at a time in one Chrome, all kernels and scripts of this machine together; more wait in line. Field notes,
2026-08-04: searching hard blocks the whole host."""

SAID_S = 1.0
"""A wait that is longer is told to whoever waits."""

CLOSING_S = 1.5
"""What closing the tabs of visits that are still under way may take, when their Browser is closed."""

CLOSE_AGAIN_S = 0.05
"""Before a tab that is still there is closed once more."""

CONNECT_S = 20.0
"""How long connecting may take where no visit's deadline says otherwise."""


class Browser:
    """A Chrome that somebody else started, and our place in it.

    Made by :func:`castlenb.connect`; a context manager, plain or ``async``, that closes our socket and our tabs on the
    way out, never the Chrome. One Browser serves plain calls and coroutines, from any thread.

    Args:
        target: which Chrome; see :func:`castlenb.target.resolve_target`.
        max_visits: visits at a time, those of other kernels and scripts in the same Chrome included; further ones
            queue.

    Attributes:
        target: the decision and who took it.
        version: what ``/json/version`` said at the last connect (``Browser``, ``Protocol-Version``, …); empty before.
        chrome_id: a digest of the address that Chrome minted at its launch: another one, another browser process. Of
            the last connect; empty before.
    """

    def __init__(self, target: Target, *, max_visits: int = MAX_VISITS) -> None:
        if max_visits < 1:
            raise Misuse(f"max_visits has to be 1 or more, not {max_visits}")
        self.target = target
        self.max_visits = max_visits
        self.version: Mapping[str, str] = {}
        self.chrome_id = ""
        self._process = os.getpid()
        self._closed = False
        self._consent_expected = False
        self._start_over()

    def _start_over(self) -> None:
        """State that belongs to one event loop."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._desk: Desk | None = None
        self._lines: defaultdict[frozenset[str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._freed = asyncio.Event()
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
    async def turn(
        self, pages: Mapping[str, int], *, pace: PaceLike = None, even_if_blocked: bool = False
    ) -> AsyncIterator[Turn]:
        """A place among the visits to this Chrome, and leave to ask each engine for so many pages, for the block.

        First come, first served, among all kernels and scripts of this machine. A wait of more than a second is logged
        as a warning, with its reason. An engine in a cool-down is in ``refused``, and not waited for. The pages count
        from now on, unless the block ends without the Chrome having been had.

        Args:
            pages: how many pages of which engines, by name.
            pace: ``(pages, seconds)``, several of these, or ``"off"``; ``None`` for :data:`castlenb.pacing.PACE`. In
                the lab none is kept.
            even_if_blocked: ask an engine in a cool-down as well.

        Raises:
            ValueError: the pace is none, or never allows so many pages.
        """
        kept = pacing.rates(pace)
        for number in pages.values():
            pacing.check_pages(number, kept)
        desk = await self._place()
        wanted = Wanted(desk.chrome, pages, () if desk.is_lab else kept, self.max_visits, even_if_blocked)
        asked = time.perf_counter()
        granted = await self._granted(desk, wanted)
        warnings = () if kept or desk.is_lab or not pages else ("sent without a pace, as was asked for",)
        try:
            yield Turn((time.perf_counter() - asked) * 1000, granted.refused, granted.known, warnings)
        except (EndpointError, SearchTimeout) as failed:
            if isinstance(failed, EndpointError) or failed.phase == "connect":
                desk.book.later(lambda db: not_asked(db, wanted))
            raise
        finally:
            desk.book.later(lambda db: given_up(db, wanted))
            self._freed.set()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """A place among the visits to this Chrome, for one that asks no engine for anything. Yields how long it was
        waited for, in milliseconds."""
        async with self.turn({}) as turn:
            yield turn.queued_ms

    async def came(self, turn: Turn, engine: str, query: str, state: str, kind: str | None) -> Block | None:
        """Remembers how an engine's page came, for every castlenb on this machine.

        Args:
            turn: in which it was asked for.
            state, kind: the page's, as in ``SearchPage.page_state`` and ``challenge_kind``.

        Returns:
            The cool-down that stands from now on, if any.
        """
        desk, now = await self._place(), time.time()
        if state == "challenge":
            return await desk.book.run(lambda db: blocks.challenged(db, engine, desk.chrome, str(kind), now))
        if state == blocks.EMPTY:
            return await desk.book.run(lambda db: blocks.came_empty(db, engine, desk.chrome, query, now))
        if state in ("results", "no_results") and engine in turn.known:
            await desk.book.run(lambda db: blocks.cleared(db, engine, desk.chrome))
        return None

    async def asked_again(self, engine: str) -> None:
        """Counts one page more, for a search that is tried again."""
        desk = await self._place()
        if not desk.is_lab:
            await desk.book.run(lambda db: pacing.add(db, engine, desk.chrome, "again", time.time()))

    def cleared(self, engine: str | None = None) -> bool:
        """Says that a person has cleared what an engine showed in this Chrome, so that it may be asked again at once.

        Args:
            engine: its name; ``None`` for all of them.

        Returns:
            Whether anything was remembered of it.
        """
        return bridge.run(self._cleared(engine))

    async def acleared(self, engine: str | None = None) -> bool:
        """As :meth:`cleared`, to be awaited."""
        return await bridge.arun(self._cleared(engine))

    async def _cleared(self, name: str | None) -> bool:
        names = list(ENGINES) if name is None else [engine(name).name]
        desk = await self._place()
        return await desk.book.run(lambda db: sum(blocks.cleared(db, each, desk.chrome) for each in names) > 0)

    def manners(self) -> Manners:
        """What is kept of this Chrome, by all castlenb on this machine; nothing is dialled for it."""
        return bridge.run(self._manners())

    async def amanners(self) -> Manners:
        """As :meth:`manners`, to be awaited."""
        return await bridge.arun(self._manners())

    async def _manners(self) -> Manners:
        desk = await self._place()
        return await desk.book.run(partial(manners_of, desk))

    @asynccontextmanager
    async def tab(
        self, *, emulate_focus: bool = True, prepare: Sequence[tuple[str, dict[str, Any]]] = ()
    ) -> AsyncIterator[Tab]:
        """A background tab of our own, closed on every path; see :func:`castlenb.cdp.tab.background_tab`.

        It is on the list of our tabs, which other processes can read, from before it is there. Downloads that its page
        begins are cancelled, and windows that it opens are closed.
        """
        async with AsyncExitStack() as stack:
            try:
                tab = await stack.enter_async_context(self._tab(await self._connected(), emulate_focus, prepare))
            except ConnectionLost as gone:
                log.info("%s: %s; connecting anew", self.address, gone)  # recycled just now: nothing was opened yet
                try:
                    anew = await self._connected()
                except EndpointError as failed:
                    raise gone from failed  # it may be back in a moment, which is for the caller to wait for
                tab = await stack.enter_async_context(self._tab(anew, emulate_focus, prepare))
            yield tab

    @asynccontextmanager
    async def _tab(
        self, connection: Connection, emulate_focus: bool, prepare: Sequence[tuple[str, dict[str, Any]]]
    ) -> AsyncIterator[Tab]:
        desk = await self._place()
        async with leftovers.listed(desk.book, desk.chrome) as entry:

            def created(target: str) -> None:
                self._open_tabs.add(target)
                entry.named(target)

            def closed(target: str) -> None:
                self._open_tabs.discard(target)
                entry.struck()

            async with background_tab(
                connection,
                emulate_focus=emulate_focus,
                world=page.WORLD,
                prepare=prepare,
                on_created=created,
                on_closed=closed,
                blank=entry.blank,
            ) as tab:
                await entry.written()
                async with kept_in_bounds(tab):
                    yield tab

    async def _granted(self, desk: Desk, wanted: Wanted) -> Granted:
        # One of ours at a time asks for the same, in the order in which they came; the ledger keeps the order among
        # processes.
        said = False
        async with self._lines[frozenset(wanted.pages)]:
            try:
                while True:
                    self._freed.clear()
                    outcome = await desk.book.run(lambda db: claim(db, wanted))
                    if isinstance(outcome, Granted):
                        return outcome
                    if not said and (outcome.seconds >= SAID_S or outcome.ahead):
                        said = True
                        self._say_why(outcome, wanted)
                    await self._rest(outcome)
            except BaseException:
                # What was granted meanwhile goes back as well: works are done in their order.
                desk.book.later(lambda db: not_asked(db, wanted))
                desk.book.later(lambda db: given_up(db, wanted))
                raise

    async def _rest(self, wait: Wait) -> None:
        if wait.engine:
            await asyncio.sleep(min(wait.seconds, 1.0) if wait.seconds else 0.2)
            return
        with suppress(TimeoutError):  # a place of our own is told of, those of others are not
            async with asyncio.timeout(0.05):
                await self._freed.wait()

    def _say_why(self, wait: Wait, wanted: Wanted) -> None:
        first = f"{wait.ahead} other call{'s' * (wait.ahead > 1)} of this machine's, which came first"
        if wait.seconds:
            log.warning(
                "%s is asked again in %.0f s: the pace is %s, for all kernels and scripts that use %s together (pace= "
                "changes it)",
                engine(wait.engine).label,
                wait.seconds,
                pacing.in_words(wanted.pace),
                self.address,
            )
        elif wait.engine:
            log.warning("%s is asked after %s", engine(wait.engine).label, first)
        else:
            log.info("%s: waiting for %s", self.address, first)

    async def _place(self) -> Desk:
        self._adopt_loop()
        if self._desk is None:
            self._desk = await desk_of(self.target.address)
        return self._desk

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
                self._desk = None  # what bears the name may be another Chrome now
                endpoint = await discover(self.target.address)
                self.version = endpoint.version
                self.chrome_id = hashlib.sha256(endpoint.websocket_url.encode()).hexdigest()[:12]
                self._consent_expected = endpoint.consent_expected
                if endpoint.consent_expected:
                    limit.reschedule(None)
                connection = await Connection.open(endpoint, on_waiting=self._tell_what_to_click)
        except EndpointError as failed:
            failed.decided_by = self.target.decided_by
            raise
        desk = await self._place()
        if swept := await leftovers.sweep(desk.book, desk.chrome, connection):
            log.info("%s: closed %d tabs that were left behind", self.address, swept)
        return connection

    def _tell_what_to_click(self) -> None:
        log.warning(
            "%s: Chrome is asking the person in front of it whether to allow remote debugging; "
            "somebody has to click Allow there",
            self.address,
        )

    def _adopt_loop(self) -> None:
        if self._process != os.getpid():
            raise Misuse("this Browser is of the process that this one was forked from; connect again here")
        running = asyncio.get_running_loop()
        if self._loop is not running:
            if self._loop is not None:
                self._start_over()
            self._loop = running

    async def aclose(self) -> None:
        """Closes our tabs, those of visits that are still under way included, and our socket, in about 2 s at most;
        idempotent."""
        await bridge.arun(self._close())

    def close(self) -> None:
        """As :meth:`aclose`, as a plain call."""
        bridge.run(self._close())

    async def _close(self) -> None:
        self._closed = True
        connection, self._connection = self._connection, None
        if connection is not None and self._loop is asyncio.get_running_loop():
            # Whoever owns them can not, once the socket has gone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    await self._close_tabs(connection)
            await connection.aclose()
        if self._desk is not None and self._desk.is_lab:
            self._desk.book.close()  # it lies in the lab's folder, which is about to be removed

    async def _close_tabs(self, connection: Connection) -> None:
        # A closing can get lost, so a tab counts as closed once the visit in it has been told (Chromium 156: while a
        # document is being committed).
        while self._open_tabs:
            wishes = [connection.root.call("Target.closeTarget", {"targetId": target}) for target in self._open_tabs]
            await asyncio.gather(*wishes, return_exceptions=True)
            if self._open_tabs:
                await asyncio.sleep(CLOSE_AGAIN_S)

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
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)  # a child connects for itself

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
