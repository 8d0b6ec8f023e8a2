"""From an address somebody typed to the one WebSocket URL to open.

Discovery asks over HTTP only and never opens a WebSocket: since Chrome 144 each of those may cost the person in front
of that Chrome a consent dialog.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ..errors import EndpointError, EndpointRefused, EndpointUnreachable, NotDevTools, redact

__all__ = ["Endpoint", "discover", "is_loopback", "redact", "shown"]


@dataclass(frozen=True)
class Endpoint:
    """Where to open the socket."""

    websocket_url: str = field(repr=False)  # may hold a token
    version: Mapping[str, str] = field(default_factory=dict)  # what /json/version said, where it was asked
    consent_expected: bool = False  # the handshake may wait for a click (the remote debugging switch of Chrome >= 144)


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
    return re.fullmatch(r"(.+\.)?localhost|127(\.\d+){3}|::1", urlsplit(url).hostname or "") is not None


def shown(body: bytes) -> str:
    """The first 200 bytes of an answer, as text, for a message."""
    return body[:200].decode("utf-8", "replace").strip()


async def _of_profile(directory: Path) -> Endpoint:
    try:
        text = (directory / "DevToolsActivePort").read_text("utf-8", "replace")
    except OSError as exc:
        problem = (
            f"it has no readable DevToolsActivePort ({exc.strerror}): no Chrome runs with this profile, or without "
            "remote debugging, or with a fixed --remote-debugging-port, which writes no such file: then name that port"
        )
        raise EndpointUnreachable(str(directory), problem) from exc
    found = re.fullmatch(r"(\d{1,5})\s+(/\S*)\s*", text)
    if found is None:
        raise EndpointUnreachable(str(directory), f"its DevToolsActivePort is damaged: {text[:200]!r}")
    try:
        endpoint = await _of_http(f"http://127.0.0.1:{found[1]}", trust_env=False)
    except EndpointError as exc:
        stale = f"its DevToolsActivePort is stale, left by a Chrome that is gone: it says port {found[1]}"
        raise EndpointUnreachable(str(directory), f"{stale}, but {exc.problem}") from exc
    if endpoint.consent_expected:  # with the switch, the path is in the file alone
        return Endpoint(urlunsplit(urlsplit(endpoint.websocket_url)._replace(path=found[2])), consent_expected=True)
    return endpoint


async def _of_http(address: str, trust_env: bool) -> Endpoint:
    import httpx  # here, because it costs a tenth of a second, which `import castlenb` does not have

    parts = urlsplit(address)
    if parts.hostname in (local := ("localhost", "127.0.0.1", "::1")):
        # Chrome binds one family only, mostly IPv4; some builds on macOS IPv6 (playwright-mcp#1482).
        tried = [address, *(_with_host(parts, ip) for ip in local[1:] if ip != parts.hostname)]
    else:
        tried = [address if trust_env else await _resolved(address)]
    secure = parts.scheme == "https"  # loading certificates takes 20 ms that a plain connection has no use for
    proxied = trust_env and not is_loopback(address)
    async with httpx.AsyncClient(trust_env=proxied, verify=secure, timeout=None) as client:  # discover() has the time
        for url in tried:
            asked, body = urlsplit(url), b""
            try:
                path = asked.path.rstrip("/") + "/json/version"
                async with client.stream("GET", urlunsplit(asked._replace(path=path))) as response:
                    async for chunk in response.aiter_bytes():
                        body += chunk
                        if len(body) > 2**16:
                            break
                return _understood(url, response.status_code, body)
            except httpx.ConnectError as exc:
                failure = exc
            except httpx.HTTPError as exc:
                said = str(exc) or type(exc).__name__
                raise NotDevTools(url, f"what answers there does not speak HTTP ({said})") from exc
    raise EndpointUnreachable.at(tried, failure) from failure


def _understood(address: str, status: int, body: bytes) -> Endpoint:
    parts = urlsplit(address)
    prefix = parts.path.rstrip("/")
    parts = parts._replace(scheme="wss" if parts.scheme == "https" else "ws")
    if status == 404:
        return Endpoint(urlunsplit(parts._replace(path=f"{prefix}/devtools/browser")), consent_expected=True)
    if status != 200:
        raise EndpointRefused(address, "GET /json/version", status, shown(body))
    try:
        version = json.loads(body)
        inner = urlsplit(version.pop("webSocketDebuggerUrl"))
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        wrong = "has no webSocketDebuggerUrl" if isinstance(exc, LookupError) else "is not DevTools' JSON"
        raise NotDevTools(address, f"its answer to /json/version {wrong}: {shown(body)!r}") from exc
    # Of the inner URL only path and query count: its host is the Host header we sent, or, behind a gateway, an address
    # that only the gateway can reach (agent-browser#854).
    path = inner.path if inner.path.startswith(f"{prefix}/") else prefix + inner.path
    query = "&".join(dict.fromkeys(part for part in f"{parts.query}&{inner.query}".split("&") if part))
    return Endpoint(urlunsplit(parts._replace(path=path, query=query)), version)


async def _resolved(url: str) -> str:
    """The URL with its host name replaced by an address that accepts connections.

    Chrome refuses names other than ``localhost``, over HTTP and WebSocket alike (chromedp#505; measured on
    Chromium 156). Under TLS the name stays: certificate and virtual host need it.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme in ("https", "wss") or re.fullmatch(r"(.+\.)?localhost|[\d.]+|.*:.*", host):
        return url
    try:
        _, writer = await asyncio.open_connection(host, parts.port or 80)
    except OSError as exc:
        raise EndpointUnreachable.at([url], exc) from exc
    writer.close()
    return _with_host(parts, writer.get_extra_info("peername")[0])


def _with_host(parts: SplitResult, ip: str) -> str:
    userinfo, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port is None else f":{parts.port}"
    return urlunsplit(parts._replace(netloc=userinfo + at + (f"[{ip}]" if ":" in ip else ip) + port))
