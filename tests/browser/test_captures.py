"""Captures: kept from a search's own tab, read as the page was, replayed as its answer grew, and carried by refusals."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import castlenb as cn
from castlenb import captures, cli, page
from castlenb.engines import ENGINES
from castlenb.lab import scenario
from castlenb.snapshot import Drift

from .google_pages import URL
from .test_replay import Listener, everything_that_loads, results_page

QUERY = "pour over coffee"
SLACK_MS = 250
DATA = Path(__file__).parents[2] / "data" / "captures"


@pytest.fixture(scope="module")
def grown(one_lab: cn.Lab) -> tuple[cn.Capture, cn.SearchPage]:
    """A page whose answer grew, kept, and what a search reads on it."""
    one_lab.play("answer-loading", engine="google")
    kept = cn.capture(QUERY, deadline_s=60, browser=one_lab.browser)
    live = cn.search(QUERY, ai_answer=True, deadline_s=60, keep=True, browser=one_lab.browser)
    one_lab.play("instant")
    return kept, live


def said(page: cn.SearchPage) -> dict[str, object]:
    """What a page says, however it was come by."""
    answer = page.answer
    assert answer is not None
    return {
        "page": (page.page_state, page.challenge_kind, page.url),
        "results": page.records,
        "answer": (answer.state, answer.text, answer.header, answer.language, answer.placement, answer.records),
        "claims": [(claim["text"], claim["publisher"], claim["citations"]) for claim in answer.claims],
        "markers": dict(answer.markers),
        "warnings": (page.warnings, answer.warnings),
    }


def test_a_search_can_keep_its_page(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage]) -> None:
    _, live = grown
    assert live.capture is not None
    assert live.capture.growth[-1][0] >= live.timings["ai_settle_ms"]
    assert said(live.capture.read(browser=lab.browser))["results"] == live.records
    assert cn.search(QUERY, browser=lab.browser).capture is None, "nobody asked for it"


def test_a_capture_holds_what_the_visit_saw(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage]) -> None:
    kept, live = grown
    assert (kept.engine, kept.query, kept.url) == ("google", QUERY, live.url)
    assert repr(kept) == f"Capture(google, {QUERY!r}, results)"
    assert timedelta(0) < datetime.now(UTC) - kept.captured_at < timedelta(minutes=10)
    assert kept.chrome == lab.browser.version["Browser"]
    assert dict(kept.found) == {
        "page_state": "results",
        "challenge_kind": None,
        "results": 10,
        "answer_state": "settled",
        "settled_by": "marker",
        "reason": "marker",
        "status": 200,
        "documents": 1,
        "visibility": "emulated",
    }
    assert kept.timeline["answer"]["changes"]
    assert kept.growth[-1][0] >= kept.timings["ai_settle_ms"] >= kept.timings["ai_appear_ms"] > 0
    assert "<script" not in kept.html
    begin, end = kept.answer_at or (0, 0)
    assert kept.growth[-1][1] == kept.html[begin:end]
    assert kept.html[begin:end].startswith("<div")
    assert len(kept.growth) >= 4
    assert kept.hooks == {}


def test_it_is_read_as_the_page_was(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage], tmp_path: Path) -> None:
    kept, live = grown
    file = kept.save(tmp_path)
    [again] = cn.read(file, browser=lab.browser)
    assert said(again) == said(live)
    assert again.query == QUERY
    assert said(kept.read(browser=lab.browser)) == said(live)
    assert captures.corpus(tmp_path)["file"].tolist() == [file.name]
    with cn.replay(kept, browser=lab.browser) as opened:
        assert opened.url == kept.url
        assert opened.read().timings == {}
        assert replace(opened.capture(captured_at=kept.captured_at), redacted=()).html == kept.html


def test_its_answer_grows_again_in_its_own_time(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage]) -> None:
    kept, live = grown
    with cn.replay(cn.Capture(**vars(kept)), growth=True, browser=lab.browser) as opened:
        for _ in range(2):  # as often as it is read
            again = opened.read()
            assert said(again) == said(live)
            for name in ("ai_loading_ms", "ai_appear_ms", "ai_settle_ms"):
                assert again.timings[name] == pytest.approx(kept.timings[name], abs=SLACK_MS), name
        assert again.answer is not None
        assert again.answer.settled_by == "marker"
        assert opened.evaluate("castlenb.watcher.now() && 1") == 1
        changes = opened.evaluate("castlenb.growth.timeline().changes")
        seen = dict.fromkeys(chars for _, _, chars, _ in kept.timeline["answer"]["changes"])
        assert list(dict.fromkeys(chars for _, _, chars, _ in changes)) == list(seen)


@pytest.mark.parametrize("kept", ["html", "capture"])
def test_growth_that_is_not_there_can_not_be_shown(lab: cn.Lab, kept: str) -> None:
    what = cn.Capture(results_page(), URL, "google", "tea", datetime.now(UTC)) if kept == "capture" else results_page()
    with (
        pytest.raises(cn.CaptureError, match="no growth to show"),
        cn.replay(what, engine="google", growth=True, browser=lab.browser),
    ):
        pass


async def test_the_same_as_coroutines(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage]) -> None:
    kept = await cn.aio.capture(QUERY, engine="bing", ai_answer=False, browser=lab.browser)
    assert (await kept.aread(browser=lab.browser)).records == cn.search(
        QUERY, engine="bing", browser=lab.browser
    ).records
    async with cn.aio.replay(grown[0], browser=lab.browser) as opened:
        assert (await opened.aread()).records == grown[1].records
        assert (await opened.acapture()).query == QUERY


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "google"])
def test_every_engine(lab: cn.Lab, engine: str, tmp_path: Path) -> None:
    kept = cn.capture(QUERY, engine=engine, path=tmp_path, ai_answer=False, browser=lab.browser)
    [file] = tmp_path.iterdir()
    assert cn.Capture.load(file) == kept
    live = cn.search(QUERY, engine=engine, browser=lab.browser)
    # All that the page has, which can be more than a search asks for.
    assert kept.read(browser=lab.browser).records[: len(live)] == live.records


@pytest.mark.proof
@pytest.mark.parametrize(
    ("plays", "error"),
    [("unparseable", cn.UnparseableError), ("empty", cn.SuspectedBlockError), ("sorry-429", cn.SearchChallengeError)],
)
def test_a_refusal_carries_its_page(lab: cn.Lab, tmp_path: Path, plays: str, error: type[cn.SearchError]) -> None:
    lab.play(plays)
    with pytest.raises(error) as raised:
        cn.search(QUERY, browser=lab.browser)
    kept = raised.value.capture
    assert isinstance(kept, cn.Capture)
    assert kept.query == QUERY
    assert kept.found["page_state"] == raised.value.page.page_state
    [again] = cn.read(kept.save(tmp_path), browser=lab.browser)
    assert (again.page_state, again.challenge_kind) == (raised.value.page.page_state, raised.value.page.challenge_kind)
    with pytest.raises(error) as raised:
        cn.capture(QUERY, path=tmp_path / "none.capture.gz", even_if_blocked=True, browser=lab.browser)
    assert raised.value.capture.html
    assert not (tmp_path / "none.capture.gz").exists()


def test_a_capture_keeps_to_what_the_engine_has_said(lab: cn.Lab) -> None:
    lab.play("sorry")
    with pytest.raises(cn.SearchChallengeError) as first:
        cn.capture(QUERY, ai_answer=False, browser=lab.browser)
    assert first.value.retry_at is not None
    for call in (cn.capture, cn.search):
        with pytest.raises(cn.SearchChallengeError, match="was not sent") as refused:
            call(QUERY, browser=lab.browser)
        assert (refused.value.page, refused.value.capture) == (None, None)
    assert len(lab.web.searches()) == 1, "it was sent all the same"
    lab.web.play("instant")
    cn.capture(QUERY, ai_answer=False, even_if_blocked=True, browser=lab.browser)
    cn.capture(QUERY, ai_answer=False, browser=lab.browser)  # a page that was answered has ended it


@pytest.mark.proof
def test_a_capture_takes_its_turn_in_a_replay_s_tab(lab: cn.Lab, grown: tuple[cn.Capture, cn.SearchPage]) -> None:
    kept, live = grown
    with cn.replay(results_page(rows=2), engine="google", browser=lab.browser) as opened:
        assert len(opened.read()) == 2
        opened.show(kept)
        found = opened.read()
        assert (found.query, said(found)) == (QUERY, said(live))
        assert opened.capture().query == QUERY
        opened.show(results_page(rows=1))
        assert (opened.read().query, len(opened.capture().html) < len(kept.html)) == ("tea pots", True)
    with (
        cn.replay(kept, growth=True, browser=lab.browser) as opened,
        pytest.raises(cn.Misuse, match="that one page"),
    ):
        opened.show(kept)


@pytest.mark.proof
@pytest.mark.parametrize("takes", ["throw new Error('no')", "null", "'{}'", "new Promise(() => { for (;;); })"])
def test_what_can_not_be_kept_hides_no_error(lab: cn.Lab, monkeypatch: pytest.MonkeyPatch, takes: str) -> None:
    lab.play("unparseable")
    monkeypatch.setattr(page, "take_expression", lambda: f"(() => {{ return {takes}; }})()")
    monkeypatch.setattr("castlenb.taking.ASIDE_S", 0.5)
    began = time.monotonic()
    with pytest.raises(cn.UnparseableError) as raised:
        cn.search(QUERY, browser=lab.browser)
    assert raised.value.capture is None
    assert raised.value.page.page_state == "unparseable"
    assert time.monotonic() - began < 20


def test_a_capture_that_was_asked_for_says_why_it_could_not_be_taken(
    lab: cn.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "take_expression", lambda: "(() => { throw new Error('too large') })()")
    with pytest.raises(cn.CaptureError, match=r"could not be taken: .*too large"):
        cn.capture(QUERY, ai_answer=False, browser=lab.browser)


def test_a_drift_warning_carries_its_page(lab: cn.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose headings are known no more is read by its last resort, and says so."""
    google = ENGINES["google"]
    known = [hook for hook in google.hooks if hook.part == "heading"]
    moved = [replace(known[0], css="[data-moved]"), *(replace(each, part="last_resort") for each in known)]
    hooks = (*(hook for hook in google.hooks if hook not in known), *moved)
    monkeypatch.setitem(ENGINES, "google", replace(google, hooks=hooks))
    found = cn.search(QUERY, browser=lab.browser)
    warning, lost = [each for each in found.warnings if isinstance(each, Drift)]
    assert warning.startswith("no result is marked as one")
    assert lost.startswith("heading [data-moved] is not on the page as expected")
    assert warning.capture is not None
    assert lost.capture is warning.capture
    assert warning.capture.read(browser=lab.browser).records == found.records
    again = cn.search(QUERY, num_results=3, browser=lab.browser)
    assert again.warnings == found.warnings


