"""A Google page that means harm, to be served by the lab; what it does is in ``hostile.js``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from castlenb.lab import Request, Scenario, Step, scenario
from castlenb.lab.content import Result
from castlenb.lab.google import Google, _Page
from castlenb.lab.server import Reply
from castlenb.lab.stage import Handler, ResultsPage

NOTICED = "/noticed"
SCRIPT = Path(__file__).with_name("hostile.js").read_text("utf-8")
NONCE = "bm90LXR3aWNl"

# Inline style is allowed: without it a page can hide nothing, and an answer's hidden strings would show.
POLICY = (
    f"default-src 'none'; script-src 'nonce-{NONCE}'; style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

ROWS = (Step(90, "head"), Step(470, "results", last=1), Step(600, "results", first=1), Step(700, "end"))
GROWS = (
    Step(1000, "shell", chars=28_864),
    Step(1250, "answer", chars=142),
    Step(1500, "answer", chars=500),
    Step(1800, "answer", chars=903),
)
FIELD = scenario("2026-08-04", "google")
MEEK = replace(FIELD, name="meek", steps=ROWS, answer=GROWS)
MARKED = replace(MEEK, name="meek, marked", answer=(*GROWS, Step(2000, "settled")))


def hostile(meek: Scenario) -> Scenario:
    """The same by a page that means harm."""
    return replace(meek, name="hostile", headers=(("Content-Security-Policy", POLICY),))


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
    """The lab's Google, which plays :func:`hostile` scenarios as well; what a page noticed is in the log of requests.

    Its pages report their instants at every part, for a page that is left while it loads loses a report now and then.
    """

    def paths(self) -> Mapping[str, Handler]:
        return {**super().paths(), NOTICED: self._noticed}

    def page(self, request: Request, scenario: Scenario) -> ResultsPage:
        return (_Hostile if scenario.name == "hostile" else _Meek)(self, request, scenario)

    async def _noticed(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        await reply.send(204)


class _Meek(_Page):
    def part(self, step: Step) -> str:
        report = f'<script nonce="{self.nonce}">dispatchEvent(new Event("pagehide"))</script>'
        return super().part(step) + (report if step.part == "answer" else "")


class _Hostile(_Page):
    def __init__(self, google: Google, request: Request, scenario: Scenario) -> None:
        super().__init__(google, request, scenario)
        self.nonce = NONCE

    def head(self) -> str:
        script = f'<script nonce="{NONCE}">{SCRIPT}({json.dumps(self.truth_url)}, {json.dumps(NOTICED)})</script>'
        before, head, after = super().head().partition("<head>")
        return before + head + script + after + NAMED

    @property
    def answer(self) -> Markup:
        return Markup("<form>") + super().answer + Markup(f"{FIELDS}</form>")

    def row(self, place: int, result: Result) -> Iterable[str]:
        """Every other row in a form, the others with forms in them: a parser puts no form into another."""
        html = "".join(super().row(place, result))
        if place % 2:
            yield f"<form>{html}{FIELDS}</form>"
        else:
            yield re.sub("(?=<h3|<cite|<em)", f"<form>{FIELDS}</form>", html)

    def part(self, step: Step) -> str:
        if step.part not in ("shell", "answer"):
            return super().part(step)
        html = self._in_answer(step)
        if step.part == "answer":
            # In a template forms can lie in forms: the prose is one, and so is each of its paragraphs and its cards.
            forms = (
                (
                    '<div data-container-id="main-col"([^>]*>)(.*?<div data-crb-el=.*?</div>)</div>',
                    rf'<form data-container-id="main-col"\1\2{FIELDS}</form>',
                ),
                ('<div data-sfc-cp="">(.*?)</div>', rf'<form data-sfc-cp="">\1{FIELDS}</form>'),
                ("(<li data-src-id=[^>]*>)(.*?)</li>", rf"\1<form>\2{FIELDS}</form></li>"),
            )
            for pattern, form in forms:
                html, count = re.subn(pattern, form, html, flags=re.DOTALL)
                assert count, f"the lab's answers have no {pattern} any more"
        return f'<template id="{self._id(step)}">{html}</template>{super().part(step)}'

    def change(self, step: Step) -> str:
        return "__settle()" if step.part == "settled" else f"__put({json.dumps(self._id(step))})"

    def _id(self, step: Step) -> str:
        return f"step-{step.at_ms}"
