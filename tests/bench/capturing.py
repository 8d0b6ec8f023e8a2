"""What keeping a page takes, and how exactly its answer grows again."""

from __future__ import annotations

import time

import numpy as np

import castlenb as cn

from .rows import Limit, Row, measure

REPLAYS = 20
TIMES = ("ai_appear_ms", "ai_settle_ms")


@measure
def growth_replays() -> list[Row]:
    """How far the times of a replay's answer are from those of its capture, at the median of all replays and at worst;
    and how long taking that page takes."""
    with cn.Lab("2026-08-04") as lab:
        kept = cn.capture("who makes the best pour over kettle", deadline_s=60, browser=lab.browser)
        errors: dict[str, list[float]] = {name: [] for name in TIMES}
        with cn.replay(kept, growth=True, browser=lab.browser) as opened:
            for _ in range(REPLAYS):
                found = opened.read()
                for name in TIMES:
                    again, first = found.timings[name], kept.timings[name]
                    assert again is not None
                    assert first is not None
                    errors[name].append(abs(again - first))
        took = []
        with cn.replay(kept, browser=lab.browser) as opened:
            opened.read()
            for _ in range(REPLAYS):
                began = time.perf_counter()
                opened.capture()
                took.append((time.perf_counter() - began) * 1000)
    rows = []
    for name, off in errors.items():
        row = f"replay_{name.removesuffix('_ms')}_off"
        rows.append(Row(f"{row}_ms", "ms", float(np.median(off)), len(off), Limit("value", 20.0)))
        rows.append(Row(f"{row}_worst_ms", "ms", max(off), len(off), None))
    return [*rows, Row("capture_take_ms", "ms", float(np.median(took)), len(took), None)]
