"""The line that says how far a call is: its words, on a terminal, and nowhere else."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import castlenb as cn
from castlenb import live
from castlenb.live import OfCompare, OfSearch, OfSearches


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: pytest sets ``sys.stderr`` anew between the setting-up and the test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def page(results: int, answer: cn.AIAnswer | None = None) -> Any:
    return cn.SearchPage("google", "tea", "", "results", None, answer, ({},) * results, {}, (), 1, 200, "", None, "")


async def a_search(
    query: str, *, engine: str = "google", progress: Callable[[str, int], object] | None = None
) -> cn.SearchPage:
    if progress is not None:
        progress("results", 4)
        await asyncio.sleep(0.6)
        progress("growing", 1385)
        await asyncio.sleep(0.6)
    if query == "no":
        raise cn.NoResultsError(engine, query, "", "")
    return page(10)  # type: ignore[no-any-return]


searching = live.plain(a_search, OfSearch)


def said(terminal: Terminal) -> list[str]:
    return [text.strip() for text in terminal.getvalue().split("\r")[1:]]


def test_on_a_terminal_it_is_one_line_that_ends_as_a_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    assert len(searching("tea")) == 10
    lines = said(terminal)
    assert lines[0] == "google 'tea'"
    assert "google 'tea': waiting for results, 4 so far" in lines
    assert any(line.startswith("google 'tea': answer growing, 1,385 characters") for line in lines)
    assert lines[-1].startswith("google 'tea': 10 results in 1.")
    assert terminal.getvalue().endswith("\n")
    assert terminal.getvalue().count("\n") == 1
    for before, after in pairwise(terminal.getvalue().rstrip("\n").split("\r")):
        assert len(after) >= len(before.rstrip()), "the end of a longer line was left standing"


def test_awaited_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    assert len(asyncio.run(live.marshalled(a_search, OfSearch)("tea"))) == 10
    assert said(terminal)[-1].startswith("google 'tea': 10 results in 1.")


def test_a_failure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with pytest.raises(cn.NoResultsError):
        searching("no")
    assert said(terminal)[-1] == "google 'no': NoResultsError"


def test_no_query_steers_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    searching("\x1b[2J\r\n" + "long " * 100)
    assert "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().count("\n") == 1
    assert max(map(len, said(terminal))) < 200


def test_elsewhere_there_is_none(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)

    def in_a_thread() -> None:
        searching("tea")

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert terminal.getvalue() == "", "a line for each of several threads would be a heap of them"
    told: list[Any] = []
    searching("tea", progress=lambda *what: told.append(what))
    assert terminal.getvalue() == "", "who follows it themselves was shown a line as well"
    assert told == [("results", 4), ("growing", 1385)]
    sys.stderr = io.StringIO()  # which monkeypatch puts right in the end
    searching("tea")
    assert sys.stderr.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_the_words_for_a_search() -> None:
    words = OfSearch({"engine": "bing", "query": "it's"})
    tell = words.taps["progress"]
    assert (words.what, words.now()) == ('bing "it\'s"', "connecting")
    tell("results", 0)
    assert words.now() == "waiting for results"
    tell("absent", 0)
    assert words.now() == "waiting for the answer"
    answer = cn.AIAnswer("bing", "Bing generative answer", "growing", text="x" * 1200)
    assert words.outcome(page(1, answer)) == "1 result, Bing generative answer growing, 1,200 characters"
    none = cn.AIAnswer("bing", "Bing generative answer", "absent")
    assert words.outcome(page(2, none)) == "2 results, Bing generative answer absent"


def test_the_words_for_a_comparison() -> None:
    words = OfCompare({"query": "tea", "engines": ("google", "bing", "brave")})
    tell, arrived = words.taps["progress"], words.taps["arrived"]
    assert words.now() == "google connecting; bing connecting; brave connecting"
    arrived(SimpleNamespace(engine=SimpleNamespace(name="bing")), page(10))
    tell("google", "results", 4)
    tell("brave", "growing", 1200)
    assert words.now() == (
        "google waiting for results, 4 so far; bing 10 results; brave answer growing, 1,200 characters"
    )
    arrived(SimpleNamespace(engine=SimpleNamespace(name="google")), cn.NoResultsError("google", "tea", "", ""))
    arrived(SimpleNamespace(engine=SimpleNamespace(name="brave")), page(1))
    assert words.outcome(cn.Searches((), {})) == "google NoResultsError; bing 10 results; brave 1 result"


def test_the_words_for_many_searches() -> None:
    words = OfSearches({"engine": "google", "queries": ["a", "b"]})
    words.taps["arrived"](None, page(3))
    assert (words.what, words.now()) == ("google searches", "1 done")
    failed = {("google", "b"): cn.NoResultsError("google", "b", "", "")}
    assert words.outcome(cn.Searches((page(3),), failed)) == "3 results of 1 query, 1 failed"
