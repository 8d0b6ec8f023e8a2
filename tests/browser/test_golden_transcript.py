"""What a search without an AI answer sends: to Chrome, command by command, and through it to the engine.

Recorded once, in ``golden/search.txt``. After a change that is meant, record it anew and read the difference:

    CASTLENB_RECORD=1 pytest tests/browser/test_golden_transcript.py
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

import castlenb as cn
from castlenb import bridge, page
from castlenb.cdp.endpoint import discover
from castlenb.engines import ENGINES
from castlenb.lab import Request

from .conftest import Onlooker

GOLDEN = Path(__file__).with_name("golden") / "search.txt"
QUERY = 'tea & "cake" <b>'
WAIT = re.compile(r"(?<=watcher\.wait\()\{.*\}(?=\))")

MARK = re.compile(r"(?<=about:blank#castlenb-)[0-9a-f]{16}")
"""By which the list of our tabs knows a tab that has no id yet."""

# What differs from one machine, or one Chrome, to the next.
VARYING = ("user-agent", "sec-ch-ua", "sec-ch-ua-platform", "accept", "accept-encoding", "accept-language")


@dataclass
class Talk:
    """What went through the relay: frames of the client and frames of Chrome, each in their order."""

    target: str
    said: list[dict[str, Any]] = field(default_factory=list)
    heard: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Chrome's answer to a frame of the client's."""
        result: dict[str, Any] = next(each for each in self.heard if each.get("id") == frame["id"])["result"]
        return result


@dataclass(frozen=True)
class Recording:
    """One search, as it went over the wire.

    Attributes:
        commands: ``(to, method, params)``, ids replaced by what they stand for.
        requests: what the lab's server was asked, but for the page's icon: Chrome fetches it for pages that stay.
    """

    talk: Talk
    commands: list[tuple[str, str, dict[str, Any]]]
    requests: list[Request]


