"""A capture's file: what is kept of a page comes back, and what is no capture is refused first of all."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import castlenb as cn
from castlenb import captures, snapshot
from castlenb.snapshot import MAGIC, packed, parsed

WHEN = datetime(2026, 8, 4, 11, 30, 5, 123456, tzinfo=UTC)
KEPT = cn.Capture(
    html="<!doctype html>\n<html><head></head><body><p>Tea \ud83d pots…</p></body></html>",
    url="https://www.google.com/search?q=tea+pots",
    engine="google",
    query="tea pots",
    captured_at=WHEN,
    growth=((1500.5, ""), (1700.0, "<p>Pour</p>"), (1900.25, "<p>Pour over</p>")),
    timeline={"counts": [[400.5, 3, 2]]},
    timings={"parse_ready_ms": 400.5, "ai_appear_ms": 1700.0, "ai_settle_ms": None},
    found={"page_state": "results", "challenge_kind": None, "results": 10, "answer_state": "settled"},
    hooks={"#rso": 1},
    chrome="Chrome/156.0",
    redacted=({"what": "token", "where": "id", "count": 3},),
    answer_at=(35, 40),
)


def test_a_capture_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    file = KEPT.save(tmp_path / "one.capture.gz")
    assert cn.Capture.load(file) == KEPT
    assert cn.Capture.load(str(file)).growth == KEPT.growth
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert KEPT.save(tmp_path).name == "google-tea-pots-20260804T113005.capture.gz"
    assert repr(KEPT) == "Capture(google, 'tea pots', results)"
    assert [each.name for each in sorted(tmp_path.iterdir())] == [
        "google-tea-pots-20260804T113005.capture.gz",
        "one.capture.gz",
    ]


def test_a_file_that_can_not_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = KEPT.save(tmp_path / "one.capture.gz")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="disk is full"):
        replace(KEPT, query="other").save(file)
    assert cn.Capture.load(file) == KEPT
    assert list(tmp_path.iterdir()) == [file]


def test_a_time_is_kept_in_utc() -> None:
    east = WHEN.astimezone(timezone(timedelta(hours=9)))
    assert parsed(replace(KEPT, captured_at=east)._as_bytes(), "x").captured_at == WHEN


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 3e6), st.text("<ab >", max_size=30))))
def test_frames_are_packed_as_differences(frames: list[tuple[float, str]]) -> None:
    frames.sort(key=lambda frame: frame[0])
    kept = replace(KEPT, growth=tuple(frames))
    assert parsed(kept._as_bytes(), "x").growth == kept.growth
    assert all(
        head + tail + len(middle) == len(html)
        for (_, head, tail, middle), (_, html) in zip(packed(frames), frames, strict=True)
    )


def with_part(name: str, value: Any) -> bytes:
    head, _, body = KEPT._as_bytes().partition(b"\n")
    return head + b"\n" + json.dumps({**json.loads(body), name: value}).encode()


def nested(depth: int) -> bytes:
    return KEPT._as_bytes().partition(b"\n")[0] + b"\n" + b"[" * depth


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (MAGIC + b"2}\n{}", "format 2; this castlenb reads format 1"),
        (MAGIC + b"x}\n{}", "goes on as none"),
        (MAGIC + b"1}", "damaged"),
        (KEPT._as_bytes()[:-40], "damaged"),
        (nested(200_000), "damaged"),
        (MAGIC + b"1}\n[]", "the capture is list, not dict"),
        (MAGIC + b"1}\n\xff\xfe{}", "damaged"),
        (MAGIC + b"1}\n{}", "html is NoneType"),
        (with_part("html", 7), "html is int, not str"),
        (with_part("html", "  "), "html is empty"),
        (with_part("engine", "altavista"), "no engine is called 'altavista'"),
        (with_part("engine", {"google": 1}), "engine is dict"),
        (with_part("captured_at", "yesterday"), "isoformat"),
        (with_part("captured_at", "2026-08-04T11:30:05"), "time zone"),
        (with_part("captured_at", "0001-01-01T00:00:00+14:00"), "range"),
        (with_part("url", "file:///etc/passwd"), "no address of a web page"),
        (with_part("url", "javascript:alert(1)"), "no address of a web page"),
        (with_part("url", "https://[::1"), "no address of a web page"),
        (with_part("url", "https:///search"), "no address of a web page"),
        (with_part("url", "chrome://settings"), "no address of a web page"),
        (with_part("timings", []), "timings is list"),
        (with_part("redacted", ["x"]), "redacted is str"),
        (with_part("hooks", None), "hooks is NoneType"),
        (with_part("answer_at", [5, 2]), "no place in its html"),
        (with_part("answer_at", [0, 10**9]), "no place in its html"),
        (with_part("answer_at", ["0", "1"]), "no place in its html"),
        (with_part("growth", {}), "growth is dict"),
        (with_part("growth", [[1, 2, 3]]), "growth is not what it should be"),
        (with_part("growth", [[1, 5, 0, "x"]]), "growth is not what it should be"),
        (with_part("growth", [[1, -1, 0, "x"]]), "growth is not what it should be"),
        (with_part("growth", [[float("nan"), 0, 0, "x"]]), "growth is not what it should be"),
        (with_part("growth", [[10**400, 0, 0, "x"]]), "growth is not what it should be"),
        (with_part("growth", [[5, 0, 0, "x"], [4, 0, 0, "y"]]), "goes back in time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_as_it_should_be_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "bad.capture.gz"
    file.write_bytes(gzip.compress(content))
    with pytest.raises(cn.CaptureError, match=said) as raised:
        cn.Capture.load(file)
    assert str(raised.value).startswith(str(file))


def damaged() -> bytes:
    whole = bytearray(gzip.compress(KEPT._as_bytes()))
    whole[len(whole) // 2] ^= 0xFF
    return bytes(whole)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (damaged, "."),
        (lambda: gzip.compress(KEPT._as_bytes())[:-20], "end-of-stream"),
        (lambda: b"", "no capture"),
        (lambda: b"\x1f\x8b", "."),
        (lambda: b"PK\x03\x04 a zip", "no capture"),
        (lambda: gzip.compress(b"<html>a saved page"), "no capture"),
        (lambda: gzip.compress(KEPT._as_bytes()) + b"more", "Not a gzipped file"),
    ],
    ids=["damaged", "truncated", "empty", "two bytes", "zip", "page", "trailing"],
)
def test_damaged_and_foreign_files_are_refused(tmp_path: Path, make: Callable[[], bytes], said: str) -> None:
    file = tmp_path / "bad.capture.gz"
    file.write_bytes(make())
    with pytest.raises(cn.CaptureError, match=said):
        cn.Capture.load(file)
    with pytest.raises(cn.CaptureError, match=r"1 of 1 captures: .*bad") as raised:
        captures.corpus(tmp_path)
    assert list(raised.value.failures) == [str(file)]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST", 1_000_000)
    file = tmp_path / "bomb.capture.gz"
    file.write_bytes(gzip.compress(MAGIC + b"1}\n" + b" " * 30_000_000))
    assert file.stat().st_size < 100_000
    made = []
    read = gzip.GzipFile.read

    def counted(self: gzip.GzipFile, size: int = -1) -> bytes:
        made.append(len(content := read(self, size)))
        return content

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    with pytest.raises(cn.CaptureError, match="more than the 1 MB"):
        cn.Capture.load(file)
    assert sum(made) == 1_000_001


def test_neither_page_nor_frames_can_be_made_large_by_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LARGEST", 1_000_000)
    copies = [[n, 9_999, 0, "x"] if n else [n, 0, 0, "x" * 9_999] for n in range(500)]
    with pytest.raises(cn.CaptureError, match="growth"):
        parsed(with_part("growth", copies), "x")
    with pytest.raises(cn.CaptureError, match="larger than a page"):
        parsed(with_part("html", "x" * 1_000_001), "x")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(cn.CaptureError, match="No such file"):
        cn.Capture.load(tmp_path / "none")
    with pytest.raises(cn.CaptureError, match="no such folder"):
        captures.corpus(tmp_path / "none")


def test_a_corpus_is_a_frame_of_all_captures_in_a_folder(tmp_path: Path) -> None:
    empty = captures.corpus(tmp_path)
    assert list(empty.columns) == list(captures.CORPUS)
    (tmp_path / "2026").mkdir()
    KEPT.save(tmp_path / "2026")
    later = replace(KEPT, captured_at=WHEN + timedelta(days=1), found={}, timings={}, growth=())
    later.save(tmp_path / "b.capture.gz")
    (tmp_path / "a-page.html.gz").write_bytes(gzip.compress(b"<html>"))
    table = captures.corpus(tmp_path)
    assert (table.dtypes == empty.dtypes).all()
    assert table["file"].tolist() == ["2026/google-tea-pots-20260804T113005.capture.gz", "b.capture.gz"]
    first, second = table.to_dict("records")
    assert (first["page_state"], first["results"], first["frames"], first["ai_appear_ms"]) == ("results", 10, 3, 1700.0)
    assert (first["captured_at"], first["redacted"], first["version"]) == (WHEN, 3, 1)
    assert table.loc[1, ["page_state", "results", "ai_appear_ms", "ai_settle_ms"]].isna().all()
    assert second["frames"] == 0
