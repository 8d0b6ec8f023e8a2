"""One results page, opened and watched until a rule says stop.

Everything castlenb does with an engine is a visit: a background tab of our own, focus emulated, the page script
installed before the first navigation, one wait inside the page, the tab closed on every path. What differs between a
search, a study and a check is the rule that ends the wait.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from . import page
from .beside import Progress, beside
from .browser import Browser
from .cdp.tab import Tab
from .engines import Engine
from .errors import CallTimeout, NavigationFailed, ProtocolError, ScriptError, SearchTimeout
from .snapshot import Capture
from .traffic import Traffic, answer_times

VISIBILITIES = ("emulated", "hidden")
"""``emulated``: focus emulation, so that the page's timers run; ``hidden``: a plain background tab (timers at 1 Hz)."""

_AFTER_DEADLINE_S = 0.5
"""What reading the half of a page that came in time may cost once the deadline has passed."""

_CONTEXT_GONE = -32000
"""Code of "Inspected target navigated or closed" and "Cannot find context with specified id" (Chromium 156)."""

Prepare = Callable[[Tab], Awaitable[None]]


@dataclass(frozen=True)
class AnswerRule:
    """When the wait for an AI answer ends, once the results are complete.

    Attributes:
        budget_s: seconds it may take, from the results' completion on.
        quiet_ms: how long its words have to stand unchanged, on a page that does not show that it is still writing, to
            be taken for all of them where no marker says so. Answers were seen to pause for longer than one second
            (steipete/oracle#72).
        early_stop: end when the page says that there is none.
        horizon_s: seconds on the page clock before which the wait does not end, whatever the answer has come to: a
            study sees what comes after the instant at which a search would have gone.
    """

    budget_s: float = 6.0
    quiet_ms: int = 2000
    early_stop: bool = True
    horizon_s: float = 0.0


@dataclass(frozen=True)
class Rule:
    """When a wait ends.

    Attributes:
        results: as many results as will do; fewer will do once the document is parsed.
        quiet_ms: how long a parsed page without results, and without a word about why, has to be quiet before it is
            taken for what it is. The field notes' tool looked twice more, 700 ms apart.
        empty_ms: the same as a limit, for such a page that never is quiet.
        answer: whether to wait for the page's AI answer as well, and for how long.
    """

    results: int = 10
    quiet_ms: int = 1400
    empty_ms: int = 5000
    answer: AnswerRule | None = None

    def as_json(self) -> str:
        """As ``page/watch.js`` takes it."""
        answer = self.answer and {
            "budget_ms": self.answer.budget_s * 1000,
            "quiet_ms": self.answer.quiet_ms,
            "early_stop": self.answer.early_stop,
            "horizon_ms": self.answer.horizon_s * 1000,
        }
        return json.dumps(
            {"results": self.results, "quiet_ms": self.quiet_ms, "empty_ms": self.empty_ms, "answer": answer}
        )


@dataclass(frozen=True)
class Errand:
    """What a visit is for: the words an error needs, the script the page gets, and who follows it, on the loop."""

    engine: Engine
    query: str
    browser: Browser
    progress: Progress | None = None


