"""A study's journal: one JSON object a line, so that what is on disk is never more than one trial behind.

::

    {"kind": "run", "run": {…}}                                          each time the study is begun or resumed
    {"kind": "trial", "trial": {…}, "growth": {"t_ms": […], …}, …}       one measured
    {"kind": "end", "run": {…}}                                          a sitting ended by itself

A trial carries all columns of ``trials``; the rows of the other frames that belong to it stand beside it, column by
column. The columns are those of :mod:`castlenb.study.records`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import JournalError, RecordError
from .locking import locked
from .records import (
    CHILDREN,
    RUNS,
    SCHEMA,
    SCHEMA_VERSION,
    TRIALS,
    Where,
    check_keys,
    checked_array,
    conform,
    empty,
    own_columns,
)

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Line = dict[str, Any]
Record = dict[str, Any]
"""A trial's line without its kind: ``trial``, and those of the other frames of which it has rows."""

_BATCH = 1000
"""Lines that are parsed at a time: one call for all is quicker, as long as what it makes is still near the processor
when it is taken up."""

_AT_ONCE = 10_000
"""Trials that are held as Python's objects before they are made into arrays."""

_BEGINNING = b'{"kind":"run",'

TRIAL_BYTES = 16_384
"""What one trial takes on disk, generously."""


class Journal:
    """A journal that is being written: what was there is read first, a torn last line cut off.

    Attributes:
        lines: all of its lines, as objects; one that could not be written to disk as well.

    Raises:
        JournalError: it can not be opened or written, or somebody is writing it.
        RecordError: what is there is no journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Line] = []
        self._writing = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as failed:
            raise self._error(failed) from failed
        with contextlib.ExitStack() as stack:
            stack.callback(self.close)
            self._check_kind()
            self._lock()
            self._take_up()
            stack.pop_all()

    def make_sure_of(self, trials: int) -> None:
        """Whether so many trials have room on the disk.

        Raises:
            JournalError: they have not.
        """
        free, needed = shutil.disk_usage(self.path.parent).free, trials * TRIAL_BYTES
        if free < needed:
            problem = f"{trials} trials can take {needed / 1e3:,.0f} kB, and {free / 1e3:,.0f} kB are free there"
            raise JournalError(str(self.path), problem)

    def write(self, line: Line) -> None:
        """Adds a line; returns when it is on the disk. Of a line that could not be written nothing is left there.

        Raises:
            JournalError: the disk is full, or gone.
        """
        with self._writing:
            self.lines.append(line)
            left = memoryview(line_of(line))
            good = os.fstat(self._file).st_size
            try:
                while left:
                    left = left[os.write(self._file, left) :]
                os.fsync(self._file)
            except OSError as failed:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, good)
                raise self._error(failed) from failed

    def close(self) -> None:
        """Idempotent."""
        with self._writing:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _check_kind(self) -> None:
        if stat.S_ISREG(os.fstat(self._file).st_mode):
            return
        try:
            os.write(self._file, b"\n")
        except OSError as failed:
            raise self._error(failed) from failed
        raise JournalError(str(self.path), "it is no regular file, so nothing could be read back from it")

    def _take_up(self) -> None:
        with self.path.open("rb") as file:
            begins = file.read(len(_BEGINNING))
            if not _BEGINNING.startswith(begins):
                raise RecordError(str(self.path), "it is no journal of a study, and is left as it is", where="line 1")
            file.seek(0)
            size = sum(len(line) for line in file if line.endswith(b"\n"))
        self.lines = [line for _, line in read_objects(self.path)]
        check_keys(gathered(self.lines, self.path), str(self.path))
        try:
            os.ftruncate(self._file, size)
        except OSError as failed:
            raise self._error(failed) from failed

    def _lock(self) -> None:
        """Two writers would measure every trial twice. The lock ends with the process, however it ends."""
        if not locked(self._file):
            raise JournalError(str(self.path), "a study is writing it, in this process or another")

    def _error(self, failed: OSError) -> JournalError:
        return JournalError(str(self.path), failed.strerror or str(failed))


def line_of(content: Line) -> bytes:
    """The object as its line."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_frames(path: Path) -> tuple[dict[str, pd.DataFrame], bool]:
    """All frames of a journal, and whether its last line is torn: cut off while it was written, and left out.

    Raises:
        RecordError: no such file, or a line is damaged; the error says which.
    """
    gathered = _Gathered(str(path))
    torn = False
    with _no_garbage():
        for first, lines in _batches(path):
            torn = not lines[-1].endswith(b"\n")
            whole = lines[:-1] if torn else lines
            gathered.add(first, _parsed(whole, first, path))
        return gathered.frames(), torn


