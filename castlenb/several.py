"""Several searches as one: the same words on several engines, or several queries on one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from . import display, kept
from .asked import Asked
from .beside import Progress
from .browser import Browser, BrowserLike, browser_for
from .engines import engine as engine_named
from .errors import CastleError, EndpointError, NeedsPerson
from .links import same_target
from .manners import Turn
from .pacing import PaceLike
from .results import COLUMNS, SearchPage
from .reused import kept_page
from .serp import searched

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

Arrived = Callable[[Asked, SearchPage | CastleError], object]
"""Told each search's outcome as it comes."""

FAILURE_COLUMNS = ("engine", "query", "error", "message", "human_url", "retry_at")
"""Columns of a failures frame: the error's class, its sentence, and what a person has to open, where it says so."""


@dataclass(frozen=True, repr=False)
class Searches:
    """Several searches, those that failed beside those that did not.

    Attributes:
        pages: the pages, in the order in which they were asked for.
        errors: the error of each search that failed, by engine and query.
    """

    pages: tuple[SearchPage, ...]
    errors: Mapping[tuple[str, str], CastleError]

    def __repr__(self) -> str:
        said = [(page.engine, page.query, display.counted(len(page), "result")) for page in self.pages]
        said += [(engine, query, type(error).__name__) for (engine, query), error in self.errors.items()]
        parts = [f"{engine} {display.one_line(query, 80)!r}: {what}" for engine, query, what in said]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return display.searches_html({"pages": [page._shown() for page in self.pages], "failures": self._failed()})

    def _failed(self) -> list[dict[str, Any]]:
        return [
            {
                "engine": engine,
                "query": query,
                "error": type(error).__name__,
                "message": str(error),
                "human_url": error.human_url if isinstance(error, NeedsPerson) else None,
                "retry_at": error.retry_at if isinstance(error, NeedsPerson) else None,
            }
            for (engine, query), error in self.errors.items()
        ]

    @cached_property
    def results(self) -> pd.DataFrame:
        """All results in one frame: ``engine``, ``query``, the columns of ``SearchPage.results``, ``reused`` (boolean:
        the page was kept from an earlier search) and ``fetched_at`` (UTC)."""
        import pandas as pd

        columns = ["engine", "query", *COLUMNS, "reused", "fetched_at"]
        others = {"rank": "Int64", "reused": "boolean", "fetched_at": "datetime64[us, UTC]"}
        kinds = {**dict.fromkeys(columns, "string"), **others}
        rows = [
            {"engine": page.engine, "query": page.query, **record, "reused": page.reused, "fetched_at": page.fetched_at}
            for page in self.pages
            for record in page.records
        ]
        return pd.DataFrame(rows, columns=columns).astype(kinds)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """The searches that failed, one row each, with the columns :data:`FAILURE_COLUMNS`; empty where none did."""
        import pandas as pd

        table = pd.DataFrame(self._failed(), columns=list(FAILURE_COLUMNS))
        strings = {name: "string" for name in FAILURE_COLUMNS if name != "retry_at"}
        return table.astype({**strings, "retry_at": "datetime64[us, UTC]"})


