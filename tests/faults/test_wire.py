"""Everything castlenb can do, over a wire that keeps every frame: what a guest may not send is not among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import castlenb as cn
from castlenb import page

from . import cases  # noqa: F401  (it has the pages that misbehave)
from .stage import Stage

# Design: what a guest never does to somebody's browser.
FORBIDDEN = re.compile(
    r"Input\..*|Page\.(?:bringToFront|close|setWebLifecycleState|setDownloadBehavior|captureScreenshot|printToPDF)"
    r"|Browser\.(?:close|crash.*|set.*|grant.*|reset.*)"
    r"|Target\.(?:activateTarget|setAutoAttach|autoAttachRelated|setRemoteLocations|exposeDevToolsProtocol"
    r"|createBrowserContext|disposeBrowserContext|setDiscoverTargets)"
    r"|DOM\.(?:set|remove|move|copy|focus|scroll|undo|redo|discard).*|CSS\.(?:set|add|create).*"
    r"|Emulation\.(?!setFocusEmulationEnabled).*|Network\.(?:clear|delete|emulate|setCookie|setUserAgent|setBlocked).*"
    r"|Storage\..*|Runtime\.(?:enable|addBinding|terminateExecution)|Debugger\..*|Security\..*|Autofill\..*"
)
ACTS = re.compile(
    r"\.(?:click|focus|blur|submit|requestSubmit|reset|scroll\w*|dispatchEvent|(?:set|remove|toggle)Attribute\w*"
    r"|remove|append\w*|prepend|before|after|insert\w+|replace(?:With|Child|Children)|normalize|attachShadow"
    r"|showModal|close|play|pause|execCommand|write|writeln|open)\("
    r"|\.(?:innerHTML|outerHTML|textContent|innerText|nodeValue|value|checked|hidden|className|id|title|src|href)"
    r"\s*[-+*]?=[^=>]|\blocation\s*=[^=]|\.style\.\w+\s*=[^=]|\bclassList\.(?:add|remove|toggle)"
)
# What our own scripts call by such a name, and which does no such thing.
OURS = re.compile(r"\b(?:prose\.write|dom\.before|port1\.close)\(")
# A page's source that a script is given to work on is data, and nothing of it runs.
PAGES = re.compile(r'"<(?:[^"\\]|\\.)*"')

# What they write to is no page of anybody's, which a word of their own text tells: a document that DOMParser made of a
# saved page's source, and a replay, inert and in a tab of ours.
DETACHED = {"inert.js": "DOMParser", "grow.js": "replayed page", "outline.js": "a replay"}


@pytest.mark.proof
def test_no_frame_of_all_that_castlenb_does_is_one_that_a_guest_may_not_send(tmp_path: Path) -> None:
    with Stage() as stage:
        _everything(stage, tmp_path)
        assert len({frame["method"] for frame in stage.relay.said}) > 12, "hardly anything was done"
        made = {frame["id"] for frame in stage.relay.said if frame["method"] == "Target.createTarget"}
        ours = {
            frame["result"]["targetId"]
            for frame in stage.relay.heard
            if frame.get("id") in made and "targetId" in frame.get("result", {})
        }
        for frame in stage.relay.said:
            params = frame.get("params", {})
            assert not FORBIDDEN.fullmatch(frame["method"]), frame["method"]
            if frame["method"] == "Target.createTarget":
                assert params == {"url": params["url"], "background": True}
                assert re.fullmatch("about:blank#castlenb-[0-9a-f]{16}", params["url"])
            if frame["method"].startswith("Target.") and "targetId" in params:
                assert params["targetId"] in ours, f"{frame['method']} on a tab that is not ours"
            for script in _scripts(params):
                assert not (found := ACTS.search(OURS.sub("", PAGES.sub('""', script)))), found


def _everything(stage: Stage, folder: Path) -> None:
    """Each feature once, over the wire."""
    browser, more = stage.browser, {"pace": "off", "even_if_blocked": True, "deadline_s": 30.0}
    cn.search("coffee", browser=browser, num_results=20, recency="week", **more)
    cn.search("coffee", browser=browser, visibility="hidden", **more)
    stage.web.play("2026-08-04")
    assert cn.search("coffee", browser=browser, ai_answer=True, network=True, **more).answer is not None
    stage.web.play("goto")
    cn.search("coffee", browser=browser, num_results=2, **more).resolve_links()
    stage.web.play("instant")
    cn.compare("coffee", browser=browser, **more)
    cn.searches(["tea", "pots"], browser=browser, **more)
    saved = folder / "saved.html"
    saved.write_text("<!doctype html><title>x - Google</title><div id=rso></div><a href=https://www.google.com/>x</a>")
    cn.read(saved, engine="google", browser=browser)
    with cn.replay(saved.read_text(), engine="google", browser=browser) as opened:
        opened.read()
    for refusal in ("sorry", "empty", "endless-redirect", "stalled"):
        stage.web.play(refusal)
        with pytest.raises(cn.CastleError):
            cn.search("coffee", browser=browser, **{**more, "deadline_s": 3.0})
    stage.web.play("instant")
    for wild in ("dialogs", "a download by script"):
        with pytest.raises(cn.CastleError):
            cn.search(f"wild {wild}", browser=browser, **more)
    browser.cleared()


_detached = page.inert_expression("")[:200]


def _scripts(params: dict[str, Any]) -> Iterator[str]:
    for name in ("source", "expression", "functionDeclaration"):
        if name in params and not params[name].startswith(_detached):
            yield params[name]


@pytest.mark.parametrize(
    "script", sorted(Path(page.__file__).parent.glob("*.js")), ids=lambda script: script.name if script else ""
)
def test_no_page_script_writes_clicks_focuses_or_scrolls(script: Path) -> None:
    if script.name in DETACHED:
        assert DETACHED[script.name] in script.read_text("utf-8")
        return
    code = re.sub(r"^\s*(?://.*|/?\*.*)$", "", script.read_text("utf-8"), flags=re.MULTILINE)
    assert not (found := ACTS.search(OURS.sub("", code))), found
