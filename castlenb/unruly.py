"""What a page may try that goes beyond its own tab: downloads, which are cancelled, and windows, which are closed.

Nothing is switched on for it, so the person's own settings, and their downloads, stay as they are. That has a price: a
small file can be whole before Chrome has heard that it is not wanted (seen on loopback with 300 kB, on a machine that
was busy), and then it lies in the person's folder, which is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from .cdp.tab import Tab
from .errors import CastleError

log = logging.getLogger("castlenb")

AFTER_S = 1.0
"""What closing the last of a page's windows may take, once its tab is done."""

_REST_S = 0.05


@asynccontextmanager
async def kept_in_bounds(tab: Tab) -> AsyncIterator[None]:
    """Watches over the tab's page for as long as the block runs; to be entered while the tab is still blank."""
    bounds = _Bounds(tab)
    try:
        yield
    finally:
        await bounds.end()


class _Bounds:
    """What is under way for one tab. The handlers run in the reader, so they act in tasks of their own."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._root = tab.session.connection.root
        self._under_way: set[asyncio.Task[Any]] = set()
        self._opened = False
        self._closing: asyncio.Task[None] | None = None
        tab.session.on("Page.downloadWillBegin", self._download)
        tab.session.on("Page.downloadProgress", self._progress)
        tab.session.on("Page.windowOpen", self._window)

    async def end(self) -> None:
        """The page has nothing more to say; what it opened is closed, in a second at most."""
        if self._opened:
            with contextlib.suppress(TimeoutError, CastleError):
                async with asyncio.timeout(AFTER_S):
                    await self._close_windows()

    def _download(self, said: dict[str, Any]) -> None:
        log.info("a page began a download; it is cancelled")
        # Of this download alone; how downloads are dealt with in this browser is the person's to decide.
        self._do(self._root.call("Browser.cancelDownload", {"guid": said["guid"]}))

    def _progress(self, said: dict[str, Any]) -> None:
        if said["state"] == "completed":
            log.warning("a page has saved a file in that Chrome's downloads, faster than it could be cancelled")

    def _window(self, said: dict[str, Any]) -> None:
        # Chrome says so of windows as well that its own blocker then keeps from opening.
        self._opened = True
        if self._closing is None or self._closing.done():
            self._closing = self._do(self._after_rest())

    async def _after_rest(self) -> None:
        await asyncio.sleep(_REST_S)  # a storm of windows is dealt with in gusts
        await self._close_windows()

    async def _close_windows(self) -> None:
        """Those that this tab's page opened, and those that these opened in turn."""
        targets = (await self._root.call("Target.getTargets"))["targetInfos"]
        family = {self._tab.target_id}
        while more := [each["targetId"] for each in targets if each.get("openerId") in family - {each["targetId"]}]:
            fresh = [target for target in more if target not in family]
            if not fresh:
                break
            family.update(fresh)
        for target in family - {self._tab.target_id}:
            with contextlib.suppress(CastleError):
                await self._root.call("Target.closeTarget", {"targetId": target})

    def _do(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(_quietly(work))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task


async def _quietly(work: Coroutine[Any, Any, object]) -> None:
    with contextlib.suppress(CastleError):
        await work
