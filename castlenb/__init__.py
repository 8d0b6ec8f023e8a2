"""castlenb: searches through a Chrome that is already running, from a notebook.

>>> import castlenb as cn
>>> page = cn.search("pour over coffee ratio")          # doctest: +SKIP
>>> page.results                                        # doctest: +SKIP

Plain calls work in a script, in a cell and in a thread; :mod:`castlenb.aio` has the same names as coroutines. Nothing
is dialled at import, and the only browser ever started is the throwaway Chromium of :class:`Lab`, :func:`read` and
:func:`replay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from . import bridge, captures, lab, live, replays, serp, several
from .answer import AIAnswer
from .browser import Browser, BrowserLike
from .errors import (
    CallTimeout,
    CaptureError,
    CastleError,
    ConnectionLost,
    EndpointError,
    EndpointRefused,
    EndpointUnreachable,
    JournalError,
    LabError,
    Misuse,
    NavigationFailed,
    NoResultsError,
    NotDevTools,
    ProtocolError,
    RecordError,
    ScriptError,
    SearchChallengeError,
    SearchError,
    SearchTimeout,
    SessionLost,
    StudyError,
    SuspectedBlockError,
    TabClosed,
    TabCrashed,
    TargetError,
    UnparseableError,
)
from .kept import forget, reuse
from .results import SearchPage
from .several import Comparison, Searches
from .snapshot import Capture
from .target import BY_THE_LAB, TargetLike, resolve_target

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import selectors, study
    from .lab import FakeWeb
    from .notebook.panel import Panel
    from .selectors import Verification
    from .study import running

    measure = bridge.plain(running.measure)
    verify = bridge.plain(selectors.verify)

__version__ = "0.1.0"

replays.provide_throwaway(lab.throwaway)

search = live.plain(serp.search, live.OfSearch)
searches = live.plain(several.searches, live.OfSearches)
compare = live.plain(several.compare, live.OfCompare)
read = bridge.plain(captures.read)
capture = bridge.plain(captures.capture)


def replay(
    kept: str | Capture,
    *,
    engine: str | None = None,
    url: str | None = None,
    growth: bool = False,
    browser: BrowserLike = None,
) -> AbstractContextManager[replays.Replay]:
    """A capture, or a saved page's source, rendered inert at its true address, for as long as the block lasts.

    >>> with castlenb.replay(html, url="https://www.google.com/search?q=x") as opened:    # doctest: +SKIP
    ...     opened.read().results

    See :func:`castlenb.replays.replaying` for arguments and errors.
    """
    return bridge.entered(replays.replaying(kept, engine=engine, url=url, growth=growth, browser=browser))


def connect(target: TargetLike = None, *, max_visits: int = 2) -> Browser:
    """Attaches to a Chrome that is already running.

    Args:
        target: ``"host:port"``, a port, an ``http(s)://`` or ``ws(s)://`` address, a profile directory, ``"local"``
            (127.0.0.1:9222); ``None`` for ``BU_CDP_HTTP``, else the stored choice, else the built-in default.
        max_visits: visits at a time; further ones queue.

    Returns:
        The Browser, connected; a context manager that closes our socket, never the Chrome.

    Raises:
        TargetError: the target makes no sense.
        EndpointError: the Chrome can not be had; no other is tried.
    """
    browser = Browser(resolve_target(target), max_visits=max_visits)
    bridge.run(browser.open())
    return browser


def panel(
    query: str = "",
    *,
    engines: Sequence[str] = ("google", "bing", "brave", "duckduckgo"),
    browser: BrowserLike = None,
) -> Panel:
    """A panel to search from, for a notebook: engines side by side, and ``panel.searches`` as a DataFrame.

    Args:
        query: what stands in its search box at first; nothing is searched before somebody asks for it.
        engines: those that are ticked at first.
        browser: a Browser, or what names a Chrome; ``None`` for the configured one.

    Raises:
        TargetError: the name makes no sense.
    """
    from .notebook.panel import Panel  # ipywidgets takes 0.3 s

    return Panel(query, engines, browser)


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """What ``%load_ext castlenb`` calls: brings ``%search`` and ``%%searches``."""
    from .notebook.magics import load  # IPython, which is there only if it asks

    load(ipython)


class Lab:
    """A throwaway Chromium and engines of our own making, on this machine, joined to a Browser.

    >>> with castlenb.Lab() as lab:                                                       # doctest: +SKIP
    ...     castlenb.search("anything", browser=lab.browser)

    Args:
        scenario: what the engines play at first; ``lab.play(…)`` changes it.

    Attributes:
        browser: the Browser on the lab's Chromium.
        web: the lab's server and Chromium; ``web.requests`` is what was asked of the engines.

    Raises (on entering):
        LabError: Chromium or the server did not start.
    """

    browser: Browser
    web: FakeWeb

    def __init__(self, scenario: str = "2026-08-04", *, max_visits: int = 2) -> None:
        self._scenario = scenario
        self._max_visits = max_visits
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.web = stack.enter_context(lab.FakeWeb(self._scenario))
            chosen = replace(resolve_target(self.web.target), decided_by=BY_THE_LAB)
            self.browser = stack.enter_context(Browser(chosen, max_visits=self._max_visits))
            self._stack = stack.pop_all()
        return self

    def open(self) -> Self:
        """As entering it, for a notebook, whose cells no ``with`` can span; ends with :meth:`close` or the process."""
        return self.__enter__()

    def play(self, scenario: str | lab.Scenario, **where: Any) -> None:
        """Changes what is played, for one engine or one query where these are named; see ``FakeWeb.play``."""
        self.web.play(scenario, **where)
        self.browser.cleared()  # whom the last play turned away, this one does not

    def close(self) -> None:
        """Ends the Chromium and the server; idempotent."""
        self._stack.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


from . import aio  # noqa: E402  (last: it repeats the names above)


def __getattr__(name: str) -> Any:
    """Studies and selectors are rooms that a search does without: they are loaded when they are first named."""
    if name in ("selectors", "study"):
        return import_module(f".{name}", __name__)
    made = (
        import_module(".selectors", __name__).Verification if name == "Verification" else bridge.plain(aio.later(name))
    )
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AIAnswer",
    "Browser",
    "CallTimeout",
    "Capture",
    "CaptureError",
    "CastleError",
    "Comparison",
    "ConnectionLost",
    "EndpointError",
    "EndpointRefused",
    "EndpointUnreachable",
    "JournalError",
    "Lab",
    "LabError",
    "Misuse",
    "NavigationFailed",
    "NoResultsError",
    "NotDevTools",
    "ProtocolError",
    "RecordError",
    "ScriptError",
    "SearchChallengeError",
    "SearchError",
    "SearchPage",
    "SearchTimeout",
    "Searches",
    "SessionLost",
    "StudyError",
    "SuspectedBlockError",
    "TabClosed",
    "TabCrashed",
    "TargetError",
    "UnparseableError",
    "Verification",
    "__version__",
    "aio",
    "capture",
    "compare",
    "connect",
    "forget",
    "load_ipython_extension",
    "measure",
    "panel",
    "read",
    "replay",
    "reuse",
    "search",
    "searches",
    "selectors",
    "study",
    "verify",
]
