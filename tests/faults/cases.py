"""The faults. Each is brought about by what brings it about in life: signals, sockets, files, other processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import castlenb as cn
from castlenb.ledger import FILE, Ledger

from .stage import Fault, Stage, WildGoogle

FAULTS: list[Fault] = []

STEPS = (
    "Target.createTarget",
    "Target.attachToTarget",
    "Page.addScriptToEvaluateOnNewDocument",
    "Page.navigate",
    "Runtime.evaluate",
    "Target.closeTarget",
)


def fault(name: str, *expected: str, **more: Any) -> Callable[[Callable[[Stage], object]], Callable[[Stage], object]]:
    def register(play: Callable[[Stage], object]) -> Callable[[Stage], object]:
        FAULTS.append(Fault(name, play, expected, **more))
        return play

    return register


# The wire


def _step(
    name: str, act: Callable[[Stage], object], *expected: str, steps: tuple[str, ...] = STEPS, **more: Any
) -> None:
    for step in steps:
        when = "answered" if step in ("Target.createTarget", "Target.attachToTarget") else "sent"

        def play(stage: Stage, step: str = step, when: str = when) -> object:
            stage.relay.at(step, lambda: act(stage), when)
            return stage.search(deadline_s=10)

        quick = more.get("quick", False) and step == "Page.navigate"
        FAULTS.append(Fault(f"{name} at {step}", play, expected, 10.0, more.get("recycled", False), quick))


_step("socket dropped", lambda stage: stage.relay.cut(), "results", "ConnectionLost", quick=True)
_step("Chrome killed", lambda stage: stage.restart(), "results", "ConnectionLost", recycled=True, steps=STEPS[:5])
_step(
    "tab closed by a person",
    lambda stage: stage.onlooker.close(stage.our_tab()),
    "TabClosed",
    "SearchTimeout",
    steps=("Target.attachToTarget", "Page.navigate", "Runtime.evaluate"),
)


@fault("wire goes dead while waiting", "SearchTimeout", "ConnectionLost", allowed_s=5.0)
def _(stage: Stage) -> object:
    def die() -> None:
        stage.relay.mute = True

    stage.relay.at("Runtime.evaluate", die)
    try:
        return stage.search(deadline_s=5)
    finally:
        stage.relay.cut()


@fault("flood of events, the reader held up", "results", allowed_s=20.0)
def _(stage: Stage) -> object:
    event = json.dumps({"method": "Page.frameResized", "params": {"filler": "x" * 200}})

    def flood() -> None:
        stage.relay.into = [event] * 50_000
        threading.Thread(target=_keep_busy, args=(1.0,), daemon=True).start()

    stage.relay.at("Page.navigate", flood)
    return stage.search(deadline_s=20)


def _keep_busy(seconds: float) -> None:
    """Computing in another thread, as a cell does: the loop's thread gets little of the interpreter."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10_000))


@fault("a frame of 64 MB", "results", allowed_s=20.0)
def _(stage: Stage) -> object:
    def huge() -> None:
        stage.relay.into = [json.dumps({"method": "Page.frameResized", "params": {"filler": "x" * 2**26}})]

    stage.relay.at("Page.navigate", huge)
    return stage.search(deadline_s=20)


@fault("frames that are no frames", "results", allowed_s=20.0, quick=True)
def _(stage: Stage) -> object:
    def nonsense() -> None:
        stage.relay.into = ["", "{", "[]", "null", '{"id": "7"}', '{"method": 3, "params": []}', '{"id": 1e99}', "\0"]

    stage.relay.at("Page.navigate", nonsense)
    return stage.search(deadline_s=20)


# The endpoint


def _endpoint(name: str, discovery: Callable[[bytes], Awaitable[tuple[int, bytes]]], *expected: str) -> None:
    def play(stage: Stage) -> object:
        stage.relay.discovery = discovery
        with cn.connect(stage.target):
            return "a connection"

    FAULTS.append(Fault(f"endpoint: {name}", play, expected, 6.0, quick=name in ("502", "HTML")))


async def _nothing(true: bytes) -> tuple[int, bytes]:
    await asyncio.sleep(30)
    return 200, true


async def _late(true: bytes) -> tuple[int, bytes]:
    await asyncio.sleep(2)
    return 200, true


def _says(status: int, body: bytes) -> Callable[[bytes], Awaitable[tuple[int, bytes]]]:
    async def answer(true: bytes) -> tuple[int, bytes]:
        return status, body

    return answer


