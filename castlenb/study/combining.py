"""Several runs as one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import pandas as pd

from ..errors import Misuse
from .cells import MEASURED_AS, lots
from .records import SCHEMA
from .run_record import Run


def combine(runs: Iterable[Run]) -> Run:
    """Several runs as one, each under its own ``run_id``.

    Runs that were not measured alike (horizon, quiet window, scripts, selectors, versions, language) are kept apart in
    every table, in rows of their own under ``lot`` A, B and so on, and a warning says in what they differ. Runs from
    several vantages are taken together: combine those alone whose question is the same.

    Raises:
        Misuse: there is none, or the same run comes twice.
    """
    runs = list(runs)
    if not runs:
        raise Misuse("study.combine needs at least one run")
    frames = {name: pd.concat([getattr(run, name) for run in runs], ignore_index=True) for name in SCHEMA}
    known = frames["runs"]
    twice = known.loc[known["run_id"].duplicated(), "run_id"].unique()
    if len(twice):
        raise Misuse(f"the run {twice[0]} comes twice: its trials would count double")
    letters = lots(known)
    if letters.nunique() > 1:
        warnings.warn(_difference(known, letters), stacklevel=3)
    return Run(**frames)


def _difference(runs: pd.DataFrame, letters: pd.Series[str]) -> str:
    firsts = runs.assign(lot=letters.to_numpy()).drop_duplicates("lot")
    said = []
    for name, what in MEASURED_AS.items():
        if firsts[name].nunique(dropna=False) > 1:
            shown = [f"{lot}: {value}" for lot, value in zip(firsts["lot"], firsts[name], strict=True)]
            said.append(f"{what} ({name} {', '.join(shown)})")
    members = [f"{lot} is {', '.join(ids.index)}" for lot, ids in letters.groupby(letters)]
    return (
        f"these runs were not measured alike, so they are not taken together: tables keep them apart as lots "
        f"({'; '.join(members)}). They differ in {'; '.join(said)}"
    )
