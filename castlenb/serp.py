"""From a query to a SearchPage: the pages to visit, what was read on them, and what it means."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import bridge, display
from .answer import AIAnswer, answer_from, citation_ranks
from .asked import Asked
from .browser import Browser, BrowserLike, browser_for
from .dates import plainly_older
from .engines import Engine
from .engines import engine as engine_named
from .errors import ConnectionLost, EndpointError, SearchTimeout
from .links import locations, site_of
from .manners import Turn
from .pacing import PaceLike
from .refusals import not_sent, raise_for_state
from .visit import Errand, Visit, open_visitor

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger("castlenb")

BACK_S = 5.0
"""How long a search waits for a Chrome that went away under it to be back, within its deadline."""

COLUMNS = ("rank", "title", "url", "link", "link_form", "snippet", "site", "date", "fragment")
"""Columns of ``SearchPage.results``: ``rank`` is Int64, from 1; the others are strings or missing."""


@dataclass(frozen=True)
class SearchPage:
    """What one search found.

    Attributes:
        engine: the engine's name, such as ``"google"``.
        query: what was searched for; for a saved page, what the page says it was, else empty.
        url: the final address of the (first) results page.
        page_state: ``results``, ``no_results``, ``unparseable``, ``challenge``, ``suspected_block``. A search that
            returns has ``results``; the other states are raised, and carry the page as ``error.page``.
        challenge_kind: of a ``challenge``: ``sorry``, ``consent``, ``captcha``, ``anomaly``, ``enablejs``.
        answer: the engine's AI answer; ``None`` where it was not asked for. Never one of the results.
        records: the results as plain dicts with the keys :data:`COLUMNS`.
        timings: milliseconds. On the page clock, from the start of the first page's navigation: ``parse_ready_ms``
            (first instant at which a result could be read), ``results_complete_ms``, ``response_end_ms``,
            ``parsed_ms``, ``loaded_ms``, and where an AI answer was asked for its own (see :class:`AIAnswer`). On the
            client clock: ``queued_ms`` (waiting for a place and for the pace) and ``call_total_ms`` (the whole call).
            ``None`` where it was not observed; empty for a saved page.
        warnings: what a careful reader would want to know: a dialog over the results, a time limit that their dates
            contradict, a page that repeats an earlier one, further pages that can not be had.
        documents: documents that the first page's address led through (2 or more: a redirect by script, a reload).
        status: HTTP status of the first page's document, where Chrome tells.
        visibility: ``emulated`` or ``hidden``: how the tab was kept.
        fetched_at: when the tab was sent off (client clock, UTC); ``None`` for a saved page.
        browser: the Chrome that was used, its address redacted.
        house: the Browser itself.
    """

    engine: str
    query: str
    url: str
    page_state: str
    challenge_kind: str | None
    answer: AIAnswer | None
    records: tuple[Mapping[str, Any], ...]
    timings: Mapping[str, float | None]
    warnings: tuple[str, ...]
    documents: int
    status: int | None
    visibility: str
    fetched_at: datetime | None
    browser: str
    house: Browser | None = field(default=None, repr=False, compare=False)

    @cached_property
    def results(self) -> pd.DataFrame:
        """The ranked results, one row each, with the columns :data:`COLUMNS`, in the engine's order.

        ``url`` is the target, missing where the engine hides it; ``link`` the address as served; ``link_form`` one of
        ``direct``, ``redirect`` (unwrapped), ``encrypted`` (the target can not be told from the link) and ``resolved``
        (asked of the engine); ``site`` the host of the target without ``www.``, or what the page shows in its place;
        ``date`` as the page shows it; ``fragment`` the text fragment that was stripped from ``url``.
        """
        import pandas as pd  # 0.4 s, and a search can be read without it

        table = pd.DataFrame([dict(record) for record in self.records], columns=list(COLUMNS))
        return table.astype({name: "Int64" if name == "rank" else "string" for name in COLUMNS})

    def citation_ranks(self) -> pd.DataFrame:
        """Which of the answer's sources are among the results, one row a citation, in the answer's order.

        Columns: ``n``, ``title``, ``url``, ``site`` as in ``AIAnswer.citations``; ``page_rank``: the rank of the result
        that is the same page; ``site_rank``: the best rank of one on the same site; both Int64, missing where there is
        none. Empty without an answer.
        """
        return citation_ranks(self.answer.records if self.answer else (), self.records)

    def resolve_links(self, ranks: Iterable[int] | None = None, *, browser: BrowserLike = None) -> SearchPage:
        """The same page with the targets of encrypted links, asked of the engine: one request a link, half a second
        apart, the target itself never loaded.

        Args:
            ranks: which results; ``None`` for all. Those whose target is known already cost nothing.
            browser: the Chrome to ask through; ``None`` for the one that was searched with.

        Returns:
            A page whose resolved results have a ``url``, its ``site``, and ``link_form`` ``resolved``. A link that
            leads nowhere stays as it was, and a warning says how many did.

        Raises:
            EndpointError, TargetError: the Chrome can not be had.
            TabClosed, TabCrashed, ConnectionLost: it went away meanwhile.
        """
        return bridge.run(self._resolved(ranks, browser))

    async def aresolve_links(self, ranks: Iterable[int] | None = None, *, browser: BrowserLike = None) -> SearchPage:
        """As :meth:`resolve_links`, to be awaited."""
        return await bridge.arun(self._resolved(ranks, browser))

    async def _resolved(self, ranks: Iterable[int] | None, browser: BrowserLike) -> SearchPage:
        wanted = set(range(1, len(self.records) + 1) if ranks is None else ranks)
        hidden = [record for record in self.records if record["url"] is None and record["rank"] in wanted]
        found = await locations([record["link"] for record in hidden], browser_for(browser or self.house))
        targets = {record["rank"]: url for record, url in zip(hidden, found, strict=True) if url is not None}
        records = tuple(
            {**record, "url": url, "link_form": "resolved", "site": site_of(url)}
            if (url := targets.get(record["rank"]))
            else record
            for record in self.records
        )
        failed = len(hidden) - len(targets)
        more = (f"{failed} of {len(hidden)} encrypted links could not be resolved",) if failed else ()
        return replace(self, records=records, warnings=(*self.warnings, *more))

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return display.search_page_text(self._shown())

    def _repr_html_(self) -> str:
        return display.search_page_html(self._shown())

    def _shown(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "engine_label": engine_named(self.engine).label,
            "query": self.query,
            "url": self.url,
            "page_state": self.page_state,
            "challenge_kind": self.challenge_kind,
            "results": [dict(record) for record in self.records],
            "answer": self.answer.shown() if self.answer and self.answer.text else None,
            "timings": dict(self.timings),
            "warnings": list(self.warnings),
        }


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
    browser: BrowserLike = None,
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
        browser: a Browser, or what names a Chrome (see :func:`castlenb.connect`); ``None`` for the configured one.

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
    )
    house = browser_for(browser)
    called = time.perf_counter()
    pages = {asked.engine.name: asked.pages}
    async with house.turn(pages, pace=pace, even_if_blocked=even_if_blocked) as turn:
        return await searched(asked, house, turn, called=called)


async def searched(asked: Asked, house: Browser, turn: Turn, *, called: float) -> SearchPage:
    """One search in a turn that the caller holds; ``called`` is when the caller was (``time.perf_counter``)."""
    if refused := turn.refused.get(asked.engine.name):
        raise not_sent(refused, asked, house)
    visits = await _visited(asked, house)
    page = _page_asked_for(visits, asked, house)
    total_ms = (time.perf_counter() - called) * 1000
    page = replace(
        page,
        timings={**page.timings, "queued_ms": round(turn.queued_ms, 1), "call_total_ms": round(total_ms, 1)},
        warnings=(*page.warnings, *turn.warnings),
    )
    block = await house.came(turn, page.engine, page.query, page.page_state, page.challenge_kind)
    raise_for_state(page, visits[0].url, block)
    return page


async def _visited(asked: Asked, house: Browser) -> list[Visit]:
    """The search's pages, one visit each. Tried once more where the Chrome went away before anything was read."""
    clock = asyncio.get_running_loop().time
    end = clock() + asked.deadline_s
    visits: list[Visit] = []
    try:
        return await _visits(asked, house, visits, asked.deadline_s)
    except ConnectionLost as lost:
        if visits or not await _is_back(house, min(end - clock(), BACK_S)):
            raise
        log.info("%s: %s; the search is tried once more", house.address, lost)
    await house.asked_again(asked.engine.name)
    return await _visits(asked, house, visits, max(0.0, end - clock()))


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