# A 404 is what Chrome's own consent switch answers; the socket's path is then a fixed one, which is not there.
_endpoint("404", _says(404, b"not here"), "EndpointRefused", "EndpointUnreachable", "NotDevTools")
_endpoint("502", _says(502, b"bad gateway"), "EndpointRefused")
_endpoint("HTML", _says(200, b"<html>welcome</html>"), "NotDevTools")
_endpoint("nothing", _nothing, "EndpointUnreachable")
_endpoint("late, but in time", _late, "a connection")
_endpoint(
    "a websocket address of nobody",
    _says(200, json.dumps({"webSocketDebuggerUrl": "ws://127.0.0.1/devtools/browser/nobody"}).encode()),
    "EndpointRefused",
    "EndpointUnreachable",
    "NotDevTools",
)


# The page


def _page(name: str, script: str, *expected: str, quick: bool = False, deadline_s: float = 5.0) -> None:
    WildGoogle.pages[name] = script

    def play(stage: Stage) -> object:
        return stage.search(f"wild {name}", deadline_s=deadline_s)

    FAULTS.append(Fault(f"page: {name}", play, expected, deadline_s, quick=quick))


_NOTHING = ("SuspectedBlockError", "SearchTimeout", "UnparseableError")
_page("dialogs", "<script>for (let n = 0; n < 5; n++) { alert(n); confirm(n); prompt(n) }</script>", *_NOTHING)
_page("dialogs without end", "<script>for (;;) alert('again')</script>", "SearchTimeout")
_page(
    "a wish to stay", "<script>onbeforeunload = event => { event.preventDefault(); return 'stay' }</script>", *_NOTHING
)
_page(
    "windows without end",
    "<script>for (let n = 0; n < 15; n++) { open('/?' + n); open('/', '', 'noopener') }</script>",
    *_NOTHING,
)
_page(
    "a download by script",
    "<a download=castlenb.bin href=/file></a><script>document.querySelector('a').click();"
    "setTimeout(() => location.href = '/file', 50)</script>",
    *_NOTHING,
    "NavigationFailed",
)
_page("a loop without end", "<script>for (;;);</script>", "SearchTimeout")
_page(
    "memory without end",
    "<script>const all = []; for (;;) all.push(new Array(1e5).fill('' + Math.random()))</script>",
    "TabCrashed",
    "SearchTimeout",
    deadline_s=20.0,
)
_page("a loop without end, in a frame", "<iframe src='/search?q=wild+a+loop+without+end'></iframe>", *_NOTHING)


@fault("page: a file in a page's place", "NavigationFailed", quick=True)
def _(stage: Stage) -> object:
    return stage.search("wild download")


def _played(scenario: str, *expected: str, quick: bool = False, deadline_s: float = 4.0) -> None:
    def play(stage: Stage) -> object:
        stage.web.play(scenario)
        return stage.search(deadline_s=deadline_s)

    FAULTS.append(Fault(f"page: {scenario}", play, expected, deadline_s, quick=quick))


_played("endless-redirect", "NavigationFailed", quick=True)
_played("endless-script", "SearchTimeout")
_played("silent", "SearchTimeout")
_played("headers-only", "SearchTimeout")
_played("stalled", "SearchTimeout")
_played("reset", "NavigationFailed")


# Processes


@fault("our renderer killed", "TabCrashed", allowed_s=10.0)
def _(stage: Stage) -> object:
    def kill() -> None:
        stage.onlooker.crash(stage.our_tab())

    stage.web.play("stalled")
    threading.Thread(target=lambda: (time.sleep(1), kill()), daemon=True).start()
    return stage.search(deadline_s=10)


@fault("another tab's renderer stopped", "results", allowed_s=15.0)
def _(stage: Stage) -> object:
    theirs = next(target for target, url in stage.before.items() if "person" in url)
    pid = _renderer(stage, theirs)
    os.kill(pid, signal.SIGSTOP)
    try:
        return stage.search(deadline_s=15)
    finally:
        os.kill(pid, signal.SIGCONT)


def _renderer(stage: Stage, target: str) -> int:
    """The process of that tab's page: of all renderers the one that works while its page does."""
    before = _worked(stage)
    stage.onlooker.run_in(target, "for (const until = performance.now() + 500; performance.now() < until;);")
    after = _worked(stage)
    return max(after, key=lambda pid: after[pid] - before.get(pid, 0))


