"""Plans: complete blocks in a drawn order, and which kind of query a query is."""

from typing import Any

import pytest

from castlenb import StudyError, study
from castlenb.engines import EngineError
from castlenb.study import planning
from castlenb.study.records import PLANNED

QUERIES = [f"query {n}" for n in range(5)]
CONDITIONS = {"layout": ("web", "classic"), "visibility": ("emulated", "hidden")}


def test_each_block_holds_one_query_once_at_every_engine_and_condition() -> None:
    plan = study.plan(QUERIES, repeats=4, conditions=CONDITIONS)
    assert {name: str(dtype) for name, dtype in plan.dtypes.items()} == {name: c.dtype for name, c in PLANNED.items()}
    assert plan["trial_id"].is_unique
    blocks = plan[~plan["warmup"]].groupby("block")
    assert len(blocks) == 4 * len(QUERIES)
    for _, block in blocks:
        assert block["query"].nunique() == block["repeat"].nunique() == 1
        assert list(block["position"]) == list(range(10))
        arms = set(block[["engine", "layout", "visibility"]].itertuples(index=False, name=None))
        assert len(arms) == 10
        assert {layout for engine, layout, _ in arms if engine != "google"} == {"default"}
        assert {layout for engine, layout, _ in arms if engine == "google"} == {"web", "classic"}
    assert plan.groupby(["query", "repeat", "engine"]).size()[lambda n: n > 4].empty
    assert sorted(plan.loc[plan["warmup"], "engine"]) == sorted(planning.ENGINES), "one warm-up an engine"


def test_the_order_is_the_seeds() -> None:
    plans = [study.plan(QUERIES, seed=seed) for seed in (1, 1, 2)]
    assert plans[0].equals(plans[1])
    hashes = [planning.plan_hash(plan) for plan in plans]
    assert hashes[0] == hashes[1] != hashes[2]
    firsts = [set(plan.loc[plan["position"] == 0, "engine"]) for plan in plans]
    assert all(len(engines) > 1 for engines in firsts), "no engine is always first"
    orders = {
        tuple(repeat["query"].drop_duplicates()) for _, repeat in plans[0][plans[0]["block"] > 0].groupby("repeat")
    }
    assert len(orders) > 1, "nor are queries asked in one order"


def test_an_engine_is_as_early_in_its_blocks_as_any_other() -> None:
    plan = study.plan(QUERIES, repeats=200)
    means = plan[plan["block"] > 0].groupby("engine")["position"].mean()
    assert means.min() > 1.8  # of 0 to 4, 1000 blocks: a standard error of 0.05
    assert means.max() < 2.2


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("how does postgres MVCC vacuum work", "question"),
        ("who founded anthropic and when", "question"),
        ("is oat milk healthy", "question"),
        ("best pour over kettle?", "question"),
        ("LangChain valuation Series C funding 2026", "fresh"),
        ("weather in Oslo", "fresh"),
        ("who won the cup today", "fresh"),
        ("github login", "navigational"),
        ("https://docs.python.org/3/", "navigational"),
        ("news.ycombinator.com", "navigational"),
        ("pour over coffee ratio", "lookup"),
        ("what", "lookup"),
        ("Isfahan", "lookup"),
    ],
)
def test_query_classes(query: str, kind: str) -> None:
    assert study.query_class(query) == kind


def test_given_classes_are_kept() -> None:
    plan = study.plan({"tea": "fresh", "how to fly": "lookup"}, engines=["bing"])
    assert dict(zip(plan["query"], plan["query_class"], strict=True)) == {"tea": "fresh", "how to fly": "lookup"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"queries": "tea"}, "not one string"),
        ({"queries": []}, "at least one"),
        ({"queries": ["a", " "]}, "no empty one"),
        ({"queries": ["a", "a"]}, "twice"),
        ({"queries": {"a": "riddle"}}, "'riddle'"),
        ({"engines": []}, "at least one engine"),
        ({"engines": ("bing", "bing")}, "each once"),
        ({"engines": "bing"}, "not 'bing'"),
        ({"repeats": 0}, "repeats"),
        ({"conditions": {"colour": ("red",)}}, "'colour'"),
        ({"conditions": {"layout": ("wide",)}}, "layout has to be"),
        ({"conditions": {"visibility": "hidden"}}, "visibility has to be"),
    ],
)
def test_what_makes_no_plan(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        study.plan(**wrong)


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(EngineError, match="yahoo"):
        study.plan(engines=["yahoo"])


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda plan: plan.drop(columns="query"), "lacks this column"),
        (lambda plan: plan.iloc[:0], "empty"),
        (lambda plan: plan[["trial_id"]].join(plan.drop(columns="trial_id")).iloc[[0, 0]], "twice"),
        (lambda plan: plan.assign(layout="wide"), "'wide' is none of"),
        (lambda plan: plan.assign(block="first"), "no Int64"),
    ],
)
def test_a_plan_of_other_making_is_looked_at(spoil: Any, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        planning.checked(spoil(study.plan()))
