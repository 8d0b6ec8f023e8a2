"""``castlenb mcp`` as an agent meets it: the official client, a process of its own, a lab behind it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import mcp
import pytest
from mcp import types

import castlenb as cn

from .conftest import Onlooker

pytestmark = pytest.mark.proof

NAME = "castle_cdp_search"
COMMAND = [sys.executable, "-m", "castlenb.cli", "mcp"]
PATIENCE_S = 60  # never a promise: what hangs has to fail


def over_stdio(target: str, mode: str = "auto") -> mcp.Client:
    command, *args = COMMAND
    env = {**os.environ, "BU_CDP_HTTP": target}
    return mcp.Client(mcp.StdioServerParameters(command=command, args=args, env=env), mode=mode)


async def call(client: mcp.Client, **arguments: Any) -> tuple[bool, str]:
    with anyio.fail_after(PATIENCE_S):
        result = await client.call_tool(NAME, arguments)
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return result.is_error, content.text


class Growing:
    """A call whose answer grows for minutes, and the word that it does."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client
        self.told: list[tuple[float, str]] = []
        self.seen = anyio.Event()
        self.scope = anyio.CancelScope()

    async def run(self) -> None:
        with self.scope, contextlib.suppress(mcp.MCPError):  # its server may leave before it ends
            await self.client.call_tool(NAME, {"query": "tea", "aiAnswer": True}, progress_callback=self._follow)

    async def _follow(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, message or ""))
        if "AI answer growing" in (message or ""):
            self.seen.set()


async def none_of_ours(onlooker: Onlooker, before: set[str]) -> None:
    """Waits until no tab is open that was not before."""
    with anyio.fail_after(PATIENCE_S):
        while {tab["targetId"] for tab in onlooker.tabs()} - before:  # noqa: ASYNC110  (nobody would set an event)
            await anyio.sleep(0.05)


