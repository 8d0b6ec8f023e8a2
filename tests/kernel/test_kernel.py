"""A real ipykernel: plain calls and awaited ones in cells, interrupted by Stop."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager

import castlenb as cn

from ..browser.conftest import Onlooker

WIDGET = "application/vnd.jupyter.widget-view+json"
Started = tuple[KernelManager, BlockingKernelClient]


def run(client: BlockingKernelClient, code: str, *, timeout: float = 30) -> dict[str, Any]:
    """What the cell's reply says, and under ``shown`` the text it showed, widgets left out.

    A kernel that has answered with an error passes over the cells that reach it in the next moment, "aborted" and
    without any output, unless the one that failed was sent with ``stop_on_error=False``.
    """
    shown: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            shown.append(content["text"])
        elif message["msg_type"] in ("execute_result", "display_data") and WIDGET not in content["data"]:
            shown.append(content["data"].get("text/plain", ""))

    reply = client.execute_interactive(code, timeout=timeout, output_hook=hook, stop_on_error=False)["content"]
    assert reply["status"] != "aborted", "an earlier cell has failed, and this one was passed over"
    return {**reply, "shown": "".join(shown)}


def interrupted(started: Started, code: str, under_way: Callable[[], object]) -> tuple[dict[str, Any], float]:
    """The reply to a cell that is stopped once ``under_way`` has returned, and the seconds from Stop to reply."""
    manager, client = started
    message = client.execute(code, stop_on_error=False)  # see run()
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
    assert seconds < 10, "left alone it goes on for 20 s"
    assert len(onlooker.tabs()) == before
    assert run(client, f"len(cn.search('afterwards', browser={lab.web.target!r}))")["shown"] == "10"


def test_a_line_under_the_cell_follows_the_search_and_ends_as_a_summary(kernel: Started, lab: cn.Lab) -> None:
    _, client = kernel
    lab.play("answer-loading")
    messages: list[dict[str, Any]] = []
    cell = f"page = cn.search('followed', ai_answer=True, browser={lab.web.target!r})"
    reply = client.execute_interactive(f"import castlenb as cn\n{cell}", timeout=60, output_hook=messages.append)
    assert reply["content"]["status"] == "ok"
    shown = [each["content"]["data"] for each in messages if each["msg_type"] == "display_data"]
    assert [each["text/plain"] for each in shown] == ["castlenb: google 'followed'"], "it has to be the same each time"
    assert WIDGET in shown[0]
    told = [
        each["content"]["data"]["state"]["value"]
        for each in messages
        if each["msg_type"] == "comm_msg" and "value" in each["content"]["data"].get("state", {})
    ]
    assert told[0].startswith("google &#39;followed&#39;: connecting")
    assert ": 10 results, Google AI Overview settled, " in told[-1]
    assert not [each for each in messages if each["msg_type"] == "stream"], "something was printed"
