"""DuckDuckGo: the page without scripts (``html.duckduckgo.com``), with hooks for its other two layouts as well.

Its results come with the first bytes and need no script, and it has no AI answer (field notes, 2026-08-04). The lite
page and the page with scripts are read too, where somebody has saved one.
"""

from __future__ import annotations

from urllib.parse import urlencode

from .base import EVERY_PAGE, ONCE, Engine, EngineError, Hook, LinkForm, Private, Query, Refusal

# html., lite. and the page with scripts, which also answers as start., noai. and safe. (ublacklist/builtin, 2026-08).
OWN = r"(?:(?:www|html|lite|start|noai|safe)\.)?duckduckgo\.com"

PAGES = "saved pages, many hands"

PAGE_SIZE = 10

MAX_PAGES = 1
"""Further pages are asked for by a form that carries a token (``vqd``) and what was shown so far; asking without the
token is what gets a visitor blocked (searxng/searxng, 2026). A guest submits no forms."""

LONGEST = 499
"""Characters of a query that it takes (searxng/searxng)."""

MENU = (
    "ar-es au-en at-de be-fr be-nl br-pt bg-bg ca-en ca-fr cl-es cn-zh co-es hr-hr cz-cs dk-da ee-et fi-fi fr-fr de-de "
    "gr-el hk-tzh hu-hu is-is in-en id-en ie-en il-en it-it jp-jp kr-kr lv-lv lt-lt my-en mx-es nl-nl nz-en no-no "
    "pk-en pe-es ph-en pl-pl pt-pt ro-ro ru-ru xa-ar sg-en sk-sk sl-sl za-en es-es es-ca se-sv ch-de ch-fr tw-tzh "
    "th-en tr-tr us-en us-es ua-uk uk-en vn-en"
)
REGIONS = tuple(MENU.split())
"""What its menu of regions offers (2025-03): country and language, some of them in a spelling of its own."""

COUNTRIES = {"gb": "uk", "sa": "xa", "si": "sl"}
LANGUAGES = {"ja": "jp", "ko": "kr", "zh": "tzh", "nb": "no"}


def address(query: Query) -> str:
    """The URL of the first page, the only one that has one (``MAX_PAGES``).

    Raises:
        EngineError: a country that is not on its list, or a query that is too long for it.
    """
    if len(query.text) > LONGEST:
        raise EngineError(f"DuckDuckGo takes {LONGEST} characters, and the query has {len(query.text)}")
    params = {"q": query.text}
    if query.gl:
        params["kl"] = _region(query.gl.lower(), query.hl.lower())
    if query.recency:
        params["df"] = query.recency[0]
    return "https://html.duckduckgo.com/html/?" + urlencode(params)


def _region(country: str, language: str) -> str:
    """The country as its menu spells it, in that language where there is a choice."""
    language = language.partition("-")[0]
    here = [each for each in REGIONS if each.startswith(COUNTRIES.get(country, country) + "-")]
    if not here:
        raise EngineError(f"DuckDuckGo has no region {country!r}; it has {', '.join(sorted({r[:2] for r in REGIONS}))}")
    return next((each for each in here if each[3:] in (language, LANGUAGES.get(language))), here[0])


