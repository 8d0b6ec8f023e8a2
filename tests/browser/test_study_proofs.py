"""Studies that are cut off, turned away, left without a disk, or spread over processes."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import castlenb as cn
from castlenb import study

from .conftest import Onlooker
from .test_study import disagreements

pytestmark = pytest.mark.proof

CLASSIC = {"layout": ("classic",)}
QUICK: dict[str, Any] = {"horizon_s": 0.5, "quiet_ms": 200, "progress": False}
WORDS = ("pour over kettle", "heat pump", "oat milk", "night trains")


def script(body: str, *args: object) -> subprocess.Popen[str]:
    """A Python process of its own; ``sys.argv[1:]`` are the arguments."""
    source = "import json, sys\nimport castlenb as cn\nfrom castlenb import study\n" + textwrap.dedent(body)
    command = [sys.executable, "-c", source, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end or process.poll() is not None:
            process.kill()
            raise AssertionError(process.communicate()[1])
        time.sleep(0.005)


def trials_in(journal: Path) -> list[str]:
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    whole = [json.loads(line) for line in lines if line.endswith("\n")]
    return [line["trial"]["trial_id"] for line in whole if line["kind"] == "trial"]


@pytest.fixture(scope="module")
def another() -> Iterator[cn.Lab]:
    with cn.Lab("marked") as lab:
        yield lab


@pytest.fixture
def second(another: cn.Lab) -> cn.Lab:
    """A Chromium beside that of ``lab``."""
    another.play("marked")
    another.web.server.requests.clear()
    return another


class TestTurnedAway:
    """An engine that stops answering half-way: never "no answer", and never asked on and on."""

    def plan(self) -> Any:
        return study.plan(WORDS, engines=("google", "bing"), repeats=1, conditions=CLASSIC, seed=3)

    @pytest.mark.parametrize(("scenario", "outcome"), [("sorry", "challenge"), ("empty", "suspected_block")])
    def test_half_way(self, lab: cn.Lab, tmp_path: Path, scenario: str, outcome: str) -> None:
        lab.play("answer-whole")
        plan = self.plan()
        order = list(plan.loc[plan["block"] > 0, "query"].drop_duplicates())
        for query in order[2:]:
            lab.web.play(scenario, engine="google", query=query)
        try:
            run = study.run(plan, journal=tmp_path / "j.jsonl", browser=lab.browser, **QUICK)
        finally:
            lab.browser.cleared()
        google = run.trials[(run.trials["engine"] == "google") & ~run.trials["warmup"]]
        turned_away = google[~google["outcome"].eq("results")]
        blocked = 1 if outcome == "challenge" else 2
        assert list(google["outcome"]) == ["results"] * 2 + [outcome] * blocked, "then it is asked no more"
        assert turned_away["ai_state"].isna().all(), "not absent"
        assert turned_away["ai_appear_ms"].isna().all()
        assert list(google["ai_state"].dropna()) == ["settled"] * 2
        bing = run.trials[(run.trials["engine"] == "bing") & ~run.trials["warmup"]]
        assert list(bing["outcome"]) == ["results"] * 4, "the others go on"
        assert list(json.loads(run.runs.loc[0, "dropped"])) == ["here: google"]
        figures = run.latency_figures(draws=50).groupby("engine")[["n_valid", "n_blocked", "n_present"]].sum()
        assert figures.loc["google"].tolist() == [2, blocked, 2]
        assert figures.loc["bing"].tolist() == [4, 0, 4]
        if outcome == "challenge":
            assert turned_away["challenge_kind"].iloc[0] == "sorry"
            assert "captcha" not in turned_away["final_url"].iloc[0]

    def test_other_ends(self, lab: cn.Lab, tmp_path: Path) -> None:
        lab.play("no-results", query=WORDS[0])
        lab.play("unparseable", query=WORDS[1])
        lab.play("reset", query=WORDS[2])
        lab.play("silent", query=WORDS[3])
        plan = study.plan(WORDS, engines=("bing",), repeats=1)
        run = study.run(plan[~plan["warmup"]], journal=tmp_path / "j", browser=lab.browser, deadline_s=3.0, **QUICK)
        ends = run.trials.set_index("query")
        assert ends["outcome"].to_dict() == dict(
            zip(WORDS, ["no_results", "unparseable", "error", "error"], strict=True)
        )
        assert list(ends.loc[[*WORDS[2:]], "error"]) == ["NavigationFailed", "SearchTimeout"]
        assert ends.loc[WORDS[0], "ai_state"] == "absent", "such a page could have had one"
        assert ends.loc[[*WORDS[1:]], "ai_state"].isna().all()


STUDY = """
plan = study.plan(["tea"], engines=("google", "bing"), repeats=4, conditions={"layout": ("classic",)})
pace = ("off", (1, 2.0))[int(sys.argv[3])]
study.run(plan, journal=sys.argv[1], browser=sys.argv[2], horizon_s=0.8, quiet_ms=200, pace=pace, progress=False)
"""


@pytest.mark.parametrize("when", ["in a trial", "between trials"])
def test_killed_and_resumed(lab: cn.Lab, onlooker: Onlooker, tmp_path: Path, when: str) -> None:
    lab.play("marked")
    journal = tmp_path / "journal.jsonl"
    before = len(onlooker.tabs())
    killed = script(STUDY, journal, lab.web.target, 0)
    if when == "in a trial":
        until(lambda: len(trials_in(journal)) == 3 and len(lab.web.searches()) == 4, killed)
    else:
        until(lambda: len(trials_in(journal)) == 3, killed)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    done = trials_in(journal)
    if when == "in a trial":
        assert len(onlooker.tabs()) > before, "the tab that it left"
    plan = study.plan(["tea"], engines=("google", "bing"), repeats=4, conditions=CLASSIC)
    with journal.open("ab") as torn:
        torn.write(b'{"kind":"trial","trial":{"run_id":"20')
    with cn.connect(lab.web.target) as next_one:
        run = study.run(plan, journal=journal, browser=next_one, horizon_s=0.8, quiet_ms=200, progress=False)
    assert list(run.trials["trial_id"]) == list(plan["trial_id"]), "every trial, once"
    assert trials_in(journal) == list(plan["trial_id"])
    assert trials_in(journal)[: len(done)] == done
    assert len(lab.web.searches()) - len(plan) in ((0, 1) if when == "between trials" else (1,))
    assert (run.runs.loc[0, "sittings"], len(run.runs)) == (2, 1)
    assert run.trials["warmup"].sum() == 2, "the Chrome is the same, and warm"
    assert len(onlooker.tabs()) == before


def test_a_disk_that_fills_up_loses_nothing_measured(lab: cn.Lab, tmp_path: Path) -> None:
    lab.play("marked")
    filling = script(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (14_000, 14_000))
        plan = study.plan(["tea"], engines=("bing",), repeats=8)
        try:
            study.run(plan, journal=sys.argv[1], browser=sys.argv[2], horizon_s=0.4, quiet_ms=200, progress=False)
        except cn.JournalError as full:
            print(json.dumps([str(full), list(full.run.trials["trial_id"])]))
        """,
        tmp_path / "journal.jsonl",
        lab.web.target,
    )
    out, err = filling.communicate(timeout=120)
    assert filling.returncode == 0, err
    said, measured = json.loads(out)
    assert said == f"the journal {tmp_path / 'journal.jsonl'} can not be written: File too large"
    on_disk = list(study.Run.load(tmp_path / "journal.jsonl").trials["trial_id"])
    assert measured[:-1] == on_disk, "all but the last are on the disk, whole, and all are at hand"
    assert 0 < len(on_disk) < len(measured) == len(lab.web.searches())


