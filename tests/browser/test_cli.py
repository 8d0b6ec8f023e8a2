"""The commands, as a stranger would run them."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import castlenb as cn
from castlenb import cli


def castlenb(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "castlenb.cli", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **env},
    )


def test_search_prints_a_list(lab: cn.Lab) -> None:
    done = castlenb("search", "pour", "over", "coffee", BU_CDP_HTTP=lab.web.target)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pour over coffee" in done.stdout
    assert " 1. " in done.stdout
    assert "10. " in done.stdout


def test_search_prints_json(lab: cn.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "-n", "3", "--json", "--recency", "week", "--target", lab.web.target, "a", "b"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["query"], page["page_state"], [row["rank"] for row in page["results"]]) == (
        "a b",
        "results",
        [1, 2, 3],
    )
    assert page["timings"]["call_total_ms"] > 0
    assert page["schema"] == "castlenb.SearchPage/1"


def test_search_prints_what_an_agent_reads(lab: cn.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "-n", "2", "--text", "--target", lab.web.target, "tea", "pots"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2 results from Google.\n")
    assert "query > tea pots\n\n## Results\n1. title > " in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["search", "-n", "99", "coffee"], 2, "from 1 to 20"),
        (["search", "--target", "127.0.0.1:1", "coffee"], 1, "127.0.0.1:1"),
        (["search", "--target", "nonsense here", "coffee"], 1, "host:port"),
        (["search", "--engine", "altavista", "x"], 2, "invalid choice"),
        (["search", "--json", "--text", "x"], 2, "not allowed with"),
        (["search", "--engine", "duckduckgo", "--gl", "aq", "coffee"], 2, "DuckDuckGo has no region 'aq'"),
        (["compare", "--engines", "bing,altavista", "coffee"], 2, "no engine is called 'altavista'; there are google,"),
        (["compare", "--engines", "bing,", "brave", "coffee"], 2, "commas between and no blanks"),
        (["compare", "--engines", "bing,bing", "coffee"], 2, "each once"),
        (["compare", "-n", "99", "coffee"], 2, "from 1 to 20"),
        (["compare", "--target", "127.0.0.1:1", "coffee"], 1, "127.0.0.1:1"),
        (["read", "--engine", "altavista", "x"], 2, "invalid choice"),
        (["mcp", "--verdict", "/nowhere/verdict.txt"], 2, "/nowhere/verdict.txt can not be read"),
        (["lab", "--scenario", "nope"], 1, "no scenario 'nope'; there are: 2026-08-04, instant"),
        ([], 2, "COMMAND"),
    ],
)
def test_bad_use_says_what_is_wrong(
    arguments: list[str],
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BU_CDP_HTTP", "127.0.0.1:1")
    try:
        ended = cli.main(arguments)
    except SystemExit as refused:  # argparse's own
        ended = refused.code
    assert ended == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("search coffee", "127.0.0.1:1"), ("mcp --http 99999", "port 99999 of 127.0.0.1 can not be had")],
)
def test_a_failure_is_a_sentence_and_an_exit_code(arguments: str, said: str) -> None:
    done = castlenb(*arguments.split(), BU_CDP_HTTP="127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_refusal_says_what_to_do(lab: cn.Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.play("sorry")
    assert cli.main(["search", "--target", lab.web.target, "coffee"]) == 1
    said = capsys.readouterr().err
    assert "open https://www.google.com/search?q=coffee" in said


@pytest.mark.parametrize("engine", ["bing", "brave", "duckduckgo"])
def test_every_engine_is_searched(lab: cn.Lab, engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "--engine", engine, "-n", "2", "--target", lab.web.target, "tea", "pots"]) == 0
    first = cn.search("tea pots", engine=engine, num_results=2, browser=lab.browser).records[0]
    said = capsys.readouterr().out
    assert said.startswith(f"SearchPage({engine}, 'tea pots', 2 results)")
    assert first["url"] in said


def test_compare_prints_who_lists_what(lab: cn.Lab) -> None:
    done = castlenb("compare", "--engines", "bing, brave", "tea", "pots", BU_CDP_HTTP=lab.web.target)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("'tea pots': bing 10 results, brave 10 results\n")
    assert "bing  brave  target" in done.stdout
    assert "rank correlation" in done.stdout


def test_compare_prints_json(lab: cn.Lab) -> None:
    lab.play("challenge", engine="bing")
    done = castlenb("compare", "--json", "-n", "3", "tea", BU_CDP_HTTP=lab.web.target)
    assert (done.returncode, done.stderr) == (1, "")
    found = json.loads(done.stdout)
    assert [(page["engine"], len(page["results"])) for page in found["pages"]] == [
        ("google", 3),
        ("brave", 3),
        ("duckduckgo", 3),
    ]
    assert [pair["engine_b"] for pair in found["agreement"]] == ["brave", "duckduckgo", "duckduckgo"]
    [failure] = found["failures"]
    assert (failure["engine"], failure["error"]) == ("bing", "SearchChallengeError")
    assert datetime.fromisoformat(failure["retry_at"]) > datetime.now(UTC)
    assert failure["human_url"] == "https://www.bing.com/search?q=tea&setlang=en"


def test_compare_shows_the_rest_where_one_fails_and_exits_with_1(
    lab: cn.Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.play("challenge", engine="bing")
    assert cli.main(["compare", "--target", lab.web.target, "tea"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("'tea': google 10 results, brave 10 results, duckduckgo 10 results\n")
    assert "Failed: bing, 'tea': the engine asks for a person (captcha)" in said
    assert "open https://www.bing.com/search?q=tea&setlang=en in the Chrome at " in said


def test_doctor_says_who_decided(lab: cn.Lab, tmp_path: Path) -> None:
    well = castlenb("doctor", BU_CDP_HTTP=lab.web.target)
    assert well.returncode == 0
    assert f"http://{lab.web.target}" in well.stdout
    assert "BU_CDP_HTTP" in well.stdout
    assert "Chrome/" in well.stdout

    ill = castlenb("doctor", "--target", "127.0.0.1:1")
    assert ill.returncode == 1
    assert "the target argument" in ill.stdout
    assert "reachable   no" in ill.stdout

    stored = tmp_path / ".pi/agent/browser-target.json"
    stored.parent.mkdir(parents=True)
    stored.write_text('{"somewhere": 1}')
    confused = castlenb("doctor", HOME=str(tmp_path), BU_CDP_HTTP="")
    assert confused.returncode == 1
    assert "browser-target.json" in confused.stdout
    assert "'somewhere'" in confused.stdout


def test_a_cool_down_is_shown_by_doctor_and_ended_by_who_cleared_it(
    lab: cn.Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--target", lab.web.target]
    lab.play("sorry")
    assert cli.main(["search", *target, "zebrafish", "embryos"]) == 1
    assert "asks for a person" in capsys.readouterr().err
    sent = len(lab.web.searches())
    assert cli.main(["search", *target, "tea"]) == 1
    said = capsys.readouterr().err
    assert "this search was not sent" in said
    assert "https://www.google.com/search?q=tea" in said
    assert len(lab.web.searches()) == sent

    assert cli.main(["doctor", *target]) == 0
    assert "Google asked for a person (sorry)" in capsys.readouterr().out
    report = tmp_path / "report.json"
    assert cli.main(["doctor", *target, "--report", str(report)]) == 0
    found = json.loads(report.read_text())
    assert found["cool_downs"][0]["engine"] == "google"
    assert found["chrome"]["Browser"].startswith("Chrome/")
    for private in ("zebrafish", "embryos", str(Path.home()), lab.web.target, "127.0.0.1"):
        assert private not in report.read_text()

    lab.web.play("instant")
    assert cli.main(["cleared", "google", *target]) == 0
    assert cli.main(["search", *target, "tea"]) == 0
    assert cli.main(["cleared", "google", *target]) == 0
    assert "no cool-down" in capsys.readouterr().out


def test_doctor_shows_no_token() -> None:
    ill = castlenb("doctor", "--target", "ws://127.0.0.1:1/devtools/browser/x?token=sesame")
    assert ill.returncode == 1
    assert "sesame" not in ill.stdout + ill.stderr


@pytest.mark.proof
def test_the_lab_serves_others_until_it_is_interrupted() -> None:
    lab = subprocess.Popen(
        [sys.executable, "-m", "castlenb.cli", "lab", "--scenario", "instant"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert lab.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = lab.stdout.readline()
            assert line, said
            said += line
        target = said.split("BU_CDP_HTTP=")[1].split()[0]
        assert "10. " in castlenb("search", "tea", BU_CDP_HTTP=target).stdout
        lab.send_signal(signal.SIGINT)
        _, errors = lab.communicate(timeout=20)
        assert (lab.returncode, errors) == (130, "")
    finally:
        lab.kill()
        lab.wait()


@pytest.mark.proof
def test_the_demo_runs() -> None:
    done = castlenb("demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "rank  site " in done.stdout
    assert "parse_ready_ms" in done.stdout
    assert "google 10 results, bing 10 results, brave 10 results, duckduckgo 10 results" in done.stdout
    assert "\nbrave, duckduckgo " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
