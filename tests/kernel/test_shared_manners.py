"""Two kernels and a script that search one Chrome as fast as they may: one pace, one limit, and each of them served."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

import castlenb as cn
from castlenb.ledger import state_folder

from ..browser.conftest import Onlooker

pytestmark = pytest.mark.proof

PAGES, SECONDS = 3, 2.0
EACH = 4

CODE = """
import json, time
import castlenb as cn
cn.search("warm up", browser={target!r}, pace=({pages}, {seconds}), deadline_s=60)
waited = []
for number in range({each}):
    page = cn.search(f"{{number}}", browser={target!r}, pace=({pages}, {seconds}), deadline_s=60)
    waited.append(page.timings["queued_ms"])
print(json.dumps(waited))
"""


@pytest.fixture
def strange() -> Iterator[cn.Lab]:
    """A lab that nobody knows to be one."""
    with cn.Lab("slow-head") as lab:
        sign = state_folder() / "labs" / lab.web.target.rpartition(":")[2]
        aside = sign.rename(sign.with_suffix(".aside"))
        yield lab
        aside.rename(sign)


def test_two_kernels_and_a_script_share_pace_and_places(strange: cn.Lab) -> None:
    code = CODE.format(target=strange.web.target, pages=PAGES, seconds=SECONDS, each=EACH)
    kernels = [start_new_kernel(kernel_name="python3") for _ in range(2)]
    onlooker = Onlooker(strange.web.target)
    before, most, done = len(onlooker.tabs()), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.02):
            most = max(most, len(onlooker.tabs()) - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        asked = [client.execute(code) for _, client in kernels]
        said = [script.communicate(timeout=240)[0]]
        said += [_shown(client, message) for (_, client), message in zip(kernels, asked, strict=True)]
    finally:
        done.set()
        watcher.join()
        for manager, client in kernels:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
    waited = [json.loads(text.splitlines()[-1]) for text in said]
    assert [len(each) for each in waited] == [EACH] * 3
    at = sorted(request.at for request in strange.web.searches())
    assert len(at) == 3 * (EACH + 1)
    # The pace is kept where it is granted; the engine sees the pages as fast as tabs open, which is not always as fast.
    gaps = [later - earlier for earlier, later in zip(at, at[PAGES:], strict=False)]
    assert min(gaps) > SECONDS / 2
    assert at[-1] - at[0] > SECONDS * (len(at) // PAGES - 1) * 0.9
    assert most <= 2
    # None starves: among three, nobody waits for much more than their turn and the others'.
    assert max(ms for each in waited for ms in each) < 30_000
    until = time.monotonic() + 15
    while len(onlooker.tabs()) > before and time.monotonic() < until:
        time.sleep(0.05)
    assert len(onlooker.tabs()) == before


def _shown(client: BlockingKernelClient, message: str) -> str:
    """What that cell wrote, once it is done."""
    shown = ""
    while True:
        heard = client.get_iopub_msg(timeout=240)
        if heard["parent_header"].get("msg_id") != message:
            continue
        if heard["msg_type"] == "stream" and heard["content"]["name"] == "stdout":
            shown += heard["content"]["text"]
        elif heard["msg_type"] == "error":
            raise AssertionError(heard["content"]["evalue"])
        elif heard["msg_type"] == "status" and heard["content"]["execution_state"] == "idle":
            return shown
