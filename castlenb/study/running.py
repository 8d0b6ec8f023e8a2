"""A plan, carried out: one trial at a time in each Chrome, each on disk before the next one begins."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..browser import Browser, BrowserLike, browser_for
from ..errors import JournalError, StudyError
from ..pacing import PaceLike, in_words, rates
from . import provenance
from .bar import Bar
from .block import Job, Lane, measure_block
from .journal import Journal, Record, gathered, plain_rows
from .locking import let_go
from .planning import CONDITIONS, ENGINES, checked, plan_hash
from .planning import plan as planned
from .records import PLAN, SCHEMA_VERSION
from .run_record import PathLike, Run
from .trial import Settings, Sitting, Trial, measured

if TYPE_CHECKING:
    import pandas as pd

BrowsersLike = Sequence[BrowserLike] | Mapping[str, BrowserLike] | None

SAME = ("plan_hash", "horizon_ms", "quiet_ms", "results", "hl", "gl", "engines_hash", "probe_hash")
"""Columns of ``runs`` that a journal has to agree in to be resumed: trials of different make are not one run."""


async def run(
    plan: pd.DataFrame,
    *,
    journal: PathLike | None = None,
    browser: BrowserLike = None,
    browsers: BrowsersLike = None,
    executor: Executor | None = None,
    horizon_s: float = 15.0,
    quiet_ms: int = 2000,
    results: int = 10,
    pace: PaceLike = None,
    deadline_s: float = 20.0,
    hl: str = "en",
    gl: str | None = None,
    vantage: str = "here",
    signed_in: str | None = None,
    network: str | None = None,
    progress: bool = True,
    growth: bool = False,
) -> Run:
    """Carries out a plan, one trial at a time in each Chrome, and returns all that was measured.

    Every trial is in the journal, on the disk, before the next begins. With a journal that is there already the study
    is resumed: what it holds is not measured again, and a trial that was cut off is. Tabs are made in the pause before
    their trial, never beside one.

    An engine that turns us away (it wants a person, or answers two unrelated queries in a row with an empty page that
    nothing explains) is asked no more, and the others go on; a study that is resumed after the cool-down asks it again.
    Nothing else ends a study before its plan does: no result has a say in it.

    Args:
        plan: made by :func:`castlenb.study.plan`.
        journal: a file; ``None`` for a new one, named for the run, in ``runs`` in the user's data folder.
        browser: a Browser, or what names a Chrome; ``None`` for the configured one.
        browsers: several of them, in place of ``browser``: each takes whole blocks, so that what is compared was
            measured in one place. A mapping gives each the label of its place (``vantage``).
        executor: measures the blocks, in place of this process: anything of ``concurrent.futures``, Dask's
            ``Client.get_executor(pure=False, resources={"chrome": 1})`` among it. Its workers need castlenb, and open
            connections of their own: to one of ``browsers`` each, a block at a time, or, where none is named, to the
            Chrome that is configured on their host, whose name is then the vantage. A block's trials come back, and
            are written, together.
        horizon_s: seconds each page is watched, by its own clock.
        quiet_ms: how long an answer has to stand unchanged at the horizon to count as settled without a sign.
        results: how many results make a page complete.
        pace: how fast each engine may be asked, as for :func:`castlenb.search`; what has to be waited for is drawn out
            by up to a fifth, by chance. The lab is asked without one.
        deadline_s: seconds that connecting and opening a page may take beside the horizon.
        hl, gl: language and country, as for :func:`castlenb.search`.
        vantage: label of the place that the Chrome looks at the web from.
        signed_in, network: labels for the record. Never an account's name.
        progress: show a bar, in a notebook or on a terminal.
        growth: draw how the answer of the last trial grew, with the bar.

    Raises:
        JournalError: the journal can not be written. Before the first query where that can be known; later on
            ``error.run`` holds all that was measured.
        RecordError: it is no journal, or a damaged one.
        StudyError: the plan makes no sense, or the journal is of another study.
        EndpointError, TargetError: the Chrome can not be had, or went away and did not come back within a minute.
        ValueError: an argument is out of its range.
    """
    table = checked(plan)
    for name, value in (("horizon_s", horizon_s), ("quiet_ms", quiet_ms), ("deadline_s", deadline_s)):
        if not 0 < value < 1e7:
            raise ValueError(f"{name} has to be more than 0, not {value!r}")
    if horizon_s * 1000 <= quiet_ms:
        raise ValueError(
            f"horizon_s has to be longer than quiet_ms: {horizon_s:g} s end before {quiet_ms} ms of quiet do"
        )
    if results < 1:
        raise ValueError(f"results has to be 1 or more, not {results!r}")
    kept = rates(pace)
    places = _places(browser, browsers, executor, vantage)
    if executor is None:
        for house in places.values():
            await house.open()
    client = await asyncio.to_thread(provenance.of_client)
    settings = Settings(_new_run_id(), horizon_s, quiet_ms, results, pace, deadline_s, hl, gl)
    header = {
        "plan_seed": int(table["seed"].iloc[0]),
        "plan_hash": plan_hash(table),
        "planned": len(table),
        **provenance.of_method(table["engine"].unique()),
        "horizon_ms": horizon_s * 1000,
        "quiet_ms": quiet_ms,
        "results": results,
        "pace": in_words(kept) or "off",
        "browsers": len(places) or None,
        "signed_in": signed_in,
        "network": network,
        "hl": hl,
        "gl": gl,
    }
    path = _journal_path(journal, settings.run_id)
    await let_go(path)
    study = _Study(table, settings, header, client, path, progress, growth)
    try:
        if executor is None:
            await study.sit(places)
        else:
            await study.spread(places, executor)
        return await asyncio.to_thread(study.so_far)
    except StudyError as failed:
        failed.run = study.so_far()
        raise
    finally:
        study.close()


async def measure(
    queries: Iterable[str] | Mapping[str, str] | None = None,
    *,
    engines: Sequence[str] = ENGINES,
    repeats: int = 3,
    horizon_s: float = 15.0,
    conditions: Mapping[str, Sequence[str]] = CONDITIONS,
    seed: int = 0,
    journal: PathLike | None = None,
    browser: BrowserLike = None,
    browsers: BrowsersLike = None,
    executor: Executor | None = None,
    pace: PaceLike = None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Measures when engines answer: :func:`castlenb.study.plan` and :func:`castlenb.study.run` in one.

    Args:
        queries, engines, repeats, conditions, seed: see :func:`castlenb.study.plan`.
        horizon_s, journal, browser, browsers, executor, pace, progress: see :func:`castlenb.study.run`.
        options: its others.

    Raises:
        what the two raise.
    """
    table = planned(queries, engines=engines, repeats=repeats, conditions=conditions, seed=seed)
    return await run(
        table,
        journal=journal,
        browser=browser,
        browsers=browsers,
        executor=executor,
        horizon_s=horizon_s,
        pace=pace,
        progress=progress,
        **options,
    )


