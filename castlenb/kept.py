"""Pages kept on this machine, so that running a notebook again asks no engine again.

Nothing is kept unless somebody asks for it: by ``reuse=`` in a call, or by :func:`reuse` for all that follow. A page is
one file in the user's data directory, readable by nobody else: it holds what was searched for and what was found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .asked import Asked

log = logging.getLogger("castlenb")

Age = str | timedelta | None
"""``"1d"``, ``"12h"``, ``"30m"``, ``"90s"``, ``"2w"``, a timedelta; ``None`` leaves it to :func:`reuse`."""

VERSION = 1
"""Of the files. One of another version is not read."""

_default: timedelta | None = None


def reuse(age: Age) -> None:
    """From now on, take pages that are younger than ``age`` from this machine, and keep those that are fetched.

    It counts for every search, comparison and panel of this process that does not say ``reuse=`` itself. What a page is
    kept under is all that it was asked with: the Chrome, the engine, the words, how many results, language and country,
    time limit, with an AI answer or without. A refusal is never kept, nor a page whose answer was cut.

    Args:
        age: ``"1d"``, ``"12h"``, ``"30m"``, ``"90s"``, ``"2w"`` or a timedelta; ``None`` ends it.

    Raises:
        ValueError: it is none of these.
    """
    global _default
    _default = None if age is None else _delta(age)


def forget() -> int:
    """Deletes all pages that are kept on this machine; returns how many there were."""
    files = list(_folder().glob("*.json"))
    for file in files:
        file.unlink(missing_ok=True)
    return len(files)


def oldest(age: Age) -> timedelta | None:
    """How old a page may be, or ``None`` where none is taken: what was asked for, else what :func:`reuse` said.

    Raises:
        ValueError: it is no age.
    """
    return _default if age is None else _delta(age)


def find(asked: Asked, address: str) -> dict[str, Any] | None:
    """What was kept for such a search in the Chrome at that address, where it is young enough."""
    limit = oldest(asked.reuse)
    if limit is None:
        return None
    file = _file(asked, address)
    try:
        said = json.loads(file.read_text("ascii"))
        page: dict[str, Any] = said["page"]
        age = datetime.now(UTC) - datetime.fromisoformat(page["fetched_at"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as damaged:
        not_used(damaged)
        return None
    return page if timedelta() <= age < limit else None


def not_used(why: Exception) -> None:
    """Says so in the log: a page that is damaged costs one search more, and no more than that."""
    log.warning("a kept page can not be read, and is fetched anew: %s: %s", type(why).__name__, why)


def keep(asked: Asked, address: str, page: dict[str, Any]) -> None:
    """Keeps a page, given as JSON takes it. Where that fails, the search has not."""
    if oldest(asked.reuse) is None:
        return
    file = _file(asked, address)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, half = tempfile.mkstemp(dir=file.parent, suffix=".half")  # made readable by its owner alone
        try:
            with os.fdopen(handle, "w", encoding="ascii") as out:
                json.dump({"query": asked.query, "page": page}, out)
            os.replace(half, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(half)
            raise
    except OSError as failed:
        log.warning("the page could not be kept: %s", failed)


def _folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("castlenb") / "pages"


def _file(asked: Asked, address: str) -> Path:
    told = [VERSION, address, asked.engine.name, asked.query, asked.num_results, asked.recency, asked.hl, asked.gl]
    more = [asked.ai_answer, asked.network, asked.visibility]
    return _folder() / f"{hashlib.sha256(json.dumps([*told, *more]).encode()).hexdigest()[:32]}.json"


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _delta(age: str | timedelta) -> timedelta:
    if isinstance(age, timedelta) and age >= timedelta():
        return age
    if isinstance(age, str) and (parts := re.fullmatch(r"\s*(\d{1,6}(?:\.\d+)?)\s*([smhdw])\s*", age)):
        return timedelta(**{_UNITS[parts[2]]: float(parts[1])})
    raise ValueError(
        f"reuse has to be an age such as '90s', '30m', '12h', '1d' or '2w', a timedelta, or None, not {age!r}"
    )
