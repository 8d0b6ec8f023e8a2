"""The history of verifications: what live runs found, kept in a file; since when a hook holds or fails."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CaptureError
from ..snapshot import PathLike
from .verification import Verification

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("at", "engine", "layout", "part", "hook", "kind", "trust", "found", "expected", "verdict", "why", "page")
"""Columns of the history file."""

HISTORY_COLUMNS = ("engine", "layout", "part", "hook", "state", "verdict", "since", "last", "runs", "changes")

DIFF_COLUMNS = ("engine", "layout", "part", "hook", "before", "after")


def history_file() -> Path:
    """Where live runs are kept: ``data/verifications.csv`` of a checkout, else of the user's data folder."""
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / ".git").exists():
        return checkout / "data" / "verifications.csv"
    from platformdirs import user_data_path

    return user_data_path("castlenb") / "verifications.csv"


def keep(found: Verification, file: PathLike | None = None) -> None:
    """Adds what a verification found to a history; ``None`` for the usual one."""
    path = Path(file) if file is not None else history_file()
    rows = [row for seen in found.pages for row in seen.rows()]
    if not rows:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    with path.open("a", encoding="utf-8", newline="") as out:
        if out.tell() == 0:
            table.writeheader()
        table.writerows(rows)
        out.write(text.getvalue())  # in one piece, whoever else is writing


def records(file: PathLike | None = None) -> pd.DataFrame:
    """All that a history holds, one row a hook on a page, with the columns :data:`COLUMNS`; empty where there is none.

    Raises:
        CaptureError: the file is no history.
    """
    import pandas as pd

    path = Path(file) if file is not None else history_file()
    kinds = {name: "Int64" if name == "found" else "string" for name in COLUMNS}
    if not path.is_file():
        return pd.DataFrame(columns=list(COLUMNS)).astype(kinds).astype({"at": "datetime64[us, UTC]"})
    try:
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values={"found": [""], "why": [""]})
        missing = set(COLUMNS) - set(table.columns)
        if missing:
            raise ValueError(f"it lacks the columns {', '.join(sorted(missing))}")
        table["at"] = pd.to_datetime(table["at"], utc=True, format="ISO8601")
    except (ValueError, OSError) as wrong:
        raise CaptureError(f"{os.fspath(path)} is no history of verifications: {wrong}") from wrong
    return table[list(COLUMNS)]


def history(file: PathLike | None = None) -> pd.DataFrame:
    """Since when each hook holds or fails, one row a hook and layout, those that fail first.

    Columns: ``engine``, ``layout``, ``part``, ``hook``; ``state``: ``holds`` or ``fails``; ``verdict``: the last one;
    ``since``: the first of the runs in which it has been so without a break; ``last``: the last run that could tell;
    ``runs``: how many could; ``changes``: how often it went from one state to the other. Runs in which it could not be
    judged, or was blocked, say nothing of it. Times are UTC.

    Args:
        file: a history; ``None`` for the usual one.
    """
    import pandas as pd

    told = records(file)
    told = told[~told["verdict"].isin(["not_judgeable", "blocked"])].sort_values("at", kind="stable")
    rows = [_history_of(key, group) for key, group in told.groupby(["engine", "layout", "part", "hook"], sort=False)]
    table = pd.DataFrame(rows, columns=list(HISTORY_COLUMNS))
    kinds = dict.fromkeys(HISTORY_COLUMNS[:6], "string") | {"runs": "Int64", "changes": "Int64"}
    times = {"since": "datetime64[us, UTC]", "last": "datetime64[us, UTC]"}
    table = table.astype(kinds | times)
    return table.sort_values("state", kind="stable").reset_index(drop=True)


def _history_of(key: Any, group: pd.DataFrame) -> dict[str, Any]:
    verdicts = group.groupby("at", sort=True)["verdict"].agg(lambda each: next((v for v in each if v != "ok"), "ok"))
    holds = verdicts.eq("ok")
    changed = holds.ne(holds.shift()).iloc[1:]
    since = verdicts.index[0] if not changed.any() else changed[changed].index[-1]
    return {
        **dict(zip(("engine", "layout", "part", "hook"), key, strict=True)),
        "state": "holds" if holds.iloc[-1] else "fails",
        "verdict": verdicts.iloc[-1],
        "since": since,
        "last": verdicts.index[-1],
        "runs": len(verdicts),
        "changes": int(changed.sum()),
    }


def diff(a: Any, b: Any, *, file: PathLike | None = None) -> pd.DataFrame:
    """What changed between two verifications: the hooks whose verdict is another one, one row each.

    Columns: ``engine``, ``layout``, ``part``, ``hook``, ``before``, ``after``: verdicts; missing where that hook was
    not checked. What could not be judged on either side is no change.

    Args:
        a, b: Verifications, such as those of two sets of captures; or dates (``"2026-10-01"``, a ``datetime``), for the
            last run of the history up to then, the whole day included.
        file: the history that dates speak of; ``None`` for the usual one.

    Raises:
        ValueError: the history has no run up to that date.
    """
    import pandas as pd

    before, after = (_verdicts(each, file) for each in (a, b))
    rows = []
    for key in dict.fromkeys([*before, *after]):
        one, other = before.get(key), after.get(key)
        if one != other and "not_judgeable" not in (one, other) and "blocked" not in (one, other):
            rows.append(dict(zip(DIFF_COLUMNS, (*key, one, other), strict=True)))
    return pd.DataFrame(rows, columns=list(DIFF_COLUMNS)).astype("string")


def _verdicts(which: Any, file: PathLike | None) -> dict[tuple[str, ...], str]:
    """The verdict on each hook and layout; of several pages the worst."""
    if isinstance(which, Verification):
        rows = [row for seen in which.pages for row in seen.rows()]
    else:
        rows = _run_up_to(which, file)
    worst: dict[tuple[str, ...], str] = {}
    order = ("missing", "misplaced", "disagrees", "ambiguous", "ok", "blocked", "not_judgeable")
    for row in rows:
        key = (row["engine"], row["layout"], row["part"], row["hook"])
        known = worst.get(key, "not_judgeable")
        worst[key] = min(known, row["verdict"], key=order.index)
    return worst


def _run_up_to(date: Any, file: PathLike | None) -> list[dict[str, Any]]:
    """The last check of each hook and layout up to a date."""
    import pandas as pd

    until = pd.Timestamp(date)
    until = until.tz_localize("UTC") if until.tzinfo is None else until.tz_convert("UTC")
    if isinstance(date, str) and len(date.strip()) <= 10:
        until += pd.Timedelta(days=1) - pd.Timedelta(microseconds=1)
    told = records(file)
    told = told[told["at"] <= until]
    if told.empty:
        raise ValueError(f"the history has no verification up to {date}")
    last = told.groupby(["engine", "layout"])["at"].transform("max")
    return [{str(name): value for name, value in row.items()} for row in told[told["at"] == last].to_dict("records")]