async def _visits(asked: Asked, house: Browser, visits: list[Visit], deadline_s: float) -> list[Visit]:
    errand = Errand(asked.engine, asked.query, house)
    async with open_visitor(
        errand,
        visibility=asked.visibility,
        deadline_s=deadline_s,
        answers=asked.ai_answer,
        network=asked.network,
    ) as visitor:
        try:
            while asked.wanted(start := len(visits) * asked.engine.page_size):
                visits.append(await visitor.go(asked.url(start), asked.rule(start)))
                if visits[-1].reading["page_state"] != "results":
                    break
        except SearchTimeout as late:
            if isinstance(late.page, Visit):
                visits.append(late.page)
            late.page = _page_asked_for(visits, asked, house) if visits else None
            raise
    return visits


def _page_asked_for(visits: Sequence[Visit], asked: Asked, house: Browser) -> SearchPage:
    """The visits of one search as a SearchPage, with what it was asked for and does not give among its warnings."""
    page = page_from(visits, asked.engine, asked.query, house, asked.num_results)
    if page.page_state != "results":
        return page
    more = []
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


def page_from(
    visits: Sequence[Visit], engine: Engine, query: str, browser: Browser, num_results: int | None = None
) -> SearchPage:
    """The visits of one search, one a page of results, as a SearchPage; its state is that of the first."""
    first = visits[0]
    warnings = [warning for visit in visits for warning in visit.reading["warnings"]]
    if (last := visits[-1]) is not first and (state := last.reading["page_state"]) not in ("results", "no_results"):
        warnings.append(f"page {len(visits)} of the results could not be read ({state})")
    records, repeated = _ranked([visit.reading["results"] for visit in visits])
    warnings += [
        f"page {number} of the results repeats earlier ones ({again} of its {rows}): {engine.label} may have more than "
        "it gave"
        for number, (again, rows) in enumerate(repeated, start=1)
        if again * 2 > rows
    ]
    answer = _answer(first, first.answer, engine) if first.answer else None
    if answer and answer.state == "growing" and first.answer_waited_for:
        warnings.append("the AI answer was still growing when its budget was spent: it is cut")
    return SearchPage(
        engine=engine.name,
        query=query,
        url=first.reading["url"],
        page_state=first.reading["page_state"],
        challenge_kind=first.reading["challenge_kind"],
        answer=answer,
        records=tuple(records[:num_results]),
        timings=first.timings(),
        warnings=tuple(dict.fromkeys(warnings)),
        documents=first.documents,
        status=first.status,
        visibility=first.visibility,
        fetched_at=first.started_at,
        browser=browser.address,
        house=browser,
    )