@contextlib.contextmanager
def _no_garbage() -> Iterator[None]:
    """Spares the collector: what JSON is made into has no cycles, and looking for some took a quarter of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read_objects(path: Path) -> Iterator[tuple[int, Line]]:
    """The number of each line, and its object; a torn last one is left out.

    Raises:
        RecordError: as :func:`read_frames`.
    """
    for first, lines in _batches(path):
        whole = [line for line in lines if line.endswith(b"\n")]
        yield from enumerate(_parsed(whole, first, path), start=first)


def _batches(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    try:
        with path.open("rb") as file:
            first = 1
            while lines := [line for _, line in zip(range(_BATCH), file)]:  # noqa: B905  (the file is the longer one)
                yield first, lines
                first += len(lines)
    except OSError as failed:
        raise RecordError(str(path), f"it can not be read ({failed.strerror})") from failed


def _parsed(lines: Sequence[bytes], first: int, path: Path) -> list[Line]:
    try:
        found: list[Any] = json.loads(b"[" + b",".join(lines) + b"]")
        if len(found) == len(lines) and all(isinstance(each, dict) for each in found):
            return found
    except (ValueError, RecursionError):  # the latter of a line that is nested too deep
        pass
    for number, line in enumerate(lines, start=first):
        try:
            if not isinstance(json.loads(line), dict):
                raise ValueError("no object")
        except (ValueError, RecursionError) as wrong:
            raise RecordError(str(path), f"this is no JSON object ({wrong})", where=f"line {number}") from None
    raise RecordError(str(path), "it is no journal", where=f"lines {first} to {first + len(lines) - 1}")


class _Gathered:
    """Frames, batch by batch."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._runs: dict[str, Line] = {}
        self._parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("trials", *CHILDREN)}
        self._held = _Held()

    def add(self, first: int, objects: Sequence[Line]) -> None:
        numbers, lines = [], []
        for number, each in enumerate(objects, start=first):
            match each.get("kind"):
                case "trial":
                    numbers.append(number)
                    lines.append(each)
                case "run" | "end":
                    self._note_run(number, each)
                case other:
                    raise RecordError(self._path, f"nothing known is of the kind {other!r}", where=f"line {number}")
        if lines:
            self._take_trials(lines, numbers)
            for frame in CHILDREN:
                self._take_rows(frame, lines, numbers)
            self._held.numbers += numbers
        if len(self._held.numbers) >= _AT_ONCE:
            self._make_tables()

    def _note_run(self, number: int, line: Line) -> None:
        where = f"line {number}"
        try:
            run_id, version = line["run"]["run_id"], line["run"].get("schema_version")
        except (LookupError, TypeError, AttributeError):
            raise RecordError(self._path, "it says nothing of its run", where=where) from None
        if not isinstance(run_id, str):
            raise RecordError(self._path, f"{run_id!r} is no string", where=where, column="run_id")
        if line["kind"] == "run" and version != SCHEMA_VERSION:
            problem = f"schema version {version!r}; this castlenb reads {SCHEMA_VERSION}"
            raise RecordError(self._path, problem, where=where, column="schema_version")
        self._runs[run_id] = {**self._runs.get(run_id, {}), **line["run"]}

    def _take_trials(self, lines: Sequence[Line], numbers: Sequence[int]) -> None:
        rows: list[Any] = [line.get("trial") for line in lines]
        try:
            if {*map(type, rows)} != {dict} or {*map(len, rows)} != {len(TRIALS)}:
                raise KeyError
            columns = zip(*map(itemgetter(*TRIALS), rows), strict=True)
        except KeyError:
            for number, row in zip(numbers, rows, strict=True):
                self._complain(row, f"line {number}")
            raise
        for held, values in zip(self._held.columns["trials"].values(), columns, strict=True):
            held.extend(values)

    def _complain(self, row: Any, where: str) -> None:
        if not isinstance(row, dict):
            raise RecordError(self._path, "a trial without its columns", where=where)
        for name in TRIALS.keys() - row.keys():
            raise RecordError(self._path, "the trial lacks this column", where=where, column=name)
        for name in row.keys() - TRIALS.keys():
            raise RecordError(self._path, "trials have no such column", where=where, column=str(name))

    def _take_rows(self, frame: str, lines: Sequence[Line], numbers: Sequence[int]) -> None:
        begun = len(self._held.numbers)
        columns = self._held.columns[frame]
        held = [(position, line[frame]) for position, line in enumerate(lines) if line.get(frame)]
        for position, rows in held:
            alike = isinstance(rows, dict) and rows.keys() == columns.keys()
            listed = alike and {*map(type, rows.values())} == {list}
            if not listed or len({*map(len, rows.values())}) != 1:
                problem = f"{frame} has to have {', '.join(columns)}, all of one length"
                raise RecordError(self._path, problem, where=f"line {numbers[position]}")
        for name, values in columns.items():
            values.extend(chain.from_iterable(rows[name] for _, rows in held))
        first = next(iter(columns))
        self._held.owners[frame] += [begun + position for position, _ in held]
        self._held.counts[frame] += [len(rows[first]) for _, rows in held]

    def _make_tables(self) -> None:
        """Makes arrays of what is held, and looks at every value."""
        import numpy as np
        import pandas as pd

        held, self._held = self._held, _Held()

        def where(position: int) -> str:
            return f"line {held.numbers[position]}"

        trials = pd.DataFrame(
            {
                name: checked_array(values, name, TRIALS[name].dtype, self._path, where)
                for name, values in held.columns["trials"].items()
            }
        )
        self._parts["trials"].append(conform("trials", trials, self._path, where))
        for frame in CHILDREN:
            whose = np.repeat(np.array(held.owners[frame], dtype=np.intp), held.counts[frame])
            if not len(whose):
                continue
            self._add_rows(frame, trials, held.columns[frame], whose, where)

    def _add_rows(
        self, frame: str, trials: pd.DataFrame, columns: Mapping[str, list[Any]], whose: Any, of_trial: Where
    ) -> None:
        import pandas as pd

        def where(row: int) -> str:
            return of_trial(int(whose[row]))

        arrays = {name: trials[name].array.take(whose) for name in ("run_id", "trial_id")}
        for name, values in columns.items():
            arrays[name] = checked_array(values, name, SCHEMA[frame][name].dtype, self._path, where)
        self._parts[frame].append(conform(frame, pd.DataFrame(arrays), self._path, where))

    def frames(self) -> dict[str, pd.DataFrame]:
        import pandas as pd

        if self._held.numbers:
            self._make_tables()
        found = {
            name: pd.concat(parts, ignore_index=True) if parts else empty(name) for name, parts in self._parts.items()
        }
        rows = {name: [run.get(name) for run in self._runs.values()] for name in RUNS}
        names = list(self._runs)
        arrays = {
            name: checked_array(rows[name], name, column.dtype, self._path, lambda row: f"run {names[row]!r}")
            for name, column in RUNS.items()
        }
        runs = pd.DataFrame(arrays)
        return {**found, "runs": runs}


