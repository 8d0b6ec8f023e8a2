"""What people reported about Bing and DuckDuckGo, each with a small made-up page and the right value.

The pages go through ``replay`` and the reader that a live search uses.
"""

import pytest

import castlenb as cn

from .engine_pages import Read, algo, bing, click, coded, duck, reader, state, urls, web


@pytest.fixture
def read(one_lab: cn.Lab) -> Read:
    return reader(one_lab)


class TestBingLinks:
    def test_base64_is_url_safe(self, read: Read) -> None:
        """Cimbali/CleanLinks#148, jiang-taibai/faster-bing#2, AirBashX/UserScript#25: plain base64 breaks."""
        page = read("bing", bing(algo(click("a1aHR0cHM6Ly9leGFtcGxlLm9yZy9wYXRoPj4-P3E9w78"))))
        assert urls(page) == ["https://example.org/path%3E%3E%3E?q=%C3%BF"]  # as an address writes >>> and ÿ
        assert page.records[0]["link_form"] == "redirect"

    def test_padding_is_optional(self, read: Read) -> None:
        """tasos-py/Search-Engines-Scraper#80: padding was computed as ``len % 4``."""
        page = read("bing", bing(algo(click("a1aHR0cHM6Ly9leGFtcGxlLm9yZy9hP3g9MSZ5PTI"))))
        assert urls(page) == ["https://example.org/a?x=1&y=2"]
        padded = [coded("https://example.org/" + "a" * n) for n in range(4)]
        padded = [each + "=" * (-len(each[2:]) % 4) for each in padded]
        rows = [algo(click(each), f"T{n}") for n, each in enumerate(padded)]
        assert urls(read("bing", bing(*rows))) == ["https://example.org/" + "a" * n for n in range(4)]

    @pytest.mark.parametrize("u", ["a1%%%", "a1aHR0cHM6Ly-_wA", "b7aHR0cHM6Ly9leGFtcGxlLm9yZy8"])
    def test_what_can_not_be_decoded_is_kept_as_it_was_served(self, read: Read, u: str) -> None:
        """tasos-py/Search-Engines-Scraper#80: the exception path lost the link, the fallback was an elided address."""
        row = algo(click(u), inside="<cite>https://shop.example › widgets › …</cite>")
        [record] = read("bing", bing(row)).records
        assert (record["url"], record["link_form"], record["site"]) == (None, "redirect", "shop.example")
        assert record["link"] == click(u).replace("&amp;", "&")

    def test_unwrapping_is_per_link(self, read: Read) -> None:
        """searx/searx#3482, serpapi/public-roadmap#247: some paths still returned the redirect."""
        page = read(
            "bing",
            bing(algo(click(coded("https://a.example/"))), algo("https://b.example/?u=a1aHR0cDovL3guZXhhbXBsZS8")),
        )
        assert urls(page) == ["https://a.example/", "https://b.example/?u=a1aHR0cDovL3guZXhhbXBsZS8"]
        assert [record["link_form"] for record in page.records] == ["redirect", "direct"]

    def test_links_of_a_further_page_are_unwrapped_too(self, read: Read) -> None:
        """searx/searx#3482, serpapi/public-roadmap#247: it was the paged results that kept the redirect."""
        rows = [algo("https://b.example/"), algo(click(coded("https://a.example/?p=2")), "Second")]
        page = read("bing", bing(*rows), url="https://www.bing.com/search?q=q&first=11&FORM=PERE")
        assert urls(page) == ["https://b.example/", "https://a.example/?p=2"]
        assert [record["link_form"] for record in page.records] == ["direct", "redirect"]

    def test_relative_targets_and_scripts_are_no_results(self, read: Read) -> None:
        """Seen on pages of 2023 to 2026 (searxng/searxng#1764): a third of the targets are Bing's own."""
        nowhere = [
            "a1L3ZpZGVvcy9zZWFyY2g_cT1jYXRz",
            "a1amF2YXNjcmlwdDp2b2lkKDAp",
            coded("/videos/riverview/x?q=1"),
            coded("about:blank"),
        ]
        page = read("bing", bing(*(algo(click(u)) for u in nowhere), algo(click(coded("https://a.example/")), "Kept")))
        assert urls(page) == ["https://a.example/"]

    def test_its_own_pages_can_be_results(self, read: Read) -> None:
        rows = [
            algo(click(coded("https://www.bing.com/maps")), "Maps"),
            algo("https://www.bing.com/search?q=more", "More"),
        ]
        assert urls(read("bing", bing(*rows))) == ["https://www.bing.com/maps"]

    def test_links_that_a_blocker_has_decoded(self, read: Read) -> None:
        """uBlock Origin's privacy list rewrites /ck/a in the page (2026-09): what is left is direct."""
        page = read("bing", bing(algo("https://www.example.com/picks")))
        assert (urls(page), page.records[0]["link_form"]) == (["https://www.example.com/picks"], "direct")

    def test_a_parameter_that_only_ends_in_its_name(self, read: Read) -> None:
        row = algo("https://www.bing.com/ck/a?!&amp;&amp;p=x&amp;featru=a1zzzz&amp;ntb=1")
        assert state(read("bing", bing(row))) == ("unparseable", None, 0)


