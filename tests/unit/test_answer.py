"""The record of an AI answer, and what the engines say of theirs."""

import dataclasses
from typing import Any, get_args

import pandas as pd
import pytest

from castlenb.answer import COLUMNS, GROWTH_COLUMNS, AIAnswer, answer_from, changes_from, citation_ranks
from castlenb.engines import ENGINES
from castlenb.engines.base import Part

PROSE = "Water boils.\n\n## Where\n\n- Sea: 100\n  - deep: more\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"


def said(**other: Any) -> dict[str, Any]:
    """What the page's script says of an answer."""
    citation = {
        "n": 1,
        "title": "On boiling",
        "url": "https://a.example/p",
        "link": "https://www.google.com/url?q=https://a.example/p",
        "link_form": "redirect",
        "fragment": None,
        "site": "Kettles",
        "snippet": "When hot.",
    }
    hidden = citation | {
        "n": 2,
        "title": "Hidden",
        "url": None,
        "link_form": "encrypted",
        "link": "https://www.google.com/goto?url=C",
    }
    return {
        "state": "settled",
        "settled_by": "marker",
        "label": "Google AI Overview",
        "header": "AI Overview",
        "text": PROSE,
        "language": "en",
        "placement": "top",
        "citations": [citation, hidden],
        "claims": [{"text": "Water boils.", "id": "u", "publisher": "Kettles", "extra": 2, "citations": [1]}],
        "markers": {"stream_end": True},
        "warnings": [],
        "wrapper": {"#eKIzJc": True},
        "body": "main",
        "chars": 12,
        "signature": 7,
        **other,
    }


def nothing(state: str) -> dict[str, Any]:
    return said(state=state, settled_by=None, text=None, language=None, placement=None, citations=[], claims=[])


def test_the_record() -> None:
    answer = answer_from(said(), "google", timings={"ai_settle_ms": 2300.0})
    assert (answer.engine, answer.label, answer.state, answer.settled_by) == (
        "google",
        "Google AI Overview",
        "settled",
        "marker",
    )
    assert (answer.text, answer.language, answer.placement, answer.header) == (PROSE, "en", "top", "AI Overview")
    assert answer.claims[0]["citations"] == [1]
    assert answer.markers == {"stream_end": True}
    assert answer.timings == {"ai_settle_ms": 2300.0}
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.text = ""  # type: ignore[misc]


def test_citations_are_a_table_with_the_same_columns_even_when_there_are_none() -> None:
    table = answer_from(said(), "google").citations
    empty = answer_from(nothing("absent"), "google").citations
    assert list(table.columns) == list(empty.columns) == list(COLUMNS)
    assert dict(table.dtypes.astype(str)) == dict(empty.dtypes.astype(str))
    assert str(table.dtypes["n"]) == "Int64"
    assert {str(table.dtypes[name]) for name in COLUMNS[1:]} <= {"string", "str"}
    assert table["n"].tolist() == [1, 2]
    assert table["url"].isna().tolist() == [False, True]
    assert len(empty) == 0


def test_growth_is_a_table_with_the_same_columns_even_when_nobody_watched() -> None:
    watched = {"changes": [[1500.04, "shell", 0, 0], [1752, "growing", 142, 4_294_967_295], [2300, "settled", 903, 7]]}
    table = answer_from(said(), "google", changes=changes_from(watched, 100.5)).growth
    empty = answer_from(said(), "google").growth
    assert list(table.columns) == list(empty.columns) == list(GROWTH_COLUMNS)
    assert [str(kind) for kind in table.dtypes] == [str(kind) for kind in empty.dtypes]
    assert [str(kind) for kind in empty.dtypes] == ["Float64", "Int64", "string", "Int64"]
    assert table["t_ms"].tolist() == [1600.5, 1852.5, 2400.5]
    assert table["chars"].tolist() == [0, 142, 903]
    assert table["kind"].tolist() == ["shell", "growing", "settled"]
    assert table["signature"].tolist() == [0, 4_294_967_295, 7]
    assert len(empty) == 0


