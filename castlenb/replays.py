"""Kept pages, open again: captures and saved pages, rendered at their true address in a tab of ours.

A kept page is made inert by the browser's own HTML parser (``page/inert.js``), and served to our tab through ``Fetch``
interception in place of the real one. Every other request is refused, so nothing is asked of any machine; what runs on
the page is the reader alone, and, where the growth of its answer is shown, what shows it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Self
from urllib.parse import parse_qs, urldefrag, urlsplit

from . import bridge, page
from .browser import Browser, BrowserLike, browser_for
from .cdp.tab import Tab
from .engines import ENGINES, Engine
from .engines import engine as engine_named
from .errors import CaptureError, Misuse
from .interception import BLOCKED, Decision, Interception
from .results import SearchPage, page_from
from .snapshot import Capture, is_of, is_web, packed, provide_reader
from .taking import take
from .target import resolve_target
from .visit import AnswerRule, Deadline, Errand, Rule, Visit, Visitor, open_visitor, timed_out

READ_S = 20.0
"""Seconds that reading one saved page may take."""

CSP = "default-src 'none'; style-src 'unsafe-inline'"
"""What a replayed page may load: nothing. Its own inline styles apply."""

ALL = 1_000_000
"""More results than any page has: whoever waits for so many waits until it is parsed."""

SAVED = Rule(results=ALL, quiet_ms=0, empty_ms=0)
"""A saved page is all there once it is parsed."""

WHOLE = """new Promise((done) => {
  const read = () => done({ reading: castlenb.reader.read(), answer: castlenb.answers.answer() });
  if (document.readyState === "complete") read();
  else addEventListener("load", read, { once: true });
})"""
"""What is read once the page has loaded: of a page that is still on its way nothing says that its answer is whole."""

PLACE = "castlenb-answer"
"""Name of the element that a replayed page holds where its answer will grow."""

Throwaway = Callable[[], AbstractContextManager[str]]
"""Starts a Chromium that nobody uses, as a context manager of its target."""

_throwaway: Throwaway | None = None


def provide_throwaway(launcher: Throwaway) -> None:
    """Says how a throwaway Chromium is started; the front door does, so that this room need not know the lab."""
    global _throwaway
    _throwaway = launcher


class Replay:
    """A kept page, open in a tab of ours: rendered, inert, at its true address."""

    def __init__(self, visitor: Visitor, errand: Errand, stand: _Stand, growth: Growth | None) -> None:
        self.engine = errand.engine
        self._visitor = visitor
        self._errand = errand
        self._stand = stand
        self._growth = growth
        self._visit: Visit | None = None

    @property
    def url(self) -> str:
        """The address it is rendered at."""
        return self._stand.url

    @property
    def tab(self) -> Tab:
        """The tab it is open in."""
        return self._visitor.tab

    def show(self, kept: str | Capture, *, url: str | None = None) -> None:
        """Another kept page of the same engine takes its place with the next :meth:`read`.

        A page costs a third of what it does in a tab of its own.

        Raises:
            CaptureError: the address is none of a web page.
            Misuse: this replay shows an answer's growth, which is that of one page.
        """
        bridge.run(self._show(kept, url))

    def read(self) -> SearchPage:
        """What the reader finds, whatever the page's state. A page that grows is watched until its answer has settled,
        and the answer's times on the page clock are told."""
        return bridge.run(self._read())

    async def aread(self) -> SearchPage:
        """As :meth:`read`, to be awaited."""
        return await bridge.arun(self._read())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in our isolated world of the page, after it has been read.

        Raises:
            ScriptError: it threw.
        """
        return bridge.run(self._evaluate(expression))

    async def aevaluate(self, expression: str) -> Any:
        """As :meth:`evaluate`, to be awaited."""
        return await bridge.arun(self._evaluate(expression))

    def capture(self, *, captured_at: datetime | None = None) -> Capture:
        """The page as a capture, redacted: how a saved page becomes one.

        Args:
            captured_at: when the page was saved, with its time zone; ``None`` for now.

        Raises:
            CaptureError: it can not be taken.
        """
        return bridge.run(self._capture(captured_at))

    async def acapture(self, *, captured_at: datetime | None = None) -> Capture:
        """As :meth:`capture`, to be awaited."""
        return await bridge.arun(self._capture(captured_at))

    async def _show(self, kept: str | Capture, url: str | None) -> None:
        if self._growth is not None:
            raise Misuse("a replay of an answer's growth shows that one page; open another for another")
        html, query, address = _shown(kept, url)
        self._errand, self._visit = replace(self._errand, query=query), None
        deadline = Deadline(READ_S, phase="navigate")
        try:
            async with asyncio.timeout_at(deadline.at):
                await self._stand.load(self._visitor.tab, html, address)
        except TimeoutError as late:
            raise timed_out(self._errand, deadline, self.url) from late

    async def _read(self) -> SearchPage:
        rule = SAVED if self._growth is None else self._growth.rule()
        self._visitor.restart_clock(READ_S + (rule.answer.budget_s if rule.answer else 0), self._errand)
        visit = await self._visitor.go(self.url, rule)
        if self._growth is None and visit.reading["ready"] != "complete":
            visit = replace(visit, **await self._evaluate(WHOLE))
        self._visit = visit
        found = page_from([visit], self.engine, self._query(), self._errand.browser)
        # Of a replay's own times only those of a growth that is shown in real time say something of the page.
        if self._growth is None:
            return replace(found, fetched_at=None, timings={})
        late = await self._evaluate("castlenb.late")
        times = {name: ms and round(ms - late, 1) for name, ms in found.timings.items() if name.startswith("ai_")}
        answer = found.answer and replace(found.answer, timings=times)
        return replace(found, fetched_at=None, timings=times, answer=answer)

    def _query(self) -> str:
        return self._errand.query or parse_qs(urlsplit(self.url).query).get("q", [""])[0]

    async def _evaluate(self, expression: str) -> Any:
        tab = self._visitor.tab
        return await tab.session.evaluate(expression, context_id=await tab.world(page.WORLD), await_promise=True)

    async def _capture(self, captured_at: datetime | None) -> Capture:
        if captured_at is not None and captured_at.tzinfo is None:
            raise Misuse("captured_at names no time zone")
        if self._visit is None:
            await self._read()
        assert self._visit is not None
        errand = replace(self._errand, query=self._query())
        kept = await take(self._visitor, self._visit, errand, captured_at=captured_at, blank=False)
        return replace(kept, timeline={}, timings={})


@asynccontextmanager
async def replaying(
    kept: str | Capture,
    *,
    engine: str | None = None,
    url: str | None = None,
    growth: bool = False,
    browser: BrowserLike = None,
) -> AsyncIterator[Replay]:
    """A capture, or a saved page's source, rendered at its true address in a tab of ours while the block lasts.

    Args:
        kept: the capture, or the page's source.
        engine: whose page it is; ``None`` lets the page tell.
        url: the address it had; ``None`` for the capture's own, else for the engine's results page of the query that
            stands in its search box.
        growth: show the capture's AI answer as it grew, in real time, each time that the page is read. Where it began
            before this replay's page is parsed, all of it comes later by as much, and its times are told without that.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium.

    Raises:
        CaptureError: the engine can not be told, the address is none of a web page, or the capture holds no growth.
        LabError: no throwaway Chromium could be started.
    """
    whose = engine_of(kept, engine, url)
    html, query, address = _shown(kept, url)
    grown = Growth.of(kept) if growth else None
    async with chrome(browser) as house, house.slot():
        stand = _Stand(whose)
        errand = Errand(whose, query, house)

        async def prepare(tab: Tab) -> None:
            await stand.load(tab, grown.start if grown else html, address)
            await stand.intercept(tab)
            if grown is not None:
                await grown.prepare(tab)

        async with open_visitor(errand, deadline_s=READ_S, answers=True, prepare=prepare) as visitor:
            yield Replay(visitor, errand, stand, grown)


class OneTab:
    """Kept pages, one after the other in one tab of a Chrome, as long as they are of one engine."""

    def __init__(self, house: Browser) -> None:
        self._house = house
        self._open = AsyncExitStack()
        self._replay: Replay | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def show(self, kept: str | Capture, *, engine: str | None = None, url: str | None = None) -> Replay:
        """The page in place of the one before; arguments and errors are those of :func:`replaying`.

        A page costs a third of what it does in a tab of its own. After an error :meth:`close` has to come first.
        """
        whose = engine_of(kept, engine, url)
        if self._replay is not None and self._replay.engine is whose:
            await self._replay._show(kept, url)
            return self._replay
        await self.close()
        opened = replaying(kept, engine=whose.name, url=url, browser=self._house)
        self._replay = await self._open.enter_async_context(opened)
        return self._replay

    async def close(self) -> None:
        """Whatever was wrong with a page, the next shall not find it there."""
        self._replay = None
        await self._open.aclose()


class Growth:
    """How a capture's answer is shown as it grew.

    Attributes:
        start: the page without it.
    """

    def __init__(self, kept: Capture, at: tuple[int, int]) -> None:
        self._frames = kept.growth
        self.start = f"{kept.html[: at[0]]}<{PLACE} hidden></{PLACE}>{kept.html[at[1] :]}"

    @classmethod
    def of(cls, kept: str | Capture) -> Growth:
        """That of a capture.

        Raises:
            CaptureError: it holds none.
        """
        if not isinstance(kept, Capture) or not kept.growth or kept.answer_at is None:
            raise CaptureError("there is no growth to show: only a capture of a page with an AI answer holds one")
        return cls(kept, kept.answer_at)

    async def prepare(self, tab: Tab) -> None:
        """Has it shown in every document that the tab goes to. A frame is made inert as the page is."""
        times, pieces = zip(*self._frames, strict=True)
        expression = page.inert_pieces_expression(pieces)
        context = await tab.world(page.WORLD)
        inert = await tab.session.evaluate(expression, context_id=context, timeout=READ_S)
        script = page.grow_script(packed(zip(times, inert, strict=True)), PLACE)
        await tab.session.call("Page.addScriptToEvaluateOnNewDocument", {"source": script, "worldName": page.WORLD})

    def rule(self) -> Rule:
        """When all of it has been seen."""
        # It counts from the page's parsing, and so does what comes later.
        budget_s = self._frames[-1][0] / 1000 + AnswerRule.quiet_ms / 1000 + 1
        return replace(SAVED, answer=AnswerRule(budget_s, early_stop=False))


class _Stand:
    """Serves one document to one tab, and refuses whatever else it asks for."""

    def __init__(self, engine: Engine) -> None:
        self.url = ""
        self._engine = engine
        self._body = ""

    async def load(self, tab: Tab, html: str, url: str | None) -> None:
        """Makes a page inert, in the tab itself, and has it ready to be served."""
        context = await tab.world(page.WORLD)
        inert = await tab.session.evaluate(page.inert_expression(html), context_id=context)
        saved_from = inert["saved_from"] or ""
        own = saved_from if is_of(self._engine, saved_from) else self._engine.search_url(inert["query"] or "")
        whole = url or own
        if not is_web(whole):  # a tab that is sent to a file asks nobody
            raise CaptureError(f"{whole[:80]!r} is no address of a web page")
        self._body = base64.b64encode(inert["html"].encode("utf-8", "replace")).decode()
        # No server sees a fragment, and in a tab that shows the same page without it, it would be no navigation.
        self.url = urldefrag(whole).url

    async def intercept(self, tab: Tab) -> None:
        """Takes its place between the tab and the network."""
        await asyncio.gather(
            tab.session.call("Network.enable"),
            tab.session.call("Network.setBypassServiceWorker", {"bypass": True}),
            tab.session.call("Network.setCacheDisabled", {"cacheDisabled": True}),
            Interception(tab, lambda request: self._decide(tab, request)).stand(),
        )

    def _decide(self, tab: Tab, request: dict[str, Any]) -> Decision:
        if request.get("resourceType") != "Document" or request.get("frameId") != tab.frame_id:
            return BLOCKED
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": CSP,
            "Referrer-Policy": "no-referrer",
            "X-DNS-Prefetch-Control": "off",
        }
        listed = [{"name": name, "value": value} for name, value in headers.items()]
        return "Fetch.fulfillRequest", {"responseCode": 200, "responseHeaders": listed, "body": self._body}


@asynccontextmanager
async def chrome(browser: BrowserLike) -> AsyncIterator[Browser]:
    """The Browser that was named, or one on a throwaway Chromium for as long as the block lasts."""
    if browser is not None:
        yield browser_for(browser)
        return
    if _throwaway is None:
        raise Misuse("no throwaway Chromium has been provided; pass browser=")
    launched = _throwaway()
    target = await asyncio.to_thread(launched.__enter__)
    try:
        async with Browser(resolve_target(target)) as house:
            yield house
    finally:
        await asyncio.to_thread(launched.__exit__, None, None, None)


def engine_of(kept: str | Capture, engine: str | None, url: str | None) -> Engine:
    """Whose page it is: the engine that was named, else the capture's own, else the one that the page tells.

    Raises:
        CaptureError: it can not be told.
    """
    if engine:
        return engine_named(engine)
    return engine_named(kept.engine) if isinstance(kept, Capture) else _recognised(kept, url)


def _shown(kept: str | Capture, url: str | None) -> tuple[str, str, str | None]:
    """The source, the query and the address of what is to be shown, as far as they are known."""
    if isinstance(kept, Capture):
        return kept.html, kept.query, url or _address(kept)
    return kept, "", url


def _address(kept: Capture) -> str:
    """Chrome connects to a host before anything of it can be held back, so a stranger's file does not choose which.

    Raises:
        CaptureError: the capture's address is none of its engine's.
    """
    if not is_of(engine_named(kept.engine), kept.url):
        raise CaptureError(f"{kept.url[:80]!r} is no address of {kept.engine}'s; url= says where to show the page")
    return kept.url


def _recognised(html: str, url: str | None) -> Engine:
    """The engine of the address, else the one whose addresses the page is fullest of."""
    named = urlsplit(url or "").hostname
    counts = {each: (named in each.hosts, sum(html.count(host) for host in each.hosts)) for each in ENGINES.values()}
    best = max(counts, key=lambda each: counts[each])
    if not any(counts[best]):
        raise CaptureError(f"the page names no engine's address; say which it is: {', '.join(ENGINES)}")
    return engine_named(best.name)


async def _read_capture(kept: Capture, browser: BrowserLike) -> SearchPage:
    async with replaying(kept, browser=browser) as opened:
        return await opened._read()


provide_reader(_read_capture)
