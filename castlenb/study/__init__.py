"""Studies of latency: planned, run, recorded.

>>> from castlenb import study
>>> plan = study.plan(["how does a heat pump work"], repeats=5)                 # doctest: +SKIP
>>> run = study.run(plan, journal="heat-pumps.jsonl")                           # doctest: +SKIP
>>> run.latency_table()                                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import bridge
from . import running
from .planning import plan, query_class
from .run_record import Run

run = bridge.plain(running.run)


def combine(runs: Iterable[Run]) -> Run:
    """Several runs as one. See :func:`castlenb.study.combining.combine`."""
    from .combining import combine

    return combine(runs)


__all__ = ["Run", "combine", "plan", "query_class", "run"]
