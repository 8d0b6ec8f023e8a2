"""Every real page at hand, through the reader that a search uses: state, number of results, and which they are."""

from urllib.parse import urldefrag

import pytest

from . import real_pages
from .real_pages import RealPage

pytestmark = pytest.mark.xdist_group("real pages")  # each page is read once, for both

BLANKED = "its addresses are blanked, and two of its rows have one title: they are taken for one row"

EXCEPTIONS = {"duckduckgo": {"ddg/2026-04_js_duckassist_openserp.html.gz": BLANKED}}
"""Pages on which the reader is known to be wrong, with the reason. Two at most an engine; no rule may name one."""

PAGES = [page for engine in real_pages.KNOWN for page in real_pages.pages(engine)]


def same(url: str | None) -> str:
    return urldefrag(url or "")[0].rstrip("/")


@pytest.mark.skipif(not PAGES, reason="there are no real pages on this machine")
@pytest.mark.parametrize("expected", PAGES, ids=lambda page: page.name)
def test_a_real_page_is_read_right(expected: RealPage) -> None:
    page = real_pages.read(expected.name, expected.engine)
    real_pages.tested.add(expected.name)
    if expected.name in EXCEPTIONS.get(expected.engine, {}):
        return
    assert page.page_state == expected.page_state
    if expected.challenge_kind and expected.page_state == "challenge":
        assert page.challenge_kind == expected.challenge_kind
    found = [record["url"] for record in page.records]
    assert expected.fewest <= len(found) <= expected.most
    if expected.first_url:
        assert same(found[0]) == same(expected.first_url)
    if expected.last_url:
        assert same(found[-1]) == same(expected.last_url)
    if all(expected.urls):
        assert [same(url) for url in found] == [same(url) for url in expected.urls]
    assert all(record["title"] and record["link"].startswith("http") and record["site"] for record in page.records)


def test_exceptions_stay_few_and_real() -> None:
    assert all(len(pages) <= 2 for pages in EXCEPTIONS.values())
    named = {name for pages in EXCEPTIONS.values() for name in pages}
    assert not PAGES or named <= {page.name for page in PAGES}
