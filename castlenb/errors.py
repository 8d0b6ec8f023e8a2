"""Every failure a caller can catch.

::

    CastleError
    ├── TargetError               the words naming a Chrome make no sense        (also a ValueError)
    ├── EndpointError             the Chrome that was named can not be had
    │   ├── EndpointUnreachable   nothing answers there
    │   ├── EndpointRefused       something answers, and says no                 (status, body)
    │   └── NotDevTools           something answers, and is not Chrome's DevTools
    ├── ConnectionLost            the socket to Chrome ended
    ├── SessionLost               our tab ended; the socket lives
    │   ├── TabClosed             somebody closed it
    │   └── TabCrashed            its renderer died
    ├── CallTimeout               Chrome did not answer one command in time      (also a TimeoutError)
    ├── ProtocolError             Chrome answered one command with an error      (code, data)
    ├── ScriptError               our script threw in the page
    ├── NavigationFailed          the page could not be opened                   (url, error_text)
    ├── CaptureError              a saved page can not be read
    ├── LabError                  the lab's own Chromium or server did not start
    ├── StudyError                a study can not be run, or not go on           (run: what was measured)
    │   ├── RecordError           what a study has recorded can not be read      (path, where, column)
    │   └── JournalError          its journal can not be written                 (path)
    └── SearchError               a search that ended without results            (engine, query, url, browser)
        ├── SearchChallengeError  the engine wants a person                      (kind, human_url, retry_at)
        ├── SuspectedBlockError   an empty page that nothing explains            (human_url, retry_at)
        ├── NoResultsError        the engine says there are none
        ├── UnparseableError      a results area that yields nothing: selectors have drifted
        └── SearchTimeout         the deadline passed                            (phase; also a TimeoutError)

    Misuse                        a bug in the calling code                      (a RuntimeError, no CastleError)

An error carries its facts as attributes and builds its sentence from them; the sentence says what was wrong and,
where a person can do something about it, what. An address in a sentence has the values of its query left out, because
sentences end up in logs and notebooks, and engines put tokens there; only what a person has to open is whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from socket import gaierror
from typing import Any, ClassVar


class CastleError(Exception):
    """Anything castlenb raises on purpose, except :class:`Misuse`."""


class Misuse(RuntimeError):
    """The library was used in a way that can not work; the calling code has to change."""


def redact(url: str) -> str:
    """The address as it may be shown: passwords and the values of the query, where tokens live, become ``…``."""
    head, mark, query = url.partition("#")[0].partition("?")
    parts = (part.partition("=") for part in query.split("&") if part)
    shown = "&".join(f"{name}=…" if value.strip("=") else "…" for name, _, value in parts)  # base64 may end in "=="
    return re.sub("(?<=://)[^/]*@", "…@", head) + mark + shown


# Which Chrome


class TargetError(CastleError, ValueError):
    """The target was given in a form nothing can be made of.

    Attributes:
        given: what was read.
        decided_by: who said it: the argument, ``BU_CDP_HTTP``, or the stored file.
    """

    def __init__(self, given: object, decided_by: str, problem: str) -> None:
        self.given = given
        self.decided_by = decided_by
        super().__init__(f"{decided_by} names no Chrome: {problem}")


class EndpointError(CastleError):
    """The Chrome that was named can not be had.

    Attributes:
        address: the endpoint, its query redacted.
        decided_by: who chose it; filled in by the Browser, which knows.
    """

    def __init__(self, address: str, problem: str, *, decided_by: str | None = None) -> None:
        self.address = redact(address)
        self.problem = problem
        self.decided_by = decided_by
        super().__init__(self.address, problem)

    def __str__(self) -> str:
        chosen = f" (chosen by {self.decided_by})" if self.decided_by else ""
        return f"{self.address}{chosen}: {self.problem}"


class EndpointUnreachable(EndpointError):
    """Nothing answers at the endpoint, or not in time."""

    @classmethod
    def at(cls, tried: Sequence[str], cause: Exception) -> EndpointUnreachable:
        """For a connection that could not be made, with the likely cause and its remedy.

        Args:
            tried: the URLs, that of the endpoint first.
            cause: what the last of them failed of.
        """
        where = " nor to ".join(
            re.split("[/?]", redact(url).partition("://")[2].rpartition("@")[2])[0] for url in tried
        )
        problem = f"no connection to {where} ({cause or type(cause).__name__}). No other browser is tried"
        if not isinstance(cause, gaierror):
            problem += (
                ". If a Chrome is running there: since Chrome 136 --remote-debugging-port is ignored without a word on "
                "the default profile. Start it with --user-data-dir=<another directory> as well; or, from Chrome 144 "
                "on, use the switch at chrome://inspect/#remote-debugging and name its profile directory"
            )
        return cls(tried[0], problem)


class EndpointRefused(EndpointError):
    """The endpoint answered with a refusal.

    Attributes:
        status: HTTP status.
        body: the first 200 bytes of what it said, as text: Chrome puts the reason there.
    """

    def __init__(self, address: str, what: str, status: int, body: str) -> None:
        super().__init__(address, f"{what} was refused: HTTP {status} {body}".rstrip())
        self.status = status
        self.body = body
        self.args = (self.address, what, status, body)


class NotDevTools(EndpointError):
    """The endpoint answered, with something that is not Chrome's DevTools."""


