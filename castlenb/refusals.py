"""What a search raises that brings no results: an error for each state of a page, and one for a page not sent for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from .asked import Asked
from .blocks import EMPTY, Block
from .browser import Browser
from .engines import engine as engine_named
from .errors import (
    Misuse,
    NeedsPerson,
    NoResultsError,
    SearchChallengeError,
    SearchError,
    SuspectedBlockError,
    UnparseableError,
)

if TYPE_CHECKING:
    from .serp import SearchPage


def raise_for_state(page: SearchPage, sent_to: str, block: Block | None = None) -> None:
    """Raises the error that stands for the page's state; returns where there are results.

    Args:
        sent_to: the address that the tab was sent to, which is not always that at which it ended.
        block: the cool-down that the page has started, if any.
    """
    where = (page.engine, page.query, page.url, page.browser)
    person: dict[str, Any] = {
        "human_url": _human_url(page, sent_to),
        "retry_at": block and block.retry_at,
        "page": page,
    }
    match page.page_state:
        case "results":
            return
        case "challenge":
            raise SearchChallengeError(str(page.challenge_kind), *where, **person)
        case "no_results":
            raise NoResultsError(*where, page=page)
        case "unparseable":
            raise UnparseableError(*where, page=page)
        case "suspected_block":
            raise SuspectedBlockError(*where, **person)
        case other:
            raise SearchError(*where, page=page) from Misuse(f"a reader returned the page state {other!r}")


def not_sent(block: Block, asked: Asked, house: Browser) -> NeedsPerson:
    """The error for a search that was not sent at all, because of a cool-down."""
    url = asked.url(0)
    where = (asked.engine.name, asked.query, url, house.address)
    when: dict[str, Any] = {"human_url": url, "retry_at": block.retry_at, "refused_at": block.since}
    if block.kind == EMPTY:
        return SuspectedBlockError(*where, **when)
    return SearchChallengeError(block.kind, *where, **when)


def _human_url(page: SearchPage, sent_to: str) -> str:
    """What a person has to open: the results page that the refusal's address names, else the one that was asked for.

    The refusal's own address can be a dead end, as DuckDuckGo's is.
    """
    target = parse_qs(urlsplit(page.url).query).get("continue", [""])[0]
    return target if urlsplit(target).hostname in engine_named(page.engine).hosts else sent_to
