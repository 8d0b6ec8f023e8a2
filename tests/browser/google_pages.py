"""Google's mark-up in small: made-up rows and pages for the reader, faithful where a rule holds on to it."""

from html import escape
from typing import Any

import castlenb as cn

from .replays import replayed

URL = "https://www.google.com/search?q=made+up&hl=en"


def row(
    href: str,
    title: str = "A title",
    *,
    cite: str | None = "https://shop.example › widgets",
    name: str = "Shop",
    snippet: str | None = "What the page is about.",
    box: bool = True,
    attributes: str = "",
) -> str:
    """One web result as served since 2023; ``box=False`` leaves out Google's own marks, so that structure must do."""
    shown = f'<div><span>{name}</span><div><cite role="text">{cite}</cite></div></div>' if cite is not None else ""
    link = f'<a href="{escape(href)}"><h3>{title}</h3><br>{shown}</a>'
    header = f"<div><div><span>{link}</span><div>{shown}</div></div></div>"
    body = f"<div><span>{snippet}</span></div>" if snippet is not None else ""
    if box:
        header = f'<div data-snhf="0">{header}</div>'
        body = f'<div data-sncf="1">{body}</div>' if body else ""
        return f'<div data-rpos="1" {attributes}><div><div data-snc="x">{header}{body}</div></div></div>'
    return f"<div {attributes}><div>{header}{body}</div></div>"


def page(*rows: str, above: str = "", below: str = "", head: str = "", botstuff: str = "", topstuff: str = "") -> str:
    """A results page around them. Without rows the results area is empty, as on a page that found nothing."""
    listed = f'<div><h1>Search Results</h1><div id="rso">{"".join(rows)}</div></div>' if rows else ""
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>made up</title>{head}</head><body>"
        '<form action="/search"><textarea name="q">made up</textarea></form>'
        f'<div id="main"><div id="cnt"><div id="rcnt">{above}<div id="center_col" role="main"><div id="taw"></div>'
        f'<div><div id="topstuff">{topstuff}</div><div id="search">{listed}</div></div>'
        f'<div id="botstuff">{botstuff}</div></div>{below}</div></div></div></body></html>'
    )


def read(lab: cn.Lab, html: str, url: str = URL) -> cn.SearchPage:
    """The page as the in-page reader has it."""
    with replayed(lab, html, url=url) as opened:
        return opened.read()


def reading(lab: cn.Lab, html: str, url: str = URL) -> dict[str, Any]:
    """The reader's own words, with what a SearchPage leaves out."""
    with replayed(lab, html, url=url) as opened:
        opened.read()
        found: dict[str, Any] = opened.evaluate("castlenb.reader.read()")
        return found


def urls(page: cn.SearchPage) -> list[str | None]:
    return [record["url"] for record in page.records]


def titles(page: cn.SearchPage) -> list[str]:
    return [record["title"] for record in page.records]


def state(page: cn.SearchPage) -> tuple[str, str | None]:
    return page.page_state, page.challenge_kind
