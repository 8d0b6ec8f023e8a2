"""What the lab's pages are made of: the same every time, and awkward on purpose."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlenb.errors import LabError
from castlenb.lab import A_BING_CARD, ALL_ANSWER, NO_GOOGLE_ANSWER, FakeWeb, Scenario, names, register, scenario
from castlenb.lab.content import WINDOWS, _result, passage, prose, questions, results


@settings(deadline=None)
@given(st.text(min_size=1), st.integers(1, 50))
def test_the_same_words_and_rank_give_the_same_result(query: str, first: int) -> None:
    once = results(query, first, 3)
    _result.cache_clear()
    assert once == results(query, first, 5)[:3]


@settings(deadline=None, max_examples=40)
@given(st.text(min_size=1))
def test_every_address_can_not_exist_and_none_comes_twice(query: str) -> None:
    urls = [result.url for result in results(query, 1, 47)]
    assert len(set(urls)) == 47
    for url in map(urlsplit, urls):
        assert url.scheme == "https"
        assert url.hostname is not None
        assert url.hostname.endswith(".example")
        assert url.geturl().isascii()


def test_results_vary_with_the_words() -> None:
    assert [result.title for result in results("a", 1, 10)] != [result.title for result in results("b", 1, 10)]
    hosts = [[urlsplit(result.url).hostname for result in results(query, 1, 10)] for query in ("a", "b")]
    assert hosts[0] != hosts[1]


@settings(deadline=None, max_examples=40)
@given(st.text(min_size=1), st.text(min_size=1), st.integers(1, 40))
def test_an_order_of_its_own_moves_results_a_little(query: str, order: str, count: int) -> None:
    usual = {result.url: result.rank for result in results(query, 1, count + 10)}
    other = results(query, 1, count, order=order)
    assert [result.rank for result in other] == list(range(1, count + 1))
    assert len({result.url for result in other}) == count
    assert all(abs(usual[result.url] - result.rank) <= 8 for result in other)
    assert [each for n in range(1, count + 1) for each in results(query, n, 1, order=order)] == other


def test_engines_agree_in_part() -> None:
    google, bing = ([each.url for each in results("tea", 1, 10, order=order)] for order in ("", "bing"))
    assert bing != google
    assert 5 <= len(set(google) & set(bing)) < 10


def test_a_page_holds_what_has_to_be_escaped() -> None:
    text = " ".join(f"{result.title} {result.snippet}" for result in results("tea", 1, 20))
    for awkward in ("&", "<", ">", '"', "'", "$", "🧭", "ד", "د"):
        assert awkward in text, awkward
    assert any(result.title.count("$") == 2 for result in results("tea", 1, 20))


def test_some_rows_show_no_host() -> None:
    shown = [result.shown[0] for result in results("tea", 1, 10)]
    assert sum("example" not in text for text in shown) == 1


@pytest.mark.parametrize("hours", WINDOWS.values())
def test_results_of_a_window_are_younger_than_it(hours: int) -> None:
    for result in results("news", 1, 40, within_hours=hours):
        assert result.age is not None
        assert timedelta(0) < result.age < timedelta(hours=hours)


@pytest.mark.parametrize(
    ("age", "written"),
    [
        (timedelta(minutes=5), "1 hour ago"),
        (timedelta(hours=5.5), "5 hours ago"),
        (timedelta(hours=30), "1 day ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=8), "Jul 27, 2026"),
    ],
)
def test_dates_are_written_as_engines_do(age: timedelta, written: str) -> None:
    now = datetime(2026, 8, 4, 12, tzinfo=UTC)
    assert replace(results("tea", 1, 1)[0], age=age).dated(now) == written
    assert replace(results("tea", 1, 1)[0], age=None).dated(now) == ""


@settings(deadline=None)
@given(st.text(min_size=1, max_size=40), st.integers(1, 2000), st.integers(0, 500))
def test_prose_grows_and_keeps_what_it_had(query: str, chars: int, more: int) -> None:
    assert len(prose(query, chars)) == chars
    assert prose(query, chars + more)[: chars - 1] == prose(query, chars)[: chars - 1]


@given(st.text(min_size=1, max_size=40), st.integers(1, 2000), st.integers(0, 500), st.integers(0, 2))
def test_a_passage_grows_in_place(query: str, chars: int, more: int, wording: int) -> None:
    shorter, longer = passage(query, chars, wording), passage(query, chars + more, wording)
    assert sum(map(len, shorter)) == chars
    assert longer[: len(shorter) - 1] == shorter[:-1]
    assert longer[len(shorter) - 1].startswith(shorter[-1])


def test_another_wording_is_another_text_of_that_length() -> None:
    for chars in (1, 40, 600):
        texts = ["".join(passage("tea", chars, wording)) for wording in range(3)]
        assert len(set(texts)) == 3
        assert {len(text) for text in texts} == {chars}


def test_questions_are_about_the_words() -> None:
    assert all("{braces}" in question for question in questions("{braces}", 4))


def test_scenarios_are_found_by_name() -> None:
    assert scenario("2026-08-04").name == "2026-08-04"
    assert len(names()) == len(set(names())) > 25
    assert all(scenario(name).about for name in names())
    with pytest.raises(LabError, match=r"no scenario 'nope'; there are: 2026-08-04, instant,"):
        scenario("nope")


def test_an_engine_can_have_its_own_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["castlenb.lab.scenario"], "_registry", {})
    register(Scenario("common", "For all."))
    register(Scenario("common", "For one."), engine="one")
    assert scenario("common", "one").about == "For one."
    assert scenario("common", "other").about == scenario("common").about == "For all."
    assert names() == ["common"]


def test_a_query_can_have_its_own_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["castlenb.lab.scenario"], "_registry", {})
    register(Scenario("common", "For all."))
    register(Scenario("common", "For one engine."), engine="one")
    register(Scenario("common", "For one query."), query="Why  not?")
    register(Scenario("common", "For both."), engine="one", query="both")
    about = {
        (engine, query): scenario("common", engine, query).about
        for engine in ("one", "other")
        for query in ("", "why not?", "BOTH", "else")
    }
    assert about == {
        ("one", ""): "For one engine.",
        ("one", "why not?"): "For one query.",
        ("one", "BOTH"): "For both.",
        ("one", "else"): "For one engine.",
        ("other", ""): "For all.",
        ("other", "why not?"): "For one query.",
        ("other", "BOTH"): "For all.",
        ("other", "else"): "For all.",
    }
    assert names() == names("one") == ["common"]


def test_the_field_notes_queries() -> None:
    def answers(engine: str, query: str) -> bool:
        return scenario("2026-08-04", engine, query).answer is not None

    engines = ("google", "bing", "brave", "duckduckgo")
    assert [answers(engine, "anything else") for engine in engines] == [True, False, True, False]
    assert not answers("google", NO_GOOGLE_ANSWER)
    assert scenario("2026-08-04", "bing", A_BING_CARD).card
    assert [answers(engine, ALL_ANSWER) for engine in engines] == [True, True, True, False]
    # A query's version is an engine's own: another engine's day is not changed by it.
    assert scenario("2026-08-04", "brave", NO_GOOGLE_ANSWER) == scenario("2026-08-04", "brave")
    assert scenario("2026-08-04", "duckduckgo", NO_GOOGLE_ANSWER) == scenario("2026-08-04", "duckduckgo")


def test_what_is_played_is_checked_when_it_is_said() -> None:
    web = FakeWeb()
    with pytest.raises(LabError, match="no scenario"):
        web.play("nope")
    with pytest.raises(LabError, match="does not play 'altavista'; it plays google, bing, brave, duckduckgo"):
        web.play("instant", engine="altavista")
    with pytest.raises(LabError, match="no scenario"):
        FakeWeb("nope")


def test_importing_the_lab_loads_no_server() -> None:
    code = "import sys, castlenb.lab; print([name for name in ('tornado', 'trustme') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