class TestBingRows:
    def test_answers_swallow_nothing(self, read: Read) -> None:
        """laylavish/uBlockOrigin-HUGE-AI-Blocklist#29: a rule on ``li.b_ans`` took the results along."""
        answer = '<li class="b_ans"><h2><a href="https://x{n}.example/">Also asked</a></h2><p>Words.</p></li>'
        rows = [algo(f"https://a{n}.example/", f"T{n}") for n in range(8)]
        page = read("bing", bing(answer.format(n=1), *rows[:4], answer.format(n=2), *rows[4:], answer.format(n=3)))
        assert urls(page) == [f"https://a{n}.example/" for n in range(8)]
        assert page.answer is not None
        assert page.answer.state == "absent"

    def test_a_card_branded_as_an_answer_is_no_result(self, read: Read) -> None:
        """Stevoisiak/Stevos-AI-Blocklist#75."""
        card = (
            '<ol id="b_topw"><li class="b_ans"><div id="copans_container"><div class="ca_top_sec">Copilot Answer</div>'
            '<div class="b_wpt_bl"><h2><a href="https://en.wiki.example/Horse">Horse</a></h2></div></div></li></ol>'
        )
        assert urls(read("bing", card + bing(algo("https://a.example/")))) == ["https://a.example/"]

    def test_the_reported_card_itself(self, read: Read) -> None:
        """Stevoisiak/Stevos-AI-Blocklist#75: taken for an AI answer."""
        card = (
            '<div id="copans_container"><div class="ca_top_sec">Copilot Answer</div><p>Horse — encyclopedia…</p></div>'
        )
        page = read("bing", card + bing(algo("https://a.example/")))
        assert urls(page) == ["https://a.example/"]
        assert page.answer is not None
        assert (page.answer.state, page.answer.text) == ("absent", None)

    def test_ads_are_dropped_in_every_place(self, read: Read) -> None:
        """EasyList targets the third kind: an ad in an ordinary row's mark-up (2026-09)."""
        ads = [
            '<li class="b_ad b_adTop"><ul><li class=""><h2><a href="https://shop.example/">Buy</a></h2></li></ul></li>',
            algo("https://www.bing.com/aclk?ld=e8&amp;u=aHR0cHM6Ly9zaG9wLmV4YW1wbGUv&amp;rlid=1", "Buy more"),
            (
                '<li class="b_algo"><h2><span class="b_ads1line">Ad</span><a href="https://ads.example/inline">'
                "Inline</a></h2></li>"
            ),
        ]
        assert urls(read("bing", bing(*ads, algo("https://a.example/")))) == ["https://a.example/"]

    def test_the_link_wraps_the_heading_or_the_heading_the_link(self, read: Read) -> None:
        row = (
            '<li class="b_algo"><div class="b_algoheader"><a href="https://a.example/"><h2>Title</h2></a></div>'
            '<p class="b_lineclamp3">W.</p></li>'
        )
        page = read("bing", bing(row, algo("https://b.example/")))
        assert urls(page) == ["https://a.example/", "https://b.example/"]
        assert page.records[0]["title"] == "Title"

    def test_labels_are_neither_title_nor_snippet(self, read: Read) -> None:
        """searxng/searxng takes ``.algoSlug_icon`` out by hand; the title's "PDF" stands beside its link."""
        row = (
            '<li class="b_algo"><h2><span class="sb_doct_txt">PDF</span><a href="https://a.example/b.pdf">'
            'Paper</a></h2><div class="b_caption">'
            '<p><span class="algoSlug_icon">Web</span><span class="news_dt">Jan 30, 2026</span>'
            "&nbsp;· Words.</p></div></li>"
        )
        [record] = read("bing", bing(row)).records
        assert (record["title"], record["snippet"], record["date"]) == ("Paper", "Words.", "Jan 30, 2026")

    def test_links_under_a_title_are_no_rows(self, read: Read) -> None:
        deep = (
            '<ul class="b_vList"><li><h3><a href="https://a.example/about">About</a></h3></li>'
            '<li class="b_algo"><h2><a href="https://a.example/x">X</a></h2></li></ul>'
        )
        assert urls(read("bing", bing(algo("https://a.example/", inside=deep)))) == ["https://a.example/"]

    def test_text_fragments_are_no_part_of_an_address(self, read: Read) -> None:
        """serpapi/public-roadmap#3827."""
        [record] = read("bing", bing(algo(click(coded("https://a.example/p#sec:~:text=Foo,bar"))))).records
        assert (record["url"], record["fragment"]) == ("https://a.example/p#sec", "Foo,bar")

    def test_a_page_listed_twice_for_its_text_fragment_is_one_result(self, read: Read) -> None:
        """serpapi/public-roadmap#3827."""
        page = read("bing", bing(algo("https://a.example/p#:~:text=Foo,bar"), algo("https://a.example/p")))
        assert [(record["url"], record["fragment"]) for record in page.records] == [("https://a.example/p", "Foo,bar")]