HOOKS = (
    Hook("area", "#links", "id", "high", PAGES, ("2025-05", "2026-10"), expected=ONCE, when=".result__body"),
    Hook(
        "area",
        "[data-testid=mainline]",
        "attribute",
        "high",
        "saved pages with scripts",
        ("2026-04", "2026-08"),
        expected=EVERY_PAGE,
        when="article[data-testid=result]",
    ),
    # Title links, one class for each of the layouts; the third is the page with scripts.
    Hook(
        "heading",
        "a.result__a",
        "class",
        "high",
        PAGES,
        ("2025-05", "2026-10"),
        expected=EVERY_PAGE,
        when=".result__body",
    ),
    Hook(
        "heading",
        "a.result-link",
        "class",
        "high",
        PAGES,
        ("2025-03", "2026-09"),
        expected=EVERY_PAGE,
        when=".result-snippet",
    ),
    Hook(
        "heading",
        "article[data-testid=result] h2",
        "attribute",
        "high",
        "karust/openserp",
        ("2026-04", "2026-08"),
        expected=EVERY_PAGE,
        when="[data-testid=mainline]",
    ),
    Hook(
        "snippet",
        ".result__snippet",
        "class",
        "high",
        PAGES,
        ("2025-05", "2026-10"),
        expected=EVERY_PAGE,
        when="a.result__a",
    ),
    Hook(
        "snippet",
        ".result-snippet",
        "class",
        "high",
        PAGES,
        ("2025-03", "2026-09"),
        expected=EVERY_PAGE,
        when="a.result-link",
    ),
    Hook(
        "snippet",
        "[data-result=snippet]",
        "attribute",
        "high",
        "karust/openserp",
        ("2026-04", "2026-08"),
        expected=EVERY_PAGE,
        when="article[data-testid=result]",
    ),
    Hook("date", ".result__extras__url > span:not(.result__icon)", "class", "high", PAGES, ("2025-05", "2026-04")),
    Hook("date", ".timestamp", "class", "high", "saved page; public parsers", ("2025-03", "2026-09")),
    Hook(
        "cite",
        ".result__url",
        "class",
        "high",
        PAGES,
        ("2025-05", "2026-10"),
        expected=EVERY_PAGE,
        when=".result__body",
    ),
    Hook(
        "cite",
        ".link-text",
        "class",
        "high",
        PAGES,
        ("2025-03", "2026-09"),
        expected=EVERY_PAGE,
        when=".result-snippet",
    ),
    # Ads are known by their class and once more by their link (deedy5/ddgs#139).
    Hook("furniture", ".result--ad, .result-sponsored", "class", "high", PAGES, ("2025-05", "2026-10")),
    Hook("furniture", "[data-testid=ad]", "attribute", "high", "karust/openserp", ("2026-04", "2026-08")),
    # The box above the rows; videos, news and pictures among them.
    Hook("furniture", ".zci", "class", "medium", "public parsers", ("2025-01", "2026-10")),
    Hook("furniture", "[data-layout]:not([data-layout=organic])", "attribute", "medium", PAGES, ("2026-04", "2026-08")),
    # The form that leads on, and the link for complaints.
    Hook("furniture", ".nav-link, .feedback-btn", "class", "high", PAGES, ("2025-05", "2026-04")),
    # "No more results": itself a row of the list, of class web-result; ads can stand beside it.
    Hook("nothing", ".no-results, .result--no-result", "class", "high", PAGES, ("2026-01", "2026-10")),
)

LINKS = (
    # Hyphens and dots come percent-encoded as well; decoded once, as everything else. Direct links are met too.
    LinkForm("redirect", "/l/", ("uddg",)),
)

NEVER = (
    # Ads. They show as such only once their /l/ has been unwrapped.
    rf"^{OWN}/y\.js$",
    rf"^{OWN}/(?:html|lite)/?$",
)

REFUSALS = (
    # "I'm a teapot": where the page with scripts sends a browser that it distrusts.
    Refusal(
        "anomaly",
        address=rf"^{OWN}/static-pages/418\.html",
        evidence="10 public clients, 2025 to 2026",
        held=("2025-01", "2026-10"),
    ),
    # "Select all squares containing a duck", with status 200 or 202 (zeroclaw-labs/zeroclaw#6625, guelfoweb/orbit#352).
    Refusal(
        "anomaly",
        css=('form[action*="/anomaly.js"]', "form#challenge-form"),
        evidence="seen 2026-06 to 2026-07",
        held=("2026-06", "2026-07"),
    ),
    # The same as a window over the page with scripts.
    Refusal(
        "anomaly",
        css=(".anomaly-modal__modal", "[data-testid=anomaly-modal]"),
        evidence="seen 2026-04",
        held=("2026-04", "2026-04"),
    ),
)

SPECIMEN = """<div id="links">
<div class="result"><h2><a class="result__a" href="https://a.example/">One</a></h2>
<a class="result__url" href="https://a.example/">a.example</a><a class="result__snippet">About it.</a></div>
<div class="result"><h2><a class="result__a" href="https://duckduckgo.com/l/?uddg=https%3A%2F%2Fb.example%2F">Two</a></h2>
<a class="result__url">b.example</a><a class="result__snippet">More.</a></div>
</div>"""

# There are no accounts; a region is part of the question.
PRIVATE = Private(location=("footer", "#footer"), asked=("q", "kl", "df", "s", "ia", "iar", "b"))

DUCKDUCKGO = Engine(
    name="duckduckgo",
    label="DuckDuckGo",
    hosts=("html.duckduckgo.com", "duckduckgo.com", "lite.duckduckgo.com"),
    own=rf"^{OWN}$",
    page_size=PAGE_SIZE,
    max_pages=MAX_PAGES,
    address=address,
    hooks=HOOKS,
    links=LINKS,
    never=NEVER,
    refusals=REFUSALS,
    layouts=(("html", r"^https://html\."), ("lite", r"^https://lite\."), ("scripts", "")),
    specimen=SPECIMEN,
    private=PRIVATE,
)
