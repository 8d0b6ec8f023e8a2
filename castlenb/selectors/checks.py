"""``verify``: every hook of the engines on settled pages, live or saved, and a verdict on each."""

from __future__ import annotations

import json
import os
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

from .. import page
from ..asked import Asked
from ..browser import Browser, BrowserLike, browser_for
from ..engines import ENGINES, Engine
from ..engines import engine as engine_named
from ..engines.base import Hook
from ..errors import CaptureError, CastleError, EndpointError
from ..pacing import PaceLike
from ..refusals import check_refused
from ..replays import ALL, OneTab, chrome, engine_of
from ..several import together
from ..snapshot import Capture, PathLike
from ..visit import Errand, open_visitor
from . import record, repair
from .judge import Page, asked_of, verdict_on
from .seen import Check, Seen
from .sources import Source, source_from, stamp
from .verification import Verification

QUESTION = "how does a heat pump work"
"""What is searched for: a question of the kind that engines write answers to."""

_MARKUP = "Object.getOwnPropertyDescriptor(Document.prototype, 'documentElement').get.call(document).outerHTML"
"""From the prototype: an image of that name would shadow the document's own."""

Outcome = tuple[Seen | str, list[repair.Repair] | CastleError]
"""A page with what is proposed for what it lacks; or what it would have been, with why it could not be had."""


async def verify(
    *,
    engines: Sequence[str] | str | None = None,
    captures: PathLike | Capture | Iterable[PathLike | Capture] | None = None,
    query: str = QUESTION,
    also: Iterable[Hook] = (),
    propose: bool = True,
    budget_s: float = 12.0,
    deadline_s: float = 40.0,
    pace: PaceLike = None,
    even_if_blocked: bool = False,
    browser: BrowserLike = None,
    history: PathLike | None = None,
) -> Verification:
    """Checks every hook that castlenb relies on, on settled pages, and says which hold and which have drifted.

    Live, each engine is visited once, on the layout that can hold an AI answer, and Google on its "Web" tab as well.
    What it finds is added to the history (see :func:`castlenb.selectors.history`).

    Args:
        engines: which; ``None`` for all, or for those whose pages ``captures`` holds.
        captures: kept pages to check in place of the live ones: Captures, their files, or HTML files (``.gz`` is
            unpacked). They are opened in a throwaway Chromium unless a browser is named.
        query: what is searched for; a question, so that there is an answer to judge by.
        also: further hooks to check beside each engine's own, such as class names to compare with.
        propose: look for what to use in place of hooks that are missing; saved pages are opened twice more for it.
        budget_s: seconds to wait for an AI answer once the results are complete.
        deadline_s: seconds for each page; waiting in line lies outside.
        pace, even_if_blocked: as for :func:`castlenb.search`. An engine in a cool-down is not asked: it is among the
            ``failures``.
        browser: a Browser, or what names a Chrome; ``None`` for the configured one.
        history: the file that live checks are added to; ``None`` for the usual one, in which nothing of the lab's own
            engines goes.

    Returns:
        A row for each hook on each page, the pages that could not be had beside them.

    Raises:
        EndpointError, TargetError: the Chrome can not be had.
        CaptureError: none of the captures could be read.
        EngineError: no engine has that name.
        ValueError: an argument is out of its range.
    """
    extra = tuple(also)
    if isinstance(engines, str):
        engines = [engines]
    asked = [engine_named(name) for name in (ENGINES if engines is None else engines)]
    if captures is not None:
        found = await _of_captures(captures, engines, extra, propose, browser)
        if not found.pages and found.failures:
            first = next(iter(found.failures.values()))
            raise CaptureError(f"none of the captures could be read: {first}") from first
        return found
    house = browser_for(browser)
    visits = [
        Asked(
            query,
            engine,
            ai_answer=ai,
            budget_s=budget_s,
            network=ai,
            deadline_s=deadline_s,
            pace=pace,
            even_if_blocked=even_if_blocked,
        )
        for engine in asked
        for ai in _layouts(engine, query)
    ]
    found = await _gathered(_live(each, extra, propose, house) for each in visits)
    if history is not None or not (await house.amanners()).is_lab:
        record.keep(found, history)
    return found


def _layouts(engine: Engine, query: str) -> list[bool]:
    """Whether to ask for the layout that can hold an answer, for each page to visit."""
    plain, answering = (engine.layout(engine.search_url(query, ai_answer=ai)) for ai in (False, True))
    return [True] if plain == answering else [False, True]


async def _gathered(jobs: Iterable[Coroutine[Any, Any, Outcome]]) -> Verification:
    outcomes = await together(jobs)
    proposed: dict[tuple[str, Hook, str], repair.Repair] = {}
    for first, second in outcomes:
        if isinstance(first, Seen) and not isinstance(second, CastleError):
            proposed.update({(each.engine, each.hook, each.css): each for each in second})
    return Verification(
        tuple(first for first, _ in outcomes if isinstance(first, Seen)),
        {first: second for first, second in outcomes if isinstance(first, str) and isinstance(second, CastleError)},
        tuple(proposed.values()),
    )


