"""A Google page that means harm, to be served by the lab; what it does is in ``hostile.js``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from castlenb.lab import Request, Scenario, Step, scenario
from castlenb.lab.answers import Act
from castlenb.lab.content import Result
from castlenb.lab.google import Google, _Answer, _Page
from castlenb.lab.server import Reply
from castlenb.lab.sheet import ResultsPage
from castlenb.lab.stage import Handler

NOTICED = "/noticed"
SCRIPT = Path(__file__).with_name("hostile.js").read_text("utf-8")
NONCE = "bm90LXR3aWNl"

ROWS = (Step(90, "head"), Step(470, "results", last=1), Step(600, "results", first=1), Step(700, "end"))
GROWS = (
    Step(1000, "shell", chars=28_864),
    Step(1250, "answer", chars=142),
    Step(1500, "answer", chars=500),
    Step(1800, "answer", chars=903),
    Step(1800, "sources"),
)
FIELD = scenario("2026-08-04", "google")
MEEK = replace(FIELD, name="meek", steps=ROWS, answer=GROWS)
MARKED = replace(MEEK, name="meek, marked", answer=(*GROWS, Step(2000, "settled")))


def hostile(meek: Scenario) -> Scenario:
    """The same by a page that means harm; the lab's own has the policy against strings as mark-up."""
    return replace(meek, name="hostile", hostile=True)


# A <form> answers with its field where it is asked for a property of that name; of an element there is much to ask.
FIELD_NAMES = """
    addEventListener attributes baseURI checkVisibility childNodes children className closest compareDocumentPosition
    contains firstChild firstElementChild getAttribute getRootNode hasAttribute hidden id innerHTML innerText isConnected
    lastChild localName matches namespaceURI nextElementSibling nextSibling nodeName nodeType nodeValue ownerDocument
    parentElement parentNode previousElementSibling previousSibling querySelector querySelectorAll removeEventListener
    style tagName textContent toString valueOf length item name action elements
"""
# So does a document with images, forms and frames of that name.
DOCUMENT_NAMES = """
    URL addEventListener adoptedStyleSheets all baseURI body characterSet childNodes children compatMode contains cookie
    createElement createTreeWalker currentScript defaultView dispatchEvent doctype documentURI domain evaluate firstChild
    forms getElementById getElementsByTagName hasFocus head hidden images implementation importNode isConnected links
    nodeType parentNode querySelector querySelectorAll readyState referrer removeEventListener scripts textContent title
    visibilityState
"""
# And a window with elements of that id, where it has nothing of its own.
WINDOW_NAMES = "castlenb reader watcher answers growth dom spec prose sources"

FIELDS = "".join(f'<input type="hidden" name="{name}">' for name in FIELD_NAMES.split())
NAMED = "".join(
    [
        *(f'<img name="{name}" id="{name}" alt="" hidden>' for name in DOCUMENT_NAMES.split()),
        *(f'<form name="{name}" hidden></form>' for name in DOCUMENT_NAMES.split()[::3]),
        '<iframe name="documentElement" hidden></iframe>',
        *(f'<i id="{name}" hidden></i>' for name in WINDOW_NAMES.split()),
    ]
)


class HostileGoogle(Google):
    """The lab's Google, with more harm than the lab's own; what a page noticed is in the log of requests."""

    def paths(self) -> Mapping[str, Handler]:
        return {**super().paths(), NOTICED: self._noticed}

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return (_Hostile if scenario.hostile else _Page)(self, request, scenario)

    async def _noticed(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(204)


class _InForms(_Answer):
    """All there is of it is a form. In that are, as forms again, the prose, its paragraphs and the cards: a parser puts
    no form into another, but templates can have them, and the page's script makes its changes by those."""

    def first(self) -> tuple[Markup, str]:
        html, part = super().first()
        # The prose's first children are its paragraphs, so its own fields stand elsewhere.
        of_prose = FIELDS.replace("<input", '<input form="main-col"')
        return Markup("<form>") + html + Markup(f"{FIELDS}{of_prose}</form>"), part

    def acts(self, step: Step) -> list[Act]:
        return [
            [in_forms(str(each)) if isinstance(each, Markup) else each for each in act] for act in super().acts(step)
        ]


def in_forms(html: str) -> str:
    for pattern, form in (
        ('<div data-sfc-cp="">(.*?)</div>', rf'<form data-sfc-cp="">\1{FIELDS}</form>'),
        (
            '<div (data-container-id="main-col".*?)</div>(?=<div data-container-id="rhs-col")',
            r'<form id="main-col" \1</form>',
        ),
        ("(<li data-src-id=[^>]*>)(.*?)</li>", rf"\1<form>\2{FIELDS}</form></li>"),
    ):
        html = re.sub(pattern, form, html, flags=re.DOTALL)
    return html


class _Hostile(_Page):
    answers = _InForms

    def __init__(self, google: Google, request: Request, scenario: Scenario) -> None:
        super().__init__(google, request, scenario)
        self.nonce = NONCE  # the same each time, for two visits are compared

    @property
    def script(self) -> Markup:
        """The lab's, with our harm in place of its own, when it has taken what it needs."""
        before, bend, after = str(super().script).partition("if (plan.hostile) bend();")
        assert bend, "the lab's script does its harm in another way now"
        return Markup(f"{before}__harm(acts, trusted);{after}")

    def head(self) -> str:
        script = f'<script nonce="{NONCE}">{SCRIPT}({json.dumps(NOTICED)})</script>'
        before, head, after = super().head().partition("<head>")
        return before + head + script + after + NAMED

    def part(self, step: Step) -> str:
        if step.part == "head":  # without the lab's own form around all: there would be no others in it
            return self.head() + self._mark("head")
        return super().part(step)

    def row(self, place: int, result: Result) -> Iterable[str]:
        """Every other row in a form, the others with forms in them."""
        html = "".join(super().row(place, result))
        if place % 2:
            yield f"<form>{html}{FIELDS}</form>"
        else:
            yield re.sub("(?=<h3|<cite|<em)", f"<form>{FIELDS}</form>", html)

    def end(self) -> str:
        return f'{super().end()}<script nonce="{NONCE}">__late()</script>'
