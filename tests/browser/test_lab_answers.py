"""The lab's AI answers: each scenario does in time what it says, and the reader sees at each step what it should."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from statistics import median
from typing import Any

import pytest

from castlenb import page as scripts
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import Tab, background_tab
from castlenb.engines import ENGINES
from castlenb.errors import LabError
from castlenb.lab import A_BING_CARD, ALL_ANSWER, NO_GOOGLE_ANSWER, FakeWeb, Request, Scenario, Truth, names, scenario
from castlenb.lab.content import passage, results

pytestmark = pytest.mark.proof

QUERY = "how tall is it"
HAVE = ("google", "bing", "brave")
BODY = {
    "google": "[data-container-id=main-col]",
    "bing": ".gs_caphead_main",
    "brave": "#chatllm-main-answer-content",
}
WORLD = "onlooker"
TICK = 0.15
"""``performance.now()`` counts tenths of a millisecond."""
FIND = "((css) => Document.prototype.querySelector.call(document, css))"


@dataclass
class Seen:
    """A page that has been watched to its end.

    Attributes:
        samples: ``[t, state, chars]`` at every change of the page.
        ready: when the reader had its first result.
        answer: as the reader has it in the end.
        bodies: how many elements have held the prose, one after another.
        titles: of the results, as the reader has them in the end.
        page: the value of an expression of the test's, in the page's own world.
        origin_ms: the page's ``performance.timeOrigin``.
    """

    request: Request
    truth: Truth
    samples: list[tuple[float, str, int]]
    ready: float
    answer: dict[str, Any]
    bodies: int
    titles: list[str]
    page: Any
    origin_ms: float

    @property
    def parts(self) -> str:
        return " ".join(mark.part for mark in self.truth.marks)

    @property
    def states(self) -> str:
        return " ".join(state for state, _ in groupby(state for _, state, _ in self.samples))

    @property
    def sizes(self) -> list[int]:
        return [chars for chars, _ in groupby(chars for _, _, chars in self.samples if chars)]


def observing(engine: str) -> str:
    spec = ENGINES[engine].spec()
    return f"""
        globalThis.answers = {scripts.answers_expression(spec)};
        globalThis.reader = {scripts.reader_expression(spec)};
        globalThis.samples = [];
        globalThis.ready = null;
        globalThis.bodies = new Set();
        new MutationObserver((records) => {{
            const now = performance.now();
            if (ready === null && reader.results().length) ready = now;
            const {{ state, chars }} = answers.probe(records);
            samples.push([now, state, chars]);
            const body = {FIND}({json.dumps(BODY.get(engine, "_"))});
            if (body) bodies.add(body);
        }}).observe(document, {{ subtree: true, childList: true, characterData: true, attributes: true }});
    """


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb("marked") as web:
        yield web
        assert web.server.errors == []


@asynccontextmanager
async def opened(web: FakeWeb, engine: str, query: str = QUERY) -> AsyncIterator[tuple[Tab, Request]]:
    """A tab with the page, not waited for, and the request for it."""
    connection = await Connection.open(await discover(f"http://{web.target}"))
    try:
        async with background_tab(connection) as tab:
            script = {"source": observing(engine), "worldName": WORLD}
            await tab.session.call("Page.addScriptToEvaluateOnNewDocument", script)
            await tab.navigate(ENGINES[engine].search_url(query, ai_answer=True), timeout=200)
            host = ENGINES[engine].hosts[0]
            [*_, request] = [each for each in web.searches(query) if each.host == host]
            yield tab, request
    finally:
        await connection.aclose()


async def until(reached: Any) -> None:
    """Waits for a minute of its own: a machine that stands still for a while is no failure."""
    for _ in range(3000):
        if reached():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it has not come to that")


async def watched(web: FakeWeb, engine: str, query: str = QUERY, page: str = "null") -> Seen:
    """The page, from its first byte until nothing more will come."""
    async with opened(web, engine, query) as (tab, request):
        context = await tab.world(WORLD)
        await until_evaluates(tab, context, "performance.getEntriesByType('navigation')[0].loadEventEnd")
        if request.report.marked:
            await until(lambda: request.report.over)
        told = await tab.session.evaluate(
            "[samples, ready, answers.answer(), bodies.size, reader.results().map(({ title }) => title), performance.timeOrigin]",
            context_id=context,
        )
        said = await tab.session.call("Runtime.evaluate", {"expression": page, "returnByValue": True})
    samples, ready, answer, bodies, titles, origin = told
    truth = web.truth(request, origin_ms=origin)
    return Seen(request, truth, samples, ready, answer, bodies, titles, said["result"].get("value"), origin)


async def everywhere(
    web: FakeWeb, what: str | Scenario, query: str = QUERY, engines: tuple[str, ...] = HAVE
) -> dict[str, Seen]:
    """The same scenario at every engine that has an answer, side by side."""
    web.play(what)
    pages = await asyncio.gather(*(watched(web, engine, query) for engine in engines))
    return dict(zip(engines, pages, strict=True))


def prose(chars: int, wording: int = 0, query: str = QUERY) -> str:
    return "\n\n".join(" ".join(text.split()) for text in passage(query, chars, wording))


GROWS = "answer answer answer answer sources settled"
# What the page itself says that there was, in its order; and what the reader saw. Of Bing no sign of the end is known,
# and at neither Bing nor Brave any words for there being none.
TOLD = {
    "answer-whole": ("head answer row results end", "absent growing"),
    "answer-stream": (f"head wrapper row results end {GROWS}", "absent shell growing settled"),
    "answer-inline": (f"head wrapper row results {GROWS} end", "absent shell growing settled"),
    "answer-first": (
        "head wrapper answer answer answer sources settled row results end",
        "absent shell growing settled",
    ),
    "answer-late": (
        "head row results end wrapper answer answer answer sources settled",
        "absent shell growing settled",
    ),
    "answer-loading": (
        "head wrapper row results end loading answer answer answer sources settled",
        "absent shell loading growing settled",
    ),
    "answer-pause": (f"head wrapper row results end {GROWS}", "absent shell growing settled"),
    "answer-rewrite": (
        "head wrapper row results end answer answer answer sources settled",
        "absent shell growing settled",
    ),
    "answer-swap": (f"head wrapper row results end {GROWS}", "absent shell growing settled"),
    "answer-declined": ("head wrapper row results declined end", "absent shell declined"),
    "answer-loading-declined": (
        "head wrapper row results end loading declined",
        "absent shell loading declined",
    ),
    "answer-offered": ("head wrapper row results offered end", "absent shell offered"),
    "answer-busy": (f"head wrapper row results {GROWS} end calm", "absent shell growing settled"),
    "answer-storm": (f"head wrapper row results {GROWS} end calm", "absent shell growing settled"),
    "answer-heavy": (f"head wrapper row results {GROWS} end", "absent shell growing settled"),
    "hostile": (f"head wrapper row results end {GROWS}", "absent shell growing settled"),
}
APART = {"answer-parser", "answer-endless"}
"""Scenarios with tests of their own below, and not in the table."""


def expected(name: str, engine: str) -> tuple[str, str]:
    parts, states = TOLD[name]
    if engine == "google" and name == "answer-inline":
        parts = parts.replace("wrapper row", "row wrapper")
    if engine == "bing":
        parts = parts.replace(" settled", "").replace(" offered", "")
        states = states.replace(" settled", "")
        if name == "answer-offered":
            return parts.replace(" wrapper", ""), "absent"
    if engine == "brave":
        states = states.replace(" loading", "")
        if name == "answer-whole":
            states = "absent settled"
    return parts, states if engine == "google" else states.replace("declined", "absent")


def test_the_table_is_whole() -> None:
    answers = {name for name in names() if name.startswith("answer-")}
    assert answers | {"hostile"} == set(TOLD) | APART


@pytest.mark.parametrize("name", TOLD)
async def test_each_scenario_does_what_it_says(web: FakeWeb, name: str) -> None:
    played = scenario(name)
    planned = [step for step in played.answer or () if step.part == "answer"]
    for engine, seen in (await everywhere(web, name)).items():
        assert (engine, seen.parts, seen.states) == (engine, *expected(name, engine))
        times = [mark.ms for mark in seen.truth.marks]
        assert times == sorted(times)

        grown = seen.truth.ai_growth
        if planned:
            assert [mark.chars for mark in grown] == [step.chars for step in planned]
            assert all(mark.ms >= step.at_ms for mark, step in zip(grown, planned, strict=True))
        assert seen.sizes == [held for held, _ in groupby(mark.held for mark in grown)]
        assert len(seen.titles) == (20 if engine == "brave" else 10)
        assert seen.bodies == (0 if not grown else 2 if name == "answer-swap" else 1), "growth keeps the nodes"

        if grown:
            wording = planned[-1].wording if planned else 0
            assert seen.answer["text"] == prose(grown[-1].chars, wording)
            assert (seen.answer["state"], seen.answer["warnings"]) == ("settled", [])
            assert seen.answer["settled_by"] == ("marker" if seen.states.endswith("settled") else None)
            inline = (engine, name) == ("google", "answer-inline")
            assert seen.answer["placement"] == ("inline" if inline else "top")
        else:
            assert seen.answer["text"] is None
            assert seen.answer["state"] == seen.states.split()[-1]
        if played.busy:
            assert_busy_elsewhere(seen, *played.busy)


def assert_busy_elsewhere(seen: Seen, rate: int, until_ms: float) -> None:
    calm = seen.truth.marks[-1]
    assert calm.ms >= until_ms
    assert 0 < calm.chars <= rate * calm.ms / 1000, "changes, by the page's own count"
    after = [(t, chars) for t, _, chars in seen.samples if t > (seen.truth.ai_settle_ms or 0) + 1]
    assert {chars for _, chars in after} == {seen.truth.ai_growth[-1].held}
    gaps = [then - t for (t, _), (then, _) in pairwise(after)]
    assert median(gaps) < 10 * 1000 / rate


async def test_an_observer_sees_each_change_after_it_has_been_noted_and_before_the_next(web: FakeWeb) -> None:
    """However long it takes over each: the page's own instants are not moved by whoever looks on."""
    for name in ("answer-stream", "answer-inline", "answer-whole", "answer-first"):
        for engine, seen in (await everywhere(web, name)).items():
            marks = seen.truth.ai_growth
            for mark, following in zip(marks, [*marks[1:], None], strict=True):
                at = next(t for t, _, chars in seen.samples if chars == mark.held)
                assert at >= mark.ms - TICK, (name, engine)
                assert following is None or at <= following.ms + TICK, (name, engine)
            results_ms = seen.truth.results_complete_ms or 0
            assert (seen.truth.parse_ready_ms or 0) - TICK <= seen.ready <= results_ms + TICK, (name, engine)


