"""A results page as Markdown for people: CommonMark in which no stranger's word is mark-up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .clean import address, one_line, verbatim
from .words import ANSWER_STATES, EMPTY_PAGES, NOT_A_SOURCE, counted


def page_markdown(data: Mapping[str, Any]) -> str:
    """A results page as a Markdown document: the answer, quoted, with its sources; then the numbered results.

    Args:
        data: what ``SearchPage.to_dict`` gives.
    """
    results = data["results"]
    query = plain(data.get("query"), 200)
    count = f"{counted(len(results), 'result')} from {_linked(data['engine_label'], data.get('url'))}"
    parts = [f"# {query}" if query else "# Search", f"{count[0].upper()}{count[1:]}"]
    parts += [f"*Note: {plain(warning)}*" for warning in data.get("warnings") or []]
    if not results:
        parts.append(plain(EMPTY_PAGES.get(data["page_state"], data["page_state"])))
    if answer := data.get("answer"):
        parts += _answer(answer)
    if results:
        parts += ["## Results", "\n".join(_hit(row) for row in results)]
    return "\n\n".join(parts) + "\n"


def plain(value: object, limit: int = 500) -> str:
    """Text for one line, every sign that Markdown would heed escaped."""
    return _escaped(one_line(value, limit))


def _escaped(line: str) -> str:
    line = re.sub(r"[\\`*_\[\]<>#|~$&!]", r"\\\g<0>", line)
    line = re.sub(r":(?=//)|(?<=\bwww)\.", r"\\\g<0>", line, flags=re.I)  # nor is an address on its own a link
    return re.sub(r"^(\s*)([-+=]|\d+(?=[.)]))", _at_the_start, line)


def _at_the_start(found: re.Match[str]) -> str:
    """A list's mark, a rule or an underline: none of them can be one once its first sign is escaped."""
    sign = found[2]
    return f"{found[1]}\\{sign}" if not sign.isdigit() else f"{found[1]}{sign}\\"


def _answer(answer: Mapping[str, Any]) -> list[str]:
    note = ANSWER_STATES.get(answer["state"], answer["state"])
    text = answer.get("text")
    facts = ", ".join(filter(None, (NOT_A_SOURCE if text else "", note)))
    parts = [f"## {plain(answer['label'], 80)}", *([f"*{plain(facts[0].upper() + facts[1:])}.*"] if facts else [])]
    if text:
        parts.append("\n".join(_quoted(line) for line in verbatim(text)))
    sources = [f"{source['n']}. {_named(source)}" for source in answer.get("citations") or []]
    return [*parts, "\n".join(sources)] if sources else parts


def _quoted(line: str) -> str:
    """A line of the answer as a line of its own, by two blanks; what it is indented by would make code of it."""
    text = line.lstrip()
    indent = "\N{NO-BREAK SPACE}" * (len(line) - len(text))
    return f"> {indent}{_escaped(text)}  " if text else ">"


def _hit(row: Mapping[str, Any]) -> str:
    number = f"{row['rank']}. "
    lines = [number + _named(row)]
    about = " · ".join(filter(None, (plain(row.get("date"), 40), plain(row.get("snippet")))))
    if about:
        lines[0] += "  "
        lines.append(" " * len(number) + about)
    return "\n".join(lines)


def _named(row: Mapping[str, Any]) -> str:
    site = plain(row.get("site"), 80)
    title = _linked(row.get("title") or row.get("site") or "untitled", row.get("url") or row.get("link"))
    return f"{title} – {site}" if site and row.get("title") else title


def _linked(text: object, url: object) -> str:
    found = address(url)
    if found is None:
        return plain(text, 200)
    target = found.href.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E")
    return f"[{plain(text, 200)}](<{target}>)"
