"""From an address to a WebSocket URL: against a real Chromium, and against whatever else may listen at a port."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from castlenb.cdp import Connection, Endpoint, discover
from castlenb.errors import EndpointError, EndpointRefused, EndpointUnreachable, NotDevTools
from castlenb.lab.chromium import Chromium

from .conftest import Relay, listening, resolve_as_loopback


async def product(endpoint: Endpoint) -> str:
    """Proof that the endpoint leads to a Chrome."""
    connection = await Connection.open(endpoint)
    try:
        return str((await connection.root.call("Browser.getVersion"))["product"])
    finally:
        await connection.aclose()


class Gate:
    """Something that listens on loopback and says the same to everybody."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted = 0
        self.heads: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.asynccontextmanager
async def gate(
    status: int = 200, body: bytes | Mapping[str, object] = b"", *, says: bytes | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Gate]:
    body = json.dumps(dict(body)).encode() if isinstance(body, Mapping) else body
    said = says if says is not None else b"HTTP/1.1 %d Some\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.accepted += 1
        found.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(said)
        await reader.read()

    found = Gate()
    async with listening(answer, host) as found.port:
        yield found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# A real Chromium


async def test_a_port_leads_to_the_browser(chromium: Chromium) -> None:
    endpoint = await discover(f"http://{chromium.target}")
    assert endpoint.websocket_url.startswith(f"ws://127.0.0.1:{chromium.port}/devtools/browser/")
    assert endpoint.version["Browser"] == await product(endpoint)
    assert not endpoint.consent_expected


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
async def test_any_spelling_of_this_machine_will_do(chromium: Chromium, host: str) -> None:
    """Chromium listens on 127.0.0.1 alone."""
    endpoint = await discover(f"http://{host}:{chromium.port}/")
    assert await product(endpoint)


