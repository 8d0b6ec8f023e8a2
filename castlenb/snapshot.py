"""A kept results page: its DOM without scripts, how its answer grew, what was recorded with it, and its file.

The file is gzip around one line that says what it is and one JSON object. It may come from a stranger: whatever does
not look as it should is refused before anything is made of it, and nothing is ever dialled for it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from . import bridge, display
from .engines import Engine, EngineError
from .engines import engine as engine_named
from .errors import CaptureError, Misuse

if TYPE_CHECKING:
    from .browser import BrowserLike
    from .results import SearchPage

PathLike = str | os.PathLike[str]

VERSION = 1
"""Version of the file's format."""

SUFFIX = ".capture.gz"
"""How the files are called that castlenb names itself, and that a corpus is made of."""

MAGIC = b'{"castlenb": "capture", "version": '

MOST = 100_000_000
"""Bytes that a file may hold once it is unpacked."""

LARGEST = 16_000_000
"""Characters that a capture's page may have, and all frames of its answer together."""

LATEST_MS = 3_600_000
"""No page is watched for longer than an hour."""

Frame = tuple[float, str]
Packed = tuple[float, int, int, str]

Reader = Callable[["Capture", "BrowserLike"], Coroutine[Any, Any, "SearchPage"]]

_reader: Reader | None = None


def provide_reader(reader: Reader) -> None:
    """Says how a capture is read; the room that replays does, so that this one need not know it."""
    global _reader
    _reader = reader


class Drift(str):
    """A warning that a page was not what its engine's selectors take it for.

    Attributes:
        capture: the page itself, redacted and in memory; ``None`` for a saved page, and where it could not be kept.
    """

    capture: Capture | None = None


