"""Studies of latency: planned, run, recorded.

>>> from castlenb import study
>>> run = study.Run.load("journal.jsonl")               # doctest: +SKIP
>>> run.trials                                          # doctest: +SKIP
"""

from __future__ import annotations

from .run_record import Run

__all__ = ["Run"]
