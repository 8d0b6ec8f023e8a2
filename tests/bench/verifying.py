"""What checking a drawer full of saved pages takes, and whether it shows what is known of them."""

from __future__ import annotations

import time

import pandas as pd

import castlenb as cn
from castlenb.engines.base import Hook

from ..browser.real_pages import pages
from .rows import Limit, Row, measure

CONTROLS = ("div.g", ".MjjYud", ".yuRUbf", ".VwiC3b", ".LEwnzc", ".YWpX0d")
"""Generated class names that clients of one year or another have held on to."""


@measure
def verify_captures() -> list[Row]:
    """All of Google's saved pages as hook by month, beside class names that churn."""
    name, limit = "verify_google_captures_s", Limit("value", 180.0)
    saved = pages("google")
    if not saved:
        return [Row(name, "s", None, 0, limit, why="not measured: the saved pages are not here")]
    controls = [Hook("mark", css, "class", "low", "public clients", ("2019-01", "2026-01")) for css in CONTROLS]
    began = time.perf_counter()
    files = [each.file for each in saved]
    found = cn.verify(engines=["google"], captures=files, also=controls, propose=False)
    took = time.perf_counter() - began
    shows_what_is_known(found)
    return [Row(name, "s", took, len(found.pages), limit)]


def shows_what_is_known(found: cn.Verification) -> pd.DataFrame:
    """The table, which has to show the churn that other people have found on these pages by hand."""
    told = found.by_month()
    wrapper = of_part(told, "answer_wrapper")
    assert wrapper.loc["#m-x-content", "2025-02"] == 0, "its id came after February 2025"
    assert wrapper.loc["#m-x-content", "2025-03"] == 1
    assert wrapper.loc["#eKIzJc", ["2025-02", "2026-01", "2026-02"]].eq(1).all()
    answers = found.checks[found.checks["hook"].eq("#eKIzJc") & found.checks["part"].eq("answer_wrapper")]
    inline = answers.loc[answers["placement"].eq("inline"), "at"].str[:7]
    assert list(inline) == ["2026-02"] * 3, "three of that month's answers stand among the results"
    ids = of_part(told, "scope").loc[["#rcnt", "#search", "#rso"], "2024-03":].mean(axis=1)
    classes = of_part(told, "mark").reindex(CONTROLS).fillna(0).loc[:, "2019":]
    assert ids.min() > 0.8
    assert classes.min(axis=1).eq(0).all(), "each of the class names was absent in one month or another"
    return told


def of_part(told: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of one part, by hook."""
    return told[told.index.get_level_values("part") == part].droplevel(["engine", "part"])
