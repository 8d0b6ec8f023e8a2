"""The scripts that run in the page, and how they get there.

They run in an isolated world of their own: the page can neither see nor change them, and its content security policy
does not apply to them. They know no engine; all they need comes as ``spec`` (see :meth:`castlenb.engines.Engine.spec`).
"""

from __future__ import annotations

import json
import re
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


def init_script(spec: dict[str, Any], *, answers: bool = False, frames: bool = False) -> str:
    """The one script to add on every new document: builds ``castlenb.reader``, ``.watcher`` and, with ``answers``, the
    reader of AI answers there; that is left out where nobody asks, for its compiling holds up the page by 4 ms. With
    ``frames`` the answer's mark-up is kept at each of its changes.

    Only in the top document: a script of a named world is run in every frame of the page as well.
    """
    return _init_script(json.dumps(spec, sort_keys=True), answers, frames)


def on_new_documents(source: str) -> tuple[str, dict[str, Any]]:
    """The command that has such a script run in our world of every new document, and at once in the blank one."""
    return "Page.addScriptToEvaluateOnNewDocument", {"source": source, "worldName": WORLD, "runImmediately": True}


def script_with_reader(spec: dict[str, Any], body: str) -> str:
    """A script to add on every new document, top documents alone, in which ``body`` finds ``dom`` and ``reader``.

    On a blank page it rehearses instead, on the engine's specimen: our code is compiled, which takes longer than
    reading does, while the real page is on its way. For that it has to be run there at once
    (:func:`on_new_documents`); Chrome keeps what it compiled for the same text in the same process, and a new tab's
    first navigation stays in it (Chromium 156).
    """
    return _on_document(json.dumps(spec, sort_keys=True), {}, "reader.read();", body)


def script_with_answers(spec: dict[str, Any], body: str) -> str:
    """The same, in which ``body`` finds ``answers`` as well."""
    rehearsal = "reader.read(); answers.probe(); answers.answer();"
    return _on_document(json.dumps(spec, sort_keys=True), {"answers": _answers()}, rehearsal, body)


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


def inert_pieces_expression(pieces: Sequence[str]) -> str:
    """An expression that evaluates to the inert form of pieces of a page, in their order."""
    return f"""((pieces) => {{
const inert = {script("inert")};
return pieces.map((html) => html && inert(html).body);
}})({json.dumps(pieces)})"""


def take_expression() -> str:
    """An expression that evaluates to the page as it stands, as JSON text (see ``take.js``), in the world in which the
    init script has run."""
    return f"{script('take')}(globalThis.castlenb)"


def keep_expression(spec: dict[str, Any], places: dict[str, Any], taken: dict[str, Any], *, refused: bool) -> str:
    """An expression that evaluates to what a capture keeps of a page that was taken, as JSON text (see ``keep.js``).

    Args:
        places: where the engine's pages tell of a person, as ``Private.as_json`` gives it.
        taken: what :func:`take_expression` has evaluated to.
        refused: the page is one that asks for a person.
    """
    return f"""((spec, places, taken, refused) => {{
const reading = {_reading()};
const inert = {script("inert")};
const redactor = {script("redact")}(spec, places, taken.url, refused);
const kept = {script("keep")}(taken, reading, inert, redactor);
return kept;
}})({json.dumps(spec, sort_keys=True)}, {json.dumps(places)}, {json.dumps(taken)}, {json.dumps(refused)})"""


def grow_script(frames: Sequence[Sequence[Any]], place: str) -> str:
    """A script to add on every new document of a replay, which shows the answer's frames (see ``grow.js``).

    Args:
        frames: as :func:`castlenb.snapshot.packed` gives them.
        place: name of the element that the page holds in the answer's place.
    """
    return f"if (window === window.top) {script('grow')}({json.dumps(frames)}, {json.dumps(place)})"


@cache
def _init_script(spec: str, with_answers: bool, frames: bool) -> str:
    pieces = {
        "answers": _answers() if with_answers else "null",
        "growth": f"{script('growth')}(answers, {json.dumps(frames)})" if with_answers else "null",
        "watcher": f"{script('watch')}(spec, reader, answers, growth, document)",
    }
    # It waits for what never comes, is stopped, and says what there was.
    endless = json.dumps({"results": 2, "quiet_ms": 0, "empty_ms": 0, "answer": {"horizon_ms": 1e9}})
    rehearsal = f"watcher.wait({endless}); watcher.now();"
    return _on_document(spec, pieces, rehearsal, "globalThis.castlenb = { reader, answers, growth, watcher };")


def _on_document(spec: str, pieces: Mapping[str, str], rehearsal: str, body: str) -> str:
    names = ", ".join(["dom", "reader", *pieces])
    made = "\n".join(f"const {name} = {piece};" for name, piece in pieces.items())
    return f"""(() => {{ if (window !== window.top) return;
const spec = {spec};
const build = (document) => {{
const {{ dom, reader }} = {_reading()}(document);
{made}
return {{ {names} }}; }};
if (location.href.split("#", 1)[0] === "about:blank") {{
  setTimeout(() => {{
    const {{ {names} }} = build(new DOMParser().parseFromString(spec.specimen, "text/html"));
    {rehearsal}
  }});
  return;
}}
const {{ {names} }} = build(document);
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
const prose = {script("prose")}(spec, dom, document);
const sources = {script("sources")}(spec, dom, prose, document);
const answers = {script("answer")}(spec, dom, prose, sources, document);
return answers; }})()"""


def said(text: str) -> Any:
    """What a script of ours told as JSON, with U+FFFD for half a character of a page's own: it can not be written to
    any file, nor kept in an Arrow table."""
    return json.loads(_HALF.sub(lambda found: found[1] or "\\ufffd", text))


# JSON.stringify escapes a surrogate only where its other half is missing.
_HALF = re.compile(r"(\\\\)|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