def test_a_chrome_that_goes_away(tmp_path: Path) -> None:
    """It is recycled in the middle of a trial: that one is lost, the rest are measured in the next Chrome."""
    with cn.Lab("marked") as lab:
        plan = study.plan(["tea"], engines=("google", "bing"), repeats=2, conditions=CLASSIC)
        journal = tmp_path / "journal.jsonl"
        running = script(STUDY.replace("repeats=4", "repeats=2"), journal, lab.web.target, 0)
        until(lambda: len(trials_in(journal)) == 3 and len(lab.web.searches()) == 4, running)
        lab.web.chromium.kill()
        lab.web.chromium.start()
        _, err = running.communicate(timeout=120)
        assert running.returncode == 0, err
    run = study.Run.load(journal)
    assert list(run.trials["trial_id"]) == list(plan["trial_id"])
    assert list(run.trials["outcome"]) == ["results"] * 3 + ["lost"] + ["results"] * 2
    assert run.trials["chrome_id"].nunique() == 2
    assert list(run.trials["warmup"]) == [True, True, False, False, True, True], "another Chrome is cold"


class TestSpread:
    """Several Chromes, several processes; whole blocks in each."""

    PLAN = """
    plan = study.plan(["tea", "oat milk"], engines=("google", "bing"), repeats=1, conditions={"layout": ("classic",)})
    options = dict(journal=sys.argv[1], horizon_s=0.5, quiet_ms=200, progress=False)
    browsers = {"left": sys.argv[2], "right": sys.argv[3]}
    """

    def check(self, journal: Path, vantages: set[str]) -> study.Run:
        plan = study.plan(["tea", "oat milk"], engines=("google", "bing"), repeats=1, conditions=CLASSIC)
        run = study.Run.load(journal)
        assert sorted(run.trials["trial_id"]) == sorted(plan["trial_id"])
        assert set(run.trials["outcome"]) == {"results"}
        assert set(run.trials["vantage"]) == vantages
        assert run.trials.groupby("block")[["vantage", "chrome_id"]].nunique().eq(1).all(axis=None)
        assert (run.trials.groupby(["chrome_id", "engine"])["warmup"].sum() >= 1).all()
        return run

    def test_threads_of_this_process(self, lab: cn.Lab, second: cn.Lab, tmp_path: Path) -> None:
        lab.play("marked")
        plan = study.plan(["tea", "oat milk"], engines=("google", "bing"), repeats=1, conditions=CLASSIC)
        browsers = {"left": lab.browser, "right": second.browser}
        study.run(plan, journal=tmp_path / "j.jsonl", browsers=browsers, **QUICK)
        run = self.check(tmp_path / "j.jsonl", {"left", "right"})
        ends = run.trials["started_at"] + run.trials["observed_ms"].astype("float64").map("{}ms".format).astype(
            "timedelta64[us]"
        )
        for _, mine in run.trials.assign(end=ends).groupby("chrome_id"):
            mine = mine.sort_values("started_at")
            assert (mine["started_at"].iloc[1:].to_numpy() > mine["end"].iloc[:-1].to_numpy()).all(), "one at a time"

    EXECUTORS: ClassVar = {
        "processes": """
            from concurrent.futures import ProcessPoolExecutor
            executor = ProcessPoolExecutor()
        """,
        "dask": """
            from distributed import Client, LocalCluster
            hold = dict(threads_per_worker=1, dashboard_address=None, resources={"chrome": 1})
            client = Client(LocalCluster(n_workers=2, **hold))
            executor = client.get_executor(pure=False, resources={"chrome": 1})
        """,
    }

    @pytest.mark.parametrize("kind", EXECUTORS)
    def test_an_executor(self, lab: cn.Lab, second: cn.Lab, tmp_path: Path, kind: str) -> None:
        lab.play("marked")
        held = "inherited = cn.connect(sys.argv[2])  # loop, thread and socket are there before the fork\n"
        measure = "with executor:\n    study.run(plan, browsers=browsers, executor=executor, **options)\n"
        body = held + textwrap.dedent(self.EXECUTORS[kind]) + textwrap.dedent(self.PLAN) + measure
        spread = script(body, tmp_path / "j.jsonl", lab.web.target, second.web.target)
        _, err = spread.communicate(timeout=180)
        assert spread.returncode == 0, err
        self.check(tmp_path / "j.jsonl", {"left", "right"})


