"""Made-up pages, one after the other in one tab: a page costs a third of what it does in a tab of its own.

The tab takes one of the two places that searches in that Chrome wait for, so there is one, and a test that searches has
it closed first (the fixture ``lab``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import castlenb as cn
from castlenb.replays import Replay


@dataclass
class _Held:
    chrome: str
    engine: str
    replay: Replay
    stack: ExitStack


_held: _Held | None = None


@contextmanager
def replayed(lab: cn.Lab, html: str, *, engine: str = "google", url: str | None = None) -> Iterator[Replay]:
    """As ``castlenb.replay`` in a lab's Chromium, in the tab that the page before had where it was the same engine's."""
    global _held
    chrome = str(lab.browser.target)
    if _held is not None and (_held.chrome, _held.engine) != (chrome, engine):
        close()
    if _held is not None:
        try:
            _held.replay.show(html, url=url)
        except cn.SessionLost:  # the page before was too much for its renderer
            close()
    if _held is None:
        stack = ExitStack()
        replay = stack.enter_context(cn.replay(html, engine=engine, url=url, browser=lab.browser))
        _held = _Held(chrome, engine, replay, stack)
    try:
        yield _held.replay
    except BaseException:
        close()
        raise


def close() -> None:
    """Ends the tab, where there is one."""
    global _held
    held, _held = _held, None
    if held is not None:
        held.stack.close()
