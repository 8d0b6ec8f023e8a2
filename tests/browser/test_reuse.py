"""Pages that are kept, so that running a notebook again asks no engine again."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import castlenb as cn
from castlenb import kept


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    cn.forget()
    yield
    cn.forget()
    cn.reuse(None)


def files() -> list[Path]:
    return list(kept._folder().glob("*"))


def test_a_page_is_asked_for_once(lab: cn.Lab) -> None:
    lab.play("2026-08-04")
    first = cn.search("tea", ai_answer=True, reuse="1d", browser=lab.browser)
    again = cn.search("tea", ai_answer=True, reuse="1d", browser=lab.browser)
    assert (first.reused, again.reused) == (False, True)
    assert len(lab.web.searches("tea")) == 1
    assert again.answer is not None
    assert again.answer.citations.equals(first.answer.citations)  # type: ignore[union-attr]
    assert again.results.equals(first.results)
    assert repr(again) == repr(first)
    assert again.fetched_at == first.fetched_at
    assert "kept from" in again._repr_html_()
    assert "kept from" not in first._repr_html_()
    for field in ("url", "timings", "warnings", "documents", "status", "visibility", "browser", "answer"):
        assert getattr(again, field) == getattr(first, field), field


def test_nothing_is_kept_or_reused_unless_asked_for(lab: cn.Lab) -> None:
    cn.search("tea", browser=lab.browser)
    assert files() == []
    cn.search("tea", reuse="1d", browser=lab.browser)
    assert not cn.search("tea", browser=lab.browser).reused
    assert len(lab.web.searches("tea")) == 3


@pytest.mark.parametrize(
    "other", [{"num_results": 5}, {"recency": "week"}, {"hl": "de"}, {"engine": "bing"}, {"visibility": "hidden"}]
)
def test_what_is_asked_otherwise_is_another_page(lab: cn.Lab, other: dict[str, object]) -> None:
    cn.search("tea", reuse="1d", browser=lab.browser)
    assert not cn.search("tea", reuse="1d", browser=lab.browser, **other).reused  # type: ignore[arg-type]


def test_an_old_page_is_fetched_anew(lab: cn.Lab) -> None:
    page = cn.search("tea", reuse="1d", browser=lab.browser)
    [file] = files()
    assert page.fetched_at is not None
    then = page.fetched_at.isoformat()
    for age, reused in ((timedelta(hours=23), True), (timedelta(hours=25), False), (timedelta(hours=-1), False)):
        text = file.read_text()
        file.write_text(text.replace(then, then := (datetime.now(UTC) - age).isoformat()))
        assert cn.search("tea", reuse="1d", browser=lab.browser).reused is reused
        then = next(line for line in file.read_text().split('"') if line.startswith("20") and "T" in line)


def test_several_searches_show_what_was_reused_and_when_it_was_fetched(lab: cn.Lab) -> None:
    cn.searches(["tea", "coffee"], reuse="1d", browser=lab.browser, num_results=3)
    found = cn.searches(["coffee", "milk"], reuse="1d", browser=lab.browser, num_results=3)
    assert found.results["reused"].tolist() == [True] * 3 + [False] * 3
    assert str(found.results["fetched_at"].dtype) == "datetime64[us, UTC]"
    assert found.results["fetched_at"].is_monotonic_increasing
    assert [len(lab.web.searches(query)) for query in ("tea", "coffee", "milk")] == [1, 1, 1]


def test_it_can_be_said_for_a_whole_notebook(lab: cn.Lab) -> None:
    cn.reuse("1d")
    cn.compare("tea", browser=lab.browser, engines=["google", "bing"])
    again = cn.compare("tea", browser=lab.browser, engines=["google", "bing"])
    assert again.results["reused"].all()
    assert len(lab.web.searches("tea")) == 2
    assert cn.forget() == 2
    assert files() == []
    cn.reuse(None)
    assert not cn.compare("tea", browser=lab.browser, engines=["google"]).results["reused"].any()


def test_a_page_that_was_kept_needs_no_chrome(lab: cn.Lab) -> None:
    with cn.connect(lab.web.target) as closed:
        cn.compare("tea", reuse="1d", browser=closed, engines=["google"])
    with pytest.raises(cn.Misuse):
        cn.search("coffee", reuse="1d", browser=closed)
    assert cn.search("tea", reuse="1d", browser=closed).reused
    assert cn.compare("tea", reuse="1d", browser=closed, engines=["google"]).pages[0].reused


def test_refusals_and_cut_answers_are_not_kept(lab: cn.Lab) -> None:
    lab.play("sorry")
    with pytest.raises(cn.SearchChallengeError):
        cn.search("tea", reuse="1d", browser=lab.browser)
    lab.play("answer-endless")
    page = cn.search("tea", reuse="1d", ai_answer=True, budget_s=1, browser=lab.browser)
    assert page.answer is not None
    assert page.answer.state == "growing"
    assert files() == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_kept_page_is_its_owners_alone(lab: cn.Lab) -> None:
    cn.search("tea", reuse="1d", browser=lab.browser)
    [file] = files()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.proof
@pytest.mark.parametrize("damage", ["", "{", "[]", '{"page": {"fetched_at": "soon"}}', "half", "\ud800"])
def test_a_damaged_page_costs_one_search_more(lab: cn.Lab, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    cn.search("tea", reuse="1d", browser=lab.browser)
    [file] = files()
    if damage == "half":
        damage = file.read_text().replace('"records"', '"rows"')
    file.write_bytes(damage.encode("utf-8", "surrogatepass"))
    assert not cn.search("tea", reuse="1d", browser=lab.browser).reused
    assert "fetched anew" in caplog.text
    assert cn.search("tea", reuse="1d", browser=lab.browser).reused


def test_where_nothing_can_be_kept_the_search_is_none_the_worse(
    lab: cn.Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "castlenb").write_text("in the way")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert len(cn.search("tea", reuse="1d", browser=lab.browser)) == 10
    assert "could not be kept" in caplog.text
