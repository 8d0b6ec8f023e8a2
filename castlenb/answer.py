"""The AI answer of a results page, as a record.

It is generated text. It is labelled with the engine's name wherever it is shown, and is never among the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import display
from .engines import engine as engine_named
from .links import same_target, site_of
from .snapshot import Drift

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("n", "title", "url", "link", "link_form", "fragment", "site", "snippet")
"""Columns of ``AIAnswer.citations``: ``n`` is Int64, from 1; the others are strings or missing."""

GROWTH_COLUMNS = ("t_ms", "chars", "kind", "signature")
"""Columns of ``AIAnswer.growth``: Float64, Int64, string, Int64."""


@dataclass(frozen=True)
class AIAnswer:
    """What an engine wrote above its results, or why there is nothing of it.

    Attributes:
        engine: the engine's name, such as ``"google"``.
        label: what to call it: ``"Google AI Overview"``, ``"Bing generative answer"``, ``"Brave AI summary"``.
        state: ``absent``, ``shell`` (its place on the page holds something else), ``loading``, ``growing`` (still being
            written), ``settled``, ``declined`` (the page says that there is none), ``offered`` (the page would write
            one on a click, and castlenb does not click), ``unsupported`` (this engine has none).
        settled_by: ``marker`` (the page shows that it is whole), ``quiet`` (it did not change for long enough), or
            ``None``.
        text: its prose as Markdown-like plain text: paragraphs, headings, lists, tables, code; ``None`` where there is
            none. Without marks of sources, cards, captions, controls and disclaimers.
        language: language of the prose as the page tells it, which can differ from that of the page.
        placement: ``top``, ``inline`` (among the results), ``side`` (beside them), or ``None``.
        header: its heading, as the page words it.
        records: what it cites as plain dicts with the keys :data:`COLUMNS`.
        claims: which words name which of them, where the page shows it: dicts with ``text`` (the words that a mark
            stands after), ``id`` (the mark's own), ``publisher`` and ``extra`` (as in "Publisher +2"), ``citations``
            (numbers ``n``, empty where the mark does not tell).
        markers: signs that it is whole, by name, and whether each was there when it was read.
        timings: milliseconds on the page clock; empty where it was not watched. ``ai_shell_ms``: its container was
            seen, holding something else or nothing; ``ai_loading_ms``: it said that it was being written;
            ``ai_appear_ms``: its first prose; ``ai_declined_ms``: the page said that there is none; ``ai_settle_ms``:
            the last change of its words, where it had settled by the end; with ``network=True`` also ``ai_asked_ms``,
            ``ai_first_byte_ms``, ``ai_last_byte_ms`` of its own request. ``None`` where it was not seen.
        requests: the requests that brought it, with ``network=True``: dicts with ``host``, ``path``, ``asked_ms``,
            ``first_byte_ms``, ``last_byte_ms`` (page clock), ``bytes`` (as they came, compressed), ``status``,
            ``failed`` (why, or ``None``). Empty where it came with the document, or was never asked for.
        changes: what watching it showed, as plain dicts with the keys :data:`GROWTH_COLUMNS`; see :attr:`growth`.
        warnings: what a careful reader would want to know, each a :class:`.snapshot.Drift`.
    """

    engine: str
    label: str
    state: str
    settled_by: str | None = None
    text: str | None = None
    language: str | None = None
    placement: str | None = None
    header: str | None = None
    records: tuple[Mapping[str, Any], ...] = ()
    claims: tuple[Mapping[str, Any], ...] = ()
    markers: Mapping[str, bool] = field(default_factory=dict)
    timings: Mapping[str, float | None] = field(default_factory=dict)
    requests: tuple[Mapping[str, Any], ...] = ()
    changes: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def citations(self) -> pd.DataFrame:
        """What it cites, one row a source, with the columns :data:`COLUMNS`, in the page's order.

        ``url`` is the target without its text fragment, missing where the engine hides it or tells only a title;
        ``link`` the address as served; ``link_form`` one of ``direct``, ``redirect`` (unwrapped), ``encrypted``;
        ``fragment`` the text fragment that was stripped; ``site`` as the page names it, else the host of the target.
        """
        import pandas as pd  # 0.4 s, and an answer can be read without it

        table = pd.DataFrame([dict(record) for record in self.records], columns=list(COLUMNS))
        return table.astype({name: "Int64" if name == "n" else "string" for name in COLUMNS})

    @cached_property
    def growth(self) -> pd.DataFrame:
        """How it came, one row a change, with the columns :data:`GROWTH_COLUMNS`; empty where it was not watched.

        ``t_ms``: when the watcher was told of the change, in milliseconds on the page clock, from the first document's
        origin, as in ``timings``; ``chars``: characters of text in the answer's prose from then on, marks of sources
        among them (so it is not the length of ``text``), 0 while there is no prose; ``kind``: its state from then on;
        ``signature``: a hash of that text, so that a rewrite of the same length shows. A page that never stops has its
        first 3999 changes and its last one.
        """
        import pandas as pd

        table = pd.DataFrame([dict(change) for change in self.changes], columns=list(GROWTH_COLUMNS))
        return table.astype({"t_ms": "Float64", "chars": "Int64", "kind": "string", "signature": "Int64"})

    def __repr__(self) -> str:
        return display.answer_text(self.to_dict())

    def _repr_html_(self) -> str:
        return display.answer_html(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data; a part of :meth:`castlenb.SearchPage.to_dict`, and under its version."""
        return {
            "label": self.label,
            "state": self.state,
            "settled_by": self.settled_by,
            "text": self.text,
            "language": self.language,
            "placement": self.placement,
            "citations": [dict(record) for record in self.records],
            "warnings": list(self.warnings),
        }


def citation_ranks(citations: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """See :meth:`castlenb.SearchPage.citation_ranks`."""
    import pandas as pd

    pages: dict[str, int] = {}
    sites: dict[str, int] = {}
    for result in results:
        if result["url"]:
            pages.setdefault(same_target(result["url"]), result["rank"])
        if site := _site(result):
            sites.setdefault(site, result["rank"])
    rows = [
        {
            **{name: citation[name] for name in ("n", "title", "url", "site")},
            "page_rank": pages.get(same_target(citation["url"])) if citation["url"] else None,
            "site_rank": sites.get(_site(citation)),
        }
        for citation in citations
    ]
    kinds = {
        "n": "Int64",
        **dict.fromkeys(("title", "url", "site"), "string"),
        "page_rank": "Int64",
        "site_rank": "Int64",
    }
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def _site(record: Mapping[str, Any]) -> str:
    """By its address, where that is known: a citation's own ``site`` is as the page names it."""
    return site_of(record["url"] or "") or record["site"] or ""


def answer_from(
    said: Mapping[str, Any],
    engine: str,
    *,
    state: str | None = None,
    settled_by: str | None = None,
    timings: Mapping[str, float | None] | None = None,
    requests: Sequence[Mapping[str, Any]] | None = None,
    changes: Sequence[Mapping[str, Any]] = (),
) -> AIAnswer:
    """The record of what ``page/answer.js`` returned.

    Args:
        said: the JSON of ``answers.answer()``.
        engine: the engine's name.
        state: what watching it showed, where that is known better than from one look at the page.
        settled_by: the same.
        timings: milliseconds on the page clock, by name.
        requests: its own requests, where they were followed.
        changes: its growth, where it was watched; see :func:`changes_from`.
    """
    return AIAnswer(
        engine=engine,
        label=said["label"] or f"{engine_named(engine).label} AI answer",
        state=state or said["state"],
        settled_by=settled_by if state else said["settled_by"],
        text=said["text"],
        language=said["language"],
        placement=said["placement"],
        header=said["header"],
        records=tuple({name: citation.get(name) for name in COLUMNS} for citation in said["citations"]),
        claims=tuple(said["claims"]),
        markers=dict(said["markers"]),
        timings=dict(timings or {}),
        requests=tuple(requests or ()),
        changes=tuple(changes),
        warnings=tuple(Drift(each) for each in said["warnings"]),
    )


def changes_from(watched: Mapping[str, Any], offset_ms: float) -> list[dict[str, Any]]:
    """The growth of what ``page/growth.js`` recorded, for ``AIAnswer.changes``.

    Args:
        watched: the timeline's ``answer``.
        offset_ms: origin of the watched document after that of the first.
    """
    return [
        {"t_ms": round(t + offset_ms, 1), "chars": chars, "kind": state, "signature": signature}
        for t, state, chars, signature in watched["changes"]
    ]