def _answer(visit: Visit, said: Mapping[str, Any], engine: Engine) -> AIAnswer:
    """What the visit saw of the answer. Its state is what watching showed, and that of its last look where there is no
    prose; a page that was not waited on is taken as it stands."""
    if not visit.answer_waited_for:
        return answer_from(said, engine.name)
    state = ("settled" if visit.settled_by else "growing") if said["text"] else said["state"]
    times = {name: ms for name, ms in visit.timings().items() if name.startswith("ai_")}
    return answer_from(
        said, engine.name, state=state, settled_by=visit.settled_by, timings=times, requests=visit.requests
    )


def _ranked(pages: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """One list over all pages, numbered from 1, without the rows that an earlier page has; and of each page how many
    of its rows those were, and how many it has.

    A session that Bing distrusts gets the first page in place of any other (searxng/searxng#4546). Where the target is
    hidden the link is minted for each impression, so it is known again by what it says.
    """
    kept: list[dict[str, Any]] = []
    repeated = []
    known: set[Any] = set()
    for rows in pages:
        keys = [row["url"] or (row["site"], row["title"], row["snippet"]) for row in rows]
        new = [row for row, key in zip(rows, keys, strict=True) if key not in known]
        kept += [{name: _whole(row.get(name)) for name in COLUMNS} for row in new]
        repeated.append((len(rows) - len(new), len(rows)))
        known.update(keys)
    return [{**row, "rank": rank} for rank, row in enumerate(kept, start=1)], repeated


def _whole(value: Any) -> Any:
    """A string with halves of characters replaced: pages may hold them, and no file and no frame of strings can."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
