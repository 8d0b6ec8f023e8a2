"""What an answer cites, and which of its words name which source."""

import json

import pytest

import castlenb as cn

from .answer_pages import LONG, MORE, card, chip, overview, para, read, results


def cited(lab: cn.Lab, sources: str, prose: str = "") -> list[dict[str, str | None]]:
    found: list[dict[str, str | None]] = read(lab, results(overview(para(LONG) + prose, sources)))["citations"]
    return found


class TestCards:
    def test_a_card_in_full(self, one_lab: cn.Lab) -> None:
        [citation] = cited(
            one_lab, card("https://a.example/p", "On boiling", "Kettles Monthly", "Water boils when hot.")
        )
        assert citation == {
            "n": 1,
            "title": "On boiling",
            "url": "https://a.example/p",
            "link": "https://a.example/p",
            "link_form": "direct",
            "fragment": None,
            "site": "Kettles Monthly",
            "snippet": "Water boils when hot.",
        }

    def test_each_target_once_and_those_seen_first(self, one_lab: cn.Lab) -> None:
        """The same card stands in a window, hidden, and beside the prose."""
        window = "".join(card(f"https://{name}.example/p#:~:text=Foo", name) for name in "cab")
        seen = card("https://a.example/p#:~:text=Bar,baz", "a") + card("https://b.example/p", "b")
        found = cited(
            one_lab, f'<div role="dialog" data-type="hovc" style="display:none"><ul>{window}</ul></div>{seen}'
        )
        assert [(each["n"], each["url"]) for each in found] == [
            (1, "https://a.example/p"),
            (2, "https://b.example/p"),
            (3, "https://c.example/p"),
        ]
        assert found[0]["fragment"] == "Bar,baz"

    def test_encrypted_links_are_kept_with_the_site_that_is_shown(self, one_lab: cn.Lab) -> None:
        """They are another one for each copy of a card."""
        copies = "".join(card(f"/goto?url=CAES{n}", title, "The Site") for n, title in enumerate(["One", "Two", "One"]))
        found = cited(one_lab, copies, para('and <a href="/goto?url=CAES9">a link to One</a>'))
        assert [(each["title"], each["url"], each["site"], each["link_form"]) for each in found] == [
            ("One", None, "The Site", "encrypted"),
            ("Two", None, "The Site", "encrypted"),
        ]
        assert found[0]["link"] == "https://www.google.com/goto?url=CAES0"

    def test_redirects_are_unwrapped_before_the_host_is_judged(self, one_lab: cn.Lab) -> None:
        found = cited(one_lab, card("/url?sa=i&rct=j&url=https://a.example/p%3Fid%3D7", "A"))
        assert [(each["url"], each["link_form"]) for each in found] == [("https://a.example/p?id=7", "redirect")]

    def test_the_engine_itself_is_no_source(self, one_lab: cn.Lab) -> None:
        own = card("https://www.google.com/search?q=x", "More") + card("https://www.google.de/maps", "Maps")
        help_page = '<a href="https://support.google.com/websearch?p=ai">help</a>'
        terms = para('See <a href="https://policies.google.com/privacy">the terms</a>.')
        assert cited(one_lab, own + help_page, terms) == []

    def test_a_page_of_the_engine_that_is_a_source(self, one_lab: cn.Lab) -> None:
        found = cited(one_lab, card("https://developers.google.com/search/docs", "Docs"))
        assert [each["url"] for each in found] == ["https://developers.google.com/search/docs"]

    def test_other_addresses_are_none(self, one_lab: cn.Lab) -> None:
        assert cited(one_lab, card("javascript:void(0)", "A") + card("mailto:a@b.example", "B")) == []


