"""How the lab's engines behave: scenarios as data.

A :class:`Scenario` says what is served and when each part of it comes. It is looked up by name, and a new one is made
from another with :func:`dataclasses.replace`::

    slow = replace(scenario("instant"), name="very-slow", headers_ms=5000)

Those that can be played by name are in ``repertoire.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import LabError


@dataclass(frozen=True)
class Step:
    """One part of a page and its time.

    Attributes:
        at_ms: milliseconds from the arrival of the request; the page notes the true instant (see ``Scenario.marks``).
        part: of a document ``head``, ``results``, ``end``; of an answer those of :data:`ANSWER_PARTS`.
        first, last: for ``results``: which of this page's, as a slice; ``last=None`` means all that are left.
        chars: for ``shell`` and ``answer``: how many characters the container, or its prose, holds from then on.
        wording: for ``answer``: which of several texts; another one of as many characters is a rewrite.
        swap: for ``answer``: all that there is of it is replaced by new nodes, in place of growing.
    """

    at_ms: float
    part: str
    first: int = 0
    last: int | None = None
    chars: int = 0
    wording: int = 0
    swap: bool = False


ANSWER_PARTS = ("wrapper", "shell", "loading", "answer", "sources", "settled", "declined", "offered")
"""Steps of an AI answer.

``wrapper``: all that is around it, and nothing in it; without such a step that is in the first mark-up. ``shell``: it
holds something else. ``loading``: it is being written. ``answer``: it holds so much prose. ``sources``: it names them.
``settled``: the page's own sign that it is complete (none is known of Bing, where this step is left out). ``declined``:
the page says that there is none (no words are known in which Bing or Brave would: there all of it is taken away).
``offered``: it would be written on a click (Google's of old, and Brave's; on Bing left out).
"""


@dataclass(frozen=True)
class Scenario:
    """What is served for a search, and when.

    Attributes:
        name: by which ``play()`` finds it.
        about: one sentence.
        steps: the document in time. A scenario without steps sends no body.
        answer: the AI answer, at engines and in layouts that have one: ``None`` no answer and no place for it; ``()``
            complete in the first mark-up; steps: in time.
        answer_by: what brings the steps. ``document``: scripts in it, and it ends after the last of them. ``stream``:
            the document ends in its own time; once it is whole its script asks the address that the engine's own
            script asks, and puts in what comes from there. ``parser``: mark-up alone, which no script follows; it
            knows ``answer``, ``sources`` and ``settled`` (what stands below the prose), at the top, and the results
            below it come after it.
        placement: of the answer: ``top``, or Google's ``inline`` (after the third result).
        card: a large card of an encyclopedia stands where Bing's answer would: nobody generated it.
        busy: ``(changes a second, until)``: the page changes elsewhere, never in its answer, until so many ms on its
            own clock. A worker sets the pace, since a hidden page's own timers tick once a second.
        hostile: the page's script overrides what a reader would use, takes names, and the page has a policy that lets
            no other script run; its forms and pictures bear names of properties.
        page: ``results``, ``no-results``, ``empty``, ``unparseable``, ``plain`` (a page of one sentence), ``challenge``
            (whatever each engine asks of a person); Google's ``sorry``, ``consent``, ``enablejs``, Bing's ``shell``,
            DuckDuckGo's ``teapot``. An engine that has not got a refusal shows results in its place.
        layout: ``by-url`` (as the address asks for), or ``classic`` with all its furniture whatever the address says.
        links: how results link: ``direct``; ``url``, each engine's own wrapper (``/url?q=``, ``/ck/a?u=``,
            ``/l/?uddg=``; Brave has none); ``mixed``, every other one wrapped; Google's ``goto`` (encrypted).
        total: results there are for any query, over all pages.
        overlay: a dialog lies over the page: Google's asks for consent, the others' set their challenge.
        route: the way to the page: ``straight``, ``redirect`` (302), ``script`` (a redirect by script),
            ``consent-script`` (by script to the consent host and back), ``reload`` (a gate whose script sets a cookie
            and reloads), ``endless`` (302 without end), ``endless-script``.
        status: HTTP status of the page.
        headers_ms: when status line and headers are sent.
        headers: further response headers.
        ending: ``whole``; ``never`` (the last byte does not come); ``reset`` (RST after the last step; before the
            headers where there are no steps); ``silent`` (not even headers).
        marks: the page has a script after each part that notes the instant, in ``window.__truth``, as a
            ``performance.mark`` and by a beacon to the lab (see :class:`~castlenb.lab.truth.Truth`). Without it the
            page has no scripts but those that bring an answer, and what is known is when the server wrote each part.
        exact: with marks: rows, and what the first mark-up has of an answer, are written by the page's scripts
            (``document.write``). A script that only follows them runs after whoever observes the page has had their
            turn, and so notes too late an instant, by what that took.
        weight_kb: dead weight, as real pages have it: hidden mark-up and data, half and half.
        alter: changes the mark-up of a results page before it is sent, piece by piece: a page whose head, results and
            end come at once is one piece. See :mod:`castlenb.lab.mutations`.
    """

    name: str
    about: str
    steps: tuple[Step, ...] = ()
    answer: tuple[Step, ...] | None = ()
    answer_by: str = "document"
    placement: str = "top"
    card: bool = False
    busy: tuple[int, float] | None = None
    hostile: bool = False
    page: str = "results"
    layout: str = "by-url"
    links: str = "direct"
    total: int = 47
    overlay: bool = False
    route: str = "straight"
    status: int = 200
    headers_ms: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    ending: str = "whole"
    marks: bool = True
    exact: bool = False
    weight_kb: int = 0
    alter: Callable[[str], str] | None = None


def scenario(name: str, engine: str | None = None, query: str = "") -> Scenario:
    """The scenario of that name, as that engine plays it, for that query.

    Raises:
        LabError: there is none; names those there are.
    """
    words = _folded(query)
    # The narrower version wins, and a query is narrower than an engine.
    for place in ((engine, words), (None, words), (engine, ""), (None, "")):
        if (found := _registry.get((name, *place))) is not None:
            return found
    raise LabError(f"the lab has no scenario {name!r}; there are: {', '.join(names(engine))}")


def register(*scenarios: Scenario, engine: str | None = None, query: str = "") -> None:
    """Add scenarios to those that can be played by name; with ``engine`` as that engine's own version of it, with
    ``query`` as that of one search (whatever its capitals and spaces)."""
    for each in scenarios:
        _registry[each.name, engine, _folded(query)] = each


def names(engine: str | None = None) -> list[str]:
    """Names of the scenarios that every engine can play, and of those that ``engine`` alone can."""
    return list(dict.fromkeys(name for name, whose, words in _registry if whose in (None, engine) and not words))


def _folded(query: str) -> str:
    return " ".join(query.casefold().split())


_registry: dict[tuple[str, str | None, str], Scenario] = {}
