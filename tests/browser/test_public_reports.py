"""Faults that were reported of other readers of Google's pages, each with a small input and the right value.

The inputs are made up from the symptom; the report is named beside the test.
"""

import pytest

import castlenb as cn

from .google_pages import page, read, reading, row, state, titles, urls

ENABLEJS = '<noscript><meta content="0;url=/httpservice/retry/enablejs?sei=x" http-equiv="refresh"></noscript>'


class TestLinks:
    def test_encrypted_links_are_results(self, one_lab: cn.Lab) -> None:
        """iorate/ublacklist#1025, serpapi/public-roadmap#3600 and #3914: every result lost as Google's own."""
        found = read(
            one_lab,
            '<div id="rso"><a href="/goto?url=CAESWQHr0000"><h3>Cheap widgets</h3>'
            "<cite>https://shop.example<span> › widgets</span></cite></a></div>",
        )
        [record] = found.records
        assert record["url"] is None
        assert record["link"] == "https://www.google.com/goto?url=CAESWQHr0000"
        assert record["link_form"] == "encrypted"
        assert record["site"] == "shop.example"
        assert record["title"] == "Cheap widgets"

    def test_an_encrypted_link_without_an_address_shown_has_the_name_of_the_site(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#3914: forums show "570+ comments · 5 years ago" where others show an address."""
        found = read(
            one_lab,
            page(row("/goto?url=CAESWgHr", cite="570+ comments  ·  5 years ago", name="Forum&nbsp;·&nbsp;r/Widgets")),
        )
        [record] = found.records
        assert (record["url"], record["site"], record["date"]) == (None, "Forum · r/Widgets", "5 years ago")

    @pytest.mark.parametrize("key", ["q", "url"])
    def test_a_redirect_is_decoded_exactly_once(self, one_lab: cn.Lab, key: str) -> None:
        """gosom/google-maps-scraper#189, Cimbali/CleanLinks#73."""
        wrapped = f"/url?{key}=https://site.example/t.php%3Fid%3D7%26x%3Da%252Fb&sa=U&ved=0"
        [record] = read(one_lab, page(row(wrapped))).records
        assert record["url"] == "https://site.example/t.php?id=7&x=a%2Fb"
        assert record["link"] == "https://www.google.com" + wrapped
        assert record["link_form"] == "redirect"

    def test_a_text_fragment_is_no_part_of_the_address(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#3827: the same page listed twice."""
        found = read(
            one_lab,
            page(
                row("https://a.example/p#:~:text=Foo,bar", "Foo"),
                row("https://a.example/p", "Foo"),
                row("https://b.example/p#part", "Bar"),
                row("https://c.example/p#part:~:text=Foo", "Baz"),
            ),
        )
        assert urls(found) == ["https://a.example/p", "https://b.example/p#part", "https://c.example/p#part"]
        assert [record["fragment"] for record in found.records] == ["Foo,bar", None, "Foo"]


class TestResults:
    def test_answers_to_what_people_also_ask_are_no_results(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#2534: folded. WebSearcher 0.12.1: the first one is served open since 2026-10."""
        pairs = ['class="related-question-pair"', 'data-initq="made up"', 'data-q="Why?"']
        answers = [
            f'<div {pair}><div style="display:{display}">{row(f"https://{display}{n}.example/")}</div></div>'
            for n, pair in enumerate(pairs)
            for display in ("none", "block")
        ]
        assert urls(read(one_lab, page(*answers, row("https://b.example/", "Y")))) == ["https://b.example/"]

    def test_the_reported_input_itself(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#2534."""
        found = read(
            one_lab,
            '<div id="rso"><div class="related-question-pair"><div style="display:none"><a href="https://a.example">'
            '<h3>X</h3></a></div></div><a href="https://b.example"><h3>Y</h3></a></div>',
        )
        assert urls(found) == ["https://b.example/"]

    def test_an_answer_in_the_middle_of_the_results_holds_none(self, one_lab: cn.Lab) -> None:
        """zbarnz/Google_AI_Overviews_Blocker#25."""
        answer = (
            '<div id="eKIzJc"><h2>AI Overview</h2><div id="m-x-content">'
            f"{row('https://source.example/', 'A source')}</div></div>"
        )
        found = read(one_lab, page(row("https://b.example/", "Y"), answer, row("https://c.example/", "Z")))
        assert urls(found) == ["https://b.example/", "https://c.example/"]

    def test_an_answer_among_the_questions_is_no_answer_of_the_page(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#2496: the same mark-up inside People also ask; the rows beside it stay."""
        asked = '<div class="related-question-pair"><div jsname="txosbe">AI Overview</div></div>'
        assert urls(read(one_lab, page(asked, row("https://b.example/")))) == ["https://b.example/"]


class TestRefusals:
    def test_what_ordinary_pages_carry_too_is_no_refusal(self, one_lab: cn.Lab) -> None:
        """BlankTrail/google-serp-parser, microlinkhq/is-antibot#62."""
        head = '<script>var captcha = "/sorry/index", say = "unusual traffic";</script>' + ENABLEJS
        found = read(one_lab, page(row("https://a.example/", "reCAPTCHA explained"), head=head))
        assert (state(found), found.warnings) == (("results", None), ())

    def test_the_sorry_page_is_known_by_its_address(self, one_lab: cn.Lab) -> None:
        """brekkylab/ailoy#380: #search never comes; the host is www.google.com, not sorry.google.com."""
        url = "https://www.google.com/sorry/index?continue=https://www.google.com/search%3Fq%3Dx&q=EhAq"
        found = reading(one_lab, "<title>https://www.google.com/search?q=x</title><p>Hello", url)
        assert (found["page_state"], found["challenge_kind"], found["conclusive"]) == ("challenge", "sorry", True)

    def test_the_sorry_page_is_known_by_its_form(self, one_lab: cn.Lab) -> None:
        """WebSearcher#170, on a saved page whose address is lost."""
        form = '<form id="captcha-form" action="index" method="post">{}</form>'
        assert state(read(one_lab, form.format('<div class="g-recaptcha" data-sitekey="k"></div>'))) == (
            "challenge",
            "sorry",
        )

    def test_a_consent_wall_in_any_language(self, one_lab: cn.Lab) -> None:
        """benbusby/whoogle-search#243, AWeirdDev/flights#15, georgekhananaev/google-reviews-scraper-pro#28."""
        wall = '<title>Прежде чем перейти к …</title><form action="https://consent.google.com/save"><h3>Да</h3></form>'
        assert state(read(one_lab, wall)) == ("challenge", "consent")
        found = read(one_lab, "<title>…</title><form action=/s></form>", "https://consent.google.de/ml?continue=x")
        assert state(found) == ("challenge", "consent")

    def test_a_consent_dialog_over_results_is_a_warning(self, one_lab: cn.Lab) -> None:
        dialog = '<div role="dialog"><form action="https://consent.google.com/save"><button>OK</button></form></div>'
        found = read(one_lab, page(row("https://a.example/"), below=dialog))
        assert state(found) == ("results", None)
        assert ["consent" in warning for warning in found.warnings] == [True]

    def test_a_script_gate_is_one_only_without_a_results_area(self, one_lab: cn.Lab) -> None:
        """BlankTrail/google-serp-parser: it stands in the <noscript> of every ordinary page."""
        found = reading(one_lab, f"<title>Google Search</title>{ENABLEJS}<div id=main></div>")
        assert (found["page_state"], found["challenge_kind"]) == ("challenge", "enablejs")
        assert not found["conclusive"], "its own script usually goes on to the results"
        framed = '<noscript><iframe src="/httpservice/retry/enablejs?sei=x"></iframe></noscript>'
        assert state(read(one_lab, framed)) == ("challenge", "enablejs")
        assert state(read(one_lab, page(head=ENABLEJS))) == ("suspected_block", None)

    def test_an_empty_page_is_not_a_page_that_found_nothing(self, one_lab: cn.Lab) -> None:
        """serpapi/public-roadmap#4258, #3509, #3576, #4116: a time range that yields nothing at all."""
        assert state(read(one_lab, page())) == ("suspected_block", None)

    @pytest.mark.parametrize("where", ["botstuff", "topstuff"])
    @pytest.mark.parametrize("words", ["did not match any documents.", "に一致する情報は見つかりませんでした。"])
    def test_a_page_that_found_nothing_says_so_in_its_own_place(self, one_lab: cn.Lab, where: str, words: str) -> None:
        message = f'<div><p role="heading" aria-level="3">x <em>made up</em> {words}</p><ul><li>…</li></ul></div>'
        found = reading(one_lab, page(**{where: message}))
        assert (found["page_state"], found["conclusive"]) == ("no_results", True)

    def test_words_of_refusal_in_a_results_text_mean_nothing(self, one_lab: cn.Lab) -> None:
        """Seen 2026-02: "No results found for" above nine results, and as a result's own text."""
        notice = "<p>No results found for made-up. Results for made up:</p>"
        words = "Your search did not match any documents. Our systems have detected unusual traffic. captcha"
        found = read(one_lab, page(row("https://a.example/", "No results found", snippet=words), topstuff=notice))
        assert (state(found), titles(found)) == (("results", None), ["No results found"])
