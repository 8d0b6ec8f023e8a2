"""How often the first proposal for a hook that is gone finds what the hook used to find, on real pages."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from castlenb import bridge, captures, page
from castlenb.browser import Browser
from castlenb.engines import ENGINES, Engine, engine
from castlenb.engines.base import Hook
from castlenb.errors import SearchTimeout
from castlenb.replays import chrome, replaying
from castlenb.selectors.judge import asked_of
from castlenb.selectors.repair import NEAREST, Trial, fits, ranked

from ..browser.real_pages import RealPage, pages
from .rows import Limit, Row, measure

AT_HAND = 40
"""Proposals for one hook that are tried on every page."""

Cases = Counter[str]


@measure
def repairs() -> list[Row]:
    """Each expected hook's target is taken away on each saved page in turn, and the other pages are at hand.

    A case is right where the first proposal finds just what the hook used to find there, and on every other page of
    that month on which the hook holds.
    """
    limit = Limit("value", 20.0)
    name = "repairs_first_proposal_wrong"
    if not any(pages(each) for each in ENGINES):
        return [Row(name, "%", None, 0, limit, why="not measured: the saved pages are not here")]
    counts = bridge.run(measured())
    told = [_row(f"{name}_{each}", cases, None) for each, cases in counts.items() if cases]
    return [_row(name, sum(counts.values(), Counter()), limit), *told]


def _row(name: str, cases: Cases, limit: Limit | None) -> Row:
    tried = cases["right"] + cases["wrong"] + cases["none"]
    return Row(name, "%", 100 * (1 - cases["right"] / tried), tried, limit)


async def measured() -> dict[str, Cases]:
    async with chrome(None) as house:
        return {name: await _of_engine(engine(name), house) for name in ENGINES}


async def _of_engine(whose: Engine, house: Browser) -> Cases:
    saved = [each for each in pages(whose.name) if each.page_state == "results"]
    hooks = [hook for hook in whose.checked() if hook.expected[0]]
    proposed = await _each(saved, whose, house, DESCRIBE)
    pool = {n: _pool(n, [said[n] for said in proposed]) for n in range(len(hooks))}
    tried = await _each(saved, whose, house, ATTEMPT.replace("POOL", json.dumps([list(pool[n]) for n in pool])))
    cases: Cases = Counter()
    for at, (_, said) in enumerate(zip(saved, tried, strict=True)):
        for n, hook in enumerate(hooks):
            if said[n]["gone"] is not None:
                cases[_case(at, n, hook, whose, saved, proposed, tried, pool[n])] += 1
    return cases


DESCRIBE = """expected.map((n) => {
  return repair.seen.taking[n].length ? repair.describe(n) : null;
})"""

ATTEMPT = """POOL.map((list, at) => {
  const n = expected[at];
  const held = repair.attempt(n, list);
  if (!repair.seen.taking[n].length) return { held, gone: null };
  return { held, gone: churn.without(n, (targets) => {
    const seen = checker.look(hooks, n);
    const same = (good) => good.length === targets.length && good.every((each) => targets.includes(each));
    return list.map((css) => {
      const { found, good } = seen.instead(hooks[n], css);
      return [found.length, good.length, same(good)];
    });
  }) };
})"""


def _pool(n: int, proposed: Sequence[Any]) -> dict[str, int]:
    """The proposals for a hook that most pages make, with their ranks."""
    times: Counter[str] = Counter()
    ranks: dict[str, int] = {}
    for each in proposed:
        for css, rank in each or ():
            times[css] += 1
            ranks[css] = rank
    return {css: ranks[css] for css, _ in sorted(times.items(), key=lambda item: (-item[1], ranks[item[0]]))[:AT_HAND]}


def _case(
    at: int,
    n: int,
    hook: Hook,
    whose: Engine,
    saved: Sequence[RealPage],
    proposed: Sequence[Any],
    tried: Sequence[Any],
    pool: dict[str, int],
) -> str:
    others = [m for m in range(len(saved)) if m != at]
    near = sorted(others, key=lambda m: _distance(_month(saved[m]), _month(saved[at])))
    holding = [m for m in near if tried[m][n]["gone"] is not None][:NEAREST]
    if not holding:
        return "no anchor left"
    known = {css for m in holding for css, _ in proposed[m][n]}
    trials = {css: Trial(rank) for css, rank in pool.items() if css in known}
    place = {css: k for k, css in enumerate(pool)}
    for css, trial in trials.items():
        for m in holding:
            found, good, right = tried[m][n]["held"][place[css]]
            trial.note((found, good, right), missing=False, fits=False, month=_month(saved[m]))
        said = tried[at][n]["gone"][place[css]]
        trial.note((*said[:2], None), missing=True, fits=fits(said, hook, whose), month=_month(saved[at]))
    best = ranked(trials)
    if not best:
        return "none"
    k = place[best[0]]
    month = [m for m in holding if _month(saved[m]) == _month(saved[at])]
    right = tried[at][n]["gone"][k][2] and all(tried[m][n]["held"][k][2] for m in month)
    return "right" if right else "wrong"


def _month(saved: RealPage) -> str:
    found = re.match(r"20\d\d(?:-\d\d)?", saved.file.name)
    return found[0] if found else ""


def _distance(one: str, other: str) -> int:
    def months(text: str) -> int:
        year, _, month = text.partition("-")
        return int(year or 0) * 12 + int(month or 6)

    return abs(months(one) - months(other))


async def _each(saved: Sequence[RealPage], whose: Engine, house: Browser, value: str) -> list[Any]:
    """The value of an expression on each page, two pages at a time."""
    every = whose.checked()
    asked = json.dumps([asked_of(hook, whose) for hook in every])
    expected = json.dumps([n for n, hook in enumerate(every) if hook.expected[0]])
    churn = (Path(__file__).parent / "churn.js").read_text().strip()
    source = f"""((spec) => {{ {page._checking()}
const hooks = {asked};
const expected = {expected};
const churn = {churn.partition("(function")[1]}{churn.partition("(function")[2]}(checker, hooks);
const repair = {page.script("repair")}(dom, checker, hooks);
return JSON.stringify({value}); }})({json.dumps(whose.spec())})"""
    gate = asyncio.Semaphore(house.max_visits)

    async def one(each: RealPage) -> Any:
        html = captures.source_of(each.file)
        for tries_left in (2, 1, 0):
            try:
                async with gate, replaying(html, engine=whose.name, browser=house) as opened:
                    await opened.aread()
                    world = await opened.tab.world(page.WORLD)
                    answer = await opened.tab.session.evaluate(source, context_id=world, timeout=240)
                    return json.loads(answer)
            except SearchTimeout:  # of a machine that is busy: nothing here is measured in seconds
                if not tries_left:
                    raise
        raise AssertionError

    return await asyncio.gather(*(one(each) for each in saved))
