"""What a verification found, as a record: a row for each hook on each page, a line for each engine."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import bridge, display
from ..engines import engine as engine_named
from ..errors import CastleError
from . import picture
from .repair import Repair
from .seen import COLUMNS, Check, Seen

if TYPE_CHECKING:
    import pandas as pd

REPAIR_COLUMNS = ("engine", "part", "hook", "proposal", "kind", "right", "wrong", "repaired", "still_broken", "line")
"""Columns of ``Verification.repairs``."""


@dataclass(frozen=True, repr=False)
class Verification:
    """What :func:`castlenb.verify` found. Printed, it is a line an engine.

    Attributes:
        pages: the pages that were checked.
        failures: the error of each page that could not be had, by engine and layout, or by file.
        proposed: what to use in place of hooks that are missing, the best of each first.
        pictures: a JPEG of each page with a frame around what its hooks find; empty until :meth:`with_pictures`.
    """

    pages: tuple[Seen, ...]
    failures: Mapping[str, CastleError]
    proposed: tuple[Repair, ...] = ()
    pictures: tuple[bytes | None, ...] = ()

    @cached_property
    def checks(self) -> pd.DataFrame:
        """One row a hook on a page, with the columns :data:`COLUMNS`.

        ``found``: how many it found, missing where that can not be seen on a page; ``expected``: how many on a page on
        which its part can be judged; ``placement``: the nearest element with an id around what it found, or where an
        AI answer stands; ``agrees_with``: hooks of the same part that mark the same place; ``sample``: the first words
        of what it found; ``verdict``: ``ok``, ``missing``, ``ambiguous`` (more than expected), ``misplaced`` (not where
        its part belongs), ``disagrees`` (weightier hooks of its part mark another place), ``not_judgeable`` (nothing on
        this page tells), ``blocked`` (the engine gave no page); ``why``: what the verdict rests on.
        """
        import pandas as pd

        rows = [row for seen in self.pages for row in seen.rows()]
        kinds = {name: "Int64" if name == "found" else "string" for name in COLUMNS}
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype(kinds)

    @cached_property
    def repairs(self) -> pd.DataFrame:
        """Proposals for hooks that are missing, the best of each first, with the columns :data:`REPAIR_COLUMNS`.

        ``right``: pages on which it finds just what the hook found there; ``wrong``: pages on which it finds something
        else; ``repaired``: pages on which the hook is missing and it finds something that is where it belongs;
        ``still_broken``: those on which it does not; ``line``: the line for the engine's file.
        """
        import pandas as pd

        numbers = ("right", "wrong", "repaired", "still_broken")
        rows = [each.row() for each in self.proposed]
        kinds = {name: "Int64" if name in numbers else "string" for name in REPAIR_COLUMNS}
        return pd.DataFrame(rows, columns=list(REPAIR_COLUMNS)).astype(kinds)

    @property
    def drifted(self) -> list[Check]:
        """The checks of hooks that do not do what a search relies on them for."""
        return [check for seen in self.pages for check in seen.checks if check.drifted]

    @property
    def holds(self) -> bool:
        """Whether every page could be had and nothing that a search depends on has drifted."""
        return not self.failures and not self.drifted and not any(_blocked(seen) for seen in self.pages)

    def by_month(self, *, hooks: Iterable[str] | None = None) -> pd.DataFrame:
        """Which hooks held when: a row a hook (``engine``, ``part``, ``hook``), a column a month, oldest first.

        The values are the share, 0 to 1, of the month's pages on which the part could be judged and the hook found
        something that is where it belongs; missing where there was no such page.

        Args:
            hooks: the selectors to tell of; ``None`` for all that found something on any page or are expected to.
        """
        import pandas as pd

        wanted = None if hooks is None else set(hooks)
        table: dict[tuple[str, str, str], dict[str, list[bool]]] = {}
        for seen in self.pages:
            for check in seen.checks:
                key = (seen.engine, check.hook.part, check.hook.css)
                if (wanted is None or check.hook.css in wanted) and (held := _held(check, seen)) is not None:
                    table.setdefault(key, {}).setdefault(seen.at[:7], []).append(held)
        told = {
            key: {month: sum(each) / len(each) for month, each in months.items()}
            for key, months in table.items()
            if wanted is not None or any(map(any, months.values())) or key[1] in _ALWAYS
        }
        index = pd.MultiIndex.from_tuples(told, names=["engine", "part", "hook"])
        months = sorted({month for each in told.values() for month in each})
        rows = [[each.get(month) for month in months] for each in told.values()]
        return pd.DataFrame(rows, index=index, columns=months, dtype="float64")

    def with_pictures(self) -> Verification:
        """The same with a picture of each page, on which what its hooks find is framed, for a notebook.

        Taken from a replay of each page in a Chromium that is started for it; a person's tab is never photographed.

        Raises:
            LabError: no throwaway Chromium could be started.
        """
        return bridge.run(self._with_pictures())

    async def awith_pictures(self) -> Verification:
        """As :meth:`with_pictures`, to be awaited."""
        return await bridge.arun(self._with_pictures())

    async def _with_pictures(self) -> Verification:
        return replace(self, pictures=tuple(await picture.pictured(self.pages)))

    def _repr_html_(self) -> str:
        return display.verification_html(self._shown())

    def _shown(self) -> dict[str, Any]:
        pictures = self.pictures or (None,) * len(self.pages)
        return {
            "lines": [{"text": text, "holds": holds} for text, holds in self._told()],
            "repairs": [each.row() for each in self.proposed],
            "pages": [
                {
                    "title": " · ".join(filter(None, (engine_named(seen.engine).label, seen.layout, seen.name))),
                    "at": seen.at[:10],
                    "url": seen.url,
                    "checks": [row for row in seen.rows() if row["verdict"] != "not_judgeable"],
                    "picture": taken and b64encode(taken).decode(),
                }
                for seen, taken in zip(self.pages, pictures, strict=True)
            ],
        }

    def __str__(self) -> str:
        return "\n".join(display.one_line(line, 2_000) for line in self.lines()) or "no page was checked"

    def __repr__(self) -> str:
        return str(self)

    def lines(self) -> list[str]:
        """A line for each engine: whether its hooks hold, else what to do about those that do not."""
        return [text for text, _ in self._told()]

    def _told(self) -> Iterator[tuple[str, bool]]:
        """The lines, each with whether it is a good one."""
        for engine in dict.fromkeys(seen.engine for seen in self.pages):
            pages = [seen for seen in self.pages if seen.engine == engine]
            drifted = any(check.drifted for seen in pages for check in seen.checks)
            yield self._line(engine, pages), not drifted and not any(map(_blocked, pages))
        for name, failed in self.failures.items():
            yield f"{name}: not checked: {failed}", False

    def _line(self, name: str, pages: Sequence[Seen]) -> str:
        label = engine_named(name).label
        blocked = [seen for seen in pages if _blocked(seen)]
        if len(blocked) == len(pages):
            return f"{label}: blocked ({blocked[0].page_state}): open {blocked[0].url} yourself, then verify again"
        checks = [check for seen in pages for check in seen.checks]
        drifted = {
            (check.hook.part, check.hook.css, check.verdict): [
                seen
                for seen in pages
                for other in seen.checks
                if (other.hook, other.verdict) == (check.hook, check.verdict)
            ]
            for check in checks
            if check.drifted
        }
        unjudged = sum(
            all(check.verdict == "not_judgeable" for seen in pages for check in seen.checks if check.hook == hook)
            for hook in {check.hook for check in checks}
        )
        hooks = len({check.hook for check in checks})
        over = f"on {len(pages)} page{'s' if len(pages) > 1 else ''}"
        more = f"; {len(blocked)} of its pages blocked" if blocked else ""
        if not drifted:
            held = hooks - unjudged
            hold = "1 hook holds" if held == 1 else f"{held} hooks hold"
            return f"{label}: {hold} {over}, {unjudged} had nothing to be judged by{more}"
        told = [
            f"{part} {css} {verdict} on {len(where)}" + self._remedy(name, part, css)
            for (part, css, verdict), where in drifted.items()
        ]
        return f"{label}: {len(drifted)} of {hooks} hooks have drifted {over}: {'; '.join(told)}{more}"

    def _remedy(self, engine: str, part: str, css: str) -> str:
        best = next(
            (each for each in self.proposed if (each.engine, each.part, each.hook.css) == (engine, part, css)), None
        )
        return f", use {best.css}" if best else ""


_ALWAYS = ("scope", "area", "heading", "answer_wrapper")


def _blocked(seen: Seen) -> bool:
    return seen.page_state in ("challenge", "suspected_block")


def _held(check: Check, seen: Seen) -> bool | None:
    """Whether it found what it is for; None where the page could not tell."""
    if check.verdict == "blocked" or check.found["found"] is None or not check.shown:
        return None
    if check.found["placed"]:
        return True
    # Where nothing of the part is on the page, its absence is none of the hook's.
    others = (each.found["placed"] and each.hook.part == check.hook.part for each in seen.checks if each is not check)
    return False if check.drifted or any(others) else None
