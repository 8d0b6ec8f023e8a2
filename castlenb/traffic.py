"""The network's side of an AI answer: its own request, followed from being sent to its last byte.

So that waiting for an answer splits into page (until it is asked for), server (until its first byte) and stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from .cdp.tab import Tab
from .engines import Engine


class Traffic:
    """Follows the requests of a tab that bring an engine's answer. Network events only: nothing is held or changed.

    Args:
        tab: one that has not been sent anywhere yet.
        engine: whose requests; see ``AnswerForm.requests``.
    """

    def __init__(self, tab: Tab, engine: Engine) -> None:
        self._tab = tab
        self._patterns = [re.compile(each) for each in (engine.answer.requests if engine.answer else ())]
        self._seen: dict[str, dict[str, Any]] = {}
        self._document: tuple[float, float] | None = None  # the last one's requestTime (s), sendStart (ms after it)

    async def follow(self) -> None:
        """Begins. Raises what a protocol call raises."""
        on = self._tab.session.on
        on("Network.requestWillBeSent", self._sent)
        on("Network.responseReceived", self._answered)
        on("Network.loadingFinished", self._finished)
        on("Network.loadingFailed", self._failed)
        # No bodies are asked for, so Chrome need not keep any.
        await self._tab.session.call("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})

    def requests(self, request_start_ms: float | None) -> list[dict[str, Any]]:
        """The requests so far, in the order in which they were sent, for ``AIAnswer.requests``.

        Args:
            request_start_ms: ``requestStart`` of the document's navigation entry: the instant that Chrome tells on both
                clocks, the page's and its own. Without it times are missing.
        """
        offset = None
        if self._document is not None and request_start_ms is not None:
            began_s, send_ms = self._document
            offset = began_s * 1000 + send_ms - request_start_ms

        def on_the_page(seconds: float | None) -> float | None:
            return None if seconds is None or offset is None else round(seconds * 1000 - offset, 1)

        return [
            {
                "host": seen["host"],
                "path": seen["path"],
                "asked_ms": on_the_page(seen["asked"]),
                "first_byte_ms": on_the_page(seen["first_byte"]),
                "last_byte_ms": on_the_page(seen["last_byte"]),
                "bytes": seen["bytes"],
                "status": seen["status"],
                "failed": seen["failed"],
            }
            for seen in self._seen.values()
        ]

    def _sent(self, event: Mapping[str, Any]) -> None:
        parts = urlsplit(event["request"]["url"])
        if any(pattern.search(f"{parts.netloc}{parts.path}") for pattern in self._patterns):
            self._seen[event["requestId"]] = {
                "host": parts.netloc,
                "path": parts.path,
                "asked": event["timestamp"],
                "first_byte": None,
                "last_byte": None,
                "bytes": None,
                "status": None,
                "failed": None,
            }

    def _answered(self, event: Mapping[str, Any]) -> None:
        response, timing = event["response"], event["response"].get("timing") or {}
        if event["type"] == "Document" and event.get("frameId") == self._tab.frame_id and timing:
            self._document = (timing["requestTime"], timing["sendStart"])
        if seen := self._seen.get(event["requestId"]):
            headers_ms = timing.get("receiveHeadersStart", timing.get("receiveHeadersEnd"))
            seen["status"] = response["status"]
            seen["first_byte"] = timing["requestTime"] + headers_ms / 1000 if headers_ms else event["timestamp"]

    def _finished(self, event: Mapping[str, Any]) -> None:
        if seen := self._seen.get(event["requestId"]):
            seen["last_byte"], seen["bytes"] = event["timestamp"], int(event["encodedDataLength"])

    def _failed(self, event: Mapping[str, Any]) -> None:
        if seen := self._seen.get(event["requestId"]):
            seen["failed"] = event["errorText"]


def answer_times(requests: Sequence[Mapping[str, Any]], offset_ms: float) -> dict[str, float | None]:
    """The answer's first request, in milliseconds from the first document's origin: ``ai_asked_ms``,
    ``ai_first_byte_ms``, ``ai_last_byte_ms``; ``None`` where it was never asked for, or has not come."""
    first: Mapping[str, Any] = requests[0] if requests else {}
    times = {f"ai_{name}": first.get(name) for name in ("asked_ms", "first_byte_ms", "last_byte_ms")}
    return {name: None if ms is None else round(ms + offset_ms, 1) for name, ms in times.items()}
