"""One background tab of our own, closed on every path."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from castlenb.cdp.connection import Connection, Session
from castlenb.errors import CallTimeout, CastleError, NavigationFailed, ProtocolError, TabClosed, TabCrashed

CREATE_S = 10.0
LATE_S = 60.0
CLOSE_S = 2.0
STOP_S = 1.0


@contextlib.asynccontextmanager
async def background_tab(
    connection: Connection,
    *,
    on_created: Callable[[str], None] | None = None,
    on_closed: Callable[[str], None] | None = None,
    emulate_focus: bool = True,
    prepare: Sequence[tuple[str, dict[str, Any]]] = (),
) -> AsyncIterator[Tab]:
    """A tab at about:blank that takes nobody's focus, for as long as the block runs.

    It is ours from the moment Chrome was asked for it: an error or a cancellation at any point, that of opening
    included, closes it before going on, which takes 2 s at the most.

    Args:
        connection: to the Chrome.
        on_created: told the target id as soon as Chrome says it.
        on_closed: told the target id once the tab is known to be gone; never for one whose end can not be known.
        emulate_focus: whether the page believes it is looked at. Without it a background tab's timers tick once a
            second and nothing is painted (measured on Chromium 156).
        prepare: commands sent in the same burst as ours and answered before the block begins.

    Raises:
        TabClosed, TabCrashed, ConnectionLost, CallTimeout, ProtocolError: it could not be had.
    """
    tab = Tab(connection, on_created, on_closed)
    try:
        await tab._open(emulate_focus, prepare)
        yield tab
    finally:
        await tab.aclose()


class Tab:
    """A tab that we opened.

    Attributes:
        session: the conversation with it.
        target_id: DevTools target id; stays the same through navigations.
        frame_id: of its top frame.
    """

    session: Session
    frame_id: str

    def __init__(
        self,
        connection: Connection,
        on_created: Callable[[str], None] | None = None,
        on_closed: Callable[[str], None] | None = None,
    ) -> None:
        self.target_id = ""
        self._connection = connection
        self._on_created = on_created
        self._on_closed = on_closed
        self._creating: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._answers: set[asyncio.Task[None]] = set()

    async def navigate(self, url: str, *, timeout: float = 20.0) -> str:
        """Go to an address; returns as soon as the document is committed.

        Events overtake the answer: listen before calling. If time runs out, or the caller is cancelled, the load is
        stopped first, because a tab whose navigation is under way answers nothing else.

        Args:
            url: absolute.
            timeout: seconds until the document is committed.

        Returns:
            The loader id of the document; empty if the address only differed in its fragment (then no load follows).

        Raises:
            NavigationFailed: Chrome could not or would not open it.
            CallTimeout: not in time.
        """
        try:
            answer = await self.session.call("Page.navigate", {"url": url}, timeout=timeout)
        except ProtocolError as exc:
            raise NavigationFailed(url, exc.message) from exc
        except (CallTimeout, asyncio.CancelledError):
            await _finish(asyncio.create_task(_quietly(self.session.call("Page.stopLoading", timeout=STOP_S))), STOP_S)
            raise
        if "errorText" in answer:
            raise NavigationFailed(url, answer["errorText"], _hint(answer))
        loader_id: str = answer.get("loaderId", "")
        return loader_id

    async def world(self, name: str) -> int:
        """The execution context of that isolated world in the current document; made if it is not there.

        An init script with the same world name runs in the very same context.
        """
        answer = await self.session.call("Page.createIsolatedWorld", {"frameId": self.frame_id, "worldName": name})
        context_id: int = answer["executionContextId"]
        return context_id

    async def aclose(self) -> None:
        """Close the tab and wait until it is gone, for 2 s at most; may be repeated.

        A cancellation that arrives meanwhile is raised afterwards. Should Chrome take longer, the closing goes on by
        itself.
        """
        if self._creating is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(self._creating), name="castlenb tab close")
        await _finish(self._closing, CLOSE_S)

    async def _open(self, emulate_focus: bool, prepare: Sequence[tuple[str, dict[str, Any]]]) -> None:
        # A task of its own, so that the answer is heard even if the caller is cancelled or tired of waiting: by then
        # the tab may exist.
        self._creating = asyncio.create_task(self._create(), name="castlenb tab create")
        done, _ = await asyncio.wait({self._creating}, timeout=CREATE_S)
        if not done:
            raise CallTimeout("Target.createTarget", CREATE_S)
        self._creating.result()
        try:
            attached = await self._connection.root.call(
                "Target.attachToTarget", {"targetId": self.target_id, "flatten": True}
            )
        except ProtocolError as exc:
            raise TabClosed(self.target_id) from exc
        self.session = session = self._connection.session(attached["sessionId"], self.target_id)
        session.on("Page.javascriptDialogOpening", self._dismiss)
        burst: list[tuple[str, dict[str, Any]]] = [("Page.getFrameTree", {}), ("Page.enable", {})]
        if emulate_focus:
            burst.append(("Emulation.setFocusEmulationEnabled", {"enabled": True}))
        burst += prepare
        answers = await asyncio.gather(*(session.call(*command) for command in burst), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        self.frame_id = answers[0]["frameTree"]["frame"]["id"]  # type: ignore[index]

    async def _create(self) -> None:
        call, wish = self._connection.root.call, {"url": "about:blank", "background": True}
        try:
            answer = await call("Target.createTarget", wish, timeout=LATE_S)
        except ProtocolError as exc:
            if "no browser is open" not in exc.message.lower():
                raise
            answer = await call("Target.createTarget", {**wish, "newWindow": True}, timeout=LATE_S)
        self.target_id = answer["targetId"]
        if self._on_created is not None:
            self._on_created(self.target_id)

    async def _close(self, creating: asyncio.Task[None]) -> None:
        await asyncio.wait({creating})
        if not self.target_id:
            return
        try:
            await self._connection.root.call("Target.closeTarget", {"targetId": self.target_id}, timeout=LATE_S)
        except ProtocolError:
            pass  # somebody else has closed it
        except CastleError:
            return
        if self._on_closed is not None:
            self._on_closed(self.target_id)

    def _dismiss(self, dialog: dict[str, Any]) -> None:
        # An open dialog holds up everything else asked of the tab. Leaving the page is allowed, all else declined.
        accept = dialog.get("type") == "beforeunload"
        answer = asyncio.create_task(
            _quietly(self.session.call("Page.handleJavaScriptDialog", {"accept": accept})), name="castlenb dialog"
        )
        self._answers.add(answer)
        answer.add_done_callback(self._answers.discard)


def _hint(answer: dict[str, Any]) -> str:
    if answer.get("isDownload"):
        return "It is a download: Chrome has saved the file where it saves its downloads"
    return {
        "net::ERR_ABORTED": "There was no document (HTTP 204, a script address), or another navigation came first; "
        "the previous page is still shown",
        "net::ERR_HTTP_RESPONSE_CODE_FAILURE": "The server answered with an error status and an empty page",
    }.get(answer["errorText"], "")


async def _quietly(call: Awaitable[Any]) -> None:
    with contextlib.suppress(CastleError):
        await call


async def _finish(task: asyncio.Task[None], seconds: float) -> None:
    """Wait for the task, through cancellation, which is raised afterwards."""
    loop = asyncio.get_running_loop()
    end, cancelled = loop.time() + seconds, None
    while not task.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as exc:
            cancelled = exc
    if cancelled is not None:
        raise cancelled
    if task.done():
        task.result()