class _Held:
    """What was read and is not in arrays yet.

    Attributes:
        numbers: the line of each trial.
        columns: values, frame by frame and column by column.
        owners, counts: of each other frame, which trials have rows of it, and how many.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.columns: dict[str, dict[str, list[Any]]] = {
            "trials": {name: [] for name in TRIALS},
            **{frame: {name: [] for name in own_columns(frame)} for frame in CHILDREN},
        }
        self.owners: dict[str, list[int]] = {frame: [] for frame in CHILDREN}
        self.counts: dict[str, list[int]] = {frame: [] for frame in CHILDREN}


def gathered(lines: Sequence[Line], path: Path) -> dict[str, pd.DataFrame]:
    """All frames of a journal's lines.

    Raises:
        RecordError: as :func:`read_frames`.
    """
    found = _Gathered(str(path))
    found.add(1, lines)
    return found.frames()


def lines_of(frames: Mapping[str, pd.DataFrame]) -> Iterator[bytes]:
    """The frames of one or several runs as the lines of one journal."""
    import numpy as np
    import pandas as pd

    for run in plain_rows(frames["runs"]):
        yield line_of({"kind": "run", "run": run})
    trials = frames["trials"]
    key = ["run_id", "trial_id"]
    places = pd.MultiIndex.from_frame(trials[key])
    held: list[tuple[str, pd.DataFrame, np.ndarray[Any, Any]]] = []
    for name in CHILDREN:
        table = frames[name]
        whose = places.get_indexer(pd.MultiIndex.from_frame(table[key]))
        order = np.argsort(whose, kind="stable")
        bounds = np.searchsorted(whose[order], np.arange(len(trials) + 1))
        held.append((name, table.iloc[order], bounds))
    columns = {
        name: {column: _plain(table[column]) for column in own_columns(name)} for name, table, _ in held if len(table)
    }
    for position, trial in enumerate(plain_rows(trials)):
        line: Line = {"kind": "trial", "trial": trial}
        for name, _, bounds in held:
            begin, end = bounds[position], bounds[position + 1]
            if begin < end:
                line[name] = {column: values[begin:end] for column, values in columns[name].items()}
        yield line_of(line)


def plain_rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of a frame as JSON has them."""
    names = [str(name) for name in table.columns]
    for values in zip(*(_plain(table[name]) for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def _plain(column: pd.Series) -> list[Any]:
    """The values as JSON has them: ``None`` for what is missing, times as ISO 8601."""
    import pandas as pd

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return [None if stamp is pd.NaT else stamp.isoformat() for stamp in column]
    return column.astype("object").where(column.notna(), None).tolist()