# The conversation with Chrome


class ConnectionLost(CastleError):
    """The socket ended: Chrome went away, was recycled, or stopped answering.

    Attributes:
        code: WebSocket close code (1006: it broke without one).
        reason: what the other side, or we, said about it.
    """

    def __init__(self, code: int, reason: str = "") -> None:
        self.code = code
        self.reason = reason
        super().__init__(code, reason)

    def __str__(self) -> str:
        return f"the connection to Chrome ended ({self.code}{': ' + self.reason if self.reason else ''})"


class SessionLost(CastleError):
    """Our tab ended while something was asked of it.

    Attributes:
        target_id: the tab's DevTools target id.
    """

    what = "the tab ended"

    def __init__(self, target_id: str) -> None:
        self.target_id = target_id
        super().__init__(target_id)

    def __str__(self) -> str:
        return f"{self.what} (target {self.target_id})"


class TabClosed(SessionLost):
    """The tab was closed: by a person, by Chrome, or by us while a call was under way."""

    what = "the tab was closed"


class TabCrashed(SessionLost):
    """The tab's renderer died; the tab itself is still listed until it is closed."""

    what = "the tab's renderer crashed"


class CallTimeout(CastleError, TimeoutError):
    """Chrome did not answer a command in time.

    Attributes:
        method: the DevTools method.
        seconds: how long it was waited for.
    """

    def __init__(self, method: str, seconds: float) -> None:
        self.method = method
        self.seconds = seconds
        super().__init__(method, seconds)

    def __str__(self) -> str:
        return f"{self.method}: no answer within {self.seconds:g} s"


class ProtocolError(CastleError):
    """Chrome answered a command with an error.

    Attributes:
        method: the DevTools method.
        code: JSON-RPC code (-32000 server error, -32001 session gone, -32602 bad parameters).
        message: Chrome's own words.
        data: what it added, if anything.
    """

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        self.method = method
        self.code = code
        self.message = message
        self.data = data
        super().__init__(method, code, message)

    def __str__(self) -> str:
        return f"{self.method}: {self.message} ({self.code})" + (f": {self.data}" if self.data else "")


class ScriptError(CastleError):
    """A script of ours threw in the page.

    Attributes:
        details: the protocol's ``exceptionDetails``.
    """

    def __init__(self, details: dict[str, Any]) -> None:
        self.details = details
        super().__init__(details)

    def __str__(self) -> str:
        thrown = self.details.get("exception")
        thrown = thrown if isinstance(thrown, dict) else {}
        said = thrown.get("description") or thrown.get("value") or self.details.get("text", "unknown error")
        return f"a script of ours failed in the page: {said}"


class NavigationFailed(CastleError):
    """The page could not be opened.

    Attributes:
        url: where the tab was sent.
        error_text: Chrome's ``net::ERR_…`` or its sentence.
        hint: what that means, where the text does not say it (outcomes measured on Chromium 156).
    """

    hints: ClassVar[Mapping[str, str]] = {
        "net::ERR_ABORTED": "There was no document (HTTP 204, a javascript: address), or another navigation came "
        "first; the page before it is still there",
        "net::ERR_HTTP_RESPONSE_CODE_FAILURE": "The server answered with an error status and an empty page",
    }

    def __init__(self, url: str, error_text: str, hint: str = "") -> None:
        self.url = url
        self.error_text = error_text
        self.hint = hint or self.hints.get(error_text, "")
        super().__init__(url, error_text)

    def __str__(self) -> str:
        return f"{redact(self.url)} could not be opened: {self.error_text}" + (f". {self.hint}" if self.hint else "")


# Saved pages and the lab


class CaptureError(CastleError):
    """A page can not be kept, or a kept one not be read: missing, empty, damaged, of an engine that can not be told.

    Attributes:
        pages: where several files were read, the pages of those that could be.
        failures: where several files were read, the error of each that could not, by its path.
    """

    def __init__(
        self, problem: str, *, pages: Sequence[Any] = (), failures: Mapping[str, CastleError] | None = None
    ) -> None:
        self.pages = list(pages)
        self.failures = dict(failures or {})
        super().__init__(problem)


class LabError(CastleError):
    """The lab's throwaway Chromium or its server did not start."""


# Studies


class StudyError(CastleError):
    """A study can not be run as it was asked for, or can not go on.

    Attributes:
        run: the ``Run`` of all that was measured by then; ``None`` where that is nothing.
    """

    run: Any = None


class RecordError(StudyError):
    """What a study has recorded can not be read: damaged, or of another make.

    Attributes:
        path: the file.
        where: the place in it, such as ``line 12``; empty where it is all of it.
        column: the column; empty where it is none in particular.
    """

    def __init__(self, path: str, problem: str, *, where: str = "", column: str = "") -> None:
        self.path = path
        self.where = where
        self.column = column
        super().__init__(path, problem)

    def __str__(self) -> str:
        column = self.column and f"column {self.column!r}"
        return f"{', '.join(filter(None, (self.path, self.where, column)))}: {self.args[1]}"


