"""How true the times of a page's timeline are, against the page's own marks."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from castlenb import Browser, bridge, connect, page
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import Tab
from castlenb.engines import engine
from castlenb.lab import FakeWeb, Scenario, Step, Truth, scenario
from castlenb.visit import AnswerRule, Errand, Rule, Visit, open_visitor

from .rows import Limit, Row, measure

ENGINES = ("google", "bing", "brave")
SHAPES = (
    "answer-inline",
    "answer-stream",
    "answer-first",
    "answer-loading",
    "answer-rewrite",
    "answer-swap",
    "answer-busy",
)
VISIBILITIES = ("visible", "emulated", "hidden")
ROUNDS = 4
"""Each engine, shape and visibility so often: 252 trials. With the other core busy once."""

MEASURED = ("parse_ready_ms", "ai_appear_ms", "ai_settle_ms")
RULE = Rule(answer=AnswerRule(budget_s=5, quiet_ms=1000))
PEER = "250 ms poller"
POLLER = """const seen = { parse_ready_ms: null, ai_appear_ms: null, ai_settle_ms: null };
let words = 0;
setInterval(() => {
  const t = performance.now();
  if (seen.parse_ready_ms === null && reader.results().length) seen.parse_ready_ms = t;
  const { chars, signature } = answers.probe();
  if (!chars || signature === words) return;
  words = signature;
  seen.ai_appear_ms ??= t;
  seen.ai_settle_ms = t;
}, 250);
globalThis.poller = seen;"""


@dataclass
class Errors:
    """Milliseconds that each measured instant lies off its mark: ours, and the poller's."""

    ours: list[float] = field(default_factory=list)
    polled: list[float] = field(default_factory=list)
    trials: int = 0


@measure
def timing() -> list[Row]:
    """Parse-ready, appear and settle, over engines, shapes of answers and the three ways in which a tab can be kept."""
    with FakeWeb("instant") as web, connect(web.target) as browser:
        quiet = {kept: bridge.run(_trials(web, browser, kept, ROUNDS)) for kept in VISIBILITIES}
        with _busy_core():
            busy = {kept: bridge.run(_trials(web, browser, kept, 1)) for kept in VISIBILITIES}
        parser = bridge.run(_parsed(web, browser))
    rows = []
    for kept in VISIBILITIES:
        rows += [
            _row(f"timing_error_p50_ms.{kept}", quiet[kept], 0.5, 1.0),
            _row(f"timing_error_p99_ms.{kept}", quiet[kept], 0.99, 5.0),
            _row(f"timing_error_busy_p99_ms.{kept}", busy[kept], 0.99, 17.0),
        ]
    return [*rows, _row("timing_error_parser_p50_ms", parser, 0.5, None)]


def _row(name: str, errors: Errors, share: float, limit: float | None) -> Row:
    polled = float(np.quantile(errors.polled, share)) if errors.polled else None
    return Row(
        name,
        "ms",
        float(np.quantile(errors.ours, share)),
        errors.trials,
        None if limit is None else Limit("value", limit),
        peer=PEER if errors.polled else None,
        peer_value=polled,
    )


async def _trials(web: FakeWeb, browser: Browser, kept: str, rounds: int) -> Errors:
    chance = random.Random(kept)
    errors = Errors()
    order = [(name, shape) for name in ENGINES for shape in SHAPES if scenario(shape, name).answer] * rounds
    chance.shuffle(order)
    async with _somebody(web.target) as somebody:
        for number, (name, shape) in enumerate(order):
            web.play(_shifted(scenario(shape, name), chance), engine=name)
            visit, polled = await _trial(browser, name, kept, f"trial {kept} {number}", somebody)
            truth = await asyncio.to_thread(web.truth, web.searches()[-1])
            _compare(visit, polled, truth, errors)
    return errors


def _shifted(played: Scenario, chance: random.Random) -> Scenario:
    """The same with its steps at other times, so that no clock of anybody's falls in with them."""
    late_ms = chance.uniform(0, 60)

    def moved(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        by_time = {step.at_ms: step.at_ms + late_ms + chance.uniform(0, 40) for step in steps}
        return tuple(replace(step, at_ms=by_time[step.at_ms]) for step in steps)

    return replace(
        played,
        name="timing",
        steps=moved(played.steps),
        answer=played.answer and moved(played.answer),
        busy=played.busy and (played.busy[0], 2500),
    )


async def _trial(
    browser: Browser, name: str, kept: str, query: str, somebody: Connection
) -> tuple[Visit, dict[str, float | None]]:
    whose = engine(name)
    source = page.script_with_answers(whose.spec(), POLLER)

    async def prepare(tab: Tab) -> None:
        script = {"source": source, "worldName": "poller"}
        await tab.session.call("Page.addScriptToEvaluateOnNewDocument", script)
        if kept == "visible":  # castlenb never brings a tab to the front; somebody else may
            await somebody.root.call("Target.activateTarget", {"targetId": tab.target_id})

    errand = Errand(whose, query, browser)
    visibility = "emulated" if kept == "emulated" else "hidden"
    async with (
        browser.slot(),
        open_visitor(errand, visibility=visibility, answers=True, prepare=prepare) as visitor,
    ):
        visit = await visitor.go(whose.search_url(query, ai_answer=True), RULE)
        shown = visit.timeline["visibility"][-1][1]
        assert shown == ("hidden" if kept == "hidden" else "visible"), (kept, visit.timeline["visibility"])
        assert visit.settled_by, (name, visit.reason)
        # The poller is given the time that its last change needs.
        await asyncio.sleep(1.1 if kept == "hidden" else 0.3)
        world = await visitor.tab.world("poller")
        polled = await visitor.tab.session.evaluate("poller", context_id=world)
    return visit, polled


def _compare(visit: Visit, polled: dict[str, float | None], truth: Truth, errors: Errors) -> None:
    errors.trials += 1
    measured = visit.timings()
    for name in MEASURED:
        true, ours, theirs = getattr(truth, name), measured[name], polled[name]
        assert true is not None, (name, truth)
        assert ours is not None, (name, visit.timeline)
        errors.ours.append(abs(ours - true))
        if theirs is not None:
            errors.polled.append(abs(theirs - true))


async def _parsed(web: FakeWeb, browser: Browser) -> Errors:
    """An answer that comes in the mark-up, without a script after it: its instants are when the server wrote it."""
    errors = Errors()
    for number in range(20):
        web.play("answer-parser", engine="google")
        whose = engine("google")
        errand = Errand(whose, f"parsed {number}", browser)
        async with browser.slot(), open_visitor(errand, answers=True) as visitor:
            visit = await visitor.go(whose.search_url(errand.query, ai_answer=True), RULE)
        truth = web.truth(web.searches()[-1], origin_ms=visit.timeline["origin_ms"])
        measured = visit.timings()
        errors.trials += 1
        for name in ("ai_appear_ms", "ai_settle_ms"):
            errors.ours.append(abs(measured[name] - getattr(truth, name)))
    return errors


@contextlib.asynccontextmanager
async def _somebody(target: str) -> AsyncIterator[Connection]:
    """Another client, with a tab in front of ours."""
    connection = await Connection.open(await discover(f"http://{target}"))
    try:
        created = await connection.root.call("Target.createTarget", {"url": "about:blank"})
        await connection.root.call("Target.activateTarget", {"targetId": created["targetId"]})
        yield connection
        await connection.root.call("Target.closeTarget", {"targetId": created["targetId"]})
    finally:
        await connection.aclose()


@contextlib.contextmanager
def _busy_core() -> Iterator[None]:
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait()