def _worked(stage: Stage) -> dict[int, int]:
    """Ticks that each renderer of this Chromium has worked for so far."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(stat[2]) == stage.web.chromium.pid and b"--type=renderer" in (entry / "cmdline").read_bytes():
                found[int(entry.name)] = int(stat[11])
    return found


def _client_killed(step: str, when: str) -> None:
    def play(stage: Stage) -> object:
        code = (
            "import castlenb as cn\n"
            f"cn.search('killed here', browser={stage.target!r}, pace='off', even_if_blocked=True)"
        )
        stage.web.play("stalled")
        child = stage.child(code)

        stage.relay.at(step, lambda: os.kill(child.pid, signal.SIGKILL), when)
        child.communicate(timeout=60)
        return "killed" if child.returncode == -signal.SIGKILL else f"exit code {child.returncode}"

    FAULTS.append(
        Fault(f"client killed at {step} ({when})", play, ("killed",), 30.0, quick=step == "Target.createTarget")
    )


_client_killed("Target.createTarget", "answered")
_client_killed("Target.attachToTarget", "sent")
_client_killed("Page.navigate", "sent")
_client_killed("Runtime.evaluate", "sent")


# The state file


@contextmanager
def _state_is(stage: Stage, make: Callable[[Path], object]) -> Iterator[None]:
    """The state file is something else for a while, for processes that start then."""
    with tempfile.TemporaryDirectory() as elsewhere:
        folder = Path(elsewhere) / "castlenb"
        folder.mkdir()
        undo = make(folder)
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = elsewhere
        try:
            yield
        finally:
            if before is None:
                del os.environ["XDG_STATE_HOME"]
            else:
                os.environ["XDG_STATE_HOME"] = before
            if callable(undo):
                undo()


def _state(name: str, make: Callable[[Path], object]) -> None:
    """Two searches in a process of its own: both answered, the second no sooner than the pace, and it is said."""

    def play(stage: Stage) -> object:
        code = (
            "import time, castlenb as cn\n"
            f"with cn.connect({stage.target!r}) as browser:\n"
            "    pages = [cn.search(q, browser=browser, pace=(1, 3)) for q in ('one', 'two')]\n"
            "print('paced' if pages[1].timings['queued_ms'] > 500 else 'not paced', [len(page) for page in pages])\n"
        )
        with _state_is(stage, make):
            said, _ = (child := stage.child(code)).communicate(timeout=90)
        if child.returncode or "paced [10, 10]" not in said or "not paced" in said:
            return said[-300:]
        return "paced results" if "state file" in said else "paced results, and not a word"

    FAULTS.append(Fault(f"state file: {name}", play, ("paced results",), 40.0))


def _held(folder: Path) -> Callable[[], None]:
    path = folder / FILE
    made = Ledger(folder)
    asyncio.run(made.run(lambda db: None))
    code = (
        "import sqlite3, sys\n"
        f"db = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "db.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    return lambda: (holder.communicate(timeout=30), None)[1]


def full(folder: Path) -> Callable[[], None]:
    """A file system of 64 kB with nothing left; where none can be made, /dev/full in the file's place."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], capture_output=True)
    if mounted.returncode:
        (folder / FILE).symlink_to("/dev/full")
        return lambda: None
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    return lambda: (subprocess.run(["umount", str(folder)], check=True), None)[1]


_state("disk full", full)
_state("/dev/full", lambda folder: (folder / FILE).symlink_to("/dev/full"))
_state("corrupted", lambda folder: (folder / FILE).write_bytes(os.urandom(20_000)))
_state("held by another process", _held)


@fault("clock set back by two hours", "results", allowed_s=15.0)
def _(stage: Stage) -> object:
    """What was counted then, as it looks from now: two hours ahead."""
    stage.search("before the step", pace=(1, 3))
    book = sqlite3.connect(stage.state / FILE, timeout=10)
    [table] = [
        name
        for (name,) in book.execute("SELECT name FROM sqlite_master WHERE name LIKE 'pages_%'").fetchall()
        if book.execute(f'SELECT 1 FROM "{name}" WHERE item_timestamp > ?', ((time.time() - 60) * 1000,)).fetchone()
    ]
    book.execute(f'UPDATE "{table}" SET item_timestamp = item_timestamp + 7200000')
    book.commit()
    book.close()
    page = stage.search("after the step", pace=(1, 3))
    queued = page.timings["queued_ms"] or 0.0
    return page if queued < 10_000 else f"waited for {queued} ms"
