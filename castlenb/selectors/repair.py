"""What to use in place of a hook that is missing: selectors that find what it found on pages on which it held.

Where there are no such pages, those that find what the hooks that still hold say it has to find. Nothing is changed by
it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import page
from ..browser import Browser
from ..engines import Engine
from ..engines import engine as engine_named
from ..engines.base import Hook, kind_of
from ..replays import OneTab
from .judge import asked_of, place_of
from .seen import Check, Seen
from .sources import Source

NEAREST = 24
"""Pages of each kind, those on which the hook held and those on which it is missing, that proposals are tried on."""

POOL = 40
"""Proposals for one hook that are tried."""


@dataclass
class Trial:
    """How a proposal did on the pages at hand.

    Attributes:
        rank: how durable it is: 0 an id, 1 attributes, 2 a place in the structure, 3 class names.
        right: pages on which it finds just what the hook finds.
        wrong: pages on which it finds something else, or where there is nothing to be found.
        absent: pages on which the hook finds something and it finds nothing.
        repaired: pages on which the hook is missing and it finds something that is where it belongs.
        still_broken: those on which it does not.
        months: of the pages on which it was right or repaired.
    """

    rank: int
    right: int = 0
    wrong: int = 0
    absent: int = 0
    repaired: int = 0
    still_broken: int = 0
    months: set[str] = field(default_factory=set)

    def note(self, said: Sequence[Any], *, missing: bool, fits: bool, month: str) -> None:
        """Counts one page.

        Args:
            said: ``[found, placed, right]`` of ``page/repair.js``.
            missing: the hook is missing there.
            fits: what is found is as many as the hook may find, and all of it is where it has to be.
        """
        _, placed, right = said
        if right is None and not missing:
            self.wrong += placed > 0
        elif missing:
            self.repaired += fits
            self.still_broken += not fits
        else:
            self.right += bool(right)
            self.absent += not right and not placed
            self.wrong += not right and placed > 0
        if right or (missing and fits):
            self.months.add(month)

    def order(self, css: str) -> tuple[Any, ...]:
        """What comes first is better: what mends, errs least, lasts, is told by a value, is short."""
        tried = max(self.right + self.wrong + self.absent, 1)
        broken = max(self.repaired + self.still_broken, 1)
        return (
            -round(self.repaired / broken, 1),
            round(10 * (self.absent + 2 * self.wrong) / tried),
            self.rank,
            self.absent + 2 * self.wrong,
            "=" not in css,
            len(css),
            css,
        )


@dataclass(frozen=True)
class Repair:
    """A selector proposed in place of one that is missing.

    Attributes:
        engine: the engine's name.
        hook: the one that is missing.
        css: what to use in its place.
        trial: how it did on the pages at hand.
    """

    engine: str
    hook: Hook
    css: str
    trial: Trial

    @property
    def part(self) -> str:
        """What both find."""
        return self.hook.part

    @property
    def line(self) -> str:
        """The line for the engine's file, with its evidence."""
        trial = self.trial
        seen = trial.right + trial.repaired
        told = f"verify: right on {seen} of {seen + trial.wrong + trial.absent + trial.still_broken} pages"
        months = sorted(trial.months) or [""]
        held = f'("{months[0]}", "{months[-1]}")'
        rest = "".join(
            f", {name}={value!r}"
            for name, value, usual in (
                ("name", self.hook.name, ""),
                ("expected", self.hook.expected, (0, None)),
                ("when", self.hook.when, ""),
            )
            if value != usual
        )
        css = json.dumps(self.css, ensure_ascii=False)
        return f'Hook("{self.part}", {css}, "{kind_of(self.css)}", "{self.hook.trust}", "{told}", {held}{rest}),'

    @property
    def override(self) -> str:
        """The entry for the user's own ``hooks.toml``; see :mod:`castlenb.engines.overrides`."""
        entry = {"part": self.part, "css": self.css, "instead_of": self.hook.css}
        # A string of JSON is one of TOML as well.
        told = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items())
        return "\n".join((f"[[{self.engine}]]", *told))

    def row(self) -> dict[str, Any]:
        """As ``Verification.repairs`` shows it."""
        trial = self.trial
        return {
            "engine": self.engine,
            "part": self.part,
            "hook": self.hook.css,
            "proposal": self.css,
            "kind": kind_of(self.css),
            "right": trial.right,
            "wrong": trial.wrong + trial.absent,
            "repaired": trial.repaired,
            "still_broken": trial.still_broken,
            "line": self.line,
        }


def ranked(trials: Mapping[str, Trial]) -> list[str]:
    """The proposals that mend something, the best first."""
    mending = {css: trial for css, trial in trials.items() if trial.repaired}
    return sorted(mending, key=lambda css: mending[css].order(css))


