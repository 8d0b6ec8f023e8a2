"""A lab, a wire to it, a person at the browser, and what is looked at after each fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import castlenb as cn
from castlenb import lab as lab_room
from castlenb.lab import Request, Scenario
from castlenb.lab.google import Google
from castlenb.lab.server import Reply
from castlenb.ledger import state_folder

from ..browser.conftest import Onlooker
from .relay import Relay

GRACE_S = 8.0
"""What a machine that has other things to do may take beyond what castlenb promises (a deadline, 0.5 s, 2 s)."""


class WildGoogle(Google):
    """The lab's Google, where some queries get a page that misbehaves: those for ``wild NAME`` get ``pages[NAME]``."""

    pages: ClassVar[dict[str, str]] = {}

    async def answer(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        what = request.query.get("q", "").removeprefix("wild ")
        if request.path == "/file" or what == "download":
            # It takes a moment to come, as files do.
            await reply.begin(200, (("Content-Disposition", "attachment; filename=castlenb.bin"),), b"x" * 50_000)
            await reply.until(300)
            reply.end()
        elif request.path == "/search" and what in self.pages:
            await reply.send(200, "<!doctype html><title>wild</title><body><p>wild</p>" + self.pages[what])
        else:
            await super().answer(request, reply, scenario)


@dataclass
class Row:
    """One fault, as it went.

    Attributes:
        got: what the caller got: an error's class, or how many results.
        seconds: after how long, of how many that were allowed.
        tabs_left: after the next connect.
        usable: whether the same Browser then searches.
        persons_tabs: ``unchanged``, or what has changed; ``-`` where their Chrome itself was ended.
        ok: all as it should be.
        why: what is not.
    """

    fault: str
    got: str
    seconds: float
    allowed_s: float
    tabs_left: int
    usable: bool
    persons_tabs: str
    ok: bool
    why: str = ""


class Stage:
    """Everything that a fault needs."""

    def __init__(self, args: tuple[str, ...] = ()) -> None:
        self._args = args
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.callback(lab_room.add_engine(WildGoogle))
        self.web = self._stack.enter_context(lab_room.FakeWeb("instant", args=self._args))
        self.relay = self._stack.enter_context(Relay(self.web.chromium.port))
        self.onlooker = Onlooker(self.web.target)
        self.target = f"127.0.0.1:{self.relay.port}"
        self.state = state_folder()
        self.browser = self._stack.enter_context(cn.connect(self.target))
        self.a_person_sits_down()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def a_person_sits_down(self) -> None:
        """And opens a page of their own."""
        self.onlooker.open("https://www.google.com/search?q=a+person+s+own")
        self.onlooker.wait_for_tab("person")
        time.sleep(0.2)
        self.before = self.tabs()

    def tabs(self) -> dict[str, str]:
        return {tab["targetId"]: tab["url"] for tab in self.onlooker.tabs()}

    def search(self, query: str = "a fault", *, deadline_s: float = 6.0, **more: Any) -> cn.SearchPage:
        """As a caller would, but for the pace."""
        more = {"pace": "off", "even_if_blocked": True, "browser": self.browser, **more}
        return cn.search(query, deadline_s=deadline_s, **more)

    def restart(self, after_s: float = 0.3) -> None:
        """SIGKILLs the Chrome, and starts it anew a moment later, as those do who recycle it."""
        self.web.chromium.kill()
        threading.Timer(after_s, self.web.chromium.start, kwargs={"keep_profile": True}).start()

    def our_tab(self) -> str:
        """Target id of the tab that castlenb has open."""
        until = time.monotonic() + 15
        while time.monotonic() < until:
            if ours := [target for target in self.tabs() if target not in self.before]:
                return ours[0]
            time.sleep(0.02)
        raise AssertionError("castlenb has no tab open")

    def child(self, code: str) -> subprocess.Popen[str]:
        """Another process that uses castlenb."""
        return subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
        )

    def downloads(self) -> list[str]:
        """What lies where this user's browser puts its downloads."""
        folder = Path.home() / "Downloads"
        return sorted(file.name for file in folder.glob("*astlenb*")) if folder.is_dir() else []


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes:
        play: makes it happen, and returns what the caller of castlenb gets or raises it.
        expected: names of the errors that are right; ``results`` where they are to come all the same.
        allowed_s: the deadline that the caller gave.
        recycled: the Chrome is ended by it, with all the person's tabs.
    """

    name: str
    play: Callable[[Stage], object]
    expected: tuple[str, ...]
    allowed_s: float = 6.0
    recycled: bool = False
    quick: bool = False


def played(stage: Stage, fault: Fault) -> Row:
    """One fault, and what is there afterwards."""
    got, seconds = _attempted(lambda: fault.play(stage), fault.allowed_s + 30)
    stage.relay.heal()
    stage.web.play("instant")
    if fault.recycled:
        until = time.monotonic() + 30
        while not stage.web.chromium.running and time.monotonic() < until:
            time.sleep(0.05)
        stage.web.chromium.start(keep_profile=True)
    with cn.connect(stage.target):
        pass
    if fault.recycled:
        known = {target for target, url in stage.tabs().items() if url in ("about:blank", "chrome://newtab/")}
        stage.before = {target: stage.tabs()[target] for target in known}
    left = _left(stage)
    person = "-" if fault.recycled else _persons(stage, settle="download" in fault.name)
    after, _ = _attempted(lambda: stage.search("afterwards", deadline_s=20), 40)
    wrong = []
    if got not in fault.expected:
        wrong.append(f"got {got}, not {' or '.join(fault.expected)}")
    if seconds > fault.allowed_s + 2.5 + GRACE_S:
        wrong.append("late")
    if left:
        wrong.append(f"{left} tabs left")
    if person not in ("-", "unchanged"):
        wrong.append(person)
    if after != "results":
        wrong.append(f"afterwards: {after}")
    if fault.recycled:
        stage.a_person_sits_down()
    return Row(
        fault.name, got, round(seconds, 2), fault.allowed_s, left, after == "results", person, not wrong,
        "; ".join(wrong),
    )  # fmt: skip


def _attempted(call: Callable[[], object], limit_s: float) -> tuple[str, float]:
    """What came of it, in one word, and after how long."""
    said: list[str] = []

    def run() -> None:
        try:
            found = call()
        except cn.CastleError as error:
            said.append(type(error).__name__)
        except BaseException as error:
            said.append(f"untyped {type(error).__name__}: {error}")
        else:
            said.append("results" if isinstance(found, cn.SearchPage) and len(found) == 10 else str(found))

    thread = threading.Thread(target=run, daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(limit_s)
    return (said[0] if said else "a hang"), time.monotonic() - began


def _left(stage: Stage) -> int:
    """Tabs that are neither the person's nor the browser's own; a closing may be under way."""
    until = time.monotonic() + 5
    while (left := len([target for target in stage.tabs() if target not in stage.before])) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def _persons(stage: Stage, settle: bool) -> str:
    now = stage.tabs()
    changed = [target for target, url in stage.before.items() if now.get(target) != url]
    if settle:
        time.sleep(2.0)  # a file takes its final name a while after its last byte
    files = stage.downloads()
    if files:
        for file in files:
            (Path.home() / "Downloads" / file).unlink(missing_ok=True)
        return f"files in the downloads folder: {', '.join(files)}"
    return f"{len(changed)} of the person's tabs changed" if changed else "unchanged"


def as_json(rows: list[Row]) -> str:
    return json.dumps({"faults": [row.__dict__ for row in rows]}, indent=1)
