"""One background tab of our own, closed on every path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from ..errors import CallTimeout, CastleError, NavigationFailed, ProtocolError, TabClosed
from .connection import Connection, Session

Command = tuple[str, dict[str, Any]]

OPEN_S = 10.0
CLOSE_S = 2.0
STOP_S = 1.0
LATE_S = 60.0
"""How long an answer that nobody waits for any more is still worth hearing: a tab may come of it."""

CLOSE_AGAIN_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8)
"""A closing is lost, though answered with success, if a document is just being committed; in more than half of the
tries right after ``Page.navigate`` had answered (measured on Chromium 156). A second one then works."""

log = logging.getLogger("castlenb.cdp")


@contextlib.asynccontextmanager
async def background_tab(
    connection: Connection,
    *,
    on_created: Callable[[str], object] | None = None,
    on_closed: Callable[[str], object] | None = None,
    emulate_focus: bool = True,
    prepare: Sequence[Command] = (),
) -> AsyncIterator[Tab]:
    """A tab at about:blank that takes nobody's focus, for as long as the block runs.

    It is ours from the moment Chrome was asked for it: whatever happens, an error or a cancellation at any point of
    its opening included, it is closed before going on, which takes 2 s at most.

    Args:
        connection: to the Chrome.
        on_created: told the target id once there is one.
        on_closed: told the target id once the tab is known to be gone; never, if its end can not be known.
        emulate_focus: let the page believe that it is looked at. Without it, the timers of a background tab tick once
            a second and nothing is painted (measured on Chromium 156).
        prepare: commands for the tab; they are sent in one burst with ours, and answered when the block begins.

    Raises:
        TabClosed, TabCrashed, ConnectionLost, CallTimeout, ProtocolError: there is no tab to be had.
    """
    tab = Tab(connection, on_created, on_closed)
    try:
        await tab._open(emulate_focus, prepare)
        yield tab
    finally:
        await tab.aclose()


class Tab:
    """A tab that we opened; see :func:`background_tab`.

    Attributes:
        session: the conversation with it.
        target_id: DevTools target id, the same through all navigations.
        frame_id: of its top frame.
    """

    session: Session
    frame_id: str

    def __init__(
        self,
        connection: Connection,
        on_created: Callable[[str], object] | None,
        on_closed: Callable[[str], object] | None,
    ) -> None:
        self.target_id = ""
        self._connection = connection
        self._on_created = on_created
        self._on_closed = on_closed
        self._creating: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._aside: set[asyncio.Task[None]] = set()

    async def navigate(self, url: str, *, timeout: float = 20.0) -> str:
        """Go to an address; returns when the document is there, though not loaded.

        Events overtake this answer: listen before calling. Out of time or cancelled, it first stops the load, because
        a tab on its way to a document answers nothing else.

        Args:
            url: absolute.
            timeout: seconds.

        Returns:
            The document's loader id; empty where the address differs only in its fragment, and no load follows.

        Raises:
            NavigationFailed: Chrome could not open it, or would not.
            CallTimeout: not in time.
        """
        try:
            answer = await self.session.call("Page.navigate", {"url": url}, timeout=timeout)
        except ProtocolError as exc:
            raise NavigationFailed(url, exc.message) from exc
        except (CallTimeout, asyncio.CancelledError):
            await _finish(self._do_aside("Page.stopLoading"), STOP_S)
            raise
        if "errorText" in answer:
            raise NavigationFailed(url, answer["errorText"], _hint(answer))
        loader_id: str = answer.get("loaderId", "")
        return loader_id

    async def world(self, name: str) -> int:
        """The execution context of that isolated world in the present document, where an init script of it ran too."""
        answer = await self.session.call("Page.createIsolatedWorld", {"frameId": self.frame_id, "worldName": name})
        context_id: int = answer["executionContextId"]
        return context_id

    async def aclose(self) -> None:
        """Close the tab and wait until it is gone, for 2 s at most; may be repeated.

        A cancellation is put off until then. If Chrome takes longer, the closing goes on by itself.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(), name="castlenb tab close")
        await _finish(self._closing, CLOSE_S)
        if not self._closing.done():
            log.warning("tab %s is not closed after %g s; still trying", self.target_id or "(not yet open)", CLOSE_S)

    async def _open(self, emulate_focus: bool, prepare: Sequence[Command]) -> None:
        # A task of its own hears the answer even when the caller has gone: by then there may be a tab.
        self._creating = asyncio.create_task(self._create(), name="castlenb tab create")
        done, _ = await asyncio.wait({self._creating}, timeout=OPEN_S)
        if not done:
            raise CallTimeout("Target.createTarget", OPEN_S)
        self._creating.result()
        self.session = await self._attach()
        self.session.on("Page.javascriptDialogOpening", self._dismiss)
        burst: list[Command] = [("Page.getFrameTree", {}), ("Page.enable", {})]
        if emulate_focus:
            burst.append(("Emulation.setFocusEmulationEnabled", {"enabled": True}))
        calls = [self.session.call(*command) for command in (*burst, *prepare)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        self.frame_id = answers[0]["frameTree"]["frame"]["id"]  # type: ignore[index]

    async def _create(self) -> None:
        create, wish = self._connection.root.call, {"url": "about:blank", "background": True}
        try:
            answer = await create("Target.createTarget", wish, timeout=LATE_S)
        except ProtocolError as exc:
            if "no browser is open" not in exc.message:
                raise
            answer = await create("Target.createTarget", {**wish, "newWindow": True}, timeout=LATE_S)
        self.target_id = answer["targetId"]
        if self._on_created is not None:
            self._on_created(self.target_id)

    async def _attach(self) -> Session:
        wish = {"targetId": self.target_id, "flatten": True}
        try:
            answer = await self._connection.root.call("Target.attachToTarget", wish)
        except ProtocolError as exc:
            raise TabClosed(self.target_id) from exc  # it was there a moment ago
        return self._connection.session(answer["sessionId"], self.target_id)

    async def _close(self) -> None:
        if self._creating is None:
            return
        await asyncio.wait({self._creating})
        if not self.target_id:
            return
        root = self._connection.root
        try:
            # The event that our session has ended is the one sign that the tab is gone, for all clients: the answer
            # to closeTarget comes before, by 10 ms or by 400 (measured on Chromium 156).
            session = self.session if hasattr(self, "session") else await self._attach()
            for patience in CLOSE_AGAIN_S:
                with contextlib.suppress(CallTimeout):
                    async with root.expect(
                        "Target.detachedFromTarget",
                        where=lambda gone: gone["sessionId"] == session.session_id,
                        timeout=patience,
                    ):
                        await root.call("Target.closeTarget", {"targetId": self.target_id})
                    break
            else:
                return
        except (ProtocolError, TabClosed):
            pass  # there is no such target: somebody else has closed it
        except CastleError:
            return
        if self._on_closed is not None:
            self._on_closed(self.target_id)

    def _dismiss(self, dialog: dict[str, Any]) -> None:
        # Until it is answered nothing else is. Leaving the page is allowed, the rest declined.
        self._do_aside("Page.handleJavaScriptDialog", {"accept": dialog.get("type") == "beforeunload"})

    def _do_aside(self, method: str, params: dict[str, Any] | None = None) -> asyncio.Task[None]:
        task = asyncio.create_task(_quietly(self.session.call(method, params)), name=f"castlenb {method}")
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
        return task


def _hint(answer: dict[str, Any]) -> str:
    if answer.get("isDownload"):
        return "It is a download: Chrome has saved the file where it saves its downloads"
    return {
        "net::ERR_ABORTED": "There was no document (HTTP 204, a javascript: address), or another navigation came "
        "first; the page before it is still there",
        "net::ERR_HTTP_RESPONSE_CODE_FAILURE": "The server answered with an error status and an empty page",
    }.get(answer["errorText"], "")


async def _quietly(call: Coroutine[Any, Any, object]) -> None:
    with contextlib.suppress(CastleError):
        await call


async def _finish(task: asyncio.Task[None], seconds: float) -> None:
    """Wait for the task, through a cancellation, which is raised afterwards."""
    loop = asyncio.get_running_loop()
    end, cancelled = loop.time() + seconds, None
    while not task.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled is not None:
        raise cancelled