class _Study:
    """A run under way.

    Args:
        header: columns of ``runs`` that are fixed when the run begins.
        client: those that tell of who measures, now.
        path: of the journal.
        progress: whether to show a bar.
        growth: whether to draw with it how the last answer grew.
    """

    def __init__(
        self,
        plan: pd.DataFrame,
        settings: Settings,
        header: Mapping[str, Any],
        client: Mapping[str, Any],
        path: Path,
        progress: bool,
        growth: bool,
    ) -> None:
        self._journal = Journal(path)
        self._chromes: list[dict[str, str]] = []
        self._dropped: dict[str, str] = {}
        self._ended = False
        try:
            self._settings = self._resumed(settings, header)
            records = [line for line in self._journal.lines if line["kind"] == "trial"]
            done = {line["trial"]["trial_id"] for line in records}
            self._seen = {(line["trial"]["chrome_id"], line["trial"]["engine"]) for line in records}
            rows = [{name: trial[name] for name in PLAN} for trial in plain_rows(plan)]
            left = [row for row in rows if row["trial_id"] not in done]
            self._blocks = deque(_by_block(left))
            self._journal.make_sure_of(len(left))
            first = {} if self._sittings > 1 else {"started_at": _now(), "load_start": provenance.load(), **header}
            self._note("run", sittings=self._sittings, **client, **first)
        except BaseException:
            self._journal.close()
            raise
        self._bar = Bar(len(rows), len(rows) - len(left), progress, growth)

    def _resumed(self, settings: Settings, header: Mapping[str, Any]) -> Settings:
        """The settings, with the run's own name where the journal holds one already."""
        begun = [line["run"] for line in self._journal.lines if line["kind"] == "run"]
        self._sittings = 1 + sum("sittings" in run for run in begun)
        if not begun:
            return settings
        for name in SAME:
            if begun[0].get(name) != header[name]:
                raise StudyError(
                    f"{self._journal.path} is the journal of another study: its {name} is {begun[0].get(name)!r}, and "
                    f"here it is {header[name]!r}. Resume it with what it was begun with, or name another file"
                )
        return replace(settings, run_id=begun[0]["run_id"])

    def _note(self, kind: str, **facts: Any) -> None:
        key = {"run_id": self._settings.run_id, "schema_version": SCHEMA_VERSION}
        self._journal.write({"kind": kind, "run": {**key, **facts}})

    async def sit(self, places: Mapping[str, Browser]) -> None:
        """Measures in this process: a Chrome takes the next block when it is done with one."""
        async with _all_or_none() as group:
            for vantage, house in places.items():
                group.create_task(self._sit(vantage, house))
        await asyncio.to_thread(self._end)

    async def _sit(self, vantage: str, house: Browser) -> None:
        sitting = Sitting(vantage)
        async for record in measured(self._trials(), house, self._settings, sitting, self._bar.tell):
            await self._take(record, provenance.of_chrome(house))
            self._drop(sitting)

    def _trials(self) -> Iterator[Trial]:
        while self._blocks:
            yield from self._blocks.popleft()

    async def spread(self, places: Mapping[str, Browser], executor: Executor) -> None:
        """Has an executor's workers measure: a block at a time in each Chrome that is named, else all it takes."""
        lanes = [Lane(house.target.address, Sitting(vantage)) for vantage, house in places.items()]
        async with _all_or_none() as group:
            for lane in lanes or [Lane(None, None)] * len(self._blocks):
                group.create_task(self._send(lane, executor))
        await asyncio.to_thread(self._end)

    async def _send(self, lane: Lane, executor: Executor) -> None:
        while self._blocks:
            job = Job(self._blocks.popleft(), self._settings, lane)
            found = await asyncio.wrap_future(executor.submit(measure_block, job))
            lane = Lane(lane.target, lane.sitting and found.sitting)
            for record, chrome in found.records:
                await self._take(record, chrome)
            self._drop(found.sitting)
            if found.error is not None:
                raise found.error
            if lane.sitting is None:
                return

    async def _take(self, record: Record, chrome: dict[str, str]) -> None:
        """Writes one trial down. The first of its engine in a Chrome is a warm-up, whatever the plan says: a study that
        is resumed, or spread over several, meets Chromes that have not yet connected to it."""
        trial = record["trial"]
        where = (trial["chrome_id"], trial["engine"])
        trial["warmup"] = trial["warmup"] or where not in self._seen
        self._seen.add(where)
        await asyncio.to_thread(self._journal.write, {"kind": "trial", **record})
        if chrome not in self._chromes:
            self._chromes.append(chrome)
            await asyncio.to_thread(self._note, "run", **self._where())
        self._bar.advance(record)

    def _where(self) -> dict[str, Any]:
        trials = [line["trial"] for line in self._journal.lines if line["kind"] == "trial"]
        vantages = dict.fromkeys(trial["vantage"] for trial in trials)
        return {**provenance.joined(self._chromes), "vantage": "; ".join(filter(None, vantages))}

    def _drop(self, sitting: Sitting) -> None:
        for engine, why in sitting.dropped.items():
            self._dropped[f"{sitting.vantage}: {engine}"] = why

    def _end(self) -> None:
        self._ended = True
        dropped = json.dumps(self._dropped) if self._dropped else None
        self._note("end", ended_at=_now(), load_end=provenance.load(), dropped=dropped)

    def so_far(self) -> Run:
        """What has been measured, that of earlier sittings included."""
        return Run(**gathered(self._journal.lines, self._journal.path))

    def close(self) -> None:
        """Lets go of the journal; whatever ended the sitting is noted as its end, as far as the disk takes it."""
        self._bar.close()
        if not self._ended:
            with contextlib.suppress(JournalError):
                self._end()
        self._journal.close()


