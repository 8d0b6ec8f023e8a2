"""What the panel's button does with a page: a file, or a word of why there is none."""

from dataclasses import replace
from pathlib import Path

import pytest

import castlenb as cn
from castlenb.notebook.panel import save_page

from .test_snapshot import KEPT, WHEN

PAGE = cn.SearchPage(
    engine="google",
    query="tea pots",
    url=KEPT.url,
    page_state="results",
    challenge_kind=None,
    answer=None,
    records=(),
    timings={},
    warnings=(),
    documents=1,
    status=200,
    visibility="emulated",
    fetched_at=WHEN,
    browser="here",
    capture=KEPT,
)


def test_a_page_is_saved_for_its_owner_alone_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    said = save_page(PAGE)
    file = Path(said.removeprefix("The page itself is in "))
    assert cn.Capture.load(file) == KEPT
    assert file.parent == tmp_path / "castlenb" / "captures"
    assert file.parent.stat().st_mode & 0o077 == 0


def test_why_there_is_no_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    assert "could not be saved: " in save_page(PAGE)
    assert save_page(replace(PAGE, capture=None)).endswith(": it could not be taken")
    assert save_page(replace(PAGE, capture=None, reused=True)).endswith(": it is of an earlier search")
