"""Records as HTML for notebooks: Jinja2 templates with autoescape, no script, no asset from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .clean import address, one_line, paragraphs
from .words import ANSWER_STATES, EMPTY_PAGES, GENERATED, NOT_A_SOURCE, TIMINGS, counted

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ANSWER_HEAD = 700
"""Characters of an answer that are shown before the reader asks for the rest; it ends with a whole paragraph."""

CITATIONS_HEAD = 5


def search_page_html(data: Mapping[str, Any]) -> str:
    """A results page: its answer on a card of its own, then the numbered results.

    Args:
        data: ``engine_label query url page_state results answer timings warnings``; results and citations are lists of
            dicts, ``answer`` is None or a dict with ``label state text citations``, timings are milliseconds (or None)
            by name.

    Returns:
        an HTML fragment. Its style reaches nothing but itself.
    """
    results = [_hit(row) for row in data["results"]]
    return _render(
        "search_page.html",
        engine=data["engine_label"],
        query=data["query"],
        page=address(data.get("url")),
        count=counted(len(results), "result"),
        empty="" if results else EMPTY_PAGES.get(data["page_state"], data["page_state"]),
        answer=_answer(data["answer"]) if data.get("answer") else None,
        hits=results,
        timings=_timings(data.get("timings") or {}),
        warnings=data.get("warnings") or [],
    )


def answer_html(data: Mapping[str, Any]) -> str:
    """An AI answer on a card; takes what :func:`.answer_text` takes."""
    answer = {**_answer(data), "generated": NOT_A_SOURCE}
    return _render("answer.html", answer=answer, warnings=data.get("warnings") or [])


_CHECKS = ("verdict", "part", "hook", "found", "expected", "placement", "why", "sample")


def verification_html(data: Mapping[str, Any]) -> str:
    """A verification: a line for each engine, what to use in place of what is missing, and the checks of each page.

    Args:
        data: ``lines``, sentences; ``repairs``, dicts with ``line``; ``pages``, dicts with ``title``, ``url``,
            ``checks``: dicts with ``verdict part hook found expected placement why sample``, of which those that are
            not ok are shown first; ``picture``: a JPEG in base64, or None.
    """
    return _render(
        "verification.html",
        lines=data["lines"],
        repairs=data["repairs"],
        columns=_CHECKS,
        pages=[_checked_page(page) for page in data["pages"]],
    )


def _checked_page(page: Mapping[str, Any]) -> dict[str, Any]:
    checks = sorted(page["checks"], key=lambda check: check["verdict"] == "ok")
    drifted = [check for check in checks if check["verdict"] != "ok"]
    return {
        "title": page["title"],
        "opens": address(page["url"]),
        "drifted": drifted,
        "count": f"{counted(len(checks), 'check')}, {len(drifted)} not ok",
        "rows": [["" if check[name] is None else check[name] for name in _CHECKS] for check in checks],
        "picture": page["picture"],
    }


def _hit(row: Mapping[str, Any]) -> dict[str, Any]:
    target, served = address(row.get("url")), address(row.get("link"))
    return {
        "rank": row["rank"],
        "title": row.get("title") or row.get("site") or "untitled",
        "target": target,
        "opens": target or served,
        # A link whose target the engine keeps to itself: all that is known is the site that its page names.
        "through": None if target else served,
        "site": row.get("site") if served or not row.get("url") else row.get("url"),
        "snippet": row.get("snippet"),
        "date": row.get("date"),
    }


def _answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    head, rest = _split(paragraphs(answer.get("text")))
    sources = [{**source, "opens": address(source.get("url"))} for source in answer.get("citations") or []]
    return {
        "label": answer["label"],
        "generated": GENERATED,
        "note": ANSWER_STATES.get(answer["state"], answer["state"]),
        "head": [_line(line) for line in head],
        "rest": [_line(line) for line in rest],
        "sources": sources[:CITATIONS_HEAD],
        "more_sources": sources[CITATIONS_HEAD:],
    }


def _line(line: str) -> dict[str, Any]:
    """A line of prose; a Markdown heading is shown as one."""
    plain = line.lstrip("#")
    heading = plain != line and plain.startswith(" ")
    return {"text": plain.strip() if heading else line, "heading": heading}


def _split(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    shown = 0
    for number, line in enumerate(lines):
        if shown and shown + len(line) > ANSWER_HEAD:
            return lines[:number], lines[number:]
        shown += len(line)
    return lines, []


def _timings(timings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name.removesuffix("_ms").replace("_", " "), f"{ms:,.0f} ms")
        for name in TIMINGS
        if (ms := timings.get(name)) is not None
    ]


@cache
def _environment() -> Environment:
    from importlib.resources import files

    from jinja2 import Environment, FunctionLoader, StrictUndefined

    here = files(__package__)
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: here.joinpath(name).read_text("utf-8")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(show=_show, line=one_line)
    return environment


def _render(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(context)


def _show(value: object, limit: int = 500) -> Markup:
    """Text to be read. JupyterLab would typeset ``$…$``, ``\\(…\\)`` and ``\\begin…`` as mathematics and heeds no class
    that asks it not to (jupyterlab#17935); alone in an element of its own neither sign has a partner."""
    from markupsafe import Markup, escape

    text = str(escape(one_line(value, limit)))
    return Markup(text.replace("$", "<span>$</span>").replace("\\", "<span>\\</span>"))
