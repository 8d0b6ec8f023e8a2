"""One background tab of our own, closed on every path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from ..errors import CallTimeout, CastleError, NavigationFailed, ProtocolError, TabClosed
from .connection import Connection, Json, Session, told

Listener = Callable[[str], object] | None

OPEN_S = 10.0
CLOSE_S = 2.0
STOP_S = 0.5
LATE_S = 60.0  # an answer that nobody waits for any more is still worth hearing this long: a tab may come of it

# A closing is lost, though answered with success, while a document is being committed: in more than half of the tries
# right after the answer to Page.navigate (measured on Chromium 156). The next one works.
CLOSE_AGAIN_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)

log = logging.getLogger("castlenb.cdp")


@contextlib.asynccontextmanager
async def background_tab(
    connection: Connection,
    *,
    on_created: Listener = None,
    on_closed: Listener = None,
    emulate_focus: bool = True,
    world: str = "castlenb",
    prepare: Sequence[tuple[str, Json]] = (),
    blank: str = "about:blank",
) -> AsyncIterator[Tab]:
    """A tab at about:blank that takes nobody's focus, for as long as the block runs.

    It is ours from the moment Chrome was asked for it: whatever happens, an error or a cancellation at any point of
    its opening included, it is closed before going on, which takes 2 s at most.

    Args:
        on_created: told the target id once there is one.
        on_closed: told the target id once the tab is known to be gone; never, if its end can not be known.
        emulate_focus: let the page believe that it is looked at. Without it, the timers of a background tab tick once
            a second and nothing is painted (measured on Chromium 156).
        world: an isolated world to make on the blank page; see ``Tab.blank_world``.
        prepare: commands for the tab; they are sent in one burst with ours, and answered when the block begins.
        blank: the blank page's address, which may have a fragment by which the tab is known again.

    Raises TabClosed, TabCrashed, ConnectionLost, CallTimeout and ProtocolError where there is no tab to be had.
    """
    tab = Tab(connection, on_created, on_closed, blank)
    try:
        await tab._open(world, emulate_focus, prepare)
        yield tab
    finally:
        await tab.aclose()


class Tab:
    """A tab that we opened; see :func:`background_tab`."""

    session: Session
    target_id: str  # stays the same through all navigations
    blank_world: int  # execution context of the world that was asked for, on the blank page

    def __init__(self, connection: Connection, on_created: Listener, on_closed: Listener, blank: str) -> None:
        self.target_id = ""
        self._blank = blank
        self._connection = connection
        self._on_created = on_created
        self._on_closed = on_closed
        self._creating: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def frame_id(self) -> str:
        """Of its top frame: in a tab that was opened blank it is the target's (measured on Chromium 156)."""
        return self.target_id

    async def navigate(self, url: str, *, timeout: float = 20.0) -> str:
        """Go to an address; returns the document's loader id when it is committed, long before it is loaded.

        Events overtake this answer: listen before calling. Where only the fragment differs the id is empty, and no
        load follows. After ``timeout`` seconds, or cancelled, it first stops the load, because a tab on its way to a
        document answers nothing else. Raises NavigationFailed, and CallTimeout.
        """
        try:
            answer = await self.session.call("Page.navigate", {"url": url}, timeout=timeout)
        except ProtocolError as exc:
            raise NavigationFailed(url, exc.message) from exc
        except (CallTimeout, asyncio.CancelledError):
            await _finish(self._do_aside("Page.stopLoading"), STOP_S)
            raise
        if "errorText" in answer:
            file = "It is a download, not a page" if answer.get("isDownload") else ""
            raise NavigationFailed(url, str(answer["errorText"]), file)
        return str(answer.get("loaderId", ""))

    async def world(self, name: str, *, timeout: float = 10.0) -> int:
        """The execution context of that isolated world in the present document, where an init script of it ran too."""
        params = {"frameId": self.frame_id, "worldName": name}
        answer = await self.session.call("Page.createIsolatedWorld", params, timeout=timeout)
        return told(answer, "executionContextId", "Page.createIsolatedWorld", int)

    async def aclose(self) -> None:
        """Close the tab and wait until it is gone, for 2 s at most; may be repeated.

        A cancellation is put off until then. If Chrome takes longer, the closing goes on by itself.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(_quietly(self._close()), name="castlenb tab close")
        await _finish(self._closing, CLOSE_S)

    async def _open(self, world: str, emulate_focus: bool, prepare: Sequence[tuple[str, Json]]) -> None:
        # A task of its own hears the answer even when the caller has gone: by then there may be a tab.
        self._creating = asyncio.create_task(self._create(), name="castlenb tab create")
        done, _ = await asyncio.wait({self._creating}, timeout=OPEN_S)
        if not done:
            raise CallTimeout("Target.createTarget", OPEN_S)
        self._creating.result()
        self.session = session = await self._attach()
        session.on("Page.javascriptDialogOpening", self._dismiss)
        burst = [("Page.enable", {}), *prepare]
        if emulate_focus:
            burst.append(("Emulation.setFocusEmulationEnabled", {"enabled": True}))
        calls = asyncio.gather(*(session.call(*each) for each in burst))
        self.blank_world, _ = await asyncio.gather(self.world(world), calls)

    async def _create(self) -> None:
        create, wish = self._connection.root.call, {"url": self._blank, "background": True}
        try:
            answer = await create("Target.createTarget", wish, timeout=LATE_S)
        except ProtocolError as exc:
            if "no browser is open" not in exc.message:
                raise
            answer = await create("Target.createTarget", {**wish, "newWindow": True}, timeout=LATE_S)
        self.target_id = told(answer, "targetId", "Target.createTarget", str)
        if self._on_created is not None:
            self._on_created(self.target_id)

    async def _attach(self) -> Session:
        wish = {"targetId": self.target_id, "flatten": True}
        try:
            answer = await self._connection.root.call("Target.attachToTarget", wish)
        except ProtocolError as exc:
            raise TabClosed(self.target_id) from exc  # it was there a moment ago
        return self._connection.session(told(answer, "sessionId", "Target.attachToTarget", str), self.target_id)

    async def _close(self) -> None:
        if self._creating is not None:
            await asyncio.gather(self._creating, return_exceptions=True)
        if not self.target_id:
            return
        with contextlib.suppress(ProtocolError, TabClosed):  # there is no such tab any more
            # The end of a session is the one sign that the tab is gone for everybody: closeTarget is answered 10 ms, or
            # 400, before (measured on Chromium 156). A crashed tab has lost its session already.
            lives = hasattr(self, "session") and self.session.lost is None
            session = self.session if lives else await self._attach()
            for patience in CLOSE_AGAIN_S:
                with contextlib.suppress(CallTimeout):
                    async with session.expect(timeout=patience):  # no event, so only the end
                        await self._connection.root.call("Target.closeTarget", {"targetId": self.target_id})
            log.warning("the tab %s can not be closed", self.target_id)
            return
        if self._on_closed is not None:
            self._on_closed(self.target_id)

    def _dismiss(self, dialog: Json) -> None:
        # Until it is answered nothing else is. Leaving the page is allowed, the rest declined.
        self._do_aside("Page.handleJavaScriptDialog", {"accept": dialog.get("type") == "beforeunload"})

    def _do_aside(self, method: str, params: Json | None = None) -> asyncio.Task[None]:
        return asyncio.create_task(_quietly(self.session.call(method, params)), name=f"castlenb {method}")


async def _quietly(work: Coroutine[Any, Any, object]) -> None:
    with contextlib.suppress(CastleError):
        await work


async def _finish(task: asyncio.Task[None], seconds: float) -> None:
    """Wait for the task, through a cancellation, which is raised afterwards."""
    waiting, cancelled = asyncio.create_task(asyncio.wait({task}, timeout=seconds)), None
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled is not None:
        raise cancelled
