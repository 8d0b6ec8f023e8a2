"""Saved pages to be checked: Captures, and files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..captures import source_of
from ..snapshot import Capture, PathLike


@dataclass(frozen=True)
class Source:
    """A page to be checked that somebody has kept: what it is called, itself, and when it was kept."""

    name: str
    kept: str | Capture
    at: str

    @property
    def html(self) -> str:
        """Its mark-up."""
        return self.kept.html if isinstance(self.kept, Capture) else self.kept


def source_from(capture: PathLike | Capture) -> Source:
    """A Capture, a capture's file, or a saved page's, as a page to be checked.

    A saved page's date is the one that its name begins with, such as ``2026-02-06_…``, else when it was last changed.

    Raises:
        CaptureError: the file can not be read, or is a damaged capture.
    """
    if isinstance(capture, Capture):
        return Source(capture.query, capture, stamp(capture.captured_at))
    path = Path(capture)
    kept = source_of(path)
    if isinstance(kept, Capture):
        return Source(path.name, kept, stamp(kept.captured_at))
    dated = re.match(r"20\d\d(?:-\d\d){0,2}(?!\d)", path.name)
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Source(path.name, kept, dated[0] if dated else stamp(changed))


def stamp(at: datetime) -> str:
    """A time as it is written down: UTC, to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds")
