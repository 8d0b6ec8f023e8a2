"""What one search found: a SearchPage, and how it is made of what was read on its pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import bridge, display
from .answer import AIAnswer, answer_from, changes_from, citation_ranks
from .browser import Browser, BrowserLike, browser_for
from .engines import Engine
from .engines import engine as engine_named
from .links import locations, site_of
from .snapshot import Capture, Drift
from .visit import Visit

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("rank", "title", "url", "link", "link_form", "snippet", "site", "date", "fragment")
"""Columns of ``SearchPage.results``: ``rank`` is Int64, from 1; the others are strings or missing."""

SCHEMA = "castlenb.SearchPage/1"
"""What ``SearchPage.to_dict`` gives. The number grows when a key changes its meaning or goes; new keys may come."""


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
            contradict, a page that repeats an earlier one, further pages that can not be had. One that says that the
            engine has changed its page is a :class:`.snapshot.Drift`, with the page itself as ``warning.capture``.
        documents: documents that the first page's address led through (2 or more: a redirect by script, a reload).
        status: HTTP status of the first page's document, where Chrome tells.
        visibility: ``emulated`` or ``hidden``: how the tab was kept.
        fetched_at: when the tab was sent off (client clock, UTC); ``None`` for a saved page.
        browser: the Chrome that was used, its address redacted.
        house: the Browser itself.
        reused: whether the page was kept from an earlier search (see :func:`castlenb.reuse`); its times are of then.
        capture: the page itself, where ``keep=True`` asked for it and it could be taken; ``None`` of a reused one.
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
    reused: bool = False
    capture: Capture | None = field(default=None, repr=False, compare=False)

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

    def to_text(self, budget: int = 15_000) -> str:
        """What an agent reads: the labelled answer with its sources, then the numbered results, within ``budget`` bytes
        of UTF-8, and so within as many characters.

        Strangers' words are fenced off from ours, and nothing in them can leave the fence. What does not fit is cut in
        a fixed order, and said to be: :func:`castlenb.display.agent.agent_text` has both.

        Raises:
            ValueError: the budget is below 1.
        """
        return display.agent_text(self.to_dict(), budget)

    def to_markdown(self) -> str:
        """The page as Markdown for people; strangers' words are escaped, so that none of them is mark-up."""
        return display.page_markdown(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The page as plain data that JSON can hold, its ``schema`` :data:`SCHEMA`; missing values are ``None``."""
        return {
            "schema": SCHEMA,
            "engine": self.engine,
            "engine_label": engine_named(self.engine).label,
            "query": self.query,
            "url": self.url,
            "page_state": self.page_state,
            "challenge_kind": self.challenge_kind,
            "results": [dict(record) for record in self.records],
            "answer": self.answer.to_dict() if self.answer else None,
            "timings": dict(self.timings),
            "warnings": list(self.warnings),
            "fetched_at": self.fetched_at and self.fetched_at.isoformat(),
        }

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return display.search_page_text(self._shown())

    def _repr_html_(self) -> str:
        return display.search_page_html(self._shown())

    def _shown(self) -> dict[str, Any]:
        return {
            **self.to_dict(),
            "answer": self.answer.to_dict() if self.answer and self.answer.text else None,
            "kept_from": self.fetched_at if self.reused else None,
        }


def page_from(
    visits: Sequence[Visit], engine: Engine, query: str, browser: Browser, num_results: int | None = None
) -> SearchPage:
    """The visits of one search, one a page of results, as a SearchPage; its state is that of the first."""
    first = visits[0]
    warnings = [warning for visit in visits for warning in _warnings(visit.reading)]
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
        said,
        engine.name,
        state=state,
        settled_by=visit.settled_by,
        timings=times,
        requests=visit.requests,
        changes=changes_from(visit.timeline["answer"], visit.offset_ms),
    )


def _warnings(reading: Mapping[str, Any]) -> list[str]:
    return [Drift(said) if said in reading["unsure"] else said for said in reading["warnings"]]


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
