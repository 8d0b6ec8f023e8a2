"""What a careful reader would object to in a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from .cells import MEASURED_AS, Frames, appeared, cells, counted, flags, floats, keys_of, lots, query_codes
from .intervals import FEW
from .records import BLOCKED_OUTCOMES, ERROR_OUTCOMES, VALID_OUTCOMES

BEAT_MS = 250.0
"""Between beats of the page's timer, where nothing holds them back."""

MANY = 10
"""Queries, and trials, from which figures of a cell begin to say something of others."""

_DRIFT = 0.2
"""Change of parse-ready from the first to the last third of a study, in parts, that is worth a word."""

_SHORT = 0.2
"""Share of answers not seen to settle from which the horizon is worth a word."""


def check(run: Frames) -> list[str]:
    """What a careful reader would object to, a sentence each; empty where nothing comes to mind.

    Looked at: how many queries and trials there are in each cell; blocked trials, and whether they came in the middle;
    failures and drifted selectors; hidden tabs and throttled timers; change over the course of the study; several
    Chromes, vantages or ways of measuring; answers that had not settled; engines that were left off; planned trials
    that are missing; a busy machine.
    """
    every = counted(run, valid=False)
    if every.empty:
        return ["There is no trial but warm-ups: nothing can be said."]
    return [sentence for look in _LOOKS for sentence in look(run, every)]


def _named(key: dict[str, str]) -> str:
    return " ".join(str(value) for value in key.values() if value != "default")


