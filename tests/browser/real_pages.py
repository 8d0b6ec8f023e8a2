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

_two_at_a_time = ThreadPoolExecutor(2)
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


def read(name: str, engine: str, browser: cn.Browser) -> cn.SearchPage:
    """The page as it is read; once a run, whoever asks."""
    read_ahead(engine, browser)
    return _read_pages[name].result()


def read_ahead(engine: str, browser: cn.Browser) -> None:
    """Sets out to read all of an engine's pages, in two tabs, as a browser allows."""
    ahead = [each for each in pages(engine) if each.name not in _read_pages]
    for half in (ahead[::2], ahead[1::2]):
        _read_pages.update((each.name, Future()) for each in half)
        _two_at_a_time.submit(_read_half, half, engine, browser)


def _read_half(half: list[RealPage], engine: str, browser: cn.Browser) -> None:
    files = iter(half)

    async def read() -> None:
        async for _, found in read_each([each.file for each in half], engine=engine, browser=browser):
            future = _read_pages[next(files).name]
            if isinstance(found, cn.SearchPage):
                future.set_result(found)
            else:
                future.set_exception(found)

    try:
        bridge.run(read())
    except BaseException as failed:
        for each in files:
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
