"""Google.

Nothing here holds on to a generated class name: on Google those change between two loads minutes apart (field notes,
2026-08-04). Ids, ``data-`` attributes and structure last for years.
"""

from __future__ import annotations

from urllib.parse import urlencode

from .base import EVERY_PAGE, ONCE, AnswerForm, Engine, Hook, LinkForm, Private, Query, Refusal

# www.google.com, www.google.de, www.google.co.uk, www.google.com.br; /sorry/ also comes from ipv4. and ipv6.
OWN = r"(?:www\.|ipv[46]\.)?google\.(?:com|cat|[a-z]{2}|com?\.[a-z]{2})"

PAGES = "saved pages of many hands"


def address(query: Query) -> str:
    """The URL, with the traps of 2026 in mind.

    ``udm=14`` is the "Web" tab: ranked links, no AI answer. With a time range it renders an empty page, and so does
    ``tbs=qdr:``, the parameter of Google's own menu (field notes, 2026-08-04; serpapi/public-roadmap#3509 and #4258):
    the older ``as_qdr`` filters, on the page without ``udm``. ``num`` is no longer honoured (since 2025-09).
    """
    params = {"q": query.text, "hl": query.hl}
    if query.gl:
        params["gl"] = query.gl
    if query.recency:
        params["as_qdr"] = query.recency[0]
    elif not query.ai_answer:
        params["udm"] = "14"
    if query.start:
        params["start"] = str(query.start)
    return "https://www.google.com/search?" + urlencode(params)