def _few(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    keys = keys_of(trials)
    few: dict[str, list[str]] = {}
    for key, among in cells(trials, keys):
        valid = among[among["outcome"].isin(VALID_OUTCOMES)]
        queries = valid["query"].nunique()
        if not len(valid):
            few.setdefault("no valid trial: nothing can be said", []).append(_named(key))
        elif queries < FEW:
            words = f"fewer than {FEW} queries: no interval can be given, and the figures hold for these queries alone"
            few.setdefault(words, []).append(_named(key))
        elif queries < MANY:
            words = f"fewer than {MANY} queries: intervals are wide, and their 95 % only roughly so"
            few.setdefault(words, []).append(_named(key))
        elif len(valid) < MANY:
            few.setdefault(f"fewer than {MANY} valid trials", []).append(_named(key))
    for words, where in few.items():
        yield f"{_list(where)}: {words}."


def _blocked(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    for engine, among in trials.sort_values("started_at", kind="stable").groupby("engine", observed=True):
        blocked = among["outcome"].isin(BLOCKED_OUTCOMES).to_numpy()
        if not blocked.any():
            continue
        first = int(blocked.argmax())
        kinds = ", ".join(f"{count} {kind}" for kind, count in among["outcome"][blocked].value_counts().items())
        where = "from the first trial on" if first == 0 else f"the first after {first} of {len(blocked)} trials"
        yield (
            f"{engine} blocked {blocked.sum()} of {len(blocked)} trials ({kinds}), {where}. They are in no share of "
            "answers; what the engine served shortly before may be no longer what everybody gets."
        )


def _failed(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    for engine, among in trials.groupby("engine", observed=True):
        outcome = among["outcome"]
        failed = outcome.isin(ERROR_OUTCOMES).sum()
        if drifted := int((outcome == "unparseable").sum()):
            yield (
                f"{engine}: {drifted} of {len(among)} pages had results that could not be read: the selectors have "
                "drifted, and its other figures are in doubt until castlenb.verify says they hold."
            )
        if failed - drifted:
            yield (
                f"{engine}: {failed - drifted} of {len(among)} trials failed. If slow pages fail more often than fast "
                "ones, its times are too good."
            )


def _hidden(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    valid = trials[trials["outcome"].isin(VALID_OUTCOMES) & (trials["visibility"] != "hidden")]
    hidden = floats(valid, "hidden_ms") > 0
    if hidden.any():
        yield (
            f"{hidden.sum()} of {len(valid)} pages believed themselves hidden for a while, though focus was to be "
            "emulated: pages may behave differently then, and timers tick once a second."
        )
    slow = floats(valid, "heartbeat_max_gap_ms") > 4 * BEAT_MS
    if slow.any():
        worst = float(np.nanmax(floats(valid, "heartbeat_max_gap_ms")))
        yield (
            f"In {slow.sum()} of {len(valid)} trials the page's timer of {BEAT_MS:.0f} ms paused for more than "
            f"{4 * BEAT_MS:.0f} ms (at worst {worst:.0f}): the tab was throttled or the machine was busy, and times "
            "may be late by as much."
        )


def _drift(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    valid = trials[trials["outcome"].isin(VALID_OUTCOMES) & trials["parse_ready_ms"].notna()]
    for key, among in cells(valid, keys_of(valid)):
        third = len(among) // 3
        if third < MANY:
            continue
        ready = floats(among.sort_values("started_at", kind="stable"), "parse_ready_ms")
        before, after = float(np.median(ready[:third])), float(np.median(ready[-third:]))
        if abs(after / before - 1) > _DRIFT:
            yield (
                f"{_named(key)}: results took {before:.0f} ms in the first third of the study and {after:.0f} ms in "
                "the last: something changed meanwhile, and one figure for both describes neither."
            )


def _mixed(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    chromes = trials["chrome_id"].nunique()
    if chromes > 1:
        per_vantage = trials.groupby("vantage", dropna=False)["chrome_id"].nunique()
        recycled = per_vantage.max() > 1
        yield f"The trials are from {chromes} Chromes" + (
            ": one was replaced during the study, and started with empty caches." if recycled else "."
        )
    if trials["vantage"].nunique() > 1:
        yield f"{_list(sorted(trials['vantage'].dropna().unique()))} are taken together as if they were one place."
    if lots(run.runs).nunique() > 1:
        differing = [name for name in MEASURED_AS if run.runs[name].nunique(dropna=False) > 1]
        yield f"The runs differ in {_list(differing)}: tables keep them apart, and so should conclusions."
    other = [name for name in ("chrome", "signed_in") if run.runs[name].nunique(dropna=False) > 1]
    if other:
        yield f"The runs differ in {_list(other)}, and are taken together all the same."


def _unsettled(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    valid = trials[trials["outcome"].isin(VALID_OUTCOMES)]
    for key, among in cells(valid[appeared(valid)], keys_of(valid)):
        growing = flags(among, "ai_settle_censored")
        if growing.mean() > _SHORT:
            horizon = float(floats(among, "horizon_ms").min())
            yield (
                f"{_named(key)}: {growing.sum()} of {len(among)} answers had not settled when the page was left after "
                f"{horizon:.0f} ms. A longer horizon would tell when they do."
            )


def _left_off(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    for said in run.runs["dropped"].dropna():
        for name, why in json.loads(said).items():
            yield f"{name} was left off during the study: {why}."
    for row in run.runs.to_dict("records"):
        done = int((run.trials["run_id"] == row["run_id"]).sum())
        if pd.notna(row["planned"]) and done < row["planned"]:
            yield (
                f"{done} of {row['planned']} planned trials of {row['run_id']} were made. If what stopped the study "
                "has to do with what it measures, the rest would have been different."
            )


def _busy(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    for row in run.runs.to_dict("records"):
        loads = [row[name] for name in ("load_start", "load_end") if pd.notna(row[name])]
        if loads and pd.notna(row["cpu_count"]) and max(loads) > row["cpu_count"]:
            yield (
                f"The client was busy during {row['run_id']} (load {max(loads):.1f} on {row['cpu_count']} processors). "
                "Where the Chrome runs on the same machine its times are too long."
            )


def _repeats(run: Frames, trials: pd.DataFrame) -> Iterator[str]:
    valid = trials[trials["outcome"].isin(VALID_OUTCOMES)]
    for key, among in cells(valid, keys_of(valid)):
        largest = np.bincount(query_codes(among)).max() / len(among)
        if among["query"].nunique() >= FEW and largest > 0.5:
            yield f"{_named(key)}: {largest:.0%} of the trials are of one query, which decides the figures."


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_LOOKS: tuple[Callable[[Frames, pd.DataFrame], Iterator[str]], ...] = (
    _few,
    _repeats,
    _blocked,
    _failed,
    _hidden,
    _drift,
    _mixed,
    _unsettled,
    _left_off,
    _busy,
)
