"""One name for each Chrome, however it was written, and the ledger in which its visits are kept."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .cdp.endpoint import is_loopback
from .ledger import Ledger, lab_folder, ledger, state_folder

LOOKUP_S = 2.0
"""What looking up a host's address may take; else its name has to do."""


@dataclass(frozen=True)
class Desk:
    """Where a Chrome's visits are kept.

    Attributes:
        chrome: its name in the ledger: address and port, and a hash of what else tells it from others there.
        book: the ledger.
        is_lab: whether it is a lab's, which nobody minds being asked in a hurry, and which keeps a ledger of its own.
    """

    chrome: str
    book: Ledger
    is_lab: bool


async def desk_of(address: str) -> Desk:
    """The desk for a target's address (see :class:`castlenb.target.Target`). Nothing is dialled."""
    chrome = await _name(address)
    host, _, port = chrome.rpartition(":")
    folder = lab_folder(int(port)) if host == "localhost" and port.isdigit() else None
    return Desk(chrome, ledger(folder or state_folder()), folder is not None)


async def _name(address: str) -> str:
    if "://" not in address:
        try:
            port = (Path(address) / "DevToolsActivePort").read_text("utf-8", "replace").split()[0]
        except (OSError, LookupError):
            port = ""
        if port.isdigit():
            return f"localhost:{port}"
        return "profile:" + hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()[:16]
    parts = urlsplit(address)
    secure = parts.scheme in ("https", "wss")
    port_number = parts.port or (443 if secure else 80)
    host = "localhost" if is_loopback(address) else parts.hostname or ""
    if host != "localhost" and not secure:
        host = await _looked_up(host, port_number)
    # Behind a gateway, path and query can be what tells one Chrome from another; a token may be among them.
    rest = re.sub(r"/devtools/browser(/[^/]*)?$|/+$", "", parts.path) + "?" + parts.query
    return f"{host}:{port_number}" + ("" if rest == "?" else "#" + hashlib.sha256(rest.encode()).hexdigest()[:8])


async def _looked_up(host: str, port: int) -> str:
    if re.fullmatch(r"[\d.]+|.*:.*", host):
        return host
    try:
        async with asyncio.timeout(LOOKUP_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, port)
    except (OSError, TimeoutError):
        return host
    return min(str(each[4][0]) for each in found)
