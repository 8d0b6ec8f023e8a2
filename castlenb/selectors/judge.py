"""From what a hook found on a page to a verdict on the hook."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..engines import Engine
from ..engines.base import PLACES, Hook, Place

Verdict = Literal["ok", "missing", "ambiguous", "misplaced", "disagrees", "not_judgeable", "blocked"]

DRIFTED: tuple[Verdict, ...] = ("missing", "ambiguous", "misplaced", "disagrees")
"""Verdicts by which a hook does not do what a search relies on it for."""

_OF_RESULTS = frozenset({"scope", "area", "row", "heading", "mark", "snippet", "date", "cite"})
_OF_PROSE = frozenset({"answer_body", "answer_header", "answer_card", "answer_chip", "answer_titles", "answer_marker"})
_WEIGHT = {"high": 3, "medium": 2, "low": 1}


@dataclass(frozen=True)
class Page:
    """What a page is, as far as verdicts depend on it.

    Attributes:
        page_state: as the reader has it.
        answer_state: of the AI answer.
        requests: paths that the page asked for its answer at; ``None`` where nobody followed them.
    """

    page_state: str
    answer_state: str
    requests: Sequence[str] | None = None

    @property
    def blocked(self) -> bool:
        """Whether the engine gave no page to judge anything by."""
        return self.page_state in ("challenge", "suspected_block")

    def shows(self, hook: Hook) -> bool:
        """Whether the hook's part can be judged by this page: there is nothing of an answer where none is."""
        if hook.part in _OF_RESULTS:
            return self.page_state in ("results", "unparseable")
        if hook.part == "answer_marker":
            return self.answer_state == "settled"
        if hook.part in _OF_PROSE:
            return self.answer_state in ("settled", "growing")
        if hook.in_answer or hook.part == "answer_wrapper":
            return self.answer_state not in ("absent", "unsupported", "offered")
        return True

    def expects(self, hook: Hook) -> bool:
        """Whether the hook's absence on this page says something, as far as the page's state tells."""
        if hook.part.startswith("answer_"):
            return self.answer_state in ("settled", "growing")
        return self.page_state in ("results", "unparseable")


def place_of(hook: Hook, engine: Engine) -> Place:
    """Where what it finds has to be."""
    place = PLACES.get(hook.part, Place())
    if hook.part == "answer_wrapper" and engine.answer and engine.answer.one_place:
        return Place(**{**asdict(place), "together": True})
    return place


def asked_of(hook: Hook, engine: Engine) -> dict[str, Any]:
    """The hook as ``page/check.js`` takes it."""
    return {
        "part": hook.part,
        "css": hook.css,
        "kind": hook.kind,
        "in_answer": hook.in_answer,
        "when": hook.when,
        "place": asdict(place_of(hook, engine)),
    }


def verdict_on(hook: Hook, found: Mapping[str, Any], page: Page, engine: Engine) -> tuple[Verdict, str]:
    """The verdict, and in words what it rests on.

    Args:
        found: what ``page/check.js`` says of the hook.
    """
    if hook.part == "refusal":
        return ("ok", "tells the refusal") if found["found"] else ("not_judgeable", "the page refuses nothing by it")
    if page.blocked:
        return "blocked", f"the page shows no results ({page.page_state})"
    if hook.part == "request":
        return _on_request(hook, page, engine)
    if not page.shows(hook):
        return "not_judgeable", _nothing_to_judge_by(hook, page)
    place = place_of(hook, engine)
    if not found["found"]:
        if hook.expected[0] and found["asked"] and page.expects(hook):
            return "missing", "nothing of it is on the page"
        return "not_judgeable", "it is not on every page, nor on this one"
    if not found["placed"]:
        if not place.all and not hook.expected[0]:
            return "not_judgeable", f"all of it belongs to something else: {_where(found, place)}"
        return "misplaced", _where(found, place)
    if hook.most is not None and found["found"] > hook.most:
        return "ambiguous", f"{found['found']} of them, and not {hook.most}"
    if place.all and found["placed"] < found["found"]:
        return "misplaced", _where(found, place)
    if place.together and found["apart"] and _outweighed(hook, found, engine):
        return "disagrees", f"marks another place than {', '.join(found['apart'])}"
    return "ok", ""


def _on_request(hook: Hook, page: Page, engine: Engine) -> tuple[Verdict, str]:
    if page.requests is None:
        return "not_judgeable", "nobody followed the page's requests"
    if any(re.search(hook.css, host + path) for host in engine.hosts for path in page.requests):
        return "ok", ""
    return "not_judgeable", "the page asked for no answer there"


def _nothing_to_judge_by(hook: Hook, page: Page) -> str:
    if hook.part in _OF_RESULTS:
        return f"the page lists nothing ({page.page_state})"
    return f"there is no answer to judge it by ({page.answer_state})"


def _where(found: Mapping[str, Any], place: Place) -> str:
    words = {
        "inside": f"not in {' or '.join(place.inside)}",
        "outside": f"in {' or '.join(place.outside)}",
        "holds": f"holds no {' or '.join(place.holds)}",
        "holds_no": f"holds the {' or '.join(place.holds_no)}",
    }
    out = found["found"] - found["placed"]
    return f"{words.get(found['why'], 'not where it belongs')} ({out} of {found['found']})"


def _outweighed(hook: Hook, found: Mapping[str, Any], engine: Engine) -> bool:
    """Whether those that mark another place weigh as much as it does with those that mark the same."""
    weights = {each.css: _WEIGHT[each.trust] for each in engine.hooks if each.part == hook.part}
    own = _WEIGHT[hook.trust] + sum(weights.get(css, 0) for css in found["agrees"])
    return sum(weights.get(css, 0) for css in found["apart"]) >= own
