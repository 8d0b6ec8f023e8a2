"""Saved results pages: rendered again at their true address, and read as a live page is read.

A saved page is made inert by the browser's own HTML parser (``page/inert.js``), and served to our tab through
``Fetch`` interception in place of the real one. Every other request is refused, so nothing is asked of any machine;
what runs on the page is the reader alone.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import logging
import os
import re
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from . import bridge, page
from .browser import Browser, BrowserLike, browser_for
from .cdp.tab import Tab
from .engines import ENGINES, Engine
from .engines import engine as engine_named
from .errors import CaptureError, CastleError, Misuse
from .serp import SearchPage, page_from
from .target import resolve_target
from .visit import Errand, Rule, Visitor, open_visitor

log = logging.getLogger("castlenb")

PathLike = str | os.PathLike[str]

READ_S = 20.0
"""Seconds that reading one saved page may take."""

CSP = "default-src 'none'; style-src 'unsafe-inline'"
"""What a replayed page may load: nothing. Its own inline styles apply."""

SAVED = Rule(results=1_000_000, quiet_ms=0, empty_ms=0)
"""A saved page is all there once it is parsed."""

Throwaway = Callable[[], AbstractContextManager[str]]
"""Starts a Chromium that nobody uses, as a context manager of its target."""

_throwaway: Throwaway | None = None


def provide_throwaway(launcher: Throwaway) -> None:
    """Says how a throwaway Chromium is started; the front door does, so that this room need not know the lab."""
    global _throwaway
    _throwaway = launcher


class Replay:
    """A saved page, open in a tab of ours: rendered, inert, at its true address."""

    def __init__(self, visitor: Visitor, engine: Engine, url: str, browser: Browser) -> None:
        self.engine = engine
        self.url = url
        self._visitor = visitor
        self._browser = browser

    def read(self) -> SearchPage:
        """What the reader finds, whatever the page's state."""
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

    @property
    def tab(self) -> Tab:
        """The tab it is open in."""
        return self._visitor.tab

    async def _read(self) -> SearchPage:
        self._visitor.restart_clock(READ_S)
        visit = await self._visitor.go(self.url, SAVED)
        query = parse_qs(urlsplit(self.url).query).get("q", [""])[0]
        found = page_from([visit], self.engine, query, self._browser)
        return replace(found, fetched_at=None, timings={})  # a replay's own times say nothing of the page's

    async def _evaluate(self, expression: str) -> Any:
        tab = self._visitor.tab
        return await tab.session.evaluate(expression, context_id=await tab.world(page.WORLD))


@asynccontextmanager
async def replaying(
    html: str, *, engine: str | None = None, url: str | None = None, browser: BrowserLike = None
) -> AsyncIterator[Replay]:
    """A saved page's source, rendered at ``url`` in a tab of ours, for as long as the block lasts.

    Args:
        html: the page's source.
        engine: whose page it is; ``None`` lets the page tell.
        url: the address it had; ``None`` for the engine's results page of the query that stands in its search box.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium.

    Raises:
        CaptureError: the engine can not be told.
        LabError: no throwaway Chromium could be started.
    """
    whose = engine_named(engine) if engine else _recognised(html, url)
    async with chrome(browser) as house, house.slot():
        guard = _Interception()
        errand = Errand(whose, "", house)

        async def intercept(tab: Tab) -> None:
            await guard.stand(tab, html, whose, url)

        async with open_visitor(errand, deadline_s=READ_S, answers=True, prepare=intercept) as visitor:
            assert guard.url is not None
            yield Replay(visitor, whose, guard.url, house)


async def read_each(
    files: Iterable[PathLike], *, engine: str | None = None, url: str | None = None, browser: BrowserLike = None
) -> AsyncIterator[tuple[PathLike, SearchPage | CastleError]]:
    """Reads saved pages, one after the other in one Chrome; a page that can not be read is yielded as its error.

    Args:
        files: HTML files, gzipped ones among them.
        engine: whose pages they are; ``None`` lets each page tell.
        url: the address they had; see :func:`replaying`.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium for all of them.

    Raises:
        LabError, EndpointError, TargetError: the Chrome can not be had.
    """
    async with chrome(browser) as house:
        for file in files:
            try:
                async with replaying(source_of(Path(file)), engine=engine, url=url, browser=house) as opened:
                    yield file, await opened._read()
            except CastleError as failed:
                yield file, failed