class TestBingRefusals:
    def test_a_widget_in_place_of_the_list(self, read: Read) -> None:
        """Turnstile; title and search box are those of an ordinary page (karust/openserp, 2026)."""
        body = (
            '<div class="captcha"><div class="captcha_header">…</div><div class="checkbox">'
            '<div id="turnstile-widget"></div></div></div>'
        )
        assert state(read("bing", body)) == ("challenge", "captcha", 0)

    def test_a_widget_over_the_list_is_a_warning(self, read: Read) -> None:
        page = read("bing", '<div class="captcha"></div>' + bing(algo("https://a.example/")))
        assert state(page) == ("results", None, 1)
        assert any("captcha" in warning for warning in page.warnings)

    def test_its_own_address(self, read: Read) -> None:
        page = read("bing", "<p>x</p>", url="https://www.bing.com/turing/captcha/challenge?q=q")
        assert state(page) == ("challenge", "captcha", 0)

    def test_words_about_captchas_are_words(self, read: Read) -> None:
        page = read(
            "bing",
            bing(algo("https://a.example/", "One last step: solve the captcha"), '<li class="b_msg">captcha</li>'),
        )
        assert (state(page), page.warnings) == (("results", None, 1), ())

    @pytest.mark.parametrize(
        "nothing",
        [
            '<li class="b_no"><h1>There are no results for <strong>q</strong></h1></li>',
            (
                '<li class="b_no"><h1>Nothing</h1><ul><li>Try <a href="/search?q=x">x</a></li></ul></li>'
                '<li class="b_msg"><a href="https://m.example/">?</a></li>'
            ),
        ],
    )
    def test_nothing_found_is_an_item_of_the_list(self, read: Read, nothing: str) -> None:
        assert state(read("bing", bing(nothing))) == ("no_results", None, 0)

    @pytest.mark.parametrize(
        "body", ["", "<div id=hp_container></div>", bing(), bing('<li class="b_pag"><a href="/search?q=x">2</a></li>')]
    )
    def test_an_empty_page_is_suspect(self, read: Read, body: str) -> None:
        """searxng/searxng#4785: status 200 and nothing in it, for some words and some addresses."""
        assert state(read("bing", body)) == ("suspected_block", None, 0)

    def test_a_list_of_the_unknown_is_drift(self, read: Read) -> None:
        assert state(read("bing", bing('<li class="b_tile"><div role="link">A title</div> Words.</li>'))) == (
            "unparseable",
            None,
            0,
        )


AD = "//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Dx.example%26ad_provider%3Dbingv7aa"
NO_ROW = '<div class="result web-result result--no-result"><div class="no-results">No results</div></div>'


