"""The reader on pages that try it: structure, links, text, hostile mark-up, states. All content is made up."""

import json
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import castlenb as cn
from castlenb import bridge
from castlenb import page as scripts
from castlenb.engines import ENGINES

from .google_pages import page, read, reading, row, state, titles, urls
from .replays import replayed


class TestRows:
    def test_a_link_wraps_its_heading_or_the_heading_its_link(self, one_lab: cn.Lab) -> None:
        found = read(
            one_lab,
            page(
                row("https://a.example/", "Wraps"),
                '<div><h3><a href="https://b.example/">Wrapped</a></h3><cite>b.example</cite><p>Words.</p></div>',
                "<div><h3>No link at all</h3><p>Words.</p></div>",
            ),
        )
        assert titles(found) == ["Wraps", "Wrapped"]

    @pytest.mark.parametrize("box", [True, False])
    def test_rows_are_whole_with_google_s_marks_and_without(self, one_lab: cn.Lab, box: bool) -> None:
        found = read(
            one_lab,
            page(
                row("https://www.a.example/p?q=1", "1st &amp; foremost", snippet="One<br>two <em>three</em>.", box=box),
                row("https://b.example/", "Second", snippet="Four. <a href='https://b.example/#x'>More</a>", box=box),
                row("https://c.example/", "Third", snippet=None, box=box),
            ),
        )
        keys = ("rank", "title", "url", "link", "link_form", "snippet", "site", "date", "fragment")
        first, second, third = (tuple(record[key] for key in keys) for record in found.records)
        address = "https://www.a.example/p?q=1"
        assert first == (1, "1st & foremost", address, address, "direct", "One two three.", "a.example", None, None)
        assert second[5] == "Four."
        assert third[5] is None

    def test_a_featured_snippet_outside_the_results_area_comes_first(self, one_lab: cn.Lab) -> None:
        featured = (
            '<div><div><span>The answer is forty-two.</span></div><div><a href="https://f.example/"><h3>Why</h3>'
            "<div><cite>https://f.example</cite></div></a></div></div>"
        )
        found = read(one_lab, page(row("https://a.example/"), above=f"<block-component>{featured}</block-component>"))
        assert urls(found) == ["https://f.example/", "https://a.example/"]
        assert found.records[0]["snippet"] == "The answer is forty-two."

    def test_furniture_holds_no_results(self, one_lab: cn.Lab) -> None:
        furniture = [
            '<div id="tads">{}</div>',
            '<div id="bottomads">{}</div>',
            '<div data-text-ad="1">{}</div>',
            '<div id="rhs">{}</div>',
            '<div id="kp-wp-tab-overview"><div role="complementary">{}</div></div>',
            "<table><tr><td>{}</td></tr></table>",
            '<div data-attrid="kc:/film/film:cast">{}</div>',
            '<div data-attrid="lab/content/More">{}</div>',
            "<g-scrolling-carousel>{}</g-scrolling-carousel>",
            '<div role="dialog">{}</div>',
            '<div id="eKIzJc">{}</div>',
            '<div data-async-type="folsrch">{}</div>',
            '<div data-subtree="mfc,mfl">{}</div>',
        ]
        modules = [each.format(row(f"https://module{n}.example/")) for n, each in enumerate(furniture)]
        found = read(one_lab, page(row("https://a.example/"), *modules, row("https://b.example/")))
        assert urls(found) == ["https://a.example/", "https://b.example/"]

    def test_what_wraps_the_results_area_is_no_furniture(self, one_lab: cn.Lab) -> None:
        """Field notes, 2026-08-04: #m-x-content briefly holds about the whole page."""
        whole = page(row("https://a.example/"), row("https://b.example/"))
        wrapped = whole.replace('<div id="cnt">', '<div id="cnt"><div id="m-x-content" role="dialog">')
        assert urls(read(one_lab, wrapped)) == ["https://a.example/", "https://b.example/"]

    @pytest.mark.parametrize(
        "fold",
        [
            '<div style="color:red; display:none">{}</div>',
            '<div style="DISPLAY:NONE"><div>{}</div></div>',
            "<div hidden>{}</div>",
            "<details><summary>More</summary>{}</details>",
            '<div role="button" aria-expanded="false" aria-controls="a b">More</div><div id="b"><p>{}</p></div>',
            '<button aria-expanded="false" aria-controls="b"></button><div id="b"><div hidden>{}</div></div>',
        ],
    )
    def test_folded_rows_are_none(self, one_lab: cn.Lab, fold: str) -> None:
        hidden = fold.format(row("https://hidden.example/", "Hidden"))
        found = read(one_lab, page(row("https://a.example/"), hidden, row("https://b.example/")))
        assert urls(found) == ["https://a.example/", "https://b.example/"]

    @pytest.mark.parametrize(
        "opened",
        [
            "<details open>{}</details>",
            "<details><summary>{}</summary>More</details>",
            '<button aria-expanded="true" aria-controls="b"></button><div id="b">{}</div>',
            '<button aria-expanded="false" aria-controls="else"></button><div id="b">{}</div>',
        ],
    )
    def test_rows_that_have_been_unfolded_are_some(self, one_lab: cn.Lab, opened: str) -> None:
        found = read(one_lab, page(row("https://a.example/"), opened.format(row("https://b.example/"))))
        assert urls(found) == ["https://a.example/", "https://b.example/"]

    @pytest.mark.parametrize("style", ["visibility:hidden;opacity:0", "display:none"])
    def test_a_column_that_waits_for_its_scripts_is_read(self, one_lab: cn.Lab, style: str) -> None:
        """Seen 2024-03: the whole column hidden in a tab panel until scripts run."""
        rows = [row(f"https://{letter}.example/", letter) for letter in "abc"]
        found = read(one_lab, page(f'<div style="{style}"><div>{"".join(rows)}</div></div>'))
        assert titles(found) == ["a", "b", "c"]

    def test_a_module_s_headed_link_without_an_address_is_no_result(self, one_lab: cn.Lab) -> None:
        module = '<div><a href="https://module.example/"><h3>Best of the week</h3></a><p>Words.</p></div>'
        assert urls(read(one_lab, page(row("https://a.example/"), module))) == ["https://a.example/"]

    def test_indented_and_video_rows_count(self, one_lab: cn.Lab) -> None:
        indented = f"<ul><li>{row('https://a.example/sub', 'Sub', box=False)}</li></ul>"
        video = (
            '<div jsname="pKB8Bc"><div><a href="https://tube.example/v"><h3>A video</h3><span>Tube · Someone</span>'
            '<cite role="text">55M+ views  ·  12 years ago</cite></a></div><div><div role="button">Play 23:45</div>'
            "<div>In which something is shown.</div></div></div>"
        )
        found = read(one_lab, page(row("https://a.example/"), indented, video))
        assert titles(found) == ["A title", "Sub", "A video"]
        last = found.records[-1]
        assert (last["snippet"], last["date"]) == ("In which something is shown.", "12 years ago")

    def test_a_row_with_sitelinks_of_its_own_keeps_its_snippet(self, one_lab: cn.Lab) -> None:
        links = '<table><tr><td><h3><a href="https://a.example/more">More of it</a></h3></td></tr></table>'
        first = row("https://a.example/", "A title", snippet="What it says.")
        assert first.endswith("</div></div></div></div>")
        with_links = first.removesuffix("</div></div></div>") + links + "</div></div></div>"
        found = read(one_lab, page(with_links, row("https://b.example/", "B")))
        assert titles(found) == ["A title", "B"]
        assert found.records[0]["snippet"] == "What it says."

    def test_each_target_once_in_page_order(self, one_lab: cn.Lab) -> None:
        found = read(
            one_lab,
            page(
                row("https://b.example/", "B"),
                row("https://a.example/", "A"),
                row("/url?q=https://b.example/&sa=U", "B"),
            ),
        )
        assert urls(found) == ["https://b.example/", "https://a.example/"]

    def test_titles_of_phones_are_headings_by_role(self, one_lab: cn.Lab) -> None:
        phone = (
            '<div><div data-snhf="0"><a href="{0}"><div><div role="heading" aria-level="3">{1}</div></div></a></div>'
            '<div data-sncf="1">Words.</div></div>'
        )
        rows = [phone.format(f"https://{n}.example/", n) for n in "ab"]
        found = read(one_lab, page(*rows, above=row("https://f.example/", "Featured", box=False)))
        assert (titles(found), found.warnings) == (["Featured", "a", "b"], ())

    def test_the_last_resort_is_said(self, one_lab: cn.Lab) -> None:
        title = '<a href="https://{0}.example/"><div role=heading aria-level=3>{0}</div></a><p>Words.</p>'
        stories = f"<g-section-with-header>{title.format('s')}</g-section-with-header>"
        cards = f"<div role=list><div role=listitem>{title.format('c')}</div></div>"
        found = read(one_lab, page(f"<div>{title.format('a')}</div><div>{title.format('b')}</div>", stories, cards))
        assert urls(found) == ["https://a.example/", "https://b.example/"]
        assert len(found.warnings) == 1

    def test_the_layout_for_text_browsers(self, one_lab: cn.Lab) -> None:
        listed = (
            '<div><div><a href="/url?q=https://{0}.example/&amp;sa=U"><span>Title {0}</span> '
            "<span>{0}.example › x</span></a></div><table><tr><td><span>Words of {0}.</span></table></div>"
        )
        nav = '<div><a href="/search?q=x&amp;tbm=isch"><span>Images</span></a></div>'
        found = read(one_lab, f"<html><body><form><input name=q></form>{nav}{listed.format('a')}{listed.format('b')}")
        assert titles(found) == ["Title a", "Title b"]
        assert urls(found) == ["https://a.example/", "https://b.example/"]
        assert [record["snippet"] for record in found.records] == ["Words of a.", "Words of b."]

    def test_at_most_as_many_as_asked_for(self, one_lab: cn.Lab) -> None:
        html = page(*(row(f"https://{n}.example/", n) for n in "abc"))
        with replayed(one_lab, html) as opened:
            opened.read()
            assert opened.evaluate("castlenb.reader.results(2).map((row) => row.title)") == ["a", "b"]
            assert opened.evaluate("castlenb.reader.candidates()") == 3


