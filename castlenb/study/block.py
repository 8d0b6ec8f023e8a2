"""One block, measured wherever an executor's worker runs: what is sent there, and what comes back."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from .. import bridge
from ..browser import browser_for
from ..errors import CastleError
from . import provenance
from .journal import Record
from .trial import Settings, Sitting, Trial, measured


@dataclass(frozen=True)
class Lane:
    """Where a block is measured.

    Attributes:
        target: the Chrome; ``None`` for the one that is configured where the worker runs.
        sitting: what has happened there so far; ``None`` where only the worker knows.
    """

    target: str | None
    sitting: Sitting | None


@dataclass(frozen=True)
class Job:
    """One block. Plain data, so that it can be sent anywhere.

    Attributes:
        trials: rows of the plan.
        settings: of the run.
        lane: where.
    """

    trials: Sequence[Trial]
    settings: Settings
    lane: Lane


@dataclass(frozen=True)
class Found:
    """What a block has given. Plain data.

    Attributes:
        records: of each trial its record, and the Chrome it was measured in (``provenance.of_chrome``).
        sitting: what has happened there by now.
        error: what kept the rest of the block from being measured, if anything.
    """

    records: list[tuple[Record, dict[str, str]]]
    sitting: Sitting
    error: CastleError | None


def measure_block(job: Job) -> Found:
    """Measures the block's trials, through a connection of the worker's own."""
    return bridge.run(_measure_block(job))


async def _measure_block(job: Job) -> Found:
    house = browser_for(job.lane.target)
    where = house.target.address
    sitting = job.lane.sitting or _sittings.setdefault((job.settings.run_id, where), Sitting(socket.gethostname()))
    async with _alone.setdefault(where, asyncio.Lock()):
        records, error = [], None
        try:
            async for record in measured(job.trials, house, job.settings, sitting):
                records.append((record, provenance.of_chrome(house)))
        except CastleError as failed:
            error = failed
        return Found(records, sitting, error)


_sittings: dict[tuple[str, str], Sitting] = {}
"""What has happened in the Chromes that this worker chose itself, by run and address."""

_alone: dict[str, asyncio.Lock] = {}
"""One trial at a time in each Chrome, where an executor's workers are threads of one process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone.clear)
    os.register_at_fork(after_in_child=_sittings.clear)
