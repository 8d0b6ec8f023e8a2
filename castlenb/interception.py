"""A tab whose requests are held: each is answered by a rule of ours, and nothing else of it reaches any machine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from .cdp.tab import Tab

log = logging.getLogger("castlenb")

Decision = tuple[str, dict[str, Any]]
"""A command of the protocol's ``Fetch`` domain and what it says beside the request's id."""

BLOCKED: Decision = ("Fetch.failRequest", {"errorReason": "BlockedByClient"})
ABORTED: Decision = ("Fetch.failRequest", {"errorReason": "Aborted"})
CONTINUED: Decision = ("Fetch.continueRequest", {})


class Interception:
    """Holds every request of a tab.

    Args:
        tab: one that has not been sent anywhere yet.
        decide: told each request that is held (``Fetch.requestPaused``), says what becomes of it. It runs in the
            connection's reader, so it can not wait for anything.
    """

    def __init__(self, tab: Tab, decide: Callable[[dict[str, Any]], Decision]) -> None:
        self._tab = tab
        self._decide = decide
        self._under_way: set[asyncio.Task[Any]] = set()

    async def stand(self, stages: Sequence[str] = ("Request",)) -> None:
        """Begins to hold them: as they are sent (``Request``), as they are answered (``Response``).

        Raises what a protocol call raises.
        """
        self._tab.session.on("Fetch.requestPaused", self._paused)
        patterns = [{"urlPattern": "*", "requestStage": stage} for stage in stages]
        await self._tab.session.call("Fetch.enable", {"patterns": patterns})

    def _paused(self, request: dict[str, Any]) -> None:
        command, says = self._decide(request)
        reply = self._tab.session.call(command, {"requestId": request["requestId"], **says})
        task = asyncio.get_running_loop().create_task(reply)
        self._under_way.add(task)
        task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        # The request is gone already, or the tab.
        if not task.cancelled() and (failed := task.exception()) is not None:
            log.debug("a held request could not be answered: %s", failed)
