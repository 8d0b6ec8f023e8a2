"""Records the lab run of this folder: ``python data/runs/record.py FOLDER``. Takes about six minutes.

24 queries, twice each, at four engines of the lab's whose pages and answers come at times drawn from a model, anew for
every visit; through three throwaway Chromiums, so that it does not take half an hour. Google's ``udm=14`` is measured
in the first repeat only. None of its figures says anything about an engine: it is there to show what a study looks
like.
"""

from __future__ import annotations

import random
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass

import castlenb as cn
from castlenb import study
from castlenb.lab import Scenario, Step

SUBJECTS = (
    "heat pump", "sourdough starter", "night train", "oat milk", "bicycle gear", "solar eclipse", "tide table",
    "espresso machine", "rain garden", "wool carpet", "compost heap", "sailing knot",
)  # fmt: skip
QUERIES = {f"how does a {subject} work": "question" for subject in SUBJECTS} | {
    f"{subject} types": "lookup" for subject in SUBJECTS
}


@dataclass(frozen=True)
class Habits:
    """How an engine behaves: medians in ms; shares of queries of each class that it answers."""

    results: float
    appear: float
    gap: float
    changes: tuple[int, int]
    question: float
    lookup: float
    seldom: float = 0.05


HABITS = {
    "google": Habits(450, 900, 90, (6, 12), 0.75, 0.35),
    "bing": Habits(500, 800, 160, (4, 8), 0.5, 0.25),
    "brave": Habits(270, 850, 210, (12, 24), 0.9, 0.65),
    "duckduckgo": Habits(320, 0, 0, (0, 0), 0, 0, seldom=0),
}


def drawn(engine: str, query: str, chance: random.Random) -> Scenario:
    """One visit's page."""
    habits = HABITS[engine]
    results = habits.results * chance.lognormvariate(0, 0.2)
    steps = (Step(results * 0.3, "head"), Step(results, "results"), Step(results + 130, "end"))
    usual = random.Random(f"{engine} {query}").random() < getattr(habits, QUERIES[query])
    answer = _answer(habits, results, chance) if chance.random() < (0.92 if usual else habits.seldom) else None
    if answer is None and engine == "google" and chance.random() < 0.2:
        answer = (Step(results + 100, "loading"), Step(results + 100 + chance.uniform(300, 1500), "declined"))
    return Scenario("drawn", "Drawn.", steps, answer=answer, answer_by="stream", headers_ms=60, exact=True)


def _answer(habits: Habits, results: float, chance: random.Random) -> tuple[Step, ...]:
    at = results + habits.appear * chance.lognormvariate(0, 0.35)
    late = () if chance.random() < 0.7 else (Step((results + at) / 2, "wrapper"),)
    chars, steps = 0, []
    for _ in range(chance.randint(*habits.changes)):
        chars += chance.randint(35, 110)
        steps.append(Step(at, "answer", chars=chars))
        at += habits.gap * chance.lognormvariate(0, 0.3) + (chance.uniform(400, 1100) if chance.random() < 0.06 else 0)
    last = steps[-1].at_ms
    return (*late, *steps, Step(last, "sources"), Step(last, "settled"))


class Player(threading.Thread):
    """Gives every visit a page of its own: another one is drawn as soon as the last was asked for."""

    def __init__(self, lab: cn.Lab, seed: int) -> None:
        super().__init__(daemon=True)
        self._lab, self._chance, self.over = lab, random.Random(seed), threading.Event()
        for engine in HABITS:
            for query in QUERIES:
                lab.web.play(drawn(engine, query, self._chance), engine=engine, query=query)

    def run(self) -> None:
        seen = 0
        while not self.over.wait(0.2):
            asked = self._lab.web.searches()
            for request in asked[seen:]:
                engine = next(name for name in HABITS if name in request.host)
                query = request.query["q"]
                self._lab.web.play(drawn(engine, query, self._chance), engine=engine, query=query)
            seen = len(asked)


def main(folder: str) -> None:
    plan = study.plan(QUERIES, repeats=2, seed=11)
    plan = plan[(plan["layout"] != "web") | (plan["repeat"] == 1)]
    with ExitStack() as stack:
        labs = [stack.enter_context(cn.Lab("marked")) for _ in range(3)]
        players = [Player(lab, seed) for seed, lab in enumerate(labs)]
        for player in players:
            player.start()
        study.run(
            plan,
            browsers={f"lab {n}": lab.browser for n, lab in enumerate(labs, start=1)},
            journal=f"{folder}/journal.jsonl",
            horizon_s=6.0,
            quiet_ms=1500,
            signed_in="no",
            network="none: a lab on one machine",
        )
        for player in players:
            player.over.set()


if __name__ == "__main__":
    main(sys.argv[1])
