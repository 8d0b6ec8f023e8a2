"""What the first line of a notebook costs."""

from __future__ import annotations

import statistics
import subprocess
import sys

from .rows import Limit, Row, measure

STARTS = 15
CODE = "from time import perf_counter as now; began = now(); import castlenb; print(now() - began)"


@measure
def importing() -> list[Row]:
    """``import castlenb`` in a fresh interpreter, seconds; the first start only fills the disk's cache."""
    took = [
        float(subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout)
        for _ in range(STARTS + 1)
    ]
    return [Row("import_s", "s", statistics.median(took[1:]), STARTS, Limit("value", 0.3))]
