"""Which Chrome, and who decided it.

The explicit argument wins over ``BU_CDP_HTTP``, that over the choice stored by pi-browser-harness, that over the
built-in default; so that one decision governs this package and the other. Nothing is dialled here.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from castlenb.errors import TargetError, redact

DEFAULT = "10.88.0.25:9223"
LOCAL = "127.0.0.1:9222"

TargetLike = str | int | os.PathLike[str] | None
"""What names a Chrome; ``None`` leaves it to the configuration."""


BY_THE_LAB = "the lab"
"""Who decides on the lab's own Chromium: what is seen there is no news of the engines."""


@dataclass(frozen=True)
class Target:
    """A Chrome, as decided.

    Attributes:
        address: an ``http(s)://`` or ``ws(s)://`` URL, or the absolute path of a profile directory. It may hold a
            token: show ``str(target)`` instead.
        decided_by: ``the target argument``, ``BU_CDP_HTTP``, the stored file's path, ``the lab``, or ``the built-in
            default``.
    """

    address: str
    decided_by: str

    def __str__(self) -> str:
        return redact(self.address)

    def __repr__(self) -> str:
        return f"Target({str(self)!r}, decided_by={self.decided_by!r})"


def resolve_target(
    target: TargetLike = None, *, environ: Mapping[str, str] | None = None, stored: Path | None = None
) -> Target:
    """Decide which Chrome to use.

    Args:
        target: ``host:port``, a port, an ``http(s)://`` or ``ws(s)://`` URL, a profile directory; or one of ``local``,
            ``localhost``, ``off``, ``none``, ``0``, ``no`` for this machine's own Chrome on port 9222.
        environ: in place of the process's environment.
        stored: in place of ``~/.pi/agent/browser-target.json``, which is read and never written.

    Raises:
        TargetError: whoever decided said something that names no Chrome.
    """
    if target is not None:
        return _target(target, "the target argument")
    spoken = (os.environ if environ is None else environ).get("BU_CDP_HTTP", "").strip()
    if spoken:
        return _target(spoken, "BU_CDP_HTTP")
    decided_by = "~/.pi/agent/browser-target.json" if stored is None else str(stored)
    chosen = _stored(Path.home() / ".pi/agent/browser-target.json" if stored is None else stored, decided_by)
    if chosen is not None:
        return _target(chosen, decided_by)
    return _target(DEFAULT, "the built-in default")


_HERE = frozenset({"local", "localhost", "off", "none", "0", "no"})
_FORMS = "use host:port, a port, an http(s):// or ws(s):// address, a profile directory, or local"
_STORED_FORMS = (
    'expected a JSON string, or an object with "target", "endpoint", "url" or "cdp", or with "host" and "port"'
)


def _target(given: object, decided_by: str) -> Target:
    try:
        return Target(_address(given), decided_by)
    except ValueError as exc:
        raise TargetError(given, decided_by, str(exc)) from None


def _address(given: object) -> str:
    if isinstance(given, os.PathLike):
        return _profile(os.fspath(given))
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise ValueError(f"it is {_kind(given)}; {_FORMS}")
    text = str(given).strip()
    if not text:
        raise ValueError(f"it is empty; {_FORMS}")
    if text.lower() in _HERE:
        return f"http://{LOCAL}"
    if re.fullmatch(r"-?[0-9]+", text):
        return _url(f"http://127.0.0.1:{text}", text)
    if "://" in text:
        return _url(text, text)
    if re.match(r"(\[[^\]/]*\]|[^:/\\?#\s]+):[0-9]+(?=[/?]|$)", text):
        return _url(f"http://{text}", text)
    if re.match(r"[~./\\]|[A-Za-z]:[\\/]", text):
        return _profile(text)
    raise ValueError(f"{redact(text)!r} has no port; {_FORMS}")


def _url(url: str, text: str) -> str:
    shown = repr(redact(text))
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as exc:  # a port that is none, a bracket left open
        raise ValueError(f"{shown} is not an address ({exc})") from None
    if parts.scheme not in ("http", "https", "ws", "wss"):
        raise ValueError(f"{shown} starts with {parts.scheme}://; {_FORMS}")
    if not host or port == 0 or re.search(r"\s", url):
        raise ValueError(f"{shown} is not an address; {_FORMS}")
    return parts._replace(fragment="").geturl()


def _profile(text: str) -> str:
    path = Path(text).expanduser().absolute()
    if path.name == "DevToolsActivePort":
        path = path.parent
    if not path.is_dir():
        raise ValueError(f"there is no profile directory {str(path)!r}")
    return str(path)


def _stored(path: Path, decided_by: str) -> object:
    """What the file says; ``None`` if there is no file."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise TargetError(str(path), decided_by, f"the file can not be read ({exc})") from exc
    try:
        said: Any = json.loads(text)
    except ValueError as exc:
        raise TargetError(text, decided_by, f"the file is not JSON ({exc}): {redact(text[:80])!r}") from exc
    if isinstance(said, str):
        return said
    if isinstance(said, dict):
        for key in ("target", "endpoint", "url", "cdp"):
            if said.get(key) is not None:
                return said[key]
        host, port = said.get("host"), said.get("port")
        if isinstance(host, str) and host and isinstance(port, str | int) and not isinstance(port, bool):
            return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
    raise TargetError(said, decided_by, f"the file holds {_kind(said)}; {_STORED_FORMS}")


def _kind(value: object) -> str:
    """In JSON's words, without the values: a token may be among them."""
    if isinstance(value, dict):
        return f"an object with the keys {', '.join(map(repr, value))}" if value else "an empty object"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        type(None): "null",
        str: "a string",
    }
    return names.get(type(value), f"a {type(value).__name__}")
