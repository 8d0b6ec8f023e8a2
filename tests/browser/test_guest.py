"""Cool-downs, turns and our tabs, as searches through a real Chromium meet them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

import castlenb as cn
from castlenb import bridge, serp
from castlenb.ledger import state_folder

from .conftest import Onlooker


def sent(lab: cn.Lab, engine_host: str = "www.google.com") -> int:
    return sum(request.host == engine_host for request in lab.web.searches())


def test_after_a_challenge_nothing_is_sent_until_somebody_has_cleared_it(lab: cn.Lab) -> None:
    lab.play("sorry")
    with pytest.raises(cn.SearchChallengeError) as first:
        cn.search("pour over coffee", browser=lab.browser)
    assert first.value.page is not None
    assert first.value.refused_at is None
    with pytest.raises(cn.SearchChallengeError) as second:
        cn.search("weather in Lima", browser=lab.browser)
    error = second.value
    assert (error.kind, error.query, error.page) == ("sorry", "weather in Lima", None)
    assert error.human_url == "https://www.google.com/search?q=weather+in+Lima&hl=en&udm=14"
    assert error.refused_at is not None
    assert error.retry_at is not None
    assert timedelta(seconds=20) < error.retry_at - datetime.now(UTC) <= timedelta(seconds=60)
    assert "was not sent" in str(error)
    assert sent(lab) == 1, "it was sent all the same"

    lab.web.play("instant")
    assert len(cn.search("tea", browser=lab.browser, even_if_blocked=True)) == 10
    assert len(cn.search("tea", browser=lab.browser)) == 10, "a page that was answered had not ended it"
    lab.web.play("sorry")
    with pytest.raises(cn.SearchChallengeError):
        cn.search("coffee", browser=lab.browser)
    assert lab.browser.cleared("google")
    lab.web.play("instant")
    assert len(cn.search("coffee", browser=lab.browser)) == 10
    assert not lab.browser.cleared("google")


@pytest.mark.proof
def test_two_empty_pages_on_unrelated_words_and_no_more(lab: cn.Lab) -> None:
    lab.play("empty")
    when = []
    for query in ("pour over coffee", "pour over coffee ratio", "weather in Lima", "tea pots"):
        with pytest.raises(cn.SuspectedBlockError) as raised:
            cn.search(query, browser=lab.browser)
        when.append((raised.value.page is not None, raised.value.retry_at is not None))
    assert when == [(True, False), (True, False), (True, True), (False, True)]
    assert sent(lab) == 3


@pytest.mark.proof
def test_one_engine_s_cool_down_hides_no_other(lab: cn.Lab) -> None:
    lab.play("challenge", engine="bing")
    for _ in range(2):
        found = cn.compare("tea", browser=lab.browser)
        assert [page.engine for page in found.pages] == ["google", "brave", "duckduckgo"]
        [(engine, _)] = found.errors
        assert engine == "bing"
    assert sent(lab, "www.bing.com") == 1


def test_closing_a_browser_closes_the_tabs_of_searches_under_way(lab: cn.Lab, onlooker: Onlooker) -> None:
    before = len(onlooker.tabs())
    lab.play("stalled")
    browser = cn.connect(lab.web.target)
    with ThreadPoolExecutor(1) as pool:
        searching = pool.submit(cn.search, "closed under way", browser=browser)
        onlooker.wait_for_tab("closed+under+way")
        browser.close()
        browser.close()
        until = time.monotonic() + 15
        while len(onlooker.tabs()) > before and time.monotonic() < until:
            time.sleep(0.02)
        assert len(onlooker.tabs()) == before
        with pytest.raises((cn.CastleError, cn.Misuse)):
            searching.result(timeout=30)


@pytest.fixture
def no_lab(lab: cn.Lab) -> Iterator[str]:
    """The lab's address while nobody says that it is a lab's."""
    sign = state_folder() / "labs" / lab.web.target.rpartition(":")[2]
    aside = sign.rename(sign.with_suffix(".aside"))
    yield lab.web.target
    aside.rename(sign)


def test_a_wait_for_the_pace_is_said_and_can_be_interrupted(no_lab: str, caplog: pytest.LogCaptureFixture) -> None:
    pace = [(2, 300)]
    with cn.connect(no_lab) as browser:
        page = cn.search("one", browser=browser, pace=pace)
        assert page.timings["queued_ms"] is not None
        cn.capture("two", ai_answer=False, browser=browser, pace=pace)
        ended = threading.Event()
        cancel = bridge.start(serp.search("three", browser=browser, pace=pace), ended=lambda _: ended.set())
        until = time.monotonic() + 15
        while "asked again" not in caplog.text and time.monotonic() < until:
            time.sleep(0.02)
        assert "Google is asked again in" in caplog.text
        assert "2 pages in 300 s" in caplog.text
        cancel()
        assert ended.wait(15)
        assert browser.manners().asked["google"] == 2
        page = cn.search("four", browser=browser, pace="off")
        assert page.warnings == ("sent without a pace, as was asked for",)


def test_logs_and_errors_bear_no_token_of_a_page(lab: cn.Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "castlenb")
    lab.play("stalled")
    with pytest.raises(cn.SearchTimeout) as late:
        cn.search("sesame", browser=lab.browser, deadline_s=2)
    lab.play("reset")
    with pytest.raises(cn.NavigationFailed) as reset:
        cn.search("sesame", browser=lab.browser)
    assert "q=…" in str(late.value)
    assert "q=…" in str(reset.value)
    assert "sesame" in reset.value.url
    assert "sesame" not in caplog.text


@pytest.mark.proof
def test_no_more_visits_at_a_time_than_two_for_all_browsers_of_a_chrome(lab: cn.Lab, onlooker: Onlooker) -> None:
    lab.play("slow-head")
    before = len(onlooker.tabs())
    most, done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(onlooker.tabs()) - before)
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with cn.connect(lab.web.target) as other, ThreadPoolExecutor(4) as pool:
        browsers = [lab.browser, other, lab.browser, other]
        pages = list(pool.map(lambda n: cn.search(f"q{n}", browser=browsers[n], deadline_s=60), range(4)))
    done.set()
    watcher.join()
    assert [len(page) for page in pages] == [10] * 4
    assert most == 2
