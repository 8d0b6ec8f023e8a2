"""Records as plain text: for a script, a log, and a saved notebook that has to compare equal on every run.

No addresses in memory, no times, no random names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from .clean import address, one_line, paragraphs, verbatim
from .words import ANSWER_STATES, EMPTY_PAGES, GENERATED, NOT_A_SOURCE, counted

WIDTH = 88


def search_page_text(data: Mapping[str, Any]) -> str:
    """A results page as text; takes what :func:`.search_page_html` takes.

    Returns:
        a line that names the page, the answer where there is one, and the numbered results.
    """
    results = data["results"]
    engine = one_line(data.get("engine") or data["engine_label"].lower(), 40)
    parts = [f"SearchPage({engine}, {one_line(data['query'], 80)!r}, {counted(len(results), 'result')})"]
    if not results:
        parts.append(EMPTY_PAGES.get(data["page_state"], one_line(data["page_state"])))
    if answer := data.get("answer"):
        parts.append(_answer(answer))
    parts += [_hit(row) for row in results]
    if warnings := data.get("warnings"):
        parts.append("\n".join(_wrapped(f"Note: {one_line(warning)}", "") for warning in warnings))
    return "\n\n".join(parts)


def answer_text(data: Mapping[str, Any]) -> str:
    """An AI answer as text, whole: what it is, its prose as it stands, its sources.

    Args:
        data: ``label state text citations warnings``; citations are dicts with ``n title url site``.
    """
    said = bool(data.get("text"))
    sources = data.get("citations") or []
    note = ANSWER_STATES.get(data["state"], one_line(data["state"]))
    facts = [NOT_A_SOURCE] if said else []
    facts += [note] if note else []
    facts += [counted(len(sources), "source")] if said else []
    parts = [f"{one_line(data['label'], 80)} ({', '.join(facts)})" if facts else one_line(data["label"], 80)]
    if said:
        parts.append("\n".join(verbatim(data["text"])))
    if sources:
        parts.append("\n".join(_source(source) for source in sources))
    parts += [_wrapped(f"Note: {one_line(warning)}", "") for warning in data.get("warnings") or []]
    return "\n\n".join(parts)


def _source(source: Mapping[str, Any]) -> str:
    title, site = one_line(source.get("title"), 200), one_line(source.get("site"), 80)
    named = " – ".join(filter(None, (title, site))) or "untitled"
    url = one_line(source["url"], 2_000) if address(source.get("url")) else ""
    return f"[{source['n']}] {named}" + (f"\n    {url}" if url else "")


def _answer(answer: Mapping[str, Any]) -> str:
    note = ANSWER_STATES.get(answer["state"], one_line(answer["state"]))
    text = " ".join(paragraphs(answer.get("text")))
    facts = [GENERATED] if text else []
    facts += [note] if note else []
    sources = len(answer.get("citations") or [])
    facts += [counted(sources, "source")] if text else []
    head = f"{one_line(answer['label'], 80)} ({', '.join(facts)})" if facts else one_line(answer["label"], 80)
    return f"{head}\n{_wrapped(one_line(text, 400), '    ')}" if text else head


def _hit(row: Mapping[str, Any]) -> str:
    number = f"{row['rank']:>2}. "
    title = one_line(row.get("title"), 200) or "untitled"
    lines = [_wrapped(title, " " * len(number), first=number)]
    if address(row.get("url")):
        lines.append(f"    {one_line(row['url'], 2_000)}")
    else:
        where = one_line(row.get("site") or row.get("url"), 200)
        hidden = "(hidden target)" if address(row.get("link")) else ""
        lines.append(f"    {' '.join(filter(None, (where, hidden)))}")
    about = " · ".join(filter(None, (one_line(row.get("date"), 40), one_line(row.get("snippet")))))
    if about:
        lines.append(_wrapped(about, "    "))
    return "\n".join(line for line in lines if line.strip())


def _wrapped(text: str, indent: str, *, first: str | None = None) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
