"""Made-up pages, one after the other in one tab an engine: a page costs a third of what it does in a tab of its own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import castlenb as cn
from castlenb.replays import Replay

_Key = tuple[str, str]
_tabs: dict[_Key, tuple[ExitStack, Replay]] = {}


@contextmanager
def replayed(lab: cn.Lab, html: str, *, engine: str = "google", url: str | None = None) -> Iterator[Replay]:
    """As ``castlenb.replay`` in a lab's Chromium, in the tab that the pages before had; a new one after a failure."""
    key = (str(lab.browser.target), engine)
    if key in _tabs:
        try:
            _tabs[key][1].show(html, url=url)
        except cn.SessionLost:  # the page before was too much for its renderer
            _close(key)
    if key not in _tabs:
        stack = ExitStack()
        browser = stack.enter_context(cn.connect(lab.browser.target.address))
        _tabs[key] = stack, stack.enter_context(cn.replay(html, engine=engine, url=url, browser=browser))
    try:
        yield _tabs[key][1]
    except BaseException:
        _close(key)
        raise


def close_all() -> None:
    """The tabs of the run; called before the lab ends."""
    for key in list(_tabs):
        _close(key)


def _close(key: _Key) -> None:
    stack, _ = _tabs.pop(key)
    stack.close()
