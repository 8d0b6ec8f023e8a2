"""The engines, by name. Adding one is adding one file and one line here."""

from __future__ import annotations

from .base import RECENCIES, Engine, EngineError, index
from .google import GOOGLE

__all__ = ["ENGINES", "RECENCIES", "Engine", "EngineError", "engine"]

ENGINES = index(GOOGLE)


def engine(name: str) -> Engine:
    """The engine of that name.

    Raises:
        EngineError: there is none; says which there are.
    """
    try:
        return ENGINES[name]
    except KeyError:
        raise EngineError(f"no engine is called {name!r}; there are {', '.join(ENGINES)}") from None
