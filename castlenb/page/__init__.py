"""The scripts that run in the page, and how they get there.

They run in an isolated world of their own: the page can neither see nor change them, and its content security policy
does not apply to them. They know no engine; all they need comes as ``spec`` (see :meth:`castlenb.engines.Engine.spec`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def on_new_documents(source: str) -> tuple[str, dict[str, Any]]:
    """The command that has such a script run in our world of every new document, and at once in the blank one."""
    return "Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": WORLD, "runImmediately": True}


def script_with_reader(spec: dict[str, Any], body: str) -> str:
    """A script to add on every new document, top documents alone, in which ``body`` finds ``dom`` and ``reader``.

    On a blank page it rehearses instead: the reader's code is compiled, which takes longer than reading does, while the
    real page is on its way. For that it has to be run there at once (:func:`on_new_documents`); Chrome keeps what it
    compiled for the same text in the same process, and a new tab's first navigation stays in it (Chromium 156).
    """
    return _with_reader(json.dumps(spec, sort_keys=True), body)


def script_with_answers(spec: dict[str, Any], body: str) -> str:
    """The same, in which ``body`` finds ``answers`` as well."""
    return script_with_reader(spec, f"const answers = {_answers()};\n{body}")


def reader_expression(spec: dict[str, Any]) -> str:
    """An expression that evaluates to the reader of results alone."""
    return f"((spec) => {_reading()}(document).reader)({json.dumps(spec, sort_keys=True)})"


def answers_expression(spec: dict[str, Any]) -> str:
    """An expression that evaluates to the reader of AI answers alone."""
    built = f"const dom = {script('dom')}(spec, document);\nreturn {_answers()};"
    return f"((spec) => {{ {built} }})({json.dumps(spec, sort_keys=True)})"


def check_expression(spec: dict[str, Any], hooks: Sequence[Mapping[str, Any]]) -> str:
    """An expression that evaluates to what each hook finds on the page, as JSON text (see ``check.js``)."""
    value = f"JSON.stringify(checker.check({json.dumps(hooks)}))"
    return f"((spec) => {{ {_checking()}\nreturn {value}; }})({json.dumps(spec)})"


def repair_expression(spec: dict[str, Any], hooks: Sequence[Mapping[str, Any]], value: str) -> str:
    """An expression of the JSON text of ``value``, in which ``repair`` is ``repair.js`` for these hooks."""
    made = f"const repair = {script('repair')}(dom, checker, {json.dumps(hooks)});"
    return f"((spec) => {{ {_checking()}\n{made}\nreturn JSON.stringify({value}); }})({json.dumps(spec)})"


def outline_expression(
    spec: dict[str, Any], hooks: Sequence[Mapping[str, Any]], marks: Sequence[tuple[int, str, str]]
) -> str:
    """An expression that draws frames around what hooks find, on a replay (see ``outline.js``)."""
    made = f"const drawn = {script('outline')}(dom, checker, {json.dumps(hooks)}, {json.dumps(marks)});"
    return f"((spec) => {{ {_checking()}\n{made}\nreturn drawn; }})({json.dumps(spec)})"


def inert_expression(html: str) -> str:
    """An expression that evaluates to the inert form of a saved page (see ``inert.js``)."""
    return f"{script('inert')}({json.dumps(html)})"


@cache
def _init_script(spec: str, with_answers: bool) -> str:
    answers, growth = "null", "null"
    if with_answers:
        answers, growth = _answers(), f"{script('growth')}(answers)"
    body = f"""const answers = {answers};
const growth = {growth};
const watcher = {script("watch")}(spec, reader, answers, growth);
globalThis.castlenb = {{ reader, answers, watcher }};"""
    return _with_reader(spec, body)


def _with_reader(spec: str, body: str) -> str:
    return f"""(() => {{ if (window !== window.top) return;
const spec = {spec};
const reading = {_reading()};
if (location.href === "about:blank") {{
  setTimeout(() => reading(new DOMParser().parseFromString(spec.specimen, "text/html")).reader.read());
  return;
}}
const {{ dom, reader }} = reading(document);
{body} }})()"""


def _reading() -> str:
    return f"""((document) => {{
const dom = {script("dom")}(spec, document);
return {{ dom, reader: {script("read")}(spec, dom, document) }}; }})"""


def _checking() -> str:
    return f"""const {{ dom, reader }} = {_reading()}(document);
const answers = {_answers()};
const checker = {script("check")}(spec, dom, reader, answers);"""


def _answers() -> str:
    return f"""(() => {{
const prose = {script("prose")}(spec, dom);
const sources = {script("sources")}(spec, dom, prose);
const answers = {script("answer")}(spec, dom, prose, sources);
return answers; }})()"""
