"""How the lab's engines behave: scenarios as data.

A :class:`Scenario` says what is served and when each part of it comes. It is looked up by name, and a new one is made
from another with :func:`dataclasses.replace`::

    slow = replace(scenario("instant"), name="very-slow", headers_ms=5000)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..errors import LabError


@dataclass(frozen=True)
class Step:
    """One part of a page and its time.

    Attributes:
        at_ms: milliseconds from the arrival of the request; the page notes the true instant (see ``Scenario.marks``).
        part: of a document ``head``, ``results``, ``end``; of an answer ``shell`` (its container, holding something
            else), ``loading``, ``answer`` (prose), ``settled`` (the page's own sign that it is complete), ``declined``.
        first, last: for ``results``: which of this page's, as a slice; ``last=None`` means all that are left.
        chars: for ``shell`` and ``answer``: how many characters the container holds from then on.
    """

    at_ms: float
    part: str
    first: int = 0
    last: int | None = None
    chars: int = 0


@dataclass(frozen=True)
class Scenario:
    """What is served for a search, and when.

    Attributes:
        name: by which ``play()`` finds it.
        about: one sentence.
        steps: the document in time. A scenario without steps sends no body.
        answer: the AI answer, in layouts that have one: ``None`` no answer and no place for it; ``()`` complete in the
            first mark-up; steps: by scripts in the document, which ends after the last of them.
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
            ``performance.mark`` and by a beacon to the lab. Without it the page has no scripts at all.
        weight_kb: dead weight, as real pages have it: hidden mark-up and data, half and half.
    """

    name: str
    about: str
    steps: tuple[Step, ...] = ()
    answer: tuple[Step, ...] | None = ()
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
    weight_kb: int = 0


def scenario(name: str, engine: str | None = None) -> Scenario:
    """The scenario of that name, as that engine plays it.

    Raises:
        LabError: there is none; names those there are.
    """
    found = _registry.get((name, engine)) or _registry.get((name, None))
    if found is None:
        raise LabError(f"the lab has no scenario {name!r}; there are: {', '.join(names(engine))}")
    return found


def register(*scenarios: Scenario, engine: str | None = None) -> None:
    """Add scenarios to those that can be played by name; with ``engine`` as that engine's own version of it."""
    for each in scenarios:
        _registry[each.name, engine] = each


def names(engine: str | None = None) -> list[str]:
    """Names of the scenarios that every engine can play, and of those that ``engine`` alone can."""
    return list(dict.fromkeys(name for name, whose in _registry if whose in (None, engine)))


_registry: dict[tuple[str, str | None], Scenario] = {}
_AT_ONCE = (Step(0, "head"), Step(0, "results"), Step(0, "end"))
_FOUR_ONLY = (Step(0, "head"), Step(50, "results", last=4))

_instant = Scenario("instant", "Everything at once and no scripts: for benchmarks.", _AT_ONCE, marks=False)
_marked = replace(_instant, name="marked", about="Everything at once, with marks.", marks=True)
_field = Scenario(
    "2026-08-04",
    "The field notes' Google: results after half a second, an answer from 1.5 s on, grown to 903 characters at 2.3 s.",
    (Step(90, "head"), Step(470, "results"), Step(600, "end")),
    answer=(
        Step(1502, "shell", chars=28_864),
        Step(1752, "answer", chars=142),
        Step(1900, "answer", chars=385),
        Step(2050, "answer", chars=640),
        Step(2200, "answer", chars=811),
        Step(2300, "answer", chars=903),
        Step(2300, "settled"),
    ),
    headers_ms=80,
)

register(
    _field,
    _instant,
    _marked,
    replace(_marked, name="classic", about="All the furniture, whatever the address asks for.", layout="classic"),
    replace(
        _marked,
        name="slow-head",
        about="The headers come at once, the first of the page after 1.5 s.",
        steps=(Step(1500, "head"), Step(1900, "results"), Step(2000, "end")),
    ),
    replace(_marked, name="slow-headers", about="Headers after 1.5 s.", headers_ms=1500),
    replace(
        _marked,
        name="two-parts",
        about="Half of the results 600 ms after the others.",
        steps=(Step(50, "head"), Step(200, "results", last=5), Step(800, "results", first=5), Step(900, "end")),
    ),
    replace(_marked, name="few", about="Three results in all.", total=3),
    replace(_marked, name="heavy", about="A page of 2 MB.", weight_kb=2000),
    replace(_marked, name="goto", about="Encrypted links, as of 2026.", links="goto"),
    replace(_marked, name="url-wrapped", about="Links through the engine's own redirect.", links="url"),
    replace(_marked, name="links-mixed", about="Every other link through the engine's own redirect.", links="mixed"),
    replace(_marked, name="no-results", about="The engine says that nothing matches.", page="no-results"),
    replace(_marked, name="unparseable", about="A results area with mark-up nobody knows.", page="unparseable"),
    replace(_marked, name="empty", about="No results and no word about why.", page="empty"),
    replace(_marked, name="challenge", about="Each engine's own captcha, with status 200.", page="challenge"),
    replace(_marked, name="challenge-overlay", about="A dialog of the kind over a usable page.", overlay=True),
    replace(_marked, name="sorry", about="A captcha page, with status 200.", page="sorry"),
    replace(_marked, name="sorry-429", about="A captcha page, with status 429 as in life.", page="sorry", status=429),
    replace(_marked, name="consent", about="The consent host's wall, by a 302.", page="consent"),
    replace(_marked, name="consent-overlay", about="A consent dialog over a usable page.", overlay=True),
    replace(_marked, name="consent-script", about="By script to the consent host and back.", route="consent-script"),
    replace(
        _marked,
        name="consent-script-stop",
        about="By script to the consent host, and no further.",
        page="consent",
        route="consent-script",
    ),
    replace(_marked, name="enablejs", about="The script gate.", page="enablejs"),
    replace(
        _marked,
        name="enablejs-reloads",
        about="The script gate, whose script sets a cookie and reloads into results.",
        route="reload",
    ),
    replace(_marked, name="too-many", about="Status 429 and a sentence.", page="plain", status=429),
    replace(_marked, name="too-many-bare", about="Status 429 without a body.", steps=(), status=429),
    replace(_marked, name="no-content", about="Status 204.", steps=(), status=204),
    replace(_marked, name="redirect", about="A 302 to another address of the same search.", route="redirect"),
    replace(_marked, name="redirect-script", about="The same by script.", route="script"),
    replace(_marked, name="endless-redirect", about="302 after 302.", route="endless"),
    replace(_marked, name="endless-script", about="The same by script.", route="endless-script"),
    replace(_marked, name="silent", about="The request is read and never answered.", steps=(), ending="silent"),
    replace(_marked, name="headers-only", about="Headers, then nothing.", steps=(), ending="never"),
    replace(_marked, name="endless", about="All results and no last byte.", steps=_AT_ONCE[:2], ending="never"),
    replace(_marked, name="stalled", about="Four results, and no more.", steps=_FOUR_ONLY, ending="never"),
    replace(_marked, name="reset", about="The connection is reset before a byte.", steps=(), ending="reset"),
    replace(_marked, name="reset-midway", about="Four results, then a reset.", steps=_FOUR_ONLY, ending="reset"),
)

# What only one engine has, and how the others' days went: the field notes timed Bing and Brave as well.
register(
    replace(_marked, name="shell", about="A header and nothing else, as of 2026-03.", page="shell"),
    replace(_field, steps=(Step(110, "head"), Step(520, "results"), Step(640, "end")), answer=None),
    engine="bing",
)
register(
    replace(_marked, name="challenge", about="Proof of work, with status 429.", page="challenge", status=429),
    replace(_field, steps=(Step(80, "head"), Step(290, "results"), Step(420, "end")), answer=None),
    engine="brave",
)
register(
    replace(_marked, name="challenge", about="Squares with ducks, with status 202.", page="challenge", status=202),
    replace(_marked, name="teapot", about="A redirect to the page for programs, 418.html.", page="teapot"),
    replace(_field, answer=None),
    engine="duckduckgo",
)
