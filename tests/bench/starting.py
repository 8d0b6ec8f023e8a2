"""What the first line of a notebook costs, and its first page."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import start_new_kernel

from .rows import Limit, Row, measure

STARTS = 15
CODE = "from time import perf_counter as now; began = now(); import castlenb; print(now() - began)"

PAGES = 3
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-search.ipynb"
RESULT = "Ten questions about pour over coffee ratio, answered"


@measure
def importing() -> list[Row]:
    """``import castlenb`` in a fresh interpreter, seconds; the first start only fills the disk's cache."""
    took = [
        float(subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout)
        for _ in range(STARTS + 1)
    ]
    return [Row("import_s", "s", statistics.median(took[1:]), STARTS, Limit("value", 0.3))]


@measure
def first_page() -> list[Row]:
    """Seconds until the first cell of ``01-search`` has drawn its page in a fresh kernel, Chromium's start included:
    the slowest, since it is the first start on a machine that a person waits for. The second row has the kernel's start
    in it too."""
    cells = [each for each in json.loads(NOTEBOOK.read_text())["cells"] if each["cell_type"] == "code"]
    parameters, cell = ("".join(each["source"]) for each in cells[:2])
    taken = [_first_page(parameters, cell) for _ in range(PAGES)]
    return [
        Row("first_page_s", "s", max(page for _, page in taken), PAGES, Limit("value", 10.0)),
        Row("first_page_and_kernel_s", "s", max(kernel + page for kernel, page in taken), PAGES, None),
    ]


def _first_page(parameters: str, cell: str) -> tuple[float, float]:
    """Seconds that a new kernel takes to be ready, and then the cell to draw its page."""
    drawn: list[float] = []

    def hook(message: dict[str, Any]) -> None:
        if RESULT in message["content"].get("data", {}).get("text/html", ""):
            drawn.append(time.perf_counter())

    began = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(NOTEBOOK.parent))
    ready = time.perf_counter()
    try:
        for code in (parameters, cell):
            reply = client.execute_interactive(code, timeout=60, output_hook=hook, stop_on_error=False)["content"]
            assert reply["status"] == "ok", reply
        client.execute_interactive("lab.close()", timeout=60, stop_on_error=False)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
        manager.cleanup_resources()
    assert len(drawn) == 1, "the cell drew no page"
    return ready - began, drawn[0] - ready