class JournalError(StudyError):
    """A study's journal can not be written. Nothing that was measured is lost: ``run`` holds it.

    Attributes:
        path: the file.
    """

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(path, problem)

    def __str__(self) -> str:
        return f"the journal {self.path} can not be written: {self.args[1]}"


# A search that ended without results


class SearchError(CastleError):
    """A search ended without results; the leaf says why.

    Attributes:
        engine: the engine's name.
        query: what was searched for.
        url: the address at which it ended.
        browser: the endpoint whose Chrome was used, redacted.
        page: the page as it was read, where it was (a ``SearchPage`` without results).
        capture: the page itself, redacted and in memory, where it refused or could not be read (a ``Capture``, which
            ``.save`` keeps); ``None`` where it could not be taken.
    """

    def __init__(
        self, engine: str, query: str, url: str, browser: str, *, page: Any = None, capture: Any = None
    ) -> None:
        self.engine = engine
        self.query = query
        self.url = url
        self.browser = browser
        self.page = page
        self.capture = capture
        super().__init__(engine, query, url)

    def __str__(self) -> str:
        return f"{self.engine}, {self.query!r}: {self.sentence()}"

    def sentence(self) -> str:
        """What happened and what to do, in words."""
        return f"no results at {redact(self.url)}"


class NeedsPerson(SearchError):
    """Common part of the two refusals that somebody has to look at.

    Attributes:
        human_url: what a person has to open in the Chrome that was used.
        retry_at: when trying again is sensible (tz-aware UTC); ``None`` where nothing is known of that. What an
            engine says of it in a ``Retry-After`` is not: headers are told by domains that a search leaves off.
        refused_at: when the engine turned somebody on this machine away (tz-aware UTC), where this call was for that
            reason not sent at all; else ``None``.
    """

    def __init__(
        self,
        engine: str,
        query: str,
        url: str,
        browser: str,
        *,
        human_url: str,
        retry_at: datetime | None = None,
        refused_at: datetime | None = None,
        page: Any = None,
        capture: Any = None,
    ) -> None:
        super().__init__(engine, query, url, browser, page=page, capture=capture)
        self.human_url = human_url
        self.retry_at = retry_at and retry_at.astimezone(UTC)
        self.refused_at = refused_at and refused_at.astimezone(UTC)

    def __str__(self) -> str:
        why = f" (seen at {self.refused_at:%H:%M} UTC; this search was not sent)" if self.refused_at else ""
        when = f". Not before {self.retry_at:%Y-%m-%d %H:%M:%S} UTC" if self.retry_at else ""
        return super().__str__() + why + when


class SearchChallengeError(NeedsPerson):
    """The engine asks for a person: a captcha, a consent wall, a script gate.

    Attributes:
        kind: ``sorry``, ``consent``, ``captcha``, ``anomaly`` or ``enablejs``.
    """

    def __init__(self, kind: str, engine: str, query: str, url: str, browser: str, **rest: Any) -> None:
        super().__init__(engine, query, url, browser, **rest)
        self.kind = kind

    def sentence(self) -> str:
        return (
            f"the engine asks for a person ({self.kind}). Stop searching, open {self.human_url} in the Chrome at "
            f"{self.browser}, clear what it shows, then try again: one pass counts for the whole profile"
        )


class SuspectedBlockError(NeedsPerson):
    """The page is empty and nothing on it says why: often a rate limit wearing off.

    Field notes, 2026-08-04: once ``/sorry/`` stops being served, Google answers with empty pages for a while.
    """

    def sentence(self) -> str:
        return (
            "an empty page that nothing explains, which is how a rate limit looks while it wears off. Wait rather than "
            f"retry; {self.human_url} in the Chrome at {self.browser} shows what a person would get"
        )


class NoResultsError(SearchError):
    """The engine itself says that nothing matches."""

    def sentence(self) -> str:
        return "the engine says that nothing matches; try other words or a wider time range"


class UnparseableError(SearchError):
    """There is a results area, and nothing in it could be read: the engine changed its page."""

    def sentence(self) -> str:
        return (
            f"the page at {redact(self.url)} has a results area that yields nothing: its mark-up has changed and the "
            "selectors of this engine need to be verified"
        )


class SearchTimeout(SearchError, TimeoutError):
    """The deadline passed.

    Attributes:
        phase: what was under way: ``connect``, ``navigate`` or ``watch``.
        seconds: the deadline.
    """

    def __init__(
        self, phase: str, seconds: float, engine: str, query: str, url: str, browser: str, *, page: Any = None
    ) -> None:
        super().__init__(engine, query, url, browser, page=page)
        self.phase = phase
        self.seconds = seconds

    def sentence(self) -> str:
        return f"no results within {self.seconds:g} s (while: {self.phase}, at {redact(self.url)})"
