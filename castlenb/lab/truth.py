"""What really happened on a page of the lab's, and when: what measurements are compared with.

::

    with FakeWeb("answer-stream") as web:
        …                                       # a visit, measured
        [*_, request] = web.searches("tea")
        truth = web.truth(request)
        error = measured["ai_appear_ms"] - truth.ai_appear_ms
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ROW = "row"
"""The mark of a page's first result, right after it."""


class Mark(NamedTuple):
    """One part of a page that was there from then on.

    Attributes:
        part: a step's, or ``row``: the first result; or ``calm``: the end of a busy page's changes.
        ms: since the navigation's start, on the page's own clock (``performance.now()``).
        chars: characters of prose that the answer held then; of ``calm``, how many changes there were.
        held: characters of all text in the element that holds the prose, marks of sources among them; where there is no
            prose, of all there is of the answer. None where nobody has looked.
    """

    part: str
    ms: float
    chars: int = 0
    held: int | None = None


class Wrote(NamedTuple):
    """One part as the server wrote it to the wire.

    Attributes:
        part: as of a :class:`Mark`.
        at: seconds since 1970, right before the first byte was handed to the socket.
        chars: characters of prose that the answer holds from then on, as planned.
    """

    part: str
    at: float
    chars: int


@dataclass
class Report:
    """What is known so far of one page; filled on the server's thread.

    Attributes:
        marked: the page notes its own instants.
        marks: as the page has reported them.
        over: it has said that nothing will come any more, or has been left, as far as anybody can tell.
        wrote: what the server has sent of it.
    """

    marked: bool = False
    marks: list[Mark] = field(default_factory=list)
    over: bool = False
    wrote: list[Wrote] = field(default_factory=list)

    def note(self, said: dict[str, Any]) -> None:
        """Takes in a page's own report. It tells all it has each time, so the longest is the last."""
        if len(said["marks"]) >= len(self.marks):
            self.marks = [Mark(str(part), float(ms), int(chars), held) for part, ms, chars, held in said["marks"]]
        self.over = self.over or bool(said["over"])

    def end(self) -> None:
        """Notes that no more will be told."""
        self.over = True

    def writes(self, parts: Iterable[tuple[str, int]]) -> None:
        """Notes that these parts, with their characters, are written now."""
        at = time.time()
        self.wrote += [Wrote(part, at, chars) for part, chars in parts]


@dataclass(frozen=True)
class Truth:
    """A page's timeline as it was. Times are ms on the page's own clock, or None for what did not happen.

    Attributes:
        marks: in the order of their coming.
        by: who noted them. ``page``: its own scripts, each in the task that made the change and right after it.
            ``server``: the instants at which it wrote the parts, for pages without scripts; a browser has them later,
            by what the wire and its parser take.
    """

    marks: tuple[Mark, ...]
    by: str

    @property
    def parse_ready_ms(self) -> float | None:
        """The first result was there."""
        return self._first(ROW)

    @property
    def results_complete_ms(self) -> float | None:
        """All results were there."""
        return self._last("results")

    @property
    def ai_shell_ms(self) -> float | None:
        """The answer's container was there, and held nothing, or something else."""
        return self._first("wrapper", "shell")

    @property
    def ai_loading_ms(self) -> float | None:
        """The page said that it was being written."""
        return self._first("loading")

    @property
    def ai_appear_ms(self) -> float | None:
        """The first of its prose was there."""
        return self._first("answer")

    @property
    def ai_growth(self) -> tuple[Mark, ...]:
        """Every change of its prose, the first one included."""
        return tuple(mark for mark in self.marks if mark.part == "answer")

    @property
    def ai_settle_ms(self) -> float | None:
        """The last change of its prose so far."""
        return self._last("answer")

    @property
    def ai_marker_ms(self) -> float | None:
        """The page gave its sign that the answer is complete."""
        return self._first("settled")

    @property
    def ai_declined_ms(self) -> float | None:
        """The page said that there is none, or took it away."""
        return self._first("declined")

    def _first(self, *parts: str) -> float | None:
        return next((mark.ms for mark in self.marks if mark.part in parts), None)

    def _last(self, part: str) -> float | None:
        return next((mark.ms for mark in reversed(self.marks) if mark.part == part), None)


def of_page(report: Report) -> Truth:
    """The truth that a page has noted itself."""
    return Truth(tuple(report.marks), "page")


def of_server(report: Report, origin_ms: float) -> Truth:
    """The truth that the server has noted, on the clock of a page whose ``performance.timeOrigin`` is known."""
    return Truth(tuple(Mark(part, 1000 * at - origin_ms, chars) for part, at, chars in report.wrote), "server")
