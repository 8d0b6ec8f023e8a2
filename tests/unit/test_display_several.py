"""Comparisons, several searches and a Browser as mark-up: what they say, and that no stranger's words can bend it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

import castlenb as cn
from castlenb.display import comparison_html, facts_html, searches_html
from castlenb.target import resolve_target

from .test_display import HOSTILE, HOSTILE_TITLES, NOT_LINKS, Seen, hit, page, shape, unhurried
from .test_display_tables import comparison, failure, target

HUMAN = "https://www.google.com/search?q=tea"


def searched(**changes: Any) -> dict[str, Any]:
    return {"pages": [page(), page(query="second", warnings=["careful"])], "failures": [], **changes}


def test_a_comparison_shows_who_lists_what_how_far_they_agree_and_who_failed() -> None:
    seen = Seen(comparison_html(comparison(warnings=["google: careful"], failures=[failure("brave: no", HUMAN)])))
    assert seen.text.startswith("google, bing, brave tea 2 targets brave: no Open it Note: google: careful")
    assert "google bing result 1 1 About a.example/x a.example 10 About" in seen.text
    assert "Targets that two engines share shared of jaccard rank correlation google, bing 1 10 0.10 -" in seen.text
    assert [link["href"] for link in seen.links][:2] == [HUMAN, "https://www.a.example/x"]


def test_a_long_comparison_can_be_opened_and_nothing_of_it_is_lost() -> None:
    rows = [target(f"a.example/{n}", google=n, bing=None) for n in range(40)]
    html = comparison_html(comparison(targets=rows))
    assert "28 more targets" in Seen(html).text
    assert len(Seen(html).links) == 40


def test_a_comparison_of_nothing_is_still_one() -> None:
    nothing = comparison(counts={}, targets=[], agreement=[], failures=[failure("no")])
    assert Seen(comparison_html(nothing)).text == "google, bing, brave tea no targets no"


def test_several_searches_stand_one_under_the_other_and_failures_above_them() -> None:
    seen = Seen(searches_html(searched(failures=[failure("brave, 'x': nobody answers")])))
    assert seen.text.startswith("3 searches, 1 failed brave, 'x': nobody answers Google pour over ratio 2 results")
    assert "second 2 results Note: careful 1" not in seen.text, "numbers are drawn, not written"
    assert [tag for tag, _ in seen.tags].count("details") == 2
    alone = Seen(searches_html(searched(pages=[page()])))
    assert alone.text.startswith("1 search Google")
    assert ("open" in attributes for tag, attributes in alone.tags if tag == "details")


def everything(words: str, url: Any) -> str:
    row = hit(1, title=words, snippet=words, site=words, url=url, link=url, date=words)
    counts = {words: 1, "bing": 1}
    pair = {"engine_a": words, "engine_b": "bing", "shared": 1, "either": 1, "jaccard": 1.0, "rank_correlation": None}
    return (
        comparison_html(
            comparison(
                query=words,
                engines=(words,),
                counts=counts,
                targets=[{"target": words, "title": words, "url": url, "ranks": counts}],
                agreement=[pair],
                warnings=[words],
                failures=[failure(words, url)],
            )
        )
        + searches_html(
            searched(
                pages=[page(engine_label=words, query=words, results=[row], warnings=[words])],
                failures=[failure(words, url)],
            )
        )
        + facts_html([(words, words)])
    )


@pytest.mark.parametrize("words", HOSTILE_TITLES)
def test_hostile_words_are_only_words(words: str) -> None:
    assert shape(everything(words, "https://example.org/")) == shape(everything("x", "https://example.org/"))
    assert Seen(everything(words, None)).text.count(words) >= 14


@pytest.mark.parametrize("url", NOT_LINKS)
def test_only_web_addresses_become_links(url: Any) -> None:
    assert Seen(everything("x", url)).links == []


@unhurried
@given(HOSTILE)
def test_no_words_change_the_mark_up(words: str) -> None:
    html = everything(words, "https://example.org/" + words)
    html.encode("utf-8")
    seen = Seen(html)
    assert seen.comments == []
    assert not {name for _, attributes in seen.tags for name in attributes} - {
        *("class", "dir", "href", "open", "rel", "scope", "target", "title", "value")
    }
    for part in html.split("</style>")[1:]:
        for run in re.split(r"<[^>]*>", part.partition("<style>")[0]):
            assert run in ("$", "\\") or not re.search(r"[$\\]", run), "MathJax could pair it with another"
    assert all(str(link["href"]).startswith("https://example.org/") for link in seen.links)


def test_a_megabyte_of_text_stays_a_page() -> None:
    assert len(everything("x" * 1_000_000, "https://example.org/")) < 60_000


def test_a_browser_says_which_chrome_and_who_decided_it_and_no_secret() -> None:
    browser = cn.Browser(resolve_target("wss://host.example/devtools?token=sesame", environ={}))
    assert Seen(browser._repr_html_()).text == (
        "Chrome wss://host.example/devtools?token=… decided by the target argument "
        "state not connected; connects when used visits at a time 2"
    )
    assert "sesame" not in browser._repr_html_() + repr(browser)
    browser.close()
    assert "state closed" in Seen(browser._repr_html_()).text
