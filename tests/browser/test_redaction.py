"""What a capture leaves out, by place, and what it leaves alone: details made up, in every place where real pages have
them, and results and answers that speak of the same kind of thing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import castlenb as cn

from .answer_pages import column, wrapped
from .google_pages import URL, page, row

NAME = "Jo Quillfeather"
MAIL = "jo.quillfeather@mailbox.example"
V4, V6 = "203.0.113.77", "2001:db8:4f3a::c0de:17"
LATITUDE, LONGITUDE = "48.8583701", "2.2944813"
PLACE = "Lower Quibbleton"
TOKEN = "AHkT9qZx3LmWvB7rYdKp2Q"
UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
SECRETS = (NAME, "Quillfeather", MAIL, V4, V6, LATITUDE, LONGITUDE, PLACE, TOKEN, UUID, "c2VjcmV0")

KEPT_IPS = "Why 192.0.2.44 and 2001:db8:9::9 and me@public.example and 51.5007292, -0.1246254 are written so."
ANSWER = "The address 192.0.2.99 is kept for examples, as 2001:db8:8::8 is; write to them@public.example."

IN_HEAD = f"""<meta name="csrf" content="{TOKEN}"><script nonce="{TOKEN}">var user = "{MAIL}"; ip="{V4}";</script>
<style>.x{{background:url(data:image/png;base64,c2VjcmV0c2VjcmV0)}}</style><!-- served to {V4} -->
<link rel="canonical" href="/search?q=made+up&amp;ei={TOKEN}"><template><i>{MAIL}</i></template>"""

GOOGLE_ABOVE = f"""
<header id="gb"><div class="gb_z" data-ogsr-up=""><a class="gb_B" role="button" aria-label="Google Account: {NAME} ({MAIL})"
 href="https://accounts.google.com/SignOutOptions?continue=https://www.google.com/search%3Fq%3Dx%26ei%3D{TOKEN}">
 <img src="data:image/jpeg;base64,c2VjcmV0"></a></div></header>
<div><div class="gb_T"><div>Account</div><div class="gb_g">{NAME}</div><div>{MAIL}</div></div></div>
<form action="/search?sei={TOKEN}"><input type="hidden" name="ei" value="{TOKEN}"><input name="email" value="{MAIL}">
 <textarea name="note">{NAME} lives at {PLACE}</textarea><button type="submit">Go</button></form>
<omnient-visibility-control><span>Results for <b>{PLACE}</b></span><a href="#">Choose area</a></omnient-visibility-control>
<noscript><meta http-equiv="refresh" content="0;url=/httpservice/retry/enablejs?sei={TOKEN}"></noscript>
<div data-ved="{TOKEN}" data-csiid="{TOKEN}_12" jsdata="gctHtc;_;{TOKEN}5" data-cid="{UUID}" data-p='["{MAIL}",{LATITUDE}]'
 data-lat="{LATITUDE}" data-lng="{LONGITUDE}" data-blob="{"x y " * 80}{NAME}" onclick="f('{MAIL}')"></div>