@pytest.mark.proof
def test_a_hostile_capture_opens_no_connection(lab: cn.Lab) -> None:
    listener = Listener()
    try:
        head, body = everything_that_loads(listener.port)
        piece = f"<div id=eKIzJc>{head}{body}</div>"
        html = results_page(piece, head)
        at = html.index("<div id=eKIzJc>")
        hostile = cn.Capture(
            html=html,
            url=URL,
            engine="google",
            query="tea",
            captured_at=datetime.now(UTC),
            growth=((0.0, piece), (200.0, ""), (400.0, piece * 2)),
            answer_at=(at, at + len(piece)),
        )
        for growth in (False, True):
            with cn.replay(hostile, growth=growth, browser=lab.browser) as opened:
                assert len(opened.read()) == 3
                time.sleep(1.0)
                assert opened.evaluate("document.querySelectorAll('#eKIzJc').length") == (2 if growth else 1)
        # Chrome connects to a host that a tab is sent to before anything can be held back (Chromium 156).
        for host in (f"127.0.0.1:{listener.port}", f"www.google.com@127.0.0.1:{listener.port}"):
            with pytest.raises(cn.CaptureError, match="no address of google's"):
                replace(hostile, url=f"http://{host}/search?q=tea").read(browser=lab.browser)
        assert listener.accepted == 0
    finally:
        listener.close()