async def read(
    files: PathLike | Iterable[PathLike],
    *,
    engine: str | None = None,
    url: str | None = None,
    browser: BrowserLike = None,
) -> list[SearchPage]:
    """Reads saved results pages, with the reader that a live search uses.

    A page is returned whatever its state: ``page_state`` tells results from a refusal, and nothing is raised for it.

    Args:
        files: one HTML file or several; ``.gz`` is unpacked.
        engine: whose pages they are; ``None`` lets each page tell.
        url: the address they had; ``None`` for the engine's results page of the query in the page's search box.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium, which needs one installed.

    Raises:
        CaptureError: some file could not be read; ``pages`` holds those that could, ``failures`` each file's error.
        LabError: no throwaway Chromium could be started.
    """
    several = [files] if isinstance(files, str | os.PathLike) else list(files)
    pages: list[SearchPage] = []
    failures: dict[str, CastleError] = {}
    async for file, found in read_each(several, engine=engine, url=url, browser=browser):
        if isinstance(found, SearchPage):
            pages.append(found)
        else:
            failures[os.fspath(file)] = found
    if failures:
        first, error = next(iter(failures.items()))
        count = f" ({len(failures)} of {len(several)} files failed)" if len(several) > 1 else ""
        raise CaptureError(f"{first} could not be read{count}: {error}", pages=pages, failures=failures) from error
    return pages


class _Interception:
    """Serves one document to one tab, and refuses whatever else it asks for."""

    def __init__(self) -> None:
        self.url: str | None = None
        self._body = ""
        self._under_way: set[asyncio.Task[Any]] = set()

    async def stand(self, tab: Tab, html: str, engine: Engine, url: str | None) -> None:
        context = await tab.world(page.WORLD)
        inert = await tab.session.evaluate(page.inert_expression(html), context_id=context)
        self._body = base64.b64encode(inert["html"].encode("utf-8", "replace")).decode()
        self.url = url or inert["saved_from"] or engine.search_url(inert.get("query") or "")
        tab.session.on("Fetch.requestPaused", lambda request: self._answer(tab, request))
        await asyncio.gather(
            tab.session.call("Network.enable"),
            tab.session.call("Network.setBypassServiceWorker", {"bypass": True}),
            tab.session.call("Network.setCacheDisabled", {"cacheDisabled": True}),
            tab.session.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
        )

    def _answer(self, tab: Tab, request: dict[str, Any]) -> None:
        ours = request.get("resourceType") == "Document" and request.get("frameId") == tab.frame_id
        reply = self._serve(tab, request) if ours else self._refuse(tab, request)
        task = asyncio.get_running_loop().create_task(reply)
        self._under_way.add(task)
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (failed := task.exception()) is not None:
            log.debug("a replayed page's request could not be answered: %s", failed)

    def _serve(self, tab: Tab, request: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": CSP,
            "Referrer-Policy": "no-referrer",
            "X-DNS-Prefetch-Control": "off",
        }
        return tab.session.call(
            "Fetch.fulfillRequest",
            {
                "requestId": request["requestId"],
                "responseCode": 200,
                "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
                "body": self._body,
            },
        )

    def _refuse(self, tab: Tab, request: dict[str, Any]) -> Coroutine[Any, Any, Any]:
        return tab.session.call(
            "Fetch.failRequest", {"requestId": request["requestId"], "errorReason": "BlockedByClient"}
        )


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


def source_of(path: Path) -> str:
    """A saved page's text.

    Raises:
        CaptureError: it is missing, empty, or a damaged archive.
    """
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as failed:
        raise CaptureError(f"{path}: {failed}") from failed
    if not raw.strip():
        raise CaptureError(f"{path}: the file is empty")
    declared = re.search(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)", raw[:4096], re.IGNORECASE)
    try:
        return raw.decode(declared[1].decode("ascii") if declared else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def _recognised(html: str, url: str | None) -> Engine:
    """The engine of the address, else the one whose addresses the page is fullest of."""
    named = urlsplit(url or "").hostname
    counts = {each: (named in each.hosts, sum(html.count(host) for host in each.hosts)) for each in ENGINES.values()}
    best = max(counts, key=lambda each: counts[each])
    if not any(counts[best]):
        raise CaptureError(f"the page names no engine's address; say which it is: {', '.join(ENGINES)}")
    return engine_named(best.name)
