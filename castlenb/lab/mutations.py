"""What engines do to their pages from one month to the next, done to the lab's.

Each is a scenario of one engine: all its mark-up at once, an answer that is whole in it, and one thing changed. What
each breaks is said in the engine's own selectors, so that a check can be held against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from .repertoire import INSTANT
from .scenario import Scenario

Alter = Callable[[str], str]


def unchanged(text: str) -> str:
    """The page as it is, but for Google's sign that the answer is whole, so that nobody has to wait for quiet."""
    return text.replace('data-subtree="mfc"', 'data-subtree="mfc" data-complete="true"')


still = replace(INSTANT, name="still", about="A page that is whole at once.", alter=unchanged)
"""What the mutations change."""


@dataclass(frozen=True)
class Mutation:
    """One change of an engine's pages.

    Attributes:
        name: what it is called.
        engine: whose pages it changes.
        about: what it does, in a sentence.
        alter: does it to the page's mark-up.
        breaks: the selectors that no longer do what they are relied on for, with the verdict on each.
        repair: whether a search is worse off for it until a selector is replaced; else others stand in, or nothing is
            broken.
    """

    name: str
    engine: str
    about: str
    alter: Alter
    breaks: tuple[tuple[str, str], ...] = ()
    repair: bool = False

    @property
    def scenario(self) -> Scenario:
        """A page with it, for :meth:`.FakeWeb.play`."""
        return replace(still, name=f"{self.engine}: {self.name}", about=self.about, alter=self._altered)

    def _altered(self, text: str) -> str:
        return self.alter(unchanged(text))


def _swapped(*pairs: tuple[str, str]) -> Alter:
    """Each text replaced, wherever it stands."""

    def alter(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return alter


def _moved(start: str, end: str, before: str) -> Alter:
    """What stands from ``start`` up to ``end``, where there is any, is put where the first ``before`` follows it."""

    def alter(text: str) -> str:
        first = text.find(start)
        if first < 0:
            return text
        last = text.index(end, first)
        at = text.index(before, last)
        return text[:first] + text[last:at] + text[first:last] + text[at:]

    return alter


def _classes_renamed(text: str) -> str:
    return re.sub(
        r'(?<= class=")[^"]*(?=")', lambda found: " ".join(f"x{name[::-1]}" for name in found[0].split()), text
    )


_TWICE = ('<div class="dU" id="rso">', '<div><div class="new"><div class="dU" id="rso">')

MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "wrapper's id renamed",
        "google",
        "The answer's wrapper has another id.",
        _swapped(('id="eKIzJc"', 'id="fLJaKd"')),
        (("#eKIzJc", "missing"),),
        True,
    ),
    Mutation(
        "results' id renamed",
        "google",
        "The list of results has another id.",
        _swapped(('id="rso"', 'id="tqm"')),
        (("#rso", "missing"),),
        True,
    ),
    Mutation(
        "id reused",
        "google",
        "The list's id is that of the side column now, and the list has another.",
        _swapped(('id="rso"', 'id="tqm"'), ('<div id="rhs"', '<div data-col="rhs" id="rso"')),
        (("#rso", "misplaced"), ("#rso", "missing")),
        True,
    ),
    Mutation(
        "id twice",
        "google",
        "The results' id is that of a block of related searches as well.",
        _swapped(('<div id="bres">', '<div id="search">')),
        (("#search", "ambiguous"),),
    ),
    Mutation(
        "wrapper among the results",
        "google",
        "The answer stands among the results.",
        _moved(
            '<div jsname="ZLxsqf"', '</div></div>\n<div class="s6J"', '<div class="mj"><div class="kb9" data-rpos="3"'
        ),
    ),
    Mutation(
        "attribute dropped",
        "google",
        "Snippets and headers are no longer marked.",
        lambda text: re.sub(r' data-sn(?:hf|cf)="[^"]*"', "", text),
        (("[data-snhf]", "missing"),),
        True,
    ),
    Mutation(
        "second match",
        "google",
        "A block under the results has the answer's own id for its text.",
        _swapped(('<div id="botstuff">', '<div id="botstuff"><div id="m-x-content"><p>More to see here.</p></div>')),
        (("#m-x-content", "ambiguous"),),
    ),
    Mutation(
        "header in another language",
        "google",
        "The answer's heading is in German.",
        _swapped(("AI Overview", "Übersicht mit KI")),
    ),
    Mutation("all classes renamed", "google", "Every class name is another one.", _classes_renamed),
    Mutation(
        "container nested twice",
        "google",
        "Two boxes more lie around the list of results.",
        _swapped(_TWICE, ('<div id="botstuff">', '</div></div><div id="botstuff">')),
    ),
    Mutation(
        "citation labels changed",
        "google",
        "Labels of sources end in other words.",
        _swapped((". Opens in new tab.", " (öffnet ein neues Fenster)"), ("View related links", "Links ansehen")),
    ),
    Mutation(
        "cards renamed",
        "google",
        "Sources are no longer marked.",
        _swapped(("data-src-id=", "data-ref=")),
        (("[data-src-id]", "missing"),),
        True,
    ),
    Mutation(
        "headings renamed",
        "google",
        "Titles are no headings any more.",
        lambda text: re.sub(r"<(/?)h3\b", r"<\1strong", text),
        (("h3", "missing"),),
        True,
    ),
    Mutation(
        "block moved",
        "brave",
        "The answer stands at the end of the results.",
        _moved('<div class="entity-infobox-wrapper', '<div id="search-ad"', '<div id="related-queries"'),
    ),
    Mutation(
        "marker on other questions",
        "bing",
        "What marks a generated answer marks an answer under People also ask as well.",
        _swapped(('<div class="b_hide"><p>', '<div class="gs_caphead_main b_hide"><p>')),
        (("#b_results > li.b_ans:has(.gs_caphead_main)", "ambiguous"),),
    ),
    Mutation(
        "rows renamed",
        "duckduckgo",
        "Titles of rows have another class.",
        _swapped(("result__a", "result__link")),
        (("a.result__a", "missing"),),
        True,
    ),
)
"""The changes, each with what it breaks and whether that needs a repair."""
