"""A panel to search from: engines side by side, results as they come, what to do where one refuses.

Made of stock ipywidgets. A search runs on castlenb's own thread, so the kernel stays free and Stop can be heard.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from .. import bridge, several
from ..asked import MAX_RESULTS, Asked
from ..browser import Browser, BrowserLike, browser_for
from ..display import counted, failures_html, line_html
from ..engines import ENGINES, RECENCIES
from ..engines import engine as engine_named
from ..errors import CastleError, NeedsPerson
from ..live import waiting
from ..results import SearchPage

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = {
    "query": "string",
    "engine": "string",
    "results": "Int64",
    "answer": "string",
    "error": "string",
    "parse_ready_ms": "Float64",
    "call_total_ms": "Float64",
    "reused": "boolean",
    "fetched_at": "datetime64[us, UTC]",
}
"""Columns of ``Panel.searches`` and their dtypes."""


class Panel:
    """Made by :func:`castlenb.panel`; shown where it is the last thing in a cell.

    Attributes:
        browser: the Chrome that is searched with.
        pages: the pages that the last search has brought so far, by engine.
        kept: the pages that were kept with the button, in that order. Each page itself is saved as a capture, in
            ``captures`` in the user's data folder.
    """

    def __init__(self, query: str, engines: Sequence[str], browser: BrowserLike) -> None:
        self.browser: Browser = browser_for(browser)
        self.pages: dict[str, SearchPage] = {}
        self.kept: list[SearchPage] = []
        self._rows: list[dict[str, Any]] = []
        self._under_way: dict[object, Callable[[], None]] = {}
        self._starting = threading.Lock()  # what has just been started may say something before it is entered here
        self._query = widgets.Text(query, placeholder="Search", layout=widgets.Layout(flex="1 1 14rem", width="auto"))
        self._query.on_msg(self._submitted)
        self._go = widgets.Button(description="Search", button_style="primary", layout=_fit())
        self._go.on_click(lambda _: self.search())
        self._stop = widgets.Button(description="Stop", disabled=True, layout=_fit())
        self._stop.on_click(lambda _: self.stop())
        self._engines = {
            name: widgets.Checkbox(name in engines, description=each.label, indent=False, layout=_fit())
            for name, each in ENGINES.items()
        }
        self._number = widgets.BoundedIntText(10, min=1, max=MAX_RESULTS, layout=widgets.Layout(width="3.6rem"))
        self._recency = widgets.Dropdown(
            options=[("any time", ""), *((f"past {each}", each) for each in RECENCIES)],
            layout=widgets.Layout(width="7.5rem"),
        )
        self._ai = widgets.Checkbox(False, description="AI answer, at most", indent=False, layout=_fit())
        self._budget = widgets.BoundedFloatText(6, min=0, max=60, step=1, layout=widgets.Layout(width="3.6rem"))
        self._state = widgets.HTML()
        self._columns = widgets.GridBox(
            layout=widgets.Layout(grid_template_columns="repeat(auto-fit, minmax(22rem, 1fr))", grid_gap="0 2rem")
        )
        self._shown: dict[str, _Column] = {}
        self._box = widgets.VBox(
            [
                widgets.HBox([self._query, self._go, self._stop]),
                widgets.HBox(
                    [
                        *self._engines.values(),
                        _gap(),
                        self._number,
                        _word("results"),
                        self._recency,
                        _gap(),
                        self._ai,
                        self._budget,
                        _word("s"),
                    ],
                    layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="0 .6rem"),
                ),
                self._state,
                self._columns,
            ],
            layout=widgets.Layout(max_width="76rem"),
        )

    @property
    def searches(self) -> pd.DataFrame:
        """Every search of this panel, one row an engine, in the order in which they ended: :data:`COLUMNS`.

        ``results`` is how many there are, ``answer`` the state of the AI answer where one was asked for, ``error`` the
        class of the error where it failed.
        """
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS)).astype(COLUMNS)

    def search(self) -> None:
        """Starts the search that the panel shows, in place of one that is under way; returns at once."""
        self.stop()
        self._under_way = {}  # whatever the old one still says is not heard
        engines = [name for name, box in self._engines.items() if box.value]
        self.pages = {}
        self._shown = {name: _Column(self, name) for name in engines}
        self._columns.children = [column.box for column in self._shown.values()]
        self._start(engines)

    def stop(self) -> None:
        """Cancels what is under way, its tabs with it; returns at once."""
        for cancel in self._under_way.values():
            cancel()

    def _start(self, engines: Sequence[str]) -> None:
        run = object()
        coroutine = several.compare(
            self._query.value,
            engines=engines,
            num_results=self._number.value,
            recency=self._recency.value or None,
            ai_answer=self._ai.value,
            budget_s=self._budget.value,
            keep=True,  # once its tab is closed a page can be had only by searching again, and would be another
            browser=self.browser,
            progress=lambda *told: self._told(run, *told),
            arrived=lambda asked, outcome: self._arrived(run, asked, outcome),
        )
        for name in engines:
            self._shown[name].wait()
        self._stop.disabled = False
        self._state.value = ""
        with self._starting:
            self._under_way[run] = bridge.start(coroutine, ended=lambda error: self._ended(run, engines, error))

    def _submitted(self, _widget: Any, content: Mapping[str, Any], _buffers: Any) -> None:
        if content.get("event") == "submit":
            self.search()

    # On castlenb's own thread: changing a widget there reaches the notebook even while a cell runs.

    def _hears(self, run: object) -> bool:
        with self._starting:
            return run in self._under_way

    def _told(self, run: object, engine: str, state: str, count: int) -> None:
        if self._hears(run):
            self._shown[engine].say(waiting(state, count))

    def _arrived(self, run: object, asked: Asked, outcome: SearchPage | CastleError) -> None:
        self._rows.append(_row(asked, outcome))
        if not self._hears(run):
            return
        column = self._shown[asked.engine.name]
        if isinstance(outcome, SearchPage):
            self.pages[asked.engine.name] = outcome
            column.show(outcome)
        else:
            column.fail(outcome)

    def _ended(self, run: object, engines: Sequence[str], error: BaseException | None) -> None:
        if not self._hears(run):
            return
        del self._under_way[run]
        self._stop.disabled = not self._under_way
        if error is None:
            return
        stopped = isinstance(error, asyncio.CancelledError)
        said = str(error) or type(error).__name__
        self._state.value = line_html("stopped") if stopped else failures_html([{"message": said, "human_url": None}])
        for name in engines:
            self._shown[name].give_up()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = self._box._repr_mimebundle_()
        return {**bundle, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"Panel({self.browser!r}, {counted(len(self._rows), 'search', 'searches')})"


class _Column:
    """One engine's results."""

    def __init__(self, panel: Panel, engine: str) -> None:
        self._panel = panel
        self._engine = engine
        self._head = widgets.HTML()
        self._body = widgets.HTML()
        self._button = widgets.Button(layout=_fit(display="none", align_self="flex-start"))
        self._button.on_click(self._clicked)
        self._saved = widgets.HTML()
        self._page: SearchPage | None = None
        self._waits = False
        self.box = widgets.VBox(
            [self._head, self._body, self._button, self._saved], layout=widgets.Layout(min_width="0")
        )

    def wait(self) -> None:
        self._page, self._waits = None, True
        self._body.value = self._saved.value = ""
        self._button.layout.display = "none"
        self.say("connecting")

    def say(self, text: str) -> None:
        self._head.value = line_html(f"{engine_named(self._engine).label}: {text}")

    def show(self, page: SearchPage) -> None:
        self._page, self._waits = page, False
        self._head.value = ""
        self._body.value = page._repr_html_()
        self._offer("Keep this page", "adds it to panel.kept, and saves the page itself as a capture")

    def fail(self, error: CastleError) -> None:
        self._waits = False
        self._head.value = ""
        human_url = error.human_url if isinstance(error, NeedsPerson) else None
        self._body.value = failures_html([{"message": str(error), "human_url": human_url}])
        if human_url is not None:
            self._offer("Cleared", "once it has been opened and cleared in that Chrome: search again")

    def give_up(self) -> None:
        if self._waits:
            self._waits = False
            self.say("not searched")

    def _offer(self, what: str, why: str) -> None:
        self._button.description, self._button.tooltip = what, why
        self._button.disabled = False
        self._button.layout.display = ""

    def _clicked(self, _button: Any) -> None:
        if self._page is None:
            self._panel.browser.cleared(self._engine)
            self._panel._start([self._engine])
            return
        self._panel.kept.append(self._page)
        self._button.description, self._button.disabled = f"Kept: panel.kept[{len(self._panel.kept) - 1}]", True
        self._saved.value = line_html(save_page(self._page))