async def test_what_each_engine_tells_of_its_sources(web: FakeWeb) -> None:
    seen = await everywhere(web, "answer-stream")
    for engine, form in (("google", "direct"), ("bing", "redirect")):
        named = results(QUERY, 1, 10, order="" if engine == "google" else engine)[:5:2]
        told = seen[engine].answer["citations"]
        assert [(each["title"], each["url"]) for each in told] == [(r.title, r.url) for r in named]
        assert {each["link_form"] for each in told} == {form}
        assert [each["site"] for each in told] == [r.site for r in named]
        assert [each["snippet"] for each in told] == [" ".join(r.snippet.split()) for r in named]
    assert [claim["publisher"] for claim in seen["google"].answer["claims"]] == [results(QUERY, 1, 1)[0].site]
    told = seen["brave"].answer["citations"]
    listed = results(QUERY, 1, 20, order="brave")
    assert [each["title"] for each in told] == [r.title for r in listed if "," not in r.title][:4]
    assert {each["link"] for each in told} == {None}


async def test_signs_of_the_end_come_with_the_end(web: FakeWeb) -> None:
    """Mid-answer none is there but what is on every page with an answer, folded or not."""
    half = replace(scenario("answer-inline"), name="half", answer=scenario("answer-inline").answer[:3])  # type: ignore[index]
    for engine, seen in (await everywhere(web, half)).items():
        assert {name for name, there in seen.answer["markers"].items() if there} <= {"expander"}, engine
        assert seen.truth.ai_marker_ms is None
    whole = await everywhere(web, "answer-inline")
    there = {engine: {name for name, on in seen.answer["markers"].items() if on} for engine, seen in whole.items()}
    assert {"complete", "stream_end", "follow_up", "sources", "source_window"} <= there["google"]
    assert {"complete", "actions", "disclaimer", "follow-up"} == there["brave"]
    assert there["bing"] == {"sources"}