HOOKS = (
    # Results can stand beside #rso: a featured snippet above it (2023), further pages of a scroll in #botstuff (2024).
    Hook("scope", "#rcnt", "id", "high", PAGES, ("2019-12", "2026-07"), expected=ONCE, when="#search"),
    Hook("scope", "#center_col", "id", "high", PAGES, ("2019-12", "2026-07"), expected=ONCE, when="#rcnt"),
    Hook("scope", "#search", "id", "high", PAGES, ("2019-12", "2026-09"), expected=ONCE, when="#rcnt"),
    Hook("scope", "#rso", "id", "high", PAGES, ("2019-12", "2026-09"), expected=ONCE, when="#search"),
    Hook("scope", "#main", "id", "medium", "saved pages, layout without scripts", ("2019-12", "2026-07")),
    Hook("area", "#rso", "id", "high", PAGES, ("2019-12", "2026-09"), expected=ONCE, when="#search"),
    Hook("area", "#search", "id", "high", PAGES, ("2019-12", "2026-09"), expected=ONCE, when="#rcnt"),
    Hook("heading", "h3", "structure", "high", PAGES, ("2019-12", "2026-09"), expected=EVERY_PAGE),
    # Phones get no <h3>: the title is a heading by role, inside the header box that wide layouts have too.
    Hook("heading", "[data-snhf] [role=heading]", "attribute", "high", "saved pages, phones", ("2023-05", "2023-06")),
    # Phones of old, and the news tab; then the layout for text browsers, which marks nothing at all.
    Hook(
        "last_resort",
        '#main a[href] [role=heading][aria-level="3"]:not([role=listitem] *, g-section-with-header *)',
        "aria",
        "low",
        "saved pages, phones",
        ("2020-06", "2022-06"),
    ),
    Hook(
        "last_resort",
        'a[href^="/url?"] > span:first-child',
        "structure",
        "low",
        "saved page, text browsers; many parsers",
        ("2022-01", "2025-11"),
    ),
    # In all of 110 saved pages every web row shows an address or has a header box, and no module's heading does.
    Hook("mark", "cite", "structure", "high", PAGES, ("2019-12", "2026-09"), expected=EVERY_PAGE),
    Hook("mark", "[data-snhf]", "attribute", "high", PAGES, ("2023-05", "2026-09"), expected=EVERY_PAGE, when="#rso"),
    Hook(
        "snippet",
        '[data-sncf="1"]',
        "attribute",
        "high",
        PAGES,
        ("2023-05", "2026-09"),
        expected=EVERY_PAGE,
        when="[data-snhf]",
    ),
    Hook("cite", "cite", "structure", "high", PAGES, ("2019-12", "2026-09"), expected=EVERY_PAGE),
    # The answer, at the top or in the middle of #rso. #eKIzJc wraps the rest and is there before it.
    Hook("answer", "#eKIzJc", "id", "high", PAGES, ("2025-02", "2026-07")),
    Hook("answer", "#m-x-content", "id", "medium", "field notes, 2026-08-04", ("2025-03", "2026-08")),
    Hook("answer", '[data-subtree*="mfc"]', "attribute", "medium", PAGES, ("2025-02", "2026-07")),
    Hook("answer", '[data-async-type="folsrch"]', "attribute", "medium", PAGES, ("2025-02", "2026-07")),
    Hook("answer", '[jsname="V3qe9d"]', "attribute", "medium", PAGES, ("2025-03", "2026-09")),
    # Ads.
    Hook("furniture", "#tads, #tadsb, #bottomads, #tvcap", "id", "high", PAGES, ("2019-12", "2026-07")),
    Hook("furniture", "[data-text-ad], a[data-pcu]", "attribute", "high", PAGES, ("2023-05", "2026-07")),
    # People also ask. Its answers hold headed links with an address, folded (serpapi/public-roadmap#2534) and, since
    # 2026-10, the first of them open (WebSearcher 0.12.1): being hidden does not tell them.
    Hook("furniture", ".related-question-pair", "class", "high", PAGES, ("2019-12", "2026-07")),
    Hook("furniture", "[data-initq], [data-q]", "attribute", "high", PAGES, ("2023-05", "2026-07")),
    # Facts of the knowledge graph; "Things to know", whose folds hold whole results.
    Hook("furniture", '[data-attrid^="kc:/"]', "attribute", "medium", PAGES, ("2023-05", "2026-07")),
    Hook("furniture", '[data-attrid^="lab/"]', "attribute", "medium", PAGES, ("2023-05", "2026-02")),
    # On some pages the side column lies inside #rso (2024-03).
    Hook("furniture", "#rhs, [role=complementary]", "aria", "high", PAGES, ("2019-12", "2026-07")),
    # Sitelinks that have headings; carousels; what lies over the page.
    Hook("furniture", "table:has(h3)", "structure", "medium", PAGES, ("2019-12", "2026-07")),
    Hook("furniture", "g-scrolling-carousel, g-inner-card", "structure", "medium", PAGES, ("2023-05", "2026-02")),
    Hook("furniture", "[role=dialog]", "aria", "medium", PAGES, ("2023-05", "2026-07")),
    # "did not match any documents": known by there being something, whatever it says and in which language. On pages
    # with results both are empty but for what stands aside (seen on all saved pages since 2025).
    Hook("nothing", "#botstuff", "id", "high", PAGES, ("2026-04", "2026-07")),
    Hook("nothing", "#topstuff", "id", "high", PAGES, ("2021-11", "2023-05")),
    Hook(
        "nothing",
        "#main:not(:has(#cnt)) > div:not(:first-child)",
        "structure",
        "low",
        "saved pages, layout without scripts",
        ("2021-11", "2023-06"),
    ),
    Hook("aside", "#bres, [role=navigation]", "aria", "high", PAGES, ("2019-12", "2026-07")),
    Hook("aside", "#bottomads, #tadsb", "id", "medium", PAGES, ("2019-12", "2026-07")),
)

