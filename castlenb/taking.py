"""The act of keeping a page: from a tab that has been watched to a Capture, before the tab is closed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from . import page
from .cdp.tab import Tab
from .errors import CaptureError, CastleError, Misuse
from .snapshot import Capture, Frame
from .visit import Errand, Visit, Visitor

log = logging.getLogger("castlenb")

ASIDE_S = 3.0
"""Seconds that keeping a page may take where it is not what was asked for."""

TAKE_S = 30.0


async def take(
    visitor: Visitor,
    visit: Visit,
    errand: Errand,
    *,
    captured_at: datetime | None = None,
    blank: bool = True,
    timeout_s: float = TAKE_S,
) -> Capture:
    """The page that a visit has ended on, while its tab is open. Nothing on the page is touched.

    Args:
        blank: what was taken is redacted on a blank tab of its own, for a stranger's page can forbid that anything is
            parsed in it, and would know of it. One that is replayed can not.
        captured_at: when it was, for a page that is older than this visit.

    Raises:
        CaptureError: the page can not be taken: it is too large, its tab went away, or did not answer.
    """
    spec, places = errand.engine.spec(), errand.engine.private.as_json()

    async def told(tab: Tab, expression: str) -> dict[str, Any]:
        context = await tab.world(page.WORLD, timeout=timeout_s)
        return dict(json.loads(await tab.session.evaluate(expression, context_id=context, timeout=timeout_s)))

    try:
        taken = await told(visitor.tab, page.take_expression())
        refused = visit.reading["page_state"] == "challenge"
        keep = page.keep_expression(spec, places, taken, refused=refused)
        if blank:
            async with errand.browser.tab() as aside:
                said = await told(aside, keep)
        else:
            said = await told(visitor.tab, keep)
    except (CastleError, Misuse) as failed:  # Misuse: it is more than Chrome takes in one message
        raise CaptureError(f"the page at {visit.reading['url']} could not be taken: {failed}") from failed
    html, at = said["html"], said["answer"]
    answer = visit.answer or {}
    return Capture(
        html=html,
        url=said["url"],
        engine=errand.engine.name,
        query=errand.query,
        captured_at=captured_at or visit.started_at,
        growth=_growth(said["frames"], html, at, visit.offset_ms),
        timeline=visit.timeline,
        timings=visit.timings(),
        found={
            "page_state": visit.reading["page_state"],
            "challenge_kind": visit.reading["challenge_kind"],
            "results": len(visit.reading["results"]),
            "answer_state": answer.get("state"),
            "settled_by": visit.settled_by or answer.get("settled_by"),
            "reason": visit.reason,
            "status": visit.status,
            "documents": visit.documents,
            "visibility": visit.visibility,
        },
        chrome=errand.browser.version.get("Browser", ""),
        redacted=tuple(said["redacted"]),
        answer_at=None if at is None else (at[0], at[1]),
    )


async def take_aside(visitor: Visitor, visit: Visit, errand: Errand) -> Capture | None:
    """The same for a page that is kept beside what was asked for: an error that is about to be raised is never replaced
    by what goes wrong here, nor held up for long."""
    try:
        async with asyncio.timeout(ASIDE_S):
            return await take(visitor, visit, errand, timeout_s=ASIDE_S)
    except (CastleError, TimeoutError, KeyError, TypeError, ValueError) as failed:
        log.info("the page could not be kept: %s", failed)
        return None


def _growth(
    frames: Sequence[Sequence[Any]], html: str, at: Sequence[int] | None, offset_ms: float
) -> tuple[Frame, ...]:
    """The frames on the page clock. The last is the answer as it stands in the page, to the letter."""
    growth = [(round(t + offset_ms, 1), text) for t, text in frames]
    if growth and growth[-1][1] and at is not None:
        growth[-1] = (growth[-1][0], html[at[0] : at[1]])
    return tuple(growth)