async def test_an_inline_answer_stands_after_the_third_result(web: FakeWeb) -> None:
    web.play("answer-inline")
    rank = (
        "[...document.querySelectorAll('#rso a[jsname=UWckNb] h3')].filter((h) => "
        "h.compareDocumentPosition(document.querySelector('#rso #eKIzJc')) & 4).length"
    )
    seen = await watched(web, "google", page=f"[{rank}, document.querySelector('#eKIzJc h2').textContent]")
    assert seen.page == [3, "AI Overview"]


async def test_what_brings_a_stream_is_asked_for_once_the_document_is_whole(web: FakeWeb) -> None:
    web.server.requests.clear()
    pages = await everywhere(web, "answer-stream", "asked for")
    asked = {each.host: each for each in web.requests if each.path != "/search"}
    assert {host: each.path for host, each in asked.items()} == {
        "www.google.com": "/async/folsrch",
        "www.bing.com": "/cmc/fetch",
        "search.brave.com": "/api/chatllm/answer",
    }
    for seen in pages.values():
        stream = asked[seen.request.host]
        assert stream.query["q"] == "asked for"
        ended = next(at for part, at, _ in seen.request.report.wrote if part == "end")
        assert stream.at >= ended
        written = [(part, 1000 * at - seen.origin_ms) for part, at, _ in seen.request.report.wrote]
        assert [part for part, _ in written] == [mark.part for mark in seen.truth.marks]
        # The two clocks are one, read by two processes.
        assert all(sent <= mark.ms + 5 for (_, sent), mark in zip(written, seen.truth.marks, strict=True))


