"""How an answer grew, drawn: a step for each change of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .clean import one_line
from .markup import render
from .words import counted

WIDE, HIGH = 560, 90
"""Of the drawing, in its own units."""

COLUMNS = 40
"""Of the drawing in characters."""

LEVELS = " ▁▂▃▄▅▆▇█"


def growth_html(data: Mapping[str, Any]) -> str:
    """The growth of one trial's answer as a small drawing.

    Args:
        data: ``engine_label query state``; ``horizon_ms``, which is as wide as the drawing; ``observed_ms``, when the
            page was left, or None; ``curve``, pairs of the milliseconds and the characters from then on.
    """
    end, curve = _end(data), data["curve"]
    most = max((chars for _, chars in curve), default=0)
    points, level = ["0,0"], 0.0
    for ms, chars in curve:
        x, y = WIDE * min(ms / end, 1), HIGH * chars / most if most else 0.0
        points += [f"{x:.1f},{level:.1f}", f"{x:.1f},{y:.1f}"]
        level = y
    points.append(f"{WIDE * min((data['observed_ms'] or end) / end, 1):.1f},{level:.1f}")
    return render(
        "growth.html",
        engine=data["engine_label"],
        query=data["query"],
        said=_said(data, most),
        wide=WIDE,
        high=HIGH,
        points=" ".join(points),
        until=f"{end / 1000:g} s",
    )


def growth_text(data: Mapping[str, Any]) -> str:
    """The same in one line, for a terminal; takes what :func:`growth_html` takes."""
    curve = data["curve"]
    most = max((chars for _, chars in curve), default=0)
    drawn = "".join(_level(curve, _end(data) * (column + 1) / COLUMNS, most) for column in range(COLUMNS))
    return f"|{drawn}| {one_line(data['engine_label'], 40)} {one_line(data['query'], 40)}: {_said(data, most)}"


def _level(curve: Sequence[tuple[float, int]], until_ms: float, most: int) -> str:
    chars = next((chars for ms, chars in reversed(curve) if ms <= until_ms), 0)
    return LEVELS[-(-(len(LEVELS) - 1) * chars // most)] if most else LEVELS[0]


def _end(data: Mapping[str, Any]) -> float:
    return max(float(data["horizon_ms"]), 1.0)


def _said(data: Mapping[str, Any], most: int) -> str:
    grown = f", {most:,} characters in {counted(len(data['curve']), 'change')}" if most else ""
    return one_line(data["state"], 40).replace("_", " ") + grown
