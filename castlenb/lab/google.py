"""The lab's Google: results pages in both layouts, and what Google shows in their place."""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from . import content
from .content import Result
from .pages import template
from .scenario import Scenario, Step
from .server import TRUTH_PATH, Reply, Request

K = TypeVar("K")
V = TypeVar("V")

PAGE_SIZE = 10
ORIGIN = "https://www.google.com"
CONSENT = "https://consent.google.com"


class Google:
    """Answers as www.google.com and consent.google.com.

    What a person would clear can be cleared: a form that is sent off sets the cookie that Google would set, and the
    scenarios ``sorry`` and ``consent`` serve results from then on.
    """

    name = "google"
    hosts: tuple[str, ...] = ("www.google.com", "google.com", "consent.google.com")

    def __init__(self) -> None:
        self._minted: OrderedDict[str, str] = OrderedDict()
        self._made: OrderedDict[tuple[str, Scenario], list[tuple[float, bytes]]] = OrderedDict()
        self._paths: Mapping[str, Callable[[Request, Reply, Scenario], Any]] = {
            "/search": self._search,
            "/goto": self._goto,
            "/url": self._url,
            "/aclk": self._advert,
            "/sorry/index": self._sorry,
            "/ml": self._consent_wall,
            "/save": self._consent_given,
            "/httpservice/retry/enablejs": self._no_scripts,
            "/": self._home,
        }

    def query_of(self, path: str, query: Mapping[str, str]) -> str:
        """The words searched for; of a wall, those of the search it stands before."""
        if path != "/search":
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
        elif handler := self._paths.get(request.path):
            await handler(request, reply, scenario)
        else:
            await reply.send(404, _gates.plain("Error 404", "The lab has no such page."))

    # The way to a page

    async def _search(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if scenario.ending == "silent":
            await reply.never()
        await reply.until(scenario.headers_ms)
        if await self._led_astray(request, reply, scenario):
            return
        once = (("Set-Cookie", "SG_SS=; Path=/; Secure; Max-Age=0"),) if scenario.route == "reload" else ()
        await self._page(request, reply, scenario, (*scenario.headers, *once))

    async def _led_astray(self, request: Request, reply: Reply, scenario: Scenario) -> bool:
        """Whether the request was answered with a way to another address, or a gate, in place of a page."""
        route, nonce = scenario.route, _nonce()
        if route in ("redirect", "script") and "gws_rd" not in request.query:
            onward = f"{request.url}&gws_rd=ssl"
            await (reply.redirect(onward) if route == "redirect" else reply.send(200, _gates.hop(onward, nonce)))
        elif route in ("endless", "endless-script"):
            turn = int(request.query.get("turn", "0")) + 1
            onward = f"{ORIGIN}/search?{urlencode({**request.query, 'turn': turn})}"
            await (reply.redirect(onward) if route == "endless" else reply.send(200, _gates.hop(onward, nonce)))
        elif route == "consent-script" and "ucbcb" not in request.query:
            await reply.send(200, _gates.hop(_wall(f"{request.url}&ucbcb=1", request), nonce))
        elif route == "reload" and not request.cookie("SG_SS"):
            await reply.send(200, _gates.enablejs(nonce, True, content.filler(scenario.weight_kb)))
        elif scenario.page == "enablejs":
            await reply.send(200, _gates.enablejs(nonce, False, content.filler(scenario.weight_kb)))
        elif scenario.page == "sorry" and not request.cookie("GOOGLE_ABUSE_EXEMPTION"):
            challenge = urlencode({"continue": request.url, "q": nonce})
            await reply.redirect(f"{ORIGIN}/sorry/index?{challenge}", [("x-hallmonitor-challenge", nonce)])
        elif scenario.page == "consent" and scenario.route == "straight" and not request.cookie("SOCS"):
            await reply.redirect(_wall(request.url, request))
        elif scenario.page == "plain":
            await reply.send(
                scenario.status, _gates.plain(f"Error {scenario.status}", "The lab is busy. Come back later.")
            )
        else:
            return False
        return True

    async def _page(
        self, request: Request, reply: Reply, scenario: Scenario, headers: tuple[tuple[str, str], ...]
    ) -> None:
        if not scenario.steps:
            if scenario.ending == "never":
                await reply.begin(scenario.status, headers)
                await reply.never()
            elif scenario.ending == "whole":
                await reply.send(scenario.status, "", headers)
            else:
                reply.reset()
            return
        chunks = self._chunks(request, scenario)
        # Headers and mark-up of the same instant go out together, as a benchmark's page would from a real server.
        together = chunks[0][0] <= scenario.headers_ms
        await reply.begin(_document_status(scenario), headers, chunks[0][1] if together else b"")
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

    def _chunks(self, request: Request, scenario: Scenario) -> list[tuple[float, bytes]]:
        """The page in time. One without marks is the same each time it is asked for, and made once: benchmarks are not
        to measure Jinja2."""
        same = not scenario.marks and scenario.links != "goto"
        chunks = self._made.get((request.target, scenario)) if same else None
        if chunks is None:
            page = _Page(self, request, scenario)
            grouped = groupby(page.steps, key=lambda step: step.at_ms)
            chunks = [(at_ms, "".join(map(page.part, steps)).encode()) for at_ms, steps in grouped]
            if same:
                _put(self._made, (request.target, scenario), chunks, 200)
        return chunks

    # Other addresses

    async def _goto(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if url := self._minted.get(request.query.get("url", "")):
            await reply.redirect(url)
        else:
            await reply.send(404, _gates.plain("Error 404", "The lab has minted no such link."))

    async def _url(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect(request.query.get("q") or request.query.get("url") or ORIGIN)

    async def _advert(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.redirect("https://shop0.adverts.example/")

    async def _sorry(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = request.query.get("continue", ORIGIN)
        if request.method == "POST":
            onward = parse_qs(request.body).get("continue", [onward])[-1]
            await reply.redirect(onward, [("Set-Cookie", f"GOOGLE_ABUSE_EXEMPTION=ID={_nonce()}; Path=/; Secure")])
        else:
            await reply.send(scenario.status, _gates.sorry(onward, request.query.get("q", "")))

    async def _consent_wall(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward, lang = request.query.get("continue", ORIGIN), request.query.get("hl", "en")
        if scenario.route == "consent-script" and scenario.page != "consent":
            await reply.send(200, _gates.hop(onward, _nonce()))
        else:
            title = _CONSENT_TITLES.get(lang.partition("-")[0], _CONSENT_TITLES["en"])
            await reply.send(200, _gates.consent(onward, lang, title))

    async def _consent_given(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        onward = parse_qs(request.body).get("continue", [ORIGIN])[-1]
        await reply.redirect(onward, [("Set-Cookie", "SOCS=lab; Domain=google.com; Path=/; Secure")])

    async def _no_scripts(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, _gates.plain("Google Search", "Scripts are needed here."))

    async def _home(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(200, _gates.plain("Google", "The lab's front page has nothing to see."))

    def mint(self, url: str) -> str:
        """An encrypted link: opaque, another one each time, and it works for a while."""
        token = f"CAES{secrets.token_urlsafe(secrets.choice(range(60, 110)))}"
        _put(self._minted, token, url, 20_000)
        return f"/goto?url={token}"


class _Page:
    """One results page: what the templates need, and the parts that the scenario's steps name."""

    def __init__(self, google: Google, request: Request, scenario: Scenario) -> None:
        asked = request.query
        self.url = request.url
        self.query = asked.get("q", "")
        self.lang = asked.get("hl", "en")
        self.nonce = _nonce()
        self.marks = scenario.marks
        self.truth_url = f"{TRUTH_PATH}?page={request.id}"
        self.total = scenario.total
        self.overlay = scenario.overlay
        self.classic = scenario.layout == "classic" or "udm" not in asked
        start = int(asked["start"]) if asked.get("start", "").isdecimal() else 0
        self.kind = "empty" if _filtered_away(asked, self.classic) else scenario.page
        self.results = google.results(self.query, start=start, as_qdr=asked.get("as_qdr", ""), total=scenario.total)
        if self.kind in ("sorry", "consent"):  # cleared
            self.kind = "results"
        if self.kind == "results" and not self.results:
            self.kind = "no-results"
        self.shows_results = self.kind == "results"
        self.questions = content.questions(self.query, 4)
        self.related = content.related(self.query, 8)
        pages = range(1, min(-(-self.total // PAGE_SIZE), 10) + 1)
        self.pages = [(n, self._address(start=(n - 1) * PAGE_SIZE)) for n in pages if (n - 1) * PAGE_SIZE != start]
        self.next_href = self._address(start=start + PAGE_SIZE) if start + PAGE_SIZE < self.total else ""
        self.weight = _weight(scenario.weight_kb // 2)
        self._google = google
        self._links = scenario.links
        self._rpos = 0
        self._opened = False
        self._answer = scenario.answer if self.classic and self.shows_results else None
        self.steps = _in_time(scenario.steps, self._answer or ())

    @property
    def answer(self) -> Markup:
        """What the page has of an answer from the start: nothing, all of it, or an empty place."""
        if self._answer is None:
            return Markup()
        inside = Markup() if self._answer else _answers.container(self._prose_and_sources(903))
        return Markup(_answers.wrapper(self, inside, bool(self._answer)))

    def part(self, step: Step) -> str:
        """The mark-up of one step, with the script that notes its instant."""
        if step.part not in ("head", "results", "end"):
            return f'<script nonce="{self.nonce}">{self._change(step)}</script>\n'
        text = str(_serp.head(self)) if step.part == "head" else "".join(self._results(step))
        if step.part == "end":
            text = str(_serp.end(self, self._below()))
        mark = f'<script nonce="{self.nonce}">__part("{step.part}")</script>\n' if self.marks else ""
        return text + mark + ("</body></html>\n" if step.part == "end" else "")

    def link(self, result: Result, fragment: bool = False) -> str:
        """A result's ``href``, in the form the scenario asks for; with ``fragment`` one that points into its text."""
        url = result.url
        if fragment:
            url += ("" if "#" in url else "#") + ":~:text=" + result.before[:20].strip().replace(" ", "%20")
        if self._links == "goto":
            return self._google.mint(url)
        if self._links == "url":
            return "/url?" + urlencode({"q": url, "sa": "U", "ved": f"2ah{result.rank}", "usg": self.nonce})
        return url

    def elsewhere(self, kind: str, number: int) -> str:
        """A link that is no result's: of a question, a place, a panel, …"""
        return f"https://{kind}.elsewhere.example/{number}"

    def prose(self, salt: str, chars: int) -> str:
        """Some text."""
        return content.prose(self.query, chars, salt)

    def next_rpos(self) -> int:
        """Google's own count of the blocks in the results area."""
        self._rpos += 1
        return self._rpos

    def _results(self, step: Step) -> list[str]:
        parts = []
        if not self._opened:
            self._opened = True
            parts.append(_serp.open(self))
            if self.kind in ("results", "unparseable"):
                parts.append(_serp.rso(self))
        if self.kind == "unparseable":
            parts.append(_serp.unknown(self))
        if self.shows_results:
            chosen = slice(step.first, step.last)
            for place, result in list(enumerate(self.results))[chosen]:
                odd = self.classic and place == 6
                parts.append((_serp.rich if odd else _serp.organic)(self, result, self.next_rpos()))
                if self.classic and (furniture := _AFTER.get(place)):
                    parts.append(furniture(self))
        if step.last is None and self.kind in ("results", "unparseable"):
            parts.append(_serp.close(self))
        return parts

    def _below(self) -> Markup:
        if self.shows_results:
            return Markup(_serp.below(self))
        return Markup(_serp.nothing_found(self) if self.kind == "no-results" else "")

    def _change(self, step: Step) -> str:
        """A script that changes the answer as a step says."""
        if step.part == "settled":
            change = (
                'document.getElementById("m-x-content").closest("[data-subtree]").setAttribute("data-complete", "true")'
            )
        else:
            change = f'document.getElementById("B2Jtyd").innerHTML = {htmlsafe_json_dumps(self._in_answer(step))}'
        return f'__part("{step.part}", () => {{ {change}; }})' if self.marks else change

    def _in_answer(self, step: Step) -> str:
        if step.part == "shell":
            return str(_answers.container(self.prose("shell", step.chars)))
        if step.part == "answer":
            return str(_answers.container(self._prose_and_sources(step.chars)))
        visible = {"loading": "loading", "declined": "unavailable"}[step.part]
        return str(_answers.container(_answers.header("AI Overview", visible)))

    def _prose_and_sources(self, chars: int) -> Markup:
        sentences = re.split(r"(?<=\. )(?=[A-Z])", self.prose("answer", chars))
        paragraphs = ["".join(sentences[n : n + 3]) for n in range(0, len(sentences), 3)]
        return Markup(_answers.header("AI Overview", "") + _answers.body(self, paragraphs, self.results[:5:2]))

    def _address(self, start: int) -> str:
        query = {"q": self.query, "start": start} | ({} if self.classic else {"udm": 14})
        return f"/search?{urlencode(query)}"


_serp: Any = template("google.html")
_answers: Any = template("google-answer.html")
_gates: Any = template("google-gates.html")
_AFTER = {0: _serp.paa, 2: _serp.places, 4: _serp.stories}
_CONSENT_TITLES = {
    "en": "Before you go on",
    "de": "Bevor es weitergeht",
    "fr": "Avant de continuer",
    "ru": "Прежде чем идти дальше",
}


def _in_time(steps: tuple[Step, ...], answer: tuple[Step, ...]) -> list[Step]:
    """All steps in the order of their time; a document ends after the last of them."""
    ordered = sorted((step for step in (*steps, *answer) if step.part != "end"), key=lambda step: step.at_ms)
    for step in steps:
        if step.part == "end":
            ordered.append(Step(max(step.at_ms, ordered[-1].at_ms), "end"))
    return ordered


@lru_cache(maxsize=8)
def _weight(kilobytes: int) -> Markup:
    return Markup(_serp.weight(content.filler(kilobytes)))


def _put(store: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    store[key] = value
    if len(store) > most:
        store.popitem(last=False)


def _filtered_away(asked: Mapping[str, str], classic: bool) -> bool:
    """The date restrictions that get an empty page: ``tbs=qdr``, and any together with ``udm`` (seen 2026-08-04)."""
    tbs = asked.get("tbs", "")
    return "qdr:" in tbs or (not classic and ("as_qdr" in asked or "cdr:" in tbs))


def _window(as_qdr: str) -> int | None:
    """Hours in ``as_qdr``: a letter and perhaps a number; nothing where it is not understood, as in life."""
    if found := re.fullmatch(r"([hdwmy])(\d{0,3})", as_qdr):
        return content.WINDOWS[found[1]] * int(found[2] or 1)
    return None


def _document_status(scenario: Scenario) -> int:
    return 200 if scenario.page == "sorry" else scenario.status


def _wall(onward: str, request: Request) -> str:
    asked = {
        "continue": onward,
        "gl": request.query.get("gl", "DE"),
        "m": 0,
        "pc": "srp",
        "hl": request.query.get("hl", "en"),
    }
    return f"{CONSENT}/ml?{urlencode(asked)}"


def _nonce() -> str:
    return secrets.token_urlsafe(9)
