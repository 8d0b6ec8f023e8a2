"""Studies, kept pages and verifications as a notebook shows them: what has to be in them, and nothing that runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import castlenb as cn
from castlenb.display import capture_html, run_html, verification_html
from castlenb.study import Run

from .test_display import HOSTILE, HOSTILE_TITLES, NOT_LINKS, Seen, shape, unhurried
from .test_snapshot import KEPT
from .test_study_records import run_line, trial_line, written
from .test_verdicts import seen, verification

VAST = "long " * 200_000 + "x" * 100_000


def study(tmp_path: Path, words: str = "bing") -> Run:
    """A run whose every word that a person or a page can choose is ``words``."""
    lines = [
        run_line(started_at="2026-11-30T22:00:00+00:00", horizon_ms=6000.0, chrome=words, vantage=words),
        trial_line("t1", engine=words, query=words, error_message=words, ai_state="settled", ai_appear_ms=900.0),
        trial_line("t2", engine=words, query=words, outcome="challenge", warmup=True),
        trial_line("t3", engine=words, query="second", outcome="suspected_block"),
    ]
    return Run.load(written(tmp_path / "journal.jsonl", *lines))


def test_a_study_says_what_it_was_how_it_ended_and_what_is_to_be_said_against_it(tmp_path: Path) -> None:
    run = study(tmp_path)
    shown = Seen(run._repr_html_())
    assert shown.text.startswith("a study 3 trials of bing 2 queries; 1 trial is a warm-up run r1 measured 2026-11-30")
    assert "22:00 UTC, and was cut off" in shown.text
    assert "each page watched 6 s" in shown.text
    assert "bing results 1, suspected block 1 settled 1" in shown.text
    for cell in run.latency_table().iloc[0][["results parseable, ms", "AI answer appears, ms"]]:
        assert cell in shown.text
    assert all(objection in shown.text for objection in run.check())
    assert repr(run) == "Run(3 trials of bing)"


def test_what_differs_from_run_to_run_can_be_left_out_of_a_comparison(tmp_path: Path) -> None:
    varying = re.findall(r'<span class="castlenb-ms">([^<]*)</span>', study(tmp_path)._repr_html_())
    assert varying == ["r1", "2026-11-30 22:00 UTC, and was cut off"]


def test_a_study_of_nothing_is_still_one(tmp_path: Path) -> None:
    nothing = Run.load(written(tmp_path / "journal.jsonl", run_line()))
    assert Seen(nothing._repr_html_()).text.startswith("a study no trials of no engine no queries run r1")
    assert repr(nothing) == "Run(no trials)"


def test_a_kept_page_says_what_it_holds_and_what_was_taken_out() -> None:
    shown = Seen(KEPT._repr_html_())
    assert shown.text.startswith("Google, a kept page tea pots 10 results address google.com taken at 2026-08-04 11:30")
    assert "holds 73 characters of HTML without scripts, 3 changes of the AI answer, what each hook found" in shown.text
    assert shown.text.endswith("Taken out, in 1 place: token what where how often token id 3")
    assert [link["href"] for link in shown.links] == [KEPT.url]
    assert "Nothing was taken out of it." in Seen(replace(KEPT, redacted=())._repr_html_()).text


def test_a_strangers_kept_page_can_hold_anything() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    odd = replace(
        KEPT, found=dict.fromkeys(KEPT.found, deep), redacted=({"what": deep, "count": deep}, {}), query="\ud800"
    )
    assert repr(odd) == "Capture(google, '\ufffd')"
    assert "a kept page \ufffd address" in Seen(odd._repr_html_()).text
    many = replace(KEPT, redacted=({"what": "token", "where": "id", "count": 1},) * 1000)
    assert "and 960 more places" in Seen(many._repr_html_()).text


def checked(words: str = "x", url: Any = "https://www.google.com/search?q=x", **more: Any) -> dict[str, Any]:
    row = dict.fromkeys(("part", "hook", "expected", "placement", "why", "sample"), words)
    checks = [{**row, "found": 0, "verdict": "missing"}, {**row, "found": None, "verdict": "ok"}]
    page = {"title": words, "at": "2026-12-01", "url": url, "checks": checks, "picture": None}
    return {"lines": [{"text": words, "holds": False}], "repairs": [{"line": words}], "pages": [page], **more}


def test_a_verification_shows_what_has_drifted_first() -> None:
    data = checked()
    data["pages"][0]["checks"].reverse()
    shown = Seen(verification_html(data))
    assert shown.text.startswith("Selectors checked 1 page x What to use instead x x 2026-12-01 2 checks, 1 not ok")
    assert shown.text.index("missing x x 0 (x) x x x") < shown.text.index("1 hook as expected")
    assert shown.text.endswith("x x ? (x) x x")


def test_a_verification_marks_the_lines_that_ask_for_something() -> None:
    blocked = verification(seen("2026-10", page_state="challenge"))
    assert "castlenb-failure" in blocked._repr_html_().partition("</style>")[2]
    good = verification(seen("2026-10"))
    assert "castlenb-failure" not in good._repr_html_().partition("</style>")[2]
    assert repr(cn.Verification((), {})) == "no page was checked"
    failed = cn.Verification((), {"google": cn.CaptureError("a\nb\x1b[31m")})
    assert repr(failed) == "google: not checked: a b[31m"


def captured(words: str, url: Any) -> str:
    taken = {"what": words, "where": words, "count": 1}
    facts = [("Chrome", words + "x")]
    data = {"engine_label": words, "query": words, "url": url, "captured_at": KEPT.captured_at, "results": 1}
    return capture_html({**data, "facts": facts, "redacted": [taken]})


def studied(words: str, _url: Any = None) -> str:
    numbers = {"trials": 1, "warmups": 1, "queries": 1}
    told = {"engines": [words], "outcomes": [{"engine": words, "pages": words, "answers": words}]}
    facts = {"facts": [("run", words), ("from", words)], "varying": ["run"]}
    latency = {"latency_columns": ["", words], "latency": [[words, words]], "objections": [words]}
    return run_html({**numbers, **told, **facts, **latency})


def verified(words: str, url: Any) -> str:
    return verification_html(checked(words, url))


EACH = pytest.mark.parametrize("drawn", [captured, studied, verified])
Drawn = Callable[[str, Any], str]


@EACH
@pytest.mark.parametrize("words", HOSTILE_TITLES)
def test_hostile_words_are_only_words(drawn: Drawn, words: str) -> None:
    assert shape(drawn(words, None)) == shape(drawn("x", None))
    assert Seen(drawn(words, None)).text.count(words) >= 3


@EACH
@pytest.mark.parametrize("url", NOT_LINKS)
def test_only_web_addresses_become_links(drawn: Drawn, url: Any) -> None:
    assert Seen(drawn("x", url)).links == []


@EACH
@unhurried
@given(words=HOSTILE)
def test_no_words_change_the_mark_up(drawn: Drawn, words: str) -> None:
    html = drawn(words + " from $200 to $700, \\(x\\)", "https://example.org/" + words)
    html.encode("utf-8")
    shown = Seen(html)
    assert shown.comments == []
    assert {tag for tag, _ in shown.tags}.isdisjoint({"img", "script", "iframe", "object", "svg"})
    assert {name for _, attributes in shown.tags for name in attributes} <= {
        *("class", "dir", "href", "open", "rel", "scope", "target", "title")
    }
    for run in re.split(r"<[^>]*>", html.partition("</style>")[2]):
        assert run in ("$", "\\") or not re.search(r"[$\\]", run), "MathJax would pair it"
    assert all(link["rel"] == "noopener noreferrer" for link in shown.links)


@EACH
def test_a_megabyte_of_text_stays_a_page(drawn: Drawn) -> None:
    assert len(drawn(VAST, "https://example.org/" + VAST)) < 30_000


def test_a_run_and_a_kept_page_of_a_megabyte_stay_readable(tmp_path: Path) -> None:
    run = study(tmp_path, VAST)
    assert len(run._repr_html_()) < 60_000
    assert len(repr(run)) < 200
    vast: Mapping[str, Any] = {"page_state": VAST, "answer_state": VAST, "settled_by": VAST, "challenge_kind": VAST}
    kept = replace(KEPT, query=VAST, chrome=VAST, found=vast, redacted=({"what": VAST, "where": VAST, "count": 1},))
    assert len(kept._repr_html_()) < 20_000
    assert len(repr(kept)) < 200