@asynccontextmanager
async def relay(chromium: str) -> AsyncIterator[Talk]:
    """A websocket between a client and Chromium that passes on everything, and keeps it."""
    endpoint = await discover(f"http://{chromium}")

    async def carry(near: ServerConnection) -> None:
        async with connect(endpoint.websocket_url, compression=None, max_size=None, proxy=None) as far:
            there = asyncio.create_task(pass_on(near, far, talk.said))
            back = asyncio.create_task(pass_on(far, near, talk.heard))
            await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
            back.cancel()
            there.cancel()
            await asyncio.gather(there, back, return_exceptions=True)

    async def pass_on(source: Any, to: Any, kept: list[dict[str, Any]]) -> None:
        try:
            async for frame in source:
                kept.append(json.loads(frame))
                await to.send(frame)
        except ConnectionClosed:
            pass

    async with serve(carry, "127.0.0.1", 0, compression=None, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        talk = Talk(f"ws://127.0.0.1:{port}/devtools/browser")
        yield talk


@pytest.fixture(scope="module")
def web() -> Iterator[cn.Lab]:
    """A lab of its own: another test's cookies would be sent along."""
    with cn.Lab("two-parts") as lab:
        yield lab


def record(lab: cn.Lab, **asked: Any) -> Recording:
    """A search over a connection of its own."""
    lab.web.server.requests.clear()
    with bridge.entered(relay(lab.web.target)) as talk, cn.connect(talk.target) as browser:
        found = cn.search(QUERY, browser=browser, deadline_s=60, **asked)
        assert len(found) == 10
    return Recording(talk, list(commands(talk)), list(lab.web.requests))


@pytest.fixture(scope="module")
def plain(web: cn.Lab) -> Recording:
    return record(web)


@pytest.fixture(scope="module")
def with_answer(web: cn.Lab) -> Recording:
    return record(web, ai_answer=True)


def commands(talk: Talk) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """What was sent, in its order, with ids replaced by what they stand for."""
    names: dict[Any, str] = {}
    for frame in talk.said:
        match frame["method"]:
            case "Target.createTarget":
                names[talk.answer(frame)["targetId"]] = "<our tab>"
            case "Target.attachToTarget":
                names[talk.answer(frame)["sessionId"]] = "our tab"
            case "Page.createIsolatedWorld":
                world = "<our world>" if "<our world, blank>" in names.values() else "<our world, blank>"
                names[talk.answer(frame)["executionContextId"]] = world
    last = None
    for frame in talk.said:
        params = {
            name: names.get(value, value) if name.endswith("Id") else value
            for name, value in frame.get("params", {}).items()
        }
        if frame["method"] == "Target.createTarget":
            params["url"] = MARK.sub("<mark>", params["url"])
        command = names.get(frame.get("sessionId"), "the browser"), frame["method"], params
        # A closing gets lost while a document is being committed, and is repeated until the tab is gone.
        if command != last or frame["method"] != "Target.closeTarget":
            yield command
        last = command


def as_text(recording: Recording) -> str:
    """For people, and to be compared."""
    scripts = {page.init_script(ENGINES["google"].spec()): "<page script>"}
    lines = ["# What castlenb sends for a search, in this order. See test_golden_transcript.py.", "", "to Chrome", ""]
    for to, method, params in recording.commands:
        shown = {name: scripts.get(value, value) if name == "source" else value for name, value in params.items()}
        lines.append(f"{to}: {method} {json.dumps(shown)}")
    lines += ["", "to the engine", ""]
    for request in recording.requests:
        lines.append(f"{request.method} {request.target}")
        for name, value in request.headers.items():
            lines.append(f"{name}: {'<as this Chrome has it>' if name in VARYING else value}")
    return "\n".join(lines) + "\n"


def test_a_search_sends_what_it_always_sent(plain: Recording) -> None:
    text = as_text(plain)
    if os.environ.get("CASTLENB_RECORD"):
        GOLDEN.write_text(text, "utf-8")
    assert text.splitlines() == GOLDEN.read_text("utf-8").splitlines()


def test_the_engine_is_sent_what_a_person_s_own_tab_would_send(web: cn.Lab, plain: Recording) -> None:
    """To the letter, versions and languages included."""
    [request] = plain.requests
    web.web.server.requests.clear()
    onlooker = Onlooker(web.web.target)
    tab = onlooker.open(request.url)
    until = time.monotonic() + 30
    while not list(web.web.requests) and time.monotonic() < until:
        time.sleep(0.02)
    onlooker.close(tab)
    [by_hand] = list(web.web.requests)
    assert list(request.headers.items()) == list(by_hand.headers.items())
    assert (request.method, request.target, request.body) == (by_hand.method, by_hand.target, by_hand.body)


def test_an_answer_is_asked_for_by_address_rule_and_script_alone(plain: Recording, with_answer: Recording) -> None:
    assert plain.commands != with_answer.commands
    assert list(alike(plain, answers=False)) == list(alike(with_answer, answers=True))
    [one], [other] = plain.requests, with_answer.requests
    assert list(one.headers.items()) == list(other.headers.items())
    assert one.target == other.target + "&udm=14"


def alike(recording: Recording, *, answers: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The commands without what has to differ, which is looked at here."""
    differ = []
    for to, method, params in recording.commands:
        if method == "Page.addScriptToEvaluateOnNewDocument":
            differ.append("script")
            assert params["source"] == page.init_script(ENGINES["google"].spec(), answers=answers)
            params = {**params, "source": ""}
        elif method == "Page.navigate":
            differ.append("address")
            assert params["url"].endswith("&udm=14") is not answers
            params = {**params, "url": params["url"].removesuffix("&udm=14")}
        elif found := WAIT.search(params.get("expression", "")):
            differ.append("rule")
            rule = json.loads(found[0])
            assert (rule.pop("answer") is not None) is answers
            params = {**params, "expression": WAIT.sub(json.dumps(rule), params["expression"])}
        yield to, method, params
    assert differ == ["script", "address", "rule"]


# Design: on the wire we only ever send what a guest may.
FORBIDDEN = re.compile(
    r"Input\..*|Page\.(?:bringToFront|close|setWebLifecycleState)|Browser\.(?:close|crash.*|set.*)"
    r"|Target\.(?:activateTarget|setAutoAttach|setRemoteLocations|exposeDevToolsProtocol|disposeBrowserContext)"
    r"|DOM\.(?:set|remove|move|copy|focus|scroll|undo|redo|discard).*|CSS\.set.*|Emulation\.(?!setFocusEmulationEnabled).*"
    r"|Network\.(?:set|clear|delete|emulate).*|Storage\..*|Fetch\..*|Runtime\.enable"
)
ACTS = re.compile(
    r"\.(?:click|focus|blur|submit|requestSubmit|scroll\w*|dispatchEvent|set\w*Attribute\w*|remove|append\w*|prepend"
    r"|insert\w+|replaceWith|replaceChild(?:ren)?)\(|\.(?:innerHTML|outerHTML|textContent|value|hidden)\s*=[^=]"
)


@pytest.mark.parametrize("name", ["plain", "with_answer"])
def test_nothing_is_sent_that_a_guest_may_not_send(name: str, request: pytest.FixtureRequest) -> None:
    talk: Talk = request.getfixturevalue(name).talk
    ours: set[str] = set()
    for frame in talk.said:
        params = frame.get("params", {})
        assert not FORBIDDEN.fullmatch(frame["method"]), frame["method"]
        if frame["method"] == "Target.createTarget":
            assert params == {"url": params["url"], "background": True}
            assert MARK.sub("", params["url"]) == "about:blank#castlenb-"
            ours.add(talk.answer(frame)["targetId"])
        if frame["method"].startswith("Target.") and "targetId" in params:
            assert params["targetId"] in ours, "a tab that is not ours"
        for script in texts(params):
            assert not (found := ACTS.search(script)), found
    assert ours


def texts(params: dict[str, Any]) -> Iterable[str]:
    return [params[name] for name in ("source", "expression", "functionDeclaration") if name in params]
