"""What the lab can play by name."""

from __future__ import annotations

from dataclasses import replace

from .scenario import Scenario, Step, register

NO_GOOGLE_ANSWER = "how does postgres MVCC vacuum work"
A_BING_CARD = "who founded anthropic and when"
ALL_ANSWER = "LangChain valuation Series C funding 2026"
"""The three queries of the field notes, which ``2026-08-04`` treats as they were treated then; at any other, Google and
Brave answer and Bing does not."""

_AT_ONCE = (Step(0, "head"), Step(0, "results"), Step(0, "end"))
_FOUR_ONLY = (Step(0, "head"), Step(50, "results", last=4))

INSTANT = Scenario("instant", "Everything at once and no scripts: for benchmarks.", _AT_ONCE, marks=False)
_marked = replace(INSTANT, name="marked", about="Everything at once, with marks.", marks=True)


def _grown(*at: tuple[float, int]) -> tuple[Step, ...]:
    """Prose that grows, its sources with the last of it, and the page's sign that it is complete."""
    last = at[-1][0]
    return (*(Step(ms, "answer", chars=chars) for ms, chars in at), Step(last, "sources"), Step(last, "settled"))


# The day of the field notes. They timed Google and Brave; of Bing's answer they say that there was one, and not when.
_field = Scenario(
    "2026-08-04",
    "The field notes' Google: results after half a second, an answer from 1.5 s on, grown to 903 characters at 2.3 s.",
    (Step(90, "head"), Step(470, "results"), Step(600, "end")),
    answer=(
        Step(1502, "wrapper"),
        Step(1502, "shell", chars=28_864),
        *_grown((1752, 142), (1900, 385), (2050, 640), (2200, 811), (2300, 903)),
    ),
    headers_ms=80,
    exact=True,
)
_bing = replace(
    _field,
    about="The field notes' Bing: results after half a second, and no answer.",
    steps=(Step(110, "head"), Step(520, "results"), Step(640, "end")),
    answer=None,
)
register(_field)
register(
    replace(_field, about="The field notes' Google without an answer.", answer=None),
    engine="google",
    query=NO_GOOGLE_ANSWER,
)
register(_bing, engine="bing")
register(replace(_bing, about="A large card in place of an answer.", card=True), engine="bing", query=A_BING_CARD)
register(
    replace(
        _bing,
        about="The field notes' Bing where it did answer.",
        answer=(Step(1400, "wrapper"), *_grown((1400, 160), (1650, 420), (1900, 655))),
        answer_by="stream",
    ),
    engine="bing",
    query=ALL_ANSWER,
)
register(
    replace(
        _field,
        about="The field notes' Brave: results before 0.3 s, an answer from 1.26 s on that still grows after 5 s.",
        steps=(Step(80, "head"), Step(290, "results"), Step(420, "end")),
        answer=_grown(*((1260 + 262 * n, 70 + 62 * n) for n in range(20)), (6500, 1310)),
        answer_by="stream",
    ),
    engine="brave",
)
register(replace(_field, about="The field notes' DuckDuckGo: results.", answer=None), engine="duckduckgo")

register(
    INSTANT,
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
register(replace(_marked, name="shell", about="A header and nothing else, as of 2026-03.", page="shell"), engine="bing")
register(
    replace(_marked, name="challenge", about="Proof of work, with status 429.", page="challenge", status=429),
    engine="brave",
)
register(
    replace(_marked, name="challenge", about="Squares with ducks, with status 202.", page="challenge", status=202),
    replace(_marked, name="teapot", about="A redirect to the page for programs, 418.html.", page="teapot"),
    engine="duckduckgo",
)


# What an answer can do besides. The results are in after a tenth of a second, the document ends soon after them or
# after the answer.
_base = replace(
    _marked,
    exact=True,
    steps=(Step(20, "head"), Step(100, "results"), Step(200, "end")),
    answer=_grown((400, 150), (550, 340), (700, 520), (850, 610)),
)
_streamed = replace(_base, answer_by="stream")

register(
    replace(_base, name="answer-inline", about="Among Google's results, by scripts.", placement="inline"),
    replace(_streamed, name="answer-stream", about="Fetched once the document is whole."),
    replace(_base, name="answer-whole", about="Complete in the first mark-up.", answer=()),
    replace(
        _base,
        name="answer-parser",
        about="In the mark-up, piece by piece, the results after it; not a script.",
        answer_by="parser",
        marks=False,
    ),
    replace(
        _base,
        name="answer-first",
        about="The answer is whole before there are results.",
        steps=(Step(20, "head"), Step(900, "results"), Step(1000, "end")),
        answer=_grown((150, 150), (300, 340), (450, 520)),
    ),
    replace(
        _streamed,
        name="answer-late",
        about="Not even its wrapper is there until the document has been parsed for a second.",
        answer=(Step(1200, "wrapper"), *_grown((1500, 150), (1700, 340), (1900, 520))),
    ),
    replace(
        _streamed,
        name="answer-loading",
        about="It is being written for a while before it shows.",
        answer=(Step(300, "loading"), *_grown((900, 150), (1100, 340), (1300, 520))),
    ),
    replace(
        _streamed,
        name="answer-pause",
        about="Three seconds in the middle in which nothing comes.",
        answer=_grown((400, 150), (550, 340), (3550, 520), (3700, 610)),
    ),
    replace(
        _streamed,
        name="answer-endless",
        about="It grows for two minutes.",
        answer=tuple(Step(400 + 400 * n, "answer", chars=100 + 40 * n) for n in range(300)),
    ),
    replace(
        _streamed,
        name="answer-rewrite",
        about="Once there it is put in other words, as many characters of them.",
        answer=(
            Step(400, "answer", chars=300),
            Step(700, "answer", chars=600),
            Step(1300, "answer", chars=600, wording=1),
            Step(1300, "sources"),
            Step(1300, "settled"),
        ),
    ),
    replace(
        _streamed,
        name="answer-swap",
        about="Half-way all of its nodes are replaced by new ones.",
        answer=(
            Step(400, "answer", chars=150),
            Step(600, "answer", chars=340),
            Step(800, "answer", chars=520, swap=True),
            *_grown((1000, 610)),
        ),
    ),
    replace(
        _base,
        name="answer-declined",
        about="The page says at once that there is none.",
        answer=(Step(100, "declined"),),
    ),
    replace(
        _streamed,
        name="answer-loading-declined",
        about="It is being written, and then there is none.",
        answer=(Step(300, "loading"), Step(1200, "declined")),
    ),
    replace(_base, name="answer-offered", about="It would be written on a click.", answer=(Step(100, "offered"),)),
    replace(_base, name="answer-busy", about="50 changes a second beside an answer that is whole.", busy=(50, 5000)),
    replace(_base, name="answer-storm", about="250 changes a second beside it.", busy=(250, 5000)),
    replace(_base, name="answer-heavy", about="It comes in time on a page of 2 MB.", weight_kb=2000),
    replace(_streamed, name="hostile", about="A page that means harm to whoever reads it.", hostile=True),
)