class TestLinks:
    def test_links_that_lead_to_no_page_are_no_results(self, one_lab: cn.Lab) -> None:
        nowhere = [
            "javascript:void(0)",
            "mailto:a@b.example",
            "ftp://files.example/",
            "data:text/html,x",
            "https://",
            "#",
            "/search?q=more",
            "/aclk?sa=l&adurl=https://ad.example/",
            "/imgres?imgurl=https://i.example/",
            "https://www.googleadservices.com/pagead/aclk?sa=L",
            "/url?q=javascript:alert(1)&sa=U",
            "/url?q=&sa=U",
            "/url?sa=U",
            "/url?q=/search%3Fq%3Dx",
            "/url?q=widgets",
        ]
        rows = [row(href, f"Nowhere {n}") for n, href in enumerate(nowhere)]
        assert urls(read(one_lab, page(*rows, row("https://a.example/")))) == ["https://a.example/"]

    def test_google_s_own_pages_can_be_results(self, one_lab: cn.Lab) -> None:
        own = [
            "https://support.google.com/websearch/answer/1",
            "https://play.google.com/store/apps/details?id=x",
            "https://www.google.com/maps/place/Somewhere",
            "https://www.google.com/search/howsearchworks/",
            "https://www.google.com/advanced_search",
            "https://www.google.com/",
            "https://www.google.co.uk/finance/quote/X",
        ]
        found = read(one_lab, page(*(row(href, cite="https://www.google.com › x") for href in own)))
        assert urls(found) == own
        assert {record["link_form"] for record in found.records} == {"direct"}

    def test_google_s_own_modules_are_none(self, one_lab: cn.Lab) -> None:
        """Known by their headed links that show no address, also on a page where nothing does."""
        module = '<div><a href="/travel/flights?q=x"><h3>Flights</h3></a></div>'
        plain = '<div><a href="https://a.example/"><h3>Plain</h3></a><div>Words.</div></div>'
        assert urls(read(one_lab, page(module, plain))) == ["https://a.example/"]

    def test_the_target_is_where_it_is_named_so(self, one_lab: cn.Lab) -> None:
        """In some redirects ``q`` is the query, and ``url`` the target."""
        wrapped = "/url?sa=t&q=made+up&esrc=s&url=https%3A%2F%2Fa.example%2F&usg=x"
        assert urls(read(one_lab, page(row(wrapped)))) == ["https://a.example/"]

    def test_a_redirect_that_can_not_be_decoded_keeps_its_link(self, one_lab: cn.Lab) -> None:
        [record] = read(one_lab, page(row("/url?q=https://a.example/%E0%A4%A&sa=U"))).records
        assert (record["url"], record["link_form"], record["site"]) == (None, "redirect", "shop.example")
        assert record["link"] == "https://www.google.com/url?q=https://a.example/%E0%A4%A&sa=U"

    def test_the_site_of_an_encrypted_link_is_what_the_page_shows(self, one_lab: cn.Lab) -> None:
        shown = {
            "https://www.shop.example › widgets": "shop.example",
            "shop.example › widgets": "shop.example",
            "https://deep.shop.example<span> › a › b</span>": "deep.shop.example",
            "99+ answers · 3 years ago": "The shop",
            "1.5K+ followers": "The shop",
            "Cited by 12": "The shop",
        }
        rows = [row(f"/goto?url=CAES{n}", cite=cite, name="The shop") for n, cite in enumerate(shown)]
        assert [record["site"] for record in read(one_lab, page(*rows)).records] == list(shown.values())

    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        targets=st.lists(
            st.builds(
                lambda path, query, anchor: f"https://site.example/{path}?{query}" + (f"#{anchor}" if anchor else ""),
                st.text("ab/%+&=é ~-", max_size=12).map(lambda text: quote(text, safe="/+&=~-")),
                st.text("abc=&+%;:/?é", max_size=20).map(lambda text: quote(text, safe="=&+;:/?")),
                st.sampled_from(["", "part", "a-b"]),
            ),
            min_size=1,
            max_size=25,
            unique=True,
        )
    )
    def test_unwrapping_gives_back_what_was_wrapped(self, one_lab: cn.Lab, targets: list[str]) -> None:
        """Never loses a query, decodes exactly once, and leaves direct links as they are."""
        wrapped = [row("/url?sa=t&q=" + quote(target, safe=""), f"w{n}") for n, target in enumerate(targets)]
        direct = [row(target, f"d{n}") for n, target in enumerate(targets)]
        found = read(one_lab, page(*wrapped, *direct))
        assert urls(found) == targets + targets
        assert [record["link"] for record in found.records[len(targets) :]] == targets

    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), min_size=1, max_size=25))
    def test_whatever_is_wrapped_only_web_pages_come_out(self, one_lab: cn.Lab, values: list[str]) -> None:
        odd = ["javascript:alert(1)", " javascript:x", "java\tscript:x", "//x.example", "file:///etc/passwd", "\\\\x"]
        rows = [row("/url?q=" + quote(value, safe="%"), f"r{n}") for n, value in enumerate(odd + values)]
        for record in read(one_lab, page(*rows)).records:
            assert record["url"] is None or urlsplit(record["url"]).scheme in ("http", "https")


