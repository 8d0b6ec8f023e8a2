"""Runs a command that can send no packet off this machine: ``python tests/offline.py COMMAND…``

On Linux in a network namespace of its own that has loopback and nothing else; where that can not be made, under the
guard of ``guard.py``, which reaches Python only. Says which on standard error. Needs Python's standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys

import guard

# <sched.h>, <linux/sockios.h>, <linux/if.h>
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 0x1


def main(command: list[str]) -> int:
    if not command:
        sys.stderr.write("usage: python tests/offline.py COMMAND…\n")
        return 2
    kinds = (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET)
    kind = next((kind for kind in kinds if _works(kind)), None)
    if kind is not None:
        _leave(kind)
        os.environ[guard.VARIABLE] = guard.NAMESPACE
    else:
        os.environ.pop(guard.VARIABLE, None)
    sys.stderr.write(f"network: {guard.hold()}\n")
    sys.stderr.flush()
    # A job that a shell started in the background ignores Ctrl-C, and so would all that the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "win32":
        return subprocess.call(command)  # exec there starts a second process and returns to the shell at once
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127


def _works(kind: int) -> bool:
    """Tries it in a child first: half way through, this process would be in a namespace without even a loopback."""
    if not sys.platform.startswith("linux"):
        return False
    child = os.fork()
    if child == 0:
        try:
            _leave(kind)
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname(), timeout=5).close()
            os._exit(1 if guard.way_out() else 0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _leave(kind: int) -> None:
    """Moves this process into new namespaces and switches loopback on.

    A user namespace is what lets anybody but root make the other. The user keeps their own number in it, so that
    Chromium still finds somebody it can run a sandbox for, and files still belong to somebody.
    """
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(kind) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if kind & CLONE_NEWUSER:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
