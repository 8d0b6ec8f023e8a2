"""Every real page at hand that is known to have an AI answer, or none: its state, text and sources."""

import csv
import re

import pytest

from . import real_pages

pytestmark = pytest.mark.xdist_group("real pages")  # each page is read once, for both

EXCEPTIONS: dict[str, dict[str, str]] = {}
"""Pages on which the reader is known to be wrong, with the reason. Two at most an engine; no rule may name one."""

STATES = {
    "answer": {"settled", "growing"},
    "absent": {"absent"},
    "not_ai": {"absent"},
    "loading": {"loading"},
    "growing": {"growing"},
    "declined": {"declined"},
    "unsupported": {"unsupported"},
}
NEVER = re.compile(
    r"\s\+\d+\b|AI Overview is not available|generate an AI overview|may include mistakes|Dive deeper in"
)


def known() -> list[dict[str, str]]:
    """The table's lines on AI answers; none where the folder is absent."""
    if not real_pages.FOLDER.is_dir():
        return []
    with (real_pages.FOLDER / "EXPECTED.tsv").open(newline="") as table:
        lines = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [line for line in lines if line["ai_state"] and line["scope"] == "core"]


PAGES = known()


def plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_#`>|-]+", " ", text or "")).strip().casefold()


@pytest.mark.skipif(not PAGES, reason="there are no real pages on this machine")
@pytest.mark.parametrize("expected", PAGES, ids=lambda line: line["file"])
def test_a_real_answer_is_read_right(expected: dict[str, str]) -> None:
    engine = real_pages.NAMES.get(expected["engine"], expected["engine"])
    found = real_pages.read(expected["file"], engine).answer
    assert found is not None
    if expected["file"] in EXCEPTIONS.get(engine, {}):
        return
    assert found.state in STATES[expected["ai_state"]]
    if expected["ai_state"] not in ("answer", "growing"):
        assert found.text is None
        return
    text = plain(found.text)
    assert text.startswith(plain(expected["ai_text_start"])[:40])
    assert text.rstrip(" .").endswith(plain(expected["ai_text_end"])[-25:].rstrip(" ."))
    if expected["ai_chars"]:
        chars, tolerance = float(expected["ai_chars"]), float(expected["ai_chars_tol"] or 15) / 100
        assert abs(len(text) - chars) <= tolerance * chars
    assert not NEVER.search(found.text)
    sources = found.records
    if expected["ai_sources_min"]:
        assert int(expected["ai_sources_min"]) <= len(sources) <= int(expected["ai_sources_max"])
    if sources and expected["ai_first_source_title"]:
        assert sources[0]["title"] == expected["ai_first_source_title"]
    if sources and expected["ai_first_source_url"]:
        assert sources[0]["url"] == expected["ai_first_source_url"]
    assert found.placement == expected["ai_placement"]
    assert found.warnings == ()


def test_exceptions_stay_few_and_real() -> None:
    assert all(len(pages) <= 2 for pages in EXCEPTIONS.values())
    assert not PAGES or {name for pages in EXCEPTIONS.values() for name in pages} <= {line["file"] for line in PAGES}