class TestText:
    def test_a_date_at_the_head_is_told_by_its_own_element(self, one_lab: cn.Lab) -> None:
        cases = [
            ("<span><span>Mar 12, 2025</span> — </span><span>Words.</span>", "Mar 12, 2025", "Words."),
            ("<span><span>há 7 dias</span> — </span><span><em>Palavras</em>.</span>", "há 7 dias", "Palavras."),
            ("<span>Nov 21, 2019 - </span>Words.", "Nov 21, 2019", "Words."),
            ("<span>2025/05/06</span> — 言葉。", "2025/05/06", "言葉。"),
            ("10 best widgets of 2025 - a list", None, "10 best widgets of 2025 - a list"),
            ("<em>Top 10 -</em> a list of 5", None, "Top 10 - a list of 5"),
            ("<span>Widgets, 3 of them</span> and more", None, "Widgets, 3 of them and more"),
        ]
        rows = [row(f"https://{n}.example/", snippet=snippet) for n, (snippet, _, _) in enumerate(cases)]
        found = [(record["date"], record["snippet"]) for record in read(one_lab, page(*rows)).records]
        assert found == [(date, text) for _, date, text in cases]

    def test_spaces_stand_where_blocks_meet_and_nowhere_else(self, one_lab: cn.Lab) -> None:
        snippet = "<div>One</div><div>two<b>three</b></div><ul><li>four<li>five</ul>six<wbr>seven&nbsp; eight"
        [record] = read(one_lab, page(row("https://a.example/", snippet=snippet))).records
        assert record["snippet"] == "One twothree four five sixseven eight"

    def test_what_is_hidden_or_no_text_is_left_out(self, one_lab: cn.Lab) -> None:
        title = 'A<span style="display:none">B</span>'
        snippet = 'Seen.<b style="color:red; display: none">Hidden.</b><b hidden>Hidden.</b><style>p{}</style>'
        [record] = read(one_lab, page(row("https://a.example/", title, snippet=snippet))).records
        assert (record["title"], record["snippet"]) == ("A", "Seen.")

    def test_a_header_s_second_copy_and_its_menus_are_no_snippet(self, one_lab: cn.Lab) -> None:
        more = '<div role="button">About this result</div><span> · </span><a href="https://t.example/">Translate</a>'
        rows = row("https://a.example/", snippet=None, box=False).replace("</a></span>", f"</a></span>{more}")
        assert read(one_lab, page(rows)).records[0]["snippet"] is None


