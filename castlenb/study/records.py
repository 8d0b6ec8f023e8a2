"""What a study records: the columns of its frames, each with its dtype and meaning, in this one place.

Times are milliseconds and named ``*_ms``. Where nothing else is said they are on the page clock: from the first
document's origin (``performance.timeOrigin``, navigation start). A value that was not observed is missing, never 0.
Rows of the other frames belong to the trial with the same ``run_id`` and ``trial_id``: a ``trial_id`` alone is made of
the plan, and comes again where the same plan is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import RecordError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
"""Of the columns below; recorded in ``runs.schema_version``."""

STRING, INT, FLOAT, BOOL, UTC = "string", "Int64", "Float64", "boolean", "datetime64[us, UTC]"

_PLAIN: Mapping[str, set[type]] = {
    STRING: {str, type(None)},
    INT: {int, type(None)},
    FLOAT: {float, int, type(None)},
    BOOL: {bool, type(None)},
    UTC: {str, type(None)},
}
"""What a value may be in JSON, by dtype."""

OUTCOMES = ("results", "no_results", "unparseable", "challenge", "suspected_block", "error", "lost")
VALID_OUTCOMES = ("results", "no_results")
BLOCKED_OUTCOMES = ("challenge", "suspected_block")
ERROR_OUTCOMES = ("error", "lost", "unparseable")
AI_STATES = ("absent", "shell", "loading", "growing", "settled", "declined", "offered", "unsupported")
QUERY_CLASSES = ("question", "lookup", "navigational", "fresh")
LAYOUTS = ("web", "classic", "default")


class Column(NamedTuple):
    """One column of a frame.

    Attributes:
        dtype: pandas' name of it.
        about: what it means.
        among: the words that it may hold; empty where anything goes.
    """

    dtype: str
    about: str
    among: tuple[str, ...] = ()


PLAN = {
    "trial_id": Column(STRING, "made of block, position, engine and condition; unique within a plan"),
    "block": Column(INT, "0 for warm-ups; each other block is one query, once at every engine and condition"),
    "position": Column(INT, "place in the block, from 0; the order is drawn from the seed"),
    "repeat": Column(INT, "which time the query is asked, from 1; 0 for warm-ups"),
    "query": Column(STRING, "as typed into a search box"),
    "query_class": Column(STRING, "what kind of query; given, or guessed by study.query_class", QUERY_CLASSES),
    "engine": Column(STRING, "the engine's name"),
    "layout": Column(STRING, "Google's web (udm=14) or classic; default where an engine has one only", LAYOUTS),
    "visibility": Column(STRING, "emulated: focus emulation; hidden: a plain background tab", ("emulated", "hidden")),
    "warmup": Column(BOOL, "first of its engine in a Chrome: kept, and left out of headline statistics"),
}
"""Columns that a plan and its trials share."""

PLANNED = {**PLAN, "seed": Column(INT, "that the order was drawn from")}
"""Columns of a plan."""

TRIALS = {
    "run_id": Column(STRING, "the run; key into runs"),
    **PLAN,
    "vantage": Column(STRING, "label of the place that the Chrome looks at the web from"),
    "started_at": Column(UTC, "when the tab was sent off (client clock)"),
    "gap_s": Column(FLOAT, "seconds since this Chrome was last sent there (client clock); missing at first"),
    "outcome": Column(
        STRING,
        "what the page was; error: it could not be opened or read in time; lost: tab or Chrome went away",
        OUTCOMES,
    ),
    "challenge_kind": Column(STRING, "of a challenge: sorry, consent, captcha, anomaly, enablejs"),
    "error": Column(STRING, "class of the error, of outcomes error and lost"),
    "error_message": Column(STRING, "its sentence"),
    "url": Column(STRING, "where the tab was sent"),
    "final_url": Column(STRING, "where it ended"),
    "http_status": Column(INT, "of the document, where Chrome tells"),
    "documents": Column(INT, "documents that the address led through; 2 or more: a redirect by script, a reload"),
    "parse_ready_ms": Column(FLOAT, "first instant at which a result could be read"),
    "results_complete_ms": Column(FLOAT, "as many results as asked for were whole, or the document was parsed"),
    "response_end_ms": Column(FLOAT, "last byte of the document"),
    "parsed_ms": Column(FLOAT, "DOMContentLoaded"),
    "loaded_ms": Column(FLOAT, "load event"),
    "n_results": Column(INT, "results that the page listed in the end"),
    "ai_state": Column(STRING, "the AI answer when observation ended; missing where the trial is not valid", AI_STATES),
    "settled_by": Column(
        STRING, "what told that it was whole: the page's own sign, or quiet_ms without a change", ("marker", "quiet")
    ),
    "ai_shell_ms": Column(FLOAT, "its container was seen, empty or holding something else"),
    "ai_loading_ms": Column(FLOAT, "the page said that it was being written"),
    "ai_appear_ms": Column(FLOAT, "its first prose"),
    "ai_declined_ms": Column(FLOAT, "the page said that there is none"),
    "ai_settle_ms": Column(FLOAT, "last change of its words; missing unless it settled"),
    "ai_settle_censored": Column(BOOL, "it had appeared, and had not settled; missing where it never appeared"),
    "ai_settle_observed_ms": Column(FLOAT, "last change of its words that was seen, settled or not"),
    "ai_chars": Column(INT, "characters of its prose at the end of observation, as growth counts them"),
    "ai_text_chars": Column(INT, "characters of the text that a reader would have been given then"),
    "ai_citations": Column(INT, "sources that it cites"),
    "ai_placement": Column(STRING, "top, inline (among the results) or side"),
    "marker_ms": Column(FLOAT, "the page's own sign that it is whole was first seen"),
    "markers": Column(STRING, "JSON object: when each sign that could mean so was first seen, by name"),
    "horizon_ms": Column(FLOAT, "how long the page was to be watched"),
    "quiet_ms": Column(FLOAT, "the window W that settled_by=quiet stands for"),
    "observed_ms": Column(FLOAT, "when observation ended"),
    "hidden_ms": Column(FLOAT, "how much of that the page believed itself hidden"),
    "focus_emulated": Column(BOOL, "whether focus emulation was on"),
    "heartbeat_median_gap_ms": Column(FLOAT, "between beats of a 250 ms timer in the page: more shows throttling"),
    "heartbeat_max_gap_ms": Column(FLOAT, "the longest such gap"),
    "nav_offset_ms": Column(FLOAT, "page clock's origin after started_at; only means something on one host"),
    "early_wrapper": Column(BOOL, "at parse-ready: the answer's container was there"),
    "early_loading": Column(BOOL, "at parse-ready: it said that it was being written"),
    "early_request": Column(BOOL, "at parse-ready: its own request had been sent"),
    "no_wrapper_stops": Column(BOOL, "at parse-ready: the no-wrapper rule would have stopped waiting"),
    "chrome_id": Column(STRING, "the Chrome's DevTools id: another one, another browser process"),
    "queued_ms": Column(FLOAT, "waiting for a place and for the pace (client clock)"),
    "call_total_ms": Column(FLOAT, "from the sending-off to the record (client clock)"),
}

_KEY = {
    "run_id": Column(STRING, "the run"),
    "trial_id": Column(STRING, "the trial in it"),
}
GROWTH = {
    **_KEY,
    "t_ms": Column(FLOAT, "when the watcher was told of the change"),
    "chars": Column(INT, "characters of the answer's prose from then on"),
    "kind": Column(STRING, "its state from then on", AI_STATES),
    "signature": Column(INT, "hash of the prose: a rewrite of the same length shows"),
}
CITATIONS = {
    **_KEY,
    "n": Column(INT, "number in the answer's order, from 1"),
    "title": Column(STRING, "as the page names it"),
    "url": Column(STRING, "target without text fragment; missing where it is hidden"),
    "site": Column(STRING, "as the page names it, else the target's host"),
    "fragment": Column(STRING, "text fragment that was stripped from url"),
}
RESULTS = {
    **_KEY,
    "rank": Column(INT, "from 1"),
    "url": Column(STRING, "target; missing where the engine hides it"),
    "site": Column(STRING, "host of the target without www., or what the page shows in its place"),
    "title": Column(STRING, "as the page words it"),
}
REQUESTS = {
    **_KEY,
    "url_host_and_path": Column(STRING, "of a request that brings the answer after the document; never its query"),
    "asked_ms": Column(FLOAT, "sent"),
    "first_byte_ms": Column(FLOAT, "first byte of the response"),
    "last_byte_ms": Column(FLOAT, "its last byte"),
    "bytes": Column(INT, "as they came, compressed"),
}
RUNS = {
    "run_id": Column(STRING, "made when the run began: time and chance"),
    "schema_version": Column(INT, "of these columns"),
    "castlenb_version": Column(STRING, "version"),
    "git_commit": Column(STRING, "of castlenb's checkout, with +dirty where files differed; missing if installed"),
    "started_at": Column(UTC, "client clock"),
    "ended_at": Column(UTC, "when the last sitting ended; missing where it was cut off"),
    "sittings": Column(INT, "how often the run was begun or resumed"),
    "planned": Column(INT, "trials of the plan, those of dropped engines included"),
    "plan_seed": Column(INT, "of the plan's order"),
    "plan_hash": Column(STRING, "of all columns of the plan"),
    "engines_hash": Column(STRING, "of the tables of selectors, addresses and rules of the plan's engines"),
    "probe_hash": Column(STRING, "of the scripts that ran in the pages"),
    "horizon_ms": Column(FLOAT, "how long each page was to be watched"),
    "quiet_ms": Column(FLOAT, "window W"),
    "results": Column(INT, "how many results make a page complete"),
    "pace": Column(STRING, "how fast each engine was to be asked at most, or off; none is kept in the lab"),
    "browsers": Column(INT, "Chromes that the blocks were spread over; missing where an executor's workers chose"),
    "chrome": Column(STRING, "Browser of /json/version; several with semicolons between, and so below"),
    "protocol": Column(STRING, "Protocol-Version"),
    "user_agent": Column(STRING, "User-Agent"),
    "v8": Column(STRING, "V8-Version"),
    "headless": Column(BOOL, "the user agent says so"),
    "endpoint": Column(STRING, "where, redacted"),
    "os": Column(STRING, "of the client"),
    "cpu_count": Column(INT, "of the client"),
    "load_start": Column(FLOAT, "load average over a minute when the run began"),
    "load_end": Column(FLOAT, "and when it ended"),
    "packages": Column(STRING, "JSON object: versions of python, pandas, scipy, websockets"),
    "vantage": Column(STRING, "labels of the trials' vantage, with semicolons between"),
    "signed_in": Column(STRING, "label of the profile's state, as the caller gave it; never an account's name"),
    "network": Column(STRING, "label of the network, as the caller gave it"),
    "hl": Column(STRING, "language of the pages"),
    "gl": Column(STRING, "country of the results, where asked for"),
    "dropped": Column(STRING, "JSON object: engines that were left off, by vantage and name, and why"),
}

SCHEMA: Mapping[str, Mapping[str, Column]] = {
    "trials": TRIALS,
    "growth": GROWTH,
    "citations": CITATIONS,
    "results": RESULTS,
    "requests": REQUESTS,
    "runs": RUNS,
}
"""All frames of a Run."""

_NEEDED = {*_KEY, *PLANNED, "outcome"}
"""Columns that are never missing, in whichever frame."""

CHILDREN = ("growth", "citations", "results", "requests")
"""Frames with any number of rows a trial."""

Where = Callable[[int], str]
"""From the position of a row to words that say where it stands."""


def own_columns(frame: str) -> dict[str, str]:
    """Columns of a child frame without the key, with their dtypes."""
    return {name: column.dtype for name, column in SCHEMA[frame].items() if name not in _KEY}


def empty(frame: str) -> pd.DataFrame:
    """A frame of that name without rows, its columns and dtypes as documented."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series([], dtype=column.dtype) for name, column in SCHEMA[frame].items()})