ANSWER_HOOKS = (
    Hook("answer_wrapper", "#eKIzJc", "id", "high", PAGES, ("2025-02", "2026-07"), expected=ONCE),
    Hook(
        "answer_wrapper",
        "#m-x-content",
        "id",
        "medium",
        "field notes, 2026-08-04",
        ("2025-03", "2026-08"),
        expected=ONCE,
    ),
    Hook(
        "answer_wrapper", "#B2Jtyd", "id", "medium", "saved pages, fetched after the document", ("2025-02", "2026-07")
    ),
    Hook(
        "answer_wrapper",
        '[data-subtree*="mfc"]',
        "attribute",
        "medium",
        PAGES,
        ("2025-02", "2026-07"),
        expected=EVERY_PAGE,
    ),
    Hook("answer_wrapper", '[data-async-type="folsrch"]', "attribute", "medium", PAGES, ("2025-02", "2026-07")),
    # Innermost of them. On each of 25 pages with an answer, on no other.
    Hook(
        "answer_wrapper", '[jsname="V3qe9d"]', "attribute", "medium", PAGES, ("2025-03", "2026-09"), expected=EVERY_PAGE
    ),
    # People also ask ships answers of the same make, folded (serpapi/public-roadmap#2496, zbarnz#60).
    Hook("answer_alike", ".related-question-pair, [data-initq]", "class", "high", PAGES, ("2025-03", "2026-10")),
    Hook(
        "answer_header", '[jsname="cUzNTd"]', "attribute", "medium", PAGES, ("2025-02", "2026-07"), expected=EVERY_PAGE
    ),
    Hook("answer_header", "h1, h2", "structure", "medium", PAGES, ("2025-02", "2026-02"), "", EVERY_PAGE, "#eKIzJc"),
    Hook("answer_header", '[role=heading][aria-level="2"]', "aria", "low", PAGES, ("2025-03", "2026-09")),
    Hook(
        "answer_body",
        '[data-container-id="main-col"]',
        "attribute",
        "high",
        PAGES,
        ("2025-11", "2026-07"),
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    Hook(
        "answer_body",
        '[data-subtree*="aimc"]',
        "attribute",
        "medium",
        PAGES,
        ("2025-05", "2026-07"),
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    # Marked with its language. Of 2025, and of answers without sources of their own in 2026.
    Hook("answer_body", "[data-rl]", "attribute", "high", PAGES, ("2025-02", "2026-07"), expected=EVERY_PAGE),
    Hook("answer_body", '[jsname="dvXlsc"]', "attribute", "medium", PAGES, ("2025-02", "2026-07"), expected=EVERY_PAGE),
    Hook(
        "answer_body",
        '[jsname="HKDuG"]',
        "attribute",
        "low",
        "field notes, 2026-08-04",
        ("2025-02", "2026-08"),
        expected=EVERY_PAGE,
    ),
    # Sources: cards in the prose or beside it, and copies of them in a window; what comes after the prose.
    Hook("answer_skip", "[data-src-id]", "attribute", "high", PAGES, ("2025-11", "2026-07")),
    Hook("answer_skip", '[data-container-id="rhs-col"]', "attribute", "high", PAGES, ("2025-11", "2026-07")),
    Hook("answer_skip", '[jsname="EVe5O"]', "attribute", "medium", PAGES, ("2025-02", "2025-05")),
    Hook("answer_skip", '[data-subtree*="dfa"], [data-crb-el]', "attribute", "high", PAGES, ("2025-05", "2026-07")),
    Hook("answer_skip", '[jsname="txosbe"]', "attribute", "medium", PAGES, ("2025-02", "2026-07"), expected=EVERY_PAGE),
    # Controls under the prose, and what they report ("Copied").
    Hook("answer_skip", '[data-subtree*="aimba"]', "attribute", "medium", "3 public clients", ("2026-01", "2026-10")),
    Hook("answer_skip", '[data-xid="Gd7Hsc"]', "attribute", "medium", "6 public clients", ("2026-03", "2026-10")),
    Hook(
        "answer_skip",
        "[data-ignore-copy], [role=status]",
        "attribute",
        "medium",
        "3 public clients",
        ("2026-08", "2026-10"),
    ),
    # "AI responses may include mistakes", in any language: known by the page of help that it leads to.
    Hook(
        "answer_skip",
        ':has(> a[href*="support.google.com/websearch"])',
        "structure",
        "medium",
        PAGES,
        ("2025-02", "2026-02"),
    ),
    Hook(
        "answer_skip",
        ':has(> a[href*="support.google.com%2Fwebsearch"])',
        "structure",
        "low",
        PAGES,
        ("2025-05", "2025-05"),
    ),
    # Names of places and things that open a panel.
    Hook("answer_keep", "[role=button]:has([data-huuid])", "attribute", "high", PAGES, ("2025-05", "2025-05")),
    # Prose can bear the same id: a <mark> around the words that a mark is about. What each names is told in comments
    # beside it (2025-05 to 2026-09).
    Hook(
        "answer_chip",
        ":is(button, [role=button], a)[data-icl-uuid]",
        "attribute",
        "high",
        PAGES,
        ("2025-05", "2026-09"),
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    Hook(
        "answer_chip",
        "[data-animation-atomic]:has(> button[data-icl-uuid])",
        "attribute",
        "high",
        PAGES,
        ("2025-05", "2026-09"),
    ),
    Hook("answer_chip", "[data-uuids]", "attribute", "high", PAGES, ("2025-02", "2025-05")),
    Hook(
        "answer_card",
        "[data-src-id]",
        "attribute",
        "high",
        PAGES,
        ("2025-11", "2026-07"),
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    Hook("answer_snippet", "[data-crb-snippet-text]", "attribute", "high", "public parsers", ("2025-03", "2026-10")),
    Hook(
        "answer_marker",
        '[data-async-type="folsrch"] > [data-complete="true"]',
        "attribute",
        "high",
        PAGES,
        ("2026-02", "2026-04"),
        "stream_end",
    ),
    Hook(
        "answer_marker",
        '[data-subtree*="mfc"][data-complete="true"]',
        "attribute",
        "high",
        PAGES,
        ("2026-04", "2026-04"),
        "complete",
    ),
    # What public clients of the same component wait for.
    Hook(
        "answer_marker",
        '[data-scope-id="turn"][data-complete="true"]',
        "attribute",
        "high",
        "2 public clients",
        ("2026-04", "2026-07"),
        "turn_end",
    ),
    Hook(
        "answer_marker",
        '[data-complete="true"] > [data-scope-id="turn"]',
        "attribute",
        "medium",
        PAGES,
        ("2025-11", "2026-02"),
        "turn_box",
    ),
    Hook(
        "answer_marker",
        '[role="dialog"][data-type="hovc"]',
        "aria",
        "medium",
        "one public client",
        ("2025-05", "2026-07"),
        "source_window",
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    Hook(
        "answer_marker",
        "[data-src-id], [data-xid=aim-aside-initial-corroboration-container]",
        "attribute",
        "low",
        PAGES,
        ("2025-11", "2026-07"),
        "sources",
    ),
    # On all 22 whole answers of 2025-05 and later, on none of the 5 that were saved half-way.
    Hook(
        "answer_marker",
        '[data-subtree*="dfa"]',
        "attribute",
        "medium",
        PAGES,
        ("2025-05", "2026-07"),
        "follow_up",
        expected=EVERY_PAGE,
        when='[data-container-id="rhs-col"]',
    ),
    Hook("answer_marker", '[aria-controls="m-x-content"]', "aria", "low", PAGES, ("2025-03", "2026-07"), "expander"),
    Hook("answer_loading", "[role=progressbar]", "aria", "high", PAGES, ("2025-02", "2026-07")),
    # Google's own scripts take it away when the answer comes.
    Hook(
        "answer_loading",
        '[id$="folsrch-ghost"], [id*="folsrch-ghost-"]',
        "id",
        "medium",
        "saved pages; one public client",
        ("2025-03", "2025-05"),
    ),
    # Places that are filled from further down the document. Seen empty, and none filled behind them, on pages that were
    # saved half-way; on whole ones each empty place has a filled one behind it.
    Hook(
        "answer_loading",
        '[data-container-id="main-col"] [id^="sdh_"]:empty:not(:has(~ [id^="sdh_"]:not(:empty)))',
        "id",
        "medium",
        PAGES,
        ("2026-01", "2026-07"),
    ),
    # Both are on every page with an answer as well, hidden.
    Hook(
        "answer_declined", '[jsname="lGsj1"], [jsname="L1sC6e"]', "attribute", "medium", PAGES, ("2025-02", "2026-07")
    ),
    Hook(
        "answer_offered",
        '[jsname="B76aWe"]',
        "attribute",
        "low",
        "serp-spider/search-engine-google",
        ("2023-06", "2025-06"),
    ),
)

LINKS = (
    # Decoded once: the target's own escapes are its own (gosom/google-maps-scraper#189, Cimbali/CleanLinks#73).
    # Where both stand, `q` is the query and `url` the target.
    LinkForm("redirect", "/url", ("url", "q")),
    # Minted for each impression, not decodable offline (serpapi/public-roadmap#3600, #3914; iorate/ublacklist#1025).
    LinkForm("encrypted", "/goto", ("url",)),
)

NEVER = (
    # Exact paths: /search/howsearchworks/ is a page like any other.
    rf"^{OWN}/(?:search|url|aclk|imgres)$",
    rf"^{OWN}/(?:sorry|httpservice|async)/",
    r"^(?:www\.)?googleadservices\.com/",
)

REFUSALS = (
    Refusal(
        "sorry",
        address=rf"^{OWN}/sorry/",
        evidence="brekkylab/ailoy#380; seen 2022 to 2026-06",
        held=("2022-01", "2026-06"),
    ),
    Refusal(
        "consent",
        address=r"^consent\.(?:google|youtube)\.",
        evidence="benbusby/whoogle-search#243; seen 2026-03",
        held=("2026-03", "2026-03"),
    ),
    Refusal(
        "sorry",
        css=("form#captcha-form",),
        evidence="BlankTrail/google-serp-parser; seen 2022 to 2026-06",
        held=("2022-01", "2026-06"),
    ),
    Refusal(
        "consent",
        css=('form[action*="//consent.google."]', 'form[action*="//consent.youtube."]'),
        evidence="AWeirdDev/flights#15; seen 2026-03",
        held=("2026-03", "2026-03"),
    ),
    Refusal(
        "captcha",
        css=(".g-recaptcha[data-sitekey]", 'iframe[src*="/recaptcha/"]', 'iframe[data-inert-src*="/recaptcha/"]'),
        unless_area=True,
        evidence="seen 2026-03",
        held=("2026-03", "2026-03"),
    ),
    # In the <noscript> of every ordinary page too, hence only without a results area; its script usually reloads.
    Refusal(
        "enablejs",
        noscript="/httpservice/retry/enablejs",
        unless_area=True,
        conclusive=False,
        evidence="BlankTrail/google-serp-parser; seen 2026-02",
        held=("2026-02", "2026-02"),
    ),
)

SPECIMEN = """<div id="rcnt"><div id="eKIzJc"><h1>AI</h1><div data-subtree="mfc"><div id="m-x-content">
<div jsname="V3qe9d"><div data-subtree="aimc" data-complete="true"><div data-container-id="main-col">
<div>Some <b>words</b>.<span data-animation-atomic><button data-icl-uuid="a" aria-label="C"></button></span></div>
<ul><li>More.</li></ul></div><div data-container-id="rhs-col"><ul><li data-src-id="0">
<a href="https://c.example/#:~:text=words" aria-label="Three"></a><div>Three</div><div>About it.</div><div>C</div>
</li></ul></div></div></div></div></div></div>
<div id="search"><div id="rso">
<div><div data-snhf="0"><a href="https://a.example/"><h3>One</h3><cite>https://a.example › b</cite></a></div>
<div data-sncf="1"><span><span>1 Feb 2026</span> — </span><span>About it.</span></div></div>
<div><a href="https://www.google.com/url?q=https%3A%2F%2Fb.example%2F"><h3>Two</h3><cite>b.example</cite></a>
<p>More.</p></div>
</div></div></div>"""

# Seen on saved pages of 2022 to 2026: the account's menu; the place "from your IP address", in the footer, over local
# results and, in the layout without scripts, in a box of its own.
PRIVATE = Private(
    account=("#gb", "#gbw", '[class^="gb_"]', "[data-ogsr-up]", 'a[href*="//accounts.google."]'),
    location=(
        "#footcnt",
        "#sfooter",
        "[role=contentinfo]",
        "#EOlPnc",
        ".unknown_loc",
        ".dfB0uf",
        "update-location",
        "omnient-visibility-control",
        "[data-async-type=lbsc]",
        "#swml",
    ),
    asked=("q", "hl", "gl", "udm", "tbm", "tbs", "as_qdr", "start", "num", "safe", "lr", "cr", "filter"),
    plain=("jsname", "jsaction", "jscontroller", "jsmodel"),
)

GOOGLE = Engine(
    name="google",
    label="Google",
    hosts=("www.google.com", "google.com"),
    own=rf"^{OWN}$",
    page_size=10,
    address=address,
    hooks=HOOKS + ANSWER_HOOKS,
    links=LINKS,
    never=NEVER,
    refusals=REFUSALS,
    layouts=(("web", r"[?&]udm=14\b"), ("classic", r"[?&]q=")),
    answer=AnswerForm(
        "Google AI Overview",
        language=("data-rl", "lang"),
        formula="data-xpm-latex",
        never=(r"^(?:support|policies|accounts|myactivity|myadcenter)\.google\.",),
        requests=(rf"^{OWN}/async/folsrch$",),  # lazy answers, saved pages and blockers' lists since 2025-02
        one_place=True,
        marks=("data-icl-uuid", "data-uuids", "id"),
    ),
    specimen=SPECIMEN,
    private=PRIVATE,
)