@dataclass
class Visit:
    """One page, as it was found.

    Attributes:
        url: where the tab was sent.
        reading: what ``page/read.js`` returned: state, results, warnings, final address.
        answer: what ``page/answer.js`` returned; ``None`` where nobody asked.
        timeline: what ``page/watch.js`` recorded; milliseconds on the page clock.
        requests: the answer's own requests (see :class:`.traffic.Traffic`); ``None`` where they were not followed.
        reason: what ended the wait: ``results``, ``parsed``, ``refused``, ``still`` (an empty page that nothing
            explains), ``deadline``; where an answer was waited for, ``marker`` or ``quiet`` (it settled), ``declined``,
            ``budget``.
        documents: documents the address led through; a redirect by script makes a new one.
        offset_ms: origin of the last document after that of the first; times of the timeline count from the last.
        started_at: when the tab was sent off (client clock, UTC).
        visibility: as asked for.
        capture: the page itself, where whoever watched it has kept it.
    """

    url: str
    reading: dict[str, Any]
    answer: dict[str, Any] | None
    timeline: dict[str, Any]
    requests: list[dict[str, Any]] | None
    reason: str
    documents: int
    offset_ms: float
    started_at: datetime
    visibility: str
    capture: Capture | None = None

    @property
    def status(self) -> int | None:
        """HTTP status of the document, where Chrome tells."""
        return self.timeline.get("status") or None

    def timings(self) -> dict[str, float | None]:
        """The page-clock times, from the first document's origin.

        ``parse_ready_ms``: the first instant at which a result could be read; ``results_complete_ms``: at which as many
        as asked for were there to their last word, or the document had been parsed; ``parsed_ms``, ``loaded_ms``,
        ``response_end_ms``: the document's own, missing where they came after the results had been taken.

        Where the AI answer was watched: ``ai_shell_ms``: its container was seen, holding something else or nothing;
        ``ai_loading_ms``: it said that it was being written; ``ai_appear_ms``: its first prose; ``ai_declined_ms``: the
        page said that there is none; ``ai_settle_ms``: the last change of its words, where it had settled by the end.
        Where its requests were followed as well: ``ai_asked_ms``, ``ai_first_byte_ms``, ``ai_last_byte_ms``.
        """
        counts: list[list[float]] = self.timeline["counts"]
        times = {
            "parse_ready_ms": next((t for t, rows, _ in counts if rows), None),
            "results_complete_ms": self.timeline.get("results_complete_ms"),
            "response_end_ms": self.timeline.get("response_end_ms"),
            "parsed_ms": self.timeline.get("parsed_ms"),
            "loaded_ms": self.timeline.get("loaded_ms"),
            **self._answer_times(),
        }
        network = {} if self.requests is None else answer_times(self.requests, self.offset_ms)
        return {name: None if t is None else round(t + self.offset_ms, 1) for name, t in times.items()} | network

    @property
    def settled_by(self) -> str | None:
        """What told that the answer was whole: ``marker``, ``quiet``, or nothing did."""
        return self.reason if self.reason in ("marker", "quiet") else None

    @property
    def answer_waited_for(self) -> bool:
        """Whether the wait was for an answer too, and came to one end or another."""
        return self.reason in ("marker", "quiet", "declined", "budget")

    def _answer_times(self) -> dict[str, float | None]:
        watched = self.timeline.get("answer")
        if watched is None:
            return {}
        first = watched["first"]
        empty = [first[state] for state in ("shell", "loading", "declined") if state in first]
        return {
            "ai_shell_ms": min(empty, default=None),
            "ai_loading_ms": first.get("loading"),
            "ai_appear_ms": min((first[state] for state in ("growing", "settled") if state in first), default=None),
            "ai_declined_ms": first.get("declined"),
            "ai_settle_ms": watched["words_ms"] if self.settled_by else None,
        }


@dataclass
class Deadline:
    """The end of what a visit may take, and what it is doing meanwhile."""

    seconds: float
    phase: str = "connect"
    at: float = field(init=False)

    def __post_init__(self) -> None:
        self.at = asyncio.get_running_loop().time() + self.seconds

    def left(self) -> float:
        """Seconds left, never below zero."""
        return max(0.0, self.at - asyncio.get_running_loop().time())


class Visitor:
    """A tab that has been prepared for one engine; :meth:`go` takes it to a page and comes back with the Visit."""

    def __init__(
        self, tab: Tab, errand: Errand, deadline: Deadline, visibility: str, traffic: Traffic | None = None
    ) -> None:
        self.tab = tab
        self._traffic = traffic
        self._foreseen: int | None = tab.blank_world + 2
        self._errand = errand
        self._deadline = deadline
        self._visibility = visibility

    def restart_clock(self, seconds: float, errand: Errand | None = None) -> None:
        """A new deadline from now on, for a tab that is kept open between pages; an errand, where it is another."""
        self._deadline = Deadline(seconds)
        self._errand = errand or self._errand

    async def go(self, url: str, rule: Rule) -> Visit:
        """Opens ``url`` and watches it until ``rule`` holds.

        Raises:
            NavigationFailed: the page could not be opened.
            SearchTimeout: the deadline passed; ``page`` holds the Visit of what had come by then, where there was any.
            TabClosed, TabCrashed, ConnectionLost: the tab, its renderer or the Chrome went away.
        """
        watch = _Watch(self.tab, rule, self._visibility, url, self._foreseen, self._traffic, self._errand.progress)
        self._foreseen = None
        try:
            async with asyncio.timeout_at(self._deadline.at):
                return await watch.until_done(self._deadline)
        except (TimeoutError, CallTimeout) as late:
            if self._deadline.left() > 0:
                raise
            cut = await watch.cut_short() if self._deadline.phase == "watch" else None
            if cut is not None and cut.reason == "budget":  # of the answer: the results are in hand
                return cut
            raise timed_out(self._errand, self._deadline, url, cut) from late