def fits(said: Sequence[Any], hook: Hook, engine: Engine) -> bool:
    """Whether a proposal finds as much as the hook may, where it has to be."""
    found, placed, _ = said
    most = hook.most
    whole = placed == found or not place_of(hook, engine).all
    return placed > 0 and whole and (most is None or found <= most)


Ask = Callable[[str], Awaitable[Any]]
"""Gives the value of an expression in our world of a page."""


async def proposals(
    pages: Sequence[tuple[Source, Seen]], also: Sequence[Hook], house: Browser, *, each: int = 3
) -> tuple[Repair, ...]:
    """Proposals for the hooks that are missing on the newest of these pages, ``each`` so many at the most."""
    found: list[Repair] = []
    async with OneTab(house) as tab:
        for name in dict.fromkeys(seen.engine for _, seen in pages):
            own = [(_opening(source, name, tab), seen) for source, seen in pages if seen.engine == name]
            found += await of_engine(engine_named(name), own, also, each=each)
    return tuple(found)


async def of_engine(
    engine: Engine, pages: Sequence[tuple[Ask, Seen]], also: Sequence[Hook], *, each: int = 3
) -> list[Repair]:
    """The same for pages of one engine, each with what asks it."""
    lost = [hook for hook in _missing([seen for _, seen in pages]) if hook not in also]
    if not lost:
        return []
    hooks = engine.checked()
    places = [hooks.index(hook) for hook in lost]
    chosen = _nearest(lost, pages)

    async def asked(ask: Ask, values: Iterable[str]) -> list[Any]:
        plain = [asked_of(hook, engine) for hook in hooks]
        expression = page.repair_expression(engine.spec(), plain, f"[{', '.join(values)}]")
        answer: list[Any] = json.loads(await ask(expression))
        return answer

    times: dict[Hook, Counter[str]] = {hook: Counter() for hook in lost}
    ranks: dict[str, int] = {}
    for ask, _ in chosen:
        for hook, proposed in zip(lost, await asked(ask, (f"repair.describe({n})" for n in places)), strict=True):
            times[hook].update(css for css, _ in proposed)
            ranks.update(proposed)
    trials = {hook: {css: Trial(ranks[css]) for css, _ in times[hook].most_common(POOL)} for hook in lost}
    tried = [f"repair.attempt({n}, {json.dumps(list(trials[hook]))})" for n, hook in zip(places, lost, strict=True)]
    for ask, seen in chosen:
        for hook, outcomes in zip(lost, await asked(ask, tried), strict=True):
            check = next(check for check in seen.checks if check.hook == hook)
            _note(trials[hook], outcomes, check, engine, seen.at[:7])
    return [Repair(engine.name, hook, css, trials[hook][css]) for hook in lost for css in ranked(trials[hook])[:each]]


def _missing(pages: Sequence[Seen]) -> list[Hook]:
    """The hooks that most of the newest month's pages lack, of those that tell."""
    told: dict[Hook, dict[str, list[bool]]] = {}
    for seen in pages:
        for check in seen.checks:
            if check.verdict == "missing" or check.found["placed"]:
                told.setdefault(check.hook, {}).setdefault(seen.at[:7], []).append(check.verdict == "missing")
    newest = {hook: months[max(months)] for hook, months in told.items()}
    return [hook for hook, lacks in newest.items() if sum(lacks) * 2 > len(lacks)]


def _note(trials: Mapping[str, Trial], outcomes: Iterable[Any], check: Check, engine: Engine, month: str) -> None:
    for trial, said in zip(trials.values(), outcomes, strict=True):
        trial.note(said, missing=check.verdict == "missing", fits=fits(said, check.hook, engine), month=month)


def _nearest(lost: Sequence[Hook], pages: Sequence[tuple[Ask, Seen]]) -> list[tuple[Ask, Seen]]:
    """The newest pages on which one of the hooks is missing, and the newest on which one held."""
    chosen: dict[int, tuple[Ask, Seen]] = {}
    for hook in lost:
        for missing in (True, False):
            of_kind = [
                n
                for n, (_, seen) in enumerate(pages)
                for check in seen.checks
                if check.hook == hook
                and (
                    check.verdict == "missing" if missing else check.found["placed"] or check.verdict == "not_judgeable"
                )
            ]
            chosen.update((n, pages[n]) for n in of_kind[-NEAREST:])
    return [chosen[n] for n in sorted(chosen)]


def _opening(source: Source, engine: str, tab: OneTab) -> Ask:
    """What asks a saved page: it is opened for each question."""

    async def ask(expression: str) -> Any:
        opened = await tab.show(source.kept, engine=engine)
        await opened.aread()
        return await opened.aevaluate(expression)

    return ask
