"""The lab's Brave: twenty results a page, links that lead out directly, generated class names beside lasting ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode

from . import content
from .answers import Answer
from .content import Result
from .pages import template
from .scenario import Scenario
from .server import Reply, Request
from .sheet import ResultsPage, nonce
from .stage import CLEARED, Handler, Stage, start_of

PAGE_SIZE = 20
ORIGIN = "https://search.brave.com"


class Brave(Stage):
    """Answers as search.brave.com."""

    name = "brave"
    hosts: tuple[str, ...] = ("search.brave.com",)
    stream = ("/api/chatllm/answer", "key")

    def paths(self) -> Mapping[str, Handler]:
        return {"/a/redirect": self._advert, "/api/captcha/pow": self._cleared}

    def results(self, query: str, *, offset: int = 0, tf: str = "", total: int = 47) -> list[Result]:
        """What the page for these parameters holds, in order; ``offset`` counts pages."""
        start = offset * PAGE_SIZE
        count = max(0, min(PAGE_SIZE, total - start))
        hours = content.WINDOWS.get(tf.removeprefix("p"))
        return content.results(query, start + 1, count, within_hours=hours, order=self.name)

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return _Page(self, request, scenario)

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        if scenario.page not in ("captcha", "challenge") or request.cookie(CLEARED):
            return False
        await reply.send(scenario.status, _serp.captcha(request.url, nonce()))
        return True

    async def _advert(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect("https://shop0.adverts.example/")

    async def _cleared(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = parse_qs(request.body).get("continue", [ORIGIN])[-1]
        await reply.redirect(onward, [("Set-Cookie", f"{CLEARED}=1; Path=/; Secure")])


class _Answer(Answer):
    """Before the first result, on the first page, unless the address says ``summary=0``."""

    template = template("brave-answer.html")
    place = "#results"
    wrapper = ".entity-infobox-wrapper"
    inside = "#llm-snippet > .snippet-content-wrapper"
    container = "#llm-snippet"
    body = "#chatllm-main-answer-content"
    cards = ".chatllm-answer-list"
    closes = cards
    whole = (body, "class", "chatllm-content llm-output llm-output-complete svelte-1fz0gqk")

    @property
    def sources(self) -> list[Result]:
        """Four, by whose titles they are told: a comma is what separates them."""
        return [result for result in self.page.results if "," not in result.title][:4]


class _Page(ResultsPage):
    answers = _Answer

    def __init__(self, brave: Brave, request: Request, scenario: Scenario) -> None:
        asked = request.query
        query, self.offset = asked.get("q", ""), start_of(asked.get("offset", ""))
        results = brave.results(query, offset=self.offset, tf=asked.get("tf", ""), total=scenario.total)
        has_answer = asked.get("summary") != "0" and not self.offset
        super().__init__(request, scenario, results, query=query, has_answer=has_answer)
        more = (self.offset + 1) * PAGE_SIZE < self.total
        self.next_href = self._address(self.offset + 1) if more else ""
        self.previous_href = self._address(self.offset - 1) if self.offset else ""
        # Brave counts its blocks from 0, and from 1 where a box about an entity comes before them.
        self._pos = -1 if has_answer else 0

    def head(self) -> str:
        return str(_serp.head(self))

    def opening(self) -> Iterable[str]:
        yield _serp.open(self)
        if self.shows_results:
            yield self.answer_at()
            yield _serp.advert(self)
        elif self.kind != "empty":
            yield _serp.nothing(self) if self.kind == "no-results" else _serp.unknown(self)

    def row(self, place: int, result: Result) -> Iterable[str]:
        yield _serp.organic(self, result, self.next_pos(), place)
        if furniture := _AFTER.get(place):
            yield furniture(self)

    def closing(self) -> Iterable[str]:
        if self.shows_results:
            yield _serp.below(self)
        yield _serp.close(self)

    def end(self) -> str:
        return str(_serp.end(self))

    def next_pos(self) -> int:
        """Brave's own count of the blocks in the list."""
        self._pos += 1
        return self._pos

    def _address(self, offset: int) -> str:
        return "/search?" + urlencode({"q": self.query, "offset": offset, "spellcheck": 0})


_serp: Any = template("brave.html")
_AFTER = {1: _serp.videos, 4: _serp.questions, 6: _serp.news, 8: _serp.elsewhere, 11: _serp.discussions}
