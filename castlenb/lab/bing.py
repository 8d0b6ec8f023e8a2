"""The lab's Bing: a list of results among answers and ads, behind links that lead through ``/ck/a``."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode

from . import content
from .answers import Answer
from .content import Result
from .pages import template
from .scenario import Scenario
from .server import Reply, Request
from .sheet import ResultsPage, nonce, parts
from .stage import CLEARED, Handler, Stage, start_of

PAGE_SIZE = 10
ORIGIN = "https://www.bing.com"


class Bing(Stage):
    """Answers as www.bing.com. A page beyond the last is the first once more, as in life (searxng/searxng)."""

    name = "bing"
    hosts: tuple[str, ...] = ("www.bing.com",)
    stream = ("/cmc/fetch", "IG")

    def paths(self) -> Mapping[str, Handler]:
        return {"/ck/a": self._click, "/aclk": self._advert, "/challenge/verify": self._cleared}

    def results(self, query: str, *, start: int = 0, filters: str = "", total: int = 47) -> list[Result]:
        """What the page for these parameters holds, in order; ``start`` counts from 0, as Bing's ``first`` does not."""
        start = start if start < total else 0
        count = min(PAGE_SIZE, total - start)
        return content.results(query, start + 1, count, within_hours=_window(filters), order=self.name)

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return _Page(self, request, scenario)

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        if scenario.page == "shell":
            await reply.send(200, _serp.shell(nonce()))
        elif scenario.page in ("captcha", "challenge") and not request.cookie(CLEARED):
            words = request.query.get("q", "")
            await reply.send(scenario.status, _serp.captcha(words, request.query.get("setlang", "en"), request.url))
        else:
            return False
        return True

    async def _click(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if url := unwrapped(request.query.get("u", "")):
            await reply.redirect(url)
        else:
            await reply.send(404, parts.plain("Error 404", "The lab has no such link."))

    async def _advert(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect("https://shop0.adverts.example/")

    async def _cleared(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = parse_qs(request.body).get("continue", [ORIGIN])[-1]
        await reply.redirect(onward, [("Set-Cookie", f"{CLEARED}=1; Path=/; Secure")])


def wrapped(url: str, salt: str = "0") -> str:
    """A link to ``url`` as Bing writes it: two letters and URL-safe base64 without padding."""
    coded = urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return f"{ORIGIN}/ck/a?!&&p={salt}&ptn=3&ver=2&hsh=4&fclid=1ab&u=a1{coded}&ntb=1"


def unwrapped(coded: str) -> str:
    """What ``u`` of such a link names; empty where it names nothing on the web."""
    try:
        url = urlsafe_b64decode(coded[2:] + "=" * (-len(coded[2:]) % 4)).decode()
    except ValueError:
        return ""
    return url if coded.startswith("a1") and url.startswith(("https://", "http://")) else ""


class _Answer(Answer):
    """The first item of the list, on the first page."""

    template = template("bing-answer.html")
    place = "#b_results"
    wrapper = inside = container = "#b_results > li.b_qnacdxcont"
    body = ".gs_caphead_main"
    cards = inside
    lacks = frozenset({"settled", "offered"})


class _Page(ResultsPage):
    answers = _Answer

    def __init__(self, bing: Bing, request: Request, scenario: Scenario) -> None:
        asked = request.query
        query, filters = asked.get("q", ""), asked.get("filters", "")
        start = max(0, start_of(asked.get("first", "")) - 1)
        self.start = start if start < scenario.total else 0
        results = bing.results(query, start=start, filters=filters, total=scenario.total)
        lang = asked.get("setlang", "en")
        super().__init__(request, scenario, results, query=query, lang=lang, has_answer=not self.start)
        ahead = range(0, min(self.total, 50), PAGE_SIZE)
        self.pages = [(n // PAGE_SIZE + 1, self._address(n)) for n in ahead if n != self.start]
        self.next_href = self._address(self.start + PAGE_SIZE) if self.start + PAGE_SIZE < self.total else ""

    def head(self) -> str:
        return str(_serp.head(self))

    def opening(self) -> Iterable[str]:
        yield _serp.open(self)
        if self.shows_results:
            yield self.answer_at()
            if self.card:
                yield _serp.large_card(self)
            yield _serp.ads(self, "b_adTop", 2)
            yield _serp.card(self)
        elif self.kind != "empty":
            yield _serp.nothing(self) if self.kind == "no-results" else _serp.unknown(self)

    def row(self, place: int, result: Result) -> Iterable[str]:
        yield (_serp.pictured if place % 4 == 3 else _serp.organic)(self, result, place)
        if furniture := _AFTER.get(place):
            yield furniture(self)

    def closing(self) -> Iterable[str]:
        if self.shows_results:
            yield _serp.ads(self, "b_adBottom", 1)
            yield _serp.related_searches(self)
            yield _serp.paging(self)
        yield _serp.close(self)

    def end(self) -> str:
        return str(_serp.end(self))

    def link(self, result: Result) -> str:
        """A result's ``href``: direct, wrapped, or the one and the other by turns."""
        if self.links == "url" or (self.links == "mixed" and result.rank % 2):
            return self.wrapped(result)
        return result.url

    def wrapped(self, result: Result) -> str:
        """A result's address as the answer's sources have it, whatever the scenario says: through ``/ck/a``."""
        return wrapped(result.url, f"{self.nonce}{result.rank}")

    def inner(self, target: str) -> str:
        """A wrapped link that leads nowhere a result can lead: to another page of Bing's, to a script."""
        return wrapped(target, self.nonce)

    def _address(self, start: int) -> str:
        return "/search?" + urlencode({"q": self.query, "first": start + 1, "FORM": "PERE"})


_serp: Any = template("bing.html")
_AFTER = {0: _serp.questions, 2: _serp.videos, 5: _serp.places}


def _window(filters: str) -> int | None:
    """Hours in ``filters``; nothing where it is not understood."""
    if found := re.fullmatch(r'ex1:"ez([123])"', filters):
        return content.WINDOWS["dwm"[int(found[1]) - 1]]
    if found := re.fullmatch(r'ex1:"ez5_(\d+)_(\d+)"', filters):
        return 24 * max(1, int(found[2]) - int(found[1]))
    return None