@dataclass(frozen=True, repr=False)
class Comparison(Searches):
    """One query on several engines. Printed, it shows who lists what, how far they agree, and who failed.

    Attributes:
        query: the words.
        engines: the engines, in the order in which they were asked for.
    """

    query: str
    engines: tuple[str, ...]

    @cached_property
    def targets(self) -> pd.DataFrame:
        """One row a target, with its rank on each engine (Int64, missing where it is not among that engine's results).

        Columns: ``target`` (host and path as compared, see :func:`compare`), ``url``, ``engines`` (how many list it),
        then one column an engine that answered. Sorted by how many list it, then by the best rank.
        """
        import pandas as pd

        rows: dict[str, dict[str, Any]] = {}
        for page in self.pages:
            for record in page.records:
                if record["url"]:
                    row = rows.setdefault(same_target(record["url"]), {"url": record["url"]})
                    row.setdefault(page.engine, record["rank"])
        answered = [page.engine for page in self.pages]
        table = pd.DataFrame(
            [{"target": target, **row} for target, row in rows.items()], columns=["target", "url", *answered]
        ).astype({"target": "string", "url": "string", **dict.fromkeys(answered, "Int64")})
        table.insert(2, "engines", table[answered].notna().sum(axis=1).astype("Int64"))
        table["_best"] = table[answered].min(axis=1)
        table = table.sort_values(["engines", "_best"], ascending=[False, True], kind="stable").drop(columns="_best")
        return table.reset_index(drop=True)

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """How far two engines agree, one row a pair that answered.

        Columns: ``engine_a``, ``engine_b``; ``known_a``, ``known_b``: results whose target is known; ``shared``:
        targets that both list; ``jaccard``: shared over all, 0 to 1, missing where one hides all of its targets;
        ``rank_correlation``: Spearman's, over the shared ones, -1 to 1, missing below three of them, where it says
        nothing.
        """
        import pandas as pd

        rows = []
        for a, b in combinations([page.engine for page in self.pages], 2):
            both = self.targets[[a, b]].dropna().astype("float64")
            known_a, known_b = int(self.targets[a].count()), int(self.targets[b].count())
            together = known_a + known_b - len(both)
            rows.append(
                {
                    "engine_a": a,
                    "engine_b": b,
                    "known_a": known_a,
                    "known_b": known_b,
                    "shared": len(both),
                    "jaccard": len(both) / together if known_a and known_b else None,
                    # Pearson's of the ranks among the shared ones, which is Spearman's.
                    "rank_correlation": both[a].rank().corr(both[b].rank()) if len(both) > 2 else None,
                }
            )
        kinds = {
            **dict.fromkeys(("engine_a", "engine_b"), "string"),
            **dict.fromkeys(("known_a", "known_b", "shared"), "Int64"),
            **dict.fromkeys(("jaccard", "rank_correlation"), "Float64"),
        }
        return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)

    def __str__(self) -> str:
        return display.comparison_text(self._shown())

    def _repr_html_(self) -> str:
        return display.comparison_html(self._shown())

    def _shown(self) -> dict[str, Any]:
        counts = {page.engine: len(page) for page in self.pages}
        hidden = {page.engine: sum(record["url"] is None for record in page.records) for page in self.pages}
        titles = {record["url"]: record["title"] for page in self.pages for record in page.records}
        pairs = _plain(self.agreement)
        return {
            "query": self.query,
            "engines": self.engines,
            "counts": counts,
            "targets": [
                {
                    "target": row["target"],
                    "url": row["url"],
                    "title": titles[row["url"]],
                    "ranks": {engine: row[engine] for engine in counts},
                }
                for row in _plain(self.targets)
            ],
            "agreement": [{**pair, "either": pair["known_a"] + pair["known_b"] - pair["shared"]} for pair in pairs],
            "warnings": [
                *(f"{page.engine}: {warning}" for page in self.pages for warning in page.warnings),
                *(
                    f"{engine}: the targets of {number} of {counts[engine]} results are hidden, and not compared"
                    for engine, number in hidden.items()
                    if number
                ),
            ],
            "failures": self._failed(),
        }


