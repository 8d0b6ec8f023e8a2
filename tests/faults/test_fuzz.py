"""The short form of ``python -m tests.faults.fuzz``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .fuzz import TARGETS

pytestmark = pytest.mark.proof


@pytest.mark.parametrize("target", TARGETS, ids=[target.__name__ for target in TARGETS])
def test_whatever_comes_from_outside(target: Callable[[], None]) -> None:
    target()
