"""How well what a page shows with its results foretells whether an answer is coming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .cells import Bools, Floats, Frames, Ints, appeared, cells, counted, floats, keys_of, query_codes, results_ready
from .intervals import at_most, clustered, share_interval
from .policy import SIGNALS

_KINDS = {
    "signal": "str",
    **dict.fromkeys(("n", "queries", "answers", "foretold"), "Int64"),
    **dict.fromkeys(("missed", "missed_high", "right", "right_low", "right_high"), "Float64"),
    **dict.fromkeys(("empty_waits_spared", "after_ms"), "Float64"),
}


def early_signals(run: Frames) -> pd.DataFrame:
    """How well each early sign, read at parse-ready, foretells an answer within the horizon.

    One row an engine, class, condition and ``signal``: ``wrapper`` (the no-wrapper rule would wait on), ``loading``
    (the page says that it is being written), ``request`` (the answer's own request has been sent). Columns:

    - ``n``: trials in which it was recorded; ``queries``; ``answers``: those that had an answer; ``foretold``: those of
      ``n`` that showed the sign;
    - ``missed``: share of the answers that a search would lose that did not wait without the sign; ``missed_high``: its
      one-sided 95 % upper bound: none of 30 still allows 9.5 %;
    - ``right`` (``right_low``, ``right_high``): share of the foretold in which an answer came;
    - ``empty_waits_spared``: share of the trials without answer in which nobody would have waited;
    - ``after_ms``: median time from the results to the first prose, of the foretold answers.

    Shares are missing where there is nothing to take a share of.
    """
    trials = counted(run)
    keys = keys_of(trials)
    trials = trials[trials["ai_state"] != "unsupported"]
    rows = []
    for key, among in cells(trials, keys):
        for signal, column in SIGNALS.items():
            told = among[among[column].notna()]
            sign = told[column].to_numpy(bool)
            sign = ~sign if signal == "wrapper" else sign
            wait = floats(told, "ai_appear_ms") - results_ready(told)
            rows.append({**key, "signal": signal, **_row(sign, appeared(told), query_codes(told), wait)})
    return pd.DataFrame(rows, columns=[*keys, *_KINDS]).astype({**dict.fromkeys(keys, "str"), **_KINDS})


def _row(sign: Bools, answer: Bools, queries: Ints, wait_ms: Floats) -> dict[str, Any]:
    low, high = share_interval(clustered(answer[sign], queries[sign]))
    waits = wait_ms[sign & answer]
    waits = waits[~np.isnan(waits)]
    return {
        "n": len(sign),
        "queries": len(np.unique(queries)),
        "answers": int(answer.sum()),
        "foretold": int(sign.sum()),
        "missed": _share(~sign[answer]),
        "missed_high": at_most(clustered(~sign[answer], queries[answer])),
        "right": _share(answer[sign]),
        "right_low": low,
        "right_high": high,
        "empty_waits_spared": _share(~sign[~answer]),
        "after_ms": float(np.median(waits)) if len(waits) else None,
    }


def _share(hits: Bools) -> float | None:
    return float(hits.mean()) if len(hits) else None
