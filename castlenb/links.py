"""Where links lead: whether two name the same page, and the target of an encrypted one, asked of the engine itself.

Such a link is opened in a tab of ours with every answer held (``Fetch`` at the response stage): the redirect's
``Location`` is read and the request is ended there, so the target is never asked for anything. Each link costs the
engine one request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from .browser import Browser
from .cdp.tab import Tab
from .errors import CallTimeout, NavigationFailed
from .interception import ABORTED, CONTINUED, Decision, Interception

EVERY_S = 0.5
"""Seconds from one link to the next: they are requests to an engine that counts them."""

LINK_S = 10.0
"""Seconds that one link may take."""

HOPS = 3
"""Redirects on the engine's own host that are followed."""


def site_of(url: str) -> str:
    """The host of an address without ``www.``, as results name their site."""
    return (_parts(url).hostname or "").removeprefix("www.")


def same_target(url: str) -> str:
    """What two addresses of the same page have in common: host and path, and the query where there is one. ``www.``,
    the scheme, the case of the host, a trailing slash and a fragment are left out."""
    parts = _parts(url)
    query = f"?{parts.query}" if parts.query else ""
    return site_of(url) + parts.path.rstrip("/") + query


def _parts(url: str) -> SplitResult:
    """Of what is no address, nothing: what a page has in its links can be anything."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", "", "", "")


async def locations(links: Sequence[str], house: Browser) -> list[str | None]:
    """The address that each link redirects to, in order; ``None`` where it redirects nowhere, or not in time.

    Raises:
        EndpointError: the Chrome can not be had.
        TabClosed, TabCrashed, ConnectionLost: it went away meanwhile.
    """
    if not links:
        return []
    found: list[str | None] = []
    async with house.slot(), house.tab() as tab:
        held = _Held(tab)
        await Interception(tab, held.decide).stand(("Request", "Response"))
        for turn, link in enumerate(links):
            if turn:
                await asyncio.sleep(EVERY_S)
            found.append(await held.follow(link))
    return found


class _Held:
    """The tab with its requests held: only the link's own document goes out, and its answer comes no further."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self._asked = ""
        self._location: str | None = None

    async def follow(self, link: str) -> str | None:
        home = urlsplit(link).hostname
        for _ in range(HOPS):
            self._asked, self._location = link, None
            # It always fails: that is how the answer is kept from going further.
            with contextlib.suppress(NavigationFailed, CallTimeout):
                await self._tab.navigate(link, timeout=LINK_S)
            if self._location is None:
                return None
            link = urljoin(link, self._location)
            if urlsplit(link).hostname != home:
                break
        parts = urlsplit(link)
        return link if parts.scheme in ("http", "https") and parts.hostname != home else None

    def decide(self, request: dict[str, Any]) -> Decision:
        """What becomes of a request, as :class:`.interception.Interception` asks it."""
        ours = request["request"]["url"] == self._asked
        if "responseStatusCode" not in request:
            return CONTINUED if ours and request["frameId"] == self._tab.frame_id else ABORTED
        if ours and 300 <= request["responseStatusCode"] < 400:
            headers = {each["name"].lower(): each["value"] for each in request.get("responseHeaders", [])}
            self._location = headers.get("location")
        return ABORTED
