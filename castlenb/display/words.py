"""The few words of our own that stand beside a page's."""

from __future__ import annotations

GENERATED = "generated text"
NOT_A_SOURCE = "generated text, not a source"

ANSWER_STATES = {
    "settled": "",
    "growing": "cut short: it was still being written when the wait ended",
    "loading": "still loading when the wait ended",
    "shell": "its place on the page holds something else",
    "absent": "none on this page",
    "declined": "the page says that none is available",
    "offered": "offered on a click, and castlenb does not click",
    "unsupported": "this engine has none",
}

EMPTY_PAGES = {
    "results": "No results were taken from this page.",
    "no_results": "The engine says that nothing matches.",
    "unparseable": "The page has a results area, and nothing in it could be read.",
    "challenge": "The engine asks for a person.",
    "suspected_block": "An empty page, and nothing on it says why.",
    "error": "The page could not be read.",
}

TIMINGS = ("parse_ready_ms", "results_complete_ms", "ai_appear_ms", "ai_settle_ms", "queued_ms", "call_total_ms")
"""What is shown of a page's times; the rest is in its ``timings``."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 result``, ``2 results``, ``no results``."""
    return f"{number or 'no'} {noun if number == 1 else plural or noun + 's'}"
