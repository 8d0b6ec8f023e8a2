"""What is wrong, if anything: the Chrome that would be used, and how it and the engines stand with us."""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from . import bridge, pacing
from .blocks import EMPTY, Block
from .browser import Browser
from .cdp.endpoint import is_loopback
from .engines import engine, overrides, overrides_file
from .errors import EndpointError
from .manners import Manners
from .target import Target

PACKAGES = ("castlenb", "httpx", "jinja2", "pandas", "platformdirs", "pyrate-limiter", "websockets", "ipywidgets")
"""Whose versions a report gives."""


class Examination:
    """A target, looked at once.

    Attributes:
        target: which Chrome, and who decided it.
        wrong: why it can not be had; ``None`` where it can.
        version: what it says of itself.
        manners: what is kept of it on this machine.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.wrong: EndpointError | TimeoutError | None = None
        with Browser(target) as browser:
            try:
                bridge.run(browser.open())
            except (EndpointError, TimeoutError) as failed:
                self.wrong = failed
            self.version = dict(browser.version)
            self.manners: Manners = browser.manners()

    def lines(self) -> list[tuple[str, str]]:
        """For the person whose Chrome it is: what each line is about, and what it says.

        Raises:
            EngineError: the user's own file of hooks makes no sense.
        """
        found = [("target", str(self.target)), ("decided by", self.target.decided_by)]
        found.append(("hooks", f"{overrides_file()}{'' if overrides() else ': sets none'}"))
        for each in overrides():
            engine(each.engine)  # raises where it speaks of a hook that is not there
            found.append(("", str(each)))
        if self.wrong is None:
            found.append(("reachable", "yes"))
        else:
            problem = self.wrong.problem if isinstance(self.wrong, EndpointError) else "no connection in time"
            found.append(("reachable", f"no: {problem}"))
        names = ("Browser", "Protocol-Version", "User-Agent")
        found += [(name.lower(), said) for name, said in self.version.items() if name in names]
        seen, longest = self.manners, pacing.PACE[-1][1]
        asked = ", ".join(f"{name} {number}" for name, number in seen.asked.items() if number) or "none"
        if seen.is_lab:
            found.append(("pace", "none: this is a lab"))
        else:
            found.append(("pace", f"{pacing.in_words(pacing.PACE)}; asked for in the last {longest:g} s: {asked}"))
        found += [("cool-down", _in_words(block)) for block in seen.blocks] or [("cool-down", "none")]
        found.append(("tabs", f"{seen.tabs} of ours open, {seen.left_behind} left behind by processes that ended"))
        found.append(("state", seen.state))
        return found

    def report(self) -> str:
        """For strangers, as JSON: no address, no path, no name, and no word of what was searched for."""
        address = self.target.address
        where = "a profile directory" if "://" not in address else "another machine"
        seen = self.manners
        said = {
            "castlenb": {name: _version(name) for name in PACKAGES},
            "python": platform.python_version(),
            "system": {"name": platform.system(), "release": platform.release(), "machine": platform.machine()},
            "in_a_notebook": "ipykernel" in sys.modules,
            "target": {
                "where": "this machine" if "://" in address and is_loopback(address) else where,
                "scheme": address.partition("://")[0] if "://" in address else None,
                "decided_by": "a stored file" if "/" in self.target.decided_by else self.target.decided_by,
                "reachable": self.wrong is None,
                "error": None if self.wrong is None else type(self.wrong).__name__,
                "status": getattr(self.wrong, "status", None),
            },
            "chrome": {name: self.version.get(name) for name in ("Browser", "Protocol-Version", "V8-Version")},
            "is_lab": seen.is_lab,
            "asked": dict(seen.asked),
            "cool_downs": [_as_json(block) for block in seen.blocks],
            "tabs": {"open": seen.tabs, "left_behind": seen.left_behind},
            "state": "in memory" if seen.state.startswith("in memory") else "in a file",
        }
        return json.dumps(said, indent=2)


def _in_words(block: Block) -> str:
    whose = engine(block.engine)
    if block.kind == EMPTY:
        what = f"answered with empty pages until {block.since:%H:%M} UTC; not asked before {block.until:%H:%M} UTC"
        return f"{whose.label} {what}, or after: castlenb cleared {whose.name}"
    return (
        f"{whose.label} asked for a person ({block.kind}) at {block.since:%H:%M} UTC; one call is let through from "
        f"{block.retry_at:%H:%M:%S} UTC on, all from {block.until:%H:%M} UTC. Open {whose.search_url('weather')} in "
        f"that Chrome, clear what it shows, then: castlenb cleared {whose.name}"
    )


def _as_json(block: Block) -> dict[str, Any]:
    times = {"since": block.since.isoformat(), "until": block.until.isoformat()}
    return {"engine": block.engine, "kind": block.kind, **times}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
