"""The quick part of ``make faults``: a few of its faults, on one lab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .cases import FAULTS
from .stage import Fault, Stage, played

QUICK = [fault for fault in FAULTS if fault.quick]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage() as stage:
        yield stage


@pytest.mark.parametrize("fault", QUICK, ids=[fault.name for fault in QUICK])
def test_a_fault_is_a_typed_error_and_leaves_nothing_behind(stage: Stage, fault: Fault) -> None:
    row = played(stage, fault)
    assert row.ok, row


def test_there_are_enough_faults_and_none_twice() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names)) >= 25
    assert all(fault.expected for fault in FAULTS)
