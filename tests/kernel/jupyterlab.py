"""JupyterLab in a throwaway Chromium, driven by castlenb's own DevTools client."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

from castlenb import bridge
from castlenb.cdp.connection import Connection, Session
from castlenb.cdp.endpoint import discover

WIDTH, HEIGHT = 1280, 9000
"""Of the window: so tall that nothing has to be scrolled to."""

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "notebook-extension/tracker": {"windowingMode": "none"},
}


@contextmanager
def server(folder: Path, cells: list[str]) -> Iterator[str]:
    """JupyterLab on a notebook of these cells; yields its address."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "test.ipynb")
    homes = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    for name, said in SETTINGS.items():
        file = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(said))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": str(port),
        "ServerApp.port_retries": "0",
        "ServerApp.open_browser": "False",
        "ServerApp.root_dir": str(folder),
        "IdentityProvider.token": "",
        "LabApp.expose_app_in_browser": "True",
    }
    root = [] if not hasattr(os, "geteuid") or os.geteuid() else ["--allow-root"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *root, *(f"--{name}={value}" for name, value in options.items())],
            env={**os.environ, **homes, "IPYTHONDIR": str(folder), "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            until = time.monotonic() + 90
            while not _answers(f"{address}/api"):
                assert process.poll() is None, (folder / "server.log").read_text()
                assert time.monotonic() < until, "JupyterLab did not start"
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


class Page:
    """A tab in front, of the test's own Chromium."""

    def __init__(self, connection: Connection, session: Session) -> None:
        self._connection = connection
        self._session = session

    def go(self, url: str) -> None:
        bridge.run(self._session.call("Page.navigate", {"url": url}, timeout=60))

    def fill(self, html: str) -> None:
        """Puts this document into the page."""
        tree = bridge.run(self._session.call("Page.getFrameTree"))
        frame = tree["frameTree"]["frame"]["id"]
        bridge.run(self._session.call("Page.setDocumentContent", {"frameId": frame, "html": html}, timeout=60))

    def js(self, expression: str) -> Any:
        wish = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = bridge.run(self._session.call("Runtime.evaluate", wish, timeout=60))
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, expression: str, what: str, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while not self.js(f"!!({expression})"):
            assert time.monotonic() < end, f"{what}\n{self.js('document.body.innerText')[:4000]}"
            time.sleep(0.2)

    def command(self, name: str, arguments: str = "{}") -> None:
        """One of JupyterLab's own commands, by its name."""
        self.js(f"void jupyterapp.commands.execute({name!r}, {arguments})")

    def click(self, label: str) -> None:
        """A click on the button of that label, wherever it is."""
        found = f"[...document.querySelectorAll('button')].filter(each => each.innerText.trim() === {label!r})"
        self.until(f"{found}.length > 0", f"there is no button {label!r}")
        self.js(f"{found}[0].click()")

    def shot(self, file: Path, selector: str, number: int = 0) -> None:
        """A picture of one element, with a little of what is around it."""
        element = f"document.querySelectorAll({selector!r})[{number}]"
        self.js(f"{element}.style.padding = '14px'")
        x, y, width, height = self.js(
            f"(box => [box.x, box.y, box.width, box.height])({element}.getBoundingClientRect())"
        )
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        answer = bridge.run(self._session.call("Page.captureScreenshot", {"format": "png", "clip": clip}, timeout=60))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(answer["data"]))
        self.js(f"{element}.style.padding = ''")


@contextmanager
def page(target: str) -> Iterator[Page]:
    """A tab in front of the Chromium at that target, for as long as the block lasts."""

    async def opened() -> tuple[Connection, Session]:
        connection = await Connection.open(await discover(f"http://{target}"))
        created = await connection.root.call("Target.createTarget", {"url": "about:blank"})
        attached = await connection.root.call(
            "Target.attachToTarget", {"targetId": created["targetId"], "flatten": True}
        )
        session = connection.session(attached["sessionId"], created["targetId"])
        await session.call("Page.enable")
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await session.call("Emulation.setDeviceMetricsOverride", size)
        return connection, session

    async def closed() -> None:
        await connection.root.call("Target.closeTarget", {"targetId": session.target_id})
        await connection.aclose()

    connection, session = bridge.run(opened())
    try:
        yield Page(connection, session)
    finally:
        bridge.run(closed())