def save_page(page: SearchPage) -> str:
    """Saves the page itself into the user's data folder; returns where it is, or why it is not, as a sentence."""
    if page.capture is None:
        why = "it is of an earlier search" if page.reused else "it could not be taken"
        return f"Only what was read is kept, not the page itself: {why}"
    from platformdirs import user_data_path

    folder = user_data_path("castlenb") / "captures"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"The page itself is in {page.capture.save(folder)}"
    except OSError as failed:
        return f"Only what was read is kept; the page itself could not be saved: {failed}"


def _row(asked: Asked, outcome: SearchPage | CastleError) -> dict[str, Any]:
    row: dict[str, Any] = {"query": asked.query, "engine": asked.engine.name}
    if not isinstance(outcome, SearchPage):
        return {**row, "error": type(outcome).__name__}
    return {
        **row,
        "results": len(outcome),
        "answer": outcome.answer.state if outcome.answer else None,
        **{name: outcome.timings.get(name) for name in ("parse_ready_ms", "call_total_ms")},
        "reused": outcome.reused,
        "fetched_at": outcome.fetched_at,
    }


def _fit(**more: Any) -> widgets.Layout:
    return widgets.Layout(width="auto", **more)


def _word(text: str) -> widgets.Label:
    return widgets.Label(text, layout=_fit())


def _gap() -> widgets.Label:
    return widgets.Label("", layout=widgets.Layout(width=".6rem"))
