"""The addresses of Bing, Brave and DuckDuckGo: what is asked for, in each one's own words."""

import re
import time
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from castlenb import engines
from castlenb.engines import ENGINES, RECENCIES, EngineError, engine
from castlenb.engines.base import Engine
from castlenb.engines.duckduckgo import LONGEST, REGIONS


def params(url: str) -> dict[str, str]:
    """The parameters of an address, each of them once."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)
    assert len(pairs) == len(dict(pairs))
    return dict(pairs)


def asked(name: str, query: str = "tea", **more: object) -> dict[str, str]:
    return params(engine(name).search_url(query, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "place", "least"),
    [
        ("bing", "https://www.bing.com/search", {"q": "a & b", "setlang": "en"}),
        ("brave", "https://search.brave.com/search", {"q": "a & b", "source": "web", "summary": "0"}),
        ("duckduckgo", "https://html.duckduckgo.com/html/", {"q": "a & b"}),
    ],
)
def test_a_plain_search_asks_for_little(name: str, place: str, least: dict[str, str]) -> None:
    url = engine(name).search_url("a & b")
    assert url.partition("?")[0] == place
    assert params(url) == least


@pytest.mark.parametrize("name", ["bing", "brave", "duckduckgo"])
@given(query=st.text(min_size=1, max_size=LONGEST))
@settings(deadline=None, max_examples=50)
def test_the_words_arrive_as_they_were_given(name: str, query: str) -> None:
    try:
        query.encode()
    except UnicodeEncodeError:  # a lone surrogate is no text that could be sent
        return
    url = engine(name).search_url(query)
    assert url.isascii()
    assert parse_qs(urlsplit(url).query, keep_blank_values=True)["q"] == [query]


@pytest.mark.parametrize(
    ("name", "key", "spelt"),
    [
        ("bing", "filters", {"day": 'ex1:"ez1"', "week": 'ex1:"ez2"', "month": 'ex1:"ez3"'}),
        ("brave", "tf", {"day": "pd", "week": "pw", "month": "pm", "year": "py"}),
        ("duckduckgo", "df", {"day": "d", "week": "w", "month": "m", "year": "y"}),
    ],
)
def test_time_ranges(name: str, key: str, spelt: dict[str, str]) -> None:
    assert {recency: asked(name, recency=recency)[key] for recency in spelt} == spelt
    assert key not in asked(name)
    with pytest.raises(EngineError, match="no time range 'hour'; it has day, week, month, year"):
        engine(name).search_url("tea", recency="hour")


def test_a_year_at_bing_is_from_day_to_day() -> None:
    before = int(time.time() // 86_400)
    found = re.fullmatch(r'ex1:"ez5_(\d+)_(\d+)"', asked("bing", recency="year")["filters"])
    assert found
    first, last = int(found[1]), int(found[2])
    assert last - first == 365
    assert before <= last <= before + 1


def test_every_engine_has_every_time_range() -> None:
    assert all(each.recencies == set(RECENCIES) for each in ENGINES.values())


def test_pages_at_bing_count_from_one_and_name_their_form() -> None:
    assert "first" not in asked("bing")
    told = [(page["first"], page["FORM"]) for page in (asked("bing", start=start) for start in (10, 20, 30))]
    assert told == [("11", "PERE"), ("21", "PERE1"), ("31", "PERE2")]


def test_pages_at_brave_count_pages() -> None:
    assert "offset" not in asked("brave")
    assert [asked("brave", start=start)["offset"] for start in (20, 40)] == ["1", "2"]


def test_duckduckgo_has_one_page_with_an_address() -> None:
    duck = engine("duckduckgo")
    with pytest.raises(EngineError, match="only the rows of the first"):
        duck.search_url("tea", start=duck.page_size)


def test_an_answer_is_asked_for_or_switched_off() -> None:
    assert "summary" not in asked("brave", ai_answer=True)
    assert asked("bing", ai_answer=True) == asked("bing")


def test_language_and_country() -> None:
    bing = asked("bing", hl="de", gl="at")
    assert (bing["setlang"], bing["cc"]) == ("de", "at")
    assert "mkt" not in bing
    assert asked("brave", hl="de", gl="at")["country"] == "at"
    assert "kl" not in asked("duckduckgo", hl="de")


@pytest.mark.parametrize(
    ("gl", "hl", "region"),
    [
        ("de", "en", "de-de"),
        ("GB", "en", "uk-en"),
        ("ch", "fr", "ch-fr"),
        ("ch", "de-CH", "ch-de"),
        ("ch", "it", "ch-de"),
        ("ca", "fr", "ca-fr"),
        ("us", "es", "us-es"),
        ("jp", "ja", "jp-jp"),
        ("tw", "zh", "tw-tzh"),
        ("sa", "ar", "xa-ar"),
    ],
)
def test_regions_at_duckduckgo(gl: str, hl: str, region: str) -> None:
    assert asked("duckduckgo", gl=gl, hl=hl)["kl"] == region
    assert region in REGIONS


def test_a_region_that_it_has_not_got_is_said() -> None:
    with pytest.raises(EngineError, match="no region 'aq'; it has ar, at, au"):
        engine("duckduckgo").search_url("tea", gl="aq")


def test_a_query_that_is_too_long_for_it_is_said() -> None:
    with pytest.raises(EngineError, match="takes 499 characters, and the query has 500"):
        engine("duckduckgo").search_url("x" * 500)


@pytest.mark.parametrize("each", ENGINES.values(), ids=list(ENGINES))
def test_every_hook_says_where_it_was_seen_and_holds_on_to_no_generated_name(each: Engine) -> None:
    for hook in each.hooks:
        assert hook.evidence
        assert all(re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", month) for month in hook.held), hook
        assert hook.held[0] <= hook.held[1], hook
        assert "svelte-" not in hook.css
        assert not re.search(r"\.[A-Za-z]*\d[A-Za-z\d]*[A-Z]", hook.css), hook
    assert re.fullmatch(each.own, each.hosts[0])
    assert all(re.fullmatch(each.own, host) for host in each.hosts)
    assert all(refusal.evidence for refusal in each.refusals)


def test_an_engine_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ENGINES", dict(ENGINES))
    with pytest.raises(EngineError, match="an engine called 'bing' already"):
        engines.register(engine("bing"))
    with pytest.raises(EngineError, match="no engine is called 'altavista'; there are google, bing, brave, duckduckgo"):
        engine("altavista")
