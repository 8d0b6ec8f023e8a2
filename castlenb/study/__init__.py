"""Studies of latency: planned, run, recorded.

>>> from castlenb import study
>>> plan = study.plan(["how does a heat pump work"], repeats=5)                 # doctest: +SKIP
>>> run = study.run(plan, journal="heat-pumps.jsonl")                           # doctest: +SKIP
>>> run.trials                                                                  # doctest: +SKIP
"""

from __future__ import annotations

from .. import bridge
from . import running
from .planning import plan, query_class
from .run_record import Run

run = bridge.plain(running.run)

__all__ = ["Run", "plan", "query_class", "run"]
