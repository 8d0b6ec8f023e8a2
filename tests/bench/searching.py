"""A whole search, beside Playwright at its best."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from time import perf_counter
from typing import Any

from playwright.async_api import BrowserContext, async_playwright

import castlenb
from castlenb import aio, page
from castlenb.engines import ENGINES, engine
from castlenb.lab import Chromium, FakeWeb, Request, Scenario
from castlenb.lab.google import Google
from castlenb.lab.server import Reply

from .rows import PAIRS, Row, beside, in_pairs, measure

QUERY = "pour over coffee ratio"
RESULTS = 10
READER = page.reader_expression(engine("google").spec())
PARSED = "document.readyState !== 'loading'"
PEER = "playwright"

REST_S = 0.3
"""Before each search: a Chrome that has closed a tab ends one process and starts another, for about so long."""

Took = tuple[float, float]
"""Milliseconds of the whole call, and from the page's last byte being written to the end of the call."""


BARE_ROW = """<div data-rpos="{n}"><div data-snf data-snhf="0">
<a href="https://site{n}.example/page"><h3>The title of number {n}</h3><cite>https://site{n}.example › page</cite></a>
</div><div data-sncf="1">What number {n} says of it, in so many words, and then in as many words again.</div></div>"""
BARE = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{QUERY} - Google</title></head><body>
<div id="rcnt"><div id="center_col"><div id="search"><div id="rso">
{"".join(BARE_ROW.format(n=n) for n in range(RESULTS))}
</div></div></div></div></body></html>"""


@measure
def searches() -> list[Row]:
    """Ten results of a page that comes at once, from the call to the results in hand, the tab closed again.

    Each side has a Chromium of its own: Playwright attaches itself to every tab that opens in the one it is connected
    to, which would slow ours. Both are connected beforehand, and both use the same reader under the same rule: as many
    results as asked for, or a parsed document.

    What Chrome needs for the page is the same on both sides and draws the ratio towards 1. So the limits are on a page
    of ten rows and nothing else; the lab's page, with a head, forms and a style sheet, is told beside it.
    """
    limited = _on_a_page("search_{}", BARE, at_most=0.65, pairs=2 * PAIRS)
    return limited + _on_a_page("search_full_page_{}", None, at_most=None, pairs=PAIRS)


@measure
def comparisons() -> list[Row]:
    """Four engines at the same time, beside the slowest of them alone, each as slow as the field notes saw it.

    On pages that come at once it would be the processors' figure: four tabs need four times what one does.
    """

    async def compared() -> float:
        began = perf_counter()
        found = await aio.compare(QUERY, browser=browser)
        assert len(found.pages) == len(ENGINES), found.errors
        return (perf_counter() - began) * 1000

    async def slowest() -> float:
        took = []
        for name in ENGINES:
            await asyncio.sleep(REST_S)
            began = perf_counter()
            await aio.search(QUERY, engine=name, browser=browser)
            took.append((perf_counter() - began) * 1000)
        return max(took)

    with FakeWeb("2026-08-04") as web, castlenb.connect(web.target) as browser:
        four, one = asyncio.run(in_pairs(compared, slowest, pairs=PAIRS // 2, rest_s=REST_S))
    return [beside("compare_total_ms", "ms", four, one, peer="slowest alone", at_most=1.5)]


def _on_a_page(name: str, html: str | None, *, at_most: float | None, pairs: int) -> list[Row]:
    with FakeWeb("instant") as web, _last_byte(html) as last_byte:
        rules, trusted = web.server.resolver_rules, (web.server.trusted_key,)
        with Chromium(resolver_rules=rules, trusted_keys=trusted) as theirs, castlenb.connect(web.target) as browser:
            totals, tails = asyncio.run(_searches(browser, theirs.target, last_byte, pairs))
    return [
        beside(name.format("total_ms"), "ms", *totals, peer=PEER, at_most=at_most),
        beside(name.format("after_last_byte_ms"), "ms", *tails, peer=PEER, at_most=at_most),
    ]


async def _searches(
    browser: castlenb.Browser, peer_target: str, last_byte: Queue[float], pairs: int
) -> tuple[tuple[list[float], list[float]], ...]:
    async with async_playwright() as playwright:
        context = (await playwright.chromium.connect_over_cdp(f"http://{peer_target}")).contexts[0]

        async def ours() -> Took:
            began = perf_counter()
            # The plain call, as a cell makes it. It stops Playwright's loop, which has nothing to do meanwhile.
            found = castlenb.search(QUERY, num_results=RESULTS, browser=browser).records
            return await _took(began, last_byte, found)

        async def theirs() -> Took:
            began = perf_counter()
            found = await _by_playwright(context)
            return await _took(began, last_byte, found)

        taken = await in_pairs(ours, theirs, pairs=pairs, rest_s=REST_S)
    return tuple(([each[part] for each in taken[0]], [each[part] for each in taken[1]]) for part in (0, 1))


async def _by_playwright(context: BrowserContext) -> Any:
    tab = await context.new_page()
    try:
        await tab.goto(engine("google").search_url(QUERY), wait_until="commit")
        await tab.wait_for_function(f"(window.reader ??= {READER}).results().length >= {RESULTS} || {PARSED}")
        return (await tab.evaluate("reader.read()"))["results"]
    finally:
        await tab.close()


async def _took(began: float, last_byte: Queue[float], found: Any) -> Took:
    ended = perf_counter()
    assert len(found) == RESULTS
    written = await asyncio.to_thread(last_byte.get, timeout=5)
    assert began < written < ended
    return (ended - began) * 1000, (ended - written) * 1000


@contextmanager
def _last_byte(html: str | None) -> Iterator[Queue[float]]:
    """Notes, on our clock, when the lab has written the last byte of a results page: its own, or ``html``."""
    instants: Queue[float] = Queue()
    answer = Google.answer

    async def noting(self: Google, request: Request, reply: Reply, scenario: Scenario) -> None:
        results = request.path == "/search"
        if results and html is not None:
            await reply.send(200, html)
        else:
            await answer(self, request, reply, scenario)
        if results:
            instants.put(perf_counter())

    Google.answer = noting  # type: ignore[method-assign]
    try:
        yield instants
    finally:
        Google.answer = answer  # type: ignore[method-assign]
