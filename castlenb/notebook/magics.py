"""``%search`` and ``%%searches``: :func:`castlenb.search` and :func:`castlenb.searches` in fewer characters.

``%load_ext castlenb`` brings them, with help (``%search?``) and completion.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

import castlenb

from ..asked import MAX_RESULTS
from ..engines import ENGINES, RECENCIES

if TYPE_CHECKING:
    import pandas as pd
    from IPython.core.interactiveshell import InteractiveShell


def search(line: str) -> castlenb.SearchPage:
    """Searches, and returns the page: ``page = %search -e bing -n 5 pour over coffee``."""
    asked = _OF_SEARCH.read(line)
    if not asked.query:
        raise UsageError("%search: say what to search for")
    return castlenb.search(" ".join(asked.query), **_arguments(asked))


def searches(line: str, cell: str) -> pd.DataFrame:
    """Searches for each line of the cell, and returns all results in one DataFrame; failures are shown above it.

    Where all of them failed, the first failure is raised.
    """
    asked = _OF_SEARCHES.read(line)
    queries = [query for each in cell.splitlines() if (query := each.strip())]
    if not queries:
        raise UsageError("%%searches: write a query a line into the cell")
    found = castlenb.searches(queries, **_arguments(asked))
    if not found.pages:
        raise next(iter(found.errors.values()))
    if found.errors:
        display(found.failures)  # type: ignore[no-untyped-call]
    return found.results


def complete(_shell: InteractiveShell, event: Any) -> list[str]:
    """Options, and the values of those that have a few."""
    last = (event.line.split(" ")[:-1] or [""])[-1]
    if last in ("-e", "--engine"):
        return list(ENGINES)
    if last == "--recency":
        return list(RECENCIES)
    return [option for option in _OF_SEARCHES.options if event.symbol.startswith("-") or not event.symbol]


def load(shell: InteractiveShell) -> None:
    """Registers magics, their help and completion."""
    for parser, function, kind in ((_OF_SEARCH, search, "line"), (_OF_SEARCHES, searches, "cell")):
        shell.register_magic_function(function, kind)  # type: ignore[arg-type]
        shell.set_hook("complete_command", complete, str_key=parser.prog)  # type: ignore[no-untyped-call]


class _Parser(argparse.ArgumentParser):
    """Of a magic's line; its options come before the words."""

    def __init__(self, name: str) -> None:
        super().__init__(prog=name, add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.add_argument("-e", "--engine", default="google", choices=list(ENGINES), help="which (default google)")
        self.add_argument(
            "-n", "--num-results", type=int, default=10, metavar="N", help=f"1 to {MAX_RESULTS} (default 10)"
        )
        self.add_argument("--ai", action="store_true", help="wait for the engine's AI answer as well")
        self.add_argument("--recency", choices=RECENCIES, help="only what is as new as this")
        self.add_argument("-t", "--target", help="the Chrome to use (default: BU_CDP_HTTP, …)")
        self.options = ["--engine", "--num-results", "--ai", "--recency", "--target"]

    def read(self, line: str) -> argparse.Namespace:
        # Not by a shell's rules: quotes and apostrophes belong to the words.
        return self.parse_args(line.split())

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


_OF_SEARCH = _Parser("%search")
_OF_SEARCH.add_argument("query", nargs=argparse.REMAINDER, help="all that follows the options")
_OF_SEARCHES = _Parser("%%searches")


def _arguments(asked: argparse.Namespace) -> dict[str, Any]:
    return {
        "engine": asked.engine,
        "num_results": asked.num_results,
        "recency": asked.recency,
        "ai_answer": asked.ai,
        "browser": asked.target,
    }


search.__doc__ = f"{search.__doc__}\n{_OF_SEARCH.format_help()}"
searches.__doc__ = f"{searches.__doc__}\n{_OF_SEARCHES.format_help()}"
