"""From an address somebody typed to the one WebSocket URL to open.

Discovery asks over HTTP only. It never opens a WebSocket: since Chrome 144 each one costs the person in front of that
Chrome a consent dialog.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

from castlenb.errors import EndpointError, EndpointRefused, EndpointUnreachable, NotDevTools, redact

__all__ = ["Endpoint", "discover", "is_loopback", "redact", "refused", "resolved", "unreachable"]

LARGEST_ANSWER = 64 * 1024
SHOWN = 200


@dataclass(frozen=True)
class Endpoint:
    """Where to open the socket.

    Attributes:
        websocket_url: the URL, with whatever token the user's address had.
        version: what ``/json/version`` said; empty where it was not asked or does not exist.
        consent_expected: the handshake may hang until a person clicks Allow (the remote debugging switch of
            Chrome >= 144, which answers 404 to ``/json/version``).
    """

    websocket_url: str = field(repr=False)
    version: Mapping[str, str] = field(default_factory=dict)
    consent_expected: bool = False


async def discover(address: str, *, timeout: float = 5.0, trust_env: bool = False) -> Endpoint:
    """Find the browser's WebSocket URL.

    Args:
        address: ``http(s)://host:port[/prefix][?token]``, a ``ws(s)://`` URL (used as it is, nothing is asked), or
            the absolute path of a profile directory, whose ``DevToolsActivePort`` is read.
        timeout: seconds for all of it.
        trust_env: whether the environment's proxies may be used (never for this machine's own addresses).

    Raises:
        EndpointUnreachable: nothing answers there, or not in time.
        EndpointRefused: it answers with a refusal; its own words are in the message.
        NotDevTools: it answers with something else than DevTools.
    """
    try:
        async with asyncio.timeout(timeout):
            if "://" not in address:
                return await _of_profile(Path(address), trust_env)
            if address.lower().startswith("ws"):
                return Endpoint(await resolved(address))
            return await _of_http(address, trust_env)
    except TimeoutError as exc:
        raise EndpointUnreachable(address, f"no complete answer within {timeout:g} s") from exc


async def resolved(url: str) -> str:
    """The URL with its host name replaced by an address that accepts connections.

    Chrome refuses names other than ``localhost``, on HTTP and on the WebSocket alike (chromedp#505; measured on
    Chromium 156). Over TLS the name stays: certificate and virtual host need it.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme in ("https", "wss") or _address(host) or _is_localhost(host):
        return url
    try:
        _, writer = await asyncio.open_connection(host, parts.port or 80)
    except OSError as exc:
        raise unreachable(url, exc) from exc
    peer = writer.get_extra_info("peername")[0]
    writer.close()
    return _at_host(parts, peer)


def is_loopback(url: str) -> bool:
    """Whether the URL names this machine."""
    host = urlsplit(url).hostname or ""
    address = _address(host)
    return address.is_loopback if address else _is_localhost(host)


def unreachable(url: str, cause: BaseException, *, tried: tuple[str, ...] = ()) -> EndpointUnreachable:
    """The error for an endpoint to which no connection could be made, with what is known to cause that."""
    where = " nor at ".join(urlsplit(one).netloc.rpartition("@")[2] for one in tried or (url,))
    refusal = f"nothing listens at {where} ({_reason(cause)}). If a Chrome is running: since Chrome 136 "
    return EndpointUnreachable(
        url,
        refusal + "--remote-debugging-port is ignored without a word on the default profile. Start it with "
        "--user-data-dir=<another directory> as well, or switch on chrome://inspect/#remote-debugging (Chrome 144 or "
        "later) and name the profile directory. No browser was started in its place",
    )


def refused(url: str, what: str, status: int, body: bytes, bare: bool = False) -> EndpointError:
    """The error for an HTTP refusal; Chrome puts the reason into the body."""
    said = _shown(body)
    if bare and status == 404:
        return NotDevTools(url, "it knows neither /json/version nor /devtools/browser: this is not Chrome's DevTools")
    problem = f"{what} was refused with HTTP {status}" + (f": {said}" if said else "")
    return EndpointRefused(url, problem, status=status, body=said)


async def _of_profile(directory: Path, trust_env: bool) -> Endpoint:
    port, path = _active_port(directory)
    address = f"http://127.0.0.1:{port}"
    try:
        found = await _of_http(address, trust_env)
    except EndpointError as exc:
        raise EndpointUnreachable(
            str(directory),
            f"its DevToolsActivePort is stale, left behind by a Chrome that is gone: it names port {port}, and "
            f"{exc.problem}",
        ) from exc
    if found.consent_expected:
        return Endpoint(found.websocket_url.removesuffix(_BARE) + path, consent_expected=True)
    return found


