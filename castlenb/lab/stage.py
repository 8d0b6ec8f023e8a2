"""What the lab's engines have in common: ways to a results page, the page in time, and how a wire can fail it."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlencode

from markupsafe import Markup

from . import content
from .content import Result
from .pages import template
from .scenario import Scenario, Step
from .server import TRUTH_PATH, Reply, Request

K = TypeVar("K")
V = TypeVar("V")

Handler = Callable[[Request, Reply, Scenario], Any]

CLEARED = "lab_cleared"
"""The cookie that a challenge sets once it is sent off, where the engine's own is not known."""


class Stage:
    """An engine of the lab's, to be made one by a subclass that knows its pages.

    A refusal that is sent off as a form is cleared: results are served from then on.

    Attributes:
        name: the engine's.
        hosts: what it answers as; the first is the one searched, and another that has no path of its own leads there.
        search: the path of results pages.
        again: what an address gets that leads to itself once more, by a 302 or by script.
    """

    name: str
    hosts: tuple[str, ...]
    search: ClassVar[str] = "/search"
    again: ClassVar[str] = "rdr=1"

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, Scenario], list[tuple[float, bytes]]] = OrderedDict()
        self._paths: Mapping[str, Handler] = {self.search: self._search, "/": self._home, **self.paths()}

    # What a subclass says

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        """The page for a request."""
        raise NotImplementedError

    def paths(self) -> Mapping[str, Handler]:
        """Who answers at other paths than the search's."""
        return {}

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        """Answers with a refusal in place of the page, where the scenario has one; says whether it did."""
        return False

    def same_each_time(self, scenario: Scenario) -> bool:
        """Whether a page without marks may be kept. Benchmarks are not to measure Jinja2."""
        return True

    # What the server asks

    @property
    def origin(self) -> str:
        """Scheme and host of the results pages."""
        return f"https://{self.hosts[0]}"

    def query_of(self, path: str, query: Mapping[str, str]) -> str:
        """The words searched for."""
        return query.get("q", "")

    async def answer(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        """Answer one request."""
        if handler := self._paths.get(request.path):
            await handler(request, reply, scenario)
        else:
            await reply.send(404, parts.plain("Error 404", "The lab has no such page."))

    # The way to a page

    async def _search(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if scenario.ending == "silent":
            await reply.never()
        await reply.until(scenario.headers_ms)
        if not await self._led_astray(request, reply, scenario) and not await self.gate(request, reply, scenario):
            await self._page(request, reply, scenario)

    async def _led_astray(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        """Whether the request was answered with a way to another address, or with a sentence, in place of a page."""
        route = scenario.route
        if route in ("redirect", "script") and self.again not in request.target:
            onward = f"{request.url}&{self.again}"
            await (reply.redirect(onward) if route == "redirect" else reply.send(200, parts.hop(onward, nonce())))
        elif route in ("endless", "endless-script"):
            turn = int(request.query.get("turn", "0")) + 1
            onward = f"{self.origin}{self.search}?{urlencode({**request.query, 'turn': turn})}"
            await (reply.redirect(onward) if route == "endless" else reply.send(200, parts.hop(onward, nonce())))
        elif scenario.page == "plain":
            text = parts.plain(f"Error {scenario.status}", "The lab is busy. Come back later.")
            await reply.send(scenario.status, text)
        else:
            return False
        return True

    async def _page(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if not scenario.steps:
            if scenario.ending == "never":
                await reply.begin(scenario.status, scenario.headers)
                await reply.never()
            elif scenario.ending == "whole":
                await reply.send(scenario.status, "", scenario.headers)
            else:
                reply.reset()
            return
        chunks = self._chunks(request, scenario)
        headers = (*scenario.headers, *self.headers(scenario))
        # Headers and mark-up of the same instant go out together, as a benchmark's page would from a real server.
        together = chunks[0][0] <= scenario.headers_ms
        await reply.begin(self.status(scenario), headers, chunks[0][1] if together else b"")
        for at_ms, text in chunks[together:]:
            await reply.until(at_ms)
            await reply.write(text)
        if scenario.ending == "never":
            await reply.never()
        elif scenario.ending == "reset":
            await reply.until(chunks[-1][0] + 50)
            reply.reset()
        else:
            reply.end()

    def status(self, scenario: Scenario) -> int:
        """HTTP status of a page of results. A scenario that refuses means its refusal by ``status``."""
        return scenario.status if scenario.page in PAGES else 200

    def headers(self, scenario: Scenario) -> Iterable[tuple[str, str]]:
        """What the response says besides."""
        return ()

    def _chunks(self, request: Request, scenario: Scenario) -> list[tuple[float, bytes]]:
        """The page in time. One without marks is the same each time it is asked for, and made once."""
        keep = not scenario.marks and request.method == "GET" and self.same_each_time(scenario)
        chunks = self._made.get((request.target, scenario)) if keep else None
        if chunks is None:
            page = self.page(request, scenario)
            grouped = groupby(page.steps, key=lambda step: step.at_ms)
            chunks = [(at_ms, "".join(map(page.part, steps)).encode()) for at_ms, steps in grouped]
            if keep:
                put(self._made, (request.target, scenario), chunks, 200)
        return chunks

    async def _home(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, parts.plain(self.name.title(), "The lab's front page has nothing to see."))


PAGES = ("results", "no-results", "empty", "unparseable")
"""What a scenario's ``page`` says of a results page; everything else is a refusal."""


class ResultsPage:
    """One results page: what its templates need, and the parts that the scenario's steps name.

    Args:
        results: those of this page, in order.
        answer: steps of an AI answer, where the layout has one.

    Attributes:
        kind: one of :data:`PAGES`.
    """

    def __init__(
        self,
        request: Request,
        scenario: Scenario,
        results: list[Result],
        *,
        query: str,
        lang: str = "en",
        kind: str | None = None,
        answer: tuple[Step, ...] = (),
    ) -> None:
        self.url = request.url
        self.query = query
        self.lang = lang
        self.nonce = nonce()
        self.marks = scenario.marks
        self.truth_url = f"{TRUTH_PATH}?page={request.id}"
        self.total = scenario.total
        self.overlay = scenario.overlay
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
        self.steps = _in_time(scenario.steps, answer)
        self._opened = False

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

    def change(self, step: Step) -> str:
        """A script that changes the page as a step says that is no part of the document."""
        raise NotImplementedError

    # What the templates use

    def elsewhere(self, kind: str, number: int) -> str:
        """A link that is no result's: of a question, a place, a panel, …"""
        return f"https://{kind}.elsewhere.example/{number}"

    def prose(self, salt: str, chars: int) -> str:
        """Some text."""
        return content.prose(self.query, chars, salt)

    def part(self, step: Step) -> str:
        """The mark-up of one step, with the script that notes its instant."""
        if step.part not in ("head", "results", "end"):
            return f'<script nonce="{self.nonce}">{self._noted(step)}</script>\n'
        text = {"head": self.head, "results": lambda: "".join(self._rows(step)), "end": self.end}[step.part]()
        mark = f'<script nonce="{self.nonce}">__part("{step.part}")</script>\n' if self.marks else ""
        return str(text) + mark + ("</body></html>\n" if step.part == "end" else "")

    def _rows(self, step: Step) -> Iterable[str]:
        if not self._opened:
            self._opened = True
            yield from self.opening()
        if self.shows_results:
            for place, result in list(enumerate(self.results))[step.first : step.last]:
                yield from self.row(place, result)
        if step.last is None:
            yield from self.closing()

    def _noted(self, step: Step) -> str:
        return f'__part("{step.part}", () => {{ {self.change(step)}; }})' if self.marks else self.change(step)


def nonce() -> str:
    """Something that is not the same twice."""
    return secrets.token_urlsafe(9)


def start_of(value: str, least: int = 0) -> int:
    """A number in an address; the least where there is none, or nonsense."""
    return max(least, int(value)) if value.isdecimal() else least


def put(store: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Keeps a value, and no more than so many of them."""
    store[key] = value
    if len(store) > most:
        store.popitem(last=False)


@lru_cache(maxsize=8)
def dead_weight(kilobytes: int) -> Markup:
    """Mark-up and data of about that size which nothing shows."""
    return Markup(parts.weight(content.filler(kilobytes)))


def _in_time(steps: tuple[Step, ...], answer: tuple[Step, ...]) -> list[Step]:
    """All steps in the order of their time; a document ends after the last of them."""
    ordered = sorted((step for step in (*steps, *answer) if step.part != "end"), key=lambda step: step.at_ms)
    for step in steps:
        if step.part == "end":
            ordered.append(Step(max(step.at_ms, ordered[-1].at_ms), "end"))
    return ordered


parts: Any = template("parts.html")
"""Macros of every engine's pages: ``marks``, ``weight``, ``plain``, ``hop``."""
