"""The panel in a real kernel, used as a notebook uses it: by the messages that its widgets send."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient

import castlenb as cn

from ..browser.conftest import Onlooker
from .test_kernel import Started, run


class Notebook:
    """The other end of the kernel's widgets: what they show, and what a person does to them."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client
        self.models: dict[str, dict[str, Any]] = {}

    def hear(self, seconds: float = 0.0) -> None:
        until = time.monotonic() + seconds
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=max(0.01, until - time.monotonic()))
            except queue.Empty:
                return
            self.take(message)

    def take(self, message: dict[str, Any]) -> None:
        content = message["content"]
        if message["msg_type"] in ("comm_open", "comm_msg"):
            state = content["data"].get("state", {})
            self.models.setdefault(content["comm_id"], {}).update(state)

    def has(self, **state: Any) -> list[str]:
        """The ids of the widgets that have all of this."""
        return [key for key, has in self.models.items() if all(has.get(name) == value for name, value in state.items())]

    def one(self, **state: Any) -> str:
        [found] = self.has(**state)
        return found

    def do(self, widget: str, **content: Any) -> None:
        self._send(widget, {"method": "custom", "content": content})

    def set(self, widget: str, **state: Any) -> None:
        self._send(widget, {"method": "update", "state": state, "buffer_paths": []})
        self.models[widget].update(state)

    def _send(self, widget: str, data: dict[str, Any]) -> None:
        message = self._client.session.msg("comm_msg", {"comm_id": widget, "data": data})
        self._client.shell_channel.send(message)

    def until(self, holds: Callable[[], object], what: str) -> None:
        end = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < end, f"{what}; the widgets show {self.texts()}"
            self.hear(0.05)

    def texts(self) -> list[str]:
        values = [has["value"] for has in self.models.values() if isinstance(has.get("value"), str)]
        return [text.partition("</style>")[2] or text for text in values if text]

    def shows(self, words: str) -> bool:
        return any(words in text for text in self.texts())

    def lists(self) -> int:
        """How many lists of results there are to be seen."""
        return sum('<ol class="castlenb-hits' in text for text in self.texts())


@pytest.fixture
def notebook(kernel: Started, lab: cn.Lab) -> Notebook:
    lab.play("instant")
    notebook = Notebook(kernel[1])
    cell = (
        f"import castlenb as cn\npanel = cn.panel('tea', engines=['google', 'bing'], browser={lab.web.target!r})\npanel"
    )
    reply = kernel[1].execute_interactive(cell, timeout=60, output_hook=notebook.take)
    assert reply["content"]["status"] == "ok", reply["content"]
    return notebook


def test_a_click_searches_and_results_come_side_by_side(notebook: Notebook, kernel: Started, lab: cn.Lab) -> None:
    lab.play("no-results", engine="bing")
    notebook.do(notebook.one(description="Search"), event="click")
    notebook.until(lambda: notebook.lists() and notebook.shows("nothing matches"), "no results")
    notebook.until(lambda: notebook.models[notebook.one(description="Stop")]["disabled"], "it never ended")
    rows = "panel.searches[['engine', 'results', 'error']].astype(object).sort_values('engine').values.tolist()"
    assert run(kernel[1], rows)["shown"] == "[['bing', <NA>, 'NoResultsError'], ['google', 10, <NA>]]"
    notebook.do(notebook.one(description="Keep this page"), event="click")
    notebook.until(lambda: notebook.has(description="Kept: panel.kept[0]"), "it was not kept")
    assert run(kernel[1], "[page.engine for page in panel.kept]")["shown"] == "['google']"
    notebook.until(lambda: notebook.shows("The page itself is in "), "it was not said where it is")
    saved = "[cn.Capture.load(file).query for file in (user_data_path('castlenb') / 'captures').iterdir()]"
    assert run(kernel[1], f"from platformdirs import user_data_path\n{saved}")["shown"] == "['tea']"
    assert run(kernel[1], "panel")["shown"] == "", "a panel is a widget"


def test_enter_searches_with_what_is_set_and_stop_cancels(notebook: Notebook, kernel: Started, lab: cn.Lab) -> None:
    onlooker = Onlooker(lab.web.target)
    before = len(onlooker.tabs())
    lab.play("stalled")
    box = notebook.one(placeholder="Search")
    notebook.set(box, value="from the panel")
    notebook.set(notebook.one(description="Bing"), value=False)
    notebook.do(box, event="submit")
    onlooker.wait_for_tab("from+the+panel")
    notebook.until(lambda: notebook.shows("Google: waiting for results"), "it was not said what is waited for")
    stop = notebook.one(description="Stop")
    assert not notebook.models[stop]["disabled"]
    notebook.do(stop, event="click")
    notebook.until(lambda: notebook.shows("stopped"), "Stop was not heard")
    until = time.monotonic() + 10
    while len(onlooker.tabs()) > before and time.monotonic() < until:
        time.sleep(0.02)
    assert len(onlooker.tabs()) == before
    assert {request.host for request in lab.web.searches("from the panel")} == {"www.google.com"}
    assert run(kernel[1], "len(panel.searches)")["shown"] == "0"


def test_a_refusal_says_what_to_open_and_is_searched_again_once_cleared(
    notebook: Notebook, kernel: Started, lab: cn.Lab
) -> None:
    lab.play("sorry", engine="google")
    notebook.do(notebook.one(description="Search"), event="click")
    notebook.until(lambda: notebook.shows("Open it</a>") and notebook.lists(), "nothing to open")
    lab.web.play("instant")  # which leaves the cool-down as it is
    cleared = notebook.one(description="Cleared")
    asked = len(lab.web.searches("tea"))
    notebook.do(cleared, event="click")
    notebook.until(lambda: notebook.lists() == 2 and not notebook.shows("Open it</a>"), "still refused")
    assert len(lab.web.searches("tea")) == asked + 1, "the other engine was asked again"
    assert run(kernel[1], "sorted(panel.pages)")["shown"] == "['bing', 'google']"


def test_what_can_not_be_is_said(notebook: Notebook) -> None:
    notebook.set(notebook.one(placeholder="Search"), value=" ")
    notebook.do(notebook.one(description="Search"), event="click")
    notebook.until(lambda: notebook.shows("query is empty"), "nothing was said")
    for engine in ("Google", "Bing"):
        notebook.set(notebook.one(description=engine), value=False)
    notebook.do(notebook.one(description="Search"), event="click")
    notebook.until(lambda: notebook.shows("at least one engine"), "nothing was said")


def test_an_engine_that_is_searched_again_leaves_the_others_alone(notebook: Notebook, lab: cn.Lab) -> None:
    lab.play("sorry", engine="google")
    lab.play("slow-headers", engine="bing")
    notebook.do(notebook.one(description="Search"), event="click")
    notebook.until(lambda: notebook.has(description="Cleared"), "nothing was refused")
    lab.play("instant", engine="google")
    notebook.do(notebook.one(description="Cleared"), event="click")
    notebook.until(lambda: notebook.lists() == 2, "one of them was lost")
