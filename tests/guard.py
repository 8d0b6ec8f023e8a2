"""Holds a test run on this machine, and says how it is held.

Two ways, and code under test sees the same errors by either:

* ``offline.py`` put the run into a network namespace of its own with only loopback in it. The kernel holds it: every
  process, Chromium and kernels included. Here that is only checked.
* Where no such namespace can be had, Python's sockets are wrapped in this process and, through ``guarded/`` on
  ``PYTHONPATH``, in every Python process it starts. Native code is not reached; the lab's Chromium is held by its own
  resolver rules.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

VARIABLE = "CASTLENB_OFFLINE"
NAMESPACE = "own namespace, loopback only"
IN_PROCESS = "in-process guard"

# RFC 5737 and RFC 3849: addresses for documentation. They belong to nobody, so even a guard that failed harms nobody.
ELSEWHERE = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))


def hold() -> str:
    """Makes sure that this process can not leave the machine.

    Returns:
        how it is held: :data:`NAMESPACE` or :data:`IN_PROCESS`.

    Raises:
        RuntimeError: a namespace was promised, and a way out of it was found.
    """
    if os.environ.get(VARIABLE) == NAMESPACE:
        if way_out():
            raise RuntimeError(f"{VARIABLE} promises a network namespace, and there is a route out of it")
        return NAMESPACE
    os.environ[VARIABLE] = IN_PROCESS
    guarded = str(Path(__file__).with_name("guarded"))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if guarded not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([guarded, *filter(None, paths)])
    wrap_sockets()
    return IN_PROCESS


def way_out() -> bool:
    """Whether the kernel knows a route off the machine. Connecting a datagram socket looks one up and sends nothing."""
    for address, family in ELSEWHERE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
        except OSError:
            continue
        return True
    return False


def wrap_sockets() -> None:
    """Makes sockets of this process raise what a machine without a network raises. Doing it twice is harmless."""
    if getattr(socket, "_castlenb_guard", False):
        return
    socket._castlenb_guard = True  # type: ignore[attr-defined]
    for name in ("connect", "connect_ex", "sendto", "sendmsg"):
        _wrap_method(name)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        _wrap_lookup(name)


def stays_here(host: object) -> bool:
    """Whether a host, as given to a socket call, is this machine's loopback; the answer never asks a name server."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host == "":
        return True
    name = str(host).lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback or (mapped or address).is_unspecified)


def _wrap_method(name: str) -> None:
    original = getattr(socket.socket, name, None)
    if original is None:
        return

    def guarded(self: socket.socket, *args: Any) -> Any:
        address = _address(name, args)
        if self.family in (socket.AF_INET, socket.AF_INET6) and address is not None and not stays_here(address[0]):
            if name == "connect_ex":
                return errno.ENETUNREACH
            raise OSError(errno.ENETUNREACH, f"{os.strerror(errno.ENETUNREACH)} (held here: {address[0]})")
        return original(self, *args)

    setattr(socket.socket, name, guarded)


def _address(name: str, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Where a method sends to: ``connect(where)``, ``sendto(data[, flags], where)``, ``sendmsg(…, …, …, where)``."""
    if name == "sendmsg":
        return args[3] if len(args) > 3 else None
    last = args[-1] if args else None
    return last if isinstance(last, tuple) else None


def _wrap_lookup(name: str) -> None:
    original = getattr(socket, name)
    asks_about_numbers = name == "gethostbyaddr"

    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not stays_here(host) and (asks_about_numbers or not _literal(host)):
            raise socket.gaierror(socket.EAI_AGAIN, f"Temporary failure in name resolution (held here: {host})")
        return original(host, *args, **kwargs)

    setattr(socket, name, guarded)


def _literal(host: object) -> bool:
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host).partition("%")[0])
    except ValueError:
        return False
    return True


if sys.platform == "win32":  # the name of the error exists there, its number is the system's own
    errno.ENETUNREACH = getattr(errno, "WSAENETUNREACH", errno.ENETUNREACH)