async def test_a_name_is_resolved_because_chrome_refuses_names(
    chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_as_loopback(monkeypatch, "castle.example")
    address = f"http://castle.example:{chromium.port}"
    endpoint = await discover(address)
    assert endpoint.websocket_url.startswith(f"ws://127.0.0.1:{chromium.port}/devtools/")
    assert await product(endpoint)
    by_websocket = await discover(endpoint.websocket_url.replace("127.0.0.1", "castle.example"))
    assert by_websocket.websocket_url == endpoint.websocket_url
    # The reason for all this: by its name, Chrome refuses both, and says why.
    with pytest.raises(EndpointRefused, match=r"HTTP 500 Host header is specified and is not an IP") as caught:
        await discover(address, trust_env=True)
    assert caught.value.status == 500
    with pytest.raises(EndpointRefused, match=r"HTTP 500 Host header is specified and is not an IP"):
        await Connection.open(endpoint.websocket_url.replace("127.0.0.1", "castle.example"))


async def test_over_tls_the_name_stays() -> None:
    assert (await discover("wss://castle.example/devtools?token=x")).websocket_url == (
        "wss://castle.example/devtools?token=x"
    )


async def test_a_websocket_url_is_used_as_it_is_and_nothing_is_asked(chromium: Chromium, relay: Relay) -> None:
    url = (await discover(f"http://{chromium.target}")).websocket_url.replace(str(chromium.port), str(relay.port))
    endpoint = await discover(url)
    assert endpoint == Endpoint(url, {}, False)
    assert relay.accepted == 0
    assert await product(endpoint)


async def test_a_profile_directory_leads_to_its_browser(chromium: Chromium) -> None:
    endpoint = await discover(str(chromium.profile))
    assert endpoint == await discover(f"http://{chromium.target}")


async def test_a_profile_whose_chrome_was_killed_is_stale() -> None:
    with Chromium() as victim:
        victim.kill()
        assert (victim.profile / "DevToolsActivePort").exists(), "it survives a kill; that is the trap"
        with pytest.raises(EndpointUnreachable, match=rf"stale.*says port {victim.port}, but no connection"):
            await discover(str(victim.profile))


async def test_discovery_opens_no_websocket(chromium: Chromium, relay: Relay) -> None:
    """Each WebSocket costs a dialog where Chrome asks for consent."""
    await discover(f"http://127.0.0.1:{relay.port}")
    assert b"GET /json/version" in relay.sent
    assert b"upgrade: websocket" not in relay.sent.lower()


# What the browser says of its address


INNER = {"Browser": "Chrome/1", "webSocketDebuggerUrl": "ws://inner:1/devtools/browser/abc"}


async def test_of_the_inner_url_only_the_path_counts() -> None:
    async with gate(200, INNER) as found:
        endpoint = await discover(found.address)
    assert endpoint.websocket_url == f"ws://127.0.0.1:{found.port}/devtools/browser/abc"
    assert endpoint.version == {"Browser": "Chrome/1"}


@pytest.mark.parametrize(
    ("suffix", "inner", "asked", "path"),
    [
        ("/pre/fix?token=s3cret", "/devtools/browser/a", "/pre/fix/json/version?token=s3cret", "{}?token=s3cret"),
        ("/pre/fix/", "/pre/fix/devtools/browser/a", "/pre/fix/json/version", "{}"),
        ("?token=s3cret", "/devtools/browser/a?token=s3cret", "/json/version?token=s3cret", "{}?token=s3cret"),
        ("?token=s3cret", "/devtools/browser/a?launch=1", "/json/version?token=s3cret", "{}?token=s3cret&launch=1"),
    ],
)
async def test_prefix_and_token_are_kept(suffix: str, inner: str, asked: str, path: str) -> None:
    async with gate(200, {"webSocketDebuggerUrl": f"ws:///{inner}"[:5] + inner}) as found:
        endpoint = await discover(found.address + suffix)
    assert found.heads[0].startswith(f"GET {asked} HTTP/1.1\r\n")
    expected = path.format("/pre/fix/devtools/browser/a" if "/pre/" in suffix else "/devtools/browser/a")
    assert endpoint.websocket_url == f"ws://127.0.0.1:{found.port}{expected}"
    assert "s3cret" not in repr(endpoint)


async def test_the_switch_of_newer_chromes_answers_404_and_has_a_bare_path() -> None:
    async with gate(404, b"not here") as found:
        endpoint = await discover(found.address)
    assert endpoint == Endpoint(f"ws://127.0.0.1:{found.port}/devtools/browser", {}, consent_expected=True)


async def test_with_the_switch_the_path_is_the_files(tmp_path: Path) -> None:
    async with gate(404, b"") as found:
        (tmp_path / "DevToolsActivePort").write_text(f"{found.port}\n/devtools/browser/from-the-file")
        endpoint = await discover(str(tmp_path))
    url = f"ws://127.0.0.1:{found.port}/devtools/browser/from-the-file"
    assert endpoint == Endpoint(url, {}, consent_expected=True)


async def test_a_live_path_is_better_than_the_files(tmp_path: Path) -> None:
    async with gate(200, INNER) as found:
        (tmp_path / "DevToolsActivePort").write_text(f"{found.port}\n/devtools/browser/from-the-file\n")
        endpoint = await discover(str(tmp_path))
    assert endpoint.websocket_url.endswith("/devtools/browser/abc")


@pytest.mark.parametrize("status", [200, 500, 502])
async def test_a_port_that_somebody_else_has_now_makes_the_file_stale(tmp_path: Path, status: int) -> None:
    async with gate(status, b"<html>another program") as found:
        (tmp_path / "DevToolsActivePort").write_text(f"{found.port}\n/devtools/browser/x\n")
        with pytest.raises(EndpointUnreachable, match=rf"stale.*port {found.port}, but .*another program") as caught:
            await discover(str(tmp_path))
    assert caught.value.address == str(tmp_path)


@pytest.mark.parametrize("text", ["", "9222", "nonsense\n/devtools", "9222\ndevtools"])
async def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "DevToolsActivePort").write_text(text)
    with pytest.raises(EndpointUnreachable, match="damaged"):
        await discover(str(tmp_path))


async def test_a_profile_without_the_file_says_what_that_means(tmp_path: Path) -> None:
    with pytest.raises(EndpointUnreachable, match=r"no readable DevToolsActivePort .*name that port"):
        await discover(str(tmp_path))


# What is no DevTools


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>hello", "is not DevTools' JSON: '<html>hello'"),
        (b"", "is not DevTools' JSON"),
        (b"[]", "is not DevTools' JSON"),
        (b"null", "is not DevTools' JSON"),
        (b'{"webSocketDebuggerUrl": 7}', "is not DevTools' JSON"),
        (b'{"Browser": "x"}', "has no webSocketDebuggerUrl"),
        (b"\xff\xfe\xfd", "is not DevTools' JSON"),
        (b"x" * 10_000_000, "is not DevTools' JSON: 'x{200}'$"),
    ],
)
async def test_an_answer_that_is_not_devtools_is_shown(body: bytes, said: str) -> None:
    async with gate(200, body) as found:
        with pytest.raises(NotDevTools, match=said):
            await discover(found.address)


