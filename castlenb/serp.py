"""From a query to a SearchPage: the pages to visit, and what becomes of what was read on them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from . import kept
from .asked import Asked
from .beside import Progress
from .browser import Browser, BrowserLike, browser_for
from .dates import plainly_older
from .engines import engine as engine_named
from .errors import ConnectionLost, EndpointError, SearchTimeout
from .manners import Turn
from .pacing import PaceLike
from .refusals import check_refused, judge
from .results import SearchPage, page_from
from .reused import keep_page, kept_page
from .snapshot import Drift
from .taking import take_aside
from .visit import Errand, Visit, open_visitor

log = logging.getLogger("castlenb")

BACK_S = 5.0
"""How long a search waits for a Chrome that went away under it to be back, within its deadline."""


async def search(
    query: str,
    *,
    engine: str = "google",
    num_results: int = 10,
    recency: str | None = None,
    hl: str = "en",
    gl: str | None = None,
    ai_answer: bool = False,
    budget_s: float = 6.0,
    early_stop: bool = True,
    network: bool = False,
    visibility: str = "emulated",
    deadline_s: float = 20.0,
    pace: PaceLike = None,
    even_if_blocked: bool = False,
    reuse: kept.Age = None,
    keep: bool = False,
    browser: BrowserLike = None,
    progress: Progress | None = None,
) -> SearchPage:
    """Searches through a Chrome that is already running and returns the ranked results.

    Opens one background tab, reads the results page, closes the tab. A page more is read, in the same tab, for every
    ten results beyond the first ten; fewer results than asked for are returned where the pages hold fewer. Where it is
    the engine that gives no more, a warning says so.

    Args:
        query: as typed into a search box.
        engine: which engine.
        num_results: how many results at most, 1 to 20.
        recency: ``"day"``, ``"week"``, ``"month"`` or ``"year"``; ``None`` for any time. Where the dates of the results
            say that it was not applied, so does a warning.
        hl: language of the page, as the engine spells it.
        gl: country of the results, as the engine spells it; ``None`` leaves it to the engine.
        ai_answer: wait for the engine's AI answer as well. Google is then asked for its classic layout, the one that
            can hold an answer, which puts its furniture back among the results.
        budget_s: seconds to wait for the answer once the results are complete, within the deadline. One that is still
            growing then is returned as it is, its state ``growing``, and a warning says that it is cut.
        early_stop: stop waiting when the page says that there will be no answer.
        network: follow the answer's own request through the browser's network events as well, so that its waiting
            splits into page, server and stream.
        visibility: ``"emulated"`` keeps the page's timers running by focus emulation; ``"hidden"`` does not.
        deadline_s: seconds for connecting, opening and reading together; waiting in line lies outside.
        pace: how fast the engine may be asked, counted over all kernels and scripts of this machine: ``(pages,
            seconds)``, several such pairs, or ``"off"``, which a warning then tells; ``None`` for
            :data:`castlenb.pacing.PACE`. A wait is said, and is in ``queued_ms``. The lab is asked without one.
        even_if_blocked: search although the engine has asked for a person lately, or seems to have closed its door.
        reuse: take a page of the same search that is younger than this (``"1d"``, ``"12h"``, a timedelta) from this
            machine, and keep the one that is fetched otherwise; ``None`` for what :func:`castlenb.reuse` said.
        keep: take the (first) page itself as well, redacted as :func:`castlenb.capture` does it, as ``page.capture``.
            It is looked through on a blank tab of its own, within the deadline, which can add 3 s at most.
        browser: a Browser, or what names a Chrome (see :func:`castlenb.connect`); ``None`` for the configured one.
        progress: called about once a second while the page is waited for, on castlenb's own thread: with ``"results"``
            and how many there are, then with the answer's state and the length of its prose. It has to return at once.

    Returns:
        The page with at least one result.

    Raises:
        SearchChallengeError: the engine wants a person; ``human_url`` says what to open. Until ``retry_at`` it is
            raised without a tab being opened, see :mod:`castlenb.blocks`; ``Browser.cleared`` ends that.
        SuspectedBlockError: an empty page that nothing explains; the same after two of them.
        NoResultsError: the engine says that nothing matches.
        UnparseableError: a results area that yields nothing; the engine changed its page.
        SearchTimeout: the deadline passed; ``page`` holds what had come by then, if anything.
        NavigationFailed: the engine's page could not be opened.
        EndpointError, TargetError: the Chrome can not be had.
        TabClosed, TabCrashed, ConnectionLost: it went away meanwhile. A search whose Chrome went away before any result
            was read is tried once more, where the Chrome is back within 5 s.
        ValueError: an argument is out of its range.
    """
    asked = Asked(
        query,
        engine_named(engine),
        num_results=num_results,
        recency=recency,
        hl=hl,
        gl=gl,
        ai_answer=ai_answer,
        budget_s=budget_s,
        early_stop=early_stop,
        network=network,
        visibility=visibility,
        deadline_s=deadline_s,
        pace=pace,
        even_if_blocked=even_if_blocked,
        reuse=reuse,
        keep=keep,
    )
    house = browser_for(browser)
    if (known := kept_page(asked, house)) is not None:
        return known
    called = time.perf_counter()
    pages = {asked.engine.name: asked.pages}
    async with house.turn(pages, pace=pace, even_if_blocked=even_if_blocked) as turn:
        return await searched(asked, house, turn, called=called, progress=progress)


async def searched(
    asked: Asked, house: Browser, turn: Turn, *, called: float, progress: Progress | None = None
) -> SearchPage:
    """One search in a turn that the caller holds; ``called`` is when the caller was (``time.perf_counter``)."""
    check_refused(asked, house, turn)
    visits = await _visited(Errand(asked.engine, asked.query, house, progress), asked)
    page = _page_asked_for(visits, asked, house)
    capture = next((visit.capture for visit in visits if visit.capture is not None), None)
    for warning in (*page.warnings, *(page.answer.warnings if page.answer else ())):
        if isinstance(warning, Drift):
            warning.capture = capture
    total_ms = (time.perf_counter() - called) * 1000
    page = replace(
        page,
        timings={**page.timings, "queued_ms": round(turn.queued_ms, 1), "call_total_ms": round(total_ms, 1)},
        warnings=(*page.warnings, *turn.warnings),
        capture=capture if asked.keep else None,
    )
    await judge(page, visits[0].url, house, turn, capture)
    keep_page(asked, house, page)
    return page


async def _visited(errand: Errand, asked: Asked) -> list[Visit]:
    """The search's pages, one visit each. Tried once more where the Chrome went away before anything was read."""
    house = errand.browser
    clock = asyncio.get_running_loop().time
    end = clock() + asked.deadline_s
    visits: list[Visit] = []
    try:
        return await _visits(errand, asked, visits, asked.deadline_s)
    except ConnectionLost as lost:
        if visits or not await _is_back(house, min(end - clock(), BACK_S)):
            raise
        log.info("%s: %s; the search is tried once more", house.address, lost)
    await house.asked_again(asked.engine.name)
    return await _visits(errand, asked, visits, max(0.0, end - clock()))


