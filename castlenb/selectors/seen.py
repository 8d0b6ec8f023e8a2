"""A page that was checked: what each hook found on it, and the verdict on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engines.base import Hook
from .judge import DRIFTED

COLUMNS = (
    "engine",
    "layout",
    "part",
    "hook",
    "kind",
    "trust",
    "found",
    "expected",
    "placement",
    "agrees_with",
    "sample",
    "verdict",
    "why",
    "page",
    "at",
)
"""Columns of ``Verification.checks``: ``found`` is Int64, the others are strings or missing."""


@dataclass(frozen=True)
class Check:
    """A hook on a page.

    Attributes:
        hook: the hook.
        found: what ``page/check.js`` says of it.
        verdict: see :data:`.judge.Verdict`.
        why: what the verdict rests on; empty where it is ``ok``.
        shown: whether the page has what the hook's part belongs to: results, an answer.
    """

    hook: Hook
    found: Mapping[str, Any]
    verdict: str
    why: str
    shown: bool

    @property
    def drifted(self) -> bool:
        """Whether it does not do what a search relies on it for."""
        return self.verdict in DRIFTED


@dataclass(frozen=True)
class Seen:
    """A page that was checked.

    Attributes:
        engine: the engine's name.
        layout: which of its layouts; empty where it has but one.
        name: what it is called: the query, or the file.
        url: its address.
        at: when it was fetched or saved, ISO 8601, as far as that is known.
        page_state, answer_state: what was on it.
        placement: of the AI answer: ``top``, ``inline``, ``side``, or ``None``.
        checks: one a hook, in the order of the engine's file.
        html: its mark-up, without what runs; for its picture.
    """

    engine: str
    layout: str
    name: str
    url: str
    at: str
    page_state: str
    answer_state: str
    placement: str | None
    checks: tuple[Check, ...]
    html: str | None = field(default=None, repr=False, compare=False)

    def rows(self) -> list[dict[str, Any]]:
        """Its checks with the columns :data:`COLUMNS`."""
        return [self._row(check) for check in self.checks]

    def _row(self, check: Check) -> dict[str, Any]:
        hook, found = check.hook, check.found
        where = found["where"] and f"in {found['where']}"
        if hook.part == "answer_wrapper" and found["placed"] and self.placement:
            where = self.placement
        return {
            "engine": self.engine,
            "layout": self.layout,
            "part": hook.part,
            "hook": hook.css,
            "kind": hook.kind,
            "trust": hook.trust,
            "found": found["found"],
            "expected": _expected(hook),
            "placement": where or None,
            "agrees_with": ", ".join(found["agrees"]) or None,
            "sample": found["sample"] or None,
            "verdict": check.verdict,
            "why": check.why or None,
            "page": self.name,
            "at": self.at,
        }


def _expected(hook: Hook) -> str:
    least, most = hook.expected[0], hook.most
    return f"{least} or more" if most is None else str(most) if least == most else f"{least} to {most}"