@pytest.mark.parametrize("url", ["file:///etc/hostname", "about:blank", "data:text/html,x"])
def test_a_page_is_replayed_at_no_other_kind_of_address(lab: cn.Lab, url: str) -> None:
    with (
        pytest.raises(cn.CaptureError, match="no address of a web page"),
        cn.replay(results_page(), engine="google", url=url, browser=lab.browser),
    ):
        pass
    saved = f"<!-- saved from url=(0020){url} -->" + results_page()
    with cn.replay(saved, engine="google", browser=lab.browser) as opened:
        assert opened.url == ENGINES["google"].search_url("tea pots")


def test_the_command(lab: cn.Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = ["--target", lab.web.target]
    assert cli.main(["capture", "tea", "pots", "--no-ai", "-o", str(tmp_path), *target]) == 0
    printed = capsys.readouterr()
    file = Path(printed.out.strip())
    assert file.parent == tmp_path
    assert "taken out: location" in printed.err
    assert cli.main(["read", str(file), "--json", *target]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 10
    lab.play(replace(scenario("unparseable"), name="gone"))
    kept = tmp_path / "gone.capture.gz"
    assert cli.main(["capture", "tea", "--no-ai", "-o", str(kept), *target]) == 1
    assert f"the page itself is kept in {kept}" in capsys.readouterr().err
    assert cn.Capture.load(kept).found["page_state"] == "unparseable"
    lab.play("instant")
    assert cli.main(["capture", "tea", "--no-ai", "-o", str(tmp_path / "no" / "where"), *target]) == 1
    assert "No such file" in capsys.readouterr().err


def test_the_captures_of_the_repository(lab: cn.Lab) -> None:
    table = captures.corpus(DATA)
    assert set(table["engine"]) == set(ENGINES)
    for row in table.to_dict("records"):
        page = cn.Capture.load(DATA / row["file"]).read(browser=lab.browser)
        assert (page.page_state, len(page)) == (row["page_state"], row["results"]), row["file"]
        assert page.answer is not None
        assert page.answer.state == (row["answer_state"] if row["page_state"] == "results" else "absent"), row["file"]
