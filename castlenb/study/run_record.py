"""A finished study, or what there is of one."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from ..errors import RecordError
from .journal import lines_of, read_frames
from .records import SCHEMA, STRING, check_keys, conform

PathLike = str | os.PathLike[str]


@dataclass(eq=False, repr=False)
class Run:
    """What a study has measured. The columns of its frames are documented in :mod:`castlenb.study.records`.

    Attributes:
        trials: one row a trial.
        growth: one row a change of an AI answer, as it was seen.
        citations: one row a source of an answer, at the end of its trial.
        results: one row a result.
        requests: one row a request that brought an answer after the document.
        runs: one row a run: where, when and with what it was measured.
    """

    trials: pd.DataFrame
    growth: pd.DataFrame
    citations: pd.DataFrame
    results: pd.DataFrame
    requests: pd.DataFrame
    runs: pd.DataFrame

    @classmethod
    def load(cls, path: PathLike) -> Run:
        """Reads what a study has written: a journal (a file), or the folder of :meth:`save`.

        A journal whose last line was cut off while it was written is read without that line, and warned of.

        Raises:
            RecordError: there is no such run, or it is damaged; names file, place and column.
        """
        path = Path(path)
        if path.is_dir():
            frames = {name: _read_table(path, name) for name in SCHEMA}
        else:
            frames, torn = read_frames(path)
            if torn:
                warnings.warn(f"{path}: the last line is torn, and left out", stacklevel=2)
            if frames["runs"].empty:
                raise RecordError(str(path), "it is no journal of a study: nothing in it says of which run")
        check_keys(frames, str(path))
        return cls(**frames)

    def save(self, path: PathLike, *, parquet: bool = False) -> Path:
        """Writes all frames, and returns where: one ``.jsonl`` file, if the name says so, like a journal's; else a
        folder with a table a frame, as CSV or as Parquet.

        Raises:
            OSError: it can not be written.
            ImportError: Parquet needs pyarrow (``pip install "castlenb[parquet]"``).
        """
        path = Path(path)
        if path.suffix == ".jsonl":
            with path.open("wb") as file:
                file.writelines(lines_of(self.frames()))
            return path
        path.mkdir(parents=True, exist_ok=True)
        for name, table in self.frames().items():
            target, other = path / f"{name}.csv", path / f"{name}.parquet"
            if parquet:
                target, other = other, target
                table.to_parquet(target, index=False)
            else:
                table.to_csv(target, index=False)
            other.unlink(missing_ok=True)  # of an earlier saving: there would be two truths
        return path

    def frames(self) -> dict[str, pd.DataFrame]:
        """The frames by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        trials = self.trials
        engines = ", ".join(dict.fromkeys(trials["engine"]))
        of = f" of {engines}" if engines else ""
        return f"Run({', '.join(self.runs['run_id'])}: {len(trials)} trials{of})"


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    for path in (folder / f"{name}.parquet", folder / f"{name}.csv"):
        if path.exists():
            break
    else:
        raise RecordError(str(folder), f"there is neither {name}.csv nor {name}.parquet")
    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=STRING, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as failed:
        raise RecordError(str(path), f"it can not be read ({failed})") from failed
    return conform(name, table, str(path), lambda position: f"row {position + 1}")