class _Watch:
    """The wait on one address, through however many documents it leads."""

    def __init__(
        self,
        tab: Tab,
        rule: Rule,
        visibility: str,
        url: str,
        foreseen: int | None,
        traffic: Traffic | None,
        progress: Progress | None,
    ) -> None:
        self._traffic = traffic
        self._progress = progress
        self._tab = tab
        self._rule = rule
        self._visibility = visibility
        self._url = url
        self._documents = 1
        self._started_at = datetime.now(UTC)
        self._first_origin_ms = time.time() * 1000  # until the first document has told its own
        self._origin_known = False
        self._context: int | None = None
        self._foreseen = foreseen

    async def until_done(self, deadline: Deadline) -> Visit:
        deadline.phase = "navigate"
        hidden = self._visibility == "hidden"
        async with beside(self._tab, lambda: deadline.phase == "watch", hidden=hidden, progress=self._progress):
            return await self._until_done(deadline)

    async def _until_done(self, deadline: Deadline) -> Visit:
        wait = f"globalThis.castlenb?.watcher?.wait ? castlenb.watcher.wait({self._rule.as_json()}) : location.href"
        said = await self._set_off(wait, deadline)
        while True:
            if said is None:
                try:
                    said = await self._ask(wait, await_promise=True, timeout=deadline.left() + 1)
                except ProtocolError as gone:
                    self._replaced(gone)
                    await asyncio.sleep(0.01)
                    continue
            if said.startswith("{"):
                return self._visit(page.said(said))
            if said.startswith("chrome-error:"):
                raise NavigationFailed(self._url, "net::ERR_FAILED", "a redirect by script ended on an error page")
            said = None
            await asyncio.sleep(0.02)  # the evaluation came before the init script (devtools-protocol#182)

    async def _set_off(self, wait: str, deadline: Deadline) -> str | None:
        """Navigates, and has the wait queued before the page is parsed; returns what it said, where that worked.

        Chrome holds commands behind a navigation until the document is there. Sent later they would be answered only
        after the page's first layout, tens of milliseconds after its results could be read. The world's id is not known
        that early, but foreseen: on a new tab it has always been two after that of the blank page's world (Chromium
        156). The world's own answer, which comes first, tells whether it was; where not, the wait is asked again.
        """
        foreseen, self._foreseen = self._foreseen, None
        patience = deadline.left() + 1
        ask = self._tab.session.evaluate
        ahead: list[asyncio.Task[Any]] = [asyncio.create_task(self._tab.world(page.WORLD, timeout=patience))]
        if foreseen is not None:
            ahead += [
                asyncio.create_task(ask("performance.timeOrigin", context_id=foreseen, timeout=patience)),
                asyncio.create_task(ask(wait, context_id=foreseen, await_promise=True, timeout=patience)),
            ]
        try:
            await self._tab.navigate(self._url, timeout=patience)
            deadline.phase = "watch"
            # An answer that came first is that of the old document: there was nothing to hold the command for.
            if not ahead[0].done():
                self._context = await ahead[0]
        except ProtocolError:
            return None  # the old document's world, gone with it
        else:
            if foreseen is None or foreseen != self._context:
                return None
            try:
                self._first_origin_ms, self._origin_known = await ahead[1], True
                return str(await ahead[2])
            except ProtocolError as gone:
                self._context = None
                self._replaced(gone)
                return None
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    def _replaced(self, gone: ProtocolError) -> None:
        """The document went away under the wait: a redirect by script, a reload. The new one has a watcher too."""
        if gone.code != _CONTEXT_GONE:
            raise gone
        self._documents += 1

    async def cut_short(self) -> Visit | None:
        """What the page shows now; ``None`` where it does not answer."""
        try:
            async with asyncio.timeout(_AFTER_DEADLINE_S):
                said = await self._ask(
                    "globalThis.castlenb?.watcher?.now ? castlenb.watcher.now() : ''", timeout=_AFTER_DEADLINE_S
                )
        except (TimeoutError, ProtocolError, ScriptError):  # the last where there is no document yet to be read
            return None
        return self._visit(page.said(said)) if said.startswith("{") else None

    async def _ask(self, expression: str, *, timeout: float, await_promise: bool = False) -> str:
        context, self._context = self._context, None
        if context is None:
            context = await self._tab.world(page.WORLD)
        answer = self._tab.session.evaluate(
            expression, context_id=context, await_promise=await_promise, timeout=timeout
        )
        if self._origin_known:
            return str(await answer)
        origin: Any
        said: Any
        # In the same burst, so that knowing where the first document's clock starts costs no round trip of its own.
        origin, said = await asyncio.gather(
            self._tab.session.evaluate("performance.timeOrigin", context_id=context, timeout=timeout),
            answer,
            return_exceptions=True,
        )
        if isinstance(origin, float) and self._documents == 1:
            self._first_origin_ms, self._origin_known = origin, True
        if isinstance(said, BaseException):
            raise said
        return str(said)

    def _visit(self, found: dict[str, Any]) -> Visit:
        offset = found["timeline"]["origin_ms"] - self._first_origin_ms if self._documents > 1 else 0.0
        return Visit(
            url=self._url,
            reading=found["reading"],
            answer=found["answer"],
            timeline=found["timeline"],
            requests=None if self._traffic is None else self._traffic.requests(found["timeline"]["request_start_ms"]),
            reason=found["reason"],
            documents=self._documents,
            offset_ms=offset,
            started_at=self._started_at,
            visibility=self._visibility,
        )