class TestHostilePages:
    @pytest.mark.parametrize(
        "hostile",
        [
            '<form id="rso"><input name="parentElement"><input name="firstChild"><input name="nextSibling">'
            '<input name="closest"><input name="getAttribute"><input name="querySelector"><input name="localName">'
            '<input name="checkVisibility"><input name="matches"><input name="contains">{}</form>',
            '<img name="documentElement"><img name="title"><img name="readyState"><form name="querySelectorAll"></form>'
            '<img name="createTreeWalker"><img name="location"><img name="URL"><div id="rso">{}</div>',
            '<div id="NodeFilter"></div><div id="Node"></div><div id="Element"></div><div id="rso">{}</div>',
        ],
    )
    def test_named_elements_shadow_nothing(self, one_lab: cn.Lab, hostile: str) -> None:
        rows = row("https://a.example/", snippet="<span>Mar 1, 2025</span> — Words.") + row("https://b.example/")
        found = reading(one_lab, f"<!doctype html><html lang=de><title>t</title>{hostile.format(rows)}")
        assert [each["url"] for each in found["results"]] == ["https://a.example/", "https://b.example/"]
        assert (found["lang"], found["ready"], found["results"][0]["date"]) == ("de", "complete", "Mar 1, 2025")

    def test_scripts_of_the_page_reach_nothing_of_ours(self, one_lab: cn.Lab) -> None:
        """The reader's world is its own: the lab's pages run scripts, and search reads them (test_search)."""
        with replayed(one_lab, page(row("https://a.example/"))) as opened:
            assert len(opened.read()) == 1
            assert opened.evaluate("'castlenb' in globalThis") is True

    def test_depth_is_no_harm(self, one_lab: cn.Lab) -> None:
        deep = "<div>" * 3000 + "deep" + "</div>" * 3000
        found = read(one_lab, page(row("https://a.example/", snippet=deep), row("https://b.example/"), deep))
        assert urls(found) == ["https://a.example/", "https://b.example/"]

    def test_nothing_on_the_page_changes(self, one_lab: cn.Lab) -> None:
        html = page(row("https://a.example/"), '<div class="related-question-pair"><a href=x><h3>y</h3></a></div>')
        with replayed(one_lab, html) as opened:
            opened.read()
            watched = """(async () => {
              const seen = [];
              const before = document.documentElement.outerHTML;
              const observer = new MutationObserver((records) => seen.push(...records));
              observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
              castlenb.reader.read(); castlenb.reader.results(); castlenb.reader.candidates();
              await Promise.resolve();
              const place = [scrollX, scrollY, document.activeElement === document.body];
              return JSON.stringify([seen.length, before === document.documentElement.outerHTML, place]);
            })"""
            told = opened.evaluate(f"globalThis.told = null; ({watched})().then((it) => (globalThis.told = it)); 1")
            assert told == 1
            assert json.loads(opened.evaluate("globalThis.told")) == [0, True, [0, 0, True]]


