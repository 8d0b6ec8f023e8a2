"""The conversation with a real Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import math

import pytest

import castlenb.cdp.connection as module
from castlenb.cdp import Connection, Session, Tab, background_tab
from castlenb.errors import CallTimeout, Misuse, ProtocolError, ScriptError, TabClosed

from .conftest import NEVER, Site, forever, waits

# Calls


async def test_a_call_returns_what_chrome_says(connection: Connection) -> None:
    assert (await connection.root.call("Browser.getVersion"))["product"].startswith("Chrome/")
    assert waits(connection) == 0


async def test_an_error_carries_chromes_code_and_words(connection: Connection) -> None:
    with pytest.raises(ProtocolError, match=r"Nonsense\.method: .*wasn't found.*\(-32601\)") as caught:
        await connection.root.call("Nonsense.method")
    assert (caught.value.method, caught.value.code) == ("Nonsense.method", -32601)
    assert waits(connection) == 0


async def test_parameters_that_are_none_are_left_out(connection: Connection) -> None:
    assert (await connection.root.call("Target.getTargets", {"filter": None}))["targetInfos"]


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}])
async def test_parameters_that_json_does_not_have_are_refused_at_once(connection: Connection, value: object) -> None:
    with pytest.raises(Misuse, match=r"Target\.getTargets: these parameters"):
        await connection.root.call("Target.getTargets", {"filter": [value]})
    assert waits(connection) == 0
    assert await connection.root.call("Browser.getVersion")


async def test_a_message_larger_than_chrome_takes_is_refused_at_once(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.LARGEST_MESSAGE == 100 * 2**20
    monkeypatch.setattr(module, "LARGEST_MESSAGE", 1000)
    with pytest.raises(Misuse, match="100 MiB"):
        await connection.root.call("Target.getTargets", {"filter": "x" * 1000})
    assert await connection.root.call("Browser.getVersion")


async def test_big_messages_go_out_and_come_back(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        text = "x" * 5 * 2**20
        assert await tab.session.evaluate(f"'{text}'", context_id=await tab.world("test"), timeout=60) == text


async def test_ids_stay_below_what_chrome_reads_as_an_integer(connection: Connection) -> None:
    connection._last_id = 2**31 - 2
    for _ in range(3):
        assert await connection.root.call("Browser.getVersion", timeout=5)
    assert connection._last_id == 2


async def test_a_call_that_is_not_answered_times_out_and_its_late_answer_is_harmless(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        context = await tab.world("test")
        late = "new Promise(done => setTimeout(done, 300, 'late'))"
        with pytest.raises(CallTimeout, match=r"Runtime\.evaluate: no answer within 0\.1 s"):
            await tab.session.evaluate(late, context_id=context, await_promise=True, timeout=0.1)
        assert waits(connection) == 0
        assert await tab.session.evaluate(late, context_id=context, await_promise=True) == "late"


async def test_each_call_has_its_own_time_limit(connection: Connection) -> None:
    ended: list[float] = []

    async def wait(tab: Tab, seconds: float) -> None:
        with contextlib.suppress(CallTimeout):
            await tab.session.call("Runtime.evaluate", {"expression": NEVER, "awaitPromise": True}, timeout=seconds)
        ended.append(seconds)

    async with background_tab(connection) as tab:
        await asyncio.gather(*(wait(tab, seconds) for seconds in (1.5, 0.1, 0.8)))
    assert ended == [0.1, 0.8, 1.5]


async def test_a_cancelled_call_is_forgotten(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        call = asyncio.create_task(forever(tab))
        await asyncio.sleep(0.05)
        assert waits(connection) == 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert waits(connection) == 0
        assert await tab.session.call("Page.getFrameTree")


async def test_calls_begun_together_are_sent_in_order(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        context = await tab.world("test")
        scripts = [f"globalThis.seen = [...(globalThis.seen ?? []), {n}]; seen" for n in range(20)]
        found = await asyncio.gather(*(tab.session.evaluate(script, context_id=context) for script in scripts))
        assert found[-1] == list(range(20))


async def test_two_hundred_calls_at_once_each_get_their_own_answer(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        context = await tab.world("test")
        calls = (tab.session.evaluate(f"{n} * 2", context_id=context) for n in range(200))
        assert await asyncio.gather(*calls) == [n * 2 for n in range(200)]


# Values


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("({a: [1, 'x', null, true]})", {"a": [1, "x", None, True]}),
        ("undefined", None),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("123456789012345678901234567890n", 123456789012345678901234567890),
        ("'\\ud83d\\ude00'", "😀"),
        ("'a\\ud800b'", "a\ud800b"),
        ("new Map([[1, 2]])", {}),
    ],
)
async def test_values_come_as_they_are(connection: Connection, expression: str, value: object) -> None:
    async with background_tab(connection) as tab:
        assert await tab.session.evaluate(expression, context_id=await tab.world("test")) == value


async def test_not_a_number_and_minus_zero(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        context = await tab.world("test")
        assert math.isnan(await tab.session.evaluate("NaN", context_id=context))
        assert math.copysign(1, await tab.session.evaluate("-0", context_id=context)) == -1


async def test_half_a_surrogate_pair_makes_the_round_trip(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        context = await tab.world("test")
        half = await tab.session.evaluate("'\\udc00'", context_id=context)
        assert await tab.session.evaluate(f"'{half}'.charCodeAt(0)", context_id=context) == 0xDC00


@pytest.mark.parametrize("script", ["throw new Error('on purpose')", "Promise.reject(new Error('on purpose'))"])
async def test_a_script_that_fails_says_why(connection: Connection, script: str) -> None:
    async with background_tab(connection) as tab:
        with pytest.raises(ScriptError, match="on purpose"):
            await tab.session.evaluate(script, context_id=await tab.world("test"), await_promise=True)


@pytest.mark.parametrize("expression", ["window", "Symbol()"])
async def test_what_has_no_copy_is_an_error(connection: Connection, expression: str) -> None:
    async with background_tab(connection) as tab:
        with pytest.raises(ProtocolError, match=r"too long|by value"):
            await tab.session.evaluate(expression, context_id=await tab.world("test"))


async def test_a_world_ends_with_its_document(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await tab.navigate(site.url("plain"))
        old = await tab.world("test")
        waiting = asyncio.create_task(tab.session.evaluate(NEVER, context_id=old, await_promise=True, timeout=30))
        await asyncio.sleep(0)
        await tab.navigate(site.url("other"))
        with pytest.raises(ProtocolError, match="navigated or closed"):
            await waiting
        with pytest.raises(ProtocolError, match="Cannot find context"):
            await tab.session.evaluate("1", context_id=old)


# Events


async def test_expect_hears_an_event_that_comes_before_the_answer(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        order: list[str] = []
        tab.session.on("Page.frameStartedLoading", lambda params: order.append("event"))
        async with tab.session.expect("Page.loadEventFired", "Page.frameStartedLoading") as got:
            await tab.navigate(site.url("plain"))
            order.append("answer")
        assert order[0] == "event"
        assert got.method == "Page.frameStartedLoading"
        assert got.params["frameId"] == tab.frame_id


async def test_expect_waits_for_the_event_that_fits(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        await tab.session.call("Network.enable")

        def document(params: dict[str, object]) -> bool:
            return params["requestId"] == params["loaderId"]

        async with tab.session.expect("Network.responseReceived", where=document) as got:
            loader_id = await tab.navigate(site.url("limited"))
        assert got.params["requestId"] == loader_id
        assert got.params["response"]["status"] == 429


async def test_expect_gives_up_in_time_and_leaves_nothing_behind(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        with pytest.raises(CallTimeout, match=r"Page\.loadEventFired or Page\.x: no answer within 0\.1 s"):
            async with tab.session.expect("Page.loadEventFired", "Page.x", timeout=0.1):
                pass
        assert waits(connection) == 0
        assert not tab.session._handlers["Page.loadEventFired"]


async def test_an_error_in_the_block_of_expect_is_raised_at_once(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        with pytest.raises(ZeroDivisionError):
            async with tab.session.expect("Page.loadEventFired"):
                raise ZeroDivisionError
        assert waits(connection) == 0
        assert not tab.session._handlers["Page.loadEventFired"]


async def test_expect_ends_when_the_tab_does(connection: Connection) -> None:
    async with background_tab(connection) as tab:
        with pytest.raises(TabClosed):
            async with tab.session.expect("Page.loadEventFired", timeout=30):
                await connection.root.call("Target.closeTarget", {"targetId": tab.target_id})
        with pytest.raises(TabClosed):
            async with tab.session.expect("Page.loadEventFired"):
                pytest.fail("the block must not run")


async def test_every_handler_runs_and_one_that_fails_is_logged(
    connection: Connection, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async with background_tab(connection) as tab:
        heard: list[str] = []

        def fail(params: dict[str, object]) -> None:
            raise ZeroDivisionError

        def second_and_last_of_the_first(params: dict[str, object]) -> None:
            heard.append("second")
            stop()

        def look_into_a_cancelled_future(params: dict[str, object]) -> None:
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            future.result()

        tab.session.on("Page.loadEventFired", fail)
        tab.session.on("Page.loadEventFired", look_into_a_cancelled_future)
        stop = tab.session.on("Page.loadEventFired", lambda params: heard.append("first"))
        tab.session.on("Page.loadEventFired", second_and_last_of_the_first)
        for _ in range(2):
            async with tab.session.expect("Page.loadEventFired"):
                await tab.navigate(site.url("plain"))
        assert heard == ["first", "second", "second"]
        assert caplog.text.count("a handler of Page.loadEventFired failed") == 4
        assert "ZeroDivisionError" in caplog.text
        assert "CancelledError" in caplog.text
        assert await connection.root.call("Browser.getVersion")


async def test_a_handler_may_send_commands(connection: Connection, site: Site) -> None:
    async with background_tab(connection) as tab:
        sent = asyncio.get_running_loop().create_future()

        def send(params: dict[str, object]) -> None:
            sent.set_result(asyncio.create_task(tab.session.call("Page.getFrameTree")))

        tab.session.on("Page.loadEventFired", send)
        await tab.navigate(site.url("plain"))
        async with asyncio.timeout(10):
            assert (await (await sent))["frameTree"]


async def test_a_session_is_there_when_its_first_events_are(connection: Connection) -> None:
    """The events of an attachment overtake its answer, so the session has to be known before the caller wakes."""
    async with background_tab(connection) as tab:
        known: list[Session | None] = []
        stop = connection.root.on(
            "Target.attachedToTarget", lambda params: known.append(connection._sessions.get(params["sessionId"]))
        )
        answer = await connection.root.call("Target.attachToTarget", {"targetId": tab.target_id, "flatten": True})
        stop()
        second = connection.session(answer["sessionId"], tab.target_id)
        assert known == [second]
        assert second.target_id == tab.target_id
        assert await second.call("Page.getFrameTree")
