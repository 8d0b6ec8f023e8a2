"""The lab's pages in a real Chromium: what each scenario shows."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import Tab, background_tab
from castlenb.errors import NavigationFailed
from castlenb.lab import FakeWeb
from castlenb.lab.content import Result
from castlenb.lab.google import Google

pytestmark = pytest.mark.proof

QUERY = 'tea & "cake" <b>'

ORGANIC = """
    [...document.querySelectorAll("#rso [data-rpos]")].map((box) => {
        const apart = ".related-question-pair, table";
        const link = [...box.querySelectorAll("a")].find((a) => a.querySelector("h3") && !a.closest(apart));
        if (!link) return null;
        return [link.querySelector("h3").textContent, link.href, box.querySelector("cite").textContent];
    }).filter(Boolean)
"""
FACTS = """({
    url: location.href,
    status: performance.getEntriesByType("navigation")[0].responseStatus,
    ready: document.readyState,
    search: !!document.querySelector("#search"),
    rso: !!document.querySelector("#rso"),
    h3: document.querySelectorAll("#rso h3").length,
    links: document.querySelectorAll("#rso a[href]").length,
    below: document.querySelector("#botstuff")?.textContent.trim() ?? null,
    captcha: !!document.querySelector("form#captcha-form[action=index] .g-recaptcha[data-sitekey][data-s]"),
    consent: document.querySelectorAll('form[action^="https://consent.google.com/save"]').length,
    dialog: !!document.querySelector("[role=dialog][aria-modal] form"),
    enablejs: [...document.querySelectorAll("noscript")].some((n) => n.textContent.includes("/retry/enablejs")),
    scripts: [...document.scripts].filter((s) => s.type !== "application/json").length,
})"""


class Page:
    """A tab on the lab's web."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab

    async def go(self, url: str, *, timeout: float = 20.0) -> None:
        async with self.tab.session.expect("Page.loadEventFired", timeout=timeout):
            await self.tab.navigate(url, timeout=timeout)

    async def value(self, expression: str) -> Any:
        answer = await self.tab.session.call("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = await self.value(FACTS)
        return found

    async def until(self, condition: str) -> None:
        async with asyncio.timeout(20):
            while not await self.value(condition):  # noqa: ASYNC110  (what is waited for is in another process)
                await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def web() -> Iterator[FakeWeb]:
    with FakeWeb("marked") as web:
        yield web
        assert web.server.errors == []


@asynccontextmanager
async def opened(web: FakeWeb) -> AsyncIterator[Page]:
    connection = await Connection.open(await discover(f"http://{web.target}"))
    try:
        async with background_tab(connection) as tab:
            yield Page(tab)
    finally:
        await connection.aclose()


@pytest.fixture
async def page(web: FakeWeb) -> AsyncIterator[Page]:
    web.play("marked")
    web.server.requests.clear()
    async with opened(web) as page:
        await page.tab.session.call("Storage.clearCookies")
        yield page


def address(query: str = QUERY, **more: object) -> str:
    return "https://www.google.com/search?" + urlencode({"q": query, "udm": 14, **more})


def classic(query: str = QUERY, **more: object) -> str:
    return "https://www.google.com/search?" + urlencode({"q": query, "hl": "en", **more})


def rows(results: list[Result]) -> list[list[str]]:
    return [
        [r.title, r.url, " · ".join(r.shown) if r.forum else f"{r.shown[0]} › {' › '.join(r.shown[1:])}"]
        for r in results
    ]


class TestResults:
    async def test_ten_with_the_very_words_and_nothing_else(self, web: FakeWeb, page: Page) -> None:
        await page.go(address())
        assert await page.value(ORGANIC) == rows(Google().results(QUERY))
        facts = await page.facts()
        assert (facts["h3"], facts["ready"], facts["status"]) == (10, "complete", 200)
        assert facts["enablejs"], "an ordinary page mentions the gate in its noscript"
        furniture = "#tads > *, #eKIzJc, .related-question-pair, #rhs, g-scrolling-carousel, #rso table"
        assert await page.value(f"document.querySelectorAll({json.dumps(furniture)}).length") == 0
        assert await page.value("document.querySelector('textarea[name=q]').value") == QUERY
        assert await page.value("document.title") == f"{QUERY} - Google Search"

    async def test_hooks_as_on_googles_own_page(self, page: Page) -> None:
        await page.go(address())
        for hook in (
            "[data-rpos]",
            "[data-snc]",
            "[data-snf][data-snhf='0']",
            "[data-sncf='1']",
            "a[jsname=UWckNb][href] > h3",
        ):
            assert await page.value(f'document.querySelectorAll("#search #rso {hook}").length') == 10, hook
        snippets = "[...document.querySelectorAll('[data-sncf] span:has(> em)')].map((e) => e.textContent)"
        assert await page.value(snippets) == [r.snippet for r in Google().results(QUERY)]

    async def test_paging(self, page: Page) -> None:
        seen = []
        url = address()
        while url:
            await page.go(url)
            seen += await page.value(ORGANIC)
            url = await page.value("document.querySelector('#pnnext')?.href")
        assert seen == [row for start in range(0, 50, 10) for row in rows(Google().results(QUERY, start=start))]
        assert len({url for _, url, _ in seen}) == 47
        await page.go(address(start=50))
        facts = await page.facts()
        assert (facts["rso"], bool(facts["below"])) == (False, True), "beyond the last page is a page that says so"

    async def test_the_classic_layout_brings_its_furniture(self, page: Page) -> None:
        await page.go(classic())
        assert await page.value(ORGANIC) == rows(Google().results(QUERY))
        for css, least in (
            ("#tads [data-text-ad] a[data-pcu]", 2),
            ("#tadsb [data-text-ad]", 1),
            ("#rso .related-question-pair[data-q] a > h3", 4),
            ("#rso .related-question-pair [jsname=txosbe]", 1),
            ("#rso g-scrolling-carousel a", 4),
            ("#rso [data-snc] table h3 > a", 3),
            ("#rso [data-cid]", 3),
            ("#rhs h3", 2),
            ("#eKIzJc #m-x-content [data-container-id=main-col]", 1),
            ("#eKIzJc [data-src-id] > a[aria-label]", 6),
            ("#bres a[href^='/search']", 7),
        ):
            assert await page.value(f'document.querySelectorAll("{css}").length') == least, css
        before = "document.querySelector('#eKIzJc').compareDocumentPosition(document.querySelector('#search')) & 4"
        assert await page.value(before), "the answer stands above the results, outside of them"
        hidden = "[...document.querySelectorAll('.related-question-pair a')].filter((a) => !a.checkVisibility()).length"
        assert await page.value(hidden) == 3, "the first question is open, the others are not"
        assert await page.value("document.querySelectorAll('#rso [data-snhf]').length") == 9, (
            "one result has other mark-up"
        )

    async def test_encrypted_links_are_minted_anew_and_lead_to_the_target(self, web: FakeWeb, page: Page) -> None:
        web.play("goto")
        minted = []
        for _ in range(2):
            await page.go(address())
            minted.append([url for _, url, _ in await page.value(ORGANIC)])
        assert all(url.startswith("https://www.google.com/goto?url=CAES") for url in minted[0])
        assert not set(minted[0]) & set(minted[1])
        assert not any(part in url for url in minted[0] for part in ("example", "http%3A", "https%3A"))
        with pytest.raises(NavigationFailed, match="ERR_NAME_NOT_RESOLVED"):
            await page.tab.navigate(minted[0][3])
        assert await page.value("location.href") == "chrome-error://chromewebdata/"

    async def test_wrapped_links(self, web: FakeWeb, page: Page) -> None:
        web.play("url-wrapped")
        await page.go(address())
        links = [urlsplit(url) for _, url, _ in await page.value(ORGANIC)]
        assert {(link.netloc, link.path) for link in links} == {("www.google.com", "/url")}
        assert [parse_qs(link.query)["q"][0] for link in links] == [r.url for r in Google().results(QUERY)]

    async def test_dead_weight(self, web: FakeWeb, page: Page) -> None:
        web.play("heavy")
        await page.go(address())
        assert 1_900_000 < await page.value("performance.getEntriesByType('navigation')[0].decodedBodySize") < 2_600_000
        assert await page.value(ORGANIC) == rows(Google().results(QUERY))


class TestDateLimits:
    @pytest.mark.parametrize(("as_qdr", "units"), [("d", ("hour",)), ("w", ("hour", "day")), ("h3", ("hour",))])
    async def test_as_qdr_limits(self, page: Page, as_qdr: str, units: tuple[str, ...]) -> None:
        await page.go(classic(as_qdr=as_qdr))
        dates = await page.value(
            "[...document.querySelectorAll('#rso [data-sncf] .dt > span')].map((e) => e.textContent)"
        )
        assert len(dates) == 9, "all but the row with the thumbnail are dated"
        assert all(any(f" {unit}" in date for unit in units) and date.endswith(" ago") for date in dates)

    @pytest.mark.parametrize("url", [classic(tbs="qdr:d"), address(as_qdr="d"), address(tbs="cdr:1,cd_min:1/1/2026")])
    async def test_what_gets_an_empty_page(self, page: Page, url: str) -> None:
        await page.go(url)
        facts = await page.facts()
        assert (facts["search"], facts["rso"], facts["below"], facts["h3"]) == (True, False, "", 0)

    async def test_a_range_without_udm_is_ignored(self, page: Page) -> None:
        await page.go(classic(tbs="cdr:1,cd_min:1/1/2026"))
        assert await page.value(ORGANIC) == rows(Google().results(QUERY))


class TestOtherPages:
    async def test_nothing_found(self, web: FakeWeb, page: Page) -> None:
        web.play("no-results")
        await page.go(address())
        facts = await page.facts()
        assert (facts["search"], facts["rso"], QUERY in facts["below"]) == (True, False, True)

    async def test_empty(self, web: FakeWeb, page: Page) -> None:
        web.play("empty")
        await page.go(address())
        facts = await page.facts()
        assert (facts["search"], facts["rso"], facts["below"]) == (True, False, "")

    async def test_unparseable(self, web: FakeWeb, page: Page) -> None:
        web.play("unparseable")
        await page.go(address())
        facts = await page.facts()
        assert (facts["rso"], facts["h3"], facts["links"]) == (True, 0, 0)
        assert await page.value("document.querySelector('#rso').textContent.length") > 500

    @pytest.mark.parametrize(("name", "status"), [("sorry", 200), ("sorry-429", 429)])
    async def test_captcha_until_it_is_cleared(self, web: FakeWeb, page: Page, name: str, status: int) -> None:
        web.play(name)
        await page.go(address())
        facts = await page.facts()
        end = urlsplit(facts["url"])
        assert (end.hostname, end.path, parse_qs(end.query)["continue"]) == (
            "www.google.com",
            "/sorry/index",
            [address()],
        )
        assert (facts["captcha"], facts["status"], facts["search"]) == (True, status, False)
        assert await page.value("document.title") == address()
        await page.value("document.querySelector('#captcha-form').submit()")
        await page.until("!!document.querySelector('#rso h3')")
        assert await page.value("location.href") == address()

    async def test_consent_until_it_is_given(self, web: FakeWeb, page: Page) -> None:
        web.play("consent")
        await page.go(address(hl="ru"))
        facts = await page.facts()
        assert urlsplit(facts["url"]).hostname == "consent.google.com"
        assert (facts["consent"], facts["search"]) == (2, False)
        assert "Before" not in await page.value("document.title")
        await page.value("document.forms[0].submit()")
        await page.until("!!document.querySelector('#rso h3')")
        assert await page.value("location.href") == address(hl="ru")

    async def test_consent_over_the_page(self, web: FakeWeb, page: Page) -> None:
        web.play("consent-overlay")
        await page.go(address())
        facts = await page.facts()
        assert (facts["dialog"], facts["consent"], facts["h3"]) == (True, 2, 10)

    @pytest.mark.parametrize(
        ("name", "host"), [("consent-script", "www.google.com"), ("consent-script-stop", "consent.google.com")]
    )
    async def test_consent_by_script(self, web: FakeWeb, page: Page, name: str, host: str) -> None:
        web.play(name)
        for _ in range(2):  # once more: it is no cookie that ends it
            await page.go(address())
            ends = "/search" if host == "www.google.com" else "/ml"
            await page.until(
                f"location.pathname == '{ends}' && document.querySelector('#rso h3, form[action*=consent]') != null"
            )
            assert await page.value("location.hostname") == host
        visited = [request.host for request in web.requests]
        assert visited == (
            ["www.google.com", "consent.google.com", "www.google.com"] * 2
            if ends == "/search"
            else ["www.google.com", "consent.google.com"] * 2
        )

    async def test_script_gate(self, web: FakeWeb, page: Page) -> None:
        web.play("enablejs")
        await page.go(address())
        facts = await page.facts()
        assert (facts["enablejs"], facts["search"], facts["url"]) == (True, False, address())
        assert await page.value("document.title") == "Google Search"

    async def test_script_gate_that_opens(self, web: FakeWeb, page: Page) -> None:
        web.play("enablejs-reloads")
        for turn in range(2):
            await page.go(address(f"again {turn}"))
            await page.until("document.querySelectorAll('#rso h3').length == 10")
        assert [request.query["q"] for request in web.searches()] == ["again 0"] * 2 + ["again 1"] * 2

    @pytest.mark.parametrize("name", ["redirect", "redirect-script"])
    async def test_another_address(self, web: FakeWeb, page: Page, name: str) -> None:
        web.play(name)
        await page.go(address())
        await page.until("document.querySelectorAll('#rso h3').length == 10")
        assert await page.value("location.href") == address() + "&gws_rd=ssl"

    async def test_google_com_leads_to_www(self, page: Page) -> None:
        await page.go(address().replace("www.", ""))
        assert await page.value("location.href") == address()
