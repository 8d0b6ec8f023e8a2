"""What an answer cites, and which of its words name which source."""

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

    def test_a_publisher_of_two_sources_names_neither(self, one_lab: cn.Lab) -> None:
        sources = card("https://a.example/", "A", "Site") + card("https://b.example/", "B", "Site")
        [claim] = read(one_lab, results(overview(para(f"Water boils.{chip('Site')}"), sources)))["claims"]
        assert claim["citations"] == []

    def test_marks_that_are_not_seen_name_nothing(self, one_lab: cn.Lab) -> None:
        hidden = f'<span style="visibility:hidden">{chip("Site")}</span>'
        assert read(one_lab, results(overview(para(f"{MORE}{hidden}"))))["claims"] == []
