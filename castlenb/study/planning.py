"""Which queries, at which engines, under which conditions, how often and in which order: fixed before the first one."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from ..engines import Engine
from ..engines import engine as engine_named
from ..errors import StudyError
from ..visit import VISIBILITIES
from .records import PLANNED, QUERY_CLASSES, array, conform

if TYPE_CHECKING:
    import pandas as pd

QUERIES = (
    "how does postgres MVCC vacuum work",
    "who founded anthropic and when",
    "LangChain valuation Series C funding 2026",
)
"""Those of the field notes of 2026-08-04: one that had no answer at Google, one that had none at Bing, one that all
three answered."""

ENGINES = ("google", "bing", "brave", "duckduckgo")

CONDITIONS: Mapping[str, Sequence[str]] = {"layout": ("web", "classic"), "visibility": ("emulated",)}
"""Factors of a study and their levels. ``layout`` is one at Google alone (``udm=14`` or without); elsewhere it is
``default``."""

_LEVELS: Mapping[str, Sequence[str]] = {"layout": ("web", "classic"), "visibility": VISIBILITIES}

_ADDRESS = re.compile(r"(https?://)?([\w-]+\.)+[a-z]{2,}(/\S*)?", re.I)
_GOING = re.compile(r"\b(log ?in|sign ?in|sign ?up|home ?page|website|official site|download page)\b", re.I)
_FRESH = re.compile(
    r"\b(20\d\d|today|tonight|yesterday|tomorrow|now|latest|newest|recent|current(ly)?|breaking|news|weather|score|"
    r"live|price of|stock price|this (week|month|year))\b",
    re.I,
)
_ASKING = re.compile(
    r"(who|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|should|would|will)\b.*\s", re.I
)


def query_class(query: str) -> str:
    """What kind of query it is, by a simple rule; the first that holds:

    1. ``navigational``: it is an address, or names a page to go to (log in, sign up, home page, website …).
    2. ``fresh``: it names a year of this century, or a word of time (today, latest, news, weather, price of …).
    3. ``question``: it ends in a question mark, or begins with a question word or an auxiliary verb.
    4. ``lookup``: all others.

    The words are English; give the classes of other queries (see :func:`plan`).
    """
    words = query.strip()
    if _ADDRESS.fullmatch(words) or _GOING.search(words):
        return "navigational"
    if _FRESH.search(words):
        return "fresh"
    if words.endswith(("?", "？")) or _ASKING.match(words):
        return "question"
    return "lookup"


def plan(
    queries: Iterable[str] | Mapping[str, str] | None = None,
    *,
    engines: Sequence[str] = ENGINES,
    repeats: int = 3,
    conditions: Mapping[str, Sequence[str]] = CONDITIONS,
    seed: int = 0,
) -> pd.DataFrame:
    """All trials of a study, in their order: randomised complete blocks.

    A block is one query, once at each engine under each condition, in an order drawn from the seed, so that whatever
    drifts meanwhile hits all of them alike. Each repeat goes through all queries, in an order of its own. Block 0 holds
    a warm-up of each engine, with the first query.

    Args:
        queries: each once; a mapping gives their classes as well (``question``, ``lookup``, ``navigational``,
            ``fresh``), which are guessed else (:func:`query_class`). ``None`` for the three of the field notes.
        engines: which, each once.
        repeats: how often each query is asked, everywhere.
        conditions: levels of ``layout`` (``web``, ``classic``) and ``visibility`` (``emulated``, ``hidden``).
        seed: of the order.

    Returns:
        One row a trial, with the columns :data:`castlenb.study.records.PLANNED`. It may be cut down or sorted
        otherwise before it is run.

    Raises:
        EngineError: there is no such engine.
        ValueError: something is empty, given twice, or out of its range.
    """
    import pandas as pd

    classes = _classes(QUERIES if queries is None else queries)
    if not engines or len(set(engines)) < len(engines) or isinstance(engines, str):
        raise ValueError(f"engines has to name at least one engine, and each once, not {engines!r}")
    if not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"repeats has to be a whole number from 1 on, not {repeats!r}")
    arms = _arms([engine_named(name) for name in engines], _conditions(conditions))
    order = random.Random(f"castlenb plan {seed}")
    warm = list({arm[0]: arm for arm in reversed(arms)}.values())[::-1]
    blocks = [(0, next(iter(classes)), warm)]
    for repeat in range(1, repeats + 1):
        blocks += [(repeat, query, arms) for query in order.sample(list(classes), len(classes))]
    rows = []
    for block, (repeat, query, its_arms) in enumerate(blocks):
        for position, (engine, layout, visibility) in enumerate(order.sample(its_arms, len(its_arms))):
            rows.append(
                {
                    "trial_id": f"b{block:03}-{position:02}-{engine}-{layout}-{visibility}",
                    "block": block,
                    "position": position,
                    "repeat": repeat,
                    "query": query,
                    "query_class": classes[query],
                    "engine": engine,
                    "layout": layout,
                    "visibility": visibility,
                    "warmup": block == 0,
                    "seed": seed,
                }
            )
    return pd.DataFrame({name: array([row[name] for row in rows], column.dtype) for name, column in PLANNED.items()})


def checked(plan: pd.DataFrame) -> pd.DataFrame:
    """The plan, its columns in order; of anybody's making.

    Raises:
        StudyError: it lacks a column, holds what it may not, or a trial twice.
        EngineError: it names an engine that there is not.
    """
    table = conform("plan", plan.reset_index(drop=True), "the plan", lambda position: f"row {position + 1}")
    if table.empty:
        raise StudyError("the plan is empty")
    twice = table["trial_id"].duplicated()
    if twice.any():
        raise StudyError(f"the plan holds {table['trial_id'][twice].iloc[0]} twice")
    for name in table["engine"].unique():
        engine_named(name)
    return table


def plan_hash(plan: pd.DataFrame) -> str:
    """Of all that is in a plan, its order included."""
    return hashlib.sha256(plan.to_csv(index=False).encode()).hexdigest()[:16]


def _classes(queries: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    if isinstance(queries, str):
        raise ValueError("queries has to be several queries, not one string; put it into a list")
    given = dict(queries) if isinstance(queries, Mapping) else None
    listed = list(queries)
    if not listed or not all(isinstance(query, str) and query.strip() for query in listed):
        raise ValueError("queries has to hold at least one query, and no empty one")
    if len(set(listed)) < len(listed):
        raise ValueError("queries holds one of them twice; repeats says how often each is asked")
    classes = {query: given[query] if given else query_class(query) for query in listed}
    for query, kind in classes.items():
        if kind not in QUERY_CLASSES:
            raise ValueError(f"the class of {query!r} has to be one of {', '.join(QUERY_CLASSES)}, not {kind!r}")
    return classes


def _conditions(given: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    levels = {**CONDITIONS, **given}
    for factor, chosen in levels.items():
        if factor not in _LEVELS:
            raise ValueError(f"there is no condition {factor!r}; there are {', '.join(_LEVELS)}")
        known = _LEVELS[factor]
        if isinstance(chosen, str) or not chosen or not set(chosen) <= set(known) or len(set(chosen)) < len(chosen):
            raise ValueError(f"{factor} has to be some of {', '.join(known)}, each once, not {chosen!r}")
    return levels


def _arms(engines: Sequence[Engine], levels: Mapping[str, Sequence[str]]) -> list[tuple[str, str, str]]:
    return [
        (engine.name, layout, visibility)
        for engine in engines
        for layout, visibility in product(
            [each for each in levels["layout"] if each in dict(engine.layouts)] or ["default"], levels["visibility"]
        )
    ]
