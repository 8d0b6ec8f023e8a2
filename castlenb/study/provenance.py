"""Where, when and with what a run is measured."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import page
from ..browser import Browser
from ..engines import engine as engine_named

_PACKAGES = ("pandas", "scipy", "websockets")

CHROME = ("chrome", "protocol", "user_agent", "v8", "endpoint")
"""Columns of ``runs`` that tell of a Chrome; of several they are joined."""


def of_client() -> dict[str, Any]:
    """castlenb itself, and the machine that it runs on."""
    return {
        "castlenb_version": _version("castlenb"),
        "git_commit": _commit(Path(__file__).parent),
        "os": platform.platform(),
        "cpu_count": os.cpu_count(),
        "packages": json.dumps({"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}),
    }


def of_method(engines: Iterable[str]) -> dict[str, str]:
    """The tables of selectors, addresses and rules, and the scripts that run in the pages."""
    tables = [
        [engine_named(name).spec(), engine_named(name).search_url("q", ai_answer=True)] for name in sorted(engines)
    ]
    return {
        "engines_hash": _digest(json.dumps(tables, sort_keys=True)),
        "probe_hash": _digest(page.init_script({}, answers=True)),
    }


def of_chrome(house: Browser) -> dict[str, str]:
    """The Chrome that a Browser is connected to; what it does not tell is empty."""
    said = house.version.get
    return {
        "chrome": said("Browser", ""),
        "protocol": said("Protocol-Version", ""),
        "user_agent": said("User-Agent", ""),
        "v8": said("V8-Version", ""),
        "endpoint": house.address,
    }


def joined(several: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Columns of ``runs`` for one or more Chromes."""
    known = list(several)
    found: dict[str, Any] = {
        name: "; ".join(dict.fromkeys(each[name] for each in known if each[name])) or None for name in CHROME
    }
    agent = found["user_agent"]
    return {**found, "headless": None if agent is None else "Headless" in agent}


def load() -> float | None:
    """Load average over the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # 30 ms that `import castlenb` does not have

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit(folder: Path) -> str | None:
    """Of the checkout that the folder is in; of one that only holds an installed castlenb it would mean nothing."""
    git = ("git", "-C", str(folder))
    try:
        ask = (
            ("ls-files", "--error-unmatch", "provenance.py"),
            ("rev-parse", "--short=12", "HEAD"),
            ("status", "--short"),
        )
        _, commit, changes = (
            subprocess.run([*git, *words], capture_output=True, text=True, timeout=5, check=True).stdout.strip()
            for words in ask
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+dirty" if changes else "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