class TestDuckDuckGo:
    def test_ads_are_known_by_class_and_by_link(self, read: Read) -> None:
        """deedy5/ddgs#139 and #398: cutting before filtering gave fewer results; y.js shows after one unwrap only."""
        rows = [
            web(AD, "Ad", "result--ad"),
            web(AD, "Ad without the class"),
            web("https://duckduckgo.com/y.js?ad_domain=x", "Bare"),
        ]
        page = read("duckduckgo", duck(*rows, web("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&amp;rut=0")))
        assert urls(page) == ["https://a.example/"]
        assert page.records[0]["link"] == "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F&rut=0"

    def test_the_reported_ad_itself(self, read: Read) -> None:
        """deedy5/ddgs#139: without the boxes that rows have."""
        ad = (
            '<div class="result result--ad"><a class="result__a" href="//duckduckgo.com/l/?uddg='
            'https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Dx.example">Ad</a></div>'
        )
        organic = '<div class="result"><a class="result__a" href="https://a.example/">A title</a></div>'
        for body in (ad + organic, organic + ad, ad.replace(" result--ad", "") + organic):
            assert urls(read("duckduckgo", duck(body))) == ["https://a.example/"]
            assert urls(read("duckduckgo", body)) == ["https://a.example/"]

    @pytest.mark.parametrize(
        ("uddg", "target"),
        [
            ("https%3A%2F%2Frust%2Dlang.example%2Fa%2Db", "https://rust-lang.example/a-b"),
            ("https%3A%2F%2Fa.example%2Ft%3Fq%3D1%2B2%26x%3D%252F", "https://a.example/t?q=1+2&x=%2F"),
            ("https%3A%2F%2Fduckduckgo.com%2Fabout", "https://duckduckgo.com/about"),
            ("https%3A%2F%2Fduckduckgo.com%2F", "https://duckduckgo.com/"),
        ],
    )
    def test_targets_are_decoded_once(self, read: Read, uddg: str, target: str) -> None:
        """Its pages of 2026-04 escape hyphens and dots as well."""
        assert urls(read("duckduckgo", duck(web(f"//duckduckgo.com/l/?uddg={uddg}&amp;rut=0")))) == [target]

    @pytest.mark.parametrize("uddg", ["javascript%3Aalert(1)", "data%3Atext%2Fhtml%2Cx", "", "%2Fhtml%2F%3Fq%3Dx"])
    def test_what_leads_nowhere_is_no_result(self, read: Read, uddg: str) -> None:
        page = read("duckduckgo", duck(web(f"//duckduckgo.com/l/?uddg={uddg}&amp;rut=0"), web("https://a.example/")))
        assert urls(page) == ["https://a.example/"]

    def test_what_can_not_be_decoded_is_kept(self, read: Read) -> None:
        [record] = read(
            "duckduckgo", duck(web("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F%E4%B8&amp;rut=0"))
        ).records
        assert (record["url"], record["link_form"], record["site"]) == (None, "redirect", "a.example")

    def test_direct_links_are_left_alone(self, read: Read) -> None:
        """Pages of 2025-05 have them throughout."""
        page = read("duckduckgo", duck(web("https://a.example/?uddg=https%3A%2F%2Fb.example%2F")))
        assert urls(page) == ["https://a.example/?uddg=https%3A%2F%2Fb.example%2F"]

    def test_a_row_that_says_that_there_are_none(self, read: Read) -> None:
        """Seen 2026-01: it is of class ``web-result``, and ads stand beside it."""
        assert state(read("duckduckgo", duck(NO_ROW, web(AD, "Ad", "result--ad")))) == ("no_results", None, 0)
        assert state(read("duckduckgo", duck(web(AD, "Ad", "result--ad"), NO_ROW))) == ("no_results", None, 0)
        assert state(read("duckduckgo", NO_ROW + '<div class="result result--ad">…</div>')) == ("no_results", None, 0)

    def test_the_same_without_a_list(self, read: Read) -> None:
        body = (
            '<div class="serp__results"><div class="no-results"><div class="no-results__message">'
            "No results found for q</div></div></div>"
        )
        assert state(read("duckduckgo", body)) == ("no_results", None, 0)

    @pytest.mark.parametrize(
        "body",
        [
            (
                '<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html">'
                '<div class="anomaly-modal__title">…</div></form>'
            ),
            '<form id="img-form" action="//duckduckgo.com/anomaly.js?sv=lite" method="post"></form>',
            (
                "<div id=links class=results></div>"
                '<div class="anomaly-modal__mask" data-testid="anomaly-modal">'
                '<div class="anomaly-modal__modal">…</div></div>'
            ),
        ],
    )
    def test_a_puzzle_is_never_an_empty_success(self, read: Read, body: str) -> None:
        """zeroclaw-labs/zeroclaw#6625, guelfoweb/orbit#352, kaitranntt/ccs#908, samnodehi/n8n-nodes-duckduckgo#39."""
        assert state(read("duckduckgo", body)) == ("challenge", "anomaly", 0)

    def test_words_about_puzzles_are_words(self, read: Read) -> None:
        """microlinkhq/is-antibot#62: the body was searched for them."""
        script = '<script>var next = "//duckduckgo.com/anomaly.js", modal = "anomaly-modal__modal";</script>'
        page = read("duckduckgo", script + duck(web("https://a.example/", "anomaly.js and the challenge-form")))
        assert (state(page), page.warnings) == (("results", None, 1), ())

    def test_one_page_twice_for_its_text_fragment(self, read: Read) -> None:
        """serpapi/public-roadmap#3827."""
        uddg = "https%3A%2F%2Fa.example%2Fp%23%3A~%3Atext%3DFoo"
        page = read("duckduckgo", duck(web(f"//duckduckgo.com/l/?uddg={uddg}"), web("https://a.example/p")))
        assert [(record["url"], record["fragment"]) for record in page.records] == [("https://a.example/p", "Foo")]

    def test_a_puzzle_over_results_is_a_warning(self, read: Read) -> None:
        modal = '<div class="anomaly-modal__modal" data-testid="anomaly-modal">…</div>'
        page = read("duckduckgo", modal + duck(web("https://a.example/")))
        assert state(page) == ("results", None, 1)
        assert any("anomaly" in warning for warning in page.warnings)

    def test_a_teapot_is_a_challenge(self, read: Read) -> None:
        page = read(
            "duckduckgo", "<h1>Unexpected error</h1>", url="https://duckduckgo.com/static-pages/418.html?bno=84f2"
        )
        assert state(page) == ("challenge", "anomaly", 0)

    def test_dates(self, read: Read) -> None:
        dated = web("https://a.example/", extra="<span>&nbsp; &nbsp; 2026-03-04T00:00:00.0000000</span>")
        records = read("duckduckgo", duck(dated, web("https://b.example/"))).records
        assert [record["date"] for record in records] == ["2026-03-04T00:00:00.0000000", None]
        assert [record["snippet"] for record in records] == ["Some words."] * 2

    def test_the_lite_page(self, read: Read) -> None:
        row = (
            "<tr><td>{n}.&nbsp;</td><td>"
            "<a rel=nofollow href='//duckduckgo.com/l/?uddg=https%3A%2F%2Fa{n}.example%2F' class='result-link'>"
            "Title {n}</a></td></tr>"
        )
        words = (
            "<tr><td></td><td class='result-snippet'>Words {n}.</td></tr><tr><td></td><td>"
            "<span class='link-text'>a{n}.example</span></td></tr>"
        )
        paid = (
            "<tr class='result-sponsored'><td>1.</td><td><a href='https://ads.example/' class='result-link'>"
            "Ad</a></td></tr>"
        )
        body = "<table>" + paid + "".join((row + words).format(n=n) for n in (1, 2)) + "</table>"
        page = read("duckduckgo", body)
        assert urls(page) == ["https://a1.example/", "https://a2.example/"]
        assert [record["snippet"] for record in page.records] == ["Words 1.", "Words 2."]

    def test_the_page_with_scripts(self, read: Read) -> None:
        row = (
            '<li data-layout="{layout}"><article data-testid="{kind}"><h2>'
            '<a data-testid="result-title-a" href="https://a{n}.example/">T{n}</a></h2>'
            '<div data-result="snippet">Words.</div></article></li>'
        )
        body = (
            '<section data-testid="mainline"><ol>'
            + row.format(layout="ad", kind="ad", n=0)
            + '<li data-layout="wikinlp"><h2><a href="https://w.example/">An answer</a></h2></li>'
            + row.format(layout="organic", kind="result", n=1)
            + '<li data-layout="videos"><article><h2><a href="https://v.example/">V</a></h2></article></li>'
            + row.format(layout="organic", kind="result", n=2)
            + "</ol></section>"
        )
        assert urls(read("duckduckgo", body)) == ["https://a1.example/", "https://a2.example/"]
