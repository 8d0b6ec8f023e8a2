"""What the lab's engines have in common: ways to a results page, the page in time, and how a wire can fail it."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urlencode

from .scenario import Scenario
from .server import Reply, Request
from .sheet import PAGES, Chunk, ResultsPage, nonce, parts

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
        stream: the path of the request that brings an answer, and its parameter that names the page; empty where there
            is no such request.
    """

    name: str
    hosts: tuple[str, ...]
    search: ClassVar[str] = "/search"
    again: ClassVar[str] = "rdr=1"
    stream: ClassVar[tuple[str, str]] = ("", "")

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, Scenario], _Made] = OrderedDict()
        self._awaited: OrderedDict[str, ResultsPage] = OrderedDict()
        self._paths: Mapping[str, Handler] = {self.search: self._search, "/": self._home, **self.paths()}
        if self.stream[0]:
            self._paths = {self.stream[0]: self._stream, **self._paths}

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
        made = self._make(request, reply, scenario)
        headers = (*scenario.headers, *self.headers(scenario), *made.headers)
        first, *others = made.chunks
        # Headers and mark-up of the same instant go out together, as a benchmark's page would from a real server.
        if first.at_ms > scenario.headers_ms:
            first, others = Chunk(0, (), b""), [first, *others]
        request.report.writes(first.parts)
        await reply.begin(self.status(scenario), headers, first.text)
        for chunk in others:
            await reply.until(chunk.at_ms)
            request.report.writes(chunk.parts)
            await reply.write(chunk.text)
        if scenario.ending == "never":
            await reply.never()
        elif scenario.ending == "reset":
            await reply.until(made.chunks[-1].at_ms + 50)
            reply.reset()
        else:
            reply.end()

    def status(self, scenario: Scenario) -> int:
        """HTTP status of a page of results. A scenario that refuses means its refusal by ``status``."""
        return scenario.status if scenario.page in PAGES else 200

    def headers(self, scenario: Scenario) -> Iterable[tuple[str, str]]:
        """What the response says besides."""
        return ()

    def _make(self, request: Request, reply: Reply, scenario: Scenario) -> _Made:
        """The page in time. One without marks is the same each time it is asked for, and made once."""
        request.report.marked = scenario.marks
        alike = not scenario.marks and request.method == "GET" and self.same_each_time(scenario)
        made = self._made.get((request.target, scenario)) if alike else None
        if made is None:
            page = self.page(request, scenario)
            if page.answer is not None and page.answer.by == "stream" and page.answer.steps:
                page.started = reply.started
                page.stream_url = f"{self.stream[0]}?{urlencode({'q': page.query, self.stream[1]: page.nonce})}"
                put(self._awaited, page.nonce, page, 32)
                alike = False
            grouped = groupby(page.steps, key=lambda step: step.at_ms)
            chunks = [page.chunk(at_ms, steps) for at_ms, steps in grouped]
            if (alter := scenario.alter) is not None:
                chunks = [chunk._replace(text=alter(chunk.text.decode()).encode()) for chunk in chunks]
            made = _Made(chunks, page.headers())
            if alike:
                put(self._made, (request.target, scenario), made, 32)
        return made

    async def _stream(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        """What a page's script asks for: a line for each step of its answer, in time."""
        page = self._awaited.pop(request.query.get(self.stream[1], ""), None)
        if page is None or page.answer is None:
            await reply.send(404, parts.plain("Error 404", "No page waits for this answer."))
            return
        reply.started = page.started
        await reply.begin(200, (("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff")))
        for at_ms, steps in groupby(page.answer.steps, key=lambda step: step.at_ms):
            lines, came = "", []
            for step in steps:
                lines += json.dumps([step.part, page.answer.acts(step)]) + "\n"
                came.append((step.part, page.answer.chars))
            await reply.until(at_ms)
            page.report.writes(came)
            await reply.write(lines.encode())
        reply.end()

    async def _home(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, parts.plain(self.name.title(), "The lab's front page has nothing to see."))


class _Made(NamedTuple):
    """A page, ready to be sent."""

    chunks: list[Chunk]
    headers: tuple[tuple[str, str], ...]


def start_of(value: str, least: int = 0) -> int:
    """A number in an address; the least where there is none, or nonsense."""
    return max(least, int(value)) if value.isdecimal() else least


def put(store: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Keeps a value, and no more than so many of them."""
    store[key] = value
    if len(store) > most:
        store.popitem(last=False)
