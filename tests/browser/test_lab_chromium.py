"""The throwaway Chromium: it starts, dies and starts again as told, and nothing of it is left."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from castlenb.errors import LabError
from castlenb.lab import Chromium, FakeWeb, find_chromium, throwaway

pytestmark = pytest.mark.proof

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of the test's own, in which anything left behind is seen."""
    with tempfile.TemporaryDirectory(prefix="t") as short:  # sockets' paths have to be short
        monkeypatch.setattr(tempfile, "tempdir", short)
        monkeypatch.setenv("TMPDIR", short)
        yield Path(short)


def answers(chromium: Chromium) -> bool:
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://{chromium.target}/json/version", timeout=5) as answer:
            return "Chrome/" in json.load(answer)["Browser"]
    except OSError:
        return False


def processes_of(text: str) -> list[int]:
    """Live processes whose command line names something."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def eventually(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@linux_only
def test_nothing_is_left(scratch: Path) -> None:
    with Chromium() as chromium:
        assert answers(chromium)
        assert len(processes_of(str(scratch))) > 2
        profile = chromium.profile
        assert profile.parent == scratch
        assert len((profile / "DevToolsActivePort").read_text().splitlines()) == 2
    assert not answers(chromium)
    assert processes_of(str(scratch)) == []
    assert list(scratch.iterdir()) == []
    assert not profile.exists()
    chromium.stop()


@linux_only
def test_killed_and_started_again_on_the_same_port(scratch: Path) -> None:
    chromium = Chromium()
    chromium.start()
    port, profile, first = chromium.port, chromium.profile, chromium.pid
    (profile / "mine").touch()
    chromium.kill()
    assert not chromium.running
    assert not answers(chromium)
    assert processes_of(str(profile)) == []
    assert (profile / "mine").exists(), "a crash leaves the profile"

    chromium.start(keep_profile=True)
    assert (chromium.port, chromium.profile, (profile / "mine").exists()) == (port, profile, True)
    assert answers(chromium)
    assert chromium.pid != first
    chromium.kill()

    chromium.start()
    assert (chromium.port, chromium.profile == profile, profile.exists()) == (port, False, False)
    assert answers(chromium)
    chromium.stop()
    chromium.start()
    assert answers(chromium)
    chromium.stop()
    assert list(scratch.iterdir()) == []


@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_does_not_outlive_python(scratch: Path, number: signal.Signals) -> None:
    code = "import time; from castlenb.lab.chromium import Chromium; c = Chromium(); c.start(); "
    code += "print(c.profile, flush=True); time.sleep(60)"
    python = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert python.stdout is not None
    with python.stdout:
        profile = python.stdout.readline().strip()
        assert processes_of(profile)
        python.send_signal(number)
        python.wait(20)
    assert eventually(lambda: processes_of(profile) == [] and not Path(profile).exists())
    assert list(scratch.iterdir()) == []


@linux_only
def test_it_outlives_the_thread_that_started_it(scratch: Path) -> None:
    chromium = Chromium()
    starter = threading.Thread(target=chromium.start)
    starter.start()
    starter.join()
    assert answers(chromium)
    stopper = threading.Thread(target=chromium.stop)
    stopper.start()
    stopper.join()
    assert not answers(chromium)


def test_a_taken_port_is_said_and_its_owner_left_alone(scratch: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LabError, match=f"port {port} is taken"):
            Chromium(port=port).start()
    assert list(scratch.iterdir()) == []


def test_its_last_words_are_in_the_error(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = scratch / "chromium"
    program.write_text("#!/bin/sh\necho 'I am not well' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("CASTLENB_CHROMIUM", str(program))
    with pytest.raises(LabError, match=r"(?s)ended at once \(exit code 3\).*I am not well"):
        Chromium().start()
    program.write_text("#!/bin/sh\necho 'one moment' >&2\nexec sleep 60\n")
    with pytest.raises(LabError, match=r"(?s)no DevTools endpoint within 0.3 s.*one moment"):
        Chromium(start_timeout=0.3).start()
    program.unlink()
    assert list(scratch.iterdir()) == []


def test_which_program_is_started(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("google-chrome", "chromium"):
        monkeypatch.delenv("CASTLENB_CHROMIUM", raising=False)
        monkeypatch.setenv("PATH", str(scratch))
        (scratch / name).touch(0o755)
        assert find_chromium() == str(scratch / name), "the first of the usual names on PATH"
    (scratch / "mine").touch(0o755)
    monkeypatch.setenv("CASTLENB_CHROMIUM", str(scratch / "mine"))
    assert find_chromium() == str(scratch / "mine")
    monkeypatch.setenv("CASTLENB_CHROMIUM", "no-such-program")
    with pytest.raises(LabError, match="CASTLENB_CHROMIUM names 'no-such-program'"):
        find_chromium()
    monkeypatch.delenv("CASTLENB_CHROMIUM")
    monkeypatch.setenv("PATH", str(scratch / "empty"))
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(LabError, match="apt install chromium"):
        find_chromium()


def test_an_environments_proxy_is_not_used(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with FakeWeb("instant", args=["--no-startup-window"]) as web:
            open_tab(web.chromium, "https://www.google.com/search?q=x")
            assert eventually(lambda: len(web.searches()) == 1)
        proxy.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            proxy.accept()


@linux_only
def test_a_web_leaves_neither_process_nor_thread_nor_file(scratch: Path) -> None:
    threads, descriptors = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))
    with FakeWeb("stalled") as web:
        open_tab(web.chromium, "https://www.google.com/search?q=left+open")
        assert eventually(lambda: len(web.searches()) == 1)
    web.stop()
    assert set(threading.enumerate()) <= threads
    assert list(scratch.iterdir()) == []
    assert processes_of(str(scratch)) == []
    assert set(os.listdir("/proc/self/fd")) <= descriptors


def test_no_web_at_all(scratch: Path) -> None:
    with throwaway() as target:
        assert target.startswith("127.0.0.1:")
    assert list(scratch.iterdir()) == []


def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    """Chromium's own record of its sockets: every one of them on loopback, though pages and idle services would."""
    log = tmp_path / "net.json"
    with FakeWeb("2026-08-04", args=[f"--log-net-log={log}"]) as web:
        for url in ("https://www.google.com/search?q=x", "https://outside.example/", "http://203.0.113.1:9/"):
            open_tab(web.chromium, url)
        assert eventually(lambda: bool(web.searches() and web.parts(web.searches()[0])))
        time.sleep(1.0)
    text = log.read_text()
    record = json.loads(text if text.rstrip().endswith("}") else text.rstrip().rstrip(",") + "]}")
    kinds = {number: name for name, number in record["constants"]["logEventTypes"].items()}
    seen: dict[str, set[str]] = {"TCP_CONNECT_ATTEMPT": set(), "UDP_BYTES_SENT": set()}
    for event in record["events"]:
        kind, params = kinds[event["type"]], event.get("params", {})
        if kind in seen and "address" in params:
            seen[kind].add(params["address"].rpartition(":")[0])
        elif kind == "UDP_BYTES_SENT":
            seen[kind].add("somewhere")
    assert seen["TCP_CONNECT_ATTEMPT"] == {"127.0.0.1"}
    assert seen["UDP_BYTES_SENT"] == set()


def open_tab(chromium: Chromium, url: str) -> None:
    asked = urllib.request.Request(f"http://{chromium.target}/json/new?{url}", method="PUT")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=10) as answer:
        assert json.load(answer)["id"]
