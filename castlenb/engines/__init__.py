"""The engines, by name. Adding one is adding one file and one line here, or a call of :func:`register`."""

from __future__ import annotations

from .base import RECENCIES, Engine, EngineError
from .bing import BING
from .brave import BRAVE
from .duckduckgo import DUCKDUCKGO
from .google import GOOGLE
from .overrides import overridden, overrides, overrides_file

__all__ = [
    "ENGINES",
    "RECENCIES",
    "Engine",
    "EngineError",
    "engine",
    "overrides",
    "overrides_file",
    "register",
    "use",
]

ENGINES: dict[str, Engine] = {each.name: each for each in (GOOGLE, BING, BRAVE, DUCKDUCKGO)}
"""All engines, in the order of their registration."""


def engine(name: str) -> Engine:
    """The engine of that name, with the hooks that the user's own file sets.

    Raises:
        EngineError: there is none; says which there are. Or the user's file makes no sense.
    """
    try:
        found = ENGINES[name]
    except KeyError:
        raise EngineError(f"no engine is called {name!r}; there are {', '.join(ENGINES)}") from None
    return overridden(found)


def register(*new: Engine) -> None:
    """Adds engines of anybody's making to those that can be searched and read, for as long as this process lives.

    Raises:
        EngineError: an engine of that name is there already.
    """
    for each in new:
        if each.name in ENGINES:
            raise EngineError(f"there is an engine called {each.name!r} already")
        ENGINES[each.name] = each


def use(changed: Engine) -> None:
    """Searches and reads with this engine from now on in place of the one of its name, for as long as this process
    lives: ``use(engine("google").replace("area", "#new", instead_of="#rso"))``.

    Raises:
        EngineError: there is no engine of that name.
    """
    engine(changed.name)
    ENGINES[changed.name] = changed
