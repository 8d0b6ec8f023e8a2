"""What the lab's engines have to say: made-up results, the same every time for the same words and rank.

Every address lies under ``.example``, a domain that can not exist. Titles and snippets hold what a page has to escape
(``&``, ``<``, quotes), what a notebook mistakes for mathematics (two dollar signs), and other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from urllib.parse import quote

WINDOWS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
"""Hours in a recency window, by the letter that Google's ``as_qdr`` takes."""


@dataclass(frozen=True)
class Result:
    """One made-up search result.

    Attributes:
        rank: from 1, over all pages.
        title: as the page shows it.
        url: where it leads, always on a ``.example`` host.
        shown: its address as the page shows it, host first; for a forum what such rows show instead, without a host.
        site: its name.
        before, match, after: the snippet; ``match`` is the part that engines emphasise.
        age: how old it is, or ``None`` where the page shows no date.
        forum: whether ``shown`` holds no host.
    """

    rank: int
    title: str
    url: str
    shown: tuple[str, ...]
    site: str
    before: str
    match: str
    after: str
    age: timedelta | None
    forum: bool

    @property
    def snippet(self) -> str:
        """The snippet as one text."""
        return self.before + self.match + self.after

    def dated(self, now: datetime | None = None) -> str:
        """The date as engines write it: ``5 hours ago``, ``3 days ago``, ``Nov 3, 2026``; empty where there is none."""
        if self.age is None:
            return ""
        hours = int(self.age.total_seconds() // 3600)
        if hours < 24:
            return f"{max(hours, 1)} hour{'s' if hours > 1 else ''} ago"
        if hours < 7 * 24:
            return f"{hours // 24} day{'s' if hours >= 48 else ''} ago"
        published = (now or datetime.now(UTC)) - self.age
        return f"{published:%b} {published.day}, {published.year}"


def results(query: str, first: int, count: int, *, within_hours: int | None = None, order: str = "") -> list[Result]:
    """``count`` results from rank ``first`` on; with ``within_hours`` all of them are dated, and younger than that.

    Engines agree in part: with an ``order`` of its own each lists the same results, some places up or down.
    """
    ranks = range(first, first + count)
    places = _in_order(query, order, first + count - 1)[first - 1 :] if order else ranks
    return [replace(_result(query, place, within_hours), rank=rank) for rank, place in zip(ranks, places, strict=True)]


def prose(query: str, chars: int, salt: str = "") -> str:
    """Exactly ``chars`` characters of readable text about a query; a shorter text is the beginning of a longer one."""
    cut = _running(query, chars, salt, _OPENINGS[0])
    return cut[:-1] + "." if cut.endswith(" ") else cut


def passage(query: str, chars: int, wording: int = 0) -> list[str]:
    """``chars`` characters of an answer's prose, in paragraphs; a shorter one is the beginning of a longer one.

    White space at a paragraph's end counts. Another ``wording`` is another text from its first words on.
    """
    text = _running(query, chars, f"answer{wording or ''}", _OPENINGS[wording % len(_OPENINGS)])
    sentences = re.split(r"(?<=\. )(?=[A-Z])", text)
    return ["".join(sentences[n : n + 3]) for n in range(0, len(sentences), 3)]


def questions(query: str, count: int) -> list[str]:
    """What people also ask."""
    return [question.format(q=query) for question in _QUESTIONS[:count]]


def related(query: str, count: int) -> list[str]:
    """Searches related to this one."""
    return [f"{query} {word}" for word in _RELATED[:count]]


@lru_cache(maxsize=8)
def filler(kilobytes: int) -> list[str]:
    """About so many kilobytes of text, in pieces of roughly 1 kB, always the same."""
    chance = Random(kilobytes)
    return [" ".join(chance.choices(_WORDS, k=150)) for _ in range(kilobytes)]


@lru_cache(maxsize=256)
def _in_order(query: str, order: str, count: int) -> list[int]:
    """Which results stand at the first ``count`` places, by their place where there is no order."""
    moved = {
        place: place + _MOST_OFF * Random(f"{query}|{order}|{place}").random()
        for place in range(1, count + _MOST_OFF + 1)
    }
    return sorted(moved, key=lambda place: moved[place])[:count]


@lru_cache(maxsize=2048)
def _result(query: str, rank: int, within_hours: int | None) -> Result:
    chance = Random(f"{query}|{rank}")
    place = Random(f"{query}|places")
    host, site = place.sample(_SITES, len(_SITES))[rank % len(_SITES)]
    title = place.sample(_TITLES, len(_TITLES))[rank % len(_TITLES)].format(q=query, Q=_capital(query))
    slug = re.sub(r"\W+", "-", query.lower()).strip("-")[:60] or "page"
    folder = chance.choice(("guides", "blog", "articles", "docs", "a"))
    ending = chance.choice(("", "", ".html", "/", f"?id={rank}&x=a%2Fb", "#top"))
    shown: tuple[str, ...] = (f"https://{host}", folder)
    forum = rank % 10 == 6
    if forum:
        shown = (f"{chance.randint(2, 900)}+ comments", f"{chance.randint(2, 9)} years ago")
    if host.startswith("xn--"):
        shown = ("https://bücherwurm.example", folder)
    age = within_hours * chance.uniform(0.1, 0.9) if within_hours else chance.choice((None, None, 5, 50, 900, 20_000))
    before, after = chance.choice(_SNIPPETS)
    return Result(
        rank=rank,
        title=title,
        url=f"https://{host}/{folder}/{quote(slug)}-{rank}{ending}",
        shown=shown,
        site=site,
        before=before,
        match=query,
        after=after + " " + _capital(chance.choice(_CLAUSES).format(q="this")) + ".",
        age=timedelta(hours=age) if age else None,
        forum=forum,
    )


def _running(query: str, chars: int, salt: str, opening: str) -> str:
    chance = Random(f"{query}|prose|{salt}")
    text = opening.format(q=query, Q=_capital(query))
    while len(text) < chars:
        text += " " + _capital(chance.choice(_CLAUSES).format(q=query)) + "."
    return text[:chars]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_MOST_OFF = 8
"""Places that a result can be off in an engine's own order."""


_SITES: Sequence[tuple[str, str]] = (
    ("www.oakledger.example", "Oak Ledger"),
    ("fieldguide.example", "The Field Guide"),
    ("docs.tidewater.example", "Tidewater Docs"),
    ("en.openshelf.example", "Openshelf"),
    ("www.lanternpost.example", "Lantern Post"),
    ("blog.quietmachine.example", "Quiet Machine"),
    ("www.harbour-and-hill.example", "Harbour & Hill"),
    ("xn--bcherwurm-q9a.example", "Bücherwurm"),
    ("forum.tinkerers.example", "Tinkerers’ Forum"),
    ("www.northgate.example", "Northgate College"),
    ("learn.pebblestack.example", "Pebblestack"),
    ("www.sevenbridges.example", "Seven Bridges"),
    ("paperkite.example", "Paper Kite"),
)
_TITLES: Sequence[str] = (
    "{Q}: a plain introduction",
    "{Q}, explained step by step",
    "What {q} is & what it is not",
    "Notes on {q} <draft>",
    "A short history of {q}",
    'Why "{q}" keeps coming up',
    "{Q} from $200 to $700: what you pay for",
    "Is {q} worth it? 🧭 A reader’s guide",
    "{Q} in practice – lessons from a small team",
    "دليل مختصر: {q}",
    "מדריך קצר: {q}",
    "The {q} handbook, 3rd edition",
    "{Q}'s open problems",
    "Comparing ways to think about {q}",
    "{Q} | Reference",
    "{Q} – 小さな入門",
    "Ten questions about {q}, answered",
)
_SNIPPETS: Sequence[tuple[str, str]] = (
    ("Everything we know about ", ", collected over three winters and checked twice."),
    ("An overview of ", " for people who have an afternoon & a pot of tea."),
    ('"It began with ', '," she wrote, and went on for <em>two hundred</em> pages.'),
    ("Prices for ", " range from $20 to $45, depending on the season."),
    ("When a <10 ms answer is wanted, ", " is the first thing to look at 🙂."),
    ("لمحة عن ", " بالعربية والإنجليزية."),
    ("How ", " changed between the first edition and the last, with tables."),
    ("The committee’s view of ", " – summarised, dated and signed."),
)
_OPENINGS: Sequence[str] = (
    "{Q} is best understood in parts.",
    "In short, {q} is a matter of three things.",
    "No two sources say the same of {q}.",
)
_CLAUSES: Sequence[str] = (
    "the early sources on {q} disagree about almost everything",
    "most people meet {q} by accident",
    "there are three schools, and they rarely speak to each other",
    "what matters in {q} is the order in which things are done",
    "the numbers for {q} were revised twice and stand at 42 today",
    "a careful reader will notice that {q} has two meanings",
    "none of this is new, but it had never been written down",
    "in practice a small change goes a long way",
    "the exceptions are listed at the end",
    "nobody has yet measured this well",
)
_QUESTIONS: Sequence[str] = (
    "What is {q} good for?",
    "Who first wrote about {q}?",
    "How long does {q} take?",
    'Is "{q}" the same everywhere?',
)
_RELATED: Sequence[str] = ("examples", "for beginners", "vs the old way", "price", "history", "near me", "pdf")
_WORDS: Sequence[str] = (
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fennel",
    "garnet",
    "heather",
    "indigo",
    "juniper",
)
