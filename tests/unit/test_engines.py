"""The engines' data: addresses, own hosts, hooks."""

import json
import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from castlenb.engines import ENGINES, RECENCIES, Engine, EngineError, engine
from castlenb.errors import CastleError

GOOGLE = ENGINES["google"]


def asked(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))


class TestAnyEngine:
    @pytest.fixture(params=list(ENGINES))
    def one(self, request: pytest.FixtureRequest) -> Engine:
        return ENGINES[request.param]

    def test_its_name_is_its_key(self, one: Engine) -> None:
        assert engine(one.name) is one
        assert ENGINES[one.name] is one

    def test_its_address_is_on_its_own_host(self, one: Engine) -> None:
        parts = urlsplit(one.search_url("tea & pots #1"))
        assert (parts.scheme, parts.netloc) == ("https", one.hosts[0]) or parts.netloc in one.hosts
        assert "tea & pots #1" in asked(parts.geturl()).values()
        assert all(re.search(one.own, host) for host in one.hosts)
        assert not re.search(one.own, one.hosts[0] + ".example")

    def test_what_the_page_scripts_get_is_plain_json(self, one: Engine) -> None:
        spec = one.spec()
        assert json.loads(json.dumps(spec)) == spec
        assert spec["engine"] == one.name
        assert spec["parts"]["heading"]
        for pattern in (one.own, *one.never, *(rule.address for rule in one.refusals if rule.address)):
            re.compile(pattern)

    def test_a_hook_says_who_saw_it_and_when(self, one: Engine) -> None:
        for hook in one.hooks:
            first, last = hook.held
            assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", first)
            assert first <= last
            assert hook.evidence
        for rule in one.refusals:
            assert rule.evidence
            assert bool(rule.address) + bool(rule.css) + bool(rule.noscript) == 1

    def test_an_unknown_time_range_is_an_error_that_names_those_known(self, one: Engine) -> None:
        with pytest.raises(EngineError, match=rf"{one.label}.*'decade'.*day"):
            one.search_url("x", recency="decade")


def test_an_unknown_engine_is_an_error_that_names_those_known() -> None:
    with pytest.raises(EngineError, match=r"'altavista'.*google") as raised:
        engine("altavista")
    assert isinstance(raised.value, CastleError)
    assert isinstance(raised.value, ValueError)


class TestGoogle:
    def test_the_web_tab_by_default(self) -> None:
        assert GOOGLE.search_url("tea") == "https://www.google.com/search?q=tea&hl=en&udm=14"

    @pytest.mark.parametrize("recency", RECENCIES)
    def test_a_time_range_drops_udm_and_is_never_tbs(self, recency: str) -> None:
        """``udm=14`` with a range, and ``tbs=qdr:`` at all, render an empty page (field notes, 2026-08-04)."""
        assert asked(GOOGLE.search_url("tea", recency=recency)) == {"q": "tea", "hl": "en", "as_qdr": recency[0]}

    def test_an_answer_needs_the_page_that_has_one(self) -> None:
        assert asked(GOOGLE.search_url("tea", ai_answer=True)) == {"q": "tea", "hl": "en"}

    def test_language_country_and_further_pages(self) -> None:
        """``num`` is no longer honoured: ten rows a page."""
        url = GOOGLE.search_url("täglich + mehr", start=10, hl="de", gl="at")
        assert asked(url) == {"q": "täglich + mehr", "hl": "de", "gl": "at", "udm": "14", "start": "10"}
        assert GOOGLE.page_size == 10

    @pytest.mark.parametrize("host", ["www.google.com", "google.com", "www.google.co.uk", "www.google.com.br"])
    def test_own_hosts(self, host: str) -> None:
        assert re.search(GOOGLE.own, host)

    @pytest.mark.parametrize(
        "host", ["support.google.com", "google.example", "www.google.com.example.org", "agoogle.de"]
    )
    def test_other_hosts(self, host: str) -> None:
        assert not re.search(GOOGLE.own, host)

    def test_no_generated_class_name(self) -> None:
        """Google's class names change between two loads; the one kept says what it marks, and has since 2015."""
        every = [hook.css for hook in GOOGLE.hooks] + [css for rule in GOOGLE.refusals for css in rule.css]
        bare = " ".join(re.sub(r"\[[^]]*\]", "", css) for css in every)
        assert set(re.findall(r"\.(-?[_a-zA-Z][\w-]*)", bare)) == {"related-question-pair", "g-recaptcha"}

    def test_what_verify_checks_is_what_a_search_uses(self) -> None:
        used = [css for selectors in GOOGLE.spec()["parts"].values() for css in selectors]
        assert sorted(used) == sorted(hook.css for hook in GOOGLE.hooks)