@asynccontextmanager
async def _all_or_none() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group whose first failure is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def _by_block(trials: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    blocks: dict[int, list[dict[str, Any]]] = {}
    for trial in trials:
        blocks.setdefault(trial["block"], []).append(trial)
    return list(blocks.values())


def _places(
    browser: BrowserLike, browsers: BrowsersLike, executor: Executor | None, vantage: str
) -> dict[str, Browser]:
    """The Chromes by the label of their place."""
    if browsers is None:
        return {} if executor is not None and browser is None else {vantage: browser_for(browser)}
    if browser is not None:
        raise ValueError("give either browser or browsers")
    named = (
        browsers if isinstance(browsers, Mapping) else {f"{vantage} {n}": b for n, b in enumerate(browsers, start=1)}
    )
    houses = {label: browser_for(each) for label, each in named.items()}
    if not houses or len({house.target.address for house in houses.values()}) < len(houses):
        raise ValueError(
            "browsers has to name at least one Chrome, and each once: a second trial beside one spoils both"
        )
    return houses


def _journal_path(journal: PathLike | None, run_id: str) -> Path:
    if journal is not None:
        return Path(journal)
    from platformdirs import user_data_path

    return user_data_path("castlenb") / "runs" / f"{run_id}.jsonl"


def _new_run_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.urandom(3).hex()}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
