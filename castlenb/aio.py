"""The front door's names as coroutines.

They are the same coroutines, on the same loop thread, as the plain calls run, so a Browser opened by either door serves
both. They can be awaited on any loop, and are interruptible in a notebook cell.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import bridge, captures, live, replays, serp, several
from .browser import Browser, BrowserLike
from .snapshot import Capture
from .target import TargetLike, resolve_target

if TYPE_CHECKING:
    from . import selectors
    from .study import running

    measure = bridge.marshalled(running.measure)
    verify = bridge.marshalled(selectors.verify)

search = live.marshalled(serp.search, live.OfSearch)
searches = live.marshalled(several.searches, live.OfSearches)
compare = live.marshalled(several.compare, live.OfCompare)
read = bridge.marshalled(captures.read)
capture = bridge.marshalled(captures.capture)

_LATER = {"measure": ".study.running", "verify": ".selectors"}


def later(name: str) -> Any:
    """The coroutine function of that name from a room that a search does without, and that is loaded when it is named.

    Raises:
        AttributeError: there is none.
    """
    if name not in _LATER:
        raise AttributeError(f"castlenb has no {name!r}")
    return getattr(import_module(_LATER[name], __package__), name)


def __getattr__(name: str) -> Any:
    made = globals()[name] = bridge.marshalled(later(name))
    return made


def replay(
    kept: str | Capture,
    *,
    engine: str | None = None,
    url: str | None = None,
    growth: bool = False,
    browser: BrowserLike = None,
) -> AbstractAsyncContextManager[replays.Replay]:
    """As :func:`castlenb.replay`; use ``aread`` and ``aevaluate`` on what it yields."""
    return bridge.aentered(replays.replaying(kept, engine=engine, url=url, growth=growth, browser=browser))


@asynccontextmanager
async def connect(target: TargetLike = None, *, max_visits: int = 2) -> AsyncIterator[Browser]:
    """As :func:`castlenb.connect`, as an async context manager."""
    async with Browser(resolve_target(target), max_visits=max_visits) as browser:
        await bridge.arun(browser.open())
        yield browser


__all__ = ["capture", "compare", "connect", "measure", "read", "replay", "search", "searches", "verify"]
