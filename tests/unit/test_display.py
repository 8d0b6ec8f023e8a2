"""What a results page looks like: text that never changes by itself, mark-up that no stranger's words can bend."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from castlenb.display import search_page_html, search_page_text
from castlenb.display.clean import address, one_line, paragraphs

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
SNEAKY = st.sampled_from(
    ['"', "'", "<", ">", "&", "$", "\\", "`", "=", "{{", "}}", "{%", "<!--", "-->", "]]>", "\x00", "\n"]
)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test here promises a time
HOSTILE = st.one_of(ANY_TEXT, st.lists(st.one_of(SNEAKY, ANY_TEXT), max_size=8).map("".join))

HOSTILE_TITLES = [
    '"><img src=x onerror=alert(1)>',
    "<script>alert(1)</script>",
    "</ol></div><style>*{display:none}</style>",
    "' onmouseover='alert(1)",
    "<!-- <a href='javascript:alert(1)'>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &#60;b>",
]
NOT_LINKS = [
    'javascript:alert("x")',
    "JaVaScRiPt:alert(1)",
    "java\nscript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://example.org/1",
    "//example.org/",
    "/search?q=x",
    "https:example.org",
    "https:/example.org",
    "https:///example.org",
    "https:\\\\example.org",
    "https://good.example\\@bad.example/",
    "https://example.org/\u202egpj.exe",
    "https://exa\tmple.org/",
    "https://example.org/ x",
    "https://example.org:99999/",
    "https://ex%61mple.org/",
    "https://[::1",
    "https://b\u00fccher.example/",
    "https://0x7f.1/",
    "https://2130706433/",
    "https://example.org/\ud800",
    "",
    None,
    7,
]


def page(**changes: Any) -> dict[str, Any]:
    return {
        "engine": "google",
        "engine_label": "Google",
        "query": "pour over ratio",
        "url": "https://www.google.com/search?q=pour+over+ratio",
        "page_state": "results",
        "results": [hit(1), hit(2, title="Second", url="https://docs.example.org/two?x=1")],
        "answer": None,
        "timings": {},
        "warnings": [],
        **changes,
    }


def hit(rank: int, **changes: Any) -> dict[str, Any]:
    return {
        "rank": rank,
        "title": "First",
        "url": "https://www.example.org/one/",
        "link": "https://www.example.org/one/",
        "link_form": "direct",
        "snippet": "What the page says.",
        "site": "example.org",
        "date": None,
        **changes,
    }


def answer(**changes: Any) -> dict[str, Any]:
    source = {"n": 1, "title": "A source", "url": "https://source.example/a", "site": "source.example"}
    return {"label": "Google AI Overview", "state": "settled", "text": "One.\nTwo.", "citations": [source], **changes}


@dataclass
class Seen(HTMLParser):
    """A fragment as a browser takes it apart: tags with attributes, and runs of text."""

    html: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    style: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._in_style = False
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.style += data
        else:
            self.runs.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.runs).split())

    @property
    def links(self) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == "a"]


def shape(html: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(tag, tuple(attributes)) for tag, attributes in Seen(html).tags]


# Text


def test_text_is_a_line_that_names_the_page_and_a_numbered_list() -> None:
    shown = search_page_text(page(results=[hit(1, date="3 days ago"), hit(2, title="Second", snippet=None)]))
    assert shown == (
        "SearchPage(google, 'pour over ratio', 2 results)\n\n"
        " 1. First\n    https://www.example.org/one/\n    3 days ago · What the page says.\n\n"
        " 2. Second\n    https://www.example.org/one/"
    )


def test_text_has_no_times_and_counts_one_and_none() -> None:
    timed = page(timings={"call_total_ms": 103.7, "ai_settle_ms": None})
    assert search_page_text(timed) == search_page_text(page())
    assert search_page_text(page(results=[hit(1)])).startswith("SearchPage(google, 'pour over ratio', 1 result)")
    assert search_page_text(page(results=[], page_state="no_results")) == (
        "SearchPage(google, 'pour over ratio', no results)\n\nThe engine says that nothing matches."
    )


def test_text_wraps_and_never_breaks_an_address() -> None:
    url = "https://example.org/" + "segment/" * 30
    lines = search_page_text(page(results=[hit(1, url=url, snippet="word " * 90, title="long " * 30)])).splitlines()
    assert f"    {url}" in lines
    assert max(len(line) for line in lines if url not in line) <= 88


def test_text_shows_the_site_where_the_target_is_hidden() -> None:
    hidden = hit(1, url=None, link="https://www.google.com/goto?url=CAES", link_form="encrypted", site="golem.de")
    assert "    golem.de (hidden target)\n" in search_page_text(page(results=[hidden]))


def test_text_says_that_an_answer_is_generated_and_how_it_ended() -> None:
    shown = search_page_text(page(answer=answer(state="growing")))
    assert (
        "Google AI Overview (generated text, cut short: it was still being written when the wait ended, 1 source)"
        in shown
    )
    assert shown.index("One. Two.") < shown.index(" 1. First")
    declined = search_page_text(page(answer=answer(state="declined", text="", citations=[])))
    assert "Google AI Overview (the page says that none is available)" in declined


@unhurried
@given(HOSTILE, HOSTILE, HOSTILE)
def test_text_can_be_written_anywhere_and_steers_no_terminal(title: str, snippet: str, query: str) -> None:
    shown = search_page_text(page(query=query, results=[hit(1, title=title, snippet=snippet, url=title, site=snippet)]))
    shown.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


# Mark-up


def test_mark_up_links_titles_and_shows_hosts() -> None:
    seen = Seen(search_page_html(page()))
    assert [link["href"] for link in seen.links] == ["https://www.example.org/one/", "https://docs.example.org/two?x=1"]
    assert all(link["rel"] == "noopener noreferrer" and link["target"] == "_blank" for link in seen.links)
    assert "First example.org/one What the page says." in seen.text
    assert "Second docs.example.org/two?x=1" in seen.text
    assert seen.text.startswith("Google pour over ratio 2 results")


def test_the_answer_stands_above_the_list_and_not_in_it() -> None:
    html = search_page_html(page(answer=answer()))
    card, listed = html.index("<section"), html.index('<ol class="castlenb-hits"')
    assert card < html.index("Google AI Overview") < html.index("generated text") < html.index("</section>") < listed
    assert "One." not in html[listed:]


def test_a_long_answer_can_be_opened_and_nothing_of_it_is_lost() -> None:
    lines = [f"Paragraph {n}. " + "word " * 40 for n in range(12)]
    html = search_page_html(page(answer=answer(text="\n\n".join(lines))))
    assert "Rest of the answer" in html
    for line in lines:
        assert " ".join(line.split()) in Seen(html).text


def test_a_paragraph_as_long_as_a_page_is_opened_as_well() -> None:
    words = [f"word{n}" for n in range(600)]
    html = search_page_html(page(answer=answer(text=" ".join(words))))
    head, _, rest = html.partition("<details>")
    assert "word60" in head
    assert "word150" not in head
    assert " ".join(words) in Seen(html).text.replace("… Rest of the answer …", " ")
    assert "word599" in rest


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("declined", "none is available"),
        ("offered", "castlenb does not click"),
        ("shell", "something else"),
        ("new", "new"),
    ],
)
def test_an_answer_without_text_says_why_and_is_not_called_generated(state: str, words: str) -> None:
    shown = Seen(search_page_html(page(answer=answer(state=state, text="", citations=[])))).text
    assert words in shown
    assert "generated text" not in shown


def test_a_hidden_target_shows_its_site_and_what_the_link_opens() -> None:
    hidden = hit(1, url=None, link="https://www.google.com/goto?url=CAES", link_form="encrypted", site="golem.de")
    seen = Seen(search_page_html(page(results=[hidden])))
    assert seen.links[0]["href"] == "https://www.google.com/goto?url=CAES"
    assert "golem.de hidden target, through google.com" in seen.text


def test_a_page_without_results_says_why_and_can_be_opened() -> None:
    seen = Seen(search_page_html(page(results=[], page_state="suspected_block")))
    assert "An empty page, and nothing on it says why." in seen.text
    assert [link["href"] for link in seen.links] == ["https://www.google.com/search?q=pour+over+ratio"]


def test_times_can_be_found_and_left_out_of_a_comparison() -> None:
    html = search_page_html(page(timings={"call_total_ms": 1234.4, "ai_settle_ms": None, "loaded_ms": 5.0}))
    assert re.findall(r'<span class="castlenb-ms">([^<]*)</span>', html) == ["1,234 ms"]


@pytest.mark.parametrize("title", HOSTILE_TITLES)
def test_hostile_words_are_only_words(title: str) -> None:
    data = page(
        query=title,
        results=[hit(1, title=title, snippet=title, site=title)],
        answer=answer(text=title, label=title, citations=[{"n": 1, "title": title, "url": None, "site": title}]),
        warnings=[title],
    )
    calm = page(
        query="x",
        results=[hit(1, title="x", snippet="x", site="x")],
        answer=answer(text="x", label="x", citations=[{"n": 1, "title": "x", "url": None, "site": "x"}]),
        warnings=["x"],
    )
    assert shape(search_page_html(data)) == shape(search_page_html(calm))
    assert Seen(search_page_html(data)).text.count(title) == 8


@pytest.mark.parametrize("url", NOT_LINKS)
def test_only_web_addresses_become_links(url: Any) -> None:
    assert address(url) is None
    html = search_page_html(
        page(results=[hit(1, url=url, link=url)], answer=answer(citations=[{**hit(1), "n": 1, "url": url}]))
    )
    assert Seen(html).links == []


@pytest.mark.parametrize(
    ("url", "host", "rest"),
    [
        ("https://www.example.org/", "example.org", ""),
        ("http://example.org:8080/a/?b=c#d", "example.org:8080", "/a?b=c"),
        ("https://trusted.example@other.example/x", "other.example", "/x"),
        ("https://trusted.example:443@other.example/x", "other.example", "/x"),
        ("HTTPS://EXAMPLE.org/K%C3%B6ln", "example.org", "/Köln"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", ""),
        ("https://example.org/a%E2%80%AEb%0Ac", "example.org", "/ab c"),
        ("http://127.0.0.1:9222/json", "127.0.0.1:9222", "/json"),
        ("http://[::1]:80/", "[::1]:80", ""),
    ],
)
def test_the_host_shown_is_the_host_opened(url: str, host: str, rest: str) -> None:
    found = address(url)
    assert found is not None
    assert (found.href, found.host, found.rest) == (url, host, rest)


@unhurried
@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_words_change_the_mark_up(title: str, url: str, text: str) -> None:
    html = search_page_html(
        page(
            query=text,
            results=[
                hit(1, title=title, snippet=text, url="https://example.org/" + url, link=url, site=url, date=title)
            ],
            answer=answer(text=text, label=title, citations=[{"n": 1, "title": title, "url": url, "site": text}]),
            warnings=[title],
        )
    )
    html.encode("utf-8")
    seen = Seen(html)
    assert seen.comments == []
    assert {tag for tag, _ in seen.tags} <= {
        *("a", "bdi", "details", "div", "footer", "header", "li", "ol", "p", "section", "span", "style", "summary")
    }
    assert {name for _, attributes in seen.tags for name in attributes} <= {
        *("aria-label", "class", "dir", "href", "rel", "target", "title", "value")
    }
    assert all(re.match("https?://", str(link["href"]), re.I) for link in seen.links)
    assert one_line(title, 300) in "".join(seen.runs)


@unhurried
@given(HOSTILE)
def test_nothing_is_left_for_mathjax_to_pair(text: str) -> None:
    price = "from $200 to $700, \\(x\\) and \\begin{x}"
    html = search_page_html(page(query=text + price, results=[hit(1, title=price + text)], answer=answer(text=price)))
    for run in re.split(r"<[^>]*>", html.partition("</style>")[2]):
        assert run in ("$", "\\") or not re.search(r"[$\\]", run)
    assert price in Seen(html).text


def test_bidi_controls_are_neutralised_and_text_is_isolated() -> None:
    html = search_page_html(page(results=[hit(1, title="safe\u202egpj.exe\u2066", snippet="\u05d0\u200f\u05d1")]))
    assert "safegpj.exe" in html
    assert "<bdi>\u05d0\u200f\u05d1</bdi>" in html


def test_a_megabyte_of_text_stays_a_page() -> None:
    vast = "x" * 1_000_000
    data = page(
        query=vast, results=[hit(1, title=vast, snippet=vast, site=vast)], answer=answer(text=vast), warnings=[vast]
    )
    assert len(search_page_html(data)) < 40_000
    assert len(search_page_text(data)) < 4_000


def test_style_reaches_nothing_else_and_nothing_is_fetched() -> None:
    html = search_page_html(page(answer=answer()))
    style = Seen(html).style
    selectors = [selector.strip() for block in re.findall(r"([^{}]+)\{[^{}]*\}", style) for selector in _split(block)]
    assert len(selectors) > 20
    assert all(selector.startswith(".castlenb") for selector in selectors)
    assert not re.search(r"url\(|@import|@font-face|src=|<link|<script", html)


def _split(selectors: str) -> Iterator[str]:
    return iter(re.split(r",(?![^(]*\))", selectors))


# Cleaning


def test_nothing_is_an_empty_string() -> None:
    assert (one_line(None), one_line(float("nan")), one_line(3), paragraphs(None)) == ("", "", "3", [])


def test_lines_are_kept_where_they_are_wanted() -> None:
    assert one_line(" a\r\nb\u2028c\td ") == "a b c d"
    assert paragraphs("a\r\n\r\nb\u2029c\x0bd") == ["a", "b", "c", "d"]


def test_long_text_is_cut_with_a_sign() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, castlenb.display; print(sorted({'jinja2', 'markupsafe', 'pandas', 'IPython'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