@pytest.mark.parametrize("status", [301, 401, 403, 429, 500, 502, 503])
async def test_a_refusal_is_shown(status: int) -> None:
    async with gate(status, b"because " + b"x" * 1000) as found:
        with pytest.raises(EndpointRefused, match=rf"/json/version was refused: HTTP {status} because x+$") as caught:
            await discover(f"{found.address}/?token=s3cret")
    assert caught.value.status == status
    assert len(caught.value.body) == 200
    assert "s3cret" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("says", [b"SSH-2.0-OpenSSH\r\n", b"\x15\x03\x01\x00\x02\x02\x50", b"HTTP/1.1 200"])
async def test_what_does_not_speak_http_is_no_devtools(says: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(says)

    async with listening(answer) as port:
        with pytest.raises(NotDevTools, match="does not speak HTTP"):
            await discover(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
async def test_a_port_that_does_not_answer_in_full_is_bounded(says: bytes) -> None:
    async with gate(says=says) as found:
        with pytest.raises(EndpointUnreachable, match=r"no complete answer within 0\.3 s"):
            await discover(found.address, timeout=0.3)


async def test_an_answer_without_end_is_cut_off() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(0.001)

    async with listening(answer) as port:
        with pytest.raises(NotDevTools, match=r"is not DevTools' JSON: 'x{200}'"):
            await discover(f"http://127.0.0.1:{port}", timeout=30)


async def test_nothing_there_names_both_families_and_the_likely_cause() -> None:
    port = free_port()
    with pytest.raises(EndpointUnreachable) as caught:
        await discover(f"http://127.0.0.1:{port}")
    for part in (f"127.0.0.1:{port} nor to [::1]:{port}", "Chrome 136", "--user-data-dir", "chrome://inspect"):
        assert part in str(caught.value)


async def test_a_chrome_on_ipv6_alone_is_found() -> None:
    try:
        serving = gate(200, INNER, host="::1")
        found = await serving.__aenter__()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    try:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            endpoint = await discover(f"http://{host}:{found.port}")
            assert endpoint.websocket_url in (
                f"ws://[::1]:{found.port}/devtools/browser/abc",
                f"ws://localhost:{found.port}/devtools/browser/abc",
            )
    finally:
        await serving.__aexit__(None, None, None)


async def test_a_name_that_does_not_resolve_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_as_loopback(monkeypatch, "another.example")
    with pytest.raises(EndpointUnreachable, match=r"castle\.example:9223 .*not known") as caught:
        await discover("http://castle.example:9223")
    assert "136" not in str(caught.value)


# The environment's proxies


@pytest.mark.parametrize("trust_env", [False, True])
async def test_this_machine_is_never_reached_through_a_proxy(
    chromium: Chromium, monkeypatch: pytest.MonkeyPatch, trust_env: bool
) -> None:
    async with gate(502, b"the proxy") as proxy:
        set_proxies(monkeypatch, proxy.address)
        for host in ("127.0.0.1", "localhost"):
            endpoint = await discover(f"http://{host}:{chromium.port}", trust_env=trust_env)
            connection = await Connection.open(endpoint, trust_env=trust_env)
            await connection.aclose()
    assert proxy.accepted == 0


async def test_another_machine_is_reached_through_a_proxy_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve_as_loopback(monkeypatch, "castle.example")
    async with gate(502, b"the proxy") as proxy, gate(503, b"the machine") as machine:
        set_proxies(monkeypatch, proxy.address)
        address = f"//castle.example:{machine.port}"
        with pytest.raises(EndpointRefused, match="the machine"):
            await discover(f"http:{address}")
        with pytest.raises(EndpointError):
            await Connection.open(f"ws:{address}")
        assert proxy.accepted == 0
        with pytest.raises(EndpointRefused, match="the proxy"):
            await discover(f"http:{address}", trust_env=True)
        assert proxy.accepted == 1
        with pytest.raises(EndpointError):
            await Connection.open(f"ws:{address}", trust_env=True)
        assert proxy.accepted == 2


def set_proxies(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "WS_PROXY"):
        monkeypatch.setenv(name, address)
        monkeypatch.setenv(name.lower(), address)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