class TestTitles:
    ENDINGS = (
        ". Opens in new tab.",
        ". Opens in a new tab.",
        ". Abre em uma nova guia.",
        ". Wird in neuem Tab geöffnet.",
        "。新しいタブで開きます。",
    )

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_the_sentence_about_tabs_is_none_of_the_title(self, one_lab: cn.Lab, ending: str) -> None:
        """Cards that say no title: only their labels do. What labels share at their end is not of theirs."""

        def bare(n: int, title: str) -> str:
            return f'<div data-src-id="{n}"><a href="https://s{n}.example/" aria-label="{title}{ending}"></a><span>Site</span></div>'

        found = cited(one_lab, bare(1, "Why? Dr. Who answers") + bare(2, "Version 2.0 of all. Part one"))
        assert [each["title"] for each in found] == ["Why? Dr. Who answers", "Version 2.0 of all. Part one"]

    def test_the_title_that_the_card_shows_is_taken(self, one_lab: cn.Lab) -> None:
        found = cited(one_lab, card("https://a.example/", "A. B. C.", label="A. B. C.. Opens in new tab."))
        assert [each["title"] for each in found] == ["A. B. C."]

    def test_the_site_can_stand_above_the_title(self, one_lab: cn.Lab) -> None:
        def led(href: str, *lines: str) -> str:
            said = "".join(f"<div>{line}</div>" for line in lines)
            return f'<div data-src-id="7"><a href="{href}" aria-label="{lines[1]}"></a><div>{said}</div></div>'

        text = "A kettle boils its water sooner the less of it there is in it."
        found = cited(
            one_lab,
            led("https://a.example/", "Kettles", "On boiling", text) + led("https://b.example/", "Tea", "On tea"),
        )
        assert [(each["site"], each["title"], each["snippet"]) for each in found] == [
            ("Kettles", "On boiling", text),
            ("Tea", "On tea", None),
        ]

    def test_a_label_that_is_an_element(self, one_lab: cn.Lab) -> None:
        labelled = (
            '<div data-src-id="4"><a href="https://a.example/v" aria-labelledby="t9"></a><div><div>8:01</div>'
            '<div id="t9" aria-hidden="true">How to boil</div></div><div>YouTube <span>· A channel</span></div></div>'
        )
        [citation] = cited(one_lab, labelled)
        assert (citation["title"], citation["site"]) == ("How to boil", "YouTube · A channel")


class TestLinksInTheProse:
    def test_links_that_lead_out_are_sources(self, one_lab: cn.Lab) -> None:
        prose = para('As <a href="https://lab.example/">the lab</a> and <a href="https://a.example/p">a shop</a> say.')
        found = cited(one_lab, card("https://a.example/p", "A shop's page", "Shop"), prose)
        assert [(each["title"], each["url"]) for each in found] == [
            ("A shop's page", "https://a.example/p"),
            ("the lab", "https://lab.example/"),
        ]

    def test_names_that_lead_to_the_engine_are_not(self, one_lab: cn.Lab) -> None:
        prose = para('In <a href="/search?q=nepal">Nepal</a> and <a href="https://www.google.com/maps/p">here</a>.')
        assert cited(one_lab, "", prose) == []

    def test_the_link_of_a_mark_says_the_title_of_its_source(self, one_lab: cn.Lab) -> None:
        """Where no card does. The words that all such labels end in are none of it."""
        prose = para(
            f"Water boils.{chip('Kettles +1', 'u1', 'https://k.example/', 'Kettles (+1) – On boiling. Related results')} "
            f"Then it steams.{chip('Tea', 'u2', 'https://t.example/', 'Tea – On tea. Related results')}"
        )
        found = cited(one_lab, "", prose)
        assert [(each["title"], each["site"], each["url"]) for each in found] == [
            ("On boiling", "Kettles", "https://k.example/"),
            ("On tea", "Tea", "https://t.example/"),
        ]


def note(uuid: str, *words: object, spelt: str = "Sv6Kpe") -> str:
    """What the page notes of a mark, out of sight."""
    data = json.dumps([[uuid, *words]]).replace('"', "&quot;").replace("'", "&#39;").replace("=", "\\u003d")
    return f'<div data-crb-el="x" style="display:none"><!--{spelt}{data}--></div>'


