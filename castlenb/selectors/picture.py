"""A picture of a page that was checked, with a frame around what each hook finds.

Taken from a replay, in a Chromium that was started for it and is nobody's: a person's tab is never photographed, which
would hang while it is hidden and change the size of its page.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable

from .. import page
from ..engines import engine as engine_named
from ..replays import chrome, replaying
from .judge import asked_of
from .seen import Check, Seen

WIDE = 1200
TALLEST = 2400
"""Pixels of the page that are shown; what stands further down is left out."""

SCALE = 0.6

GOOD, BAD, OTHER = "#1a7f37", "#cf222e", "#9a6700"
"""Colours: of a hook that holds, of one that has drifted, of what could not be judged."""

SHOWN = ("area", "row", "heading", "answer_wrapper", "answer_body", "answer_card", "answer_header")
"""Parts whose hooks are drawn where they hold; those that have drifted always are."""


async def pictured(pages: Iterable[Seen]) -> list[bytes | None]:
    """A JPEG of each page; ``None`` where its mark-up was not kept.

    Raises:
        LabError: no throwaway Chromium could be started.
    """
    taken: list[bytes | None] = []
    async with chrome(None) as house:
        for seen in pages:
            if seen.html is None:
                taken.append(None)
                continue
            whose = engine_named(seen.engine)
            # A Chromium of our own, so it may be told how wide a window is and which tab is in front.
            async with replaying(seen.html, engine=seen.engine, url=seen.url, browser=house) as opened:
                call = opened.tab.session.call
                size = {"width": WIDE, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                await call("Emulation.setDeviceMetricsOverride", size)
                await opened.aread()
                await call("Page.bringToFront")
                hooks = [asked_of(check.hook, whose) for check in seen.checks]
                drawn = await opened.aevaluate(page.outline_expression(whose.spec(), hooks, _marks(seen.checks)))
                height = min(max(drawn["height"] + 20, 400), TALLEST)
                clip = {"x": 0, "y": 0, "width": WIDE, "height": height, "scale": SCALE}
                shot = {"format": "jpeg", "quality": 70, "clip": clip, "captureBeyondViewport": True}
                taken.append(base64.b64decode((await call("Page.captureScreenshot", shot, timeout=30.0))["data"]))
    return taken


def _marks(checks: Iterable[Check]) -> list[tuple[int, str, str]]:
    marks = []
    for n, check in enumerate(checks):
        if check.hook.kind == "address" or not (check.drifted or check.hook.part in SHOWN):
            continue
        colour = BAD if check.drifted else GOOD if check.verdict == "ok" else OTHER
        marks.append((n, colour, f"{check.hook.part} {check.hook.css}"))
    return marks
