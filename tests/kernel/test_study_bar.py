"""A study in a notebook: its bar, and how the last answer grew, drawn while the cell still runs."""

from __future__ import annotations

from typing import Any

import pytest

import castlenb as cn

from .test_kernel import Started

pytestmark = pytest.mark.proof

CELL = """
import castlenb as cn
from castlenb import study
plan = study.plan(["tea"], engines=["google"], repeats=1)
run = study.run(plan, journal={journal!r}, browser={target!r}, horizon_s=3.0, quiet_ms=300, growth={growth})
"""


@pytest.mark.parametrize("growth", [True, False])
def test_growth_is_drawn_where_it_was_asked_for(kernel: Started, lab: cn.Lab, tmp_path: Any, growth: bool) -> None:
    lab.play("instant")
    messages: list[dict[str, Any]] = []
    cell = CELL.format(journal=str(tmp_path / "j.jsonl"), target=lab.web.target, growth=growth)
    reply = kernel[1].execute_interactive(cell, timeout=120, output_hook=messages.append)
    assert reply["content"]["status"] == "ok", reply["content"]
    shown = [each["content"]["data"]["text/plain"] for each in messages if each["msg_type"] == "display_data"]
    assert ("castlenb: growth" in shown) is growth
    values = [
        each["content"]["data"].get("state", {}).get("value")
        for each in messages
        if each["msg_type"] in ("comm_open", "comm_msg")
    ]
    drawn = [value for value in values if isinstance(value, str) and "castlenb-curve" in value]
    assert bool(drawn) is growth
    assert all("<polyline points=" in value and ">tea</bdi>" in value for value in drawn)
    assert not [each for each in messages if each["msg_type"] == "stream"], "nothing is printed beside them"
