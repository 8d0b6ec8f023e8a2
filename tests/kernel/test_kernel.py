"""A real ipykernel: plain calls and awaited ones in cells, interrupted by Stop."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

import castlenb as cn

from ..browser.conftest import Onlooker

Started = tuple[KernelManager, BlockingKernelClient]


def run(client: BlockingKernelClient, code: str, *, timeout: float = 30) -> dict[str, Any]:
    """What the cell's reply says, and under ``shown`` the text it showed."""
    shown: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            shown.append(content["text"])
        elif message["msg_type"] in ("execute_result", "display_data"):
            shown.append(content["data"].get("text/plain", ""))

    reply = client.execute_interactive(code, timeout=timeout, output_hook=hook)["content"]
    return {**reply, "shown": "".join(shown)}


def interrupted(started: Started, code: str, under_way: Callable[[], object]) -> tuple[dict[str, Any], float]:
    """The reply to a cell that is stopped once ``under_way`` has returned, and the seconds from Stop to reply."""
    manager, client = started
    message = client.execute(code)
    under_way()
    stopped = time.monotonic()
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != message:
        pass
    return reply["content"], time.monotonic() - stopped


def test_a_search_in_a_cell(kernel: Started, lab: cn.Lab) -> None:
    _, client = kernel
    reply = run(
        client, f"import castlenb as cn\npage = cn.search('tea', browser={lab.web.target!r})\nlen(page.results)"
    )
    assert (reply["status"], reply["shown"]) == ("ok", "10")
    reply = run(client, f"page = await cn.aio.search('tea', browser={lab.web.target!r})\nlen(page)")
    assert (reply["status"], reply["shown"]) == ("ok", "10")


@pytest.mark.parametrize("call", ["cn.search", "await cn.aio.search"])
def test_stop_closes_the_tab_and_is_raised(kernel: Started, lab: cn.Lab, call: str) -> None:
    _, client = kernel
    onlooker = Onlooker(lab.web.target)
    before = len(onlooker.tabs())
    lab.play("stalled")
    reply, seconds = interrupted(
        kernel,
        f"import castlenb as cn\n{call}('stopped midway', browser={lab.web.target!r})",
        lambda: onlooker.wait_for_tab("stopped+midway"),
    )
    lab.play("instant")
    assert reply["status"] == "error"
    assert reply["ename"] in ("KeyboardInterrupt", "CancelledError")
    assert seconds < 5
    assert len(onlooker.tabs()) == before
    assert run(client, f"len(cn.search('afterwards', browser={lab.web.target!r}))")["shown"] == "10"
