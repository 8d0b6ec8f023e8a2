"""Saved pages: rendered at their true address, read by the live reader, and silent."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import castlenb as cn
from castlenb import cli

from .conftest import Onlooker

ROW = '<div data-rpos="{n}"><a href="https://site{n}.example/page"><h3>Title {n}</h3><cite>https://site{n}.example</cite></a><div>Some words about number {n}.</div></div>'


def results_page(body: str = "", head: str = "", rows: int = 3) -> str:
    listed = "".join(ROW.format(n=n) for n in range(1, rows + 1))
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>q</title>{head}</head><body>"
        f'<form action="/search"><input name=q value="tea pots"></form><div id="search"><div id="rso">{listed}</div></div>{body}</body></html>'
    )


@pytest.fixture(scope="module")
def chrome() -> Iterator[cn.Browser]:
    """A Chromium that may reach loopback, so that a page that asks for something there would be seen to."""
    from castlenb.lab import throwaway

    with throwaway() as target, cn.connect(target) as browser:
        yield browser


class Listener:
    """Counts the TCP connections that are made to it."""

    def __init__(self) -> None:
        self.accepted = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.accepted += 1
            connection.close()

    def close(self) -> None:
        self._socket.close()


def everything_that_loads(port: int) -> tuple[str, str]:
    """Head and body of a page that names one place by every means there is."""
    numbers = iter(range(1000))

    def at() -> str:
        return f"http://127.0.0.1:{port}/{next(numbers)}"

    links = "".join(
        f'<link rel="{rel}" href="{at()}" {extra}>'
        for rel, extra in [
            ("preconnect", ""),
            ("dns-prefetch", ""),
            ("prefetch", ""),
            ("preload", "as=font crossorigin"),
            ("preload", "as=image"),
            ("modulepreload", ""),
            ("prerender", ""),
            ("icon", ""),
            ("shortcut icon", ""),
            ("apple-touch-icon", ""),
            ("manifest", ""),
            ("stylesheet", ""),
            ("alternate stylesheet", ""),
            ("search", ""),
            ("import", ""),
            ("next prefetch", ""),
        ]
    )
    head = (
        f'<base href="{at()}">{links}<meta http-equiv="refresh" content="0;url={at()}">'
        f'<meta http-equiv="x-dns-prefetch-control" content="on">'
        f"<style>@import url({at()}); @font-face{{font-family:f;src:url({at()})}} body{{font-family:f;background:url({at()});cursor:url({at()}),auto}} li{{list-style-image:url({at()})}}</style>"
        f'<script src="{at()}"></script><script>fetch("{at()}"); new WebSocket("ws://127.0.0.1:{port}/"); new Image().src="{at()}"</script>'
        f'<script type="speculationrules">{{"prefetch":[{{"source":"list","urls":["{at()}"]}}],"prerender":[{{"source":"list","urls":["{at()}"]}}]}}</script>'
        f'<noscript><meta http-equiv="refresh" content="0;url={at()}"><img src="{at()}"></noscript>'
    )
    body = (
        f'<img src="{at()}" srcset="{at()} 2x" onerror="fetch(\'{at()}\')"><picture><source srcset="{at()}"><img></picture>'
        f'<iframe src="{at()}"></iframe><iframe srcdoc="<img src={at()}>"></iframe><object data="{at()}"></object><embed src="{at()}">'
        f'<video src="{at()}" poster="{at()}" autoplay></video><audio src="{at()}" autoplay></audio><video><source src="{at()}"><track src="{at()}" default></video>'
        f'<form id=f action="{at()}" method=post><input type=image src="{at()}"><button autofocus>x</button></form>'
        f'<a href="{at()}" ping="{at()}">a</a><a href="javascript:fetch(\'{at()}\')">b</a><svg><image href="{at()}"/><use href="{at()}#x"/></svg>'
        f'<table background="{at()}"><tr><td background="{at()}"></table><p style="background:url({at()})">x</p><ul><li>x</ul>'
        f'<template><img src="{at()}"><script src="{at()}"></script></template>'
        f'<div><template shadowrootmode=open><img src="{at()}"><link rel=stylesheet href="{at()}"></template></div>'
        f'<body onload="document.forms.f.submit()"><frameset><frame src="{at()}"></frameset>'
        f"<marquee onstart=\"fetch('{at()}')\">m</marquee><details open ontoggle=\"fetch('{at()}')\">d</details>"
    )
    return head, body


def test_a_replayed_page_opens_no_connection(chrome: cn.Browser, tmp_path: Path) -> None:
    listener = Listener()
    try:
        head, body = everything_that_loads(listener.port)
        with cn.replay(
            results_page(body, head), url="https://www.google.com/search?q=tea+pots", browser=chrome
        ) as opened:
            page = opened.read()
            time.sleep(1.5)
            assert opened.evaluate("location.href") == "https://www.google.com/search?q=tea+pots"
            assert opened.evaluate("document.querySelectorAll('iframe').length") == 2
        assert len(page) == 3
        assert listener.accepted == 0

        # The same page as it was saved asks for plenty, so the counter counts.
        raw = tmp_path / "raw.html"
        raw.write_text(results_page(body, head))
        onlooker = Onlooker(urlsplit(str(chrome.target)).netloc)
        tab = onlooker.open(raw.as_uri())
        until = time.monotonic() + 10
        while listener.accepted < 10 and time.monotonic() < until:
            time.sleep(0.1)
        onlooker.close(tab)
        assert listener.accepted >= 10
    finally:
        listener.close()


def test_the_true_address_is_that_of_the_query_in_the_search_box(chrome: cn.Browser) -> None:
    with cn.replay(results_page(), engine="google", browser=chrome) as opened:
        assert opened.url == "https://www.google.com/search?q=tea+pots&hl=en&udm=14"
        page = opened.read()
        assert (page.query, page.url) == ("tea pots", opened.url)
        assert opened.read().records == page.records


def test_one_page_after_another_in_the_same_tab(chrome: cn.Browser) -> None:
    address = "https://www.google.com/search?q=tea#part"
    onlooker = Onlooker(urlsplit(str(chrome.target)).netloc)
    with cn.replay(results_page(rows=1), engine="google", url=address, browser=chrome) as opened:
        assert len(opened.read()) == 1
        tabs = {tab["targetId"] for tab in onlooker.tabs()}
        for rows in (4, 2):  # a fragment that stayed the same would make it no navigation
            opened.show(results_page(rows=rows), url=address)
            assert len(opened.read()) == rows
        opened.show(results_page(rows=3).replace("tea pots", "kettles"))
        assert opened.read().query == "kettles"
        assert {tab["targetId"] for tab in onlooker.tabs()} == tabs


def test_frames_keep_their_place_and_an_inert_copy_of_their_address(chrome: cn.Browser) -> None:
    body = '<form id="captcha-form"><iframe src="https://captcha.example/frame?k=1"></iframe></form>'
    with cn.replay(results_page(body, rows=0), engine="google", browser=chrome) as opened:
        page = opened.read()
        assert (page.page_state, page.challenge_kind) == ("challenge", "sorry")
        assert opened.evaluate("document.querySelector('iframe').src") == ""
        assert opened.evaluate("document.querySelector('iframe').outerHTML").count("captcha.example/frame") == 1


async def test_replay_and_read_as_coroutines(chrome: cn.Browser, tmp_path: Path) -> None:
    async with cn.aio.replay(results_page(), engine="google", browser=chrome) as opened:
        assert len(await opened.aread()) == 3
        assert await opened.aevaluate("1 + 1") == 2
    (tmp_path / "a.html").write_text(results_page())
    assert [len(page) for page in await cn.aio.read(tmp_path / "a.html", engine="google", browser=chrome)] == [3]


def test_saved_pages_are_read_in_order_gzipped_ones_too(chrome: cn.Browser, tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(results_page(rows=1))
    (tmp_path / "twelve.html.gz").write_bytes(gzip.compress(results_page(rows=12).encode()))
    (tmp_path / "latin.html").write_bytes(
        results_page("é", "<meta charset=latin-1>").replace("Title 1", "Café").encode("latin-1")
    )
    pages = cn.read(
        [tmp_path / name for name in ("one.html", "twelve.html.gz", "latin.html")], engine="google", browser=chrome
    )
    assert [len(page) for page in pages] == [1, 12, 3]
    assert all(page.fetched_at is None for page in pages)


def test_a_charset_that_the_page_declares_is_used(chrome: cn.Browser, tmp_path: Path) -> None:
    source = results_page().replace(
        "<meta charset=utf-8>", '<meta http-equiv="content-type" content="text/html; charset=windows-1251">'
    )
    (tmp_path / "cyrillic.html").write_bytes(source.replace("Title 1", "Чайник").encode("cp1251"))
    [page] = cn.read(tmp_path / "cyrillic.html", engine="google", browser=chrome)
    assert page.results["title"][0] == "Чайник"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (gzip.compress(b"<html>", mtime=0)[:-9], "gz|Compressed|CRC|end-of-stream"),
        (None, "No such file"),
    ],
)
def test_a_file_that_can_not_be_read_says_why_and_loses_nothing(
    chrome: cn.Browser, tmp_path: Path, content: bytes | None, message: str
) -> None:
    bad, good = tmp_path / "bad.html.gz", tmp_path / "good.html"
    if content is not None:
        bad.write_bytes(content)
    good.write_text(results_page())
    with pytest.raises(cn.CaptureError, match=message) as raised:
        cn.read([good, bad, good], engine="google", browser=chrome)
    assert [len(page) for page in raised.value.pages] == [3, 3]
    assert list(raised.value.failures) == [str(bad)]


def test_a_page_of_nobody_has_to_be_told(chrome: cn.Browser, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>hello")
    with pytest.raises(cn.CaptureError, match="say which it is: google"):
        cn.read(tmp_path / "a.html", browser=chrome)


def test_the_command_prints_an_object_a_line(
    chrome: cn.Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.html", tmp_path / "missing.html"
    good.write_text(results_page())
    target = str(chrome.target)
    assert cli.main(["read", str(good), "--engine", "google", "--json", "--target", target]) == 0
    assert cli.main(["read", str(bad), str(good), "--engine", "google", "--json", "--target", target]) == 1
    first, missing, again = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert first == again
    assert set(first) >= {"file", "engine", "page_state", "challenge_kind", "results", "warnings", "error"}
    assert (first["page_state"], first["error"], len(first["results"])) == ("results", None, 3)
    assert set(first["results"][0]) >= {"rank", "title", "url", "link", "link_form", "snippet", "site", "date"}
    assert (missing["page_state"], missing["results"]) == ("error", [])
    assert "No such file" in missing["error"]


def test_without_a_browser_a_throwaway_one_is_started_and_ended(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(results_page())
    [page] = cn.read(tmp_path / "a.html", engine="google")
    assert len(page) == 3
