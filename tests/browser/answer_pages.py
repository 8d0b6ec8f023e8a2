"""AI answers in small: made-up mark-up of each engine's, faithful where a rule holds on to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import castlenb as cn
from castlenb import page as scripts
from castlenb.engines import ENGINES

from .google_pages import page, row
from .replays import replayed

UNAVAILABLE = "An AI Overview is not available for this search"
UNABLE = "Can't generate an AI overview right now. Try again later."
LONG = "Water boils at a lower temperature on a mountain because the air presses on it less than it does by the sea."
MORE = "That is why an egg takes longer there: the water around it is not as hot."
URLS = {
    "google": "https://www.google.com/search?q=made+up",
    "bing": "https://www.bing.com/search?q=made+up",
    "brave": "https://search.brave.com/search?q=made+up",
    "duckduckgo": "https://html.duckduckgo.com/html/?q=made+up",
}


def read(lab: cn.Lab, html: str, engine: str = "google") -> dict[str, Any]:
    """The answer as the in-page reader has it."""
    found: dict[str, Any] = asked(lab, html, "answers.answer()", engine)
    return found


def asked(lab: cn.Lab, html: str, expression: str, engine: str = "google") -> Any:
    """The value of an expression that uses ``answers``, in our world of the page."""
    with opened(lab, html, engine) as page:
        return page(expression)


@contextmanager
def opened(lab: cn.Lab, html: str, engine: str = "google") -> Iterator[Callable[[str], Any]]:
    """The page, open: a call evaluates an expression in our world of it, where ``answers`` stays what it was."""
    with replayed(lab, html, engine=engine, url=URLS[engine]) as replay:
        replay.read()
        replay.evaluate(f"globalThis.answers = {scripts.answers_expression(ENGINES[engine].spec())}; 0")
        yield lambda expression: json.loads(replay.evaluate(f"JSON.stringify({expression})"))


# Google


def header(words: str = "AI Overview", *, unavailable: bool = False) -> str:
    """What stands over an answer: the words that are seen, and those that are kept ready."""
    shown = "" if unavailable else ' style="display:none"'
    seen = ' style="display:none"' if unavailable else ""
    return (
        f'<div jsname="txosbe"><span jsname="lGsj1"{shown}><span>{UNAVAILABLE}</span></span>'
        f'<span jsname="L1sC6e" style="display:none"><span>{UNABLE}</span></span>'
        f'<div jsname="cUzNTd" aria-hidden="true"{seen}>{words}</div></div>'
    )


def column(prose: str, sources: str = "", lang: str = "en") -> str:
    """The body since the autumn of 2025: the prose, and the sources beside it."""
    return (
        f'<div jsname="HKDuG"><div jsname="dvXlsc" data-rl="{lang}"><div data-scope-id="turn"><div data-subtree="aimc">'
        f'<div data-container-id="main-col">{prose}</div><div data-container-id="rhs-col">{sources}</div>'
        "</div></div></div></div>"
    )


def wrapped(inside: str, *, words: str = "AI Overview", heading: str = "h1", lazy: bool = False, end: str = "") -> str:
    """The places around a body; ``lazy`` is the kind that is fetched after the document."""
    box = f'<div data-subtree="mfc" data-mcpr=""><div id="m-x-content">{header(words)}{inside}</div></div>'
    if lazy:
        box = f'<div id="B2Jtyd" data-async-type="folsrch">{box}{end}</div>'
    clip = "position:absolute;clip:rect(1px,1px,1px,1px);height:1px;width:1px;overflow:hidden"
    return f'<div id="eKIzJc"><div data-mcpr=""><{heading} style="{clip}">{words}</{heading}><div data-q="x">{box}</div></div></div>'


def overview(prose: str, sources: str = "", lang: str = "en", **around: Any) -> str:
    """A whole answer."""
    return wrapped(column(prose, sources, lang), **around)


def para(words: str) -> str:
    return f'<div data-sfc-cp="">{words}</div>'


def card(href: str, title: str, site: str = "Shop", snippet: str = "", label: str | None = None) -> str:
    """A source: a link without words over its title, a piece of its text, and its site."""
    label = f"{title}. Opens in new tab." if label is None else label
    said = (
        f'<div id="t">{title}</div>'
        + (f"<span>{snippet}</span>" if snippet else "")
        + f"<div><span>{site}</span></div>"
    )
    link = f'<a aria-label="{escape(label)}" href="{escape(href)}"></a>'
    return f'<li><div data-src-id="1">{link}<div><div>{said}</div></div></div></li>'


def chip(words: str, uuid: str = "u1", href: str = "", label: str = "View related links") -> str:
    """A mark that names a source at the end of a claim."""
    link = f'<a href="{escape(href)}" aria-label="{escape(label)}" style="display:none"></a>' if href else ""
    return (
        f'<span data-wiz-uids="w"><span data-animation-atomic=""><span aria-hidden="true"> </span>{link}'
        f'<button aria-label="{escape(label)}" data-icl-uuid="{uuid}"><span>{words}</span></button></span></span>'
    )


def results(above: str, **parts: str) -> str:
    """A results page with two results, the answer above them."""
    return page(row("https://one.example/", "One"), row("https://two.example/", "Two"), above=above, **parts)


# Bing, Brave


def bing(above: str = "", first: str = "", side: str = "") -> str:
    listed = "".join(
        f'<li class="b_algo"><h2><a href="https://r{n}.example/">Result {n}</a></h2><div class="b_caption"><p>Words.</p></div></li>'
        for n in range(1, 4)
    )
    return (
        "<!doctype html><html lang=en><title>made up - Search</title><body><div id=b_content><main><div id=b_mcw>"
        f'<ol id="b_topw">{above}</ol><ol id="b_results">{first}{listed}</ol></div></main>'
        f'<aside><ol id="b_context">{side}</ol></aside></div></body></html>'
    )


def brave(first: str = "", head: str = "") -> str:
    listed = "".join(
        f'<div class="snippet" data-type="web"><a href="https://r{n}.example/"><div class="title">Result {n}</div></a>'
        '<div class="generic-snippet"><div class="content">Words.</div></div></div>'
        for n in range(1, 4)
    )
    return (
        f"<!doctype html><html lang=en-us><title>made up - Brave Search</title><body style=opacity:0>{head}"
        f'<main><div id="results">{first}{listed}</div></main></body></html>'
    )
