"""What every test stands on: no way off this machine, one backend for coroutines, and a last line that tells."""

import os

import pytest

from . import guard
from .browser import real_pages

HELD = guard.hold()

# The built-in default is somebody's browser: a test that forgets to say which Chrome it means gets a dead address.
os.environ["BU_CDP_HTTP"] = "127.0.0.1:1"


def pytest_report_header() -> str:
    return f"network: {HELD}"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.write_line(real_pages.tally())
