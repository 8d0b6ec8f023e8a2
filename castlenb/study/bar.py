"""How far a study is, for who watches it: a bar, and if asked how the last answer grew."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .. import display
from ..engines import engine as engine_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .journal import Record
    from .trial import Trial


class Bar:
    """How far the study is, what it is doing, and when it will have ended.

    In a notebook it is a widget, on a terminal a line of standard error; anywhere else there is none.

    Args:
        planned, done: trials.
        show: whether there is to be one.
        growth: whether to draw under it how the last answer grew.
    """

    def __init__(self, planned: int, done: int, show: bool, growth: bool) -> None:
        from tqdm.auto import tqdm

        notebook = any(each.__module__ == "tqdm.notebook" for each in tqdm.__mro__)
        seen = show and (notebook or (sys.stderr is not None and sys.stderr.isatty()))
        self._bar = tqdm(total=planned, initial=done, unit="trial", disable=not seen, dynamic_ncols=True)
        self._begun, self._began_with = time.monotonic(), done
        self._growth = (_Cell() if notebook else _Terminal()) if seen and growth else None

    def tell(self, trial: Trial, state: str) -> None:
        """Says what is being done for a trial."""
        self._bar.set_postfix_str(f"{trial['engine']} {state}{self._ends()}")

    def advance(self, record: Record) -> None:
        """Counts a trial that has been written down."""
        trial = record["trial"]
        self._bar.update()
        self._bar.set_postfix_str(f"{trial['engine']} {trial['ai_state'] or trial['outcome']}{self._ends()}")
        if self._growth is not None:
            self._growth.draw(_drawn(record))

    def close(self) -> None:
        """Leaves it as it stands."""
        self._bar.close()

    def _ends(self) -> str:
        done = self._bar.n - self._began_with
        if done < 1:
            return ""
        left = (self._bar.total - self._bar.n) * (time.monotonic() - self._begun) / done
        return f", ends about {datetime.now() + timedelta(seconds=left):%H:%M}"


class _Cell:
    """A widget under the bar."""

    def __init__(self) -> None:
        from IPython.display import display as shown
        from ipywidgets import HTML

        self._widget = HTML()
        # What a saved notebook shows in place of the widget, and has to be the same on every run.
        shown({**self._widget._repr_mimebundle_(), "text/plain": "castlenb: growth"}, raw=True)  # type: ignore[no-untyped-call]

    def draw(self, data: Mapping[str, Any]) -> None:
        self._widget.value = display.growth_html(data)


class _Terminal:
    """A line above the bar, for each trial."""

    def draw(self, data: Mapping[str, Any]) -> None:
        from tqdm import tqdm

        tqdm.write(display.growth_text(data), file=sys.stderr)


def _drawn(record: Record) -> dict[str, Any]:
    """A trial's answer as :func:`castlenb.display.growth_html` takes it."""
    trial, growth = record["trial"], record.get("growth", {"t_ms": [], "chars": []})
    return {
        "engine_label": engine_named(trial["engine"]).label,
        "query": trial["query"],
        "state": trial["ai_state"] or trial["outcome"],
        "horizon_ms": trial["horizon_ms"],
        "observed_ms": trial["observed_ms"],
        "curve": list(zip(growth["t_ms"], growth["chars"], strict=True)),
    }
