"""A finished study, or what there is of one."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import display
from ..errors import RecordError
from .journal import lines_of, read_frames
from .records import SCHEMA, STRING, check_keys, conform

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .advice import Advice

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

    def latency_table(self, **options: Any) -> pd.DataFrame:
        """How long results and answers take, for each engine, class and condition, to be read.

        See :func:`castlenb.study.latency.latency_table`, for the options as well.
        """
        from .latency import latency_table

        return latency_table(self, **options)

    def latency_figures(self, **options: Any) -> pd.DataFrame:
        """The numbers behind :meth:`latency_table`.

        See :func:`castlenb.study.latency.latency_figures`, for the options as well.
        """
        from .latency import latency_figures

        return latency_figures(self, **options)

    def layout_cost(self, **options: Any) -> pd.DataFrame:
        """What it costs to give up the layout without answers.

        See :func:`castlenb.study.layout.layout_cost`, for the options as well.
        """
        from .layout import layout_cost

        return layout_cost(self, **options)

    def check(self, **options: Any) -> list[str]:
        """What a careful reader would object to, in words; empty where that is nothing.

        See :func:`castlenb.study.objections.check`, for the options as well.
        """
        from .objections import check

        return check(self, **options)

    def quiet_windows(self, **options: Any) -> pd.DataFrame:
        """How long an answer has to be quiet to be taken for whole.

        See :func:`castlenb.study.windows.quiet_windows`, for the options as well.
        """
        from .windows import quiet_windows

        return quiet_windows(self, **options)

    def policies(self, **options: Any) -> pd.DataFrame:
        """What each way of waiting for answers would have brought and cost.

        See :func:`castlenb.study.policy_table.policies`, for the options as well.
        """
        from .policy_table import policies

        return policies(self, **options)

    def early_signals(self, **options: Any) -> pd.DataFrame:
        """How well what was there with the results foretold an answer.

        See :func:`castlenb.study.signals.early_signals`, for the options as well.
        """
        from .signals import early_signals

        return early_signals(self, **options)

    def citation_overlap(self, **options: Any) -> pd.DataFrame:
        """How many cited sites are among the results, and how sources change between repeats.

        See :func:`castlenb.study.sources.citation_overlap`, for the options as well.
        """
        from .sources import citation_overlap

        return citation_overlap(self, **options)

    def recommend(self, **options: Any) -> Advice:
        """What to do about AI answers, if a complete one is worth waiting for ``worth_s`` seconds.

        See :func:`castlenb.study.advice.recommend`, for the options as well.
        """
        from .advice import recommend

        return recommend(self, **options)

    def plot_growth(self, **options: Any) -> Figure:
        """How do answers grow?

        See :func:`castlenb.study.plots.plot_growth`, for the options as well.
        """
        from .plots import plot_growth

        return plot_growth(self, **options)

    def plot_survival(self, **options: Any) -> Figure:
        """How long until an answer has settled?

        See :func:`castlenb.study.plots.plot_survival`, for the options as well.
        """
        from .plots import plot_survival

        return plot_survival(self, **options)

    def plot_presence(self, **options: Any) -> Figure:
        """Which queries have an answer?

        See :func:`castlenb.study.plots.plot_presence`, for the options as well.
        """
        from .plots import plot_presence

        return plot_presence(self, **options)

    def plot_frontier(self, **options: Any) -> Figure:
        """What does a complete answer cost?

        See :func:`castlenb.study.plots.plot_frontier`, for the options as well.
        """
        from .plots import plot_frontier

        return plot_frontier(self, **options)

    def plot_timeline(self, **options: Any) -> Figure:
        """Did anything change while it was measured?

        See :func:`castlenb.study.plots.plot_timeline`, for the options as well.
        """
        from .plots import plot_timeline

        return plot_timeline(self, **options)

    def _repr_html_(self) -> str:
        from .shown import as_shown

        return display.run_html(as_shown(self))

    def __repr__(self) -> str:
        engines = ", ".join(self.trials["engine"].dropna().unique())
        of = f" of {display.one_line(engines, 120)}" if engines else ""
        return f"Run({display.counted(len(self.trials), 'trial')}{of})"


def _read_table(folder: Path, name: str) -> pd.DataFrame:
    for path in (folder / f"{name}.parquet", folder / f"{name}.csv"):
        if path.exists():
            break
    else:
        raise RecordError(str(folder), f"there is neither {name}.csv nor {name}.parquet")
    import pandas as pd

    try:
        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        else:
            table = pd.read_csv(path, dtype=STRING, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as failed:
        raise RecordError(str(path), f"it can not be read ({failed})") from failed
    return conform(name, table, str(path), lambda position: f"row {position + 1}")
