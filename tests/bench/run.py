"""castlenb beside its peers: ``make bench``, or ``python -m tests.bench.run [MEASURE…]``.

Prints a table, writes ``build/bench.json`` and ends with 1 where a row misses its limit. Named measures only are run
where any are named; rows of the others stay in the file as they were.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from . import (
    capturing,
    reading,
    repairing,
    searching,
    simulating,
    starting,
    studying,
    talking,
    timing,
    verifying,
    watching,
)
from .rows import MEASURES, Row

# Importing them registers their measures.
THEMES = (
    starting,
    talking,
    reading,
    searching,
    watching,
    timing,
    capturing,
    verifying,
    repairing,
    studying,
    simulating,
)
RESULT = Path("build/bench.json")
COLUMNS = ("name", "unit", "value", "peer value", "ratio", "≤ 95 %", "limit", "n", "")


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in MEASURES]:
        print(f"bench: no measure is called {', '.join(unknown)}; there are {', '.join(MEASURES)}", file=sys.stderr)
        return 2
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > 1:
        print(f"the machine is busy (load {load:.1f}): values will be too high, and ratios are drawn towards 1")
    rows: list[Row] = []
    _print_line(COLUMNS)
    for name in names or MEASURES:
        for row in MEASURES[name]():
            _print_line(_cells(row))
            rows.append(row)
    _write(rows, keep=bool(names))
    missed = [row for row in rows if row.missed]
    for row in missed:
        assert row.limit is not None
        measured = getattr(row, row.limit.on)
        print(
            f"bench: {row.name} missed its limit: {row.limit.on} {measured:.3g} > {row.limit.at_most:g}",
            file=sys.stderr,
        )
    return 1 if missed else 0


def _cells(row: Row) -> tuple[str, ...]:
    limit = row.limit and f"{'ratio ' if row.limit.on == 'ratio_high' else ''}≤ {row.limit.at_most:g}"
    verdict = "MISSED" if row.missed else "ok" if row.limit else ""
    said = row.why or f"{verdict:<6}" + (f"  ({row.peer})" if row.peer else "")
    figures = (row.value, row.peer_value, row.ratio, row.ratio_high)
    value, peer_value, ratio, ratio_high = ("" if figure is None else f"{figure:.3g}" for figure in figures)
    return row.name, row.unit, value, peer_value, ratio, ratio_high, limit or "", str(row.n), said


def _print_line(cells: tuple[str, ...]) -> None:
    widths = (28, 4, -8, -10, -6, -6, 13, -4, 0)
    padded = (
        f"{cell:>{-width}}" if width < 0 else f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)
    )
    print("  ".join(padded).rstrip(), flush=True)


def _write(rows: Iterable[Row], *, keep: bool) -> None:
    known = json.loads(RESULT.read_text()) if keep and RESULT.exists() else {}
    for row in rows:
        known[row.name] = {
            "value": row.value,
            "unit": row.unit,
            "peer": row.peer,
            "peer_value": row.peer_value,
            "ratio": row.ratio,
            "ratio_high": row.ratio_high,
            "n": row.n,
        }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(known, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
