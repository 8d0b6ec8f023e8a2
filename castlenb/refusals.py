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
    from .manners import Turn
    from .results import SearchPage
    from .snapshot import Capture


def raise_for_state(page: SearchPage, sent_to: str, block: Block | None = None, capture: Capture | None = None) -> None:
    """Raises the error that stands for the page's state; returns where there are results.

    Args:
        sent_to: the address that the tab was sent to, which is not always that at which it ended.
        block: the cool-down that the page has started, if any.
        capture: the page itself, where it was kept.
    """
    where = (page.engine, page.query, page.url, page.browser)
    person: dict[str, Any] = {
        "human_url": _human_url(page, sent_to),
        "retry_at": block and block.retry_at,
        "page": page,
        "capture": capture,
    }
    match page.page_state:
        case "results":
            return
        case "challenge":
            raise SearchChallengeError(str(page.challenge_kind), *where, **person)
        case "no_results":
            raise NoResultsError(*where, page=page, capture=capture)
        case "unparseable":
            raise UnparseableError(*where, page=page, capture=capture)
        case "suspected_block":
            raise SuspectedBlockError(*where, **person)
        case other:
            raise SearchError(*where, page=page, capture=capture) from Misuse(
                f"a reader returned the page state {other!r}"
            )


def check_refused(asked: Asked, house: Browser, turn: Turn) -> None:
    """Raises the error that stands for a cool-down, where the engine is in one and the turn does not lead there."""
    if refused := turn.refused.get(asked.engine.name):
        raise not_sent(refused, asked, house)


async def judge(page: SearchPage, sent_to: str, house: Browser, turn: Turn, capture: Capture | None) -> None:
    """Remembers how a page came, and raises the error that stands for its state; returns where there are results.

    Args:
        sent_to: the address that the tab was sent to, which is not always that at which it ended.
        turn: in which it was asked for.
        capture: the page itself, where it was kept.
    """
    block = await house.came(turn, page.engine, page.query, page.page_state, page.challenge_kind)
    raise_for_state(page, sent_to, block, capture)


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
