"""Every real page at hand, made a capture: what is read of it is the same before and after, to the letter."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import castlenb as cn

from . import real_pages
from .real_pages import RealPage
from .test_captures import said

pytestmark = [pytest.mark.proof, pytest.mark.xdist_group("real captures")]

PAGES = [page for engine in real_pages.KNOWN for page in real_pages.pages(engine)]

_two_at_a_time = ThreadPoolExecutor(2)
_under_way: dict[str, Future[tuple[cn.SearchPage, cn.Capture, cn.SearchPage]]] = {}


def there_and_back(
    page: RealPage, browser: cn.Browser, folder: Path
) -> tuple[cn.SearchPage, cn.Capture, cn.SearchPage]:
    """The page as it is read, the capture that it makes, as its file has it, and what is read of that."""
    html = cn.captures.source_of(page.file)
    assert isinstance(html, str)
    with cn.replay(html, engine=page.engine, browser=browser) as opened:
        before, kept = opened.read(), opened.capture()
    kept = cn.Capture.load(kept.save(folder / f"{page.file.name}.capture.gz"))
    return before, kept, kept.read(browser=browser)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.mark.skipif(not PAGES, reason="there are no real pages on this machine")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_real_page_reads_the_same_from_its_capture(one_lab: cn.Lab, folder: Path, page: RealPage) -> None:
    for each in PAGES:
        if each.name not in _under_way:
            _under_way[each.name] = _two_at_a_time.submit(there_and_back, each, one_lab.browser, folder)
    before, kept, after = _under_way[page.name].result()
    real_pages.tested.add(page.name)
    assert said(after) == {**said(before), "page": (before.page_state, before.challenge_kind, kept.url)}
    assert "<script" not in kept.html
    assert "data:image" not in kept.html
