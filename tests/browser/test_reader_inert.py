"""Making a saved page inert: what goes, what stays, and that doing it twice is doing it once."""

from typing import Any

import pytest

import castlenb as cn
from castlenb import page as scripts

from .replays import replayed

PLACE = "https://elsewhere.example/x"


def inert(lab: cn.Lab, html: str) -> dict[str, Any]:
    with replayed(lab, "<p>a page to stand on") as opened:
        opened.read()
        made: dict[str, Any] = opened.evaluate(scripts.inert_expression(html))
        return made


def test_nothing_is_left_that_runs_loads_connects_or_navigates(one_lab: cn.Lab) -> None:
    rels = ["preconnect", "dns-prefetch", "prefetch", "preload", "modulepreload", "prerender", "icon", "shortcut icon"]
    rels += ["apple-touch-icon", "manifest", "stylesheet", "alternate stylesheet", "search", "compression-dictionary"]
    links = "".join(f'<link rel="{rel}" href="{PLACE}">' for rel in rels) + f'<link href="{PLACE}">'
    live = (
        f'<script src="{PLACE}"></script><object data="{PLACE}"></object><embed src="{PLACE}"><base href="{PLACE}">'
        f'<applet code="{PLACE}"></applet><video src="{PLACE}" poster="{PLACE}" autoplay><source src="{PLACE}">'
        f'<track src="{PLACE}"></video><a ping="{PLACE}" onclick="x()" ONFOCUS="x()" autofocus>a</a>'
        f'<img onerror="x()" attributionsrc="{PLACE}"><a href="javascript:x()">b</a>'
        '<a href=" \x01java\nscript:x()">c</a><svg><a xlink:href="JavaScript:x()">d</a></svg>'
        '<form action="javascript:x()"><button formaction="vbscript:x()">e</button></form>'
        f'<meta http-equiv="Refresh" content="0;url={PLACE}"><meta http-equiv="content-security-policy" content="x">'
        f'<meta http-equiv="x-dns-prefetch-control" content="on"><iframe srcdoc="<img src={PLACE}>"></iframe>'
    )
    template = f"<template>{live}<template>{live}</template></template>"
    shadow = f"<div><template shadowrootmode=open>{live}</template></div>"
    made = inert(one_lab, f"<!doctype html><head>{links}</head><body>{live}{template}{shadow}</body>")["html"]
    assert PLACE not in made
    for live in (
        "script:",
        "onclick",
        "onfocus",
        "onerror",
        "autofocus",
        "autoplay",
        "srcdoc",
        "http-equiv",
        "<script",
    ):
        assert live not in made.lower()
    assert "<link" not in made
    assert made.count("<iframe></iframe>") == 4


def test_what_is_evidence_stays(one_lab: cn.Lab) -> None:
    html = (
        '<!doctype html><html lang=de><head><meta charset=utf-8><link rel="canonical" href="https://a.example/">'
        '<style>p{}</style></head><body class=x><form id="captcha-form" action="/sorry" method=post>'
        '<input type=hidden name=a value=b></form><iframe src="https://captcha.example/f?k=1&amp;l=2"></iframe>'
        '<div data-rpos="1" hidden>text</div></body></html>'
    )
    made = inert(one_lab, html)["html"]
    assert made.startswith("<!DOCTYPE html>")
    for part in (
        '<html lang="de">',
        'rel="canonical"',
        "<style>p{}</style>",
        'id="captcha-form" action="/sorry" method="post"',
        'value="b"',
        'data-inert-src="https://captcha.example/f?k=1&amp;l=2"',
        '<div data-rpos="1" hidden="">text</div>',
    ):
        assert part in made


def test_a_noscript_leaves_the_addresses_it_would_lead_to(one_lab: cn.Lab) -> None:
    html = (
        '<head><noscript><meta http-equiv="refresh" content="0;url=/gate?a=1"><iframe src="/frame"></iframe>'
        "<p>Breaks out of the head where scripts are off.</p></noscript><title>t</title></head>"
        "<body><noscript><img src=x></noscript><p>Body.</p></body>"
    )
    made = inert(one_lab, html)["html"]
    assert made == (
        '<html><head><noscript data-inert-src="0;url=/gate?a=1 /frame"></noscript><title>t</title></head>'
        "<body><p>Body.</p></body></html>"
    )


@pytest.mark.parametrize(
    "doctype", ["", "<!DOCTYPE html>", '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">']
)
def test_the_page_s_mode_is_kept(one_lab: cn.Lab, doctype: str) -> None:
    quirks = doctype != "<!DOCTYPE html>"
    with replayed(one_lab, doctype + "<p>x") as opened:
        opened.read()
        assert opened.evaluate("document.compatMode") == ("BackCompat" if quirks else "CSS1Compat")


@pytest.mark.parametrize(
    "html",
    [
        "<p>plain",
        '<noscript><iframe src="/a"></iframe></noscript><iframe src="/b"></iframe>',
        "<table><form><input name=q value=x><table><form></table>",
        "<svg><style><img src=x onerror=x></style></svg><math><mtext><table><mglyph><style><img src=x onerror=y>",
        "<pre>\n\nx</pre><textarea>\n\ny</textarea><a href=1><div><a href=2>z",
        "<template><noscript><meta http-equiv=refresh content='0;url=/x'></noscript><script></script></template>",
        '<form name="documentElement"></form><img name="querySelectorAll"><form><input name=attributes onclick=x>',
    ],
)
def test_twice_is_once(one_lab: cn.Lab, html: str) -> None:
    once = inert(one_lab, html)["html"]
    assert inert(one_lab, once)["html"] == once


def test_what_the_page_tells_of_itself(one_lab: cn.Lab) -> None:
    told = inert(
        one_lab,
        "<!DOCTYPE html>\n<!-- saved from url=(0038)https://www.google.com/search?q=tea+pots -->\n"
        '<base href="https://www.google.com/"><form><textarea name=q>tea pots</textarea></form>',
    )
    assert (told["query"], told["base"]) == ("tea pots", "https://www.google.com/")
    assert told["saved_from"] == "https://www.google.com/search?q=tea+pots"
    assert inert(one_lab, '<input name=q value="a &amp; b">')["query"] == "a & b"
    assert {inert(one_lab, "<p>x")[name] for name in ("query", "base", "saved_from")} == {None}