def array(values: Any, dtype: str) -> Any:
    """Plain values, or text as CSV has it, ``None`` or missing for what is not there, as an array of that dtype.

    Raises:
        ValueError, TypeError, OverflowError: one of them is of another kind.
    """
    import pandas as pd

    if not isinstance(values, pd.Series):
        kinds = {*map(type, values)}
        if not kinds <= _PLAIN[dtype]:
            raise TypeError(f"not all of them are {dtype}")  # pandas would make something of most
        if dtype in (INT, FLOAT, BOOL):
            return _masked(values, dtype, gaps=type(None) in kinds)
    if dtype == UTC:
        stamps = values if isinstance(values, pd.Series) else pd.Series(values, dtype="object")
        return pd.to_datetime(stamps, utc=True, format="ISO8601").dt.as_unit("us").array
    if isinstance(values, pd.Series):
        if dtype == BOOL and pd.api.types.is_string_dtype(values):
            values = _truths(values)
        return values.astype(dtype).array
    return pd.array(values, dtype=dtype)


def _masked(values: Sequence[Any], dtype: str, *, gaps: bool) -> Any:
    """As ``pandas.array`` of such values, which looks at the type of each once more and takes thrice as long."""
    import numpy as np
    import pandas as pd

    if dtype == FLOAT:
        numbers = np.array(values, dtype=np.float64)  # None becomes NaN
        missing = np.isnan(numbers)
        numbers[missing] = 0.0
        return pd.arrays.FloatingArray(numbers, missing)
    missing = np.array([value is None for value in values]) if gaps else np.zeros(len(values), dtype=bool)
    kept = [value or 0 for value in values] if gaps else values
    if dtype == INT:
        return pd.arrays.IntegerArray(np.array(kept, dtype=np.int64), missing)
    return pd.arrays.BooleanArray(np.array(kept, dtype=bool), missing)


