"""A hook: one place on an engine's pages, how much it is trusted, and where it may and may not be.

What a search reads and what ``verify`` checks are the same hooks: both get them from the engine's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
    # Not read for what they hold: they say what a page is, or what it asks for.
    "refusal",  # what a refusing page shows; see :class:`.base.Refusal`
    "request",  # the request that brings an answer after the document
]

Kind = Literal["id", "attribute", "aria", "structure", "class", "address"]
"""What a selector holds on to. ``class``: a name that says what it marks, never a generated one. ``address``: no
selector but a regular expression on host and path, of a request or of the page itself."""

Trust = Literal["high", "medium", "low"]

EVERY_PAGE = (1, None)
"""``Hook.expected`` of what is there wherever its part can be judged, any number of times."""

ONCE = (1, 1)
"""``Hook.expected`` of what is there once wherever its part can be judged."""


@dataclass(frozen=True)
class Hook:
    """One place on the page, found by a CSS selector.

    Attributes:
        part: what it marks.
        css: the selector. Never a generated class name: those change from one load to the next. Of kind ``address`` a
            regular expression.
        kind: what the selector holds on to.
        trust: how much weight it bears when hooks disagree.
        evidence: who saw it, or where it was reported.
        held: first and last month in which it was seen to hold, ``YYYY-MM``.
        name: what a marker is called in timelines; empty for all other parts.
        expected: fewest and most it finds on a page on which its part can be judged; ``None`` for any number. With none
            at the least it is on some of such pages only, and its absence says nothing. Where its part belongs to an AI
            answer it counts in that answer's wrapper.
        when: a selector without which its absence says nothing: what marks the layout that it belongs to.
    """

    part: Part
    css: str
    kind: Kind
    trust: Trust
    evidence: str
    held: tuple[str, str]
    name: str = ""
    expected: tuple[int, int | None] = (0, None)
    when: str = ""

    @property
    def most(self) -> int | None:
        """How many it may find at the most: an id is there once."""
        if self.expected[1] is None and self.kind == "id" and re.fullmatch(r"#[\w-]+", self.css):
            return 1
        return self.expected[1]

    @property
    def in_answer(self) -> bool:
        """Whether it is looked for inside the wrapper of an AI answer."""
        return self.part.startswith("answer_") and self.part not in OF_THE_PAGE


OF_THE_PAGE = ("answer_wrapper", "answer_side", "answer_alike", "answer_offered")
"""Parts of an answer that are looked for on the whole page."""


@dataclass(frozen=True)
class Place:
    """Where what a part's hooks find has to be; each names parts.

    Attributes:
        inside: in something that these find, or it is that itself.
        outside: in nothing that these find.
        holds: something well placed that these find is in it.
        holds_no: nothing that these find is in it.
        all: so has to be everything that it finds; else it is enough that one is.
        together: on one page all that its hooks find is one place: each lies in another or holds it.
    """

    inside: tuple[Part, ...] = ()
    outside: tuple[Part, ...] = ()
    holds: tuple[Part, ...] = ()
    holds_no: tuple[Part, ...] = ()
    all: bool = True
    together: bool = False


_OF_A_ROW = Place(inside=("scope", "area", "row"), outside=("furniture", "answer"), all=False)

PLACES: Mapping[Part, Place] = {
    "scope": Place(holds=("heading",), all=False, together=True),
    "area": Place(holds=("heading",), all=False, together=True),
    "row": Place(inside=("area",), holds=("heading",), all=False),
    "heading": _OF_A_ROW,
    "mark": _OF_A_ROW,
    "snippet": _OF_A_ROW,
    "date": _OF_A_ROW,
    "cite": _OF_A_ROW,
    # What holds the results area is neither: the reader leaves it aside (field notes, 2026-08-04).
    "furniture": Place(holds_no=("area",)),
    "answer": Place(holds_no=("area",)),
    "nothing": Place(holds_no=("row",)),
    "answer_wrapper": Place(outside=("answer_alike", "row"), holds_no=("area",)),
    "answer_body": Place(holds_no=("area",), together=True),
}
"""Parts that are not here may be anywhere."""
