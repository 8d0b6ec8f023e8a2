"""A lab for the whole run, and a second client that counts tabs and closes them as a person would."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest

import castlenb as cn
from castlenb import bridge
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover

from . import replays

T = TypeVar("T")


class Onlooker:
    """Another DevTools client on the same Chrome; it knows nothing of castlenb's."""

    def __init__(self, target: str) -> None:
        self._address = f"http://{target}"

    def tabs(self) -> list[dict[str, Any]]:
        """The pages that are open, the browser's own blank ones included."""

        async def ask(connection: Connection) -> list[dict[str, Any]]:
            return (await connection.root.call("Target.getTargets"))["targetInfos"]

        return [target for target in self._with(ask) if target["type"] == "page"]

    def open(self, url: str) -> str:
        """A tab in front, as a person opens one; returns its target id."""

        async def create(connection: Connection) -> str:
            return str((await connection.root.call("Target.createTarget", {"url": url}))["targetId"])

        return self._with(create)

    def close(self, target_id: str) -> None:
        async def close(connection: Connection) -> None:
            await connection.root.call("Target.closeTarget", {"targetId": target_id})

        self._with(close)
        until = time.monotonic() + 15  # the answer comes before the tab has gone
        while any(tab["targetId"] == target_id for tab in self.tabs()) and time.monotonic() < until:
            time.sleep(0.01)

    def crash(self, target_id: str) -> None:
        async def crash(connection: Connection) -> None:
            attached = await connection.root.call("Target.attachToTarget", {"targetId": target_id, "flatten": True})
            session = connection.session(attached["sessionId"], target_id)
            while True:
                try:
                    await session.call("Page.crash", timeout=10)
                except cn.TabCrashed:
                    return
                except cn.ProtocolError:  # "Page has pending navigations, not killing": it has an address before a page
                    await asyncio.sleep(0.05)

        self._with(crash)

    def run_in(self, target_id: str, script: str) -> None:
        """Runs a script in a tab's page."""

        async def evaluate(connection: Connection) -> None:
            attached = await connection.root.call("Target.attachToTarget", {"targetId": target_id, "flatten": True})
            session = connection.session(attached["sessionId"], target_id)
            await session.call("Runtime.evaluate", {"expression": script}, timeout=30)

        self._with(evaluate)

    def wait_for_tab(self, url_part: str) -> dict[str, Any]:
        until = time.monotonic() + 15
        while time.monotonic() < until:
            for tab in self.tabs():
                if url_part in tab["url"]:
                    return tab
            time.sleep(0.02)
        raise AssertionError(f"no tab with {url_part!r} in its address")

    def _with(self, act: Callable[[Connection], Awaitable[T]]) -> T:
        async def run() -> T:
            connection = await Connection.open(await discover(self._address))
            try:
                return await act(connection)
            finally:
                await connection.aclose()

        return bridge.run(run())


@pytest.fixture(scope="session")
def one_lab() -> Iterator[cn.Lab]:
    with cn.Lab("instant") as lab:
        yield lab
        replays.close()


@pytest.fixture
def lab(one_lab: cn.Lab) -> Iterator[cn.Lab]:
    """The session's lab, playing ``instant``; a test that leaves a tab behind fails."""
    replays.close()
    one_lab.play("instant")
    one_lab.web.server.requests.clear()
    before = {tab["targetId"] for tab in Onlooker(one_lab.web.target).tabs()}
    yield one_lab
    left = [tab for tab in Onlooker(one_lab.web.target).tabs() if tab["targetId"] not in before]
    assert not left, f"tabs left behind: {left}"


@pytest.fixture
def onlooker(lab: cn.Lab) -> Onlooker:
    return Onlooker(lab.web.target)
