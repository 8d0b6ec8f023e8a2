"""Whatever comes from outside, at random: what castlenb makes of it is a value or a typed error, and never a hang.

python -m tests.faults.fuzz [SECONDS]     each target in turn, until the time is up (600 s where none is given)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

import castlenb as cn
from castlenb import captures, pacing, replays
from castlenb import page as page_scripts
from castlenb.addresses import desk_of
from castlenb.cdp import Connection, background_tab, discover
from castlenb.cdp.endpoint import _understood
from castlenb.engines import ENGINES
from castlenb.errors import redact
from castlenb.ledger import FILE, Ledger
from castlenb.results import COLUMNS, SearchPage, _ranked
from castlenb.study import Run, plan
from castlenb.study.records import SCHEMA_VERSION, TRIALS
from castlenb.study.running import SAME, _Study
from castlenb.study.trial import Settings
from castlenb.target import resolve_target
from castlenb.turns import Granted, Wanted, claim

EXAMPLES = 25
HANG_S = 20.0

TARGETS: list[Callable[[], None]] = []

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
_anything = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
_texts = st.text(st.characters(), max_size=60)  # lone surrogates included


def target(function: Callable[..., None]) -> Callable[[], None]:
    TARGETS.append(function)
    return function


# What Chrome, or what stands in its place, says

_events = ("Target.attachedToTarget", "Target.detachedFromTarget", "Inspector.targetCrashed", "Page.windowOpen",
           "Page.javascriptDialogOpening", "Page.downloadWillBegin", "Page.downloadProgress")  # fmt: skip
_event_names = st.sampled_from(_events)
_names = ("targetId", "sessionId", "executionContextId", "result", "exceptionDetails", "errorText", "loaderId",
          "targetInfo", "value", "unserializableValue", "guid", "state", "type")  # fmt: skip
_bodies = st.dictionaries(st.sampled_from(_names), _anything | st.sampled_from(["S", "T", 7]), max_size=4)
_good: dict[str, dict[str, Any]] = {
    "Target.createTarget": {"targetId": "T"},
    "Target.attachToTarget": {"sessionId": "S"},
    "Page.createIsolatedWorld": {"executionContextId": 7},
}
_replies = st.one_of(
    st.just("good"),
    st.builds(lambda body: ("result", body), _bodies | _anything),
    st.builds(lambda body: ("error", body), _bodies | st.fixed_dictionaries({"code": _anything, "message": _anything})),
    st.builds(lambda data: ("raw", data), st.text(max_size=30) | st.binary(max_size=30)),
    st.builds(lambda name, body: ("event", {"method": name, "params": body}), _event_names | _anything, _anything),
    st.builds(lambda name, body: ("event", {"method": name, "params": body, "sessionId": "S"}), _event_names, _bodies),
    st.just("hang up"),
)  # fmt: skip


@target
@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_replies, min_size=1, max_size=12))
def frames(script: list[Any]) -> None:
    """A peer that answers each command with the next of these, and with what is right once they are spent."""

    async def play(websocket: ServerConnection) -> None:
        left = list(script)
        with contextlib.suppress(ConnectionClosed):
            async for frame in websocket:
                command = json.loads(frame)
                reply = left.pop(0) if left else "good"
                number, session = command["id"], {k: command[k] for k in ("sessionId",) if k in command}
                if reply == "hang up":
                    await websocket.close()
                    return
                if reply == "good":
                    await websocket.send(
                        json.dumps({"id": number, "result": _good.get(command["method"], {}), **session})
                    )
                    if command["method"] == "Target.closeTarget":
                        gone = {"method": "Target.detachedFromTarget", "params": {"sessionId": "S"}}
                        await websocket.send(json.dumps(gone))
                    continue
                kind, said = reply
                if kind == "raw":
                    await websocket.send(said)
                elif kind == "event":
                    await websocket.send(json.dumps(said))
                else:
                    await websocket.send(json.dumps({"id": number, kind: said, **session}))

    async def run() -> None:
        async with serve(play, "127.0.0.1", 0, compression=None) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            connection = await Connection.open(f"ws://127.0.0.1:{port}/devtools/browser/x")
            try:
                with contextlib.suppress(
                    TimeoutError
                ):  # of ours: a frame that was no answer leaves the call without one
                    async with asyncio.timeout(0.3), background_tab(connection) as tab:
                        await tab.navigate("http://x.example/", timeout=0.2)
                        await tab.session.evaluate("1", context_id=tab.blank_world, timeout=0.2)
            except cn.CastleError as error:
                str(error)
            finally:
                await connection.aclose()

    asyncio.run(asyncio.wait_for(run(), HANG_S))


@target
@settings(max_examples=10 * EXAMPLES, deadline=None)
@given(st.integers(100, 599), st.binary(max_size=80) | _bodies.map(lambda said: json.dumps(said).encode())
       | _texts.map(lambda url: json.dumps({"webSocketDebuggerUrl": url}).encode()))  # fmt: skip
def versions(status: int, body: bytes) -> None:
    with contextlib.suppress(cn.EndpointError):
        _understood("http://127.0.0.1:9222/prefix?token=sesame", status, body)


@target
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=60) | st.from_regex(rb"\A\d{1,6}\s\S{0,20}\s?\Z"))
def port_files(said: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "DevToolsActivePort").write_bytes(said.replace(b"9222", b"1"))
        asyncio.run(desk_of(folder))
        if not said.strip()[:1].isdigit():  # a port is not to be dialled here
            with contextlib.suppress(cn.EndpointError):
                asyncio.run(discover(folder))


# What a person, or another program, has written

_addresses = _texts | st.from_regex(r"\A((https?|wss?|ftp)://)?[\w.@:\[\]%-]{0,20}(:\d{0,6})?(/[\w?&=#-]{0,12})?\Z")


@target
@settings(max_examples=10 * EXAMPLES, deadline=None)
@given(_addresses | st.integers())
def target_strings(said: Any) -> None:
    redact(str(said))
    try:
        found = resolve_target(said, environ={}, stored=Path("/nowhere/at/all"))
    except cn.TargetError as error:
        str(error)
    else:
        assert "sesame" not in str(found)


@target
@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(st.binary(max_size=80) | _anything.map(lambda said: json.dumps(said).encode())
       | st.dictionaries(st.sampled_from(["target", "endpoint", "url", "cdp", "host", "port"]), _anything | _addresses)
       .map(lambda said: json.dumps(said).encode()))  # fmt: skip
def stored_targets(said: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "browser-target.json"
        file.write_bytes(said)
        with contextlib.suppress(cn.TargetError):
            resolve_target(environ={}, stored=file)


@target
@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda rest: b"\x1f\x8b" + rest)
       | _texts.map(lambda text: f"<meta charset='{text}'>".encode("utf-8", "replace")))  # fmt: skip
def saved_pages(said: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "saved.html"
        file.write_bytes(said)
        with contextlib.suppress(cn.CaptureError):
            replays.engine_of(captures.source_of(file), None, None)


@target
@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(_anything | st.tuples(_scalars, _scalars) | st.lists(st.tuples(_scalars, _scalars), max_size=3))
def paces(said: Any) -> None:
    try:
        kept = pacing.rates(said)
    except ValueError:
        return
    assert all(pages >= 1 and seconds > 0 for pages, seconds in kept)


@target
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(min_size=1, max_size=4096), st.integers(0, 30_000))
def state_files(said: bytes, at: int) -> None:
    """A state file that something has written into."""

    async def run(folder: Path) -> None:
        wanted = Wanted("localhost:9222", {"google": 1}, ((3, 20.0),))
        await Ledger(folder).run(lambda db: claim(db, wanted))
        file = folder / FILE
        await asyncio.to_thread(_overwrite, file, said, at)
        again = Wanted("localhost:9222", {"google": 1}, ((3, 20.0),))
        outcome = await Ledger(folder).run(lambda db: claim(db, again))
        assert isinstance(outcome, Granted)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asyncio.run(asyncio.wait_for(run(Path(folder)), HANG_S))


def _overwrite(file: Path, said: bytes, at: int) -> None:
    whole = bytearray(file.read_bytes())
    whole[at : at + len(said)] = said
    file.write_bytes(bytes(whole))
    for rest in ("-wal", "-shm"):
        file.with_name(file.name + rest).unlink(missing_ok=True)


# A study's journal

_PLAN = plan(["tea"], engines=("bing",), repeats=2)
_HEADER: dict[str, Any] = dict.fromkeys(SAME) | {"plan_hash": "x", "results": 10}
_RUN = {"run_id": "r", "schema_version": SCHEMA_VERSION, "sittings": 1, **_HEADER}
_GROWTH = {"t_ms": [1.5, 2.0], "chars": [1, 2], "kind": ["growing", "settled"], "signature": [1, 2]}
_WHOLE: list[dict[str, Any]] = [
    {"kind": "run", "run": _RUN},
    *(
        {
            "kind": "trial",
            "trial": dict.fromkeys(TRIALS)
            | {name: value for name, value in row.items() if name in TRIALS}
            | {"run_id": "r", "outcome": "results", "started_at": "2026-11-30T22:00:00+00:00", "vantage": "here"},
            "growth": _GROWTH,
        }
        for row in json.loads(_PLAN.head(2).to_json(orient="records"))
    ),
    {"kind": "end", "run": {"run_id": "r", "ended_at": "2026-11-30T22:10:00+00:00"}},
]
_edits = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 3), st.sampled_from(["kind", "run", "trial", "growth"]), _anything),
    st.tuples(st.just("put"), st.integers(0, 3), st.sampled_from([*_RUN, *TRIALS, *_GROWTH]),
              st.none() | _anything | _texts),
    st.tuples(st.just("again"), st.integers(0, 3), st.integers(0, 4), st.none()),
    st.tuples(st.just("drop"), st.integers(0, 3), st.none(), st.none()),
    st.tuples(st.just("bytes"), st.integers(0, 4000), st.binary(max_size=40), st.integers(0, 40)),
    st.tuples(st.just("deep"), st.integers(0, 200), st.sampled_from([b"[", b'{"a":']), st.none()),
    st.tuples(st.just("cut"), st.integers(0, 4000), st.none(), st.none()),
)  # fmt: skip


def _spoilt(edits: list[Any]) -> bytes:
    lines = json.loads(json.dumps(_WHOLE))
    for what, at, name, value in edits:
        line = lines[at % len(lines)] if lines else {}
        if what == "set":
            line[name] = value
        elif what == "put":
            holder = next((line[part] for part in ("growth", "run", "trial") if name in (line.get(part) or ())), None)
            if isinstance(holder, dict):
                holder[name] = value
        elif what == "again":
            lines.insert(name, line)
        elif what == "drop" and lines:
            lines.remove(line)
    # Escaped, as other programs write it: a lone surrogate is then nothing that UTF-8 has no bytes for.
    whole = b"".join(json.dumps(line).encode() + b"\n" for line in lines).replace(b'": ', b'":').replace(b', "', b',"')
    for what, at, said, instead_of in edits:
        if what == "bytes":
            whole = whole[:at] + said + whole[at + instead_of :]
        elif what == "deep" and b":" in whole:
            place = [match.end() for match in re.finditer(b":", whole)][at % whole.count(b":")]
            whole = whole[:place] + said * 100_000 + whole[place:]
        elif what == "cut":
            whole = whole[:at]
    return whole


@target
@settings(max_examples=4 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_edits, max_size=3).map(_spoilt) | st.binary(max_size=100))
def journals(said: bytes) -> None:
    """A journal that something has written into, read, and resumed by a study of the same plan."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder) / "journal.jsonl"
        file.write_bytes(said)
        try:
            repr(Run.load(file))
        except cn.RecordError as error:
            str(error).encode()
        try:
            asked = Settings("r", 15.0, 2000, 10, "off", 20.0, "en", None)
            study = _Study(_PLAN, asked, _HEADER, {}, file, progress=False, growth=False)
        except cn.StudyError as error:
            str(error).encode()
            whole = said[: said.rfind(b"\n") + 1]
            assert file.read_bytes() in (said, whole), "what can not be resumed stays as it is"
            return
        study._note("run", **study._where())
        kept = len(study.so_far().trials)
        study.close()
        assert len(Run.load(file).trials) == kept, "what was resumed can be read"


# What the reader says of a page

_strings = st.none() | _texts
_rows = st.fixed_dictionaries(
    {
        "rank": st.integers(1, 99), "title": _strings, "url": st.none() | st.just("https://a.example/ü") | _addresses,
        "link": _texts, "link_form": st.sampled_from(["direct", "redirect", "encrypted"]), "snippet": _strings,
        "site": _strings, "date": _strings, "fragment": _strings,
    }
)  # fmt: skip


def as_told(rows: list[dict[str, Any]]) -> Any:
    """The rows as they come of a page: JSON.stringify escapes a surrogate only where its other half is missing."""
    text = json.dumps(rows, ensure_ascii=False)
    return page_scripts.said(re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text))


@target
@settings(max_examples=2 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_rows, max_size=3), _texts, _texts, st.lists(_texts, max_size=2))
def readings(rows: list[dict[str, Any]], query: str, url: str, warnings: list[str]) -> None:
    records, _ = _ranked([as_told(rows)])
    page = SearchPage(
        "google", query, url, "results", None, None, tuple(records), {"queued_ms": None}, tuple(warnings), 1, None,
        "emulated", datetime.now(UTC), "http://127.0.0.1:9222",
    )  # fmt: skip
    assert list(page.results.columns) == list(COLUMNS)
    assert isinstance(repr(page), str)
    page._repr_html_().encode()  # no surrogate is left that could not be written
    page.citation_ranks()
    assert page.engine in ENGINES


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rounds += 1
        for each in TARGETS:
            seed(rounds)(each)()
            print(f"round {rounds}: {each.__name__}", flush=True)
    print(f"{rounds} rounds of {len(TARGETS)} targets in {seconds:g} s: no hang, no crash, no untyped exception")
    return 0


if __name__ == "__main__":
    sys.exit(main())
