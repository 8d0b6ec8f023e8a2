"""``verify`` live on the lab and over saved pages of it: the history, the command, proposals for what is gone."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import castlenb as cn
from castlenb import cli, selectors
from castlenb.lab.mutations import still, unchanged

QUERY = "how does a heat pump work"

Save = Callable[..., Path]


@pytest.fixture(scope="module")
def page_of(one_lab: cn.Lab) -> str:
    """Google's page with an answer, as the lab serves it."""
    served: list[str] = []

    def kept(text: str) -> str:
        served.append(unchanged(text))
        return served[-1]

    one_lab.play(replace(still, alter=kept), engine="google", query=QUERY)
    cn.search(QUERY, ai_answer=True, browser=one_lab.browser)
    one_lab.play("instant")
    return served[-1]


@pytest.fixture
def saved(page_of: str, tmp_path: Path) -> Save:
    def save(month: str, old: str = "", new: str = "") -> Path:
        file = tmp_path / f"{month}_{len(list(tmp_path.iterdir()))}.html"
        file.write_text(page_of.replace(old, new) if old else page_of)
        return file

    return save


def test_live_runs_are_kept_and_the_labs_only_where_asked_to(lab: cn.Lab, tmp_path: Path) -> None:
    file = tmp_path / "verifications.csv"
    found = cn.verify(engines=["duckduckgo"], browser=lab.browser, history=file)
    assert found.holds
    assert set(selectors.history(file)["state"]) == {"holds"}
    assert set(selectors.records(file)["verdict"]) == {"ok", "not_judgeable"}
    usual = selectors.history_file()
    before = usual.read_bytes() if usual.exists() else None
    cn.verify(engines=["duckduckgo"], browser=lab.web.target)  # by its address, as by its own Browser
    assert (usual.read_bytes() if usual.exists() else None) == before


def test_a_blocked_engine_is_blocked_and_hides_no_other(lab: cn.Lab) -> None:
    lab.play("challenge", engine="bing")
    found = cn.verify(engines=["bing", "duckduckgo"], browser=lab.browser)
    assert [seen.page_state for seen in found.pages] == ["challenge", "results"]
    bing = found.checks[found.checks["engine"] == "bing"]
    assert set(bing["verdict"]) == {"blocked", "ok", "not_judgeable"}
    assert set(bing.loc[bing["verdict"] != "blocked", "part"]) == {"refusal"}
    assert "open https://www.bing.com/search" in str(found)
    assert not found.holds


def test_a_page_without_an_answer_says_nothing_of_its_hooks(lab: cn.Lab) -> None:
    lab.play(replace(still, answer=None))
    found = cn.verify(engines=["google"], budget_s=0.5, browser=lab.browser)
    of_answers = found.checks[found.checks["part"].str.startswith("answer_")]
    assert set(of_answers["verdict"]) <= {"not_judgeable", "ok"}
    assert set(of_answers.loc[of_answers["part"] == "answer_wrapper", "verdict"]) == {"not_judgeable"}
    assert found.holds


def test_saved_pages_are_compared_and_a_repair_is_proposed(lab: cn.Lab, saved: Save) -> None:
    files = [saved("2026-09"), saved("2026-09"), saved("2026-10", 'id="eKIzJc"', 'id="fLJaKd"')]
    found = cn.verify(captures=files, browser=lab.browser)
    assert [(check.hook.css, check.verdict) for check in found.drifted] == [("#eKIzJc", "missing")]
    assert found.by_month().loc[("google", "answer_wrapper", "#eKIzJc")].tolist() == [1.0, 0.0]
    best = found.repairs.iloc[0]
    assert (best["hook"], best["proposal"]) == ("#eKIzJc", '[jsname="ZLxsqf"]')
    assert (best["right"], best["wrong"], best["repaired"], best["still_broken"]) == (2, 0, 1, 0)
    assert 'use [jsname="ZLxsqf"]' in str(found)
    changed = selectors.diff(cn.verify(captures=files[:1], browser=lab.browser), found)
    assert changed[["hook", "before", "after"]].to_numpy().tolist() == [["#eKIzJc", "ok", "missing"]]