async def test_what_the_parser_brings_has_no_script_and_the_servers_word_for_it(web: FakeWeb) -> None:
    web.play("answer-parser")
    for engine in HAVE:
        scripts_there = "[...document.scripts].filter(({ type }) => type !== 'application/json').length"
        seen = await watched(web, engine, page=scripts_there)
        assert seen.page == 0
        ending = "" if engine == "bing" else " settled"
        assert seen.parts == f"head answer answer answer answer sources{ending} row results end"
        assert seen.truth.by == "server"
        assert [mark.chars for mark in seen.truth.ai_growth] == [150, 340, 520, 610]
        assert seen.states == "absent growing"
        assert seen.answer["text"] == prose(610)
        assert len(seen.answer["citations"]) == (4 if engine == "brave" else 3)
        assert seen.bodies == 1
        first = next(t for t, _, chars in seen.samples if chars)
        assert first >= (seen.truth.ai_appear_ms or 0) - 5
        with pytest.raises(LabError, match=r"no marks: say its performance\.timeOrigin"):
            web.truth(seen.request)


async def test_scripts_that_bring_an_answer_run_without_marks_too(web: FakeWeb) -> None:
    for name in ("answer-inline", "answer-stream"):
        web.play(replace(scenario(name), name="unmarked", marks=False))
        seen = await watched(web, "google", page="[__truth.length, performance.getEntriesByType('mark').length]")
        assert seen.page == [0, 0]
        if name == "answer-inline":
            assert seen.answer["text"] == prose(610)
            assert [mark.chars for mark in seen.truth.ai_growth] == [150, 340, 520, 610]


async def test_a_hostile_page_is_one(web: FakeWeb) -> None:
    """In the page's own world, where a reader of another make would have to live."""
    web.play("hostile")
    refused = "(() => { try { document.createElement('p').innerHTML = 'x' } catch { return 'refused' } })()"
    said = (
        f"JSON.stringify({{}}) + [1].map((n) => n) + document.body.localName + typeof document.querySelector"
        f"+ performance.now() + typeof castlenb + {refused}"
    )
    seen = await watched(web, "google", page=said)
    assert seen.page == "nonoimgobjectNaNfunctionrefused"
    assert seen.titles == [" ".join(r.title.split()) for r in results(QUERY, 1, 10)]
    async with opened(web, "google") as (tab, _):
        context = await tab.world(WORLD)
        await until_evaluates(tab, context, f"{FIND}('#rso h3')")
        around = await tab.session.evaluate(f"{FIND}('#rso').closest('form').parentNode.localName", context_id=context)
    assert around == "input", "the form around the results has lost its properties to its fields"