class TestStates:
    def test_a_results_area_that_yields_nothing_has_drifted(self, one_lab: cn.Lab) -> None:
        drifted = '<div><a href="https://a.example/"><b>A title</b></a><p>Words.</p></div>'
        found = reading(one_lab, page(drifted, botstuff="<p>Something</p>"))
        assert (found["page_state"], found["conclusive"]) == ("unparseable", False)

    def test_an_area_of_nothing_but_captions_and_ads_is_empty(self, one_lab: cn.Lab) -> None:
        hollow = f"<h2>Web results</h2><div id=bottomads>{row('https://ad.example/')}</div>"
        assert state(read(one_lab, page(hollow))) == ("suspected_block", None)
        assert state(read(one_lab, page(hollow, botstuff="<p>x did not match</p>"))) == ("no_results", None)

    def test_what_stands_beside_the_message_is_no_message(self, one_lab: cn.Lab) -> None:
        beside = (
            '<div id="bres"><div><span>People also search for</span><a href="/search?q=y">y</a></div></div>'
            '<div role="navigation"><h1>Page Navigation</h1><table><td>1<td><a href="/search?q=x">2</a></table></div>'
            '<div><a href="/search?q=z" role="button"><h3>More results</h3></a><span> · </span></div>'
        )
        assert state(read(one_lab, page(botstuff=beside))) == ("suspected_block", None)

    def test_a_captcha_without_a_results_area(self, one_lab: cn.Lab) -> None:
        frame = '<iframe src="https://www.google.com/recaptcha/api2/anchor?k=x"></iframe>'
        assert state(read(one_lab, f"<p>One more step</p>{frame}")) == ("challenge", "captcha")
        assert state(read(one_lab, page(below=frame))) == ("suspected_block", None)

    def test_results_outweigh_every_sign_of_refusal(self, one_lab: cn.Lab) -> None:
        signs = '<form id="captcha-form"><div class="g-recaptcha" data-sitekey="k"></div></form>'
        found = read(one_lab, page(row("https://a.example/"), below=signs))
        assert state(found) == ("results", None)
        assert len(found.warnings) == 1

    def test_an_empty_document(self, one_lab: cn.Lab) -> None:
        assert state(read(one_lab, " ")) == ("suspected_block", None)

    def test_while_the_parser_is_at_work_only_the_address_is_certain(self, one_lab: cn.Lab) -> None:
        """An overlay's form, or a notice, can come before the results."""
        gate = page(below='<form id="captcha-form"></form>')
        nothing = page(topstuff="<p>Did you mean</p>")
        for html, kind in ((gate, "challenge"), (nothing, "no_results")):
            with replayed(one_lab, html) as opened:
                opened.read()
                reader = scripts.reader_expression(ENGINES["google"].spec())
                early = (
                    "(() => { const get = Object.getOwnPropertyDescriptor(Document.prototype, 'readyState');"
                    "Object.defineProperty(Document.prototype, 'readyState', { ...get, get: () => 'loading' });"
                    f"try {{ return {reader}.read(); }}"
                    "finally { Object.defineProperty(Document.prototype, 'readyState', get); } })()"
                )
                found = opened.evaluate(early)
                assert (found["page_state"], found["conclusive"]) == (kind, False)


