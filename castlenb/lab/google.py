"""The lab's Google: results pages in both layouts, and what Google shows in their place."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from markupsafe import Markup

from . import content
from .answers import Act, Answer, Page
from .content import Result
from .pages import template
from .scenario import Scenario
from .server import Reply, Request
from .sheet import ResultsPage, nonce, parts
from .stage import Handler, Stage, put, start_of

PAGE_SIZE = 10
ORIGIN = "https://www.google.com"
CONSENT = "https://consent.google.com"


class Google(Stage):
    """Answers as www.google.com and consent.google.com.

    What a person would clear can be cleared: a form that is sent off sets the cookie that Google would set, and the
    scenarios ``sorry`` and ``consent`` serve results from then on.
    """

    name = "google"
    hosts: tuple[str, ...] = ("www.google.com", "google.com", "consent.google.com")
    again = "gws_rd=ssl"
    stream = ("/async/folsrch", "ei")

    def __init__(self) -> None:
        super().__init__()
        self._minted: OrderedDict[str, str] = OrderedDict()

    def paths(self) -> Mapping[str, Handler]:
        return {
            "/goto": self._goto,
            "/url": self._url,
            "/aclk": self._advert,
            "/sorry/index": self._sorry,
            "/ml": self._consent_wall,
            "/save": self._consent_given,
            "/httpservice/retry/enablejs": self._no_scripts,
        }

    def query_of(self, path: str, query: Mapping[str, str]) -> str:
        """The words searched for; of a wall, those of the search it stands before."""
        if path not in ("/search", self.stream[0]):
            return parse_qs(urlsplit(query.get("continue", "")).query).get("q", [""])[-1]
        return query.get("q", "")

    def results(self, query: str, *, start: int = 0, as_qdr: str = "", total: int = 47) -> list[Result]:
        """What the page for these parameters holds, in order."""
        count = max(0, min(PAGE_SIZE, total - start))
        return content.results(query, start + 1, count, within_hours=_window(as_qdr))

    async def answer(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        """Answer one request."""
        if request.host == "google.com":
            await reply.redirect(ORIGIN + request.target)
        else:
            await super().answer(request, reply, scenario)

    # The way to a page

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return _Page(self, request, scenario)

    def same_each_time(self, scenario: Scenario) -> bool:
        return scenario.links != "goto"

    def headers(self, scenario: Scenario) -> Iterable[tuple[str, str]]:
        return (("Set-Cookie", "SG_SS=; Path=/; Secure; Max-Age=0"),) if scenario.route == "reload" else ()

    async def gate(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        route, page = scenario.route, scenario.page
        if route == "consent-script" and "ucbcb" not in request.query:
            await reply.send(200, parts.hop(_wall(f"{request.url}&ucbcb=1", request), nonce()))
        elif route == "reload" and not request.cookie("SG_SS"):
            await reply.send(200, _gates.enablejs(nonce(), True, content.filler(scenario.weight_kb)))
        elif page == "enablejs":
            await reply.send(200, _gates.enablejs(nonce(), False, content.filler(scenario.weight_kb)))
        elif page in ("sorry", "challenge") and not request.cookie("GOOGLE_ABUSE_EXEMPTION"):
            token = nonce()
            challenge = urlencode({"continue": request.url, "q": token})
            await reply.redirect(f"{ORIGIN}/sorry/index?{challenge}", [("x-hallmonitor-challenge", token)])
        elif page == "consent" and route == "straight" and not request.cookie("SOCS"):
            await reply.redirect(_wall(request.url, request))
        else:
            return False
        return True

    # Other addresses

    async def _goto(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if url := self._minted.get(request.query.get("url", "")):
            await reply.redirect(url)
        else:
            await reply.send(404, parts.plain("Error 404", "The lab has minted no such link."))

    async def _url(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect(request.query.get("q") or request.query.get("url") or ORIGIN)

    async def _advert(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect("https://shop0.adverts.example/")

    async def _sorry(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = request.query.get("continue", ORIGIN)
        if request.method == "POST":
            onward = parse_qs(request.body).get("continue", [onward])[-1]
            await reply.redirect(onward, [("Set-Cookie", f"GOOGLE_ABUSE_EXEMPTION=ID={nonce()}; Path=/; Secure")])
        else:
            await reply.send(scenario.status, _gates.sorry(onward, request.query.get("q", "")))

    async def _consent_wall(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward, lang = request.query.get("continue", ORIGIN), request.query.get("hl", "en")
        if scenario.route == "consent-script" and scenario.page != "consent":
            await reply.send(200, parts.hop(onward, nonce()))
        else:
            title = _CONSENT_TITLES.get(lang.partition("-")[0], _CONSENT_TITLES["en"])
            await reply.send(200, _gates.consent(onward, lang, title))

    async def _consent_given(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = parse_qs(request.body).get("continue", [ORIGIN])[-1]
        await reply.redirect(onward, [("Set-Cookie", "SOCS=lab; Domain=google.com; Path=/; Secure")])

    async def _no_scripts(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, parts.plain("Google Search", "Scripts are needed here."))

    def mint(self, url: str) -> str:
        """An encrypted link: opaque, another one each time, and it works for a while."""
        token = f"CAES{secrets.token_urlsafe(secrets.choice(range(60, 110)))}"
        put(self._minted, token, url, 20_000)
        return f"/goto?url={token}"


class _Answer(Answer):
    """At the top of the classic layout or after its third result; fetched apart, or within the document."""

    template = template("google-answer.html")
    place = '[id^="lcim_"]'
    wrapper = "#eKIzJc"
    inside = "#B2Jtyd"
    container = "#m-x-content"
    body = '[data-container-id="main-col"]'
    chip = "[data-animation-atomic]"
    cards = '[data-container-id="rhs-col"]'
    closes = container
    whole = ('[data-subtree="mfc"]', "data-complete", "true")

    def __init__(self, page: Page, scenario: Scenario) -> None:
        super().__init__(page, scenario)
        self.inline = scenario.placement == "inline" and self.by != "parser"

    def declined(self) -> list[Act]:
        words = ["fill", self.inside, self.template.declined(self)]
        return [words, ["set", self.wrapper, "style", "display:none"]]


class _Page(ResultsPage):
    """One results page, in either layout."""

    answers = _Answer

    def __init__(self, google: Google, request: Request, scenario: Scenario) -> None:
        asked = request.query
        query = asked.get("q", "")
        self.classic = scenario.layout == "classic" or "udm" not in asked
        start = start_of(asked.get("start", ""))
        results = google.results(query, start=start, as_qdr=asked.get("as_qdr", ""), total=scenario.total)
        kind = "empty" if _filtered_away(asked, self.classic) else scenario.page
        lang = asked.get("hl", "en")
        super().__init__(request, scenario, results, query=query, lang=lang, kind=kind, has_answer=self.classic)
        pages = range(1, min(-(-self.total // PAGE_SIZE), 10) + 1)
        self.pages = [(n, self._address(start=(n - 1) * PAGE_SIZE)) for n in pages if (n - 1) * PAGE_SIZE != start]
        self.next_href = self._address(start=start + PAGE_SIZE) if start + PAGE_SIZE < self.total else ""
        self._google = google
        self._rpos = 0

    def head(self) -> str:
        return str(_serp.head(self))

    def opening(self) -> Iterable[str]:
        yield _serp.open(self)
        if self.kind in ("results", "unparseable"):
            yield _serp.rso(self)
        if self.kind == "unparseable":
            yield _serp.unknown(self)

    def row(self, place: int, result: Result) -> Iterable[str]:
        odd = self.classic and place == 6
        yield (_serp.rich if odd else _serp.organic)(self, result, self.next_rpos())
        if self.classic and (furniture := _AFTER.get(place)):
            yield furniture(self)
        if place == 2 and self.answer is not None and self.answer.inline:
            yield _serp.inline(self)

    def closing(self) -> Iterable[str]:
        if self.kind in ("results", "unparseable"):
            yield _serp.close(self)

    def end(self) -> str:
        below = _serp.below(self) if self.shows_results else ""
        if self.kind == "no-results":
            below = _serp.nothing_found(self)
        return str(_serp.end(self, Markup(below)))

    def link(self, result: Result, fragment: bool = False) -> str:
        """A result's ``href``, in the form the scenario asks for; with ``fragment`` one that points into its text."""
        url = result.url
        if fragment:
            url += ("" if "#" in url else "#") + ":~:text=" + result.before[:20].strip().replace(" ", "%20")
        if self.links == "goto":
            return self._google.mint(url)
        if self.links == "url" or (self.links == "mixed" and result.rank % 2):
            return "/url?" + urlencode({"q": url, "sa": "U", "ved": f"2ah{result.rank}", "usg": self.nonce})
        return url

    def next_rpos(self) -> int:
        """Google's own count of the blocks in the results area."""
        self._rpos += 1
        return self._rpos

    def _address(self, start: int) -> str:
        query = {"q": self.query, "start": start} | ({} if self.classic else {"udm": 14})
        return f"/search?{urlencode(query)}"


