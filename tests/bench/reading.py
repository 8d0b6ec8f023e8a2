"""What reading a real results page costs, inside the page."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence

import numpy as np

from castlenb import page
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import background_tab
from castlenb.engines import ENGINES, engine
from castlenb.lab import Chromium
from castlenb.replays import _Stand

from ..browser.real_pages import RealPage, pages
from .rows import Limit, Row, measure

LOADS = 3
LIMITS = {"google": (6.0, 12.0)}
"""Milliseconds at the median and at the 90th percentile; the other engines' figures are told for comparison."""

FIRST_READ = """globalThis.castlenb = new Promise((resolve) => document.addEventListener("DOMContentLoaded", () => {
  const began = performance.now();
  const said = JSON.stringify(reader.read());
  resolve([performance.now() - began, JSON.parse(said).results.length]);
}));"""


@measure
def real_pages() -> list[Row]:
    """The first read of each load, results to JSON, over each engine's saved pages that hold results.

    Read in the event that says the document is parsed: nothing has been laid out or styled by then, so what the reader
    needs of that is part of the figure. The reader has rehearsed on the blank page, as it has in a search.
    """
    return [row for name in ENGINES for row in _rows(name)]


def _rows(name: str) -> list[Row]:
    median, p90 = (Limit("value", most) for most in LIMITS[name]) if name in LIMITS else (None, None)
    parts = [(f"read_{name}_page_ms", 0.5, median), (f"read_{name}_page_p90_ms", 0.9, p90)]
    saved = [each for each in pages(name) if (each.scope, each.page_state) == ("core", "results")]
    if not saved:
        why = "not measured: the saved pages are not here"
        return [Row(part, "ms", None, 0, limit, why=why) for part, _, limit in parts]
    took = asyncio.run(_first_reads(name, saved))
    return [Row(part, "ms", float(np.quantile(took, share)), len(took), limit) for part, share, limit in parts]


async def _first_reads(name: str, several: Sequence[RealPage]) -> list[float]:
    whose = engine(name)
    prepare = [page.on_new_documents(page.script_with_reader(whose.spec(), FIRST_READ))]
    took: list[float] = []
    with Chromium() as chromium:
        connection = await Connection.open(await discover(f"http://{chromium.target}"))
        for saved in [*several] * LOADS:
            html = gzip.decompress(saved.file.read_bytes()).decode("utf-8", "replace")
            async with background_tab(connection, prepare=prepare) as tab:
                served = _Stand(whose)
                await served.load(tab, html, None)
                await served.intercept(tab)
                await tab.navigate(served.url)
                world = await tab.world(page.WORLD)
                ms, results = await tab.session.evaluate("castlenb", context_id=world, await_promise=True)
                assert results, f"{saved.name}: nothing was read, so reading it says nothing"
                took.append(ms)
        await connection.aclose()
    return took
