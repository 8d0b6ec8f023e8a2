"""Brave.

Its pages are made by Svelte, whose ``svelte-…`` classes are generated; ``data-type`` and the ids are not. Links lead
out directly.
"""

from __future__ import annotations

from urllib.parse import urlencode

from .base import EVERY_PAGE, ONCE, AnswerForm, Engine, Hook, Private, Query, Refusal

OWN = r"search\.brave\.com"

PAGES = "saved pages, many hands"

PAGE_SIZE = 20

RANGES = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


def address(query: Query) -> str:
    """The URL.

    ``offset`` counts pages, not rows. ``summary=0`` keeps Brave from writing an answer that nobody reads; the page's
    own script names ``summary`` among the parameters it looks at (2026-06). The language of the page is a cookie
    (``ui_lang``), and a guest sets none: ``hl`` is left to what the Chrome at hand prefers.
    """
    params = {"q": query.text, "source": "web"}
    if query.start:
        params["offset"] = str(query.start // PAGE_SIZE)
    if query.recency:
        params["tf"] = RANGES[query.recency]
    if query.gl:
        params["country"] = query.gl
    if not query.ai_answer:
        params["summary"] = "0"
    return f"https://{HOST}/search?" + urlencode(params)


HOST = "search.brave.com"

HOOKS = (
    # data-pos counts every block, from 0 on some pages and from 1 on others: the order on the page is what counts.
    Hook("row", '.snippet[data-type="web"]', "attribute", "high", PAGES, ("2023-08", "2026-09"), expected=EVERY_PAGE),
    Hook("area", "#results", "id", "high", PAGES, ("2023-08", "2026-06"), expected=ONCE),
    Hook("area", "#mixed-main", "id", "medium", "public parsers, pages of 2026-09", ("2026-09", "2026-09")),
    Hook("heading", "a[href] .title", "class", "high", PAGES, ("2024-01", "2026-09"), expected=EVERY_PAGE),
    Hook("heading", "a[href] .snippet-title", "class", "medium", "saved page", ("2023-08", "2023-08")),
    Hook("snippet", ".generic-snippet .content", "class", "high", PAGES, ("2025-01", "2026-06"), expected=EVERY_PAGE),
    Hook("snippet", ".snippet-description", "class", "high", "saved page; searxng", ("2023-08", "2024-12")),
    Hook("snippet", ".inline-qa-answer", "class", "low", "public parsers", ("2025-01", "2026-06")),
    Hook("cite", "cite", "structure", "high", PAGES, ("2023-08", "2026-06"), expected=EVERY_PAGE),
    # The answer stands in #results or inside the entity's box (2026-06).
    Hook("answer", "#llm-snippet", "id", "high", "field notes 2026-08-04", ("2026-06", "2026-09")),
    Hook("answer", "#chatllm-main-answer-content", "id", "high", "field notes 2026-08-04", ("2026-06", "2026-08")),
    Hook("furniture", "#search-ad", "id", "high", "public parsers", ("2025-01", "2026-09")),
    # Ads, news and other types; videos, "People also ask", forums, places, the entity's box, other engines, related
    # searches, paging.
    Hook("furniture", '.snippet[data-type]:not([data-type="web"])', "attribute", "high", PAGES, ("2024-11", "2026-09")),
    Hook("furniture", ".snippet.standalone:not([data-type])", "class", "high", "saved pages", ("2026-04", "2026-06")),
    Hook("furniture", "#faq, #discussions, #locations", "id", "high", "public parsers", ("2025-01", "2026-09")),
    Hook("furniture", "#infobox, #mixed-side, #side-right", "id", "high", PAGES, ("2023-08", "2026-09")),
    Hook("furniture", "#search-elsewhere, #related-queries", "id", "high", PAGES, ("2023-08", "2026-06")),
    Hook("furniture", "#pagination, #pagination-snippet", "id", "high", PAGES, ("2023-08", "2026-06")),
    # "Not many great matches came back": over poor results too, so it says something only where there are none.
    Hook("nothing", "#bad-results-content", "id", "medium", "a script of 2024, one client", ("2024-01", "2024-12")),
    Hook("nothing", "#bad-results-info-banner", "id", "medium", "a parser of 2025, one client", ("2025-01", "2025-12")),
)

ANSWER_HOOKS = (
    Hook(
        "answer_wrapper", "#llm-snippet", "id", "high", "field notes 2026-08-04", ("2025-01", "2026-09"), expected=ONCE
    ),
    Hook("answer_wrapper", "#chatllm-conversation", "id", "medium", "public clients", ("2024-01", "2026-09")),
    Hook("answer_wrapper", "#llm-side-snippet", "id", "low", "one public client", ("2025-01", "2025-12")),
    Hook(
        "answer_wrapper",
        "#chatllm-main-answer-content",
        "id",
        "high",
        "field notes 2026-08-04",
        ("2025-01", "2026-08"),
        expected=ONCE,
    ),
    Hook("answer_header", "#chatllm-title", "id", "medium", "public clients", ("2024-01", "2025-12")),
    Hook(
        "answer_body",
        "#chatllm-main-answer-content",
        "id",
        "high",
        "field notes 2026-08-04",
        ("2025-01", "2026-08"),
        expected=ONCE,
    ),
    Hook("answer_body", ".chatllm-content", "class", "high", "saved page", ("2025-01", "2026-06"), expected=EVERY_PAGE),
    Hook(
        "answer_body", ".llm-output", "class", "medium", "public clients", ("2024-01", "2026-06"), expected=EVERY_PAGE
    ),
    Hook(
        "answer_skip",
        ".chatllm-disclaimer, #chatllm-actions, #chatllm-images, .followups-wrapper, #chatllm-title",
        "class",
        "high",
        "saved page; public clients",
        ("2025-01", "2026-09"),
    ),
    Hook("answer_keep", ".qa-inline-entity", "class", "high", "saved page", ("2026-06", "2026-09")),
    Hook(
        "answer_chip",
        ".inline-citation, .inline-refs",
        "class",
        "high",
        "saved page; public clients",
        ("2024-01", "2026-09"),
        expected=EVERY_PAGE,
    ),
    Hook(
        "answer_titles",
        "#chatllm-actions .sources [title]",
        "class",
        "high",
        "saved page",
        ("2026-06", "2026-06"),
        expected=EVERY_PAGE,
    ),
    Hook(
        "answer_titles",
        ".logo-row[title]",
        "class",
        "medium",
        "saved page",
        ("2026-06", "2026-06"),
        expected=EVERY_PAGE,
    ),
    Hook(
        "answer_marker",
        ".llm-output-complete",
        "class",
        "high",
        "saved page",
        ("2026-06", "2026-06"),
        "complete",
        expected=EVERY_PAGE,
    ),
    Hook(
        "answer_marker",
        "#chatllm-actions",
        "id",
        "medium",
        "saved page",
        ("2026-06", "2026-08"),
        "actions",
        expected=ONCE,
    ),
    Hook(
        "answer_marker",
        ".chatllm-disclaimer",
        "class",
        "medium",
        "field notes 2026-08-04",
        ("2026-06", "2026-08"),
        "disclaimer",
        expected=EVERY_PAGE,
    ),
    Hook(
        "answer_marker",
        '.followups-wrapper, a[href^="/ask"]',
        "class",
        "medium",
        "field notes 2026-08-04",
        ("2026-06", "2026-08"),
        "follow-up",
    ),
    Hook(
        "answer_offered",
        "#submit-llm-button:not(.ask-button)",
        "id",
        "medium",
        "5 public clients",
        ("2024-01", "2026-04"),
    ),
    Hook(
        "answer_offered",
        '#results button[formaction^="/ask"]',
        "attribute",
        "low",
        "one public client",
        ("2025-01", "2025-12"),
    ),
    Hook("answer_side", "#mixed-side, #side-right, #llm-side-snippet", "id", "high", PAGES, ("2023-08", "2026-09")),
)

NEVER = (
    # Ads (brave/brave-core, whose browser counts their clicks).
    rf"^{OWN}/a/redirect$",
    rf"^{OWN}/(?:search|ask|images|videos|news)$",
)

REFUSALS = (
    Refusal(
        "captcha",
        address=rf"^{OWN}/captcha",
        evidence="the page names itself so, public parsers 2026-09",
        held=("2026-09", "2026-09"),
    ),
    # Proof of work behind a button, served in place of the page, usually with status 429.
    Refusal(
        "captcha",
        css=("#pow-captcha-content", "#pow-captcha-top"),
        evidence="7 public clients, 2024 to 2026",
        held=("2024-01", "2026-10"),
    ),
)

SPECIMEN = """<div id="llm-snippet" class="snippet"><div class="chatllm-content llm-output"><p>Some <b>words</b>.<button
class="inline-citation"></button></p><ul><li>More.</li></ul></div><div id="chatllm-actions"><div class="sources"><button
class="logo-row" title="Three"></button></div></div></div>
<div id="results">
<div class="snippet" data-type="web">
<a href="https://a.example/"><cite>a.example › b</cite><div class="title">One</div></a>
<div class="generic-snippet"><div class="content"><span>1 Feb 2026</span> - About it.</div></div></div>
<div class="snippet" data-type="web">
<a href="https://b.example/"><cite>b.example</cite><div class="title">Two</div></a>
<div class="generic-snippet"><div class="content">More.</div></div></div>
</div>"""

# Nobody is signed in on its results pages; seen on saved pages of 2023 and 2026.
PRIVATE = Private(
    location=("footer", "#settings", "#ask-for-location"),
    asked=("q", "source", "offset", "spellcheck", "tf", "country", "lang"),
)

BRAVE = Engine(
    name="brave",
    label="Brave",
    hosts=(HOST,),
    own=rf"^{OWN}$",
    page_size=PAGE_SIZE,
    address=address,
    hooks=HOOKS + ANSWER_HOOKS,
    never=NEVER,
    refusals=REFUSALS,
    # Brave's own browser asks below it too, and public clients do.
    answer=AnswerForm("Brave AI summary", requests=(rf"^{OWN}/api/chatllm/",)),
    specimen=SPECIMEN,
    private=PRIVATE,
)
