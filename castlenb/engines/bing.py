"""Bing.

Its class names (``b_algo``, ``b_caption``) and ids have been the same for a decade and say what they hold. Its links
lead through ``/ck/a``, which names the target; its promises about parameters do not always hold.
"""

from __future__ import annotations

import time
from urllib.parse import urlencode

from .base import EVERY_PAGE, ONCE, AnswerForm, Engine, Hook, LinkForm, Private, Query, Refusal

# www.bing.com, cn.bing.com; www2. and www4. answer too (ublacklist/builtin, 2026-08).
OWN = r"(?:www\d?\.|cn\.)?bing\.com"

PAGES = "saved pages, many hands"

DAY_S = 86_400


def address(query: Query) -> str:
    """The URL, with as little in it as will do: Bing answers some parameters with pages about something else.

    ``mkt`` brought unrelated results in 2026, ``setlang`` and ``cc`` the right ones (searxng/searxng#6671,
    serpapi/public-roadmap#3860 and #4259). ``first`` counts from 1 and stays away from the first page; ``FORM`` goes
    with it (searxng/searxng#2822). A session that Bing distrusts gets the first page in place of any other
    (searxng/searxng#4546), which shows as rows already seen.
    """
    params = {"q": query.text, "setlang": query.hl}
    if query.gl:
        params["cc"] = query.gl
    if query.recency:
        params["filters"] = f'ex1:"{_range(query.recency)}"'
    if query.start:
        page = query.start // PAGE_SIZE
        params["first"] = str(query.start + 1)
        params["FORM"] = "PERE" + (str(page - 1) if page > 1 else "")
    return "https://www.bing.com/search?" + urlencode(params)


PAGE_SIZE = 10


