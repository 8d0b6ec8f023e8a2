"""What an engine is: data first, and one function for its address.

An engine file says where things are on its pages (:class:`Hook`), how its links lead out (:class:`LinkForm`) and what a
refusal looks like (:class:`Refusal`). The scripts in ``castlenb.page`` know no engine: they get :meth:`Engine.spec` as
JSON, so what is checked by ``verify`` is what a search uses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..errors import CastleError

Part = Literal[
    "scope",  # where result headings may stand at all
    "area",  # the results area: content in it that yields no result is drift
    "row",  # one result's box, where the engine marks it; empty where only structure tells
    "heading",  # a result's title
    "last_resort",  # titles anywhere on pages where none of those yields a row: only once a page is whole, and said
    "mark",  # what a web result has and a module has not; asked of rows that stay on the engine's own host
    "snippet",  # the text under the title
    "date",  # a result's date, where it has an element of its own
    "cite",  # the address as the page shows it
    "furniture",  # regions in which nothing is a result
    "nothing",  # where the engine says that nothing was found
    "aside",  # what stands in a "nothing" region without saying so
    "answer",  # the AI answer's container: nothing in it is a result
    # Of the AI answer itself; all but the first two are looked for inside a wrapper.
    "answer_wrapper",  # what holds the answer and all that belongs to it, in order of trust; no look-alikes
    "answer_side",  # columns beside the results, in which an answer can stand
    "answer_alike",  # regions whose answers are not the page's own
    "answer_header",  # its heading: recorded, never matched
    "answer_body",  # its prose: the first selector that finds any counts, and it can find several parts
    "answer_skip",  # what stands in the prose and is none: cards, captions, controls, disclaimers
    "answer_keep",  # controls that carry words of the prose
    "answer_chip",  # marks in the prose that name a source
    "answer_card",  # one source: its card, or its link
    "answer_title",  # a card's parts, where they are marked
    "answer_snippet",
    "answer_site",
    "answer_titles",  # where only titles are told of the sources: in its `title`, with commas between
    "answer_marker",  # what comes when the answer is whole; trusted ones settle it
    "answer_loading",  # seen while it is being written
    "answer_declined",  # seen where the engine says that there is none
    "answer_offered",  # where it would write one on a click; looked for on the whole page where it begins with an id
]
RECENCIES = ("day", "week", "month", "year")
"""The time ranges a search can be given. Not every engine has all of them."""

Kind = Literal["id", "attribute", "aria", "class", "jsname", "structure"]
Trust = Literal["high", "medium", "low"]


class EngineError(CastleError, ValueError):
    """The engine is not known, or it can not do what was asked of it."""


@dataclass(frozen=True)
class Hook:
    """One place on the page, found by a CSS selector.

    Attributes:
        part: what it marks.
        css: the selector. Never a generated class name: those change from one load to the next.
        kind: what the selector holds on to.
        trust: how much weight it bears when hooks disagree.
        evidence: who saw it, or where it was reported.
        held: first and last month in which it was seen to hold, ``YYYY-MM``.
        name: what a marker is called in timelines; empty for all other parts.
    """

    part: Part
    css: str
    kind: Kind
    trust: Trust
    evidence: str
    held: tuple[str, str]
    name: str = ""


@dataclass(frozen=True)
class AnswerForm:
    """What selectors do not say of an engine's AI answer.

    Attributes:
        label: what it is called, with the engine's name in it.
        language: attributes that tell the language of its prose, on it, in it or around it, in order of trust.
        formula: attribute that holds the source of a formula, which is drawn; read where there is no MathML.
        never: regular expressions on host and path of links in its prose that are no sources.
        requests: regular expressions on host and path of the requests that bring it after the document.
        one_place: all its wrappers mark the same place, so one that lies apart is drift; else each marks a form of its
            own.
    """

    label: str
    language: tuple[str, ...] = ("lang",)
    formula: str | None = None
    never: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    one_place: bool = False


@dataclass(frozen=True)
class Private:
    """Where an engine's pages tell of the person in front of them: it is taken out of captures.

    Attributes:
        account: selectors for who is signed in.
        location: selectors for where they are, and the footer that says how that is known.
        asked: query parameters and fields that are part of the question; all others of its own links are emptied.
    """

    account: tuple[str, ...] = ()
    location: tuple[str, ...] = ()
    asked: tuple[str, ...] = ("q",)

    def as_json(self) -> dict[str, Any]:
        """As ``page/redact.js`` takes it."""
        places = [("account", css) for css in self.account] + [("location", css) for css in self.location]
        return {"people": [{"what": what, "css": css} for what, css in places], "asked": list(self.asked)}


@dataclass(frozen=True)
class LinkForm:
    """How a link on the engine's own host hides its target.

    Attributes:
        form: ``redirect`` when the target can be read from the link, ``encrypted`` when it can not.
        path: the path such links have, exactly.
        params: the query parameters that may hold the target, in order of trust.
        decode: ``percent``: percent-encoded once. ``base64url``: URL-safe base64 of UTF-8, padding optional.
        prefix: what stands before the encoded value; one without it can not be decoded.
    """

    form: Literal["redirect", "encrypted"]
    path: str
    params: tuple[str, ...]
    decode: Literal["percent", "base64url"] = "percent"
    prefix: str = ""


@dataclass(frozen=True)
class Refusal:
    """How a page that refuses is told from one with results. Read only where there are no results.

    Attributes:
        kind: ``sorry``, ``consent``, ``captcha``, ``anomaly`` or ``enablejs``.
        address: regular expression on host and path of the page's final URL.
        css: selectors on forms, ids and frames; never on words, since engines echo the query.
        noscript: address found inside a ``<noscript>``.
        unless_area: holds only on pages without a results area.
        conclusive: nothing better can follow. False where the page's own script usually goes on by itself.
        evidence: who saw it, or where it was reported.
    """

    kind: Literal["sorry", "consent", "captcha", "anomaly", "enablejs"]
    address: str | None = None
    css: tuple[str, ...] = ()
    noscript: str | None = None
    unless_area: bool = False
    conclusive: bool = True
    evidence: str = ""


@dataclass(frozen=True)
class Engine:
    """One engine.

    Attributes:
        name: as callers write it.
        label: as people read it.
        hosts: where its results pages live; the first is the one searched.
        own: regular expression for all such hosts, country domains among them.
        page_size: rows on one page of results, mostly.
        max_pages: pages of results that have an address; ``None`` where all have.
        address: builds the URL; called through :meth:`search_url`.
        hooks: places on the page.
        links: link forms of the own hosts.
        never: regular expressions on host and path of links that are never a result.
        refusals: what refusing pages look like, in order of judgement.
        recencies: the time ranges the engine can be asked for.
        layouts: where only another layout of the page can hold an AI answer: the name of the one without, and of that
            one; empty where there is one layout.
        answer: its AI answer; ``None`` where it has none.
        specimen: the least of a page that lists a result, as this engine marks it up. The reader rehearses on it while
            the real page is on its way.
        private: where its pages tell of a person.
    """

    name: str
    label: str
    hosts: tuple[str, ...]
    own: str
    page_size: int
    address: Callable[[Query], str]
    hooks: tuple[Hook, ...]
    links: tuple[LinkForm, ...] = ()
    never: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    recencies: frozenset[str] = field(default_factory=lambda: frozenset(RECENCIES))
    max_pages: int | None = None
    layouts: tuple[str, ...] = ()
    answer: AnswerForm | None = None
    specimen: str = ""
    private: Private = Private()

    def search_url(
        self,
        query: str,
        *,
        start: int = 0,
        recency: str | None = None,
        hl: str = "en",
        gl: str | None = None,
        ai_answer: bool = False,
    ) -> str:
        """The address of a page of results.

        Args:
            query: as typed into a search box.
            start: rows to skip.
            recency: ``day``, ``week``, ``month`` or ``year``; None for no limit.
            hl: language of the page.
            gl: country of the results, two letters.
            ai_answer: ask for the layout that can hold an AI answer.

        Raises:
            EngineError: a time range this engine has not got, or a page that has no address.
        """
        if recency is not None and recency not in self.recencies:
            known = ", ".join(r for r in RECENCIES if r in self.recencies) or "none at all"
            raise EngineError(f"{self.label} has no time range {recency!r}; it has {known}")
        if self.max_pages is not None and start >= self.max_pages * self.page_size:
            first = "the first" if self.max_pages == 1 else f"the first {self.max_pages}"
            raise EngineError(f"{self.label}'s further pages have no address: there are only the rows of {first}")
        return self.address(Query(query, start=start, recency=recency, hl=hl, gl=gl, ai_answer=ai_answer))

    def css(self, part: Part) -> list[str]:
        """The selectors for a part, most trusted first in the order of the file."""
        return [hook.css for hook in self.hooks if hook.part == part]

    def spec(self) -> dict[str, Any]:
        """Everything the page scripts need, as plain JSON data."""
        return {
            "engine": self.name,
            "specimen": self.specimen,
            "parts": {part: self.css(part) for part in get_args(Part)},
            "links": {
                "own": self.own,
                "forms": [
                    {"form": f.form, "path": f.path, "params": list(f.params), "decode": f.decode, "prefix": f.prefix}
                    for f in self.links
                ],
                "never": list(self.never),
            },
            "refusals": [
                {
                    "kind": r.kind,
                    "address": r.address,
                    "css": list(r.css),
                    "noscript": r.noscript,
                    "unless_area": r.unless_area,
                    "conclusive": r.conclusive,
                }
                for r in self.refusals
            ],
            "answer": self.answer and self._answer_spec(self.answer),
        }

    def _answer_spec(self, form: AnswerForm) -> dict[str, Any]:
        markers = [hook for hook in self.hooks if hook.part == "answer_marker"]
        return {
            "label": form.label,
            "language": list(form.language),
            "formula": form.formula,
            "never": list(form.never),
            "one_place": form.one_place,
            "trusted": [hook.css for hook in self.hooks if (hook.part, hook.trust) == ("answer_wrapper", "high")],
            "markers": [{"name": m.name, "css": m.css, "settles": m.trust == "high"} for m in markers],
        }


@dataclass(frozen=True)
class Query:
    """What is asked of an engine; see :meth:`Engine.search_url`."""

    text: str
    start: int
    recency: str | None
    hl: str
    gl: str | None
    ai_answer: bool
