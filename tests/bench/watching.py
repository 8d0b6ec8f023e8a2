"""What watching a page costs it.

Figures are Chrome's ``ScriptDuration`` by the clock of the page's own thread, so that what other programs take from the
machine does not count. Styles that a script has the browser work out are not in it, nor is the making of the observer's
records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import numpy as np

from castlenb import page
from castlenb.cdp.connection import Connection, Session
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import background_tab
from castlenb.engines import engine
from castlenb.lab import FakeWeb, Scenario, Step, register, scenario
from castlenb.visit import AnswerRule, Rule

from .rows import PAIRS, Limit, Row, highest_median, in_pairs, measure

HEAVY = replace(
    scenario("2026-08-04", "google"),
    name="bench-heavy",
    weight_kb=2000,
    answer=(*(Step(700 + 50 * n, "answer", chars=100 + 80 * n) for n in range(10)), Step(1200, "settled")),
    answer_by="stream",
)
CALM_MS = 3000
STORM = replace(
    scenario("answer-storm", "google"),
    name="bench-storm",
    answer=tuple(Step(400 + 200 * n, "answer", chars=100 + 60 * n) for n in range(12)),
    busy=(250, CALM_MS),
)
SPEC = engine("google").spec()
URL = engine("google").search_url("what watching costs", ai_answer=True)
WATCHER = page.init_script(SPEC, answers=True)
WAIT = f"castlenb.watcher.wait({Rule(answer=AnswerRule()).as_json()})"


def told(mark: str, what: str = "''") -> str:
    """An expression for a promise of ``what``, evaluated as soon as the lab's page has made that mark, in any world.

    In the observer's callback: what is done in a promise's reaction is no ``ScriptDuration`` (Chromium 156).
    """
    look = f"(list) => list.getEntriesByName('lab:{mark}').length && tell({what})"
    return f"new Promise((tell) => new PerformanceObserver({look}).observe({{ type: 'mark', buffered: true }}))"


READ_ONCE = page.script_with_answers(
    SPEC,
    f"globalThis.once = {told('settled', 'JSON.stringify([reader.read(), answers.answer()])')};",
)
REHEARSED = "new Promise((done) => setTimeout(done, 50))"
NEVER_READ = page.script_with_answers(SPEC, "")


@measure
def heavy_page() -> list[Row]:
    """Script time on a page of 2 MB with an answer that grows, pair by pair.

    ``watch_cost_ms``: with the watcher, from the navigation to the end of its wait, all that it reads included; less
    the same page script without observer, heartbeat and growth, which reads results and answer once, told by the
    page's own mark that the answer is whole: any search has to read once. ``watch_and_read_ms``, for comparison, is
    with the watcher less the bare page.
    """
    watched, once = _pairs(HEAVY, _task(WATCHER, WAIT), _task(READ_ONCE, "once"), PAIRS // 2)
    more, bare = _pairs(HEAVY, _task(WATCHER, WAIT), _task(None, told("settled")), PAIRS // 6)
    cost = np.asarray(watched) - np.asarray(once)
    return [
        Row("watch_cost_ms", "ms", float(np.median(cost)), len(cost), None),
        Row("watch_cost_high_ms", "ms", highest_median(cost), len(cost), Limit("value", 5.0)),
        Row("watch_and_read_ms", "ms", float(np.median(np.asarray(more) - np.asarray(bare))), len(bare), None),
    ]


@measure
def storm() -> list[Row]:
    """Script time under 250 changes a second beside an answer that grows, in percent of wall time, pair by pair: with a
    watcher that waits all along, less the same page script without one. Neither reads the page at the end."""
    waits = f"void {WAIT}; {told('calm')}"
    watched, plain = _pairs(STORM, _task(WATCHER, waits), _task(NEVER_READ, told("calm")), PAIRS // 6)
    percent = (np.asarray(watched) - np.asarray(plain)) / CALM_MS * 100
    return [
        Row("watch_storm_percent", "%", float(np.median(percent)), len(percent), None),
        Row("watch_storm_high_percent", "%", highest_median(percent), len(percent), Limit("value", 1.0)),
    ]


Task = Callable[[Connection], Awaitable[float]]


def _task(source: str | None, ends: str) -> Task:
    """One load of the page with that script on it, until the promise ``ends`` in our world; its script time in ms, from
    the navigation on: what a script rehearses on the blank page takes no time of the page's."""

    async def load(connection: Connection) -> float:
        prepare = [] if source is None else [page.on_new_documents(source)]
        async with background_tab(connection, prepare=prepare) as tab:
            await tab.session.call("Performance.enable", {"timeDomain": "threadTicks"})
            blank = await tab.world(page.WORLD)
            await tab.session.evaluate(REHEARSED, context_id=blank, await_promise=True)
            before = await _script_ms(tab.session)
            await tab.navigate(URL)
            world = await tab.world(page.WORLD)
            await tab.session.evaluate(ends, context_id=world, await_promise=True, timeout=30)
            return await _script_ms(tab.session) - before

    return load


def _pairs(played: Scenario, ours: Task, theirs: Task, pairs: int) -> tuple[Sequence[float], Sequence[float]]:
    async def take(target: str) -> tuple[Sequence[float], Sequence[float]]:
        connection = await Connection.open(await discover(f"http://{target}"))
        try:
            return await in_pairs(lambda: ours(connection), lambda: theirs(connection), pairs=pairs)
        finally:
            await connection.aclose()

    register(played)
    with FakeWeb(played.name) as web:
        return asyncio.run(take(web.target))


async def _script_ms(session: Session) -> float:
    metrics = (await session.call("Performance.getMetrics"))["metrics"]
    return float(1000 * next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))
