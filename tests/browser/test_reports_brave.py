"""What people reported about Brave, each with a small made-up page and the right value."""

import pytest

import castlenb as cn

from .engine_pages import Read, brave, reader, snippet, state, urls


@pytest.fixture
def read(one_lab: cn.Lab) -> Read:
    return reader(one_lab)


class TestBrave:
    def test_ranks_are_counted_anew(self, read: Read) -> None:
        """data-pos counts blocks, from 0 on some pages and from 1 on others (seen 2026-04 and 2026-06)."""
        rows = [
            snippet("https://a.example/", pos=1),
            snippet("https://n.example/", kind='data-type="cluster"', pos=2),
            snippet("https://b.example/", pos=4),
        ]
        page = read("brave", brave(*rows))
        assert [(record["rank"], record["url"]) for record in page.records] == [
            (1, "https://a.example/"),
            (2, "https://b.example/"),
        ]
        assert (page.records[0]["snippet"], page.records[0]["date"]) == ("Words.", "1 week ago")

    def test_ads_are_dropped(self, read: Read) -> None:
        """brave/brave-core names their address; public parsers their id and type."""
        rows = [
            snippet("https://shop.example/", kind='data-type="ad" id="search-ad"'),
            snippet("https://search.brave.com/a/redirect?click_url=https%3A%2F%2Fshop.example&amp;placement_id=1"),
            snippet("/a/redirect?click_url=https%3A%2F%2Fshop.example&amp;placement_id=1"),
            snippet("https://a.example/"),
        ]
        assert urls(read("brave", brave(*rows))) == ["https://a.example/"]

    def test_links_of_the_answer_are_no_results(self, read: Read) -> None:
        answer = (
            '<div class="entity-infobox-wrapper"><div id="llm-snippet" class="snippet standalone">'
            '<div id="chatllm-main-answer-content">'
            '<a href="https://search.brave.com/ask?q=x"><div class="title">Elaborate</div></a>'
            f"{snippet('https://inner.example/')}</div></div></div>"
        )
        assert urls(read("brave", brave(answer, snippet("https://a.example/")))) == ["https://a.example/"]

    def test_one_page_twice_for_its_text_fragment(self, read: Read) -> None:
        """serpapi/public-roadmap#3827."""
        rows = [snippet("https://a.example/p#:~:text=Foo,bar"), snippet("https://a.example/p")]
        page = read("brave", brave(*rows, snippet("https://a.example/p#part", "Another part")))
        assert urls(page) == ["https://a.example/p", "https://a.example/p#part"]
        assert page.records[0]["fragment"] == "Foo,bar"

    def test_rows_do_not_need_their_list(self, read: Read) -> None:
        assert urls(read("brave", snippet("https://a.example/"))) == ["https://a.example/"]

    def test_its_own_pages_can_be_results(self, read: Read) -> None:
        rows = [
            snippet("https://search.brave.com/help/goggles"),
            snippet("https://search.brave.com/search?q=x", "More"),
        ]
        assert urls(read("brave", brave(*rows))) == ["https://search.brave.com/help/goggles"]

    def test_titles_of_older_pages(self, read: Read) -> None:
        row = (
            '<div class="snippet fdb" data-type="web" data-pos="0">'
            '<a href="https://a.example/" class="result-header"><span class="snippet-title">Title</span>'
            '<cite class="snippet-url">a.example</cite></a><div class="snippet-content">'
            '<p class="snippet-description">Words.</p></div></div>'
        )
        [record] = read("brave", brave(row)).records
        assert (record["title"], record["snippet"]) == ("Title", "Words.")

    @pytest.mark.parametrize(
        "body",
        [
            '<main><div id="pow-captcha-top"><button class="button type--hero">I am</button></div></main>',
            '<main><div id="pow-captcha-content"><progress id="pow-captcha-progress"></progress></div></main>',
        ],
    )
    def test_proof_of_work(self, read: Read, body: str) -> None:
        """Seven public clients look for it, most of them to click it."""
        assert state(read("brave", body)) == ("challenge", "captcha", 0)

    def test_words_about_captchas_are_words(self, read: Read) -> None:
        page = read("brave", brave(snippet("https://a.example/", "Switch to traditional CAPTCHA")))
        assert (state(page), page.warnings) == (("results", None, 1), ())

    def test_nothing_found(self, read: Read) -> None:
        banner = (
            '<div id="bad-results-info-banner" class="snippet standalone"><div id="bad-results-content"><h4>'
            "Not many great matches</h4></div></div>"
        )
        assert state(read("brave", brave(banner))) == ("no_results", None, 0)
        assert state(read("brave", brave(banner, snippet("https://a.example/")))) == ("results", None, 1)

    def test_an_empty_list_is_suspect_and_one_of_the_unknown_is_drift(self, read: Read) -> None:
        assert state(read("brave", brave())) == ("suspected_block", None, 0)
        assert state(
            read("brave", brave('<div id="pagination"><a href="/search?q=x&amp;offset=1">Next</a></div>'))
        ) == ("suspected_block", None, 0)
        assert state(read("brave", brave('<article class="tile">A title. Words.</article>'))) == (
            "unparseable",
            None,
            0,
        )