def test_what_watching_showed_goes_before_one_look() -> None:
    cut = answer_from(said(), "google", state="growing")
    assert (cut.state, cut.settled_by) == ("growing", None)
    quiet = answer_from(said(state="growing", settled_by=None), "google", state="settled", settled_by="quiet")
    assert (quiet.state, quiet.settled_by) == ("settled", "quiet")


def test_an_engine_without_one_has_a_label_too() -> None:
    answer = answer_from(nothing("unsupported") | {"label": None}, "duckduckgo")
    assert repr(answer) == "DuckDuckGo AI answer (this engine has none)"


def test_its_text_opens_with_the_label_and_says_that_it_is_no_source() -> None:
    shown = repr(answer_from(said(warnings=["hooks disagree"]), "google"))
    assert shown == (
        "Google AI Overview (generated text, not a source, 2 sources)\n\n"
        f"{PROSE}\n\n"
        "[1] On boiling – Kettles\n    https://a.example/p\n"
        "[2] Hidden – Kettles\n\n"
        "Note: hooks disagree"
    )
    cut = repr(answer_from(said(), "google", state="growing"))
    assert cut.startswith("Google AI Overview (generated text, not a source, cut short: ")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("absent", "none on this page"),
        ("declined", "the page says that none is available"),
        ("offered", "offered on a click, and castlenb does not click"),
        ("shell", "its place on the page holds something else"),
        ("loading", "still loading when the wait ended"),
    ],
)
def test_without_text_it_says_why_and_is_not_called_generated(state: str, words: str) -> None:
    answer = answer_from(nothing(state), "google")
    assert repr(answer) == f"Google AI Overview ({words})"
    assert words in answer._repr_html_()
    assert "generated text" not in answer._repr_html_()


def test_its_mark_up() -> None:
    html = answer_from(said(text="## Where\n\n<b>Sea</b> & $x$"), "google")._repr_html_()
    assert html.index("Google AI Overview") < html.index("generated text, not a source") < html.index("Where")
    assert "<b>Where</b>" in html
    assert "&lt;b&gt;Sea&lt;/b&gt; &amp; " in html
    assert 'href="https://a.example/p"' in html
    assert "<script" not in html


def test_a_strangers_words_steer_nothing() -> None:
    answer = answer_from(said(text="a\x1b[31mb\u202ec\n\n" + "long " * 9_000), "google")
    assert "\x1b" not in repr(answer)
    assert "\u202e" not in repr(answer)
    assert len(repr(answer)) < 25_000


def test_equal_answers_are_equal() -> None:
    assert answer_from(said(), "google") == answer_from(said(), "google")
    assert isinstance(answer_from(said(), "google"), AIAnswer)


@pytest.mark.parametrize("name", list(ENGINES))
def test_an_engine_with_an_answer_says_where_it_is(name: str) -> None:
    engine = ENGINES[name]
    parts = {part for part in get_args(Part) if part.startswith("answer_") and engine.css(part)}
    if engine.answer is None:
        assert not parts
        assert engine.spec()["answer"] is None
        return
    assert {"answer_wrapper", "answer_body", "answer_skip", "answer_marker"} <= parts
    assert engine.label in engine.answer.label
    spec = engine.spec()["answer"]
    names = [marker["name"] for marker in spec["markers"]]
    assert all(names)
    assert len(set(names)) == len(names)
    assert spec["trusted"]
    assert all(hook.name == "" for hook in engine.hooks if hook.part != "answer_marker")


def test_a_citation_that_is_no_result_has_no_rank() -> None:
    results = [
        {"rank": 1, "url": "https://www.a.example/x/", "site": "a.example"},
        {"rank": 2, "url": None, "site": "b.example"},
        {"rank": 3, "url": "http://a.example/y", "site": "a.example"},
    ]
    citations = [
        {"n": 1, "title": "A", "url": "https://a.example/y#part", "site": "The A"},
        {"n": 2, "title": "B", "url": "https://b.example/", "site": "b.example"},
        {"n": 3, "title": "C", "url": None, "site": None},
    ]
    ranks = citation_ranks(citations, results)
    assert [None if row is pd.NA else int(row) for row in ranks["page_rank"]] == [3, None, None]
    assert [None if row is pd.NA else int(row) for row in ranks["site_rank"]] == [1, 2, None]
