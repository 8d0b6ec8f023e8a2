"""Records as HTML for notebooks: Jinja2 templates with autoescape, no script, no asset from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from .clean import ELLIPSIS, address, one_line, paragraphs
from .plain import AGREEMENT, cell
from .words import ANSWER_STATES, EMPTY_PAGES, GENERATED, NOT_A_SOURCE, TIMINGS, counted

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ANSWER_HEAD = 700
"""Characters of an answer that are shown before the reader asks for the rest; it ends with a whole paragraph, unless
the first alone is more than twice as long."""

CITATIONS_HEAD = 5

TARGETS_HEAD = 12
"""Rows of a comparison that are shown before the reader asks for the rest."""

ROWS_HEAD = 40
"""Rows of a table of a study or of a kept page that are shown at all: its file can be a stranger's, of any length."""


def search_page_html(data: Mapping[str, Any]) -> str:
    """A results page: its answer on a card of its own, then the numbered results.

    Args:
        data: ``engine_label query url page_state results answer timings warnings``; results and citations are lists of
            dicts, ``answer`` is None or a dict with ``label state text citations``, timings are milliseconds (or None)
            by name.

    Returns:
        an HTML fragment. Its style reaches nothing but itself.
    """
    listed = _listed(data)
    return _render(
        "search_page.html",
        **listed,
        page=address(data.get("url")),
        empty="" if listed["hits"] else EMPTY_PAGES.get(data["page_state"], data["page_state"]),
        answer=_answer(data["answer"]) if data.get("answer") else None,
        timings=_timings(data.get("timings") or {}),
    )


def answer_html(data: Mapping[str, Any]) -> str:
    """An AI answer on a card; takes what :func:`.answer_text` takes."""
    answer = {**_answer(data), "generated": NOT_A_SOURCE}
    return _render("answer.html", answer=answer, warnings=data.get("warnings") or [])


def comparison_html(data: Mapping[str, Any]) -> str:
    """Engines side by side; takes what :func:`.comparison_text` takes."""
    rows = [_target(row) for row in data["targets"]]
    return _render(
        "comparison.html",
        engines=", ".join(data["engines"]),
        query=data["query"],
        count=counted(len(rows), "target"),
        answered=list(data["counts"]),
        rows=rows[:TARGETS_HEAD],
        more=rows[TARGETS_HEAD:],
        columns=["", *AGREEMENT.values()],
        agreement=[
            [f"{pair['engine_a']}, {pair['engine_b']}", *(pair[each] for each in AGREEMENT)]
            for pair in data["agreement"]
        ],
        warnings=data["warnings"],
        failures=[_failure(failure) for failure in data["failures"]],
    )


def searches_html(data: Mapping[str, Any]) -> str:
    """Several searches, each to be opened, and those that failed above them.

    Args:
        data: ``pages``, each as :func:`search_page_html` takes one; ``failures``, dicts with ``engine message
            human_url``.
    """
    pages, failures = data["pages"], data["failures"]
    count = counted(len(pages) + len(failures), "search", "searches")
    return _render(
        "searches.html",
        count=f"{count}, {len(failures)} failed" if failures else count,
        pages=[_listed(page) for page in pages],
        failures=[_failure(failure) for failure in failures],
    )


def line_html(text: str) -> str:
    """One line of text, and nothing in it that is more than text."""
    return str(_show(text))


def failures_html(failures: Sequence[Mapping[str, Any]]) -> str:
    """What went wrong and what a person can do: dicts with ``message`` and ``human_url``."""
    return _render("failures.html", failures=[_failure(failure) for failure in failures])


def facts_html(facts: Sequence[tuple[str, object]]) -> str:
    """A few facts by name."""
    return _render("facts.html", facts=facts)