@pytest.mark.parametrize("name", list(ENGINES))
def test_the_specimen_of_each_engine_lists_two_results(one_lab: cn.Lab, name: str) -> None:
    """What the readers rehearse on has to take them the whole way."""
    whose = ENGINES[name]
    with replayed(one_lab, whose.specimen, engine=name) as opened:
        found = opened.read()
        answer = opened.evaluate(f"{scripts.answers_expression(whose.spec())}.answer()")
    assert titles(found) == ["One", "Two"]
    assert urls(found) == ["https://a.example/", "https://b.example/"]
    assert all(record["snippet"] for record in found.records)
    if whose.answer is not None:
        assert answer["text"] == "Some words.\n\n- More."
        assert [each["title"] for each in answer["citations"]] == ["Three"]


def test_rehearsing_leaves_the_blank_page_as_it_was(one_lab: cn.Lab) -> None:
    script = scripts.init_script(ENGINES["google"].spec(), answers=True)
    rehearsed = script.replace(
        "watcher.now();", "globalThis.rehearsed = ['words', '\"One\"'].every((each) => watcher.now().includes(each));"
    )
    assert rehearsed != script
    blank, ran = bridge.run(_on_a_blank_page(one_lab.browser, rehearsed))
    assert blank == "<html><head></head><body></body></html>"
    assert ran


