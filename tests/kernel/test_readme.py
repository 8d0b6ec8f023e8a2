"""The README's Python, run as it stands in a real kernel: against the lab, which ``BU_CDP_HTTP`` names."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import start_new_kernel

import castlenb as cn
from castlenb.engines import ENGINES

from .test_kernel import Started, run

BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Started, cn.Lab]]:
    folder = tmp_path_factory.mktemp("readme")
    home = '<a href="https://www.google.com/webhp" id="logo">Google</a>'
    (folder / "saved-page.html.gz").write_bytes(gzip.compress((home + ENGINES["google"].specimen).encode()))
    with cn.Lab() as lab:
        manager, client = start_new_kernel(
            kernel_name="python3", cwd=str(folder), env={**os.environ, "BU_CDP_HTTP": lab.web.target}
        )
        yield (manager, client), lab
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 2


@pytest.mark.proof
def test_every_block_runs(stage: tuple[Started, cn.Lab]) -> None:
    (_, client), lab = stage
    for block in BLOCKS:
        reply = run(client, block.replace("127.0.0.1:9222", lab.web.target), timeout=120)
        assert reply["status"] == "ok", "\n".join(reply["traceback"])
    assert run(client, "asked.answer.state, len(saved), len(page), len(both.pages)")["shown"] == "('settled', 2, 10, 4)"
