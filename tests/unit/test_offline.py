"""The suite can not leave this machine, by whichever of the two ways it is held."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import guard

OFFLINE = Path(guard.__file__).with_name("offline.py")
ROOT = str(OFFLINE.parents[1])
ELSEWHERE = "192.0.2.1"


def dial(host: str) -> None:
    socket.create_connection((host, 9), timeout=60).close()


def dial_and_return_a_number(host: str) -> None:
    with socket.socket() as stream:
        if number := stream.connect_ex((host, 9)):
            raise OSError(number, "connect_ex")


def send(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"x", (host, 9))


def send_with_flags(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"x", 0, (host, 9))


def send_message(host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendmsg([b"x"], [], 0, (host, 9))


def dial_from_a_loop(host: str) -> None:
    async def run() -> None:
        await asyncio.open_connection(host, 9)

    asyncio.run(run())


def dial_six(host: str) -> None:
    with socket.socket(socket.AF_INET6) as stream:
        stream.connect((f"::ffff:{host}", 9))


WAYS_OUT = [dial, dial_and_return_a_number, send, send_with_flags, send_message, dial_from_a_loop, dial_six]


@pytest.mark.parametrize("leave", WAYS_OUT)
def test_this_process_can_not_leave(leave: Callable[[str], None]) -> None:
    with pytest.raises(OSError) as caught:
        leave(ELSEWHERE)
    assert caught.value.errno == errno.ENETUNREACH


def test_this_process_can_look_up_no_name() -> None:
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.org", 80)
    with pytest.raises(socket.gaierror):
        socket.gethostbyname("example.org")


def test_nor_can_a_process_that_it_starts() -> None:
    code = f"import socket; socket.create_connection(({ELSEWHERE!r}, 9), timeout=60)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert os.strerror(errno.ENETUNREACH) in ended.stderr


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6), ("localhost", socket.AF_INET)]
)
def test_loopback_is_open(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as server:
        dial_to = (host, server.getsockname()[1])
        socket.create_connection(dial_to, timeout=60).close()


def offline(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(OFFLINE), *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environ},
    )


def test_a_command_is_run_as_it_was_given_and_told_how_it_is_held() -> None:
    code = "import os, sys; print(sys.argv[1:], os.environ['CASTLENB_OFFLINE']); sys.exit(7)"
    ended = offline(sys.executable, "-c", code, "a b", "--c")
    assert ended.returncode == 7
    network = ended.stderr.removeprefix("network: ").strip()
    assert network in (guard.NAMESPACE, guard.IN_PROCESS)
    assert ended.stdout == f"['a b', '--c'] {network}\n"


def test_a_command_that_is_not_there_is_named() -> None:
    ended = offline("no-such-command")
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (127, "no-such-command: No such file or directory")


def test_a_promise_of_a_namespace_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(guard.VARIABLE, guard.NAMESPACE)
    monkeypatch.setattr(guard, "way_out", lambda: True)
    with pytest.raises(RuntimeError, match="there is a route out"):
        guard.hold()


@pytest.mark.parametrize("host", ["localhost", "a.localhost", "127.9.9.9", "::1", "::ffff:127.0.0.1", "", None, b"::1"])
def test_the_guard_knows_loopback(host: object) -> None:
    assert guard.stays_here(host)


@pytest.mark.parametrize(
    "host", ["example.org", "localhost.example.org", "10.88.0.25", "::ffff:10.0.0.1", "fe80::1%lo"]
)
def test_the_guard_knows_what_is_elsewhere(host: object) -> None:
    assert not guard.stays_here(host)


GUARDED = """
import socket
from tests import guard
guard.wrap_sockets()
from tests.unit.test_offline import WAYS_OUT, ELSEWHERE
for leave in WAYS_OUT:
    try: leave(ELSEWHERE)
    except OSError as error: print(leave.__name__, error.errno)
try: socket.socket(socket.AF_UNIX).connect("/nowhere/at/all")
except OSError as error: print("unix", error.errno)
"""


def test_the_guard_holds_where_there_is_no_namespace() -> None:
    """Whatever holds this suite: the wrapped sockets of a process of its own are what is looked at."""
    environ = {**os.environ, "PYTHONPATH": ROOT, guard.VARIABLE: guard.NAMESPACE}
    ended = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, check=False, env=environ)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        *(f"{leave.__name__} {errno.ENETUNREACH}" for leave in WAYS_OUT),
        f"unix {errno.ENOENT}",
    ]


def test_the_guard_reaches_what_a_guarded_process_starts() -> None:
    code = (
        "import subprocess, sys; from tests import guard; print(guard.hold(), flush=True); "
        "subprocess.run([sys.executable, '-c', sys.argv[1]])"
    )
    inner = "import socket; socket.getaddrinfo('192.0.2.1', 9); socket.create_connection(('192.0.2.1', 9), timeout=60)"
    environ = {name: value for name, value in os.environ.items() if name != guard.VARIABLE}
    environ["PYTHONPATH"] = ROOT
    ended = subprocess.run(
        [sys.executable, "-c", code, inner], capture_output=True, text=True, check=False, env=environ
    )
    assert ended.stdout == f"{guard.IN_PROCESS}\n"
    assert "held here: 192.0.2.1" in ended.stderr
