"""The lab's DuckDuckGo: the page without scripts, its ads, its form that leads on, and the puzzle it sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from . import content
from .content import Result
from .pages import template
from .scenario import Scenario
from .server import Reply, Request
from .sheet import ResultsPage, nonce, parts
from .stage import CLEARED, Handler, Stage, start_of

PAGE_SIZE = 10
ORIGIN = "https://html.duckduckgo.com"


class DuckDuckGo(Stage):
    """Answers as html.duckduckgo.com, and as duckduckgo.com where links lead through it.

    Further pages are given to the form on the page alone; an address that asks for one gets the first.
    """

    name = "duckduckgo"
    hosts: tuple[str, ...] = ("html.duckduckgo.com", "duckduckgo.com")
    search = "/html/"

    def paths(self) -> Mapping[str, Handler]:
        return {
            "/l/": self._click,
            "/y.js": self._advert,
            "/anomaly.js": self._cleared,
            "/static-pages/418.html": self._teapot,
        }

    def results(self, query: str, *, start: int = 0, df: str = "", total: int = 47) -> list[Result]:
        """What the page for these parameters holds, in order."""
        count = max(0, min(PAGE_SIZE, total - start))
        return content.results(query, start + 1, count, within_hours=content.WINDOWS.get(df), order=self.name)

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return _Page(self, request, scenario)

    def status(self, scenario: Scenario) -> int:
        return scenario.status if scenario.status != 202 else 200

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        if scenario.page == "teapot":
            await reply.redirect("https://duckduckgo.com/static-pages/418.html?bno=1&is_tor=0")
        elif scenario.page in ("anomaly", "challenge") and not request.cookie(CLEARED):
            await reply.send(scenario.status, _serp.anomaly(request.query.get("q", ""), request.url, nonce()))
        else:
            return False
        return True

    async def _click(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect(unwrapped(request.target) or ORIGIN)

    async def _advert(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect("https://shop0.adverts.example/")

    async def _teapot(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, parts.plain("DuckDuckGo", "Something unexpected. It is short and stout."))

    async def _cleared(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = parse_qs(request.body).get("continue", [ORIGIN])[-1]
        cookie = f"{CLEARED}=1; Domain=duckduckgo.com; Path=/; Secure"
        await reply.redirect(onward, [("Set-Cookie", cookie)])


def wrapped(url: str) -> str:
    """A link to ``url`` as the page writes it: hyphens are escaped as well, and dots are not."""
    return "//duckduckgo.com/l/?uddg=" + quote(url, safe="").replace("-", "%2D") + "&rut=0"


def unwrapped(target: str) -> str:
    """What such a link names, decoded once."""
    value = target.partition("uddg=")[2].partition("&")[0]
    return unquote(value)


class _Page(ResultsPage):
    def __init__(self, duck: DuckDuckGo, request: Request, scenario: Scenario) -> None:
        sent = {name: values[-1] for name, values in parse_qs(request.body).items()}
        asked = {**request.query, **sent}
        query = asked.get("q", "")
        start = start_of(sent.get("s", "")) if request.method == "POST" else 0
        self.df, self.kl = asked.get("df", ""), asked.get("kl", "wt-wt")
        results = duck.results(query, start=start, df=self.df, total=scenario.total)
        super().__init__(request, scenario, results, query=query)
        self.next_start = start + PAGE_SIZE if start + PAGE_SIZE < self.total else 0

    def head(self) -> str:
        return str(_serp.head(self))

    def opening(self) -> Iterable[str]:
        yield _serp.open(self)
        if self.shows_results:
            yield _serp.advert(self, 0)
        elif self.kind != "empty":
            yield _serp.nothing(self) if self.kind == "no-results" else _serp.unknown(self)
        if self.kind == "no-results":
            yield _serp.advert(self, 1)

    def row(self, place: int, result: Result) -> Iterable[str]:
        yield _serp.organic(self, result)
        if place == 4:
            yield _serp.advert(self, 2)

    def closing(self) -> Iterable[str]:
        yield _serp.close(self)

    def end(self) -> str:
        return str(_serp.end(self))

    def link(self, result: Result) -> str:
        """A result's ``href``: direct, wrapped, or the one and the other by turns."""
        if self.links == "url" or (self.links == "mixed" and result.rank % 2):
            return wrapped(result.url)
        return result.url

    def advert_link(self) -> str:
        """An ad's: it shows what it is only once it has been unwrapped."""
        return wrapped(f"https://duckduckgo.com/y.js?ad_domain=shop0.adverts.example&ad_provider=lab&vqd={self.nonce}")


_serp: Any = template("duckduckgo.html")
