"""Faults that were reported of other readers of AI answers, each with a small input and the right value.

The inputs are made up from the symptom; the report is named beside the test.
"""

import pytest

import castlenb as cn

from . import google_pages
from .answer_pages import LONG, UNABLE, UNAVAILABLE, bing, opened, overview, para, read, results
from .google_pages import page, row
from .replays import replayed


def test_an_answer_inside_people_also_ask_is_not_the_pages_own(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#2496, zbarnz/Google_AI_Overviews_Blocker#60, insin/ai-overview-hider-for-google#4."""
    inside = (
        '<div jsname="txosbe"><div role="heading">AI Overview</div></div><div data-subtree="mfc"><div id="m-x-content">'
        f'<div data-subtree="aimc"><div data-container-id="main-col">{LONG}</div></div></div></div>'
    )
    folded = f'<div class="related-question-pair" data-q="why"><div style="display:none">{inside}</div></div>'
    opened_one = folded.replace("display:none", "")
    for pair in (folded, opened_one):
        with opened(one_lab, page(pair + row("https://b.example/", "Y"))) as evaluate:
            assert evaluate("[answers.probe().state, answers.answer().state, answers.answer().text]") == [
                "absent",
                "absent",
                None,
            ]
    found = read(one_lab, results(overview("The page's own.")).replace('<div id="rso">', f'<div id="rso">{folded}'))
    assert found["text"] == "The page's own."


def test_links_inside_people_also_ask_are_no_results(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#2534."""
    html = (
        '<div id="rso"><div class="related-question-pair"><div style="display:none"><a href="https://a.example"><h3>X</h3></a>'
        '</div></div><a href="https://b.example"><h3>Y</h3></a></div>'
    )
    assert google_pages.urls(google_pages.read(one_lab, html)) == ["https://b.example/"]


def test_in_the_middle_of_the_results(one_lab: cn.Lab) -> None:
    """zbarnz/Google_AI_Overviews_Blocker#25."""
    answer = (
        '<div id="eKIzJc"><h2>AI Overview</h2><div id="m-x-content"><div data-container-id="main-col">'
        '<p>Boils early.</p><a href="https://in.example"><h3>Inside</h3></a></div></div></div>'
    )
    html = f'<div id="rso"><a href="https://b.example"><h3>Y</h3></a>{answer}</div>'
    found = read(one_lab, html)
    assert (found["state"], found["placement"]) == ("settled", "inline")
    assert google_pages.urls(google_pages.read(one_lab, html)) == ["https://b.example/"]


@pytest.mark.parametrize("words", ["Visión general creada por IA", "Vista creada con IA", "AI 摘要", "Aperçu IA"])
def test_a_heading_in_another_wording(one_lab: cn.Lab, words: str) -> None:
    """zbarnz/Google_AI_Overviews_Blocker#8, #18, #43."""
    html = f'<div id="eKIzJc"><h1>{words}</h1><div id="m-x-content"><div data-container-id="main-col">Hola.</div></div></div>'
    found = read(one_lab, html)
    assert (found["state"], found["text"], found["header"]) == ("settled", "Hola.", words)


def test_strings_that_are_kept_ready_are_no_answer(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#2577: counted as an answer, or put before it."""
    html = (
        f'<div id="eKIzJc"><div id="m-x-content"><span style="display:none">{UNABLE}</span><div aria-hidden="true">AI Overview</div>'
        '<div data-container-id="main-col">Sky is blue.</div></div></div>'
    )
    found = read(one_lab, html)
    assert (found["state"], found["text"]) == ("settled", "Sky is blue.")
    declined = (
        f'<div id="eKIzJc"><div jsname="txosbe"><span jsname="lGsj1"><span>{UNAVAILABLE}</span></span></div></div>'
    )
    found = read(one_lab, declined)
    assert (found["state"], found["text"]) == ("declined", None)


def test_the_mark_of_a_source_is_no_prose_and_is_not_lost(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#3888: "…each day MDN Web Docs +2."""
    mark = '<span><button aria-label="Docs (+2) – View related links" data-icl-uuid="u1"><span>Docs</span><span>+2</span></button></span>'
    found = read(one_lab, results(overview(f"<p>Use fetch(){mark}.</p>")))
    assert found["text"] == "Use fetch()."
    assert found["claims"] == [
        {"text": "Use fetch()", "id": "u1", "publisher": "Docs", "extra": 2, "citations": []},
    ]


def test_a_reference_with_an_encrypted_link(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#3107 and #3779: dropped, or google.com given as the source."""
    card = '<div data-src-id="3"><a aria-label="Title. Opens in new tab." href="/goto?url=CAESz"></a><span>Site</span></div>'
    other = card.replace("Title", "Other").replace("CAESz", "CAESy")
    found = read(one_lab, results(overview(para(LONG), card + other)))["citations"]
    assert [(each["title"], each["url"], each["link"], each["link_form"], each["site"]) for each in found] == [
        ("Title", None, "https://www.google.com/goto?url=CAESz", "encrypted", "Site"),
        ("Other", None, "https://www.google.com/goto?url=CAESy", "encrypted", "Site"),
    ]


def test_a_page_that_is_cited_twice_is_one_source(one_lab: cn.Lab) -> None:
    """serpapi/public-roadmap#3827: text fragments made two of it; an ordinary anchor is part of the address."""
    cards = "".join(
        f'<div data-src-id="1"><a href="{url}" aria-label="T"></a><span>T</span></div>'
        for url in ("https://a.example/p#:~:text=Foo,bar", "https://a.example/p", "https://a.example/p#part")
    )
    found = read(one_lab, results(overview(para(LONG), cards)))["citations"]
    assert [(each["url"], each["fragment"]) for each in found] == [
        ("https://a.example/p", "Foo,bar"),
        ("https://a.example/p#part", None),
    ]


def test_words_that_are_shown_while_it_loads_are_no_answer(one_lab: cn.Lab) -> None:
    """zbarnz/Google_AI_Overviews_Blocker#51."""
    words = '<div jsname="cUzNTd" role="heading"><span>Thinking</span><span>Searching</span></div><div role="progressbar"></div>'
    found = read(one_lab, f'<div id="eKIzJc"><div id="m-x-content">{words}</div></div>')
    assert (found["state"], found["text"]) == ("loading", None)


def test_a_card_with_the_brand_of_an_answer(one_lab: cn.Lab) -> None:
    """Stevoisiak/Stevos-AI-Blocklist#75."""
    card = '<div id="copans_container"><div class="ca_top_sec">Copilot Answer</div><p>Horse — encyclopedia…</p></div>'
    assert read(one_lab, bing(f"<li class=b_ans>{card}</li>"), "bing")["state"] == "absent"
    generated = card.replace("Copilot Answer", 'Copilot Answer<div class="with_ai"></div>').replace(
        "<p>", '<p class="b_cnt_resp">'
    )
    found = read(one_lab, bing(f"<li class=b_ans>{generated}</li>"), "bing")
    assert (found["state"], found["text"]) == ("settled", "Horse — encyclopedia…")


def test_blocks_of_the_list_that_are_no_answers(one_lab: cn.Lab) -> None:
    """laylavish/uBlockOrigin-HUGE-AI-Blocklist#29."""
    blocks = "".join(
        f'<li class="b_ans b_top"><h2>{name}</h2><p>{LONG}</p></li>' for name in ("People also ask", "Videos", "Places")
    )
    html = bing(first=blocks)
    assert read(one_lab, html, "bing")["state"] == "absent"
    with replayed(one_lab, html, engine="bing") as replay:
        assert len(replay.read()) == 3