async def _on_a_blank_page(browser: cn.Browser, script: str) -> tuple[str, bool]:
    wish = {"source": script, "worldName": scripts.WORLD, "runImmediately": True}
    async with browser.slot():
        await browser.open()
        async with browser.tab(prepare=[("Page.addScriptToEvaluateOnNewDocument", wish)]) as tab:
            world = await tab.world(scripts.WORLD)
            said = await tab.session.evaluate(
                "new Promise((resolve) => setTimeout(() => "
                "resolve([document.documentElement.outerHTML, globalThis.rehearsed === true]), 50))",
                context_id=world,
                await_promise=True,
            )
    return said[0], said[1]


@pytest.mark.parametrize("name", list(ENGINES))
def test_every_hook_is_a_selector_that_chromium_knows(one_lab: cn.Lab, name: str) -> None:
    engine = ENGINES[name]
    selectors = [hook.css for hook in engine.hooks] + [css for rule in engine.refusals for css in rule.css]
    with replayed(one_lab, page()) as opened:
        opened.read()
        known = "(css) => { try { document.querySelector(css); return true; } catch { return false; } }"
        assert opened.evaluate(f"{json.dumps(selectors)}.filter((css) => !({known})(css))") == []


def test_a_row_is_whole_once_the_page_goes_on_behind_it(one_lab: cn.Lab) -> None:
    """A header's second copy stands behind its title: being followed by something is not being left by the parser."""
    so_far = page(row("https://a.example/"), "|").partition("|")[0] + row("https://b.example/", snippet=None)
    for html, last in ((so_far, False), (so_far + "<div>More.", True)):
        with replayed(one_lab, html) as opened:
            opened.read()
            whole = opened.evaluate("castlenb.reader.results().map((row) => castlenb.reader.whole(row))")
            assert whole == [True, last]
