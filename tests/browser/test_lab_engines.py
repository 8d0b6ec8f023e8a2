"""The lab's Bing, Brave and DuckDuckGo as pages: what stands on them, where their links and forms lead."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import castlenb as cn
from castlenb.cdp.connection import Connection
from castlenb.cdp.endpoint import discover
from castlenb.cdp.tab import background_tab
from castlenb.errors import NavigationFailed
from castlenb.lab.bing import Bing, unwrapped, wrapped
from castlenb.lab.brave import Brave
from castlenb.lab.duckduckgo import DuckDuckGo

from .test_lab import Page

pytestmark = pytest.mark.proof

QUERY = 'tea & "cake" <b>'
ADDRESS = {
    "bing": "https://www.bing.com/search",
    "brave": "https://search.brave.com/search",
    "duckduckgo": "https://html.duckduckgo.com/html/",
}


def address(engine: str, **more: object) -> str:
    return f"{ADDRESS[engine]}?{urlencode({'q': QUERY, **more})}"


@asynccontextmanager
async def opened(lab: cn.Lab) -> AsyncIterator[Page]:
    connection = await Connection.open(await discover(f"http://{lab.web.target}"))
    try:
        async with background_tab(connection) as tab:
            await tab.session.call("Storage.clearCookies")
            yield Page(tab)
    finally:
        await connection.aclose()


@pytest.fixture
async def page(lab: cn.Lab) -> AsyncIterator[Page]:
    lab.play("marked")
    async with opened(lab) as page:
        yield page
    assert lab.web.server.errors == []


async def hrefs(page: Page, css: str) -> list[str]:
    found: list[str] = await page.value(
        f"[...document.querySelectorAll({css!r})].map((e) => e.closest('a[href]').href)"
    )
    return found


async def count(page: Page, css: str) -> int:
    return int(await page.value(f"document.querySelectorAll({css!r}).length"))


async def test_rows_stand_where_they_stand_in_life(page: Page) -> None:
    await page.go(address("bing"))
    assert await hrefs(page, "#b_results > li.b_algo h2 > a, #b_results > li.b_algo a > h2") == [
        r.url for r in Bing().results(QUERY)
    ]
    await page.go(address("brave"))
    assert await hrefs(page, '#results > .snippet[data-type="web"] a > .title') == [
        r.url for r in Brave().results(QUERY)
    ]
    await page.go(address("duckduckgo"))
    assert await hrefs(page, "#links > .web-result a.result__a") == [r.url for r in DuckDuckGo().results(QUERY)]


@pytest.mark.parametrize(
    ("engine", "furniture"),
    [
        (
            "bing",
            {
                "#b_results > li.b_ad li": 3,
                "#b_results > li.b_ans": 6,
                "#copans_container h2 > a": 1,
                "#b_context h2 > a": 1,
            },
        ),
        (
            "bing",
            {".b_deepdesk h3 > a": 2, "#b_results > li.b_pag a": 5, "a.mc_vtvc_link": 3, "input#sb_form_q[name=q]": 1},
        ),
        (
            "brave",
            {"#search-ad[data-type=ad]": 1, "#faq a .title": 4, "#llm-snippet": 1, "#infobox a": 1, "#pagination a": 1},
        ),
        (
            "brave",
            {'.snippet[data-type="cluster"] a': 3, "a.deep-link": 2, "#search-elsewhere a": 2, "textarea[name=q]": 1},
        ),
        ("duckduckgo", {"#links > .result--ad a.result__a": 2, ".nav-link form[method=post]": 1, "input[name=q]": 2}),
    ],
)
async def test_what_else_is_there(page: Page, engine: str, furniture: dict[str, int]) -> None:
    await page.go(address(engine))
    assert {css: await count(page, css) for css in furniture} == furniture


async def test_brave_counts_its_blocks_and_leaves_gaps(page: Page) -> None:
    blocks = "[...document.querySelectorAll('[data-type=web]')].map((e) => Number(e.dataset.pos))"
    await page.go(address("brave"))
    with_box = await page.value(blocks)
    await page.go(address("brave", summary=0))
    without = await page.value(blocks)
    assert (with_box[0], without[0]) == (0, 1)
    assert without != list(range(1, 21))


@pytest.mark.parametrize("engine", ["bing", "duckduckgo"])
async def test_wrapped_links_lead_to_their_targets(lab: cn.Lab, page: Page, engine: str) -> None:
    lab.play("url-wrapped")
    await page.go(address(engine))
    css = {"bing": "#b_results > li.b_algo h2 > a", "duckduckgo": "a.result__a[href*=rut]"}[engine]
    links = await hrefs(page, css)
    assert all("/ck/a?" in link or "/l/?uddg=" in link for link in links)
    with pytest.raises(NavigationFailed, match="ERR_NAME_NOT_RESOLVED"):  # the target is under .example
        await page.tab.navigate(links[1])


def test_what_bing_wraps_it_unwraps() -> None:
    for url in ("https://a.example/?x=ÿ>>>", "http://b.example/", "https://c.example/" + "d" * 7):
        assert unwrapped(wrapped(url).partition("&u=")[2].partition("&")[0]) == url
    for nothing in ("/videos/search?q=cats", "javascript:void(0)"):
        assert unwrapped(wrapped(nothing).partition("&u=")[2].partition("&")[0]) == ""
    assert unwrapped("a1%%%") == unwrapped("") == ""


async def test_the_further_pages_of_each(page: Page) -> None:
    await page.go(address("bing", first=11))
    assert await hrefs(page, "#b_results > li.b_algo h2 > a, #b_results > li.b_algo a > h2") == [
        r.url for r in Bing().results(QUERY, start=10)
    ]
    await page.go(address("bing", first=51))
    assert (await hrefs(page, "#b_results > li.b_algo h2 > a"))[0] == Bing().results(QUERY)[0].url, (
        "the first page again"
    )
    await page.go(address("brave", offset=1))
    assert await hrefs(page, "[data-type=web] a > .title") == [r.url for r in Brave().results(QUERY, offset=1)]
    await page.go(address("duckduckgo", s=10))
    assert await hrefs(page, ".web-result a.result__a") == [r.url for r in DuckDuckGo().results(QUERY)], (
        "no page by address"
    )
    await page.value("document.querySelector('.nav-link form').submit()")
    await page.until(
        f"document.querySelector('a.result__a[href={quote_css(DuckDuckGo().results(QUERY, start=10)[0].url)}]') != null"
    )


def quote_css(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.mark.parametrize(
    ("engine", "form", "status"),
    [("bing", ".captcha form", 200), ("brave", "#pow-captcha-top form", 429), ("duckduckgo", "#challenge-form", 202)],
)
async def test_a_challenge_until_it_is_cleared(lab: cn.Lab, page: Page, engine: str, form: str, status: int) -> None:
    lab.play("challenge")
    await page.go(address(engine))
    facts: dict[str, Any] = await page.facts()
    assert (facts["url"], facts["status"]) == (address(engine), status)
    assert await count(page, "#b_results, #results, #links") == 0
    await page.value(f"document.querySelector({form!r}).submit()")
    await page.until("document.querySelector('#b_results, #results, #links') != null")
    assert await page.value("location.href") == address(engine)


async def test_words_are_escaped_wherever_they_are_echoed(lab: cn.Lab, page: Page) -> None:
    words = "</title></textarea><script>window.bad = 1</script>\"'&"
    for scenario in ("marked", "no-results", "challenge", "challenge-overlay", "redirect-script"):
        lab.play(scenario)
        for engine, where in ADDRESS.items():
            await page.go(f"{where}?q={quote(words)}&setlang={quote(words)}&kl={quote(words)}&df={quote(words)}")
            assert await page.value("window.bad ?? null") is None, (scenario, engine)


async def test_a_page_without_marks_has_no_scripts_and_one_with_them_reports(lab: cn.Lab, page: Page) -> None:
    for engine in ADDRESS:
        lab.play("instant")
        await page.go(address(engine))
        assert await count(page, "script") == 0, engine
        lab.play("two-parts")
        await page.go(address(engine))
        told = [part for part, _ in lab.web.parts(lab.web.searches(QUERY)[-1])]
        answer = [] if engine == "duckduckgo" else ["answer"]
        assert told == ["head", *answer, "row", "results", "results", "end"], engine


async def test_the_field_notes_times(lab: cn.Lab, page: Page) -> None:
    lab.play("2026-08-04")
    ready = {}
    for engine in ADDRESS:
        await page.go(address(engine))
        ready[engine] = dict(lab.web.parts(lab.web.searches(QUERY)[-1]))["results"]
    assert ready["brave"] < ready["bing"]
    assert ready["bing"] >= 500
