"""Records as plain text: for a script, a log, and a saved notebook that has to compare equal on every run.

No addresses in memory, no times, no random names.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
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
    text = data.get("text")
    parts = [_answer_head(data, NOT_A_SOURCE if text else None)]
    if text:
        parts.append("\n".join(verbatim(text)))
    if sources := data.get("citations"):
        parts.append("\n".join(_source(source) for source in sources))
    parts += [_wrapped(f"Note: {one_line(warning)}", "") for warning in data.get("warnings") or []]
    return "\n\n".join(parts)


def comparison_text(data: Mapping[str, Any]) -> str:
    """Engines side by side: how much each gave, who lists what, how far they agree, and who failed and why.

    Args:
        data: ``query``; ``engines``; ``counts``, results by engine that answered; ``targets``, dicts with ``target url
            title`` and ``ranks`` by engine; ``agreement``, dicts with ``engine_a engine_b shared either jaccard
            rank_correlation``; ``warnings``, sentences that name their engine; ``failures``, dicts with ``engine
            message human_url``.
    """
    counts = [f"{engine} {counted(number, 'result')}" for engine, number in data["counts"].items()]
    parts = [f"{one_line(data['query'], 80)!r}: {', '.join(counts) or 'no engine has results'}"]
    if data["targets"]:
        rows = [[*row["ranks"].values(), row["target"]] for row in data["targets"]]
        parts.append("Rank on each engine:\n" + table_text([*data["counts"], "target"], rows))
    if data["agreement"]:
        named = [
            [f"{pair['engine_a']}, {pair['engine_b']}", *(pair[each] for each in AGREEMENT)]
            for pair in data["agreement"]
        ]
        parts.append("Targets shared by two engines:\n" + table_text(["", *AGREEMENT.values()], named))
    parts += [_wrapped(f"Note: {one_line(warning)}", "") for warning in data["warnings"]]
    parts += [
        f"Failed: {one_line(failure['message'], 2_000)}" for failure in data["failures"]
    ]  # it can name an address
    return "\n\n".join(parts)


AGREEMENT = {
    "shared": "shared",
    "either": "of",
    "jaccard": "jaccard",
    "rank_correlation": "rank correlation",
}


def table_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table whose numbers stand to the right and whose words to the left; ``-`` where there is nothing."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    right = [
        all(isinstance(value, int | float | None) for value in values)
        for _, *values in zip(columns, *rows, strict=True)
    ]

    def line(texts: Sequence[str]) -> str:
        placed = (
            text.rjust(width) if numbers else text.ljust(width)
            for text, width, numbers in zip(texts, widths, right, strict=True)
        )
        return "  ".join(placed).rstrip()

    return "\n".join([line(columns), *map(line, cells)])


def cell(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else one_line(value, 70)


def _source(source: Mapping[str, Any]) -> str:
    title, site = one_line(source.get("title"), 200), one_line(source.get("site"), 80)
    named = " – ".join(filter(None, (title, site))) or "untitled"
    url = one_line(source["url"], 2_000) if address(source.get("url")) else ""
    return f"[{source['n']}] {named}" + (f"\n    {url}" if url else "")


def _answer(answer: Mapping[str, Any]) -> str:
    text = " ".join(paragraphs(answer.get("text")))
    head = _answer_head(answer, GENERATED if text else None)
    return f"{head}\n{_wrapped(one_line(text, 400), '    ')}" if text else head


def _answer_head(answer: Mapping[str, Any], what: str | None) -> str:
    """Its label; in brackets ``what`` it is, how it stands, and where there is any of it how many sources it names."""
    note = ANSWER_STATES.get(answer["state"], one_line(answer["state"]))
    sources = counted(len(answer.get("citations") or []), "source") if what else None
    facts = ", ".join(filter(None, (what, note, sources)))
    label = one_line(answer["label"], 80)
    return f"{label} ({facts})" if facts else label


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