@dataclass(frozen=True)
class Capture:
    """One results page, as it was when it had settled.

    Attributes:
        html: its DOM, without scripts and whatever else runs or loads, redacted.
        url: its final address; of its parameters those that were part of the question.
        engine: the engine's name, such as ``"google"``.
        query: what was searched for.
        captured_at: when the tab was sent off (client clock, UTC); of a saved page, what was told.
        growth: the answer's mark-up at each of its changes: ``(t_ms, html)``, milliseconds on the page clock, the empty
            text where there was none. Empty where no answer was watched.
        timeline: what ``page/watch.js`` recorded, as it stands; its times count from the last document's origin.
        timings: as ``SearchPage.timings`` has them, milliseconds on the page clock.
        found: what the visit itself read: ``page_state``, ``challenge_kind``, ``results`` (how many), ``answer_state``,
            ``settled_by``, ``reason`` (what ended the wait), ``status``, ``documents``, ``visibility``.
        hooks: what each hook found, for who checks them; empty until somebody has.
        chrome: the browser, as it names itself.
        redacted: what was taken out: dicts with ``what`` (``account``, ``location``, ``form field``, ``inline data``,
            ``token``, ``link parameter``, ``data URI``, ``e-mail address``, ``IP address``, ``coordinates``), ``where``
            (a selector, an attribute, ``text``) and ``count``.
        answer_at: where in ``html`` the answer's element stands, from and to; ``None`` where there is none.
        version: of the file's format.
    """

    html: str = field(repr=False)
    url: str
    engine: str
    query: str
    captured_at: datetime
    growth: tuple[Frame, ...] = ()
    timeline: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float | None] = field(default_factory=dict)
    found: Mapping[str, Any] = field(default_factory=dict)
    hooks: dict[str, Any] = field(default_factory=dict)
    chrome: str = ""
    redacted: tuple[Mapping[str, Any], ...] = ()
    answer_at: tuple[int, int] | None = None
    version: int = VERSION

    def __repr__(self) -> str:
        state = self._read_then("page_state")
        query = repr(display.one_line(self.query, 80))
        return f"Capture({self.engine}, {query}{f', {state}' if state else ''})"

    def _repr_html_(self) -> str:
        results = self.found.get("results")
        by = {"marker": " by the page's own sign", "quiet": " by its quiet"}.get(self._read_then("settled_by"), "")
        holds = [f"{len(self.html):,} characters of HTML without scripts"]
        if self.growth:
            holds.append(display.counted(len(self.growth), "change") + " of the AI answer")
        if self.hooks:
            holds.append("what each hook found")
        return display.capture_html(
            {
                "engine_label": engine_named(self.engine).label,
                "query": self.query,
                "url": self.url,
                "captured_at": self.captured_at,
                "results": results if type(results) is int else None,
                "facts": [
                    ("page", self._read_then("page_state").replace("_", " ")),
                    ("asks for", self._read_then("challenge_kind")),
                    ("AI answer", self._read_then("answer_state") + by),
                    ("holds", ", ".join(holds)),
                    ("Chrome", self.chrome),
                ],
                "redacted": self.redacted,
            }
        )

    def _read_then(self, name: str) -> str:
        """A word of ``found``, which in a stranger's file can be anything."""
        said = self.found.get(name)
        return display.one_line(said, 40) if isinstance(said, str) else ""

    def save(self, path: PathLike) -> Path:
        """Writes it to a file, or under a name of its own into a folder; returns where it is.

        Raises:
            OSError: it can not be written there.
        """
        target = Path(path)
        if target.is_dir():
            target /= self.name()
        packed = gzip.compress(self._as_bytes(), 6, mtime=0)
        # Beside it first: a file of that name is whole, or it is the one that was there before.
        beside = target.with_name(f"{target.name}.{os.getpid()}.new")
        try:
            beside.write_bytes(packed)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
        return target

    @classmethod
    def load(cls, path: PathLike) -> Capture:
        """The capture that a file holds.

        Raises:
            CaptureError: it is missing, damaged, of another kind or a later version, or not what it says it is.
        """
        content = unpacked_file(path)
        if not content.startswith(MAGIC):
            raise CaptureError(f"{os.fspath(path)}: this is no capture of castlenb's")
        return parsed(content, os.fspath(path))

    def read(self, *, browser: BrowserLike = None) -> SearchPage:
        """What the reader of live pages finds on it; see :func:`castlenb.read`, which also says what is raised."""
        return bridge.run(self._read(browser))

    async def aread(self, *, browser: BrowserLike = None) -> SearchPage:
        """As :meth:`read`, to be awaited."""
        return await bridge.arun(self._read(browser))

    async def _read(self, browser: BrowserLike) -> SearchPage:
        if _reader is None:
            raise Misuse("nothing has been provided that reads a capture: import castlenb itself")
        return await _reader(self, browser)

    def name(self) -> str:
        """What its file is called where nobody says: engine, query, time."""
        words = re.sub(r"[^\w]+", "-", self.query.casefold()).strip("-")[:60]
        return f"{self.engine}-{words or 'page'}-{self.captured_at:%Y%m%dT%H%M%S}{SUFFIX}"

    def _as_bytes(self) -> bytes:
        said = {
            "html": self.html,
            "url": self.url,
            "engine": self.engine,
            "query": self.query,
            "captured_at": self.captured_at.isoformat(),
            "growth": packed(self.growth),
            "timeline": dict(self.timeline),
            "timings": dict(self.timings),
            "found": dict(self.found),
            "hooks": self.hooks,
            "chrome": self.chrome,
            "redacted": [dict(each) for each in self.redacted],
            "answer_at": self.answer_at,
        }
        # Escaped: half of a pair of surrogates, which a page can hold, has no UTF-8.
        return MAGIC + f"{VERSION}}}\n".encode() + json.dumps(said).encode()


def packed(growth: Iterable[Frame]) -> list[Packed]:
    """The frames, each as what differs from the one before: ``(t, head, tail, middle)``, so many characters at the
    start and at the end staying as they were. An answer that grows by sentences is not kept as often as it has any."""
    found: list[Packed] = []
    before = ""
    for t, html in growth:
        head = _common(before, html)
        tail = _common(before[head:][::-1], html[head:][::-1])
        found.append((t, head, tail, html[head : len(html) - tail]))
        before = html
    return found


def _common(a: str, b: str) -> int:
    """How many characters both begin with."""
    shorter = min(len(a), len(b))
    return next((at for at in range(shorter) if a[at] != b[at]), shorter)


