"""The AI answer of one page: what there is of it in the first mark-up, and what each step of a scenario does to it.

An engine says of its answer where its parts are and gives their mark-up; how they come is the same for all: by scripts
in the document, by a stream after it, by the parser.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from markupsafe import Markup

from . import content
from .content import Result
from .scenario import Scenario, Step

Act = list[Any]
"""One change of a page, as its own script makes it (``pages/page.js``): ``["fill", css, html]`` and so on."""

HERE = Markup("<!--here-->")
"""Where something is to stand in mark-up that is then cut there; it is never served."""

WHOLE = 610
"""Characters of an answer that is complete in the first mark-up."""


class Page(Protocol):
    """The page that an answer stands on. The templates use more of it."""

    query: str
    results: list[Result]

    def prose(self, salt: str, chars: int) -> str:
        """Some text."""


class Answer:
    """An engine's answer on one page, to be made one by a subclass that knows its mark-up. Steps are taken in order.

    Args:
        page: the page it stands on.
        scenario: has an answer, complete or in steps.

    Attributes:
        template: macros ``wrapper``, ``shell``, ``loading``, ``answering``, ``paragraph``, ``sources``, ``ending``, and
            ``declined`` and ``offered`` where the engine has them.
        place: CSS: what the wrapper is put into, as the first thing in it. This and the others are on the page once.
        wrapper: CSS: all there is of it.
        inside: CSS: what is filled anew when something else takes its place in the wrapper.
        container: CSS: what holds its text while there is no prose.
        body: CSS: what holds the prose; its first children are the paragraphs.
        chip: CSS: marks of sources in the prose.
        cards: CSS: what its sources are put into.
        closes: CSS: what the ending is put into.
        whole: CSS, attribute and value: what marks it complete. Neither where the engine has no such sign.
        lacks: parts that the engine does not know.
        inline: it stands among the results.
        by: as ``Scenario.answer_by``.
        steps: those that the engine knows, in time, and none before the document has begun.
        complete: it is whole in the first mark-up.
    """

    template: ClassVar[Any]
    place: ClassVar[str]
    wrapper: ClassVar[str]
    inside: ClassVar[str]
    container: ClassVar[str]
    body: ClassVar[str]
    chip: ClassVar[str] = ""
    cards: ClassVar[str]
    closes: ClassVar[str]
    whole: ClassVar[tuple[str, str, str]]
    lacks: ClassVar[frozenset[str]] = frozenset()
    inline = False

    def __init__(self, page: Page, scenario: Scenario) -> None:
        given = scenario.answer or ()
        begun = scenario.steps[0].at_ms if scenario.steps else 0
        known = (replace(step, at_ms=max(step.at_ms, begun)) for step in given if step.part not in self.lacks)
        self.page = page
        self.by = scenario.answer_by
        self.steps = tuple(sorted(known, key=lambda step: step.at_ms))
        self.complete = not given
        self._wrapped = not any(step.part == "wrapper" for step in given)
        self._paragraphs: list[str] = []

    @property
    def sources(self) -> list[Result]:
        """What it names: three of the page's results."""
        return self.page.results[:5:2]

    @property
    def chars(self) -> int:
        """Characters of prose that it holds, now that its steps so far have been taken."""
        return sum(map(len, self._paragraphs))

    # What a subclass says

    def settled(self) -> list[Act]:
        """How the page shows that it is complete."""
        return [["put", self.closes, "beforeend", self.template.ending(self)], ["set", *self.whole]]

    def declined(self) -> list[Act]:
        """How the page shows that there is none: by taking it away, where it is not known to say so."""
        self._wrapped = False
        return [["drop", self.wrapper]]

    # How it comes

    def first(self) -> tuple[Markup, str]:
        """What the page has of it from the start, and which part that is: none, where the wrapper comes later."""
        if self.complete:
            self._paragraphs = content.passage(self.page.query, WHOLE)
            prose = self._prose(self._paragraphs)
            sources, ending = self.template.sources(self), self.template.ending(self)
            return self._wrap(self.template.answering(self, prose, sources, ending)), "answer"
        return (self._wrap(Markup()), "wrapper") if self._wrapped else (Markup(), "")

    def acts(self, step: Step) -> list[Act]:
        """What its script does at a step, when all steps before have been taken."""
        match step.part:
            case "answer":
                return self._written(step)
            case "sources":
                return [["put", self.cards, "beforeend", self.template.sources(self)]]
            case "settled":
                return self.settled()
        self._paragraphs = []
        match step.part:
            case "wrapper":
                return self._wrapped_in(Markup())
            case "shell":
                return self._wrapped_in(self.template.shell(self, _pieces(self.page.prose("shell", step.chars))))
            case "declined":
                return [*self._wrapped_in(None), *self.declined()]
            case "loading" | "offered":
                return self._wrapped_in(getattr(self.template, step.part)(self))
        raise NotImplementedError(f"the lab knows no step {step.part!r} of an answer")

    def piece(self, step: Step) -> str:
        """The mark-up of a step that the parser brings: the prose goes on where it has stopped, in the same node."""
        text = ""
        if not self._paragraphs:
            begun = self.template.answering(self, HERE, Markup(), Markup())
            text = str(self._wrap(begun)).partition(HERE)[0]
        if step.part == "answer":
            text += self._goes_on(content.passage(self.page.query, step.chars, step.wording))
        if step is self.steps[-1]:
            parts = {each.part for each in self.steps}
            sources = self.template.sources(self) if "sources" in parts else Markup()
            ending = self.template.ending(self) if "settled" in parts else Markup()
            whole = self._wrap(self.template.answering(self, HERE, sources, ending))
            text += self._around(len(self._paragraphs) - 1)[1] + str(whole).partition(HERE)[2]
        return text

    # Prose

    def _written(self, step: Step) -> list[Act]:
        texts = content.passage(self.page.query, step.chars, step.wording)
        before, self._paragraphs = self._paragraphs, texts
        if step.swap or not before:
            answering = self.template.answering(self, self._prose(texts), Markup(), Markup())
            return [["swap", self.wrapper, self._wrap(answering)]] if step.swap else self._wrapped_in(answering)
        acts: list[Act] = []
        children = f"{self.body} > *"
        for n, text in enumerate(texts):
            if n >= len(before):
                acts.append(["put", self.body, "beforeend", self.template.paragraph(self, text, n == 0)])
            elif text != before[n]:
                acts.append(["text", children, n, text])
        if len(texts) < len(before):
            acts.append(["cut", children, len(texts)])
        return acts

    def _goes_on(self, texts: list[str]) -> str:
        parts: list[str] = []
        before, self._paragraphs = self._paragraphs, texts
        for n, text in enumerate(texts[max(len(before) - 1, 0) :], start=max(len(before) - 1, 0)):
            if n < len(before):
                parts.append(str(Markup.escape(text[len(before[n]) :])))
            else:
                parts += [self._around(n - 1)[1] if n else "", self._around(n)[0], str(Markup.escape(text))]
        return "".join(parts)

    def _around(self, n: int) -> tuple[str, str]:
        """What stands before and after the text of the nth paragraph."""
        before, _, after = str(self.template.paragraph(self, HERE, n == 0)).partition(HERE)
        return before, after

    def _prose(self, texts: Iterable[str]) -> Markup:
        return Markup().join(self.template.paragraph(self, text, n == 0) for n, text in enumerate(texts))

    # All there is of it

    def _wrap(self, inside: Markup) -> Markup:
        made: Markup = self.template.wrapper(self, inside)
        return made

    def _wrapped_in(self, inside: Markup | None) -> list[Act]:
        """What fills the wrapper, and puts it into its place if it is not there; None is for the latter alone."""
        there, self._wrapped = self._wrapped, True
        if not there:
            return [["put", self.place, "afterbegin", self._wrap(inside or Markup())]]
        return [] if inside is None else [["fill", self.inside, inside]]


def _pieces(text: str, size: int = 320) -> list[tuple[str, str]]:
    """A long text in heads and bodies, as a page of something else has it."""
    starts = range(0, len(text), size)
    return [(text[at : at + 40], text[at + 40 : at + size]) for at in starts]
