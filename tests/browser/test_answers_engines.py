"""The generative answers of Bing and Brave in their forms, and what looks like one and is none."""

import base64

import pytest

import castlenb as cn

from .answer_pages import LONG, MORE, bing, brave, read

CARD = '<div class="ca_top_sec"><div class="copans_ttl"><span>Copilot Answer</span></div>{}</div>'
GENERATED = '<div class="gs_secctrl_item gs_aidisc" role="button"><div class="gs_infobbl">Content was generated with AI.</div></div><div class="gs_secctrl with_ai">Like</div>'


def ck(url: str) -> str:
    return "/ck/a?!&amp;&amp;p=0&amp;u=a1" + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=") + "&amp;ntb=1"


class TestBing:
    def test_of_the_field_notes(self, one_lab: cn.Lab) -> None:
        cards = "".join(
            f'<div class="gs_cit"><a href="{ck(url)}"><div class="gs_cit_title">{title}</div></a>'
            f'<div class="gs_cit_snippet">What {title} says of it.</div><div class="gs_cit_src">{site}</div></div>'
            for url, title, site in (("https://a.example/p?q=ÿ", "A", "A site"), ("https://b.example/", "B", "B site"))
        )
        answer = (
            f'<li class="b_ans b_top b_qnacdxcont"><div class="gs_caphead_main"><p>{LONG}</p><p>{MORE}</p></div>'
            f'<div class="gs_cit_cont">{cards}<div class="cit_exp_cont">View all</div></div></li>'
        )
        found = read(one_lab, bing(first=answer), "bing")
        assert (found["state"], found["label"], found["placement"]) == ("settled", "Bing generative answer", "top")
        assert found["text"] == f"{LONG}\n\n{MORE}"
        assert [(each["n"], each["title"], each["site"], each["link_form"]) for each in found["citations"]] == [
            (1, "A", "A site", "redirect"),
            (2, "B", "B site", "redirect"),
        ]
        assert found["citations"][0]["url"] == "https://a.example/p?q=%C3%BF"
        assert found["citations"][0]["snippet"] == "What A says of it."
        assert found["warnings"] == []

    def test_above_the_list_with_numbered_marks(self, one_lab: cn.Lab) -> None:
        def mark(n: int, title: str) -> str:
            return (
                f'<span class="b_crt_citation_wrapper"><span class="b_crt_citation_badge" tabindex=0 aria-label="{title} - https://s{n}.example/">'
                f'<span class="b_crt_citation_num">{n}</span></span></span>'
            )

        prose = (
            f"<p>{LONG}{mark(1, 'Why - a page')}{mark(2, 'How')}</p><hr><h2><strong>Example</strong></h2>"
            f'<pre><div class="b_crtrm_code_header"><h5>Html</h5><acf-button-standard><button>Copy code</button></acf-button-standard></div><code>&lt;b&gt;</code></pre>'
            f"<ol><li>{MORE}{mark(2, 'How')}</li></ol>"
            '<p><a class="b_crt_regular_link" href="https://s1.example/">1-S1.example</a><a class="b_crt_regular_link" href="https://s2.example/">2-S2.example</a></p>'
        )
        tools = "<div><acf-button-standard><button>Rewrite</button></acf-button-standard><fieldset>Try more</fieldset></div>"
        answer = (
            f'<li class="b_ans"><div id="copans_container"><div id="ca_main">{CARD.format(GENERATED)}<div class="answer_container">'
            f'<div class="b_crtrm"><div class="b_crtrm_skeleton">...</div><div class="b_cnt_resp">{prose}</div></div>{tools}</div></div></div></li>'
        )
        found = read(one_lab, bing(answer), "bing")
        assert found["text"] == f"{LONG}\n\n## Example\n\n```\n<b>\n```\n\n1. {MORE}"
        assert [(each["title"], each["site"], each["url"]) for each in found["citations"]] == [
            ("Why - a page", "S1.example", "https://s1.example/"),
            ("How", "S2.example", "https://s2.example/"),
        ]
        assert [(claim["text"], claim["citations"]) for claim in found["claims"]] == [
            (LONG, [1]),
            (LONG, [2]),
            (MORE, [2]),
        ]

    def test_of_developers(self, one_lab: cn.Lab) -> None:
        sources = "".join(
            f'<a href="{ck(f"https://d{n}.example/")}"><span class="rd_attr_items_idx">{n} - </span><span class="rd_attr_items_src">d{n}.example</span></a>'
            for n in (1, 2)
        )
        tips = "".join(
            f'<a href="{ck(f"https://d{n}.example/")}"><h2 class="rd_gencon_ttat">Doc {n}</h2><h4>https://d{n}.example</h4></a>'
            for n in (1, 2)
        )
        answer = (
            '<li class="b_ans b_top"><div class="developer_answercard_wrapper"><div class="rd_summary_info">This summary was generated using AI.</div>'
            '<div class="rd_sg_ttl rd_gencon_ttle"><h2 class="b_topTitle"><a href="/x">A title</a></h2></div>'
            f'<div class="rd_gencon_attr"><sup class="rd_gencon_ai"><a href="{ck("https://d1.example/")}">1</a></sup></div>'
            f'<div class="rd_single_ttip" style="display:none"><div class="rd_gencon_ttip">{tips}</div></div>'
            f'<div class="devmag_card_content"><p>{LONG}</p><ol><li><p>{MORE}</p></li></ol>'
            f'<div class="rd_cnt_srcs">Learn more: <div class="rd_attr_items">{sources}</div></div></div></div></li>'
        )
        found = read(one_lab, bing(first=answer), "bing")
        assert (found["state"], found["text"]) == ("settled", f"{LONG}\n\n1. {MORE}")
        assert sorted((each["title"], each["url"]) for each in found["citations"]) == [
            ("Doc 1", "https://d1.example/"),
            ("Doc 2", "https://d2.example/"),
        ]

    def test_of_two_answers_the_first(self, one_lab: cn.Lab) -> None:
        above = f'<li class="b_ans"><div id="copans_container">{CARD.format(GENERATED)}<div class="b_cnt_resp"><p>{LONG}</p></div></div></li>'
        listed = f'<li class="b_ans b_top"><div class="gs_caphead_main">{MORE}</div></li>'
        assert read(one_lab, bing(above, listed), "bing")["text"] == LONG

    def test_in_the_side_column(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, bing(side=f'<li class="b_ans"><div class="gs_caphead_main">{LONG}</div></li>'), "bing")
        assert (found["text"], found["placement"]) == (LONG, "side")

    @pytest.mark.parametrize(
        "card",
        [
            f'<li class="b_ans"><div id="copans_container">{CARD.format("")}<div class="b_wpt_container"><p>Horse – encyclopedia</p></div></div></li>',
            '<li class="b_ans"><div id="copans_container"></div></li>',
            '<li class="b_ans b_top"><div class="b_focusTextLarge">42</div></li>',
            '<li class="b_ans"><div id="b_sydConvCont"></div></li>',
            '<li class="b_ans b_top"><div class="developer_answercard_wrapper"><div class="devmag_card_content">A page of help</div></div></li>',
        ],
    )
    def test_cards_that_nobody_generated(self, one_lab: cn.Lab, card: str) -> None:
        """Branded like one, or built like one."""
        found = read(one_lab, bing(card), "bing")
        assert (found["state"], found["text"], found["citations"]) == ("absent", None, [])


