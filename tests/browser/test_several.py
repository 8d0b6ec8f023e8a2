"""Several searches as one: engines side by side, many queries, and failures beside the rest."""

import threading
import time
from dataclasses import replace

import pytest

import castlenb as cn
from castlenb.lab import scenario
from castlenb.several import FAILURE_COLUMNS

from .conftest import Onlooker

ENGINES = ("google", "bing", "brave", "duckduckgo")


def test_engines_side_by_side(lab: cn.Lab) -> None:
    found = cn.compare("pour over coffee", browser=lab.browser)
    assert [page.engine for page in found.pages] == list(ENGINES)
    assert found.results.groupby("engine")["rank"].max().to_dict() == dict.fromkeys(ENGINES, 10)
    assert found.failures.empty
    assert list(found.failures.columns) == list(FAILURE_COLUMNS)
    assert found.targets["target"].is_unique
    assert found.targets["engines"].is_monotonic_decreasing
    assert len(found.agreement) == 6
    assert found.agreement["jaccard"].between(0, 1).all()
    assert repr(found).startswith("Comparison(google 'pour over coffee': 10 results, ")


def test_agreement_counts_shared_targets_and_their_order(lab: cn.Lab) -> None:
    page = cn.search("tea", browser=lab.browser)
    other = replace(
        page,
        engine="bing",
        records=tuple(
            {**record, "rank": rank, "url": str(record["url"]).replace("https://www.", "http://") + "#top"}
            for rank, record in enumerate(reversed(page.records[:5]), start=1)
        ),
    )
    agreement = cn.Comparison((page, other), {}, "tea", ("google", "bing")).agreement.iloc[0]
    assert (agreement["known_a"], agreement["known_b"], agreement["shared"]) == (10, 5, 5)
    assert agreement["jaccard"] == pytest.approx(0.5)
    assert agreement["rank_correlation"] == pytest.approx(-1)


def test_printed_it_shows_who_lists_what_and_how_far_they_agree(lab: cn.Lab) -> None:
    found = cn.compare("pour over coffee", browser=lab.browser, num_results=20, engines=["bing", "duckduckgo"])
    text = str(found)
    lines = text.splitlines()
    assert lines[0] == "'pour over coffee': bing 20 results, duckduckgo 10 results"
    assert lines[3] == "bing  duckduckgo  target"
    row = found.targets.iloc[0]
    assert lines[4].split() == [str(row["bing"]), str(row["duckduckgo"]), row["target"]]
    assert lines[-5].split() == ["shared", "of", "jaccard", "rank", "correlation"]
    pair = found.agreement.iloc[0]
    said = ["bing,", "duckduckgo", str(pair["shared"]), str(30 - pair["shared"]), f"{pair['jaccard']:.2f}"]
    assert lines[-4].split() == [*said, f"{pair['rank_correlation']:.2f}"]
    assert " ".join(lines[-2:]) == (
        "Note: duckduckgo: 10 of the 20 results asked for: DuckDuckGo's further pages have no address to go to"
    )
    assert max(map(len, lines)) <= 120
    assert "  -" in text, "what one of them does not list has no rank there"


def test_targets_that_an_engine_hides_are_not_compared(lab: cn.Lab) -> None:
    lab.play("goto", engine="google")
    found = cn.compare("tea", browser=lab.browser, engines=["google", "brave"])
    [pair] = found.agreement.to_dict("records")
    assert (pair["known_a"], pair["known_b"], pair["shared"]) == (0, 10, 0)
    assert found.agreement["jaccard"].isna().all(), "0 would say that they disagree"
    assert "Note: google: the targets of 10 of 10 results are hidden, and not compared" in str(found)


def test_one_engine_that_fails_hides_none_of_the_others(lab: cn.Lab) -> None:
    lab.play("no-results", engine="bing")
    lab.play("sorry", engine="google")
    found = cn.compare("pour over coffee", browser=lab.browser)
    assert [page.engine for page in found.pages] == ["brave", "duckduckgo"]
    assert found.failures["engine"].tolist() == ["google", "bing"]
    assert found.failures["error"].tolist() == ["SearchChallengeError", "NoResultsError"]
    assert found.failures["human_url"].notna().tolist() == [True, False]
    error = found.errors["google", "pour over coffee"]
    assert isinstance(error, cn.SearchChallengeError)
    assert f"Failed: {error}" in str(found).splitlines(), "an address that a person has to open was broken in two"


def test_where_all_fail_there_is_still_a_comparison(lab: cn.Lab) -> None:
    lab.play("challenge")
    found = cn.compare("tea", browser=lab.browser)
    assert (found.pages, len(found.errors), len(found.targets), len(found.agreement)) == ((), 4, 0, 0)
    assert str(found).splitlines()[0] == "'tea': no engine has results"
    assert str(found).count("Failed: ") == 4


def test_a_comparison_runs_its_engines_at_the_same_time(lab: cn.Lab, onlooker: Onlooker) -> None:
    lab.play("slow-headers")
    before, most, done = len(onlooker.tabs()), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, len(onlooker.tabs()) - before)
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    cn.compare("tea", browser=lab.browser)
    done.set()
    watcher.join()
    assert most == 4


def test_a_chrome_that_can_not_be_had_is_the_callers_to_know() -> None:
    with pytest.raises(cn.EndpointUnreachable):
        cn.compare("tea", browser="127.0.0.1:1")
    with pytest.raises(cn.EndpointUnreachable):
        cn.searches(["tea", "coffee"], browser="127.0.0.1:1")


def test_many_queries_give_one_frame(lab: cn.Lab) -> None:
    lab.play("no-results", query="nothing")
    found = cn.searches(["tea", "nothing", "coffee", "tea"], browser=lab.browser, num_results=3)
    assert found.results["query"].tolist() == ["tea"] * 3 + ["coffee"] * 3
    assert found.failures[["query", "error"]].values.tolist() == [["nothing", "NoResultsError"]]
    assert len(lab.web.searches("tea")) == 1, "a query given twice was asked twice"


def test_no_query_goes_out_after_a_challenge(lab: cn.Lab) -> None:
    lab.play("sorry")
    found = cn.searches([f"q{n}" for n in range(8)], browser=lab.browser)
    assert not found.pages
    assert found.results.empty
    assert len(found.failures) == 8
    assert set(found.failures["error"]) == {"SearchChallengeError"}
    assert len({request.query["q"] for request in lab.web.searches()}) <= 2, "more went out than were under way"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cn.compare("tea", engines=[], browser="127.0.0.1:1"), "at least one engine"),
        (lambda: cn.compare("tea", engines=["google", "google"], browser="127.0.0.1:1"), "each once"),
        (lambda: cn.compare("tea", engines=["altavista"], browser="127.0.0.1:1"), "altavista"),
        (lambda: cn.searches("tea", browser="127.0.0.1:1"), "not one string"),
        (lambda: cn.searches(["tea", ""], browser="127.0.0.1:1"), "query is empty"),
    ],
)
def test_bad_arguments_are_said_before_anything_is_dialled(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_a_slow_engine_does_not_hold_up_the_others_results(lab: cn.Lab) -> None:
    lab.play(replace(scenario("instant"), name="late", headers_ms=1500), engine="brave")
    found = cn.compare("tea", browser=lab.browser)
    took = {page.engine: page.timings["parse_ready_ms"] for page in found.pages}
    assert took["brave"] > 1400
    assert took["google"] < took["brave"]
