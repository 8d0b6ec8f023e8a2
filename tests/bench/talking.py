"""What our DevTools client adds to the socket it stands on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import background_tab
from castlenb.lab import Chromium

from .rows import Row, beside, in_pairs, measure

CALLS = 100
"""Calls that make one figure: a single one takes less than a clock and a scheduler can be trusted with."""

SMALL = "1"
FIVE_MEGABYTES = "'x'.repeat(5 * 2 ** 20)"
PEER = "websockets"

Say = Callable[[str], Awaitable[Any]]


@measure
def calls() -> list[Row]:
    """One ``Runtime.evaluate`` and its answer: a small one, and one of 5 MB; beside websockets at its best settings."""
    return asyncio.run(_calls())


async def _calls() -> list[Row]:
    with Chromium() as chromium:
        endpoint = await discover(f"http://{chromium.target}")
        connection = await Connection.open(endpoint)
        async with (
            background_tab(connection) as tab,
            connect(endpoint.websocket_url, compression=None, max_size=None, proxy=None) as socket,
        ):
            bare = await _bare(socket, tab.target_id)

            async def ours(expression: str) -> Any:
                answer = await tab.session.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})
                return answer["result"]["value"]

            assert len(await ours(FIVE_MEGABYTES)) == len(await bare(FIVE_MEGABYTES)) == 5 * 2**20
            small = await in_pairs(_timed(ours, SMALL, CALLS), _timed(bare, SMALL, CALLS))
            large = await in_pairs(_timed(ours, FIVE_MEGABYTES, 1), _timed(bare, FIVE_MEGABYTES, 1))
        await connection.aclose()
    return [
        beside("cdp_call_ms", "ms", *small, peer=PEER, at_most=1.1),
        beside("cdp_5mb_ms", "ms", *large, peer=PEER, at_most=1.1),
    ]


async def _bare(socket: ClientConnection, target_id: str) -> Say:
    """The least that can be called a client: one call at a time, and nobody else on the socket."""
    number = 0

    async def call(method: str, params: dict[str, Any], session_id: str | None = None) -> Any:
        nonlocal number
        number += 1
        message = {"id": number, "method": method, "params": params}
        await socket.send(json.dumps({**message, "sessionId": session_id} if session_id else message))
        while True:
            answer = json.loads(await socket.recv(decode=False))
            if answer.get("id") == number:
                return answer["result"]

    attached = await call("Target.attachToTarget", {"targetId": target_id, "flatten": True})

    async def say(expression: str) -> Any:
        params = {"expression": expression, "returnByValue": True}
        return (await call("Runtime.evaluate", params, attached["sessionId"]))["result"]["value"]

    return say


def _timed(say: Say, expression: str, times: int) -> Callable[[], Awaitable[float]]:
    async def take() -> float:
        began = perf_counter()
        for _ in range(times):
            await say(expression)
        return (perf_counter() - began) / times * 1000

    return take