def _truths(words: pd.Series) -> pd.Series:
    found = words.map({"True": True, "False": False})
    if (wrong := words[found.isna() & words.notna()]).size:
        raise ValueError(f"{wrong.iloc[0]!r} is neither True nor False")
    return found.astype("object")


def checked_array(values: Sequence[Any] | pd.Series, column: str, dtype: str, path: str, where: Where) -> Any:
    """As :func:`array`; where a value is wrong the error says which and where it stands.

    Raises:
        RecordError: it names ``path``, the place, the column and the value.
    """
    import pandas as pd

    try:
        return array(values, dtype)
    except (ValueError, TypeError, OverflowError):
        for position, value in enumerate(values):
            one = pd.Series([value], dtype="string") if isinstance(values, pd.Series) else [value]
            try:
                array(one, dtype)
            except (ValueError, TypeError, OverflowError):
                raise RecordError(path, f"{value!r} is no {dtype}", where=where(position), column=column) from None
        raise


def conform(frame: str, table: pd.DataFrame, path: str, where: Where) -> pd.DataFrame:
    """The table with the documented columns, in their order and dtypes.

    Args:
        frame: which of :data:`SCHEMA`, or ``plan``.
        table: text columns as read from CSV, or columns of the right dtypes already.
        path: what to call its source in an error.
        where: the same for a row's position.

    Raises:
        RecordError: a column is missing, unknown, or holds what it may not.
    """
    import pandas as pd

    columns = PLANNED if frame == "plan" else SCHEMA[frame]
    for name in table.columns:
        if name not in columns:
            raise RecordError(path, f"the {frame} frame has no such column", column=str(name))
    arrays = {}
    for name, column in columns.items():
        if name not in table.columns:
            raise RecordError(path, f"the {frame} frame lacks this column", column=name)
        held = table[name]
        arrays[name] = (
            held.array if str(held.dtype) == column.dtype else checked_array(held, name, column.dtype, path, where)
        )
    found = pd.DataFrame(arrays)
    for name, column in columns.items():
        if name in _NEEDED and (missing := found[name].isna()).any():
            raise RecordError(path, "it is missing", where=where(int(missing.to_numpy().argmax())), column=name)
        if column.among:
            wrong = found[name].notna() & ~found[name].isin(column.among)
            if wrong.any():
                position = int(wrong.to_numpy().argmax())
                problem = f"{found[name].iloc[position]!r} is none of {', '.join(column.among)}"
                raise RecordError(path, problem, where=where(position), column=name)
    return found


