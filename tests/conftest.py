"""What every test stands on: no way off this machine, one backend for coroutines, and a last line that tells."""

import atexit
import os
import shutil
import tempfile
from typing import Any

import pytest

from . import guard
from .browser import real_pages

HELD = guard.hold()

# The built-in default is somebody's browser: a test that forgets to say which Chrome it means gets a dead address.
os.environ["BU_CDP_HTTP"] = "127.0.0.1:1"

# Nor is what somebody keeps in their home read or written: states, data and settings begin empty.
_HOME = tempfile.mkdtemp(prefix="castlenb-tests-")
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)
for _kind in ("CONFIG", "DATA", "STATE"):
    os.environ[f"XDG_{_kind}_HOME"] = os.path.join(_HOME, _kind.lower())


def pytest_report_header() -> str:
    return f"network: {HELD}"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process that runs a part of the tests tells the one that began them which pages it has read."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["real_pages"] = sorted(real_pages.tested)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    real_pages.tested.update(getattr(node, "workeroutput", {}).get("real_pages", ()))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.write_line(real_pages.tally())
