"""Real saved results pages, where this machine has them: other people's pages, which are no part of this repository."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import castlenb as cn
from castlenb import bridge
from castlenb.captures import read_each

FOLDER = Path(os.environ.get("CASTLENB_SERPS") or Path(__file__).resolve().parents[2].parent / "shared" / "serps")
"""``CASTLENB_SERPS``, or ``../shared/serps`` beside the project: pages, ``EXPECTED.tsv``, ``EXPECTED_URLS.json``."""

KNOWN = {"google": 78, "bing": 16, "brave": 4, "duckduckgo": 12}
"""How many pages of each engine there were when this was written; said where there are none."""

NAMES = {"ddg": "duckduckgo"}
"""Engines that the table calls otherwise."""

_ahead = ThreadPoolExecutor(1)
_read_pages: dict[str, Future[cn.SearchPage]] = {}

tested: set[str] = set()
"""The pages that a test of this run has read."""


@dataclass(frozen=True)
class RealPage:
    """A page and its right values; an empty string where they are not known.

    Attributes:
        file: the page, gzipped HTML.
        urls: the ordered targets; ``None`` for those that the page hides.
    """

    name: str
    file: Path
    engine: str
    scope: str
    page_state: str
    challenge_kind: str
    fewest: int
    most: int
    first_url: str
    last_url: str
    urls: tuple[str | None, ...]


def pages(engine: str) -> list[RealPage]:
    """The engine's pages; none where the folder is absent."""
    return list(_read(engine)) if FOLDER.is_dir() else []


def read(name: str, engine: str) -> cn.SearchPage:
    """The page as it is read; once a run, whoever asks. All of an engine's pages are read when the first is asked for,
    in a Chromium that nobody else waits for."""
    if name not in _read_pages:
        of_engine = pages(engine)
        _read_pages.update((each.name, Future()) for each in of_engine)
        _ahead.submit(bridge.run, _read_all(of_engine, engine))
    return _read_pages[name].result()


async def _read_all(of_engine: list[RealPage], engine: str) -> None:
    waiting = iter(of_engine)
    try:
        async for _, found in read_each([each.file for each in of_engine], engine=engine):
            future = _read_pages[next(waiting).name]
            if isinstance(found, cn.SearchPage):
                future.set_result(found)
            else:
                future.set_exception(found)
    except BaseException as failed:
        for each in waiting:
            _read_pages[each.name].set_exception(failed)
        raise


def tally() -> str:
    """The line that says how many of them were tested."""
    present = {engine: len(pages(engine)) for engine in KNOWN}
    return f"real pages: {len(tested)} of {sum(present[engine] or KNOWN[engine] for engine in KNOWN)} tested"


def _read(engine: str) -> Iterator[RealPage]:
    targets = json.loads((FOLDER / "EXPECTED_URLS.json").read_text())
    with (FOLDER / "EXPECTED.tsv").open(newline="") as table:
        for line in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            if NAMES.get(line["engine"], line["engine"]) != engine:
                continue
            yield RealPage(
                name=line["file"],
                file=FOLDER / line["file"],
                engine=engine,
                scope=line["scope"],
                page_state=line["page_state"],
                challenge_kind=line["challenge_kind"],
                fewest=int(float(line["n_results_min"] or line["n_results"] or 0)),
                most=int(float(line["n_results_max"] or line["n_results"] or 1_000)),
                first_url=line["first_url"],
                last_url=line["last_url"],
                urls=tuple(targets.get(line["file"], ())),
            )
