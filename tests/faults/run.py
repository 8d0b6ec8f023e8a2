"""``make faults``: every fault, a table of what came of it, and build/faults.json.

python -m tests.faults.run [--quick] [--only WORDS]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# Before castlenb is used: nothing of the user's own is read or written.
os.environ["XDG_STATE_HOME"] = os.environ.get("CASTLENB_FAULTS_STATE") or tempfile.mkdtemp(prefix="castlenb-faults-")

from castlenb import display

from .cases import FAULTS
from .journals import JOURNALS
from .stage import Row, Stage, as_json, played

# A page may take this much of the machine's memory, and windows are let through, which Chrome would else keep shut.
CHROMIUM = ("--js-flags=--max-old-space-size=96", "--disable-popup-blocking")

OUT = Path("build/faults.json")


def run(only: str = "", quick: bool = False) -> list[Row]:
    chosen = [fault for fault in [*FAULTS, *JOURNALS] if only in fault.name and (fault.quick or not quick)]
    rows = []
    with Stage(CHROMIUM) as stage:
        for fault in chosen:
            rows.append(played(stage, fault))
            print(f"{'ok  ' if rows[-1].ok else 'NOT '} {fault.name}: {rows[-1].got} {rows[-1].why}", flush=True)
    return rows


def table(rows: list[Row]) -> str:
    columns = ("fault", "the caller got", "after, s", "allowed, s", "tabs left", "usable", "person's tabs", "")
    cells = [
        [row.fault, row.got[:40], f"{row.seconds:.1f}", f"{row.allowed_s:g}", row.tabs_left,
         "yes" if row.usable else "NO", row.persons_tabs, "" if row.ok else f"WRONG: {row.why}"]
        for row in rows
    ]  # fmt: skip
    return display.table_text(columns, cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="those that a test plays as well")
    asked = parser.parse_args()
    rows = run(asked.only, asked.quick)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(as_json(rows), "utf-8")
    print(table(rows))
    wrong = [row for row in rows if not row.ok]
    print(f"{len(rows)} faults, {len(wrong)} not as they should be; {OUT}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
