"""A page that means harm: it can neither mislead castlenb nor tell that castlenb is there."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import castlenb as cn
from castlenb import bridge
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.lab import Request, add_engine

from .hostile_page import MARKED, MEEK, NOTICED, HostileGoogle, hostile

pytestmark = pytest.mark.proof

QUERY = 'tea & "cake" <b>'
SLACK_MS = 250


@pytest.fixture(scope="module")
def web() -> Iterator[cn.Lab]:
    leave = add_engine(HostileGoogle)  # in place of the lab's own Google: it answers at the same hosts
    try:
        with cn.Lab("instant") as lab:
            yield lab
            assert lab.web.server.errors == []
    finally:
        leave()


def asked(lab: cn.Lab, what: Any) -> tuple[cn.SearchPage, Request]:
    """A search of that scenario, and the request for its page."""
    lab.play(what)
    lab.web.server.requests.clear()
    page = cn.search(QUERY, ai_answer=True, deadline_s=60, browser=lab.browser)
    [request] = lab.web.searches()
    return page, request


def said(page: cn.SearchPage) -> dict[str, Any]:
    """Everything that a search says of its page, but for the times."""
    answer = page.answer
    assert answer is not None
    return {
        "page": (page.page_state, page.challenge_kind, page.documents, page.status, page.warnings, page.url),
        "results": page.results.to_dict("records"),
        "answer": (answer.state, answer.settled_by, answer.text, answer.header, answer.language, answer.placement),
        "citations": answer.citations.to_dict("records"),
        "claims": [(claim["text"], claim["publisher"], claim["citations"]) for claim in answer.claims],
        "markers": dict(answer.markers),
    }


@pytest.mark.parametrize("meek", [MEEK, MARKED], ids=["quiet", "marker"])
def test_it_misleads_nobody(web: cn.Lab, meek: Any) -> None:
    """Results, answer and state as on the same page without the harm; each page's times by its own marks."""
    read = {}
    for what in (meek, hostile(meek)):
        page, request = asked(web, what)
        read[what.name] = said(page)
        truth = web.web.truth(request)
        assert [mark.part for mark in truth.marks].count("results") == 2
        assert [mark.part for mark in truth.marks].count("answer") == 3
        for name in ("parse_ready_ms", "results_complete_ms", "ai_shell_ms", "ai_appear_ms", "ai_settle_ms"):
            assert page.timings[name] == pytest.approx(getattr(truth, name), abs=SLACK_MS), (what.name, name)
    assert read["hostile"] == read[meek.name]
    told = read["hostile"]
    assert len(told["results"]) == 10
    assert told["answer"][:2] == ("settled", "marker" if meek is MARKED else "quiet")
    assert len(told["answer"][2]) > 850
    assert len(told["citations"]) == 3


def test_it_can_not_tell_that_castlenb_is_there(web: cn.Lab) -> None:
    """What the page takes down while castlenb waits, and as it is left, beside the same where castlenb is not at work."""
    page, _ = asked(web, hostile(MEEK))
    assert page.answer is not None
    assert page.answer.settled_by == "quiet", "it was still being watched when it took down what it saw"
    watched = noticed(web)
    assert watched["late"]["errors"] == ["TypeError", "policy require-trusted-types-for"], "its own doing"
    assert watched["late"]["called"] == {}
    for form in ('<form id="main-col"', '<form data-sfc-cp=""', '<li data-src-id="2"><form>'):
        assert form in watched["late"]["html"], "the lab's answers have other mark-up now"
    web.web.server.requests.clear()
    alone(web, page.url)
    for when, by_itself in noticed(web).items():
        names, names_by_itself = watched[when].pop("names"), by_itself.pop("names")
        differing = {path for path in {*names, *names_by_itself} if names.get(path) != names_by_itself.get(path)}
        assert not differing, when
        assert watched[when] == by_itself, when
        assert when == "leaving" or len(names) > 1000, "it did look around"


def test_it_can_not_tell_that_it_is_kept(web: cn.Lab) -> None:
    """A capture writes the page out and touches nothing: the page is left as it would have been."""
    what = hostile(MEEK)
    web.play(what)
    web.web.server.requests.clear()
    kept = cn.capture(QUERY, deadline_s=60, browser=web.browser)
    watched = noticed(web)
    assert watched["late"]["called"] == {}
    page, _ = asked(web, what)
    again = kept.read(browser=web.browser)
    assert [record["url"] for record in again.records] == [record["url"] for record in page.records]
    assert [record["title"] for record in again.records] == [record["title"] for record in page.records]
    web.web.server.requests.clear()
    alone(web, page.url)
    by_itself = noticed(web)
    for when in ("late", "leaving"):
        names, names_by_itself = watched[when].pop("names"), by_itself[when].pop("names")
        assert names == names_by_itself, when
        assert watched[when] == by_itself[when], when


def noticed(lab: cn.Lab) -> dict[str, dict[str, Any]]:
    """What the page reported: ``late``, when all was there, and ``leaving``."""
    until = time.monotonic() + 30
    found: dict[str, dict[str, Any]] = {}
    while len(found) < 2 and time.monotonic() < until:
        time.sleep(0.02)
        found = {each.query["when"]: json.loads(each.body) for each in lab.web.requests if each.path == NOTICED}
    assert list(found) == ["late", "leaving"]
    for each in found.values():
        # Painting and marks come in no fixed order; what takes long depends on what else this machine does.
        each["entries"] = Counter(entry for entry in each.get("entries", ()) if not entry.startswith("long"))
        if isinstance(each["html"], str):
            each["html"] = re.sub(r"page=\d+", "page=", each["html"])
    return found


def alone(lab: cn.Lab, url: str) -> None:
    """The page in a background tab of another client, which emulates focus and does nothing else, until it has looked
    around."""

    async def visit() -> None:
        connection = await Connection.open(await discover(f"http://{lab.web.target}"))
        try:
            wish = {"url": "about:blank", "background": True}
            target = (await connection.root.call("Target.createTarget", wish))["targetId"]
            attached = await connection.root.call("Target.attachToTarget", {"targetId": target, "flatten": True})
            session = connection.session(attached["sessionId"], target)
            await session.call("Emulation.setFocusEmulationEnabled", {"enabled": True})
            await session.call("Page.navigate", {"url": url}, timeout=60)
            async with asyncio.timeout(60):
                while not any(each.path == NOTICED for each in lab.web.requests):  # noqa: ASYNC110 (another thread's)
                    await asyncio.sleep(0.05)
            await asyncio.sleep(2)  # for as long as castlenb waits whether more of the answer comes
            await connection.root.call("Target.closeTarget", {"targetId": target})
        finally:
            await connection.aclose()

    bridge.run(visit())
