"""The container that holds something else is never taken for an answer, at whatever instant it is read.

Field notes, 2026-08-04: 28,864 characters under the answer's own id at 1502 ms, prose of 142 at 1752.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

import castlenb as cn
from castlenb import bridge
from castlenb import page as scripts
from castlenb.engines import ENGINES
from castlenb.lab import Step, content, scenario

pytestmark = pytest.mark.proof

QUERY = "how tall is it"
GOOGLE = ENGINES["google"]
FIELD = scenario("2026-08-04", "google")
SHELL = content.prose(QUERY, 28_864, "shell")
ANSWER = content.prose(QUERY, 903, "answer")

# Runs in a world of its own from the first document on; nothing of castlenb's but the reader is at work there.
READ = f"""(() => {{ if (location.href === "about:blank" || window !== window.top) return;
  const spec = {json.dumps(GOOGLE.spec())};
  const answers = {scripts.answers_expression(GOOGLE.spec())};
  globalThis.readings = [];
  const read = () => {{
    try {{
      const probe = answers.probe();
      const {{ state, text, chars, citations }} = answers.answer();
      const held = document.getElementById("m-x-content")?.textContent.length || 0;
      readings.push({{ t: performance.now(), probe: [probe.state, probe.chars], state, text, chars, citations, held }});
    }} catch (error) {{
      readings.push({{ error: String(error) }});
    }}
  }};
  read();
  setInterval(read, 20);
}})()"""


def readings(lab: cn.Lab) -> list[dict[str, Any]]:
    """What the reader said every 20 ms, from the first byte of the page until its answer is whole."""
    script = {"source": READ, "worldName": "reading"}

    async def watch() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        prepare = [("Page.addScriptToEvaluateOnNewDocument", script)]
        async with lab.browser.slot(), lab.browser.tab(prepare=prepare) as tab, asyncio.timeout(120):
            await tab.navigate(GOOGLE.search_url(QUERY, ai_answer=True), timeout=60)
            while not found or found[-1]["probe"][0] != "settled":
                await asyncio.sleep(0.1)
                context = await tab.world("reading")
                found += json.loads(
                    await tab.session.evaluate("JSON.stringify(readings.splice(0))", context_id=context)
                )
        return found

    return bridge.run(watch())


def pieces(text: str) -> set[str]:
    """Every run of eight words."""
    words = text.split()
    return {" ".join(words[n : n + 8]) for n in range(len(words) - 7)}


def test_no_reading_holds_a_word_of_it(lab: cn.Lab) -> None:
    lab.play("2026-08-04")
    seen = readings(lab)
    assert not [each["error"] for each in seen if "error" in each]
    shell_alone = pieces(SHELL) - pieces(ANSWER)
    assert len(shell_alone) > 100
    for each in seen:
        text = " ".join((each["text"] or "").split())
        assert not pieces(text) & shell_alone, each
        assert ANSWER.startswith(text[:-1]), each  # where a piece ends between words, the lab puts a stop
        assert max(len(text), each["chars"], each["probe"][1]) <= len(ANSWER) * 1.1, each
        assert bool(text) == (each["state"] in ("growing", "settled")), each
        assert text or not each["citations"], each
    held = [each for each in seen if each["held"] > 28_000]
    assert len(held) >= 3, "the shell was there, and read"
    assert {(each["state"], each["probe"][0], each["text"]) for each in held} == {("shell", "shell", None)}
    assert " ".join(seen[-1]["text"].split()) == ANSWER
    assert len({each["text"] for each in seen if each["text"]}) >= 3, "it was read while it grew"


@pytest.mark.parametrize("budget_s", [1.4, 1.7, 2.0, 2.5, 3.0])
def test_a_budget_that_ends_with_it_returns_no_text(lab: cn.Lab, budget_s: float) -> None:
    """The same page with a shell that stays longer, so that no machine is too slow to be in time."""
    shell, *rest = FIELD.answer or ()
    later = tuple(Step(each.at_ms + 6000, each.part, chars=each.chars) for each in rest)
    lab.play(replace(FIELD, name="a long shell", answer=(shell, *later)))  # type: ignore[arg-type]
    page = cn.search(QUERY, ai_answer=True, budget_s=budget_s, deadline_s=60, browser=lab.browser)
    answer = page.answer
    assert answer is not None
    assert (answer.state, answer.settled_by, answer.text) == ("shell", None, None)
    assert answer.citations.empty
    assert answer.timings["ai_shell_ms"] is not None
    assert answer.timings["ai_appear_ms"] is None
    assert len(page) == 10
