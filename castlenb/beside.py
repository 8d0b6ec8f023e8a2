"""What goes on beside the one wait on a page: a hidden tab's clock is kept, and whoever follows the visit is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from . import page
from .cdp.tab import Tab
from .errors import CastleError

Progress = Callable[[str, int], object]
"""Told what is waited for: ``results`` and how many there are, then the answer's state and the length of its prose."""

_TICK_S = 0.1
"""How often a hidden tab is asked to look at its own clock: its timers tick only once a second."""

_TELL_S = 1.0
"""How often whoever follows a visit is told."""


@asynccontextmanager
async def beside(
    tab: Tab, watching: Callable[[], bool], *, hidden: bool, progress: Progress | None
) -> AsyncIterator[None]:
    """For as long as the block lasts.

    Args:
        tab: the one that is waited on.
        watching: whether the page is being watched by now; before, Chrome would hold whatever is asked of it.
        hidden: whether the tab's timers do not run.
        progress: who follows the visit; called on this loop.
    """

    async def ask(method: str) -> Any:
        if watching():
            with contextlib.suppress(CastleError):  # what it means is for the wait itself to say
                world = await tab.world(page.WORLD)
                return await tab.session.evaluate(f"globalThis.castlenb?.watcher?.{method}?.()", context_id=world)
        return None

    async def ticks() -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            await ask("tick")

    async def tells(told: Progress) -> None:
        while True:
            await asyncio.sleep(_TELL_S)
            if (said := await ask("progress")) is not None:
                told(*json.loads(said))

    tasks = [asyncio.create_task(ticks())] if hidden else []
    if progress is not None:
        tasks.append(asyncio.create_task(tells(progress)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