async def _live(asked: Asked, also: Sequence[Hook], propose: bool, house: Browser) -> Outcome:
    engine, query, url = asked.engine, asked.query, asked.url(0)
    errand = Errand(engine, query, house)
    try:
        async with house.turn({engine.name: 1}, pace=asked.pace, even_if_blocked=asked.even_if_blocked) as turn:
            check_refused(asked, house, turn)
            async with open_visitor(
                errand, deadline_s=asked.deadline_s, answers=True, network=asked.network
            ) as visitor:
                visit = await visitor.go(url, replace(asked.rule(0), results=ALL))
                state, kind = visit.reading["page_state"], visit.reading["challenge_kind"]
                await house.came(turn, engine.name, query, state, kind)
                world = await visitor.tab.world(page.WORLD)

                async def evaluate(expression: str) -> Any:
                    return await visitor.tab.session.evaluate(expression, context_id=world, timeout=asked.deadline_s)

                asked_for = None if visit.requests is None else [each["path"] for each in visit.requests]
                at = stamp(visit.started_at)
                html = await evaluate(_MARKUP)
                seen = await checked(evaluate, engine, also, name=query, at=at, requests=asked_for, html=html)
                return seen, await repair.of_engine(engine, [(evaluate, seen)], also) if propose else []
    except EndpointError:
        raise
    except CastleError as failed:
        return " ".join(filter(None, (engine.name, engine.layout(url)))), failed


async def checked(
    evaluate: repair.Ask,
    engine: Engine,
    also: Sequence[Hook],
    *,
    name: str,
    at: str,
    requests: Sequence[str] | None = None,
    html: str | None = None,
) -> Seen:
    """The check of a settled page.

    Args:
        evaluate: gives the value of an expression in our world of the page.
        requests: paths that the page asked for its answer at; ``None`` where nobody followed them.
        html: the page's mark-up, for its picture.
    """
    hooks = (*engine.checked(), *also)
    expression = page.check_expression(engine.spec(), [asked_of(hook, engine) for hook in hooks])
    said = json.loads(await evaluate(expression))
    url = said["reading"]["url"]
    facts = Page(said["reading"]["page_state"], said["answer"]["state"], requests)
    checks = []
    for hook, found in zip(hooks, said["hooks"], strict=True):
        verdict, why = verdict_on(hook, found, facts, engine)
        checks.append(Check(hook, found, verdict, why, facts.shows(hook)))
    return Seen(
        engine=engine.name,
        layout=engine.layout(url),
        name=name,
        url=url,
        at=at,
        page_state=facts.page_state,
        answer_state=facts.answer_state,
        placement=said["answer"]["placement"],
        checks=tuple(checks),
        html=html,
    )


# Saved pages


async def _of_captures(
    captures: PathLike | Capture | Iterable[PathLike | Capture],
    engines: Sequence[str] | None,
    also: Sequence[Hook],
    propose: bool,
    browser: BrowserLike,
) -> Verification:
    pages: list[tuple[Source, Seen]] = []
    failures: dict[str, CastleError] = {}
    several = iter([captures] if isinstance(captures, str | os.PathLike | Capture) else captures)
    async with chrome(browser) as house:

        async def one_after_the_other() -> None:
            async with OneTab(house) as tab:
                for each in several:
                    try:
                        source = source_from(each)
                        if (found := await _saved(source, engines, also, tab)) is not None:
                            pages.append((source, found))
                    except EndpointError:
                        raise
                    except CastleError as failed:
                        await tab.close()
                        failures[each.query if isinstance(each, Capture) else os.fspath(each)] = failed

        await together(one_after_the_other() for _ in range(house.max_visits))
        pages.sort(key=lambda each: (list(ENGINES).index(each[1].engine), each[1].at, each[1].name))
        proposed = await repair.proposals(pages, also, house) if propose else ()
    return Verification(tuple(seen for _, seen in pages), failures, proposed)


async def _saved(source: Source, engines: Sequence[str] | None, also: Sequence[Hook], tab: OneTab) -> Seen | None:
    # Where one engine alone is asked for, saved pages are that one's: a page does not always tell.
    only = engines[0] if engines is not None and len(engines) == 1 else None
    whose = engine_of(source.kept, None if isinstance(source.kept, Capture) else only, None)
    if engines is not None and whose.name not in engines:
        return None
    opened = await tab.show(source.kept, engine=whose.name)
    await opened.aread()
    return await checked(opened.aevaluate, whose, also, name=source.name, at=source.at, html=source.html)