async def _is_back(house: Browser, within_s: float) -> bool:
    """Whether a Chrome that went away can be connected to again: whoever recycles it has to start it first."""
    try:
        async with asyncio.timeout(within_s):
            while True:
                with contextlib.suppress(EndpointError):
                    await house.open()
                    return True
                await asyncio.sleep(0.1)
    except TimeoutError:
        return False


async def _visits(errand: Errand, asked: Asked, visits: list[Visit], deadline_s: float) -> list[Visit]:
    async with open_visitor(
        errand,
        visibility=asked.visibility,
        deadline_s=deadline_s,
        answers=asked.ai_answer,
        frames=asked.ai_answer and asked.keep,
        network=asked.network,
    ) as visitor:
        try:
            while asked.wanted(start := len(visits) * asked.engine.page_size):
                visits.append(await visitor.go(asked.url(start), asked.rule(start)))
                wanted = asked.keep and len(visits) == 1
                if (wanted or is_telling(visits[-1])) and not any(visit.capture for visit in visits):
                    visits[-1].capture = await take_aside(visitor, visits[-1], errand)
                if visits[-1].reading["page_state"] != "results":
                    break
        except SearchTimeout as late:
            if isinstance(late.page, Visit):
                visits.append(late.page)
            late.page = _page_asked_for(visits, asked, errand.browser) if visits else None
            raise
    return visits


def _page_asked_for(visits: Sequence[Visit], asked: Asked, house: Browser) -> SearchPage:
    """The visits of one search as a SearchPage, with what it was asked for and does not give among its warnings."""
    page = page_from(visits, asked.engine, asked.query, house, asked.num_results)
    if page.page_state != "results":
        return page
    more = _drifted(visits)
    full = len(visits[-1].reading["results"]) >= asked.engine.page_size
    if len(page) < asked.num_results and len(visits) == asked.engine.max_pages and full:
        more.append(
            f"{len(page)} of the {asked.num_results} results asked for: {asked.engine.label}'s further pages have no "
            "address to go to"
        )
    dates = [record["date"] for record in page.records if record["date"]]
    older = plainly_older(asked.recency, dates, visits[0].started_at) if asked.recency else 0
    # A few can be, where the limit was applied: a forum's row shows when its thread began.
    if older >= max(min(2, len(page)), len(dates) / 3):
        are = "is" if older == 1 else "are"
        more.append(
            f"{older} of {len(dates)} dated results {are} older than the {asked.recency} asked for: "
            f"{asked.engine.label} may not have applied the time limit"
        )
    return replace(page, warnings=(*page.warnings, *more))


def is_telling(visit: Visit) -> bool:
    """Whether somebody will want to look at the page itself: it refused, could not be read, or has drifted."""
    reading, answer = visit.reading, visit.answer
    refused = reading["page_state"] not in ("results", "no_results")
    drifted = reading["unsure"] or reading["drift"] or (answer and (answer["warnings"] or answer["drift"]))
    return refused or bool(drifted)


def _drifted(visits: Sequence[Visit]) -> list[str]:
    """What castlenb expects on each page, and has done without: it is not there, or not as it was."""
    lost: dict[tuple[str, str], None] = {}
    for found in [*(visit.reading for visit in visits), visits[0].answer or {"drift": []}]:
        lost.update(((part, css), None) for part, css in found["drift"])
    return [
        Drift(f"{part} {css} is not on the page as expected: the page has changed, and castlenb.verify() says how far")
        for part, css in lost
    ]
