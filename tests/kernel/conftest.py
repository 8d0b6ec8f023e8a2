"""One kernel and one lab for all tests in here; each says what the lab is to play."""

from collections.abc import Iterator

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

import castlenb as cn


@pytest.fixture(scope="session")
def kernel() -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager, client = start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.fixture(scope="session")
def lab() -> Iterator[cn.Lab]:
    with cn.Lab("instant") as lab:
        yield lab
