"""What an engine is: data first, and one function for its address.

An engine file says where things are on its pages (:class:`Hook`), how its links lead out (:class:`LinkForm`) and what a
refusal looks like (:class:`Refusal`). The scripts in ``castlenb.page`` know no engine: they get :meth:`Engine.spec` as
JSON, so what is checked by ``verify`` is what a search uses.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..errors import CastleError
from .hooks import EVERY_PAGE, ONCE, PLACES, Hook, Kind, Part, Place, Trust

__all__ = [
    "EVERY_PAGE",
    "ONCE",
    "PLACES",
    "RECENCIES",
    "AnswerForm",
    "Engine",
    "EngineError",
    "Hook",
    "Kind",
    "LinkForm",
    "Part",
    "Place",
    "Query",
    "Refusal",
    "Trust",
]

RECENCIES = ("day", "week", "month", "year")
"""The time ranges a search can be given. Not every engine has all of them."""


BY_HAND = "set by hand"
"""``Hook.evidence`` of a selector that somebody put in the place of another."""


class EngineError(CastleError, ValueError):
    """The engine is not known, or it can not do what was asked of it."""


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
        addresses: attributes that hold the address of a source, in order of trust.
        marks: attributes that identify a mark of a source in its prose, in order of trust.
    """

    label: str
    language: tuple[str, ...] = ("lang",)
    formula: str | None = None
    never: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    one_place: bool = False
    addresses: tuple[str, ...] = ("href",)
    marks: tuple[str, ...] = ("id",)


@dataclass(frozen=True)
class Private:
    """Where an engine's pages tell of the person in front of them: it is taken out of captures.

    Attributes:
        account: selectors for who is signed in.
        location: selectors for where they are, and the footer that says how that is known.
        asked: query parameters and fields that are part of the question; all others of its own links are emptied.
        plain: attributes of its own that are the same for everybody, beside HTML's.
    """

    account: tuple[str, ...] = ()
    location: tuple[str, ...] = ()
    asked: tuple[str, ...] = ("q",)
    plain: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As ``page/redact.js`` takes it."""
        places = [("account", css) for css in self.account] + [("location", css) for css in self.location]
        people = [{"what": what, "css": css} for what, css in places]
        return {"people": people, "asked": list(self.asked), "plain": list(self.plain)}


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
        held: first and last month in which it was seen to hold, ``YYYY-MM``.
    """

    kind: Literal["sorry", "consent", "captcha", "anomaly", "enablejs"]
    address: str | None = None
    css: tuple[str, ...] = ()
    noscript: str | None = None
    unless_area: bool = False
    conclusive: bool = True
    evidence: str = ""
    held: tuple[str, str] = ("", "")

    def signs(self) -> list[tuple[str, Kind]]:
        """What tells it, each with its kind; not what an ordinary page has as well."""
        address: list[tuple[str, Kind]] = [(self.address, "address")] if self.address else []
        return [*address, *((css, kind_of(css)) for css in self.css)]


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
        layouts: names of its layouts, each with a regular expression on the page's address; the first that matches is
            the page's. Empty where there is one layout.
        answer: its AI answer; ``None`` where it has none.
        specimen: the least of a page that lists a result under an AI answer, as this engine marks it up. The reader
            rehearses on it while the real page is on its way.
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
    layouts: tuple[tuple[str, str], ...] = ()
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

    def layout(self, url: str) -> str:
        """Which of its layouts the page at that address has; empty where it has but one."""
        return next((name for name, pattern in self.layouts if re.search(pattern, url)), "")

    def checked(self) -> tuple[Hook, ...]:
        """All that it relies on, as ``verify`` checks it: its hooks, what tells its refusals, its answer's requests."""
        refused = [
            Hook("refusal", css, kind, "high", each.evidence, each.held, each.kind)
            for each in self.refusals
            for css, kind in each.signs()
        ]
        requests = self.answer.requests if self.answer else ()
        asked = [
            Hook("request", pattern, "address", "medium", "saved pages, blockers' lists", ("2025-02", "2026-08"))
            for pattern in requests
        ]
        return (*self.hooks, *refused, *asked)

    def replace(self, part: Part, *hooks: Hook | str, instead_of: str | None = None) -> Engine:
        """The same engine with other hooks for a part. Neither this engine nor what is searched with is changed: see
        :func:`castlenb.engines.use`.

        Args:
            part: what they find.
            hooks: in order of trust; of a selector alone, what it stands in place of says the rest.
            instead_of: the selector in whose place they come; ``None`` for all of the part's.

        Raises:
            EngineError: there is no such part, or none of its hooks has that selector.
        """
        if part not in get_args(Part):
            raise EngineError(f"a page has no part {part!r}; its parts are {', '.join(get_args(Part))}")
        old = [hook for hook in self.hooks if hook.part == part and instead_of in (None, hook.css)]
        if instead_of is not None and not old:
            known = ", ".join(self.css(part)) or "none"
            raise EngineError(f"{self.label} has no hook {instead_of!r} for {part!r}; it has {known}")
        model = old[0] if old else Hook(part, "", "structure", "high", "", ("", ""))
        new = [each if isinstance(each, Hook) else _by_hand(each, model) for each in hooks]
        at = self.hooks.index(old[0]) if old else len(self.hooks)
        kept = [[hook for hook in side if hook not in old] for side in (self.hooks[:at], self.hooks[at:])]
        return dataclasses.replace(self, hooks=(*kept[0], *new, *kept[1]))

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
            "expected": [
                {"part": hook.part, "css": hook.css, "when": hook.when, "most": hook.most}
                for hook in self.hooks
                if hook.expected[0]
            ],
        }

    def _answer_spec(self, form: AnswerForm) -> dict[str, Any]:
        markers = [hook for hook in self.hooks if hook.part == "answer_marker"]
        return {
            "label": form.label,
            "language": list(form.language),
            "formula": form.formula,
            "never": list(form.never),
            "one_place": form.one_place,
            "addresses": list(form.addresses),
            "marks": list(form.marks),
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


def kind_of(css: str) -> Kind:
    """What a selector holds on to: the most durable kind that is in it."""
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "_", css)
    for kind, pattern in _KINDS:
        if re.search(pattern, bare):
            return kind
    return "structure"


_KINDS: tuple[tuple[Kind, str], ...] = (
    ("id", r"#[\w-]"),
    ("aria", r"\[(?:role|aria-[\w-]+)\b"),
    ("attribute", r"\["),
    ("class", r"\.[A-Za-z_-]"),
)


def _by_hand(css: str, model: Hook) -> Hook:
    return dataclasses.replace(model, css=css, kind=kind_of(css), evidence=BY_HAND, held=("", ""))