async def compare(
    query: str,
    *,
    engines: Sequence[str] = ("google", "bing", "brave", "duckduckgo"),
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
    progress: Callable[[str, str, int], object] | None = None,
    arrived: Arrived | None = None,
) -> Comparison:
    """One query on several engines, at the same time: a tab on each, in one place of the browser's queue.

    An engine that fails is in ``errors`` and hides none of the others. Two results are the same target where host and
    path agree, ``www.``, scheme, case of the host, trailing slash and fragment aside.

    Args:
        query: as typed into a search box.
        engines: which, each once.
        num_results, recency, hl, gl, ai_answer, budget_s, early_stop, network, visibility, deadline_s, pace,
        even_if_blocked, reuse, keep, browser: as for :func:`castlenb.search`, for each engine.
        progress: as for :func:`castlenb.search`; called with the engine's name before the rest.
        arrived: called, on castlenb's own thread, with what was asked and the page or the error, as each comes. It has
            to return at once.

    Raises:
        EndpointError, TargetError: the Chrome can not be had.
        ValueError: an argument is out of its range, or an engine can not do what is asked.
    """
    if not engines or len(set(engines)) < len(engines):
        raise ValueError(f"engines has to name at least one engine, and each once, not {list(engines)!r}")
    each_asked = [
        Asked(
            query,
            engine_named(name),
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
        for name in engines
    ]
    house = browser_for(browser)
    called = time.perf_counter()
    known = {asked.engine.name: page for asked in each_asked if (page := kept_page(asked, house)) is not None}
    wanted = {asked.engine.name: asked.pages for asked in each_asked if asked.engine.name not in known}

    async def one(asked: Asked, turn: Turn) -> SearchPage | CastleError:
        outcome: SearchPage | CastleError | None = known.get(asked.engine.name)
        if outcome is None:
            told = progress and partial(progress, asked.engine.name)
            outcome = await _outcome(asked, house, turn, called=called, progress=told)
        if arrived is not None:
            arrived(asked, outcome)
        return outcome

    async with house.turn(wanted, pace=pace, even_if_blocked=even_if_blocked) as turn:
        if len(turn.refused) < len(wanted):
            await house.open()
        outcomes = await together(one(asked, turn) for asked in each_asked)
    pages, errors = _sorted(each_asked, outcomes)
    return Comparison(pages, errors, query, tuple(engines))


async def searches(
    queries: Iterable[str],
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
    browser: BrowserLike = None,
    arrived: Arrived | None = None,
) -> Searches:
    """Many queries on one engine, as many at a time as the browser has slots.

    A query that fails is in ``errors`` and hides none of the others. Once the engine asks for a person, or answers with
    an empty page that nothing explains, the queries that have not been sent are not sent: their error is that same one.

    Args:
        queries: each as typed into a search box; a query given twice is asked once.
        engine, num_results, recency, hl, gl, ai_answer, budget_s, early_stop, network, visibility, deadline_s, pace,
        even_if_blocked, reuse, browser: as for :func:`castlenb.search`.
        arrived: as for :func:`castlenb.compare`.

    Raises:
        EndpointError, TargetError: the Chrome can not be had.
        ValueError: an argument is out of its range.
    """
    if isinstance(queries, str):
        raise ValueError("queries has to be several queries, not one string; for one there is search()")
    whose = engine_named(engine)
    each_asked = [
        Asked(
            query,
            whose,
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
        )
        for query in dict.fromkeys(queries)
    ]
    house = browser_for(browser)
    refused: list[NeedsPerson] = []

    async def one(asked: Asked) -> SearchPage | CastleError:
        called = time.perf_counter()
        outcome: SearchPage | CastleError | None = kept_page(asked, house)
        if outcome is None and refused:
            outcome = refused[0]
        if outcome is None:
            wanted = {asked.engine.name: asked.pages}
            async with house.turn(wanted, pace=pace, even_if_blocked=even_if_blocked) as turn:
                outcome = refused[0] if refused else await _outcome(asked, house, turn, called=called)
        if isinstance(outcome, NeedsPerson):
            refused.append(outcome)
        if arrived is not None:
            arrived(asked, outcome)
        return outcome

    outcomes = await together(one(asked) for asked in each_asked)
    return Searches(*_sorted(each_asked, outcomes))


async def _outcome(
    asked: Asked, house: Browser, turn: Turn, *, called: float, progress: Progress | None = None
) -> SearchPage | CastleError:
    try:
        return await searched(asked, house, turn, called=called, progress=progress)
    except EndpointError:
        raise  # no search of ours can be had there, so it is the caller's to know
    except CastleError as failed:
        return failed


async def together(each: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All of them at once; one that raises ends the others first, so that nothing goes on behind the caller."""
    tasks = [asyncio.ensure_future(one) for one in each]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _sorted(
    each_asked: Sequence[Asked], outcomes: Sequence[SearchPage | CastleError]
) -> tuple[tuple[SearchPage, ...], dict[tuple[str, str], CastleError]]:
    pages = tuple(outcome for outcome in outcomes if isinstance(outcome, SearchPage))
    errors = {
        (asked.engine.name, asked.query): outcome
        for asked, outcome in zip(each_asked, outcomes, strict=True)
        if isinstance(outcome, CastleError)
    }
    return pages, errors


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows with ``None`` for what is missing."""
    rows = table.astype("object").where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
