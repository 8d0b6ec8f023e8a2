"""What a large study costs to be read: its journal loaded, its latency table and its policies."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from castlenb.study import Run
from castlenb.study.journal import lines_of

from ..made_studies import CLASSES, Model, study
from .rows import Limit, Row, measure

TRIALS, CHANGES = 100_000, 1_000_000
DRAWS = 1000


@measure
def study_scale() -> list[Row]:
    """Wall time, CPU time and peak memory of a fresh interpreter, from its first import on; one reading. The journal
    is made in another."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "large.jsonl"
        for step in ("make", "read"):
            command = [sys.executable, "-m", __name__, step, str(journal)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"  study_scale: {step} {found}", file=sys.stderr)
    assert found["trials"] >= TRIALS
    assert found["growth"] >= CHANGES
    n = found["trials"]
    return [
        Row("study_scale_s", "s", found["wall_s"], n, Limit("value", 15)),
        Row("study_scale_cpu_s", "s", found["cpu_s"], n, None),
        Row("study_scale_gb", "GB", found["peak_gb"], n, Limit("value", 2)),
    ]


def _make(journal: Path) -> dict[str, float]:
    models = {
        "google": Model(present=0.8, changes=12, blocked=0.02),
        "bing": Model(present=0.8, changes=12, blocked=0.02, marker=0.5),
        "brave": Model(present=0.8, changes=12, appear_ms=3000, gap_ms=500, pause_share=0.2),
    }
    run = study(models, queries=1000, repeats=TRIALS // 3000 + 1, seed=1, classes=CLASSES).run
    with journal.open("wb") as file:
        file.writelines(lines_of(run.frames()))
    return {"bytes": journal.stat().st_size}


def _read(journal: Path) -> dict[str, float]:
    run = Run.load(journal)
    table = run.latency_table(draws=DRAWS)
    policies = run.policies()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "trials": len(run.trials),
        "growth": len(run.growth),
        "rows": len(table) + len(policies),
        "peak_gb": peak / (1e9 if sys.platform == "darwin" else 1e6 / 1.024),
    }


if __name__ == "__main__":
    began = time.perf_counter()
    told = {"make": _make, "read": _read}[sys.argv[1]](Path(sys.argv[2]))
    print(json.dumps({**told, "wall_s": time.perf_counter() - began, "cpu_s": time.process_time()}))