def _range(recency: str) -> str:
    """A time range as Bing's own menu writes it; a year is from day to day, counted from 1970."""
    if recency == "year":
        today = int(time.time() // DAY_S)
        return f"ez5_{today - 365}_{today}"
    return {"day": "ez1", "week": "ez2", "month": "ez3"}[recency]


HOOKS = (
    # Not inside another item: cards of other modules and links under a title reuse the class (karust/openserp).
    Hook("row", "li.b_algo:not(li li)", "class", "high", PAGES, ("2021-01", "2026-10"), expected=EVERY_PAGE),
    Hook("area", "#b_results", "id", "high", PAGES, ("2021-01", "2026-10"), expected=ONCE),
    # The link wraps the heading or the heading the link. Labels such as "PDF" stand in the heading beside its link.
    Hook("heading", "h2 a[href]", "structure", "high", PAGES, ("2021-01", "2026-10"), expected=EVERY_PAGE),
    Hook("heading", "a[href] > h2", "structure", "high", "saved page", ("2025-05", "2025-05")),
    Hook("snippet", ".b_caption p", "class", "high", PAGES, ("2021-01", "2026-10"), expected=EVERY_PAGE),
    Hook("snippet", 'p[class*="b_lineclamp"], p.b_algoSlug', "class", "high", PAGES, ("2023-08", "2026-08")),
    Hook("date", ".news_dt", "class", "high", PAGES, ("2021-01", "2026-08")),
    Hook("cite", "cite", "structure", "high", PAGES, ("2021-01", "2026-07"), expected=EVERY_PAGE),
    # Answers: nothing in them is a row, not even the organic result that some layouts carry into them (2026-08).
    Hook("answer", "#copans_container", "id", "high", "saved pages", ("2025-05", "2026-06")),
    Hook("answer", ".gs_caphead_main", "class", "medium", "field notes 2026-08-04", ("2026-08", "2026-08")),
    Hook("answer", ".developer_answercard_wrapper", "class", "medium", "saved page", ("2026-04", "2026-04")),
    Hook("answer", "#b_sydConvCont", "id", "low", "saved page", ("2023-08", "2023-08")),
    # Ads. They stand in the list as well, and sometimes inside an ordinary row's mark-up (EasyList, 2026-09).
    Hook("furniture", ".b_ad", "class", "high", PAGES, ("2021-01", "2026-08")),
    Hook("furniture", "li.b_algo:has(.b_ads1line, .b_adSlug)", "class", "medium", "EasyList", ("2026-09", "2026-09")),
    # "Web", in front of a snippet.
    Hook("furniture", ".algoSlug_icon", "class", "medium", "saved page; searxng", ("2023-08", "2026-08")),
    # People also ask, videos, news, places, related searches; the side column; paging and legal notes.
    Hook("furniture", "li.b_ans, #b_pole, #b_topw", "class", "high", PAGES, ("2021-01", "2026-08")),
    Hook("furniture", "#b_context, #b_dynRail", "id", "high", PAGES, ("2021-01", "2026-08")),
    Hook("furniture", "li.b_pag, li.b_msg", "class", "high", PAGES, ("2021-01", "2026-08")),
    # In place of a snippet: the names of its tabs, and the tabs that are not shown.
    Hook("furniture", ".tab-head, .tab-hide", "class", "low", "saved pages", ("2021-01", "2025-05")),
    # "There are no results for": an item of the list itself.
    Hook("nothing", "#b_results > .b_no", "class", "high", "saved page; many parsers", ("2021-01", "2026-10")),
)

ANSWER_HOOKS = (
    # Branded "Copilot" or not: generated only where it says so (Stevoisiak/Stevos-AI-Blocklist#75).
    Hook(
        "answer_wrapper",
        "#copans_container:has(.with_ai, .gs_aidisc, .gs_ai_disclaimer, .gs_caphead_main)",
        "class",
        "high",
        "saved pages",
        ("2025-05", "2026-09"),
    ),
    Hook(
        "answer_wrapper",
        "#b_results > li.b_ans:has(.gs_caphead_main)",
        "class",
        "high",
        "field notes 2026-08-04",
        ("2026-08", "2026-08"),
        expected=ONCE,
        when=".gs_caphead_main",
    ),
    Hook(
        "answer_wrapper",
        "#b_results > li.b_qnacdxcont",
        "class",
        "high",
        "field notes 2026-08-04",
        ("2026-08", "2026-08"),
        expected=ONCE,
        when=".gs_caphead_main",
    ),
    Hook(
        "answer_wrapper",
        '#b_results .developer_answercard_wrapper:has([class*="rd_gencon"])',
        "class",
        "high",
        "saved page",
        ("2026-04", "2026-04"),
    ),
    Hook(
        "answer_wrapper",
        "#b_genserp_container:has(.gs_main, .gs_caphead_main)",
        "id",
        "medium",
        "5 public clients",
        ("2024-05", "2026-09"),
    ),
    Hook("answer_wrapper", "#b_sydConvCont:has(.b_sydAns)", "id", "low", "karust/openserp", ("2023-08", "2026-04")),
    Hook(
        "answer_wrapper",
        "#b_context .b_ans:has(.gs_caphead_main)",
        "class",
        "low",
        "one public client",
        ("2026-01", "2026-01"),
    ),
    Hook(
        "answer_body",
        ".gs_caphead_main, .gs_temp_content, .gs_text",
        "class",
        "high",
        "field notes 2026-08-04; 3 public clients",
        ("2025-06", "2026-08"),
        expected=EVERY_PAGE,
        when=".gs_cit",
    ),
    Hook("answer_body", ".b_cnt_resp", "class", "high", "saved page", ("2026-04", "2026-04")),
    Hook("answer_body", ".devmag_card_content", "class", "high", "saved page", ("2026-04", "2026-04")),
    Hook(
        "answer_body",
        ".b_sydAns, [data-testid=bing-chat-answer]",
        "class",
        "low",
        "karust/openserp",
        ("2023-08", "2026-04"),
    ),
    Hook("answer_body", ".gs_main, .answer_container", "class", "low", "public clients", ("2025-05", "2026-09")),
    # Sources and what refers to them.
    Hook(
        "answer_skip",
        '[class^="gs_cit"]:not(.gs_cit_txt), [class*=" gs_cit"]:not(.gs_cit_txt), .cit_exp_cont, .bsp_cit_cont',
        "class",
        "high",
        "field notes; public clients",
        ("2026-08", "2026-09"),
    ),
    Hook(
        "answer_skip",
        ".b_crt_regular_link, .rd_cnt_srcs, .rd_cnt_nav, .rd_attr_items, .rd_single_ttip",
        "class",
        "high",
        "saved page",
        ("2026-04", "2026-04"),
    ),
    Hook(
        "answer_skip",
        ".ca_top_sec, .gs_secctrl, .gs_aidisc, .gs_infobbl, .gs_ai_disclaimer, .rd_summary_info",
        "class",
        "high",
        "saved page; public clients",
        ("2025-05", "2026-09"),
    ),
    Hook(
        "answer_skip",
        ".gs_readMoreFullBtn, .b_acf_answer_expansion_control, .b_module_expansion_control, .acf_fdbk_ph",
        "class",
        "medium",
        "public clients",
        ("2026-09", "2026-09"),
    ),
    Hook(
        "answer_skip",
        "acf-button-standard, acf-thumbs-up-down-feedback, acf-dropdown, acf-badge, acf-skeleton, acf-icon",
        "structure",
        "high",
        "saved page",
        ("2026-04", "2026-09"),
    ),
    Hook(
        "answer_skip",
        ".b_crtrm_code_header, .b_crtrm_skeleton, .b_hide",
        "class",
        "high",
        "saved page",
        ("2026-04", "2026-04"),
    ),
    Hook("answer_chip", ".b_crt_citation_wrapper", "class", "high", "saved page", ("2026-04", "2026-04")),
    Hook("answer_chip", "sup.rd_gencon_ai, .rd_gencon_attr", "class", "high", "saved page", ("2026-04", "2026-04")),
    Hook(
        "answer_chip",
        '.gs_sup_cit, .gs_sm_cit, .gs_mdlink, .md_citlink, [class*="genserp_citation"]',
        "class",
        "medium",
        "public clients",
        ("2026-09", "2026-09"),
    ),
    Hook(
        "answer_card",
        ".gs_cit",
        "class",
        "high",
        "field notes 2026-08-04",
        ("2025-06", "2026-09"),
        expected=EVERY_PAGE,
        when=".gs_caphead_main",
    ),
    Hook(
        "answer_card",
        ".b_crt_regular_link, .rd_gencon_ttip > a, .rd_attr_items > a",
        "class",
        "high",
        "saved page",
        ("2026-04", "2026-04"),
    ),
    Hook(
        "answer_title",
        ".gs_cit_title_text, .gs_cit_title, .rd_gencon_ttat",
        "class",
        "medium",
        "public clients",
        ("2026-04", "2026-09"),
        expected=EVERY_PAGE,
        when=".gs_cit",
    ),
    Hook("answer_snippet", ".gs_cit_snippet", "class", "medium", "public clients", ("2026-09", "2026-09")),
    Hook("answer_site", ".gs_cit_src", "class", "medium", "public clients", ("2026-09", "2026-09")),
    Hook(
        "answer_marker",
        ".gs_cit, .gs_cit_cont",
        "class",
        "medium",
        "field notes 2026-08-04",
        ("2026-08", "2026-09"),
        "sources",
        expected=EVERY_PAGE,
        when=".gs_caphead_main",
    ),
    Hook(
        "answer_marker",
        ".b_crt_regular_link, .rd_attr_items",
        "class",
        "medium",
        "saved page",
        ("2026-04", "2026-04"),
        "links",
    ),
    Hook(
        "answer_marker",
        "acf-thumbs-up-down-feedback, .gs_tblike",
        "class",
        "low",
        "saved page",
        ("2025-05", "2026-04"),
        "feedback",
    ),
    Hook("answer_loading", "[role=progressbar]", "aria", "medium", "general", ("2026-04", "2026-04")),
    Hook("answer_side", "#b_context", "id", "high", PAGES, ("2021-01", "2026-08")),
)

LINKS = (
    # "a1" and URL-safe base64 without padding (tasos-py/Search-Engines-Scraper#80, Cimbali/CleanLinks#148).
    LinkForm("redirect", "/ck/a", ("u",), decode="base64url", prefix="a1"),
    # On maps and partner pages (uBlockOrigin/uBlock-issues#3206).
    LinkForm("redirect", "/alink/link", ("url",)),
)

NEVER = (
    # More results, to which its modules lead, in the open and through /ck/a. Its maps and its front page are pages like
    # any other.
    rf"^{OWN}/(?:search|(?:images|videos|news|shop)/search|videos/riverview/.*)$",
    # Ads; their target stands in `u` without the two letters before it.
    rf"^{OWN}/(?:aclk|aclick)$",
)

REFUSALS = (
    Refusal(
        "captcha",
        address=rf"^{OWN}/turing/captcha/",
        evidence="sites that link to it, 2023 to 2026",
        held=("2023-01", "2026-10"),
    ),
    # A Turnstile widget in a box; the title stays "<query> - Search", and there is no list.
    Refusal(
        "captcha",
        css=("div.captcha", "#turnstile-widget"),
        evidence="karust/openserp; seen 2026-03 to 2026-06",
        held=("2026-03", "2026-06"),
    ),
)

SPECIMEN = """<ol id="b_results"><li class="b_ans b_qnacdxcont"><div class="gs_caphead_main"><p>Some <b>words</b>.</p>
<ul><li>More.</li></ul></div><div class="gs_cit_cont"><div class="gs_cit"><a href="https://c.example/"><div
class="gs_cit_title">Three</div></a><div class="gs_cit_snippet">About it.</div></div></div></li>
<li class="b_algo"><h2><a href="https://a.example/">One</a></h2><cite>https://a.example › b</cite>
<div class="b_caption"><p><span>1 Feb 2026</span> · About it.</p></div></li>
<li class="b_algo"><h2><a href="https://www.bing.com/ck/a?u=a1aHR0cHM6Ly9iLmV4YW1wbGUv">Two</a></h2>
<div class="b_caption"><p>More.</p></div></li>
</ol>"""

# Seen on saved pages of 2022 to 2026: who is signed in, and where the page believes them to be.
PRIVATE = Private(
    account=("#id_h", "#id_d", "#id_n", "#id_l", "#b_idProviders"),
    location=("#b_footer", ".locTw", "#g_EfLoc", "#PromptDetails", "[data-lat][data-lon][data-disp]"),
    asked=("q", "setlang", "cc", "mkt", "filters", "first", "count", "FORM", "form"),
)

BING = Engine(
    name="bing",
    label="Bing",
    hosts=("www.bing.com", "cn.bing.com"),
    own=rf"^{OWN}$",
    page_size=PAGE_SIZE,
    address=address,
    hooks=HOOKS + ANSWER_HOOKS,
    links=LINKS,
    never=NEVER,
    refusals=REFUSALS,
    # The first is what a public client reads the answer from; of the second it is only said that it brings one.
    answer=AnswerForm(
        "Bing generative answer",
        requests=(rf"^{OWN}/cmc/fetch", rf"^{OWN}/qna/"),
        addresses=("href", "data-url"),
    ),
    specimen=SPECIMEN,
    private=PRIVATE,
)
