"""The engines' hooks on settled pages: which hold, which have drifted, since when, and what to use instead.

:func:`verify` checks, :func:`history` and :func:`diff` tell what earlier checks found; :class:`Verification` holds the
checks and what is proposed for hooks that are missing.
"""

from __future__ import annotations

from .checks import QUESTION, verify
from .judge import DRIFTED, Verdict
from .record import diff, history, history_file, records
from .repair import Repair
from .seen import Check, Seen
from .verification import Verification

__all__ = [
    "DRIFTED",
    "QUESTION",
    "Check",
    "Repair",
    "Seen",
    "Verdict",
    "Verification",
    "diff",
    "history",
    "history_file",
    "records",
    "verify",
]
