"""What is asked of an engine: a search's arguments, checked before anything is dialled."""

from __future__ import annotations

from dataclasses import dataclass

from . import kept
from .engines import RECENCIES, Engine
from .pacing import PaceLike, check_pages, rates
from .visit import VISIBILITIES, AnswerRule, Rule

MAX_RESULTS = 20
"""The most results one search gives: two pages of Google's ten. More would cost a guest's welcome."""


@dataclass(frozen=True)
class Asked:
    """A search's own arguments, checked; see :func:`castlenb.search`.

    Raises:
        ValueError: one is out of its range. Nothing has been dialled by then.
    """

    query: str
    engine: Engine
    num_results: int = 10
    recency: str | None = None
    hl: str = "en"
    gl: str | None = None
    visibility: str = "emulated"
    deadline_s: float = 20.0
    ai_answer: bool = False
    budget_s: float = 6.0
    early_stop: bool = True
    network: bool = False
    pace: PaceLike = None
    even_if_blocked: bool = False
    reuse: kept.Age = None
    keep: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise ValueError("query is empty: give the words to search for")
        if not isinstance(self.num_results, int) or not 1 <= self.num_results <= MAX_RESULTS:
            raise ValueError(f"num_results has to be a whole number from 1 to {MAX_RESULTS}, not {self.num_results!r}")
        if self.recency is not None and self.recency not in RECENCIES:
            raise ValueError(f"recency has to be one of {', '.join(RECENCIES)} or None, not {self.recency!r}")
        if self.visibility not in VISIBILITIES:
            raise ValueError(f"visibility has to be one of {', '.join(VISIBILITIES)}, not {self.visibility!r}")
        if not self.deadline_s > 0:
            raise ValueError(f"deadline_s has to be more than 0 seconds, not {self.deadline_s!r}")
        if not self.budget_s >= 0:
            raise ValueError(f"budget_s has to be 0 seconds or more, not {self.budget_s!r}")
        check_pages(self.pages, rates(self.pace))
        kept.oldest(self.reuse)  # an age that is none says so here
        self.url(0)  # an engine that can not do what is asked says so here

    def url(self, start: int) -> str:
        """The address of the page of results that begins after ``start`` of them."""
        return self.engine.search_url(
            self.query, start=start, recency=self.recency, hl=self.hl, gl=self.gl, ai_answer=self.ai_answer
        )

    @property
    def pages(self) -> int:
        """How many pages of results may be gone to."""
        starts = range(0, self.num_results, self.engine.page_size)
        return sum(self.wanted(start) > 0 for start in starts)

    def wanted(self, start: int) -> int:
        """How many results that page is to give; none, where it need not or can not be gone to."""
        left, size, most = self.num_results - start, self.engine.page_size, self.engine.max_pages
        if most is None or start < (most - 1) * size:
            return max(0, min(left, size))
        return max(0, left) if start < most * size else 0  # of the last page all will do: it can hold some more

    def rule(self, start: int) -> Rule:
        """When that page has been waited for long enough. Only the first is one that an answer stands on."""
        answer = AnswerRule(self.budget_s, early_stop=self.early_stop) if self.ai_answer and not start else None
        return Rule(self.wanted(start), answer=answer)