class TestTheFieldNotes:
    async def test_of_most_queries(self, web: FakeWeb) -> None:
        seen = await everywhere(web, "2026-08-04")
        google, bing, brave = (seen[engine] for engine in HAVE)
        assert google.parts == "head row results wrapper shell answer answer answer answer answer sources settled end"
        assert google.states == "absent shell growing settled"
        shell, *grown = [mark for mark in google.truth.marks if mark.part in ("shell", "answer")]
        assert (shell.chars, shell.held) == (0, 28_864)
        assert [mark.chars for mark in grown] == [142, 385, 640, 811, 903]
        assert (google.truth.ai_shell_ms or 0) >= 1502
        assert (google.truth.ai_appear_ms or 0) >= 1752
        assert (google.truth.ai_settle_ms or 0) >= 2300
        assert google.answer["text"] == prose(903)
        assert (bing.parts, bing.states) == ("head row results end", "absent")
        assert (brave.truth.parse_ready_ms or 0) >= 290
        assert (brave.truth.ai_appear_ms or 0) >= 1260
        assert [mark for mark in brave.truth.ai_growth if mark.ms < 5000]
        assert (brave.truth.ai_settle_ms or 0) >= 6500
        assert brave.answer["text"] == prose(1310)

    async def test_no_google_answer(self, web: FakeWeb) -> None:
        web.play("2026-08-04")
        anything = "document.querySelector('#eKIzJc, #m-x-content, [data-subtree*=mfc]')"
        seen = await watched(web, "google", NO_GOOGLE_ANSWER, page=anything)
        assert (seen.parts, seen.states, seen.page) == ("head row results end", "absent", None)

    async def test_a_card_in_place_of_bings_answer(self, web: FakeWeb) -> None:
        web.play("2026-08-04")
        card = "document.querySelector('#b_results > li.b_ans.b_top .b_wiki_text').textContent.length"
        seen = await watched(web, "bing", A_BING_CARD.upper(), page=card)
        assert seen.states == "absent"
        assert seen.page > 600
        assert seen.answer["text"] is None

    async def test_all_three_answer(self, web: FakeWeb) -> None:
        seen = await everywhere(web, "2026-08-04", ALL_ANSWER, ("google", "bing"))  # and Brave does at any query
        assert seen["google"].answer["text"] == prose(903, query=ALL_ANSWER)
        assert seen["bing"].answer["text"] == prose(655, query=ALL_ANSWER)

    async def test_duckduckgo_has_none(self, web: FakeWeb) -> None:
        for name in ("2026-08-04", "answer-whole", "answer-stream"):
            web.play(name)
            seen = await watched(web, "duckduckgo")
            assert (seen.parts, seen.states) == ("head row results end", "unsupported")


class TestWhatIsLeft:
    """Pages that are closed before their answer has ended."""

    @pytest.mark.parametrize("by", ["stream", "document"])
    async def test_the_truth_so_far_and_nothing_else(self, web: FakeWeb, by: str) -> None:
        web.play(replace(scenario("answer-endless"), name="left", answer_by=by))
        for engine in HAVE:
            async with opened(web, engine, f"left {by}") as (tab, request):
                context = await tab.world(WORLD)
                await until_evaluates(tab, context, "new Set(samples.map(([, , chars]) => chars)).size > 3")
            truth = await asyncio.to_thread(web.truth, request)
            assert [mark.chars for mark in truth.ai_growth][:3] == [100, 140, 180]
            assert truth.ai_marker_ms is None
        await until(lambda: web.server.answering == 0)


async def until_evaluates(tab: Tab, context: int, condition: str) -> None:
    for _ in range(3000):
        if await tab.session.evaluate(f"!!({condition})", context_id=context, timeout=200):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(condition)
