"""From a query to a SearchPage: the pages to visit, what was read on them, and what it means."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from . import bridge, display
from .answer import AIAnswer, answer_from, citation_ranks
from .asked import Asked
from .browser import Browser, BrowserLike, browser_for
from .dates import plainly_older
from .engines import Engine
from .engines import engine as engine_named
from .errors import (
    Misuse,
    NoResultsError,
    SearchChallengeError,
    SearchError,
    SearchTimeout,
    SuspectedBlockError,
    UnparseableError,
)
from .links import locations, site_of
from .visit import Errand, Visit, open_visitor

if TYPE_CHECKING:
    import pandas as pd

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
            client clock: ``queued_ms`` (waiting for one of the browser's slots) and ``call_total_ms`` (the whole call).
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
        browser: a Browser, or what names a Chrome (see :func:`castlenb.connect`); ``None`` for the configured one.

    Returns:
        The page with at least one result.

    Raises:
        SearchChallengeError: the engine wants a person; ``human_url`` says what to open.
        SuspectedBlockError: an empty page that nothing explains.
        NoResultsError: the engine says that nothing matches.
        UnparseableError: a results area that yields nothing; the engine changed its page.
        SearchTimeout: the deadline passed; ``page`` holds what had come by then, if anything.
        NavigationFailed: the engine's page could not be opened.
        EndpointError, TargetError: the Chrome can not be had.
        TabClosed, TabCrashed, ConnectionLost: it went away meanwhile.
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
    )
    house = browser_for(browser)
    called = time.perf_counter()
    async with house.slot() as queued_ms:
        return await searched(asked, house, queued_ms=queued_ms, called=called)


async def searched(asked: Asked, house: Browser, *, queued_ms: float, called: float) -> SearchPage:
    """One search in a slot that the caller holds; ``called`` is when the caller was (``time.perf_counter``)."""
    visits: list[Visit] = []
    errand = Errand(asked.engine, asked.query, house)
    async with open_visitor(
        errand,
        visibility=asked.visibility,
        deadline_s=asked.deadline_s,
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
    page = _page_asked_for(visits, asked, house)
    total_ms = (time.perf_counter() - called) * 1000
    page = replace(
        page, timings={**page.timings, "queued_ms": round(queued_ms, 1), "call_total_ms": round(total_ms, 1)}
    )
    raise_for_state(page, visits[0].url)
    return page


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


def _drifted(visits: Sequence[Visit]) -> list[str]:
    """What castlenb expects on each page, and has done without: it is not there, or not as it was."""
    answer = visits[0].answer or {"drift": []}
    lost: dict[tuple[str, str], None] = {}
    for part, css in [*(each for visit in visits for each in visit.reading["drift"]), *answer["drift"]]:
        lost[part, css] = None
    return [
        f"{part} {css} is not on the page as expected: the page has changed, and castlenb.verify() says how far"
        for part, css in lost
    ]


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


def raise_for_state(page: SearchPage, sent_to: str) -> None:
    """Raises the error that stands for the page's state; returns where there are results.

    Args:
        sent_to: the address that the tab was sent to, which is not always that at which it ended.
    """
    where = (page.engine, page.query, page.url, page.browser)
    human_url = _human_url(page, sent_to)
    match page.page_state:
        case "results":
            return
        case "challenge":
            raise SearchChallengeError(str(page.challenge_kind), *where, human_url=human_url, page=page)
        case "no_results":
            raise NoResultsError(*where, page=page)
        case "unparseable":
            raise UnparseableError(*where, page=page)
        case "suspected_block":
            raise SuspectedBlockError(*where, human_url=human_url, page=page)
        case other:
            raise SearchError(*where, page=page) from Misuse(f"a reader returned the page state {other!r}")


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
        kept += [{name: row.get(name) for name in COLUMNS} for row in new]
        repeated.append((len(rows) - len(new), len(rows)))
        known.update(keys)
    return [{**row, "rank": rank} for rank, row in enumerate(kept, start=1)], repeated


def _human_url(page: SearchPage, sent_to: str) -> str:
    """What a person has to open: the results page that the refusal's address names, else the one that was asked for.

    The refusal's own address can be a dead end, as DuckDuckGo's is.
    """
    target = parse_qs(urlsplit(page.url).query).get("continue", [""])[0]
    return target if urlsplit(target).hostname in engine_named(page.engine).hosts else sent_to
