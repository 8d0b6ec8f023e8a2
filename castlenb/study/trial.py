"""One trial: a visit with the horizon as its rule, and the plain record that is made of it."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..browser import Browser
from ..engines import Engine
from ..engines import engine as engine_named
from ..errors import CallTimeout, CastleError, ConnectionLost, EndpointError, SearchTimeout, SessionLost, redact
from ..manners import Turn
from ..pacing import PaceLike
from ..visit import AnswerRule, Errand, Rule, Visit, Visitor, open_visitor
from .journal import Record
from .records import BLOCKED_OUTCOMES, CHILDREN, PLAN, TRIALS, VALID_OUTCOMES, own_columns

log = logging.getLogger("castlenb")

Trial = Mapping[str, Any]
"""A row of the plan."""

JITTER = 0.2
"""Of what was waited for a turn, at most, added by chance."""

RECYCLE_S = 60.0
"""How long a Chrome may be gone between two trials: one that is recycled is back within seconds."""

_GONE = (EndpointError, ConnectionLost, SessionLost, CallTimeout, SearchTimeout)
"""What can come of that before the engine was asked."""


@dataclass(frozen=True)
class Settings:
    """What all trials of a run have in common. Plain data: it is sent to other processes and hosts.

    Attributes:
        run_id: the run.
        horizon_s: how long each page is watched, by its own clock.
        quiet_ms: the window W.
        results: how many results make a page complete.
        pace: how fast each engine may be asked, as for :func:`castlenb.search`.
        deadline_s: what a page may take beyond the horizon (client clock).
        hl, gl: language and country, as for :func:`castlenb.search`.
    """

    run_id: str
    horizon_s: float
    quiet_ms: int
    results: int
    pace: PaceLike
    deadline_s: float
    hl: str
    gl: str | None

    def rule(self) -> Rule:
        """The rule of each visit: the horizon, whatever there is to see."""
        return Rule(self.results, answer=AnswerRule(0.0, quiet_ms=self.quiet_ms, horizon_s=self.horizon_s))


@dataclass
class Sitting:
    """What has happened so far in one Chrome. Plain data, times since 1970: it goes from one worker to another.

    Attributes:
        vantage: label of its place.
        dropped: why an engine is asked no more, by name.
        sent: when each engine was last sent to.
    """

    vantage: str
    dropped: dict[str, str] = field(default_factory=dict)
    sent: dict[str, float] = field(default_factory=dict)

    def gap(self, engine: str) -> float | None:
        """Notes that the engine is sent to now; returns the seconds since it last was."""
        now = time.time()
        last, self.sent[engine] = self.sent.get(engine), now
        return None if last is None else round(now - last, 3)

    def drop(self, trial: Trial, why: str) -> None:
        """Ends the asking of the trial's engine.

        The stop rule of a study, and its only one: it is fixed, so that no result can have a say in when a study ends.
        """
        self.dropped[trial["engine"]] = f"{why}, at {trial['trial_id']}"
        log.warning("%s is asked no more in this study: %s", trial["engine"], why)


async def measured(
    trials: Iterable[Trial],
    house: Browser,
    settings: Settings,
    sitting: Sitting,
    tell: Callable[[Trial, str], None] = lambda trial, state: None,
) -> AsyncIterator[Record]:
    """The trials, one at a time; each one's tab is made in the pause before it, never beside another trial.

    Args:
        tell: hears what is being done: ``waiting``, ``watching``.

    Yields:
        Records; trials of engines that turn us away are passed over from then on.

    Raises:
        EndpointError: the Chrome has gone and not come back within :data:`RECYCLE_S`.
    """
    for trial in trials:
        if trial["engine"] not in sitting.dropped:
            record = await _measured(trial, house, settings, sitting, tell)
            if record is not None:
                yield record


async def _measured(
    trial: Trial, house: Browser, settings: Settings, sitting: Sitting, tell: Callable[[Trial, str], None]
) -> Record | None:
    gone_since: float | None = None
    while True:
        attempt = _Attempt(trial, house, settings, sitting)
        try:
            return await attempt.made(tell)
        except CastleError as failed:
            if attempt.sent:
                return attempt.failed(failed)
            if not isinstance(failed, _GONE):
                raise
            now = time.monotonic()
            gone_since = gone_since or now
            if now - gone_since > RECYCLE_S:
                raise
            log.info("%s: %s; trying again", house.address, failed)
            await asyncio.sleep(1)


class _Attempt:
    """One visit for a trial, and the record of how it went."""

    def __init__(self, trial: Trial, house: Browser, settings: Settings, sitting: Sitting) -> None:
        self._trial = trial
        self._house = house
        self._settings = settings
        self._sitting = sitting
        self._engine: Engine = engine_named(trial["engine"])
        self._url = self._engine.search_url(
            trial["query"], hl=settings.hl, gl=settings.gl, ai_answer=trial["layout"] != "web"
        )
        self._turn = Turn()
        self._gap_s: float | None = None
        self._started_at = datetime.now(UTC)
        self._began = time.perf_counter()
        self.sent = False

    async def made(self, tell: Callable[[Trial, str], None]) -> Record | None:
        """The record; ``None`` where the engine is in a cool-down, and was not asked."""
        trial, settings = self._trial, self._settings
        engine, query = self._engine.name, trial["query"]
        tell(trial, "waiting")
        async with self._house.turn({engine: 1}, pace=settings.pace) as self._turn:
            if block := self._turn.refused.get(engine):
                self._sitting.drop(trial, f"it turned us away ({block.kind}) at {block.since:%Y-%m-%d %H:%M} UTC")
                return None
            async with open_visitor(
                Errand(self._engine, query, self._house),
                visibility=trial["visibility"],
                deadline_s=settings.deadline_s,
                answers=True,
                network=True,
            ) as visitor:
                # By chance, so that a study does not beat in time with anything.
                await asyncio.sleep(self._turn.queued_ms / 1000 * random.uniform(0, JITTER))
                tell(trial, "watching")
                record = self._record(await self._go(visitor))
        found = record["trial"]
        if block := await self._house.came(self._turn, engine, query, found["outcome"], found["challenge_kind"]):
            self._sitting.drop(trial, f"it turns us away ({block.kind})")
        return record

    async def _go(self, visitor: Visitor) -> Visit:
        visitor.restart_clock(self._settings.horizon_s + self._settings.deadline_s)
        if visitor.tab.session.lost is not None:
            raise visitor.tab.session.lost  # while its pace was waited for: nothing was asked of the engine
        self.sent = True
        self._gap_s = self._sitting.gap(self._trial["engine"])
        self._started_at, self._began = datetime.now(UTC), time.perf_counter()
        return await visitor.go(self._url, self._settings.rule())

    def failed(self, error: CastleError) -> Record:
        """The record of a visit that came to no end of its own."""
        outcome = "lost" if isinstance(error, (EndpointError, ConnectionLost, SessionLost)) else "error"
        cut = error.page if isinstance(error, SearchTimeout) and isinstance(error.page, Visit) else None
        return self._record(cut, outcome=outcome, error=type(error).__name__, error_message=str(error))

    def _record(self, visit: Visit | None, **ending: str) -> Record:
        trial = dict.fromkeys(TRIALS)
        trial.update({name: self._trial[name] for name in PLAN})
        trial.update(
            run_id=self._settings.run_id,
            vantage=self._sitting.vantage,
            started_at=self._started_at.isoformat(timespec="microseconds"),
            gap_s=self._gap_s,
            url=self._url,
            horizon_ms=self._settings.horizon_s * 1000,
            quiet_ms=self._settings.quiet_ms,
            focus_emulated=self._trial["visibility"] == "emulated",
            chrome_id=self._house.chrome_id,
            queued_ms=round(self._turn.queued_ms, 1),
            call_total_ms=round((time.perf_counter() - self._began) * 1000, 1),
        )
        record: Record = {"trial": trial}
        if visit is not None:
            trial.update(_page(visit), **_clocks(visit))
        trial.update(ending)
        if visit is not None and trial["outcome"] in VALID_OUTCOMES:
            trial.update(_answer(visit), **_early(visit))
            record.update(_rows(visit))
        return record


def _page(visit: Visit) -> dict[str, Any]:
    reading, times = visit.reading, visit.timings()
    outcome = reading["page_state"]
    names = ("parse_ready_ms", "results_complete_ms", "response_end_ms", "parsed_ms", "loaded_ms")
    # The address of a refusal holds the client's own, in the values of its query.
    final_url = redact(reading["url"]) if outcome in BLOCKED_OUTCOMES else reading["url"]
    return {
        "outcome": outcome,
        "challenge_kind": reading["challenge_kind"],
        "final_url": final_url,
        "http_status": visit.status,
        "documents": visit.documents,
        "n_results": len(reading["results"]),
        **{name: times[name] for name in names},
    }


def _clocks(visit: Visit) -> dict[str, Any]:
    timeline, offset = visit.timeline, visit.offset_ms
    gaps = sorted(timeline["heartbeat"]["gaps"])
    origin_ms = timeline["origin_ms"] - offset
    return {
        "observed_ms": round(timeline["observed_ms"] + offset, 1),
        "hidden_ms": round(_hidden(timeline["visibility"], timeline["observed_ms"]), 1),
        "heartbeat_median_gap_ms": round(gaps[len(gaps) // 2], 1) if gaps else None,
        "heartbeat_max_gap_ms": round(gaps[-1], 1) if gaps else None,
        "nav_offset_ms": round(origin_ms - visit.started_at.timestamp() * 1000, 1),
    }


def _hidden(entries: Iterable[tuple[float, str]], end: float) -> float:
    """How long a page was hidden, from its own entries ``(since, state)``, until ``end``."""
    since = list(entries)
    until = [start for start, _ in since[1:]] + [end]
    return sum(max(0.0, stop - start) for (start, state), stop in zip(since, until, strict=True) if state == "hidden")


def _answer(visit: Visit) -> dict[str, Any]:
    watched, said, times = visit.timeline["answer"], visit.answer or {}, visit.timings()
    state = watched["state"]
    appeared = times["ai_appear_ms"] is not None
    if state in ("growing", "settled"):
        state = "settled" if visit.settled_by else "growing"
    names = ("ai_shell_ms", "ai_loading_ms", "ai_appear_ms", "ai_declined_ms", "ai_settle_ms")
    text = said.get("text")
    return {
        "ai_state": state,
        "settled_by": visit.settled_by,
        **{name: times[name] for name in names},
        "ai_settle_censored": visit.settled_by is None if appeared else None,
        "ai_settle_observed_ms": _later(watched["words_ms"], visit.offset_ms) if appeared else None,
        "ai_chars": watched["changes"][-1][2] if appeared else None,
        "ai_text_chars": None if text is None else len(text),
        "ai_citations": len(said["citations"]) if text is not None else None,
        "ai_placement": said.get("placement"),
        "marker_ms": _later(watched["first"].get("settled"), visit.offset_ms),
        "markers": json.dumps({name: _later(ms, visit.offset_ms) for name, ms in watched["markers"].items()}),
    }


def _early(visit: Visit) -> dict[str, Any]:
    """What could have foretold an answer when the first result could be read."""
    seen = visit.timeline["answer"]["signals"].get("parse_ready")
    if seen is None or seen["state"] == "unsupported":
        return {}
    wrapper = any(seen["wrapper"].values())
    asked = [request["asked_ms"] for request in visit.requests or () if request["asked_ms"] is not None]
    return {
        "early_wrapper": wrapper,
        "early_loading": seen["state"] == "loading",
        "early_request": any(ms <= seen["t"] for ms in asked),
        "no_wrapper_stops": not wrapper,
    }


def _rows(visit: Visit) -> Record:
    offset, said = visit.offset_ms, visit.answer or {}
    growth = [
        {"t_ms": _later(t, offset), "chars": chars, "kind": state, "signature": signature}
        for t, state, chars, signature in visit.timeline["answer"]["changes"]
    ]
    requests = [
        {
            "url_host_and_path": request["host"] + request["path"],
            **{name: _later(request[name], offset) for name in ("asked_ms", "first_byte_ms", "last_byte_ms")},
            "bytes": request["bytes"],
        }
        for request in visit.requests or ()
    ]
    results = [{**row, "rank": rank} for rank, row in enumerate(visit.reading["results"], start=1)]
    rows = {"growth": growth, "citations": said.get("citations", []), "results": results, "requests": requests}
    return {
        name: {column: [row.get(column) for row in rows[name]] for column in own_columns(name)}
        for name in CHILDREN
        if rows[name]
    }


def _later(ms: float | None, offset_ms: float) -> float | None:
    return None if ms is None else round(ms + offset_ms, 1)
