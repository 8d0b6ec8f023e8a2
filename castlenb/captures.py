"""Keeping results pages, and reading kept ones: captures, and pages that somebody saved."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .asked import Asked
from .browser import BrowserLike, browser_for
from .engines import engine as engine_named
from .errors import CaptureError, CastleError
from .pacing import PaceLike
from .refusals import check_refused, judge
from .replays import ALL, OneTab, chrome
from .results import SearchPage, page_from
from .snapshot import MAGIC, SUFFIX, Capture, PathLike, parsed, unpacked_file
from .taking import take, take_aside
from .visit import Errand, open_visitor

if TYPE_CHECKING:
    import pandas as pd

CORPUS = (
    "file",
    "engine",
    "query",
    "url",
    "captured_at",
    "page_state",
    "challenge_kind",
    "results",
    "answer_state",
    "settled_by",
    "frames",
    "ai_appear_ms",
    "ai_settle_ms",
    "redacted",
    "html_chars",
    "chrome",
    "version",
)
"""Columns of :func:`corpus`."""


async def capture(
    query: str,
    *,
    engine: str = "google",
    path: PathLike | None = None,
    ai_answer: bool = True,
    budget_s: float = 6.0,
    hl: str = "en",
    gl: str | None = None,
    visibility: str = "emulated",
    deadline_s: float = 40.0,
    pace: PaceLike = None,
    even_if_blocked: bool = False,
    browser: BrowserLike = None,
) -> Capture:
    """Searches as :func:`castlenb.search` does, and keeps the page itself once it has settled.

    What tells of the person in front of it is taken out first, by place (``Capture.redacted`` lists it): the account's
    menu, the footer's place and address, forms, inline data, tokens, pictures in the page. Text and links of results,
    answer and citations stay as they are read.

    Args:
        query: as typed into a search box.
        engine: which engine.
        path: where to save it too: a file, or a folder, in which it gets a name of its own.
        ai_answer: wait for the engine's AI answer, and keep its growth. Google is then asked for its classic layout.
        budget_s: seconds to wait for the answer once the page has been parsed.
        hl: language of the page, as the engine spells it.
        gl: country of the results, as the engine spells it; ``None`` leaves it to the engine.
        visibility: ``"emulated"`` keeps the page's timers running by focus emulation; ``"hidden"`` does not.
        deadline_s: seconds for connecting, opening, waiting and keeping together; waiting in line lies outside.
        pace, even_if_blocked: as for :func:`castlenb.search`.
        browser: a Browser, or what names a Chrome (see :func:`castlenb.connect`); ``None`` for the configured one.

    Returns:
        The page, redacted, with at least one result.

    Raises:
        SearchChallengeError, SuspectedBlockError, NoResultsError, UnparseableError: as a search raises them; where a
            page came, it is kept all the same, as ``error.capture``, and not saved.
        CaptureError: the page could not be taken.
        SearchTimeout, NavigationFailed, EndpointError, TargetError, TabClosed, TabCrashed, ConnectionLost: as a search.
        OSError: it could not be saved at ``path``.
        ValueError: an argument is out of its range.
    """
    asked = Asked(
        query,
        engine_named(engine),
        hl=hl,
        gl=gl,
        ai_answer=ai_answer,
        budget_s=budget_s,
        visibility=visibility,
        deadline_s=deadline_s,
        pace=pace,
        even_if_blocked=even_if_blocked,
    )
    house = browser_for(browser)
    errand = Errand(asked.engine, query, house)
    async with house.turn({asked.engine.name: 1}, pace=pace, even_if_blocked=even_if_blocked) as turn:
        check_refused(asked, house, turn)
        async with open_visitor(
            errand, visibility=visibility, deadline_s=deadline_s, answers=ai_answer, frames=ai_answer
        ) as visitor:
            visit = await visitor.go(asked.url(0), replace(asked.rule(0), results=ALL))
            page = page_from([visit], asked.engine, query, house)
            refused = None if page.page_state == "results" else await take_aside(visitor, visit, errand)
            await judge(page, visit.url, house, turn, refused)
            kept = await take(visitor, visit, errand)
    if path is not None:
        kept.save(path)
    return kept


def corpus(path: PathLike) -> pd.DataFrame:
    """All captures in a folder and the folders in it (``*.capture.gz``), one row each, the oldest first.

    Columns, string where nothing else is said: ``file`` (below ``path``), ``engine``, ``query``, ``url``,
    ``captured_at`` (datetime, UTC), ``page_state``, ``challenge_kind``, ``results`` (Int64, how many),
    ``answer_state``, ``settled_by``, ``frames`` (Int64, of the answer's growth), ``ai_appear_ms``, ``ai_settle_ms``
    (Float64, page clock), ``redacted`` (Int64, how many things went), ``html_chars`` (Int64), ``chrome``, ``version``
    (Int64, of the format). The same columns where there are none.

    Raises:
        CaptureError: a file is no capture, or damaged; ``failures`` has them all.
    """
    import pandas as pd

    folder = Path(path)
    if not folder.is_dir():
        raise CaptureError(f"{folder}: there is no such folder")
    rows, failures = [], {}
    for file in sorted(folder.rglob(f"*{SUFFIX}")):
        try:
            rows.append({"file": str(file.relative_to(folder)), **_row(Capture.load(file))})
        except CaptureError as failed:
            failures[os.fspath(file)] = failed
    if failures:
        first = next(iter(failures.values()))
        raise CaptureError(f"{len(failures)} of {len(failures) + len(rows)} captures: {first}", failures=failures)
    kinds = dict.fromkeys(CORPUS, "string")
    kinds |= dict.fromkeys(("results", "frames", "redacted", "html_chars", "version"), "Int64")
    kinds |= {"captured_at": "datetime64[us, UTC]", "ai_appear_ms": "Float64", "ai_settle_ms": "Float64"}
    return (
        pd.DataFrame(rows, columns=list(CORPUS))
        .astype(kinds)
        .sort_values("captured_at", kind="stable", ignore_index=True)
    )


def _row(kept: Capture) -> dict[str, Any]:
    return {
        **{name: getattr(kept, name) for name in ("engine", "query", "url", "captured_at", "chrome", "version")},
        **{
            name: kept.found.get(name)
            for name in ("page_state", "challenge_kind", "results", "answer_state", "settled_by")
        },
        **{name: kept.timings.get(name) for name in ("ai_appear_ms", "ai_settle_ms")},
        "frames": len(kept.growth),
        "redacted": sum(each.get("count", 1) for each in kept.redacted),
        "html_chars": len(kept.html),
    }


async def read_each(
    files: Iterable[PathLike], *, engine: str | None = None, url: str | None = None, browser: BrowserLike = None
) -> AsyncIterator[tuple[PathLike, SearchPage | CastleError]]:
    """Reads saved pages, one after the other in one Chrome; a page that can not be read is yielded as its error.

    Args:
        files: captures, and HTML files, gzipped ones among them.
        engine: whose pages they are; ``None`` lets each page tell.
        url: the address they had; see :func:`replaying`.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium for all of them.

    Raises:
        LabError, EndpointError, TargetError: the Chrome can not be had.
    """
    async with chrome(browser) as house, OneTab(house) as tab:
        for file in files:
            found: SearchPage | CastleError
            try:
                opened = await tab.show(source_of(file), engine=engine, url=url)
                found = await opened.aread()
            except CastleError as failed:
                await tab.close()
                found = failed
            yield file, found


async def read(
    files: PathLike | Iterable[PathLike],
    *,
    engine: str | None = None,
    url: str | None = None,
    browser: BrowserLike = None,
) -> list[SearchPage]:
    """Reads captures and saved results pages, with the reader that a live search uses.

    A page is returned whatever its state: ``page_state`` tells results from a refusal, and nothing is raised for it.

    Args:
        files: one file or several: captures, or HTML; ``.gz`` is unpacked.
        engine: whose pages they are; ``None`` lets each page tell.
        url: the address they had; ``None`` for the engine's results page of the query in the page's search box.
        browser: the Chrome to use; ``None`` starts a throwaway Chromium, which needs one installed.

    Raises:
        CaptureError: some file could not be read; ``pages`` holds those that could, ``failures`` each file's error.
        LabError: no throwaway Chromium could be started.
    """
    several = [files] if isinstance(files, str | os.PathLike) else list(files)
    pages: list[SearchPage] = []
    failures: dict[str, CastleError] = {}
    async for file, found in read_each(several, engine=engine, url=url, browser=browser):
        if isinstance(found, SearchPage):
            pages.append(found)
        else:
            failures[os.fspath(file)] = found
    if failures:
        first, error = next(iter(failures.items()))
        count = f" ({len(failures)} of {len(several)} files failed)" if len(several) > 1 else ""
        raise CaptureError(f"{first} could not be read{count}: {error}", pages=pages, failures=failures) from error
    return pages


def source_of(path: PathLike) -> str | Capture:
    """A saved page's text, or the capture that a file holds.

    Raises:
        CaptureError: it is missing, empty, damaged or too large.
    """
    raw = unpacked_file(path)
    if raw.startswith(MAGIC):
        return parsed(raw, os.fspath(path))
    if not raw.strip():
        raise CaptureError(f"{os.fspath(path)}: the file is empty")
    declared = re.search(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)", raw[:4096], re.IGNORECASE)
    try:
        return raw.decode(declared[1].decode("ascii") if declared else "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")
