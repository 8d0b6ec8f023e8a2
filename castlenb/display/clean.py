"""Strangers' text and addresses, made fit to be shown beside our own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from math import isnan
from urllib.parse import unquote, urlsplit

ELLIPSIS = "…"


def one_line(value: object, limit: int = 500) -> str:
    """Text for one line: no breaks, nothing that steers a terminal or a page, at most ``limit`` characters."""
    return _cut(" ".join(_legible(value, limit).split()), limit)


def paragraphs(value: object, limit: int = 20_000) -> list[str]:
    """Text as its lines, empty ones left out, at most ``limit`` characters in all."""
    lines = (" ".join(line.split()) for line in _cut(_legible(value, limit), limit).split("\n"))
    return [line for line in lines if line]


def verbatim(value: object, limit: int = 20_000) -> list[str]:
    """Text as its lines, as they stand: what they are indented by and empty ones kept, at most ``limit`` characters."""
    return [line.rstrip() for line in _cut(_legible(value, limit), limit).split("\n")]


@dataclass(frozen=True)
class Address:
    """An http or https address that may become a link.

    Attributes:
        href: what the link opens.
        host: where it really leads, as a browser would see it: without a user name, in ASCII.
        rest: the path and query, for showing beside the host.
    """

    href: str
    host: str
    rest: str


def address(value: object) -> Address | None:
    """The address a link may have, or None: not http(s), no host, or spelt so that its host may be misread."""
    if not isinstance(value, str) or not _PLAIN_ADDRESS.fullmatch(value):
        return None
    try:
        parts = urlsplit(value)
        host, port = parts.hostname or "", parts.port
        if _NUMBER.search(host):
            host = str(ip_address(host))  # 0x7f.1 is a host to a browser; shown as itself it would mislead
    except ValueError:
        return None
    if not _HOST.fullmatch(host):
        return None
    shown = (f"[{host}]" if ":" in host else host.removeprefix("www.")) + (f":{port}" if port else "")
    rest = unquote(parts.path.rstrip("/"), errors="replace") + (f"?{parts.query}" if parts.query else "")
    return Address(value, shown, one_line(rest, 80))


# Anything a browser would repair on its own (white space, control characters, a backslash, one slash for two) is no
# link here: what it opens might not be what is shown.
_PLAIN_ADDRESS = re.compile(
    r"https?://[^\s\\\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]+", re.I
)
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]*:[0-9a-f:.]*", re.I)
_NUMBER = re.compile(r"(?:^|\.)(?:0x[0-9a-f]*|[0-9]+)\.?$|:", re.I)

_DROPPED = dict.fromkeys(
    [
        *(code for code in range(0x20) if code not in (0x09, 0x0A)),
        *range(0x7F, 0xA0),
        # Overrides, embeddings and isolates reorder what follows them, our words included. The plain marks (LRM, RLM,
        # ALM) and the joiners stay: right-to-left text and many scripts need them, and <bdi> holds them in.
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0xFEFF,
        # Characters that show nothing at all: text for machines only.
        *range(0xE0000, 0xE0080),
    ]
)
_LEGIBLE = {
    **_DROPPED,
    0x0B: "\n",
    0x0C: "\n",
    0x85: "\n",
    0x2028: "\n",
    0x2029: "\n",
    0x09: " ",
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # lone surrogates can not be written anywhere
}


def _legible(value: object, limit: int) -> str:
    nothing = value is None or (isinstance(value, float) and isnan(value))  # NaN is how a DataFrame says "nothing"
    text = "" if nothing else str(value)
    # Twice the limit is enough to fill it and to know that something was left out; a page can send megabytes.
    return text[: 2 * limit + 100].replace("\r\n", "\n").replace("\r", "\n").translate(_LEGIBLE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS
