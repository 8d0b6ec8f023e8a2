"""Unwrapping, in the browser and on many links at a time: what a link leads to, whatever it is made of.

Every redirect that an engine file knows is tried, so an engine that is added is covered as well.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import castlenb as cn
from castlenb.engines import ENGINES
from castlenb.engines.base import Engine, LinkForm
from castlenb.replays import Replay

ROWS = {
    "google": (
        '<div id="search"><div id="rso">{}</div></div>|<div><a href=x><h3>{}</h3></a><cite>'
        "https://shop.example</cite></div>"
    ),
    "bing": (
        '<ol id="b_results">{}</ol>|<li class="b_algo"><h2><a href=x>{}</a></h2><cite>https://shop.example</cite></li>'
    ),
    "brave": (
        '<div id="results">{}</div>|<div class="snippet" data-type="web"><a href=x><div class="title">{}</div>'
        "</a></div>"
    ),
    "duckduckgo": (
        '<div id="links">{}</div>|<div class="result web-result"><h2><a class="result__a" href=x>{}</a></h2></div>'
    ),
}

REDIRECTS = [
    pytest.param(engine.name, form, key, id=f"{engine.name}{form.path}?{key}")
    for engine in ENGINES.values()
    for form in engine.links
    if form.form == "redirect"
    for key in form.params
]

# What addresses are made of, and what unwrapping trips over: escapes of escapes, plus signs, nested wrappers, other
# scripts, characters that have to be escaped, and the marks that cut an address up.
AWKWARD = [
    "%",
    "%25",
    "%2F",
    "%2525",
    "+",
    "%2B",
    "&",
    "&amp;",
    "=",
    "?",
    "/",
    "//",
    ";",
    ":",
    "@",
    "'",
    '"',
    "<",
    "|",
    "\\",
]
WORDS = [
    "uddg=https%3A%2F%2Fx.example%2F",
    "u=a1aHR0cHM6Ly94LmV4YW1wbGUv",
    "q=1",
    "url=x",
    "é",
    "日本",
    "🧭",
    "ß",
    "~",
    "a",
    "Z",
    "0",
    "-",
    "_",
    ".",
    "*",
]
PIECES = st.lists(st.sampled_from(AWKWARD + WORDS), max_size=6).map("".join)


@st.composite
def targets(draw: st.DrawFn) -> str:
    """An address somewhere under ``.example``, with or without a path, a query, an anchor."""
    address = (
        draw(st.sampled_from(["https://shop", "http://shop", "https://shop-1.co", "https://xn--bcher-kva"]))
        + ".example"
    )
    address += draw(st.sampled_from(["", ":8443"])) + "/" + draw(PIECES).replace("?", "")
    address += draw(st.sampled_from(["", "?"])) + draw(PIECES)
    return address + draw(st.sampled_from(["", "", "#top", "#a=b&c", "#:~:text=Foo,bar", "#s:~:text=x%2Cy"]))


def wrap(form: LinkForm, key: str, target: str, engine: Engine, sparing: bool = False) -> str:
    """The engine's own link to a target; ``sparing`` escapes no more than it has to, and pads what can be padded."""
    if form.decode == "percent":
        coded = quote(target, safe="+=/:;@?" if sparing else "")
    else:
        coded = form.prefix + urlsafe_b64encode(target.encode()).decode().rstrip("" if sparing else "=")
    return f"https://{engine.hosts[0]}{form.path}?x=1&{key}={coded}&z=%26"


LOOK = """((area, row, hrefs) => {
    document.body.innerHTML = area.replace("{}", hrefs.map((_, n) => row.replace("{}", `row ${n}`)).join(""));
    document.querySelectorAll("a").forEach((a, n) => a.setAttribute("href", hrefs[n]));
    const rows = new Map(castlenb.reader.results().map((row) => [row.title, row]));
    return hrefs.map((href, n) => rows.get(`row ${n}`) ?? null);
})"""
HREF = "((targets) => targets.map((target) => new URL(target).href))"