def check_keys(frames: Mapping[str, pd.DataFrame], path: str) -> None:
    """Whether every trial is there once, and every row belongs to one.

    Raises:
        RecordError: a trial comes twice, or a row belongs to a trial or a run that is not there.
    """
    import pandas as pd

    trials = frames["trials"]
    key = ["run_id", "trial_id"]
    twice = trials.duplicated(key)
    if twice.any():
        raise RecordError(path, f"the trial {trials.loc[twice, 'trial_id'].iloc[0]} is there twice", column="trial_id")
    runs = frames["runs"]["run_id"]
    if runs.duplicated().any():
        raise RecordError(path, f"the run {runs[runs.duplicated()].iloc[0]} is there twice", column="run_id")
    known = pd.MultiIndex.from_frame(trials[key])
    for name in CHILDREN:
        theirs = frames[name][key].drop_duplicates()
        orphans = ~pd.MultiIndex.from_frame(theirs).isin(known)
        if orphans.any():
            raise RecordError(path, f"{name} of {theirs['trial_id'][orphans].iloc[0]}, which is no trial of this run")
    unknown = ~trials["run_id"].isin(runs)
    if unknown.any():
        raise RecordError(path, f"trials of the run {trials['run_id'][unknown].iloc[0]}, of which nothing is said")
