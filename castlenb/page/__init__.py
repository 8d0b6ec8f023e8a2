"""The scripts that run in the page, and how they get there.

They run in an isolated world of their own: the page can neither see nor change them, and its content security policy
does not apply to them. They know no engine; all they need comes as ``spec`` (see :meth:`castlenb.engines.Engine.spec`).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

WORLD = "castlenb"
"""Name of the isolated world. ``Page.createIsolatedWorld`` with it returns the init script's own context."""


@cache
def script(name: str) -> str:
    """One of the ``.js`` files, as text: a parenthesised function expression."""
    return (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8").strip().removesuffix(";")


def init_script(spec: dict[str, Any]) -> str:
    """The one script to add on every new document: builds ``castlenb.reader`` and ``castlenb.watcher`` there.

    Only in the top document: a script of a named world is run in every frame of the page as well.
    """
    return _init_script(json.dumps(spec, sort_keys=True))


def inert_expression(html: str) -> str:
    """An expression that evaluates to the inert form of a saved page (see ``inert.js``)."""
    return f"{script('inert')}({json.dumps(html)})"


@cache
def _init_script(spec: str) -> str:
    return f"""(() => {{ if (window !== window.top) return;
const spec = {spec};
const reader = {script("read")}(spec);
const watcher = {script("watch")}(spec, reader);
globalThis.castlenb = {{ reader, watcher }}; }})()"""