def _unpacked(said: Any, where: str) -> tuple[Frame, ...]:
    """The frames that :func:`packed` has packed, none of them larger than what they are made of allows.

    Raises:
        CaptureError: they are of another form, too large together, or go back in time.
    """
    frames: list[Frame] = []
    held = 0
    for each in _typed(said, list, "growth", where):
        match each:
            case [int() | float() as t, int() as head, int() as tail, str() as middle] if head >= 0 and tail >= 0:
                before = frames[-1][1] if frames else ""
                held += head + tail + len(middle)
                if head + tail > len(before) or not 0 <= t <= LATEST_MS or held > LARGEST:
                    raise CaptureError(f"{where}: a frame of the answer's growth is not what it should be")
                frames.append((float(t), before[:head] + middle + before[len(before) - tail :]))
            case _:
                raise CaptureError(f"{where}: a frame of the answer's growth is not what it should be")
    if any(later < earlier for (earlier, _), (later, _) in pairwise(frames)):
        raise CaptureError(f"{where}: the answer's growth goes back in time")
    return tuple(frames)


def unpacked_file(path: PathLike) -> bytes:
    """What a file holds, unpacked where it is gzip; never more than :data:`MOST` bytes are made of it.

    Raises:
        CaptureError: it is missing, damaged, or larger than that.
    """
    where = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            packed_bytes = file.read(MOST + 1)
        if packed_bytes[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=io.BytesIO(packed_bytes)) as unpacking:
                content = unpacking.read(MOST + 1)
        else:
            content = packed_bytes
    except (OSError, EOFError, zlib.error) as failed:
        raise CaptureError(f"{where}: {failed}") from failed
    if len(content) > MOST:
        raise CaptureError(f"{where}: it holds more than the {MOST // 1_000_000} MB that a page may")
    return content


def parsed(content: bytes, where: str) -> Capture:
    """The capture that such a file's content is, once each part of it is what it should be.

    Raises:
        CaptureError: some part is not.
    """
    head, _, body = content.partition(b"\n")
    version = re.fullmatch(rb"(\d{1,9})\}", head.removeprefix(MAGIC))
    if version is None:
        raise CaptureError(f"{where}: it begins as a capture does, and goes on as none")
    if int(version[1]) != VERSION:
        raise CaptureError(
            f"{where}: a capture of format {int(version[1])}; this castlenb reads format {VERSION}. A later one may"
        )
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as failed:
        raise CaptureError(f"{where}: damaged: {failed}") from failed
    said = _typed(said, dict, "the capture", where)

    def part(name: str, kind: type, default: Any = None) -> Any:
        return _typed(said.get(name, default), kind, name, where)

    html, url = part("html", str), part("url", str)
    if not html.strip():
        raise CaptureError(f"{where}: its html is empty")
    if len(html) > LARGEST:
        raise CaptureError(f"{where}: its html is larger than a page")
    try:
        engine_named(part("engine", str))
        captured_at = datetime.fromisoformat(part("captured_at", str))
        if captured_at.tzinfo is None:
            raise ValueError("captured_at names no time zone")
        captured_at = captured_at.astimezone(UTC)
    except (EngineError, ValueError, OverflowError) as failed:
        raise CaptureError(f"{where}: {failed}") from failed
    if not is_web(url):
        raise CaptureError(f"{where}: {url[:80]!r} is no address of a web page")
    at = said.get("answer_at")
    if at is not None and not (_whole(at) and len(at) == 2 and 0 <= at[0] <= at[1] <= len(html)):
        raise CaptureError(f"{where}: answer_at is no place in its html")
    return Capture(
        html=html,
        url=url,
        engine=said["engine"],
        query=part("query", str, ""),
        captured_at=captured_at,
        growth=_unpacked(said.get("growth", []), where),
        timeline=part("timeline", dict, {}),
        timings=part("timings", dict, {}),
        found=part("found", dict, {}),
        hooks=part("hooks", dict, {}),
        chrome=part("chrome", str, ""),
        redacted=tuple(_typed(each, dict, "redacted", where) for each in part("redacted", list, [])),
        answer_at=None if at is None else (at[0], at[1]),
    )


def is_web(url: str) -> bool:
    """Whether it is an address that a tab can be sent to with every request of it held."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"[\x00-\x20]", url)
    except ValueError:
        return False


def is_of(engine: Engine, url: str) -> bool:
    """Whether an address is on one of the engine's own hosts, or on one below, such as that of its consent page."""
    if not is_web(url):
        return False
    host = urlsplit(url).netloc
    return any(re.search(engine.own, each) for each in (host, host.partition(".")[2]))


def _typed(value: Any, kind: type, name: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise CaptureError(f"{where}: {name} is {type(value).__name__}, not {kind.__name__}")
    return value


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(type(each) is int for each in values)