def _active_port(directory: Path) -> tuple[int, str]:
    try:
        text = (directory / "DevToolsActivePort").read_text("utf-8", "replace")
    except OSError as exc:
        raise EndpointUnreachable(
            str(directory),
            f"it has no readable DevToolsActivePort ({exc.strerror}): no Chrome runs with this profile, or one without "
            "remote debugging. A Chrome with a fixed --remote-debugging-port writes no such file: name its port instead",
        ) from exc
    found = re.fullmatch(r"\s*(\d{1,5})\s*\n(/\S*)\s*", text)
    if not found:
        raise EndpointUnreachable(str(directory), f"its DevToolsActivePort is damaged: {text[:SHOWN]!r}")
    return int(found[1]), found[2]


async def _of_http(address: str, trust_env: bool) -> Endpoint:
    """Ask ``/json/version``; for this machine's own addresses under both families, as browsers bind only one."""
    candidates = [address]
    parts = urlsplit(address)
    if parts.hostname in _LOOPBACKS:
        candidates += [_at_host(parts, host) for host in ("127.0.0.1", "::1") if host != parts.hostname]
    else:
        candidates = [await resolved(address)]
    for candidate in candidates:
        try:
            status, body = await _get(candidate, trust_env)
        except OSError as exc:
            if candidate is candidates[-1]:
                raise unreachable(address, exc, tried=tuple(candidates)) from exc
        else:
            return _understood(candidate, status, body)
    raise AssertionError("there is always a last candidate")


async def _get(address: str, trust_env: bool) -> tuple[int, bytes]:
    # Imported here because it costs a tenth of a second, which `import castlenb` does not have.
    import httpx

    parts = urlsplit(address)
    url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/json/version", fragment=""))
    async with httpx.AsyncClient(
        trust_env=trust_env and not is_loopback(address),
        verify=parts.scheme == "https",  # a plain connection needs no certificates, and loading them takes 20 ms
        timeout=None,  # the whole of it is bounded by the caller
    ) as client:
        try:
            async with client.stream("GET", url) as response:
                body = b""
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > LARGEST_ANSWER:
                        break
                return response.status_code, body
        except httpx.ConnectError as exc:
            raise ConnectionError(str(exc)) from exc
        except httpx.ProxyError as exc:
            raise EndpointUnreachable(address, f"the proxy of the environment failed: {exc}") from exc
        except httpx.HTTPError as exc:
            raise NotDevTools(address, f"what answers there does not speak HTTP ({exc or type(exc).__name__})") from exc


def _understood(address: str, status: int, body: bytes) -> Endpoint:
    parts = urlsplit(address)
    websocket = parts._replace(scheme="wss" if parts.scheme == "https" else "ws", fragment="")
    prefix = parts.path.rstrip("/")
    if status == 404:
        return Endpoint(urlunsplit(websocket._replace(path=prefix + _BARE)), consent_expected=True)
    if status != 200:
        raise refused(address, "/json/version", status, body)
    try:
        version = json.loads(body)
        inner = urlsplit(version["webSocketDebuggerUrl"])
    except (ValueError, LookupError, TypeError, AttributeError) as exc:
        missing = "has no webSocketDebuggerUrl" if isinstance(exc, LookupError) else "is not DevTools' JSON"
        raise NotDevTools(address, f"the answer to /json/version {missing}: {_shown(body)!r}") from exc
    # Of the inner URL only path and query: its host is the Host header of the request, or a hosted service's own
    # inner address (agent-browser#854).
    path = inner.path if inner.path.startswith(prefix + "/") else prefix + inner.path
    query = "&".join(dict.fromkeys(part for part in (*parts.query.split("&"), *inner.query.split("&")) if part))
    return Endpoint(
        urlunsplit(websocket._replace(path=path, query=query)),
        {name: value for name, value in version.items() if isinstance(value, str)},
    )


_BARE = "/devtools/browser"
_LOOPBACKS = ("localhost", "127.0.0.1", "::1")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _at_host(parts: SplitResult, host: str) -> str:
    userinfo, at, _ = parts.netloc.rpartition("@")
    port = f":{parts.port}" if parts.port is not None else ""
    return urlunsplit(parts._replace(netloc=userinfo + at + (f"[{host}]" if ":" in host else host) + port))


def _reason(cause: BaseException) -> str:
    return str(cause) or type(cause).__name__


def _shown(body: bytes) -> str:
    return body[:SHOWN].decode("utf-8", "replace").strip()
