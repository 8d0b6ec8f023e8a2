"""Hooks that somebody has set by hand, in a file of their own: what the package ships stays as it is.

The file is ``hooks.toml`` in the user's settings folder for castlenb. It says under an engine's name what a part is
found by::

    [[google]]
    part = "area"
    css = "#results-of-tomorrow"
    instead_of = "#rso"          # without it, the selector comes before the part's own

It is read again when it has changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from .base import BY_HAND, Engine, EngineError, Part

FILE = "hooks.toml"


@dataclass(frozen=True)
class Override:
    """One entry of the file: ``css`` finds ``part`` of ``engine``, instead of another selector or before the others."""

    engine: str
    part: Part
    css: str
    instead_of: str | None = None

    def __str__(self) -> str:
        place = f" instead of {self.instead_of}" if self.instead_of else ", before the others"
        return f"{self.engine}: {self.part} by {self.css}{place}"


def overrides_file() -> Path:
    """Where the file is, whether or not there is one."""
    from platformdirs import user_config_path

    return user_config_path("castlenb") / FILE


def overrides() -> tuple[Override, ...]:
    """What the file says, in its order; nothing where there is none.

    Raises:
        EngineError: it can not be read, or says something that makes no sense.
    """
    file = overrides_file()
    try:
        found = file.stat()
    except OSError:
        return ()
    return _read(file, found.st_mtime_ns, found.st_size)


def overridden(engine: Engine) -> Engine:
    """The engine with what the file says of it; the engine itself where it says nothing.

    Raises:
        EngineError: the file makes no sense, or speaks of hooks that the engine has not got.
    """
    own = tuple(each for each in overrides() if each.engine == engine.name)
    return _with(engine, own) if own else engine


@lru_cache(maxsize=32)
def _with(engine: Engine, own: tuple[Override, ...]) -> Engine:
    # One that is used in place of the package's was made from one that had them already.
    there = {(hook.part, hook.css) for hook in engine.hooks if hook.evidence == BY_HAND}
    for each in own:
        if (each.part, each.css) in there:
            continue
        others = [] if each.instead_of else [hook for hook in engine.hooks if hook.part == each.part]
        try:
            engine = engine.replace(each.part, each.css, *others, instead_of=each.instead_of)
        except EngineError as wrong:
            raise EngineError(f"{overrides_file()}: {wrong}") from wrong
    return engine


@lru_cache(maxsize=4)
def _read(file: Path, changed_ns: int, size: int) -> tuple[Override, ...]:
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as wrong:  # a TOMLDecodeError, and a UnicodeDecodeError, is a ValueError
        raise EngineError(f"{file}: {wrong}") from wrong
    return tuple(_entries(file, said))


def _entries(file: Path, said: dict[str, Any]) -> Iterable[Override]:
    for engine, entries in said.items():
        if not isinstance(entries, list):
            raise EngineError(f"{file}: {engine!r} has to be a list of tables, written [[{engine}]]")
        for entry in entries:
            known = {"part", "css", "instead_of"}
            if not isinstance(entry, dict) or not {"part", "css"} <= set(entry) <= known:
                raise EngineError(
                    f"{file}: an entry of [[{engine}]] has part, css and perhaps instead_of, not {entry!r}"
                )
            if not all(isinstance(value, str) and value for value in entry.values()):
                raise EngineError(
                    f"{file}: part, css and instead_of of [[{engine}]] are words in quotes, not {entry!r}"
                )
            yield Override(engine, cast(Part, entry["part"]), entry["css"], entry.get("instead_of"))