class TestClaims:
    def test_a_mark_names_its_publisher_and_how_many_more_there_are(self, one_lab: cn.Lab) -> None:
        prose = (
            para(f"Water boils.{chip('Kettles +2', 'u1')} Then it steams{chip('Tea', 'u2')}.")
            + f"<ul><li>At last.{chip('', 'u3', label='Zugehörige Links ansehen')}</li></ul>"
        )
        sources = card("https://k.example/", "On kettles", "Kettles") + card("https://t.example/", "On tea", "Tea")
        claims = read(one_lab, results(overview(prose, sources)))["claims"]
        assert claims == [
            {"text": "Water boils.", "id": "u1", "publisher": "Kettles", "extra": 2, "citations": [1]},
            {"text": "Then it steams", "id": "u2", "publisher": "Tea", "extra": None, "citations": [2]},
            {"text": "At last.", "id": "u3", "publisher": None, "extra": None, "citations": []},
        ]

    def test_a_mark_with_a_link_names_its_source(self, one_lab: cn.Lab) -> None:
        prose = para(f"Water boils.{chip('Site', href='https://b.example/#:~:text=x', label='Site (+1) – Links')}")
        sources = card("https://a.example/", "A", "Site") + card("https://b.example/", "B", "Site")
        [claim] = read(one_lab, results(overview(prose, sources)))["claims"]
        assert (claim["publisher"], claim["citations"]) == ("Site", [2])

    @pytest.mark.parametrize("spelt", ["Sv6Kpe", "TgQPHd||", "TgQPHd|||", "AnotherName|"])
    def test_what_the_page_notes_of_a_mark_tells_its_sources(self, one_lab: cn.Lab, spelt: str) -> None:
        """Seen 2025-05 to 2026-09, in comments: all the sources of a mark that shows one of them or none."""
        prose = para(f"Water boils.{chip('Site +1', 'u-1')} Then it steams.{chip('', 'u-2')}")
        sources = (
            card("https://a.example/", "The site's front page", "Site")
            + card("https://a.example/p?id=7#:~:text=it%20boils", "It boils", "Site")
            + card("https://b.example/", "B", "Tea")
        )
        notes = (
            note("u-1", ["It boils", "Text", "https://a.example/p?id=7"], spelt=spelt)
            + note("u-1", ["9"], None, 0, "https://b.example/#:~:text=x", "https://icon.example/?u=1", spelt=spelt)
            + note("u-2", ["It boils", "https://a.example/", [1, {"7": "https://a.example/p?id=7"}]], spelt=spelt)
            + note("u-9", ["B", "https://b.example/"], spelt=spelt)
            + "<!--u-1 is no data--><!--[&quot;u-1&quot;,-->"
        )
        claims = read(one_lab, results(overview(prose + notes, sources)))["claims"]
        assert [(each["id"], each["citations"]) for each in claims] == [("u-1", [2, 3]), ("u-2", [2])]

    def test_a_note_tells_a_source_with_an_encrypted_link_by_its_title(self, one_lab: cn.Lab) -> None:
        prose = para(f"Water boils.{chip('Site +1', 'u-1')}") + note("u-1", ["It boils", "https://a.example/p"])
        sources = card("/goto?url=CAES1", "It boils", "Site") + card("/goto?url=CAES2", "It steams", "Site")
        [claim] = read(one_lab, results(overview(prose, sources)))["claims"]
        assert claim["citations"] == [1]

    def test_the_link_of_a_mark_can_lie_beside_it(self, one_lab: cn.Lab) -> None:
        mark = (
            '<span><a href="https://b.example/" aria-label="Tea – B"></a><button data-icl-uuid="u1">Tea</button></span>'
        )
        sources = card("https://a.example/", "A", "Site") + card("https://b.example/", "B", "Site")
        found = read(one_lab, results(overview(para(f"Water boils.{mark}"), sources)))
        assert (found["text"], [each["citations"] for each in found["claims"]]) == ("Water boils.", [[2]])

    def test_words_that_a_mark_is_about_are_no_mark(self, one_lab: cn.Lab) -> None:
        """Prose can bear the id as well."""
        prose = para(f'<mark data-icl-uuid="u1">{LONG}</mark> {chip("Kettles", "u1")} {MORE}')
        found = read(one_lab, results(overview(prose)))
        assert found["text"] == f"{LONG} {MORE}"
        assert [each["text"] for each in found["claims"]] == [LONG]

    def test_a_publisher_of_two_sources_names_neither(self, one_lab: cn.Lab) -> None:
        sources = card("https://a.example/", "A", "Site") + card("https://b.example/", "B", "Site")
        [claim] = read(one_lab, results(overview(para(f"Water boils.{chip('Site')}"), sources)))["claims"]
        assert claim["citations"] == []

    def test_marks_that_are_not_seen_name_nothing(self, one_lab: cn.Lab) -> None:
        hidden = f'<span style="visibility:hidden">{chip("Site")}</span>'
        assert read(one_lab, results(overview(para(f"{MORE}{hidden}"))))["claims"] == []
