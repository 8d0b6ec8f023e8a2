"""The bench's simulations in small: the truth they are held against, and a few dozens of studies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from castlenb.study.policy import Policy, play
from castlenb.study.settle import replay

from ..made_studies import study
from .simulating import DESIGNS, UNBOUNDED, coverage, direct, simulated, truth


@pytest.mark.parametrize("policy", [Policy("always", 2.0, None, 500.0), Policy("two_stage", 4.0, 1.0, 2000.0)])
def test_policies_do_on_records_what_a_reader_would_have_done(policy: Policy) -> None:
    model = replace(DESIGNS["once"].model, marker=0.3)
    made = study({"google": model}, queries=300, repeats=1, seed=2)
    played = replay(made.run, made.run.trials)
    found = play(played, policy, finished=played.finished(policy.quiet_ms), opted=np.ones(300, dtype=bool))
    gate = None if policy.gate_s is None else policy.gate_s * 1000
    marker = made.run.trials["marker_ms"].to_numpy(float, na_value=np.inf)
    waits = pd.DataFrame(
        [
            direct(*each, budget_ms=policy.budget_s * 1000, gate_ms=gate, quiet_ms=policy.quiet_ms)
            for each in zip(played.ready, made.appear, marker, made.changes, strict=True)
        ]
    )
    for name in waits:
        assert getattr(found, name) == pytest.approx(waits[name].to_numpy(float)), name
    assert (waits.drop(columns=["added_ms", "wasted_ms"]).sum() > 0).all()


@pytest.mark.proof
def test_intervals_hold_the_truth_in_a_few_dozens_of_studies() -> None:
    """Of 48 at 95 % at most six miss, but one time in 70: the seeds are fixed. The bench has 500."""
    design = DESIGNS["repeats"]
    true = truth(design)
    for name, told in simulated(design, 48).items():
        if name not in UNBOUNDED:
            assert coverage(told, true[name]) >= 100 * 42 / 48, name