@asynccontextmanager
async def open_visitor(
    errand: Errand,
    *,
    visibility: str = "emulated",
    deadline_s: float = 20.0,
    answers: bool = False,
    frames: bool = False,
    network: bool = False,
    prepare: Prepare | None = None,
) -> AsyncIterator[Visitor]:
    """A tab of our own, ready for the errand's engine. The caller holds a slot of the browser (``Browser.slot``).

    The deadline covers connecting, opening the tab and all that is done with it. With ``answers`` the page's AI answer
    is read as well, with ``frames`` its mark-up is kept at each of its changes, and with ``network`` its own requests
    are followed. ``prepare`` is awaited on the tab before it is sent anywhere.

    Raises:
        EndpointError: the Chrome can not be had.
        SearchTimeout: the deadline passed before the tab was ready.
    """
    deadline = Deadline(deadline_s)
    script = page.on_new_documents(page.init_script(errand.engine.spec(), answers=answers, frames=frames))
    async with AsyncExitStack() as stack:
        try:
            deadline.at += await errand.browser.open(timeout_s=deadline_s)
            async with asyncio.timeout_at(deadline.at):
                tab = await stack.enter_async_context(
                    errand.browser.tab(
                        emulate_focus=visibility == "emulated",
                        prepare=[script],
                    )
                )
                traffic = Traffic(tab, errand.engine) if network else None
                if traffic is not None:
                    await traffic.follow()
                if prepare is not None:
                    await prepare(tab)
        except TimeoutError as late:
            raise timed_out(errand, deadline, "about:blank") from late
        yield Visitor(tab, errand, deadline, visibility, traffic)


def timed_out(errand: Errand, deadline: Deadline, url: str, cut: Visit | None = None) -> SearchTimeout:
    """The error for a deadline that has passed."""
    return SearchTimeout(
        deadline.phase, deadline.seconds, errand.engine.name, errand.query, url, errand.browser.address, page=cut
    )
