"""The faults of a study's journal: what was measured stays on the disk, and the study goes on once it can."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import castlenb as cn
from castlenb import study

from .cases import full
from .stage import Fault, Stage

JOURNALS: list[Fault] = []


def _study(stage: Stage, file: Path) -> study.Run:
    plan = study.plan(["tea"], engines=("bing",), repeats=2)
    return study.run(plan, journal=file, browser=stage.browser, horizon_s=0.8, quiet_ms=200, pace="off", progress=False)


def _journal(name: str, spoil: Callable[[Path], Callable[[], object]], error: str, *, begun: bool = True) -> None:
    """A study that is to write there: refused before any query, what is there stays, and it goes on once it can."""

    def play(stage: Stage) -> object:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study" / "journal.jsonl"
            file.parent.mkdir()
            if begun:
                _study(stage, file)
            mend = spoil(file)
            try:
                before, asked = file.read_bytes() if begun else b"", len(stage.web.searches())
                said = _refusal(stage, file)
                if len(stage.web.searches()) > asked:
                    return f"{said}, and engines were asked"
                if begun and file.read_bytes() != before:
                    return f"{said}, and the journal was changed"
            finally:
                mend()
            return said if len(_study(stage, file).trials) == 3 else f"{said}, and not resumed"

    JOURNALS.append(Fault(f"journal: {name}", play, (error,), 40.0))


def _refusal(stage: Stage, file: Path) -> str:
    try:
        _study(stage, file)
    except cn.StudyError as error:
        return type(error).__name__ if str(file) in str(error) else f"an error that does not name the file: {error}"
    return "no refusal"


def _damaged(file: Path) -> Callable[[], object]:
    good = file.read_bytes()
    file.write_bytes(good[: len(good) // 2] + b"\0\n\0" + good[len(good) // 2 :])
    return lambda: file.write_bytes(good)


def _written(file: Path) -> Callable[[], object]:
    code = (
        "import pathlib, sys; from castlenb.study.journal import Journal\n"
        f"journal = Journal(pathlib.Path({str(file)!r})); print('held', flush=True); sys.stdin.read()"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    writer.stdout.readline()
    return lambda: writer.communicate(timeout=30)


def _no_folder(file: Path) -> Callable[[], object]:
    """A file where its folder is to be: nobody can write there, root neither."""
    file.parent.rmdir()
    file.parent.write_bytes(b"")
    return file.parent.unlink


def _dev_full(file: Path) -> Callable[[], object]:
    file.symlink_to("/dev/full")
    return file.unlink


_journal("disk full", lambda file: full(file.parent), "JournalError", begun=False)
_journal("/dev/full", _dev_full, "JournalError", begun=False)
_journal("damaged in the middle", _damaged, "RecordError")
_journal("written by another process", _written, "JournalError")
_journal("no folder to write to", _no_folder, "JournalError", begun=False)


def _torn(stage: Stage) -> object:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "journal.jsonl"
        _study(stage, file)
        lines = file.read_bytes().splitlines(keepends=True)
        trials = [number for number, line in enumerate(lines) if line.startswith(b'{"kind":"trial"')]
        whole = b"".join(lines[: trials[-1]])
        file.write_bytes(whole + lines[trials[-1]][:500])
        asked = len(stage.web.searches())
        found, again = _study(stage, file), len(stage.web.searches()) - asked
        kept = file.read_bytes().startswith(whole)
        return "resumed" if (len(found.trials), again, kept) == (3, 1, True) else f"{found}, {again} asked, {kept}"


def _full_midway(stage: Stage) -> object:
    """Full once the first trial is there; it needs a file system of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file, filler = Path(folder) / "journal.jsonl", Path(folder) / "filler"
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], check=True)
        try:
            threading.Thread(target=_fill_later, args=(file, filler), daemon=True).start()
            try:
                _study(stage, file)
                return "no refusal"
            except cn.JournalError as error:
                held, said = error.run.trials, str(error)
            on_disk = file.read_bytes()
            filler.unlink()
            again = _study(stage, file)
            kept = file.read_bytes().startswith(on_disk) and len(again.trials) == 3
            right = 1 <= len(held) <= 3 and on_disk.endswith(b"\n") and kept and str(file) in said
            return "JournalError" if right else f"{said}: {len(held)} trials held, {kept}"
        finally:
            subprocess.run(["umount", folder], check=True)


def _fill_later(file: Path, filler: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and not (file.exists() and b'"kind":"trial"' in file.read_bytes()):
        time.sleep(0.02)
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as full:
        while True:
            full.write(b"x" * 4096)


JOURNALS += [
    Fault("journal: last line torn", _torn, ("resumed",), 40.0),
    Fault("journal: disk full midway", _full_midway, ("JournalError",), 40.0),
]
