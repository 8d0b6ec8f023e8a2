"""A whole search, beside Playwright at its best."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from playwright.async_api import BrowserContext, async_playwright

import castlenb
from castlenb import page
from castlenb.engines import engine
from castlenb.lab import Chromium, FakeWeb, Request, Scenario
from castlenb.lab.google import Google
from castlenb.lab.server import Reply

from .rows import Row, beside, in_pairs, measure

QUERY = "pour over coffee ratio"
RESULTS = 10
READER = page.reader_expression(engine("google").spec())
PARSED = "document.readyState !== 'loading'"
PEER = "playwright"

Took = tuple[float, float]
"""Milliseconds of the whole call, and from the page's last byte being written to the end of the call."""


@measure
def searches() -> list[Row]:
    """Ten results of a page that comes at once, from the call to the results in hand, the tab closed again.

    Each side has a Chromium of its own: Playwright attaches itself to every tab that opens in the one it is connected
    to, which would slow ours. Both are connected beforehand, and both use the same reader under the same rule: as many
    results as asked for, or a parsed document.
    """
    with FakeWeb("instant") as web, _last_byte() as last_byte:
        rules, trusted = web.server.resolver_rules, (web.server.trusted_key,)
        with Chromium(resolver_rules=rules, trusted_keys=trusted) as theirs, castlenb.connect(web.target) as browser:
            totals, tails = asyncio.run(_searches(browser, theirs.target, last_byte))
    return [
        beside("search_total_ms", "ms", *totals, peer=PEER, at_most=0.65),
        beside("search_after_last_byte_ms", "ms", *tails, peer=PEER, at_most=0.65),
    ]


async def _searches(
    browser: castlenb.Browser, peer_target: str, last_byte: list[float]
) -> tuple[tuple[list[float], list[float]], ...]:
    async with async_playwright() as playwright:
        context = (await playwright.chromium.connect_over_cdp(f"http://{peer_target}")).contexts[0]

        async def ours() -> Took:
            began = perf_counter()
            # The plain call, as a cell makes it. It stops Playwright's loop, which has nothing to do meanwhile.
            found = castlenb.search(QUERY, num_results=RESULTS, browser=browser).records
            return _took(began, last_byte, found)

        async def theirs() -> Took:
            began = perf_counter()
            found = await _by_playwright(context)
            return _took(began, last_byte, found)

        taken = await in_pairs(ours, theirs)
    return tuple(([each[part] for each in taken[0]], [each[part] for each in taken[1]]) for part in (0, 1))


async def _by_playwright(context: BrowserContext) -> Any:
    tab = await context.new_page()
    try:
        await tab.goto(engine("google").search_url(QUERY), wait_until="commit")
        await tab.wait_for_function(f"(window.reader ??= {READER}).results().length >= {RESULTS} || {PARSED}")
        return (await tab.evaluate("reader.read()"))["results"]
    finally:
        await tab.close()


def _took(began: float, last_byte: list[float], found: Any) -> Took:
    ended = perf_counter()
    assert len(found) == RESULTS
    assert began < last_byte[-1] < ended
    return (ended - began) * 1000, (ended - last_byte[-1]) * 1000


@contextmanager
def _last_byte() -> Iterator[list[float]]:
    """Notes, on our clock, when the lab has written the last byte of a results page."""
    instants: list[float] = []
    answer = Google.answer

    async def noting(self: Google, request: Request, reply: Reply, scenario: Scenario) -> None:
        await answer(self, request, reply, scenario)
        if request.path == "/search":
            instants.append(perf_counter())

    Google.answer = noting  # type: ignore[method-assign]
    try:
        yield instants
    finally:
        Google.answer = answer  # type: ignore[method-assign]