@pytest.mark.proof
def test_with_nothing_else_at_hand_the_hooks_that_hold_say_where_it_has_to_be(lab: cn.Lab, saved: Save) -> None:
    found = cn.verify(captures=saved("2026-10", 'id="rso"', 'id="tqm"'), browser=lab.browser)
    assert {check.hook.css for check in found.drifted} == {"#rso"}
    assert found.repairs.loc[found.repairs["part"] == "area", "proposal"].iloc[0] == "#tqm"


def test_the_command_fails_where_something_has_drifted(
    lab: cn.Lab, saved: Save, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--target", lab.web.target]
    assert cli.main(["verify", str(saved("2026-09")), *target]) == cli.OK
    assert "hooks hold on 1 page" in capsys.readouterr().out
    assert cli.main(["verify", "--json", str(saved("2026-10", 'id="rso"', 'id="tqm"')), *target]) == cli.FAILED
    said = json.loads(capsys.readouterr().out)
    assert {row["hook"] for row in said["checks"] if row["verdict"] == "missing"} == {"#rso"}
    assert said["repairs"][0]["proposal"] == "#tqm"


@pytest.mark.proof
def test_captures_and_their_files_are_checked_as_saved_pages_are(lab: cn.Lab, tmp_path: Path) -> None:
    lab.play("unparseable", engine="google")
    with pytest.raises(cn.UnparseableError) as refused:
        cn.search(QUERY, browser=lab.browser)
    kept = refused.value.capture
    assert kept is not None
    file = kept.save(tmp_path)
    found = cn.verify(captures=[kept, file], browser=lab.browser, propose=False)
    assert {seen.name for seen in found.pages} == {QUERY, file.name}
    assert {(seen.engine, seen.url, seen.page_state) for seen in found.pages} == {("google", kept.url, "unparseable")}
    assert {("heading", "missing")} <= {(check.hook.part, check.verdict) for check in found.drifted}


@pytest.mark.proof
def test_an_engine_in_a_cool_down_is_not_asked(lab: cn.Lab) -> None:
    lab.play("challenge", engine="bing")
    cn.verify(engines="bing", browser=lab.browser)
    lab.web.play("instant", engine="bing")
    found = cn.verify(engines="bing", browser=lab.browser)
    assert isinstance(found.failures["bing"], cn.SearchChallengeError)
    assert not found.holds
    lab.browser.cleared()
    assert cn.verify(engines="bing", browser=lab.browser).holds


def test_what_can_not_be_read_is_an_error(lab: cn.Lab, tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_text("")
    with pytest.raises(cn.CaptureError, match="none of the captures could be read"):
        cn.verify(captures=[tmp_path / "empty.html"], browser=lab.browser)


def test_the_view_for_a_notebook_is_escaped(lab: cn.Lab, saved: Save) -> None:
    file = saved("2026-10", "<h3", "<h3 title='<script>alert(1)</script>'")
    bad = file.with_name("2026-10_<img src=x onerror=alert(1)>.html")
    file.rename(bad)
    shown = cn.verify(captures=bad, browser=lab.browser)._repr_html_()
    assert "hooks hold on 1 page" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;img" in shown


@pytest.mark.proof
def test_a_picture_frames_what_the_hooks_find(lab: cn.Lab, saved: Save) -> None:
    found = cn.verify(captures=saved("2026-10", 'id="rso"', 'id="tqm"'), browser=lab.browser).with_pictures()
    (picture,) = found.pictures
    assert picture is not None
    assert picture.startswith(b"\xff\xd8")
    assert len(picture) > 10_000
    assert 'src="data:image/jpeg;base64,' in found._repr_html_()
