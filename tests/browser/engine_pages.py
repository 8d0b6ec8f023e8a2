"""Mark-up of Bing, Brave and DuckDuckGo in small: made-up rows and pages for the reader."""

from base64 import urlsafe_b64encode
from collections.abc import Callable

import castlenb as cn

from .replays import replayed

Read = Callable[..., cn.SearchPage]


def reader(lab: cn.Lab) -> Read:
    """Reads a body of mark-up as an engine's page, at that engine's address for ``q`` or at ``url``."""

    def read(engine: str, body: str, url: str | None = None) -> cn.SearchPage:
        html = (
            '<!doctype html><html lang=en><head><title>q</title></head><body><form><input name=q value="q">'
            f"</form>{body}</body></html>"
        )
        with replayed(lab, html, engine=engine, url=url) as opened:
            return opened.read()

    return read


def state(page: cn.SearchPage) -> tuple[str, str | None, int]:
    return page.page_state, page.challenge_kind, len(page)


def urls(page: cn.SearchPage) -> list[str | None]:
    return [record["url"] for record in page.records]


def bing(*rows: str) -> str:
    return f'<main><ol id="b_results">{"".join(rows)}</ol></main>'


def algo(href: str, title: str = "A title", inside: str = "") -> str:
    return (
        f'<li class="b_algo"><h2><a href="{href}">{title}</a></h2><div class="b_caption"><p>Words.</p></div>'
        f"{inside}</li>"
    )


def click(u: str) -> str:
    return f"https://www.bing.com/ck/a?!&amp;&amp;p=0&amp;ptn=3&amp;u={u}&amp;ntb=1"


def coded(target: str) -> str:
    return "a1" + urlsafe_b64encode(target.encode()).decode().rstrip("=")


def duck(*rows: str) -> str:
    return f'<div class="serp__results"><div id="links" class="results">{"".join(rows)}</div></div>'


def web(href: str, title: str = "A title", kind: str = "web-result", extra: str = "") -> str:
    return (
        f'<div class="result results_links {kind}"><div class="result__body"><h2 class="result__title">'
        f'<a class="result__a" href="{href}">{title}</a></h2>'
        f'<div class="result__extras__url"><a class="result__url" href="{href}">a.example</a>{extra}</div>'
        f'<a class="result__snippet" href="{href}">Some <b>words</b>.</a></div></div>'
    )


def brave(*rows: str) -> str:
    return f'<main><div id="results" class="svelte-e12qt1">{"".join(rows)}</div></main>'


def snippet(href: str, title: str = "A title", kind: str = 'data-type="web"', pos: int = 0) -> str:
    return (
        f'<div class="snippet svelte-jmfu5f" {kind} data-pos="{pos}"><a href="{href}" class="l1"><cite>'
        f'a.example</cite><div class="title" title="{title}">{title}</div></a>'
        '<div class="generic-snippet"><div class="content"><span class="t-secondary">1 week ago -</span>'
        " Words.</div></div></div>"
    )
