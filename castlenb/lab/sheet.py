"""One results page of the lab's: its parts as mark-up, and the scripts that note their instants."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from . import content
from .answers import HERE, Act, Answer
from .content import Result
from .pages import template
from .scenario import Scenario, Step
from .server import TRUTH_PATH, Request
from .truth import ROW

PAGES = ("results", "no-results", "empty", "unparseable")
"""What a scenario's ``page`` says of a results page; everything else is a refusal."""


class Chunk(NamedTuple):
    """What is written at once: the parts it brings, with their characters of prose, and the text."""

    at_ms: float
    parts: tuple[tuple[str, int], ...]
    text: bytes


class ResultsPage:
    """One results page: what its templates need, and the parts that the scenario's steps name.

    Args:
        results: those of this page, in order.
        has_answer: this page of this layout is one on which the engine's AI answer can stand.

    Attributes:
        answers: the engine's AI answer; None where it has none.
        kind: one of :data:`PAGES`.
        answer: this page's, or None.
        stream_url: where the page's script asks for its answer; empty where it does not.
        started, report: of the request for the page, for what comes by a request of its own.
    """

    answers: ClassVar[type[Answer] | None] = None

    def __init__(
        self,
        request: Request,
        scenario: Scenario,
        results: list[Result],
        *,
        query: str,
        lang: str = "en",
        kind: str | None = None,
        has_answer: bool = False,
    ) -> None:
        self.url = request.url
        self.query = query
        self.lang = lang
        self.nonce = nonce()
        self.marks = scenario.marks
        self.total = scenario.total
        self.overlay = scenario.overlay
        self.card = scenario.card
        self.results = results
        self.kind = kind or scenario.page
        if self.kind not in PAGES:  # a refusal that has been cleared
            self.kind = "results"
        if self.kind == "results" and not results:
            self.kind = "no-results"
        self.shows_results = self.kind == "results"
        self.questions = content.questions(query, 4)
        self.related = content.related(query, 8)
        self.weight = dead_weight(scenario.weight_kb // 2)
        self.links = scenario.links
        self.answer: Answer | None = None
        if self.answers is not None and has_answer and self.shows_results and scenario.answer is not None:
            answer = self.answers(self, scenario)
            self.answer = answer if answer.complete or answer.steps else None
        self.steps = _in_time(scenario.steps, self.answer)
        self.stream_url = ""
        self.started = 0.0
        self.report = request.report
        self._truth_url = f"{TRUTH_PATH}?page={request.id}"
        self._busy, self._hostile = scenario.busy, scenario.hostile
        self._exact = scenario.exact and scenario.marks
        self._opened = self._ranked = False
        self._below = ""
        self._came: list[tuple[str, int]] = []

    # What a subclass says, as mark-up

    def head(self) -> str:
        """What stands before everything else."""
        raise NotImplementedError

    def opening(self) -> Iterable[str]:
        """What stands before the first row; of an unparseable page, what stands in place of the rows as well."""
        raise NotImplementedError

    def row(self, place: int, result: Result) -> Iterable[str]:
        """One result, counted from 0 on this page, and what stands after it."""
        raise NotImplementedError

    def closing(self) -> Iterable[str]:
        """What stands after the last row."""
        raise NotImplementedError

    def end(self) -> str:
        """The rest, but for the last two tags."""
        raise NotImplementedError

    # What the templates use

    def elsewhere(self, kind: str, number: int) -> str:
        """A link that is no result's: of a question, a place, a panel, …"""
        return f"https://{kind}.elsewhere.example/{number}"

    def prose(self, salt: str, chars: int) -> str:
        """Some text."""
        return content.prose(self.query, chars, salt)

    @property
    def script(self) -> Markup:
        """The page's own script; empty where it would have nothing to do."""
        answer = self.answer
        brings = answer is not None and answer.steps and answer.by != "parser"
        if not (self.marks or brings or self._busy or self._hostile):
            return Markup()
        plan = {
            "marks": self.marks,
            "truth": self.marks and self._truth_url,
            "stream": self.stream_url,
            "busy": self._busy,
            "hostile": self._hostile,
            "body": answer.body if answer else "_",
            "chip": answer.chip if answer else "",
            "container": answer.container if answer else "",
        }
        return Markup(f"{_SCRIPT}({htmlsafe_json_dumps(plan)});\n")

    def answer_at(self, place: str = "top") -> Markup:
        """What the page has of an answer from the start, at this place or at the other."""
        if self.answer is None or self.answer.inline != (place == "inline"):
            return Markup()
        if self.answer.by == "parser" and self.answer.steps:
            return HERE
        text, part = self.answer.first()
        return Markup(self._noted(part, text, self.answer.chars)) if part else text

    # What the stage sends

    def headers(self) -> tuple[tuple[str, str], ...]:
        """What the response says because of what is on the page."""
        return (("Content-Security-Policy", _POLICY.format(self.nonce)),) if self._hostile else ()

    def chunk(self, at_ms: float, steps: Iterable[Step]) -> Chunk:
        """What is written at one time. Chunks are asked for in their order."""
        text = "".join(map(self.part, steps))
        came, self._came = tuple(self._came), []
        return Chunk(at_ms, came, text.encode())

    def part(self, step: Step) -> str:
        """The mark-up of one step, with the script that notes its instant."""
        match step.part:
            case "head":
                return self.head() + (str(parts.harm()) if self._hostile else "") + self._mark("head")
            case "results":
                return "".join(self._rows(step))
            case "end":
                return self.end() + self._mark("end") + "</body></html>\n"
        return self._open() + self._of_answer(step)

    def _open(self) -> str:
        """What stands before the first row, the first time; what stands below the answer has to wait for a row."""
        if self._opened:
            return ""
        self._opened = True
        text, _, self._below = "".join(self.opening()).partition(HERE)
        return text

    def _rows(self, step: Step) -> Iterable[str]:
        yield self._open()
        text, self._below = self._below, ""
        if self.shows_results:
            for place, result in list(enumerate(self.results))[step.first : step.last]:
                text += "".join(self.row(place, result))
                if not self._ranked:
                    self._ranked = True
                    yield self._noted(ROW, text)
                    text = ""
        yield self._noted("results", text + ("".join(self.closing()) if step.last is None else ""))

    def _of_answer(self, step: Step) -> str:
        if self.answer is None:
            raise NotImplementedError(f"the lab knows no step {step.part!r}")
        text = (
            self.answer.piece(step) if self.answer.by == "parser" else self._script(step.part, self.answer.acts(step))
        )
        self._came.append((step.part, self.answer.chars))
        return text

    def _noted(self, part: str, text: str, chars: int = 0) -> str:
        """Mark-up whose coming is noted."""
        if not self._exact:
            return str(text) + self._mark(part, chars)
        self._came.append((part, chars))
        return self._script(part, [["write", text]])

    def _mark(self, part: str, chars: int = 0) -> str:
        self._came.append((part, chars))
        return self._script(part) if self.marks else ""

    def _script(self, part: str, acts: list[Act] | None = None) -> str:
        told = f", {htmlsafe_json_dumps(acts)}" if acts is not None else ""
        return f'<script nonce="{self.nonce}">__part("{part}"{told})</script>\n'


def nonce() -> str:
    """Something that is not the same twice."""
    return secrets.token_urlsafe(9)


@lru_cache(maxsize=8)
def dead_weight(kilobytes: int) -> Markup:
    """Mark-up and data of about that size which nothing shows."""
    return Markup(parts.weight(content.filler(kilobytes)))


def _in_time(steps: tuple[Step, ...], answer: Answer | None) -> list[Step]:
    """The document's steps in the order of their time. It ends after the last of those that come in it, and what the
    parser brings of an answer stands, and so comes, before the results."""
    within = list(answer.steps) if answer is not None and answer.by != "stream" else []
    if within and answer is not None and answer.by == "parser":
        last = within[-1].at_ms
        rest = [replace(step, at_ms=max(step.at_ms, last)) for step in steps if step.part == "results"]
        within = [*(step for step in steps if step.part == "head"), *within, *rest]
    else:
        within = [*(step for step in steps if step.part != "end"), *within]
    ordered = sorted(within, key=lambda step: step.at_ms)
    ends = [Step(max(step.at_ms, ordered[-1].at_ms), "end") for step in steps if step.part == "end"]
    return [*ordered, *ends]


_SCRIPT = (Path(__file__).parent / "pages/page.js").read_text(encoding="utf-8").strip().removesuffix(";")
_POLICY = (
    "default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; connect-src 'self'; worker-src blob:; "
    "require-trusted-types-for 'script'; trusted-types lab"
)

parts: Any = template("parts.html")
"""Macros of every engine's pages: ``script``, ``weight``, ``harm``, ``plain``, ``hop``."""
