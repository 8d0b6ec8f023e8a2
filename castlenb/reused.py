"""Results pages that are taken from an earlier search on this machine, and those that are left for a later one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from . import kept
from .answer import AIAnswer
from .asked import Asked
from .browser import Browser
from .results import SearchPage

UNFINISHED = ("growing", "loading", "shell")
"""States of an answer that a later look may find whole: a page with such a one is not kept."""


def kept_page(asked: Asked, house: Browser) -> SearchPage | None:
    """The page of an earlier search of the same kind, where one is to be reused."""
    said = kept.find(asked, house.target.address)
    if said is None:
        return None
    try:
        answer = said["answer"] and AIAnswer(**_tuples(said["answer"]))
        fetched_at = datetime.fromisoformat(said["fetched_at"])
        return SearchPage(**_tuples({**said, "answer": answer, "fetched_at": fetched_at}), house=house, reused=True)
    except (KeyError, TypeError, ValueError) as damaged:
        kept.not_used(damaged)
        return None


def keep_page(asked: Asked, house: Browser, page: SearchPage) -> None:
    """Leaves the page for a later search of the same kind, where that was asked for and the page is whole."""
    if page.answer is None or page.answer.state not in UNFINISHED:
        kept.keep(asked, house.target.address, _plain(page))


def _plain(page: SearchPage) -> dict[str, Any]:
    """The page as JSON takes it."""
    told = {
        each.name: getattr(page, each.name) for each in fields(page) if each.name not in ("house", "reused", "capture")
    }
    answer = page.answer and {each.name: getattr(page.answer, each.name) for each in fields(page.answer)}
    return {**told, "answer": answer, "fetched_at": page.fetched_at and page.fetched_at.isoformat()}


def _tuples(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
