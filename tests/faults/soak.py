"""Many searches over all engines, some cancelled midway, the Chrome recycled now and then: is anything left, or grown?

    python -m tests.faults.soak [SEARCHES] [--restart-every N] [--seed N]

Prints a row for every tenth of them and writes build/soak.json. Memory and descriptors are this process's, in which the
lab's server lives as well: it keeps the pages of the last few queries, so there are not many of these.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="castlenb-soak-")

import castlenb as cn
from castlenb import bridge
from castlenb.engines import ENGINES

from ..browser.conftest import Onlooker

OUT = Path("build/soak.json")


async def one(query: str, engine: str, lab: cn.Lab, cut_s: float | None) -> str:
    """What came of one search, in a word; cancelled after so long, where it is to be."""
    searching = asyncio.create_task(cn.aio.search(query, engine=engine, browser=lab.browser, deadline_s=20))
    if cut_s is not None:
        await asyncio.wait({searching}, timeout=cut_s)
        searching.cancel()
    try:
        page = await searching
    except asyncio.CancelledError:
        return "cancelled"
    except cn.CastleError as error:
        return type(error).__name__
    right = len(page) == 10 and page.engine == engine and query in page.url.replace("+", " ")
    return "right" if right and page.results["url"].is_unique else "WRONG"


async def many(lab: cn.Lab, searches: int, restart_every: int, dice: random.Random) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    came: Counter[str] = Counter()
    restarting: asyncio.Task[None] | None = None

    async def recycle() -> None:
        await asyncio.to_thread(lab.web.chromium.kill)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(lab.web.chromium.start, keep_profile=True)

    for number in range(1, searches + 1):
        cut_s = dice.uniform(0, 0.4) if dice.random() < 0.2 else None
        outcome = await one(f"soak {number % 25}", dice.choice(list(ENGINES)), lab, cut_s)
        came[outcome] += 1
        lab.web.server.requests.clear()
        if number % restart_every == 0 and number < searches:
            # Under the next searches, not between them.
            restarting = asyncio.create_task(recycle())
            await asyncio.sleep(dice.uniform(0, 0.3))
        elif restarting is not None and number % restart_every == 3:
            await restarting
        if number % max(1, searches // 10) == 0:
            gc.collect()
            rows.append({"searches": number, "memory_mb": _memory_mb(), "descriptors": _descriptors(lab), **came})
            print(json.dumps(rows[-1]), flush=True)
    if restarting is not None:
        await restarting
    return rows


def _memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def _descriptors(lab: cn.Lab) -> int:
    """Those of this process without the lab's server's, which are as many as Chromium likes."""
    mine = set()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            mine.add(os.readlink(f"/proc/self/fd/{number}"))
    port = f":{lab.web.server.port:04X}"
    lines = (line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:])
    return len(mine - {f"socket:[{line[9]}]" for line in lines if line[1].endswith(port)})


def soaked(searches: int, restart_every: int, seed: int) -> dict[str, object]:
    """The run, and what is wrong about it."""
    began = time.monotonic()
    with cn.Lab("instant") as lab:
        cn.search("warm up", browser=lab.browser)
        rows = bridge.run(many(lab, searches, restart_every, random.Random(seed)))
        assert len(cn.search("afterwards", browser=lab.browser)) == 10
        onlooker = Onlooker(lab.web.target)
        until = time.monotonic() + 10
        while (left := len(onlooker.tabs()) - 1) and time.monotonic() < until:
            time.sleep(0.1)
        with cn.connect(lab.web.target) as again:  # clears the list of what went down with a Chrome
            manners = again.manners()
    settled = rows[len(rows) // 5 :] or rows
    memory = [float(str(row["memory_mb"])) for row in settled]
    handles = [int(str(row["descriptors"])) for row in settled]
    typed = {name for row in rows for name in row} - {"searches", "memory_mb", "descriptors", "right", "cancelled"}
    wrong = []
    if left:
        wrong.append(f"{left} tabs left")
    if manners.tabs or manners.left_behind:
        wrong.append(f"the list still has {manners.tabs} + {manners.left_behind} tabs")
    if max(memory) > 1.1 * memory[0]:
        wrong.append(f"memory grew from {memory[0]} to {max(memory)} MB")
    if max(handles) > handles[0] + 3:
        wrong.append(f"descriptors grew from {handles[0]} to {max(handles)}")
    if "WRONG" in typed:
        wrong.append("a page was not that which was asked for")
    return {
        "searches": searches,
        "seconds": round(time.monotonic() - began, 1),
        "rows": rows,
        "errors": sorted(typed - {"WRONG"}),
        "wrong": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="?", type=int, default=1000)
    parser.add_argument("--restart-every", type=int, default=100, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    found = soaked(asked.searches, asked.restart_every, asked.seed)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1), "utf-8")
    print(
        f"{asked.searches} searches in {found['seconds']} s, errors: {found['errors']}, wrong: {found['wrong']}; {OUT}"
    )
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
