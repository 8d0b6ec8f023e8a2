"""Engines of our own making and a throwaway Chromium to look at them with: for demos, tests and notebooks.

Nothing here leaves the machine. The server's libraries (tornado, trustme) are loaded when a :class:`FakeWeb` is
started, and not before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ..errors import LabError
from .chromium import Chromium, find_chromium
from .mutations import MUTATIONS, Mutation
from .repertoire import A_BING_CARD, ALL_ANSWER, NO_GOOGLE_ANSWER
from .scenario import Scenario, Step, names, register, scenario
from .server import Engine, Request, Server
from .truth import Mark, Truth, of_page, of_server

__all__ = [
    "ALL_ANSWER",
    "A_BING_CARD",
    "MUTATIONS",
    "NO_GOOGLE_ANSWER",
    "Chromium",
    "FakeWeb",
    "Mark",
    "Mutation",
    "Request",
    "Scenario",
    "Step",
    "Truth",
    "add_engine",
    "find_chromium",
    "names",
    "register",
    "scenario",
    "throwaway",
]


def add_engine(make: Callable[[], Engine]) -> Callable[[], None]:
    """From now on every :class:`FakeWeb` plays one more engine, of anybody's making; returns what takes it out again.

    Args:
        make: makes it, once for each FakeWeb: a class will do.
    """
    _added.append(make)
    return lambda: _added.remove(make)


@contextmanager
def throwaway(*args: str) -> Iterator[str]:
    """A throwaway Chromium for which there is no web at all; yields its target.

    Raises:
        LabError: there is none to start, or it did not start.
    """
    with Chromium(args=args) as chromium:
        yield chromium.target


class FakeWeb:
    """The lab's server and a Chromium that sees it as the web, as a context manager.

    Args:
        playing: the scenario played at first, by name or as such.
        port: of Chromium's DevTools endpoint; 0 for any.
        args: further switches for Chromium.

    Attributes:
        chromium: the :class:`Chromium`; it may be killed and started again while the server lives on.
        server: the :class:`Server`.
    """

    def __init__(self, playing: str | Scenario = "2026-08-04", *, port: int = 0, args: Sequence[str] = ()) -> None:
        self._engines = _engines()
        self._playing: dict[tuple[str | None, str | None], str | Scenario] = {}
        self.play(playing)
        self.server = Server(self._engines, self._choose)
        self.chromium = Chromium(port=port, args=args)

    @property
    def target(self) -> str:
        """Chromium's endpoint, as ``connect()`` takes it."""
        return self.chromium.target

    @property
    def requests(self) -> list[Request]:
        """Every request the server has had, in order; a copy."""
        return list(self.server.requests)

    def play(self, what: str | Scenario, *, engine: str | None = None, query: str | None = None) -> None:
        """From now on play ``what``: everywhere, for one engine, for one query, or for one query at one engine.

        The narrower choice wins, and a query is narrower than an engine. Playing something everywhere forgets all
        narrower choices made before.

        Raises:
            LabError: there is no such scenario, or no such engine.
        """
        if isinstance(what, str):
            scenario(what, engine)
        if engine is not None and engine not in (known := [each.name for each in self._engines]):
            raise LabError(f"the lab does not play {engine!r}; it plays {', '.join(known)}")
        # A new dict each time: the server's thread may be reading the old one.
        everywhere = engine is None and query is None
        self._playing = {**({} if everywhere else self._playing), (engine, query): what}

    def searches(self, query: str | None = None) -> list[Request]:
        """The requests for results pages, of one query or of all."""
        paths = ("/search", "/html/")
        return [each for each in self.requests if each.path in paths and query in (None, each.query.get("q"))]

    def parts(self, request: Request, *, timeout: float = 2.0) -> list[tuple[str, float]]:
        """When each part of a page was there: ``[("head", 93.1), ("results", 478.2), …]``, ms on the page's own clock.

        A page reports when nothing more will come and when it is left; this waits for that, and is what there is so far
        if it does not happen.
        """
        self._await_report(request, timeout)
        return request.parts

    def truth(self, request: Request, *, origin_ms: float | None = None, timeout: float = 5.0) -> Truth:
        """The true timeline of a page, to compare a measured one with.

        A page with marks tells its own, once nothing more will come or once it has been left; this waits for that, and
        is what there is so far if it does not happen. Of a page without marks it is when the server wrote each part.

        Args:
            request: the one for the page, as :meth:`searches` lists it.
            origin_ms: the page's ``performance.timeOrigin``; only used of a page without marks.
            timeout: seconds.

        Raises:
            LabError: the page has no marks, and it was not said when its clock began.
        """
        if request.report.marked:
            self._await_report(request, timeout)
            return of_page(request.report)
        if origin_ms is None:
            raise LabError(f"the page of {request.scenario!r} has no marks: say its performance.timeOrigin")
        return of_server(request.report, origin_ms)

    def _await_report(self, request: Request, timeout: float) -> None:
        end = time.monotonic() + timeout
        while request.report.marked and not request.report.over and time.monotonic() < end:
            time.sleep(0.005)

    def start(self) -> None:
        """Start server and Chromium.

        Raises:
            LabError: one of them did not start.
        """
        self.server.start()
        self.chromium.resolver_rules = self.server.resolver_rules
        self.chromium.trusted_keys = (self.server.trusted_key,)
        try:
            self.chromium.start()
        except BaseException:
            self.server.stop()
            raise

    def stop(self) -> None:
        """End both; nothing is left behind. Idempotent."""
        try:
            self.chromium.stop()
        finally:
            self.server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _choose(self, engine: Engine, query: str) -> Scenario:
        for place in ((engine.name, query), (None, query), (engine.name, None), (None, None)):
            if (what := self._playing.get(place)) is not None:
                return scenario(what, engine.name, query) if isinstance(what, str) else what
        raise AssertionError("something is always playing")


def _engines() -> list[Engine]:
    # Here, and not above, because the pages need Jinja2, and `import castlenb` is to be quick.
    from .bing import Bing
    from .brave import Brave
    from .duckduckgo import DuckDuckGo
    from .google import Google

    return [Google(), Bing(), Brave(), DuckDuckGo(), *(make() for make in _added)]


_added: list[Callable[[], Engine]] = []