_serp: Any = template("google.html")
_gates: Any = template("google-gates.html")
_AFTER = {0: _serp.paa, 2: _serp.places, 4: _serp.stories}
_CONSENT_TITLES = {
    "en": "Before you go on",
    "de": "Bevor es weitergeht",
    "fr": "Avant de continuer",
    "ru": "Прежде чем идти дальше",
}


def _filtered_away(asked: Mapping[str, str], classic: bool) -> bool:
    """The date restrictions that get an empty page: ``tbs=qdr``, and any together with ``udm`` (seen 2026-08-04)."""
    tbs = asked.get("tbs", "")
    return "qdr:" in tbs or (not classic and ("as_qdr" in asked or "cdr:" in tbs))


def _window(as_qdr: str) -> int | None:
    """Hours in ``as_qdr``: a letter and perhaps a number; nothing where it is not understood, as in life."""
    if found := re.fullmatch(r"([hdwmy])(\d{0,3})", as_qdr):
        return content.WINDOWS[found[1]] * int(found[2] or 1)
    return None


def _wall(onward: str, request: Request) -> str:
    asked = {
        "continue": onward,
        "gl": request.query.get("gl", "DE"),
        "m": 0,
        "pc": "srp",
        "hl": request.query.get("hl", "en"),
    }
    return f"{CONSENT}/ml?{urlencode(asked)}"
