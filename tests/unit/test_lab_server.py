"""The lab's server without a browser: what it logs, what it sends, and how it ends."""

import asyncio
import json
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import httpx
import pytest

from castlenb.lab.google import Google
from castlenb.lab.scenario import Scenario, Step, scenario
from castlenb.lab.server import HOSTS, Reply, Request, Server

SEARCH = "https://www.google.com/search?q="


class Broken:
    """An engine that fails, at once or midway."""

    name = "broken"
    hosts: tuple[str, ...] = ("www.bing.com",)

    def query_of(self, path: str, query: Mapping[str, str]) -> str:
        return ""

    async def answer(self, request: Request, reply: Reply, scenario: Scenario) -> None:
        if request.path == "/midway":
            await reply.begin()
            await reply.write(b"so far")
        raise ZeroDivisionError(request.path)


class Web:
    """A server, and a client that finds it under every name."""

    def __init__(self) -> None:
        self.playing = "marked"
        self.server = Server([Google(), Broken()], lambda engine, query: scenario(self.playing, engine.name))
        self.server.start()
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        self.client = httpx.Client(verify=trusting, trust_env=False, timeout=20)

    def get(self, url: str, **more: object) -> httpx.Response:
        parts = urlsplit(url)
        here = parts._replace(netloc=f"127.0.0.1:{self.server.port}").geturl()
        headers = {"Host": parts.netloc, **dict(more)}
        return self.client.get(here, headers=headers)  # type: ignore[arg-type]

    def close(self) -> None:
        self.client.close()
        self.server.stop()


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    yield web
    web.close()


def test_an_encrypted_link_answers_with_the_target(web: Web) -> None:
    web.playing = "goto"
    page = web.get("https://www.google.com/search?q=tea&udm=14").text
    links = [part.partition('"')[0] for part in page.split('jsname="UWckNb" class="lk" href="')[1:]]
    assert len(links) == 10
    for link, result in zip(links, Google().results("tea"), strict=True):
        answer = web.get(f"https://www.google.com{link}")
        assert (answer.status_code, answer.headers["Location"]) == (302, result.url)
    assert web.get("https://www.google.com/goto?url=CAESnone").status_code == 404


def test_a_wrapped_link_answers_with_the_target(web: Web) -> None:
    url = "https://site.example/t.php?id=7&x=a%2Fb"
    answer = web.get(str(httpx.URL("https://www.google.com/url", params={"q": url, "sa": "U"})))
    assert (answer.status_code, answer.headers["Location"]) == (302, url)


def test_a_refusal_answers_as_in_life(web: Web) -> None:
    web.playing = "sorry-429"
    first = web.get("https://www.google.com/search?q=tea")
    assert first.status_code == 302
    assert first.headers["x-hallmonitor-challenge"]
    second = web.get(first.headers["Location"])
    assert second.status_code == 429
    assert 'id="captcha-form" action="index"' in second.text
    cleared = web.get("https://www.google.com/search?q=tea", Cookie="a=b; GOOGLE_ABUSE_EXEMPTION=ID=x")
    assert cleared.status_code == 200


@pytest.mark.parametrize(("name", "status"), [("too-many-bare", 429), ("no-content", 204)])
def test_bare_answers(web: Web, name: str, status: int) -> None:
    web.playing = name
    answer = web.get("https://www.google.com/search?q=tea")
    assert (answer.status_code, answer.content) == (status, b"")


def test_a_page_without_marks_is_the_same_each_time(web: Web) -> None:
    web.playing = "instant"
    url = "https://www.google.com/search?q=tea&udm=14"
    once, again = web.get(url), web.get(url)
    assert once.text == again.text
    assert "<script" not in once.text
    assert web.get(url + "&start=10").text != once.text
    web.playing = "marked"
    assert web.get(url).text != web.get(url).text


def test_words_are_escaped_wherever_they_are_echoed(web: Web) -> None:
    words = "</textarea></title><script>bad()</script>\"'&"
    for name in ("marked", "classic", "no-results", "sorry", "consent-overlay", "redirect-script", "2026-08-04"):
        web.playing = name
        answer = web.get(str(httpx.URL("https://www.google.com/search", params={"q": words, "hl": '"><script>bad()'})))
        text = web.get(answer.headers["Location"]).text if answer.status_code == 302 else answer.text
        assert "<script>bad" not in text, name
        assert "</textarea></title>" not in text, name
        assert '"><script>' not in text, name


def test_what_chrome_asks_of_its_own_accord_is_not_in_the_log(web: Web) -> None:
    assert web.get("https://consent.google.com/favicon.ico").status_code == 404
    assert web.server.requests == []


