"""Records drawn for people: HTML for a notebook, and plain text that is the same on every run.

Everything that arrives here was written by strangers: titles, snippets, addresses and answers come from pages. It is
cleaned (:mod:`.clean`), escaped by Jinja2, and only http and https addresses become links. Takes plain dicts and lists;
knows no other part of castlenb.
"""

from __future__ import annotations

from .agent import agent_text, error_text
from .clean import one_line
from .markdown import page_markdown
from .markup import (
    answer_html,
    capture_html,
    comparison_html,
    facts_html,
    failures_html,
    line_html,
    run_html,
    search_page_html,
    searches_html,
    verification_html,
)
from .plain import answer_text, comparison_text, search_page_text, table_text
from .words import counted

__all__ = [
    "agent_text",
    "answer_html",
    "answer_text",
    "capture_html",
    "comparison_html",
    "comparison_text",
    "counted",
    "error_text",
    "facts_html",
    "failures_html",
    "line_html",
    "one_line",
    "page_markdown",
    "run_html",
    "search_page_html",
    "search_page_text",
    "searches_html",
    "table_text",
    "verification_html",
]
