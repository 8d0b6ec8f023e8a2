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


def init_script(spec: dict[str, Any], *, answers: bool = False) -> str:
    """The one script to add on every new document: builds ``castlenb.reader``, ``.watcher`` and, with ``answers``, the
    reader of AI answers there; that is left out where nobody asks, for its compiling holds up the page by 4 ms.

    Only in the top document: a script of a named world is run in every frame of the page as well.
    """
    return _init_script(json.dumps(spec, sort_keys=True), answers)


def reader_expression(spec: dict[str, Any]) -> str:
    """An expression that evaluates to the reader of results alone."""
    return f"((spec) => {script('read')}(spec, {script('dom')}(spec)))({json.dumps(spec, sort_keys=True)})"


def answers_expression(spec: dict[str, Any]) -> str:
    """An expression that evaluates to the reader of AI answers alone."""
    return f"((spec) => {{ const dom = {script('dom')}(spec);\n{_answers()} }})({json.dumps(spec, sort_keys=True)})"


def inert_expression(html: str) -> str:
    """An expression that evaluates to the inert form of a saved page (see ``inert.js``)."""
    return f"{script('inert')}({json.dumps(html)})"


@cache
def _init_script(spec: str, with_answers: bool) -> str:
    answers = "null"
    if with_answers:
        answers = f"(() => {{ {_answers()} }})()"
    return f"""(() => {{ if (window !== window.top) return;
const spec = {spec};
const dom = {script("dom")}(spec);
const reader = {script("read")}(spec, dom);
const answers = {answers};
const watcher = {script("watch")}(spec, reader, answers);
globalThis.castlenb = {{ reader, answers, watcher }}; }})()"""


def _answers() -> str:
    return f"""const prose = {script("prose")}(spec, dom);
const sources = {script("sources")}(spec, dom, prose);
const answers = {script("answer")}(spec, dom, prose, sources);
return answers;"""
