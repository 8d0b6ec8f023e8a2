"""From an address somebody typed to the one WebSocket URL to open.

Discovery asks over HTTP only and never opens a WebSocket: since Chrome 144 each of those may cost the person in front
of that Chrome a consent dialog.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ..errors import EndpointError, EndpointRefused, EndpointUnreachable, NotDevTools, redact

__all__ = ["Endpoint", "discover", "is_loopback", "redact", "refused", "unreachable"]


@dataclass(frozen=True)
class Endpoint:
    """Where to open the socket.

    Attributes:
        websocket_url: with whatever token the user's address had.
        version: what ``/json/version`` said; empty where it was not asked or is not there.
        consent_expected: the handshake may wait for a person to click Allow (the remote debugging switch of
            Chrome >= 144, which answers 404 to ``/json/version``).
    """

    websocket_url: str = field(repr=False)
    version: Mapping[str, str] = field(default_factory=dict)
    consent_expected: bool = False


async def discover(address: str, *, timeout: float = 5.0, trust_env: bool = False) -> Endpoint:
    """Find the browser's WebSocket URL. Cancelling is safe.

    Args:
        address: ``http(s)://host:port[/prefix][?token]``; a ``ws(s)://`` URL, which is used as it is; or the path of
            a profile directory, whose ``DevToolsActivePort`` is read.
        timeout: seconds for all of it.
        trust_env: whether the environment's proxies may be used; never for this machine's own addresses.

    Raises:
        EndpointUnreachable: nothing answers there, or not in time.
        EndpointRefused: it answers with a refusal; its own words are in the message.
        NotDevTools: it answers with something else than DevTools.
    """
    try:
        async with asyncio.timeout(timeout):
            if "://" not in address:
                return await _of_profile(Path(address))
            if address.lower().startswith("ws"):
                return Endpoint(address if trust_env else await _resolved(address))
            return await _of_http(address, trust_env)
    except TimeoutError as exc:
        raise EndpointUnreachable(address, f"no complete answer within {timeout:g} s") from exc


def is_loopback(url: str) -> bool:
    """Whether the URL names this machine."""
    host = urlsplit(url).hostname or ""
    return _is_localhost(host) or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


def unreachable(tried: list[str], cause: Exception) -> EndpointUnreachable:
    """The error for an endpoint to which no connection could be made, with the likely cause and its remedy."""
    where = " nor to ".join(urlsplit(url).netloc.rpartition("@")[2] for url in tried)
    problem = f"no connection to {where} ({cause or type(cause).__name__}). No other browser is tried"
    if not isinstance(cause, socket.gaierror):
        problem += (
            ". If a Chrome is running there: since Chrome 136 --remote-debugging-port is ignored without a word on the "
            "default profile. Start it with --user-data-dir=<another directory> as well; or, from Chrome 144 on, use "
            "the switch at chrome://inspect/#remote-debugging and name its profile directory"
        )
    return EndpointUnreachable(tried[0], problem)


def refused(url: str, what: str, status: int, body: bytes) -> EndpointRefused:
    """The error for an HTTP refusal; Chrome puts the reason into the body."""
    said = _shown(body)
    return EndpointRefused(url, f"{what} was refused: HTTP {status} {said}".rstrip(), status=status, body=said)


_BARE = "/devtools/browser"
_LARGEST_ANSWER = 2**16


async def _of_profile(directory: Path) -> Endpoint:
    port, path = _active_port(directory)
    try:
        found = await _of_http(f"http://127.0.0.1:{port}", trust_env=False)
    except EndpointError as exc:
        stale = (
            f"its DevToolsActivePort is stale, left by a Chrome that is gone: it says port {port}, but {exc.problem}"
        )
        raise EndpointUnreachable(str(directory), stale) from exc
    if found.consent_expected:
        return Endpoint(found.websocket_url.removesuffix(_BARE) + path, consent_expected=True)
    return found


def _active_port(directory: Path) -> tuple[int, str]:
    try:
        text = (directory / "DevToolsActivePort").read_text("utf-8", "replace")
    except OSError as exc:
        problem = (
            f"it has no readable DevToolsActivePort ({exc.strerror}): no Chrome runs with this profile, or it runs "
            "without remote debugging, or with a fixed --remote-debugging-port, for which no such file is written; "
            "then give the port instead"
        )
        raise EndpointUnreachable(str(directory), problem) from exc
    found = re.fullmatch(r"(\d{1,5})\s+(/\S*)\s*", text)
    if found is None:
        raise EndpointUnreachable(str(directory), f"its DevToolsActivePort is damaged: {text[:200]!r}")
    return int(found[1]), found[2]


async def _of_http(address: str, trust_env: bool) -> Endpoint:
    parts = urlsplit(address)
    if parts.hostname in (local := ("localhost", "127.0.0.1", "::1")):
        # Chrome binds one family only, mostly IPv4; some builds on macOS IPv6 (playwright-mcp#1482).
        tried = [address, *(_with_host(parts, ip) for ip in local[1:] if ip != parts.hostname)]
    else:
        tried = [address if trust_env else await _resolved(address)]
    for url in tried:
        try:
            status, body = await _get(url, trust_env)
        except OSError as exc:
            failure = exc
        else:
            return _understood(url, status, body)
    raise unreachable(tried, failure) from failure


async def _get(address: str, trust_env: bool) -> tuple[int, bytes]:
    import httpx  # here, because it costs a tenth of a second, which `import castlenb` does not have

    parts = urlsplit(address)
    url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/json/version"))
    secure = parts.scheme == "https"  # loading certificates takes 20 ms that a plain connection has no use for
    trust_env = trust_env and not is_loopback(address)
    body = b""
    try:
        async with (
            httpx.AsyncClient(trust_env=trust_env, verify=secure, timeout=None) as client,
            client.stream("GET", url) as response,
        ):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST_ANSWER:
                    break
            return response.status_code, body
    except httpx.ConnectError as exc:
        raise ConnectionError(str(exc)) from exc
    except httpx.HTTPError as exc:
        raise NotDevTools(address, f"what answers there does not speak HTTP ({exc or type(exc).__name__})") from exc


def _understood(address: str, status: int, body: bytes) -> Endpoint:
    parts = urlsplit(address)
    prefix = parts.path.rstrip("/")
    parts = parts._replace(scheme="wss" if parts.scheme == "https" else "ws")
    if status == 404:
        return Endpoint(urlunsplit(parts._replace(path=prefix + _BARE)), consent_expected=True)
    if status != 200:
        raise refused(address, "GET /json/version", status, body)
    try:
        version = json.loads(body)
        inner = urlsplit(version["webSocketDebuggerUrl"])
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        wrong = "has no webSocketDebuggerUrl" if isinstance(exc, LookupError) else "is not DevTools' JSON"
        raise NotDevTools(address, f"its answer to /json/version {wrong}: {_shown(body)!r}") from exc
    # Of the inner URL only path and query count: its host is the Host header we sent, or, behind a gateway, an address
    # that only the gateway can reach (agent-browser#854).
    path = inner.path if inner.path.startswith(f"{prefix}/") else prefix + inner.path
    query = "&".join(dict.fromkeys(part for part in f"{parts.query}&{inner.query}".split("&") if part))
    facts = {name: value for name, value in version.items() if name != "webSocketDebuggerUrl"}
    return Endpoint(urlunsplit(parts._replace(path=path, query=query)), facts)


async def _resolved(url: str) -> str:
    """The URL with its host name replaced by an address that accepts connections.

    Chrome refuses names other than ``localhost``, over HTTP and WebSocket alike (chromedp#505; measured on
    Chromium 156). Under TLS the name stays: certificate and virtual host need it.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme in ("https", "wss") or _is_localhost(host) or _is_ip(host):
        return url
    try:
        _, writer = await asyncio.open_connection(host, parts.port or 80)
    except OSError as exc:
        raise unreachable([url], exc) from exc
    writer.close()
    return _with_host(parts, writer.get_extra_info("peername")[0])


def _with_host(parts: SplitResult, ip: str) -> str:
    userinfo, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=userinfo + at + (f"[{ip}]" if ":" in ip else ip) + port))


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _is_ip(host: str) -> bool:
    return ":" in host or re.fullmatch(r"[0-9.]+", host) is not None


def _shown(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace").strip()