def test_a_hidden_tab_is_told_by_its_own_columns(lab: cn.Lab, onlooker: Onlooker, tmp_path: Path) -> None:
    lab.play("answer-stream")
    conditions = {**CLASSIC, "visibility": ("emulated", "hidden")}
    plan = study.plan(["tea"], engines=("google",), repeats=1, conditions=conditions)
    front = onlooker.open("about:blank")  # without a tab in front of it a headless Chromium hides none
    try:
        run = study.run(
            plan[~plan["warmup"]],
            journal=tmp_path / "j",
            browser=lab.browser,
            horizon_s=2.5,
            quiet_ms=500,
            progress=False,
        )
    finally:
        onlooker.close(front)
    asked = lab.web.searches()
    for (_, trial), request in zip(run.trials.iterrows(), asked, strict=True):
        assert disagreements(trial, lab.web.truth(request)) == [], "changes are seen on time in both"
    hidden, emulated = (run.trials.set_index("visibility").loc[each] for each in ("hidden", "emulated"))
    assert hidden["hidden_ms"] == pytest.approx(hidden["observed_ms"], abs=100)
    assert emulated["hidden_ms"] == 0
    assert (hidden["focus_emulated"], emulated["focus_emulated"]) == (False, True)
    assert hidden["heartbeat_median_gap_ms"] > 900, "its timers tick once a second"
    assert emulated["heartbeat_median_gap_ms"] < 500


def test_the_command(lab: cn.Lab, tmp_path: Path) -> None:
    lab.play("answer-whole")
    command = [sys.executable, "-m", "castlenb.cli", "measure", "tea", "--engines", "bing", "--repeats", "1"]
    command += ["--horizon", "2.1", "--journal", str(tmp_path / "j.jsonl"), "--target", lab.web.target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search("AI answer present +1 of 1, 100 %", done.stdout)
    assert "- " in done.stdout, "what a careful reader would object to"
    assert "2/2" not in done.stderr, "a bar is for a terminal, or a notebook"
    assert len(study.Run.load(tmp_path / "j.jsonl").trials) == 2


def test_a_forked_child_searches_for_itself(lab: cn.Lab) -> None:
    child = script(
        """
        import os
        inherited = cn.connect(sys.argv[1])
        cn.search("tea", browser=sys.argv[1])
        if os.fork() == 0:
            try:
                cn.search("tea", browser=inherited)
            except cn.Misuse as misuse:
                print(misuse, flush=True)
            print(len(cn.search("tea", browser=sys.argv[1]).results), flush=True)
            os._exit(0)
        os.wait()
        print(len(cn.search("tea", browser=inherited).results))
        """,
        lab.web.target,
    )
    out, err = child.communicate(timeout=60)
    assert out.splitlines() == [
        "this Browser is of the process that this one was forked from; connect again here",
        "10",
        "10",
    ], err


def test_the_day_of_the_field_notes(lab: cn.Lab, second: cn.Lab, tmp_path: Path) -> None:
    """Five repeats of the lab's 2026-08-04, where Google answers, Brave goes on and Bing does not."""
    lab.play("2026-08-04")
    plan = study.plan(["how does a heat pump work"], repeats=5, conditions=CLASSIC)
    plan = plan[~plan["warmup"]]
    second.play("2026-08-04")
    places = {"left": lab, "right": second}
    browsers = {name: place.browser for name, place in places.items()}
    run = study.run(plan, journal=tmp_path / "j.jsonl", browsers=browsers, horizon_s=3.0, quiet_ms=500, progress=False)
    wrong = []
    for vantage, trials in run.trials.sort_values("started_at").groupby("vantage"):
        asked = places[str(vantage)].web.searches()
        for (_, trial), request in zip(trials.iterrows(), asked, strict=True):
            if trial["engine"] != "duckduckgo":  # its pages have no scripts, and so tell no times
                wrong += disagreements(trial, places[str(vantage)].web.truth(request))
    assert wrong == []
    assert set(run.trials["outcome"]) == {"results"}
    states = set(run.trials[["engine", "ai_state"]].itertuples(index=False, name=None))
    assert states == {("google", "settled"), ("brave", "growing"), ("bing", "absent"), ("duckduckgo", "unsupported")}
    table = run.latency_table(draws=200).droplevel(["class", "layout", "tab"])
    assert 1450 < run.trials.set_index("engine").loc["google", "ai_shell_ms"].median() < 1700
    assert table.loc["google", "container seen, ms"].startswith(("15", "16")), "what the notes call: appears, ~1500"
    assert "field notes' “appears”, is none for the answer" in table.loc["google", "remarks"]
    assert re.fullmatch(r"> 2[45]\d\d, 3 of 3 growing", table.loc["brave", "AI answer settles, ms"])  # horizon - W
    assert table.loc["bing", "AI answer present"].startswith("0 of 3")
    assert table.loc["duckduckgo", "AI answer present"] == "none: not offered here"
    assert list(table.loc[["bing", "duckduckgo"], "AI answer settles, ms"]) == ["–", "–"]