class Pages:
    """One page an engine, whose rows are changed; what the reader makes of them."""

    def __init__(self, browser: cn.Browser, stack: ExitStack) -> None:
        self._browser = browser
        self._stack = stack
        self._open: dict[str, Replay] = {}

    def evaluate(self, engine: str, function: str, *arguments: Any) -> Any:
        if engine not in self._open:
            opened = self._stack.enter_context(cn.replay("<title>q</title>", engine=engine, browser=self._browser))
            opened.read()
            self._open[engine] = opened
        return self._open[engine].evaluate(f"{function}({', '.join(map(json.dumps, arguments))})")

    def look(self, engine: str, hrefs: list[str]) -> list[dict[str, Any] | None]:
        """For each link the row that it made, or nothing."""
        area, _, row = ROWS[engine].partition("|")
        rows: list[dict[str, Any] | None] = self.evaluate(engine, LOOK, area, row, hrefs)
        return rows

    def addresses(self, engine: str, given: list[str]) -> list[str]:
        """The same addresses as a browser writes them."""
        written: list[str] = self.evaluate(engine, HREF, given)
        return written


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    from castlenb.lab import throwaway

    with throwaway() as target, cn.connect(target, max_visits=len(ENGINES)) as browser, ExitStack() as stack:
        yield Pages(browser, stack)


def whole(row: dict[str, Any]) -> str:
    """A row's address with the text fragment that was taken off it."""
    if row["fragment"] is None:
        return str(row["url"])
    return row["url"] + ("" if "#" in row["url"] else "#") + ":~:text=" + row["fragment"]


MANY = settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
BATCH = st.lists(targets(), min_size=8, max_size=16)

# The thread that talks to Chromium draws the masks of its frames from ``random``, which hypothesis takes for a strategy
# that does.
pytestmark = [pytest.mark.proof, pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")]


@pytest.mark.parametrize(("engine", "form", "key"), REDIRECTS)
@MANY
@given(batch=BATCH, sparing=st.booleans())
def test_a_wrapped_link_leads_where_the_link_itself_would(
    pages: Pages, engine: str, form: LinkForm, key: str, batch: list[str], sparing: bool
) -> None:
    """Nothing of the query is lost, and what was escaped in the target is escaped still: it was decoded once."""
    wrapped = [wrap(form, key, target, ENGINES[engine], sparing) for target in batch]
    for target, href, row in zip(pages.addresses(engine, batch), wrapped, pages.look(engine, wrapped), strict=True):
        assert row is not None, href
        assert (whole(row), row["link_form"]) == (target, "redirect")
        assert row["link"] == href


@pytest.mark.parametrize("engine", ENGINES)
@MANY
@given(batch=BATCH)
def test_a_direct_link_is_left_as_it_is(pages: Pages, engine: str, batch: list[str]) -> None:
    for target, row in zip(pages.addresses(engine, batch), pages.look(engine, batch), strict=True):
        assert row is not None, target
        assert (whole(row), row["link"], row["link_form"]) == (target, target, "direct")


@pytest.mark.parametrize(("engine", "form", "key"), REDIRECTS)
@MANY
@given(batch=BATCH)
def test_what_is_wrapped_twice_is_unwrapped_once(
    pages: Pages, engine: str, form: LinkForm, key: str, batch: list[str]
) -> None:
    inner = [wrap(form, key, target, ENGINES[engine]) for target in batch]
    outer = [wrap(form, key, href, ENGINES[engine]) for href in inner]
    for href, row in zip(inner, pages.look(engine, outer), strict=True):
        assert row is None or row["url"] == href


SCHEMES = st.sampled_from(
    [
        "javascript:",
        "data:",
        "blob:",
        "file:///",
        "ftp://",
        "about:",
        "JaVaScRiPt:",
        " javascript:",
        "\tdata:",
        "vbscript:",
        "//",
        "/",
        "",
        "chrome://",
        "view-source:https:",
        "https:",
    ]
)


@pytest.mark.parametrize(("engine", "form", "key"), REDIRECTS)
@MANY
@given(
    batch=st.lists(st.one_of(st.text(max_size=30), st.tuples(SCHEMES, PIECES).map("".join)), min_size=8, max_size=16)
)
def test_whatever_is_wrapped_only_the_web_comes_out(
    pages: Pages, engine: str, form: LinkForm, key: str, batch: list[str]
) -> None:
    sent = [text.encode("utf-8", "replace").decode() for text in batch]
    links = [wrap(form, key, text, ENGINES[engine]) for text in sent]
    # The same once more without their coding: nonsense where something coded is expected.
    links += [f"https://{ENGINES[engine].hosts[0]}{form.path}?{key}={quote(text, safe='%=+/-_')}" for text in sent]
    for row in pages.look(engine, links):
        if row is not None:
            assert row["url"] is None or row["url"].startswith(("https://", "http://"))
            assert row["link"].startswith("https://")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_cases_do_make_rows(pages: Pages, engine: str) -> None:
    """The mark-up in this file is the engine's: the properties above are not true of nothing."""
    rows = pages.look(engine, ["https://a.example/", "javascript:void(0)", "https://b.example/"])
    assert [row and row["url"] for row in rows] == ["https://a.example/", None, "https://b.example/"]
