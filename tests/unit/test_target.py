"""Which Chrome, and who decided it."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from castlenb.errors import TargetError
from castlenb.target import DEFAULT, LOCAL, Target, resolve_target

HERE = f"http://{LOCAL}"


def stored_in(folder: Path, said: object) -> Path:
    file = folder / "browser-target.json"
    file.write_text(said if isinstance(said, str) and said[:1] == "!" else json.dumps(said), "utf-8")
    return file


# Who decides


def test_the_argument_then_the_variable_then_the_file_then_the_default(tmp_path: Path) -> None:
    file = stored_in(tmp_path, "stored:3")
    variable = {"BU_CDP_HTTP": "variable:2"}
    assert resolve_target("argument:1", environ=variable, stored=file) == Target(
        "http://argument:1", "the target argument"
    )
    assert resolve_target(environ=variable, stored=file) == Target("http://variable:2", "BU_CDP_HTTP")
    assert resolve_target(environ={}, stored=file) == Target("http://stored:3", str(file))
    assert resolve_target(environ={}, stored=tmp_path / "missing") == Target(
        "http://10.88.0.25:9223", "the built-in default"
    )
    assert DEFAULT == "10.88.0.25:9223"


def test_an_empty_variable_decides_nothing(tmp_path: Path) -> None:
    for empty in ("", "  "):
        decided = resolve_target(environ={"BU_CDP_HTTP": empty}, stored=tmp_path / "missing")
        assert decided.decided_by == "the built-in default"


def test_the_environment_and_the_home_directory_are_read_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("BU_CDP_HTTP", raising=False)
    assert resolve_target().decided_by == "the built-in default"
    (tmp_path / ".pi/agent").mkdir(parents=True)
    stored_in(tmp_path / ".pi/agent", "stored:3")
    assert resolve_target() == Target("http://stored:3", "~/.pi/agent/browser-target.json")
    monkeypatch.setenv("BU_CDP_HTTP", "variable:2")
    assert resolve_target() == Target("http://variable:2", "BU_CDP_HTTP")


def test_nothing_is_dialled_and_no_name_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("deciding must not touch the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert resolve_target("castle.example:9223")


# How it may be said


@pytest.mark.parametrize("word", ["local", "localhost", "off", "none", "0", "no", "LOCAL", " Off ", 0])
def test_words_for_this_machines_own_chrome(word: str | int) -> None:
    assert resolve_target(word).address == HERE
    assert resolve_target(environ={"BU_CDP_HTTP": str(word)}).address == HERE


@pytest.mark.parametrize(
    ("said", "address"),
    [
        (9222, HERE),
        ("9222", HERE),
        ("65535", "http://127.0.0.1:65535"),
        ("castle:9223", "http://castle:9223"),
        ("localhost:9333", "http://localhost:9333"),
        ("10.0.0.1:9223", "http://10.0.0.1:9223"),
        ("[::1]:9222", "http://[::1]:9222"),
        ("castle:9223/prefix?token=x", "http://castle:9223/prefix?token=x"),
        ("castle:9223?token=x", "http://castle:9223?token=x"),
        (" castle:9223\n", "http://castle:9223"),
        ("http://castle", "http://castle"),
        ("HTTPS://castle/prefix?token=x", "https://castle/prefix?token=x"),
        ("https://user:word@castle:1/", "https://user:word@castle:1/"),
        ("http://castle:9223/#part", "http://castle:9223/"),
        ("ws://castle:9223/devtools/browser/abc", "ws://castle:9223/devtools/browser/abc"),
        ("wss://castle/?token=x", "wss://castle/?token=x"),
    ],
)
def test_addresses(said: str | int, address: str) -> None:
    assert resolve_target(said).address == address


def test_a_profile_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = tmp_path / "a profile: with 9222"
    profile.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for said in (
        profile,
        str(profile),
        os.path.join(".", profile.name),
        Path(profile.name),
        profile / "DevToolsActivePort",
        os.path.join("~", profile.name),
    ):
        assert resolve_target(said).address == str(profile)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("", "it is empty"),
        ("castle", "'castle' has no port"),
        ("10.0.0.1", "has no port"),
        ("yes", "has no port"),
        ("::1", "has no port"),
        (65536, "out of range"),
        ("99999999999", "out of range"),
        (-1, "Port|port|not an address"),
        ("castle:0", "not an address"),
        ("castle:99999", "out of range"),
        ("castle:port", "has no port"),
        ("http://castle:port", "not an address"),
        ("http://", "not an address"),
        ("http://:9222", "not an address"),
        ("http://[::1", "not an address"),
        ("http://castle:9222/a b", "not an address"),
        ("ftp://castle:9222", "starts with ftp://"),
        ("file:///x", "starts with file://"),
        ("/no/such/profile", "there is no profile directory '/no/such/profile'"),
        (True, "true or false"),
        (3.5, "a number"),
        ([], "a list"),
        (b"9222", "a bytes"),
    ],
)
def test_what_names_no_chrome(said: object, problem: str) -> None:
    with pytest.raises(TargetError, match=problem) as caught:
        resolve_target(said)  # type: ignore[arg-type]
    assert str(caught.value).startswith("the target argument names no Chrome: ")
    assert isinstance(caught.value, ValueError)
    assert caught.value.given == said


def test_the_variable_is_named_where_it_is_wrong() -> None:
    with pytest.raises(TargetError, match=r"^BU_CDP_HTTP names no Chrome: 'castle' has no port"):
        resolve_target(environ={"BU_CDP_HTTP": "castle"})


# The stored choice, whose form belongs to another program


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("castle:1", "http://castle:1"),
        ("local", HERE),
        ({"target": "castle:1"}, "http://castle:1"),
        ({"endpoint": "castle:1"}, "http://castle:1"),
        ({"url": "http://castle:1"}, "http://castle:1"),
        ({"cdp": "ws://castle:1/x"}, "ws://castle:1/x"),
        ({"target": None, "cdp": "castle:1", "more": [1]}, "http://castle:1"),
        ({"target": 9222}, HERE),
        ({"host": "castle", "port": 1}, "http://castle:1"),
        ({"host": "castle", "port": "1"}, "http://castle:1"),
        ({"host": "::1", "port": 1}, "http://[::1]:1"),
    ],
)
def test_what_the_file_may_say(tmp_path: Path, said: object, address: str) -> None:
    file = stored_in(tmp_path, said)
    before = file.read_bytes(), file.stat().st_mtime_ns
    assert resolve_target(environ={}, stored=file) == Target(address, str(file))
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (None, "the file holds null"),
        (7, "the file holds a number"),
        (True, "the file holds true or false"),
        (["castle:1"], "the file holds a list"),
        ({}, "the file holds an empty object"),
        ({"host": "castle"}, "the file holds an object with the keys 'host'"),
        ({"host": "castle", "port": 1.5}, "an object with the keys 'host', 'port'"),
        ({"host": "castle", "port": True}, "an object with the keys 'host', 'port'"),
        ({"token": "S3CRET"}, "an object with the keys 'token'"),
        ("!not JSON", "the file is not JSON .*!not JSON"),
        ("castle", "'castle' has no port"),
        ("", "it is empty"),
        ({"target": ["castle"]}, "it is a list"),
        ({"target": "ftp://castle?token=S3CRET"}, "starts with ftp"),
    ],
)
def test_what_the_file_may_not_say(tmp_path: Path, said: object, problem: str) -> None:
    file = stored_in(tmp_path, said)
    with pytest.raises(TargetError, match=problem) as caught:
        resolve_target(environ={}, stored=file)
    assert str(caught.value).startswith(f"{file} names no Chrome: ")
    assert "S3CRET" not in str(caught.value)


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="the file can not be read"):
        resolve_target(environ={}, stored=tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TargetError, match="the file can not be read"):
        resolve_target(environ={}, stored=tmp_path / "binary")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "marked.json"
    file.write_bytes(b"\xef\xbb\xbf" + b'"castle:1"')
    assert resolve_target(environ={}, stored=file).address == "http://castle:1"


def test_a_target_shows_itself_without_its_token() -> None:
    target = resolve_target("wss://user:S3CRET@castle/x?token=S3CRET")
    assert "S3CRET" in target.address
    assert str(target) == "wss://…@castle/x?token=…"
    assert "S3CRET" not in f"{target!r} {[target]}"