class TestBrave:
    ENTITY = '<strong><button type="button" class="qa-inline-entity"><span>Water</span></button></strong>'
    MARK = '<button type="button" class="inline-citation"><svg></svg></button>'

    def answer(self, complete: str = " llm-output-complete", titles: str = "A, B, C, D", more: str = "+2") -> str:
        logos = "<img>" * 2
        return (
            '<div id="llm-snippet" class="snippet standalone"><div class="chatllm-answer-list">'
            f'<div id="chatllm-main-answer-content" class="chatllm-content llm-output{complete}">'
            f"<p>{self.ENTITY}<span> boils.</span>{self.MARK}<span> {MORE}</span>{self.MARK}</p><ul><li><p><strong>At:</strong><span> 100</span></p></li></ul></div>"
            '<cite class="chatllm-disclaimer">AI-generated answer. Please verify critical facts.</cite>'
            '<div id="chatllm-images"><div class="loading"></div></div><div><button>Elaborate</button><a href="/ask?q=x">Why?</a></div>'
            f'<div id="chatllm-actions"><button>Copy</button><div class="sources"><button class="logo-row" title="{titles}">{logos}<div>{more}</div></button></div></div>'
            "</div></div>"
        )

    def test_its_text_and_the_titles_of_its_sources(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, brave(self.answer()), "brave")
        assert found["text"] == f"Water boils. {MORE}\n\n- At: 100"
        assert (found["state"], found["settled_by"], found["label"]) == ("settled", "marker", "Brave AI summary")
        assert (found["placement"], found["language"]) == ("top", "en-us")
        assert [(each["n"], each["title"], each["url"], each["link"]) for each in found["citations"]] == [
            (n, title, None, None) for n, title in enumerate("ABCD", start=1)
        ]
        assert [claim["text"] for claim in found["claims"]] == ["Water boils.", MORE]

    def test_titles_with_commas_are_not_cut_up(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, brave(self.answer(titles="A, or not, B, C, D")), "brave")
        assert [each["title"] for each in found["citations"]] == ["A, or not, B, C, D"]

    def test_same_titles_can_be_two_pages(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, brave(self.answer(titles="A, A", more="")), "brave")
        assert [each["title"] for each in found["citations"]] == ["A", "A"]

    def test_of_older_pages(self, one_lab: cn.Lab) -> None:
        old = f'<div id="llm-snippet"><h1 id="chatllm-title">Water</h1><div class="llm-output"><p>{LONG}<span class="inline-refs">[1]</span></p></div></div>'
        found = read(one_lab, brave(old), "brave")
        assert (found["text"], found["header"]) == (LONG, "Water")

    @pytest.mark.parametrize(
        "offer",
        [
            '<div id="llm-snippet" class="snippet"><button id="submit-llm-button" class="button">Answer with AI</button><a href="/ask?q=x"><div class="title">More</div></a></div>',
            '<div class="snippet"><button id="submit-llm-button">Answer with AI</button></div>',
            '<form><button formaction="/ask?q=x">Answer with AI</button></form>',
        ],
    )
    def test_offered(self, one_lab: cn.Lab, offer: str) -> None:
        found = read(one_lab, brave(offer), "brave")
        assert (found["state"], found["text"]) == ("offered", None)

    def test_the_way_to_another_page_is_no_offer(self, one_lab: cn.Lab) -> None:
        """Since 2026 a button in the search box leads to a page of its own."""
        head = '<header><button id="submit-llm-button" class="ask-button" aria-label="Ask"></button></header>'
        assert read(one_lab, brave(head=head), "brave")["state"] == "absent"


def test_duckduckgo_has_none(one_lab: cn.Lab) -> None:
    html = '<!doctype html><div id="links"><div class="result web-result"><h2><a class="result__a" href="https://a.example/">A</a></h2></div></div>'
    found = read(one_lab, html, "duckduckgo")
    assert (found["state"], found["text"], found["label"], found["citations"]) == ("unsupported", None, None, [])
