"""What watching a page costs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from castlenb import page
from castlenb.cdp.connection import Connection, Session
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import background_tab
from castlenb.engines import engine
from castlenb.lab import FakeWeb, Step, register, scenario

from .rows import PAIRS, Limit, Row, highest_median, in_pairs, measure

HEAVY = replace(
    scenario("2026-08-04", "google"),
    name="bench-heavy",
    weight_kb=2000,
    answer=(*(Step(700 + 50 * n, "answer", chars=100 + 80 * n) for n in range(10)), Step(1200, "settled")),
)


@measure
def heavy_page() -> list[Row]:
    """Script time of a page of 2 MB with an answer that grows, with the watcher less without it, pair by pair."""
    register(HEAVY)
    with FakeWeb(HEAVY.name) as web:
        watched, plain = asyncio.run(_script_times(web.target))
    cost = np.asarray(watched) - np.asarray(plain)
    return [
        Row("watch_cost_ms", "ms", float(np.median(cost)), len(cost), None),
        Row("watch_cost_high_ms", "ms", highest_median(cost), len(cost), Limit("value", 5.0)),
    ]


async def _script_times(target: str) -> tuple[Sequence[float], Sequence[float]]:
    connection = await Connection.open(await discover(f"http://{target}"))
    script = page.on_new_documents(page.init_script(engine("google").spec(), answers=True))
    url = engine("google").search_url("what watching costs", ai_answer=True)

    async def one(watching: bool) -> float:
        prepare = [script] if watching else []
        async with background_tab(connection, prepare=prepare) as tab:
            await tab.session.call("Performance.enable")
            before = await _script_ms(tab.session)
            async with tab.session.expect("Page.loadEventFired", timeout=20):
                await tab.navigate(url)
            return await _script_ms(tab.session) - before

    try:
        return await in_pairs(lambda: one(True), lambda: one(False), pairs=PAIRS // 2)
    finally:
        await connection.aclose()


async def _script_ms(session: Session) -> float:
    metrics = (await session.call("Performance.getMetrics"))["metrics"]
    return float(1000 * next(each["value"] for each in metrics if each["name"] == "ScriptDuration"))
