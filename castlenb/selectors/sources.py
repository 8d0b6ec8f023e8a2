"""Saved pages to be checked: Captures, and files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..captures import source_of


@dataclass(frozen=True)
class Source:
    """A page to be checked that somebody has saved: a Capture, or what stands in for one."""

    name: str
    html: str
    url: str | None
    engine: str | None
    at: str


def source_from(capture: Any) -> Source:
    """A Capture, or a saved page's file, as a page to be checked.

    A file's date is the one that its name begins with, such as ``2026-02-06_…``, else when it was last changed.

    Raises:
        CaptureError: the file can not be read.
    """
    if not isinstance(capture, str | os.PathLike):
        at = capture.captured_at
        return Source(
            str(capture.query),
            capture.html,
            capture.url,
            capture.engine,
            stamp(at) if isinstance(at, datetime) else str(at),
        )
    path = Path(capture)
    html = source_of(path)
    dated = re.match(r"20\d\d(?:-\d\d){0,2}(?!\d)", path.name)
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Source(path.name, html, None, None, dated[0] if dated else stamp(changed))


def stamp(at: datetime) -> str:
    """A time as it is written down: UTC, to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds")