def _listed(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a page's own list needs."""
    return {
        "engine": data["engine_label"],
        "query": data["query"],
        "count": counted(len(data["results"]), "result"),
        "hits": [_hit(row) for row in data["results"]],
        "warnings": data.get("warnings") or [],
        "kept_from": _day(data.get("kept_from")),
    }


def _day(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else ""


def _target(row: Mapping[str, Any]) -> dict[str, Any]:
    opens = address(row.get("url"))
    site = opens.host if opens else row["target"]
    return {"opens": opens, "title": row.get("title") or row["target"], "site": site, "ranks": [*row["ranks"].values()]}


def _failure(failure: Mapping[str, Any]) -> dict[str, Any]:
    return {**failure, "opens": address(failure.get("human_url"))}


_FINE = ("part", "hook", "found (expected)", "where", "sample")


def verification_html(data: Mapping[str, Any]) -> str:
    """A verification: a line for each engine, what to use in place of what is missing, and the checks of each page.

    Args:
        data: ``lines``, dicts with ``text`` and ``holds``; ``repairs``, dicts with ``line``; ``pages``, dicts with
            ``title``, ``at``, ``url``, ``checks``: dicts with ``verdict part hook found expected placement why
            sample``, of which those that are not ok are shown first; ``picture``: a JPEG in base64, or None.
    """
    return _render(
        "verification.html",
        count=counted(len(data["pages"]), "page"),
        lines=data["lines"],
        repairs=data["repairs"],
        columns=["verdict", *_FINE, "why"],
        fine_columns=_FINE,
        pages=[_checked_page(page) for page in data["pages"]],
    )


def capture_html(data: Mapping[str, Any]) -> str:
    """A kept page: what it is of, what it holds, what was taken out of it.

    Args:
        data: ``engine_label query url captured_at results`` (how many, or None), ``facts``, pairs of a name and a value
            of which those without one are left out; ``redacted``, dicts with ``what where count``.
    """
    facts = [("address", address(data["url"])), ("taken at", _day(data["captured_at"])), *data["facts"]]
    rows = [[_word(each.get(name)) for name in ("what", "where", "count")] for each in data["redacted"]]
    kinds = dict.fromkeys(one_line(what, 40) for what, *_ in rows)
    return _render(
        "capture.html",
        engine=data["engine_label"],
        query=data["query"],
        count="" if data["results"] is None else counted(data["results"], "result"),
        facts=[(name, value) for name, value in facts if value],
        taken_out=f"Taken out, in {counted(len(rows), 'place')}: {', '.join(kinds)}",
        rows=rows[:ROWS_HEAD],
        more=len(rows[ROWS_HEAD:]),
    )


def _word(value: object) -> object:
    """A value of a stranger's file, where it is one that can be shown."""
    return value if isinstance(value, str | int) else ""


def run_html(data: Mapping[str, Any]) -> str:
    """A study: with what it was measured, how its trials ended, how long things took, what is to be said against it.

    Args:
        data: ``engines``; ``trials``, ``warmups`` and ``queries``, numbers; ``facts``, pairs of a name and a value;
            ``varying``, the names of those that differ from run to run; ``outcomes``, dicts with ``engine``,
            ``pages`` and ``answers``, words; ``latency_columns`` and ``latency``, rows of words; ``objections``,
            sentences.
    """
    told = data["outcomes"]
    warmups = f"; {counted(data['warmups'], 'trial is a warm-up', 'trials are warm-ups')}" if data["warmups"] else ""
    return _render(
        "run.html",
        title=f"{counted(data['trials'], 'trial')} of {', '.join(data['engines']) or 'no engine'}",
        count=f"{counted(data['queries'], 'query', 'queries')}{warmups}",
        facts=data["facts"],
        varying=data["varying"],
        outcomes=[[each[name] for name in ("engine", "pages", "answers")] for each in told[:ROWS_HEAD]],
        latency_columns=data["latency_columns"],
        latency=data["latency"][:ROWS_HEAD],
        left_out=len(told[ROWS_HEAD:]) + len(data["latency"][ROWS_HEAD:]),
        objections=data["objections"][:ROWS_HEAD],
    )


def _checked_page(page: Mapping[str, Any]) -> dict[str, Any]:
    drifted = [check for check in page["checks"] if check["verdict"] != "ok"]
    fine = [check for check in page["checks"] if check["verdict"] == "ok"]
    return {
        "title": page["title"],
        "at": page["at"],
        "opens": address(page["url"]),
        "count": f"{counted(len(page['checks']), 'check')}, {len(drifted)} not ok",
        "drifted": [[check["verdict"], *_checked(check), check["why"]] for check in drifted],
        "holding": f"{counted(len(fine), 'hook')} as expected",
        "fine": [_checked(check) for check in fine],
        "picture": page["picture"],
    }


def _checked(check: Mapping[str, Any]) -> list[object]:
    """A check's cells of the columns :data:`_FINE`."""
    found = "?" if check["found"] is None else check["found"]
    part = check["part"].replace("_", " ")
    return [part, check["hook"], f"{found} ({check['expected']})", check["placement"], check["sample"]]


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
    if lines and len(lines[0]) > 2 * ANSWER_HEAD:  # one paragraph as long as a page: it ends with a word
        end = lines[0].rfind(" ", 0, ANSWER_HEAD) + 1 or ANSWER_HEAD
        return [lines[0][:end].rstrip() + ELLIPSIS], [ELLIPSIS + lines[0][end:], *lines[1:]]
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
    environment.filters.update(show=_show, line=one_line, cell=lambda value: _show(cell(value)))
    return environment


def _render(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(context)


def _show(value: object, limit: int = 500) -> Markup:
    """Text to be read. JupyterLab would typeset ``$…$``, ``\\(…\\)`` and ``\\begin…`` as mathematics and heeds no class
    that asks it not to (jupyterlab#17935); alone in an element of its own neither sign has a partner."""
    from markupsafe import Markup, escape

    text = str(escape(one_line(value, limit)))
    return Markup(text.replace("$", "<span>$</span>").replace("\\", "<span>\\</span>"))
