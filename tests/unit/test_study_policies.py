"""Ways of waiting, played on curves that were made by hand, and the advice that is drawn from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from castlenb.study import Run
from castlenb.study.advice import NOT_ASKED, recommend
from castlenb.study.policy import Policy, grid, play
from castlenb.study.policy_table import policies
from castlenb.study.settle import replay
from castlenb.study.survival import survival

from ..made_studies import Model, by_hand, study

# Results at 500 ms in all of them; settled after 1000 ms without a change.
CURVES = (
    {"changes": [1000, 2000]},
    {"changes": [1000, 2000], "marker_ms": 2100.0},
    {"changes": [400]},
    {"changes": [1000, 1900, 2800, 3700, 4000]},
    {},
    {"ai_state": "declined", "ai_declined_ms": 900.0},
)


def played(policy: Policy, *, opted: bool = True, run: Run | None = None) -> pd.DataFrame:
    run = run or by_hand(*CURVES)
    trials = replay(run, run.trials)
    finished = trials.finished(policy.quiet_ms)
    outcome = play(trials, policy, finished=finished, opted=np.full(len(trials.trials), opted))
    return pd.DataFrame(vars(outcome))


def names(outcome: pd.DataFrame) -> list[str]:
    kinds = ["complete", "unconfirmed", "truncated", "missed"]
    assert (outcome[kinds].sum(axis=1) <= 1).all()
    return [next((kind for kind in kinds if row[kind]), "none") for row in outcome.to_dict("records")]


def test_always_waits_until_it_is_whole_or_the_budget_is_spent() -> None:
    found = played(Policy("always", 4, quiet_ms=999))
    assert names(found) == ["truncated", "truncated", "complete", "unconfirmed", "none", "none"]
    found = played(Policy("always", 4, quiet_ms=1001))
    assert names(found) == ["complete", "complete", "complete", "unconfirmed", "none", "none"]
    assert found["added_ms"].tolist() == [2501, 1600, 901, 4000, 4000, 400]
    assert found["wasted_ms"].tolist() == [0, 0, 0, 0, 4000, 400]
    assert found["chars"].tolist() == [80, 80, 40, 200, 0, 0]


def test_opportunistic_takes_what_is_there() -> None:
    found = played(Policy("opportunistic", quiet_ms=1001))
    assert names(found) == ["missed", "missed", "unconfirmed", "missed", "none", "none"]
    assert found["added_ms"].tolist() == [0] * 6


def test_a_gate_ends_the_wait_where_no_prose_has_appeared() -> None:
    found = played(Policy("two_stage", 4, 0.4, quiet_ms=1001))
    assert found["added_ms"].tolist() == [400, 400, 901, 400, 400, 400]
    found = played(Policy("two_stage", 4, 0.5, quiet_ms=1001))
    assert found["added_ms"].tolist() == [2501, 1600, 901, 4000, 500, 400]


def test_opt_in_waits_for_its_classes_only() -> None:
    assert played(Policy("opt_in", 4), opted=False)["added_ms"].tolist() == [0] * 6
    assert played(Policy("opt_in", 4))["added_ms"].equals(played(Policy("always", 4))["added_ms"])


def test_an_early_sign_can_spare_the_wait_and_one_that_was_not_recorded_does_not() -> None:
    run = by_hand({"no_wrapper_stops": True}, {"no_wrapper_stops": False}, {"no_wrapper_stops": None})
    assert played(Policy("always", 2, signal="wrapper"), run=run)["added_ms"].tolist() == [0, 2000, 2000]
    run = by_hand({"early_loading": True}, {"early_loading": False}, {"early_loading": None})
    assert played(Policy("always", 2, signal="loading"), run=run)["added_ms"].tolist() == [2000, 0, 2000]


def test_a_cut_tells_how_much_of_the_text_is_missing() -> None:
    run = by_hand({"changes": [1000, 1200, 1400, 3000]})
    found = played(Policy("always", 1, quiet_ms=2000), run=run).iloc[0]
    assert (found["chars"], found["text_missing"], found["truncated"]) == (120, 0.25, True)


def test_only_what_was_watched_for_long_enough_is_known() -> None:
    # 10 s watched, results at 0.5 s, and 2 s to tell whether more was to come.
    assert played(Policy("always", 7.5, quiet_ms=1000))["known"].all()
    assert not played(Policy("always", 7.6, quiet_ms=1000))["known"].any()
    assert not played(Policy("always", 7.5, quiet_ms=2100))["known"].any()


def test_every_policy_of_a_grid_once() -> None:
    found = grid((1, 2), (1, 1.5), (500, 900), (None, "wrapper"))
    assert len(found) == len(set(found)) == 2 + 2 * 8 + 2 * 2 * 2
    assert all(each.gate_s < each.budget_s for each in found if each.gate_s is not None)


@pytest.fixture(scope="module")
def made() -> Run:
    model = {"google": Model(present=0.6, changes=6), "bing": Model(present=0.2, changes=6)}
    return study(model, queries=24, repeats=3, seed=4, classes=("question", "lookup")).run


def test_beyond_the_horizon_there_are_no_figures(made: Run) -> None:
    table = policies(made, budgets_s=(4, 13), signals=(None,))
    beyond = table["budget_s"] == 13
    assert table.loc[beyond, ["complete", "added_ms", "wasted_ms", "missed", "ms_per_complete"]].isna().all(axis=None)
    assert table.loc[~beyond, ["complete", "added_ms", "wasted_ms", "missed"]].notna().all(axis=None)


def test_no_query_both_chooses_and_scores(made: Run) -> None:
    table = policies(made, budgets_s=(4,), signals=(None,))
    always = table[table["policy"] == "always"]
    assert always.groupby(["engine", "query_class"])["queries"].apply(list).tolist() == [[6, 6]] * 4
    assert always["n"].unique().tolist() == [18]
    again = policies(made, budgets_s=(4,), signals=(None,), seed=1)
    assert not again["complete"].equals(table["complete"])


def test_the_mean_wait_is_the_restricted_mean(made: Run) -> None:
    run = Run(**{**made.frames(), "trials": made.trials[made.trials["engine"] == "google"].assign(query="one")})
    table = policies(run, budgets_s=(3,), signals=(None,))
    mine = table[(table["policy"] == "always") & (table["query_class"] == "lookup")].iloc[0]
    trials = replay(run, run.trials[run.trials["query_class"] == "lookup"])
    waits = np.maximum(trials.finished(2000.0) - trials.ready, 0)
    estimate = survival(np.where(np.isinf(waits), 1e6, waits), np.isfinite(waits))
    assert mine["added_ms"] == pytest.approx(estimate.restricted_mean(3000))


def test_classes_are_weighed_by_the_mix_of_searches_to_come(made: Run) -> None:
    table = policies(made, budgets_s=(4,), signals=(None,), mix={"question": 1, "lookup": 3})
    where = (table["half"] == "score") & (table["engine"] == "google") & (table["policy"] == "opt_in")
    means = table[where].set_index("query_class")["added_ms"]
    assert means["lookup"] == 0
    assert means["mix"] == pytest.approx(means["question"] / 4)
    lacking = policies(made, budgets_s=(4,), signals=(None,), mix={"question": 1, "fresh": 1})
    assert lacking.loc[lacking["query_class"] == "mix", "added_ms"].isna().all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"signals": ("smell",)}, "no early signal 'smell'; there are wrapper, loading, request, and None"),
        ({"opt_in": ("riddle",)}, "no class of queries 'riddle'"),
        ({"mix": {"question": -1}}, "none below 0"),
        ({"mix": {}}, "one above it"),
    ],
)
def test_senseless_arguments_are_refused(made: Run, wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        policies(made, **wrong)


# Advice


def quick(present: int, **trial: object) -> list[dict[str, object]]:
    """Twenty queries, twice each; so many of them have an answer that is whole half a second after the results."""
    changes = {"changes": [700, 900], "marker_ms": 1000.0}
    return [{"query": f"q{each}", **(changes if each < present else {}), **trial} for each in list(range(20)) * 2]


def test_what_is_worth_the_wait_is_waited_for() -> None:
    advice = recommend(by_hand(*quick(20, layout="default")), worth_s=5)
    row = advice.choices.iloc[0]
    assert row["choice"].startswith("wait up to 1 s after the results")
    assert row["net_s"] == row["net_low_s"] == row["net_high_s"] == pytest.approx(4.5)
    assert row["complete"] == 1
    assert "Whole answer in 100\N{NO-BREAK SPACE}% of searches" in str(advice)
    assert "net +4.50 s a search" in str(advice).replace("\n  ", " ")
    assert "What timing can't decide" in str(advice)


def test_what_is_not_is_not() -> None:
    rare = recommend(by_hand(*quick(1)), worth_s=5)
    assert rare.choices["choice"].tolist() == [NOT_ASKED]
    cheap = recommend(by_hand(*quick(20)), worth_s=0.4)
    assert cheap.choices["choice"].tolist() == [NOT_ASKED]
    assert "no way of waiting that was tried gains more than it costs" in str(cheap).replace("\n  ", " ")


def test_the_layout_is_charged_to_the_answer() -> None:
    web = quick(0, layout="web", results_complete_ms=300.0)
    both = [dict(each, repeat=1 + number // 20) for part in (web, quick(20)) for number, each in enumerate(part)]
    row = recommend(by_hand(*both), worth_s=5).choices.set_index("layout").loc["classic"]
    assert row["layout_ms"] == pytest.approx(200)
    assert row["net_s"] == pytest.approx(4.3)
    assert "+200 ms until the results" in row["verdict"]
    alone = recommend(by_hand(*quick(20)), worth_s=5).choices.iloc[0]
    assert pd.isna(alone["layout_ms"])
    assert "What this layout costs was not measured" in alone["verdict"]


def test_too_few_queries_and_too_short_a_study_get_no_advice() -> None:
    few = by_hand(*[{"query": f"q{each % 3}", "changes": [700]} for each in range(12)])
    assert "3 of the 10 queries that it takes" in str(recommend(few, worth_s=5)).replace("\n  ", " ")
    assert recommend(few, worth_s=5).choices["choice"].isna().all()
    short = by_hand(*quick(20), horizon_ms=1100, quiet_ms=1000)
    assert "not watched for long enough" in str(recommend(short, worth_s=5)).replace("\n  ", " ")
    with pytest.raises(ValueError, match="worth_s has to be above 0 s"):
        recommend(few, worth_s=0)
