"""One line that says how far a call is, for as long as it runs, and in the end what came of it.

In a notebook it is a widget under the cell, on a terminal a line of standard error; anywhere else, and in any thread
but the main one, there is none. It is written by the thread that called, never by castlenb's own. Who passes
``progress=`` or ``arrived=`` follows the call themselves, and gets no line.
"""

from __future__ import annotations

import functools
import inspect
import shutil
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

from . import bridge
from .asked import Asked
from .display import counted, line_html, one_line
from .errors import CastleError
from .results import SearchPage
from .several import Searches

P = ParamSpec("P")
T = TypeVar("T")


class Follower(Protocol):
    """The words for one call; made of its arguments.

    Attributes:
        what: names the call.
        taps: arguments for the call, through which it tells; it does so on castlenb's own thread.
    """

    what: str
    taps: dict[str, Any]

    def __init__(self, asked: dict[str, Any]) -> None: ...

    def now(self) -> str:
        """What is being waited for."""
        ...

    def outcome(self, result: Any) -> str:
        """What came of it."""
        ...


def waiting(state: str, count: int) -> str:
    """What a search that has told ``state`` and ``count`` (see ``progress=``) is waiting for."""
    if state == "results":
        return "waiting for results" + (f", {count} so far" if count else "")
    return f"answer growing, {count:,} characters" if count else "waiting for the answer"


class OfSearch:
    """Follows :func:`castlenb.search`."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.what = f"{asked['engine']} {asked['query']!r}"
        self.taps = {"progress": self._told}
        self._state: tuple[str, int] | None = None

    def _told(self, state: str, count: int) -> None:
        self._state = state, count

    def now(self) -> str:
        return waiting(*self._state) if self._state else "connecting"

    def outcome(self, result: SearchPage) -> str:
        answer = result.answer
        if answer is None:
            return counted(len(result), "result")
        said = f"{answer.state}, {len(answer.text):,} characters" if answer.text else answer.state
        return f"{counted(len(result), 'result')}, {answer.label} {said}"


class OfCompare:
    """Follows :func:`castlenb.compare`."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.what = repr(asked["query"])
        self.taps = {"progress": self._told, "arrived": self._arrived}
        self._states = dict.fromkeys(asked["engines"], "connecting")

    def _told(self, engine: str, state: str, count: int) -> None:
        self._states[engine] = waiting(state, count)

    def _arrived(self, asked: Asked, outcome: SearchPage | CastleError) -> None:
        said = counted(len(outcome), "result") if isinstance(outcome, SearchPage) else type(outcome).__name__
        self._states[asked.engine.name] = said

    def now(self) -> str:
        return "; ".join(f"{engine} {state}" for engine, state in self._states.items())

    def outcome(self, result: Searches) -> str:
        return self.now()


class OfSearches:
    """Follows :func:`castlenb.searches`."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.what = f"{asked['engine']} searches"
        self.taps = {"arrived": self._arrived}
        self._done = 0

    def _arrived(self, asked: Asked, outcome: SearchPage | CastleError) -> None:
        self._done += 1

    def now(self) -> str:
        return f"{self._done} done"

    def outcome(self, result: Searches) -> str:
        found = counted(sum(map(len, result.pages)), "result")
        failed = f", {len(result.errors)} failed" if result.errors else ""
        return f"{found} of {counted(len(result.pages), 'query', 'queries')}{failed}"


def plain(function: Callable[P, Coroutine[Any, Any, T]], follower: type[Follower]) -> Callable[P, T]:
    """As :func:`.bridge.plain`, with a line."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with _line(function, follower, args, kwargs) as line:
            return line.ended(bridge.run(function(*args, **{**kwargs, **line.taps}), beat=line.beat))

    return call


def marshalled(
    function: Callable[P, Coroutine[Any, Any, T]], follower: type[Follower]
) -> Callable[P, Coroutine[Any, Any, T]]:
    """As :func:`.bridge.marshalled`, with a line."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with _line(function, follower, args, kwargs) as line:
            return line.ended(await bridge.arun(function(*args, **{**kwargs, **line.taps}), beat=line.beat))

    return call


class _Line:
    """A line that nobody sees."""

    beat: Callable[[], None] | None = None

    def __init__(self) -> None:
        self.taps: dict[str, Any] = {}

    def ended(self, result: T) -> T:
        return result


class _Seen(_Line):
    """A line that somebody sees: its words come from the follower, and ``place`` puts them there."""

    def __init__(self, follower: Follower, place: _Place) -> None:
        self.taps = follower.taps
        self.beat = self._beat
        self._follower = follower
        self._place = place
        self._began = time.monotonic()

    def _beat(self) -> None:
        seconds = int(time.monotonic() - self._began)
        self._write(self._follower.now() + (f" ({seconds} s)" if seconds else ""))

    def ended(self, result: T) -> T:
        self._write(f"{self._follower.outcome(result)} in {time.monotonic() - self._began:.1f} s")
        return result

    def failed(self, error: BaseException) -> None:
        self._write(type(error).__name__ if isinstance(error, Exception) else "stopped")

    def _write(self, text: str) -> None:
        self._place.write(one_line(f"{self._follower.what}: {text}", 200))


@contextmanager
def _line(
    function: Callable[..., Any], follower: type[Follower], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[_Line]:
    place = _place()
    if place is None:
        yield _Line()
        return
    asked = inspect.signature(function).bind(*args, **kwargs)
    asked.apply_defaults()
    words = follower(asked.arguments)
    if any(asked.arguments[tap] is not None for tap in words.taps):
        yield _Line()
        return
    place.open(one_line(words.what, 120))
    line = _Seen(words, place)
    try:
        yield line
    except BaseException as error:
        line.failed(error)
        raise
    finally:
        place.close()


class _Place(Protocol):
    def open(self, what: str) -> None: ...

    def write(self, text: str) -> None: ...

    def close(self) -> None: ...


class _Cell:
    """A widget under the cell that is running."""

    def open(self, what: str) -> None:
        from IPython.display import display
        from ipywidgets import HTML

        self._widget = HTML(value=line_html(what))
        # What a saved notebook shows in place of the widget, and has to be the same on every run.
        display({**self._widget._repr_mimebundle_(), "text/plain": f"castlenb: {what}"}, raw=True)  # type: ignore[no-untyped-call]

    def write(self, text: str) -> None:
        self._widget.value = line_html(text)

    def close(self) -> None:
        pass  # what it says last stays


class _Terminal:
    """The line of the terminal that the cursor stands on."""

    def open(self, what: str) -> None:
        self._width = 0
        self.write(what)

    def write(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        sys.stderr.write("\n")


def _place() -> _Place | None:
    if threading.current_thread() is not threading.main_thread():
        return None
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        return _Cell()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None