@pytest.fixture
def before(onlooker: Onlooker) -> set[str]:
    return {tab["targetId"] for tab in onlooker.tabs()}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_nothing_is_dialled_before_the_first_call(mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as chrome:
        chrome.setblocking(False)
        target = f"127.0.0.1:{chrome.getsockname()[1]}"
        async with over_stdio(target, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == [NAME]
            with pytest.raises(BlockingIOError):
                chrome.accept()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: call(client, query="tea"))
                with anyio.fail_after(PATIENCE_S):
                    while True:
                        with contextlib.suppress(BlockingIOError):
                            chrome.accept()[0].close()
                            break
                        await anyio.sleep(0.05)
                tasks.cancel_scope.cancel()


async def test_every_engine_and_its_answer(lab: cn.Lab) -> None:
    async with over_stdio(lab.web.target) as client:
        for engine, label in (("google", "Google"), ("bing", "Bing"), ("brave", "Brave"), ("duckduckgo", "DuckDuckGo")):
            failed, text = await call(client, query="pour over", numResults=3, engine=engine)
            assert not failed
            assert text.startswith(f"3 results from {label}.\n")
            assert "\n3. title > " in text
            assert "AI" not in text
        lab.play("2026-08-04")
        failed, text = await call(client, query="pour over", aiAnswer=True)
        assert not failed
        assert 0 < text.index("## Google AI Overview (text that the engine generated") < text.index("## Results")
        assert text.index("\n[1] title > ") < text.index("\n1. title > ")
        failed, text = await call(client, query="pour over", numResults=99)
        assert failed
        assert "from 1 to 20" in text


async def test_a_challenge_then_cleared_then_a_search_that_works(lab: cn.Lab) -> None:
    async with over_stdio(lab.web.target) as client:
        lab.play("sorry")
        failed, text = await call(client, query="coffee")
        assert failed
        assert text.startswith("SearchChallengeError: google, 'coffee': the engine asks for a person (sorry)")
        assert "open https://www.google.com/search?q=coffee" in text
        assert "Do not search again before a person has looked" in text
        failed, text = await call(client, query="tea")
        assert (failed, len(lab.web.searches("tea"))) == (True, 0)  # within the cool-down nothing is sent
        lab.web.play("instant")  # somebody has opened that address and cleared what it showed
        assert await anyio.to_thread.run_sync(lab.browser.cleared, "google")
        failed, text = await call(client, query="coffee")
        assert not failed
        assert text.startswith("10 results from Google.\n")


async def test_no_failure_is_an_empty_success(lab: cn.Lab) -> None:
    async with over_stdio(lab.web.target) as client:
        for scenario, engine, name in (
            ("no-results", "google", "NoResultsError"),
            ("unparseable", "google", "UnparseableError"),
            ("empty", "google", "SuspectedBlockError"),
            ("reset", "bing", "NavigationFailed"),
        ):
            lab.play(scenario)
            failed, text = await call(client, query="coffee", engine=engine)
            assert failed
            assert text.startswith(f"{name}: ")


async def test_a_call_that_is_cancelled_closes_its_tab(lab: cn.Lab, onlooker: Onlooker, before: set[str]) -> None:
    lab.play("answer-endless")
    async with over_stdio(lab.web.target) as client:
        growing = Growing(client)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(growing.run)
            with anyio.fail_after(PATIENCE_S):
                await growing.seen.wait()
            assert len({tab["targetId"] for tab in onlooker.tabs()} - before) == 1
            growing.scope.cancel()
        await none_of_ours(onlooker, before)
        times = [progress for progress, _ in growing.told]
        assert times == sorted(set(times)), "progress grows"
        lab.play("instant")
        assert not (await call(client, query="coffee"))[0]


async def test_a_server_that_is_left_while_a_call_runs_closes_its_tab(
    lab: cn.Lab, onlooker: Onlooker, before: set[str]
) -> None:
    lab.play("answer-endless")
    async with anyio.create_task_group() as tasks:
        async with over_stdio(lab.web.target) as client:
            growing = Growing(client)
            tasks.start_soon(growing.run)
            with anyio.fail_after(PATIENCE_S):
                await growing.seen.wait()
        tasks.cancel_scope.cancel()
    await none_of_ours(onlooker, before)


async def test_two_at_once_and_a_third_in_line(lab: cn.Lab, onlooker: Onlooker, before: set[str]) -> None:
    lab.play("slow-head")
    ended: list[bool] = []
    most = 0

    async def one(query: str) -> None:
        ended.append((await call(client, query=query))[0])

    async with over_stdio(lab.web.target) as client, anyio.create_task_group() as tasks:
        for query in ("tea", "coffee", "water"):
            tasks.start_soon(one, query)
        while len(ended) < 3:
            most = max(most, len({tab["targetId"] for tab in onlooker.tabs()} - before))
            await anyio.sleep(0.05)
    assert ended == [False] * 3
    assert most == 2


@contextlib.contextmanager
def process(target: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [*COMMAND, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BU_CDP_HTTP": target},
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_while_a_call_runs(
    lab: cn.Lab, onlooker: Onlooker, before: set[str], number: signal.Signals
) -> None:
    lab.play("answer-endless")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    wish = {"name": NAME, "arguments": {"query": "tea", "aiAnswer": True}}
    with process(lab.web.target) as server:
        assert server.stdin is not None
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": wish},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
        onlooker.wait_for_tab("google.com")
        server.send_signal(number)
        assert server.wait(PATIENCE_S) == 128 + number
    await none_of_ours(onlooker, before)


async def test_over_http_on_this_machine_alone(lab: cn.Lab) -> None:
    with process(lab.web.target, "--http", "0") as server:
        assert server.stderr is not None
        name, _, address = server.stderr.readline().strip().partition(": ")
        assert name == "castlenb mcp"
        assert address.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as stranger:
            refused = await stranger.post(address, json={}, headers={"Host": "evil.example"})
        assert refused.status_code == 421
        async with mcp.Client(address) as client:
            failed, text = await call(client, query="coffee")
        assert not failed
        assert text.startswith("10 results from Google.\n")
        server.terminate()
        assert server.wait(PATIENCE_S) == 128 + signal.SIGTERM