def test_requests_are_logged_as_they_were_sent(web: Web) -> None:
    web.get("https://www.google.com/search?q=a+b&q=c%26d&start=", Cookie="NID=1; SOCS=two")
    (request,) = web.server.requests
    assert (request.id, request.method, request.host, request.path) == (1, "GET", "www.google.com", "/search")
    assert (request.target, request.query) == ("/search?q=a+b&q=c%26d&start=", {"q": "c&d", "start": ""})
    assert (request.cookie("SOCS"), request.cookie("NID"), request.cookie("none")) == ("two", "1", None)
    assert request.scenario == "marked"


def test_every_host_is_answered(web: Web) -> None:
    assert {host: web.get(f"https://{host}/none").status_code for host in HOSTS} == {
        "www.google.com": 404,
        "google.com": 302,
        "consent.google.com": 404,
        "www.bing.com": 500,
        "search.brave.com": 501,
        "html.duckduckgo.com": 501,
        "duckduckgo.com": 501,
    }
    assert all(f"MAP {host} 127.0.0.1:{web.server.port}" in web.server.resolver_rules for host in HOSTS)


def test_an_engine_that_fails_is_reported(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    assert web.get("https://www.bing.com/search").status_code == 500
    with pytest.raises(httpx.TransportError):
        web.get("https://www.bing.com/midway")
    assert ["ZeroDivisionError: /search" in error for error in web.server.errors] == [True, False]
    assert "could not answer" in caplog.text


def test_stopping_drops_who_is_waiting(web: Web) -> None:
    web.playing = "silent"
    ours = web.server._thread
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(web.get, "https://www.google.com/search?q=tea") for _ in range(3)]
        while len(web.server.requests) < 3:
            assert not any(each.done() for each in waiting)
        web.server.stop()
        for each in waiting:
            with pytest.raises(httpx.TransportError):
                each.result(timeout=20)
    assert ours not in threading.enumerate(), "the server's thread outlived it"
    with pytest.raises(httpx.ConnectError):
        web.get("https://www.google.com/")
    web.server.stop()


def test_it_runs_beside_a_loop_of_the_callers(web: Web) -> None:
    async def ask() -> int:
        return (await asyncio.to_thread(web.get, "https://www.google.com/")).status_code

    assert asyncio.run(ask()) == 200


@pytest.mark.proof
def test_every_part_is_noted_when_it_is_written(web: Web) -> None:
    for name in ("instant", "two-parts", "answer-parser", "2026-08-04"):
        web.playing = name
        assert web.get(f"{SEARCH}{name}").status_code == 200
        request = web.server.requests[-1]
        wrote = request.report.wrote
        assert [at for _, at, _ in wrote] == sorted(at for _, at, _ in wrote)
        for step in (*scenario(name).steps, *(scenario(name).answer or ())):
            last = next(at for part, at, _ in reversed(wrote) if part == step.part)
            assert 1000 * (last - request.at) >= step.at_ms - 1
    chars = [chars for part, _, chars in wrote if part == "answer"]
    assert chars == [142, 385, 640, 811, 903]


def stream_of(page: str) -> str:
    found = re.search(r'"stream": "([^"]+)"', page)
    assert found
    return "https://www.google.com" + json.loads(f'"{found[1]}"')


def test_a_stream_is_for_one_page_and_once(web: Web) -> None:
    web.playing = "answer-stream"
    stream = stream_of(web.get(SEARCH + "tea").text)
    lines = [json.loads(line) for line in web.get(stream).text.splitlines()]
    assert [part for part, _ in lines] == ["answer"] * 4 + ["sources", "settled"]
    assert all(acts for _, acts in lines)
    assert web.get(stream).status_code == 404


def test_pages_that_never_ask_are_forgotten(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = replace(scenario("marked"), name="now", answer=(Step(0, "answer", chars=9),), answer_by="stream")
    monkeypatch.setattr(web.server, "_choose", lambda engine, query: at_once)
    streams = [stream_of(web.get(f"{SEARCH}{n}").text) for n in range(40)]
    assert [web.get(stream).status_code for stream in (streams[0], streams[-1])] == [404, 200]


def test_a_hostile_pages_policy_lets_its_own_script_run_and_no_other(web: Web) -> None:
    web.playing = "hostile"
    answer = web.get(SEARCH + "tea")
    policy = answer.headers["Content-Security-Policy"]
    nonces = set(re.findall(r'<script nonce="([^"]+)"', answer.text))
    assert len(nonces) == 1
    assert f"script-src 'nonce-{nonces.pop()}'" in policy
    assert "require-trusted-types-for 'script'" in policy
    web.playing = "marked"
    assert "Content-Security-Policy" not in web.get(SEARCH + "tea").headers


def test_steps_that_nobody_knows_are_an_error_and_not_left_out(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Scenario("odd", "A slip.", scenario("marked").steps, answer=(Step(0, "anwser"),))
    monkeypatch.setattr(web.server, "_choose", lambda engine, query: odd)
    assert web.get(SEARCH + "tea").status_code == 500
    assert "knows no step 'anwser'" in web.server.errors[-1]