<a id="maps" href="/maps/place/Cafe/@{LATITUDE},{LONGITUDE},17z/data=!4m5!{TOKEN}?ei={TOKEN}&amp;ll={LATITUDE},{LONGITUDE}">Map</a>
<a href="https://elsewhere.example/x?login={MAIL}&amp;at={LATITUDE},{LONGITUDE}&amp;s={TOKEN}">out</a>
<a href="mailto:{MAIL}">mail</a><a id="own" href="/search?q=made+up+more&amp;start=10&amp;ved={TOKEN}&amp;uule=w+{TOKEN}#sb={TOKEN}">2</a>
<p>You are {V4}, or {V6}, at {LATITUDE}, {LONGITUDE}.</p><p>Signed in as {NAME} &lt;{MAIL}&gt;</p>
<div id="_{TOKEN}_20" hidden>folded</div><div aria-expanded="false" aria-controls="_{TOKEN}_20">more</div>"""
GOOGLE_BELOW = f"""
<div id="sfooter" role="contentinfo"><div id="footcnt"><span class="unknown_loc"></span><span class="dfB0uf">{PLACE}</span>
<span>From your IP address</span> <span>{V4}</span><update-location>Update</update-location></div></div>
<div id="EOlPnc"><span class="dfB0uf">{PLACE}</span><span>From your IP address</span></div><!-- {V6} -->"""


@pytest.fixture(scope="module")
def google(one_lab: cn.Lab) -> tuple[cn.SearchPage, cn.Capture, cn.SearchPage]:
    """A page with all of that, as it is read, as it is kept, and as that is read."""
    rows = [
        row("https://ip.example/192.0.2.44?mail=me%40public.example", "What is 192.0.2.44?", snippet=KEPT_IPS),
        row(f"https://www.google.com/url?q=https%3A%2F%2Ftwo.example%2F&sa=U&ved={TOKEN}X", snippet="Of 192.0.2.45."),
        *(row(f"https://more{n}.example/", f"Number {n}") for n in range(3)),
    ]
    card = '<li data-src-id="1"><a href="https://source.example/192.0.2.99" aria-label="About 192.0.2.99"></a><div>About 192.0.2.99</div><div>source.example</div></li>'
    answer = wrapped(column(f"<p>{ANSWER}</p><p>More of it, so that it is prose.</p>", f"<ul>{card}</ul>"))
    html = page(*rows, above=answer + GOOGLE_ABOVE, below=GOOGLE_BELOW, head=IN_HEAD)
    with cn.replay(html, engine="google", url=f"{URL}&ei={TOKEN}", browser=one_lab.browser) as opened:
        before, kept = opened.read(), opened.capture()
    return before, kept, kept.read(browser=one_lab.browser)


def everything(kept: cn.Capture) -> str:
    """All that a file of it holds, escapes undone."""
    return kept.html + kept.url + repr((kept.growth, kept.found, kept.timeline, kept.redacted))


def test_what_tells_of_the_person_is_gone(google: tuple[cn.SearchPage, cn.Capture, cn.SearchPage]) -> None:
    _, kept, _ = google
    # Links of results stay as they are read, whatever they are minted with.
    text = everything(kept).replace(f"ved={TOKEN}X", "")
    for secret in SECRETS:
        assert secret not in text, text[max(0, text.find(secret) - 120) :][:300]
    assert "<script" not in text
    assert not re.search("data:image", text)


def test_what_is_read_stays_as_it_was(google: tuple[cn.SearchPage, cn.Capture, cn.SearchPage]) -> None:
    before, _, after = google
    assert len(before) == 5
    assert before.records[0]["snippet"] == KEPT_IPS
    assert before.records[1]["link"].endswith(f"ved={TOKEN}X")
    assert before.answer is not None
    assert before.answer.text is not None
    assert ANSWER in before.answer.text
    assert before.answer.citations["url"].tolist() == ["https://source.example/192.0.2.99"]
    assert after.records == before.records
    assert after.answer == before.answer
    assert (after.page_state, after.warnings) == (before.page_state, before.warnings)


def test_the_question_and_the_page_around_it_stay(google: tuple[cn.SearchPage, cn.Capture, cn.SearchPage]) -> None:
    _, kept, _ = google
    assert kept.url == f"{URL}&ei="
    assert kept.query == "made up"
    assert '<textarea name="q">made up</textarea>' in kept.html
    assert 'id="own" href="/search?q=made+up+more&amp;start=10&amp;ved=&amp;uule=#"' in kept.html
    assert '<button type="submit">Go</button>' in kept.html
    assert "Map</a>" in kept.html
    # What is pointed at still is.
    [pointed] = re.findall('aria-controls="([^"]+)"', kept.html.split("folded")[1])[:1]
    assert f'id="{pointed}" hidden' in kept.html


def test_it_is_said_what_went_and_where(google: tuple[cn.SearchPage, cn.Capture, cn.SearchPage]) -> None:
    _, kept, _ = google
    said = {(each["what"], each["where"]) for each in kept.redacted}
    assert said >= {
        ("account", "#gb"),
        ("account", '[class^="gb_"]'),
        ("location", "#footcnt"),
        ("location", "#EOlPnc"),
        ("location", "omnient-visibility-control"),
        ("form field", "input"),
        ("form field", "textarea"),
        ("inline data", "comment"),
        ("inline data", "data-p"),
        ("inline data", "meta"),
        ("inline data", "template"),
        ("data URI", "style"),
        ("token", "id"),
        ("token", "data-ved"),
        ("link parameter", "href"),
        ("coordinates", "data-lat"),
        ("coordinates", "text"),
        ("IP address", "text"),
        ("e-mail address", "text"),
        ("link parameter", "address"),
    }
    assert all(each["count"] >= 1 for each in kept.redacted)
    assert not any(secret in repr(kept.redacted) for secret in SECRETS)


OTHERS = {
    "bing": (
        "https://www.bing.com/search?q=made+up",
        '<ol id="b_results">'
        + '<li class="b_algo"><h2><a href="https://ip.example/">One</a></h2><cite>https://ip.example</cite><div class="b_caption"><p>It was 192.0.2.44 all along.</p></div></li>'
        * 1
        + f'<li class="b_algo"><h2><a href="https://www.bing.com/ck/a?!&amp;&amp;p={TOKEN}X&amp;u=a1aHR0cHM6Ly9iLmV4YW1wbGUv">Two</a></h2><div class="b_caption"><p>More.</p></div></li></ol>',
        f'<div id="id_h" role="complementary" aria-label="Account"><a id="id_l" href="/fd/auth?id={TOKEN}"><span id="id_n">{NAME}</span><img id="id_p" src="data:image/png;base64,c2VjcmV0" alt="{NAME}"></a></div>'
        f'<div id="id_d">{MAIL}</div><form action="/search"><input name="q" value="made up"><input type="hidden" name="cvid" value="{TOKEN}"></form>'
        f'<span class="locTw"><img alt="Change location" src="x.svg">Results near {PLACE} <div>Change</div></span><div id="b_EmbDivs"><div>data:image/jpeg;base64,c2VjcmV0c2VjcmV0</div></div>'
        f'<div id="g_EfLoc" data-lat="{LATITUDE}" data-lon="{LONGITUDE}" data-disp="{PLACE}" data-source="4"></div>'
        f'<a href="/search?q=made+up&amp;first=11&amp;FORM=PERE&amp;cvid={TOKEN}">2</a><footer id="b_footer">{PLACE} {V4}</footer>',
    ),
    "brave": (
        "https://search.brave.com/search?q=made+up",
        '<div id="results"><div class="snippet" data-type="web"><a href="https://ip.example/"><cite>ip.example</cite><div class="title">One</div></a><div class="generic-snippet"><div class="content">It was 192.0.2.44 all along.</div></div></div></div>',
        f'<div id="settings">{PLACE}</div><img src="https://imgs.search.brave.com/{TOKEN}/x"><a href="/images?q=made+up&amp;context={TOKEN}">Images</a>'
        f"<script>lat: {LATITUDE}, lng: {LONGITUDE}</script><footer>{PLACE}, {V6}</footer>",
    ),
    "duckduckgo": (
        "https://html.duckduckgo.com/html/?q=made+up",
        f'<div id="links"><div class="result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fip.example%2F&amp;rut={TOKEN}X">One</a></h2><a class="result__snippet" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fip.example%2F&amp;rut={TOKEN}X">It was 192.0.2.44 all along.</a></div></div>',
        f'<form><input name="q" value="made up"><input type="hidden" name="vqd" value="{TOKEN}"><input name="kl" value="uk-en"></form><p>{V4} {MAIL}</p>'
        f'<footer>{PLACE}</footer><img src="/t/sl_h?{TOKEN}">',
    ),
}


@pytest.mark.parametrize("engine", OTHERS)
def test_the_other_engines(one_lab: cn.Lab, engine: str, tmp_path: Path) -> None:
    url, results, around = OTHERS[engine]
    html = f"<!doctype html><html><head>{IN_HEAD}</head><body>{around}{results}</body></html>"
    with cn.replay(html, engine=engine, url=url, browser=one_lab.browser) as opened:
        before, kept = opened.read(), opened.capture()
    assert len(before) >= 1
    assert "192.0.2.44" in before.records[0]["snippet"]
    assert cn.read(kept.save(tmp_path), browser=one_lab.browser)[0].records == before.records
    text = everything(kept).replace(f"{TOKEN}X", "")
    for secret in SECRETS:
        assert secret not in text, text[max(0, text.find(secret) - 120) :][:300]


def test_a_refusal_keeps_no_address(one_lab: cn.Lab) -> None:
    html = f"""<html><body><form id="captcha-form" action="index"><input type="hidden" name="q" value="{TOKEN}">
<div id="recaptcha" class="g-recaptcha" data-sitekey="6LdLLIMb" data-s="{TOKEN}{TOKEN}"></div></form>
<iframe src="https://www.google.com/recaptcha/api2/anchor?k=6LdLLIMb&amp;s={TOKEN}"></iframe>
<div>Our systems have detected unusual traffic.<br>IP address: {V6}<br>IP address: {V4}<br>URL: https://www.google.com/search?q=x</div></body></html>"""
    url = f"https://www.google.com/sorry/index?continue=https://www.google.com/search%3Fq%3Dmade%2Bup%26ei%3D{TOKEN}&q={TOKEN}"
    with cn.replay(html, engine="google", url=url, browser=one_lab.browser) as opened:
        before, kept = opened.read(), opened.capture()
    assert (before.page_state, before.challenge_kind) == ("challenge", "sorry")
    after = kept.read(browser=one_lab.browser)
    assert (after.page_state, after.challenge_kind) == ("challenge", "sorry")
    assert "unusual traffic" in kept.html
    for secret in (V4, V6, TOKEN):
        assert secret not in everything(kept)
