"""In JupyterLab itself: the panel is used, hostile words stay words, and each display is photographed, light and dark.

The pictures are left in ``build/screenshots``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

import castlenb as cn

from . import jupyterlab
from .jupyterlab import Page

pytestmark = pytest.mark.proof

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "build" / "screenshots"
QUERY = "cold brew at home"

DISPLAYS = """
import castlenb as cn
from IPython.display import display
browser = cn.connect({target!r})
display(cn.search({query!r}, ai_answer=True, browser=browser))
display(cn.search({query!r}, ai_answer=True, browser=browser).answer)
display(cn.compare({query!r}, engines=["google", "bing", "duckduckgo", "brave"], browser=browser))
display(cn.searches([{query!r}, "refused"], num_results=4, browser=browser))
display(browser)
display(cn.Capture.load({data!r} + "/captures/lab-google.capture.gz"))
kept = [{data!r} + f"/captures/lab-{{name}}.capture.gz" for name in ("google", "google-unparseable", "bing")]
display(cn.verify(captures=kept, browser=browser))
display(cn.study.Run.load({data!r} + "/runs/lab-2026-11-30.jsonl"))
browser.cleared()  # or the cells below would be refused as well
"""
PANEL = "panel = cn.panel({query!r}, engines=['google', 'bing'], browser=browser)\npanel"
HOSTILE = r"""
from dataclasses import replace
from ipywidgets import HTML
bad = ('<img src=x onerror="window.pwned=1">"\'><script>window.pwned=2</script> from $200 to $700, \\(x^2\\) '
       '\u202egpj.exe\u202c \ud800 javascript:window.pwned=3 </div></ol>{{ 7 * 7 }} ') + "long " * 200_000
whole = bad.replace("\ud800", "")  # as what comes from a page is
page = cn.search("tea", num_results=3, ai_answer=True, browser=browser)
urls = ['javascript:window.pwned=4', 'https://e.example/"onmouseover="window.pwned=5', whole]
rows = tuple({**row, "title": whole, "snippet": whole, "site": whole, "date": whole, "url": url, "link": url}
             for row, url in zip(page.records, urls))
answer = replace(page.answer, label=bad, text=bad, warnings=(bad,),
                 records=tuple({**each, "title": bad, "url": urls[0], "site": bad} for each in page.answer.records))
page = replace(page, records=rows, answer=answer, query=bad, warnings=(bad,))
run = cn.study.Run.load("DATA/runs/lab-2026-11-30.jsonl")
words = {name: whole for name in ("query", "engine", "vantage", "error_message")}
run = replace(run, trials=run.trials.assign(**words), runs=run.runs.assign(chrome=whole, vantage=whole, pace=whole))
kept = cn.Capture.load("DATA/captures/lab-bing.capture.gz")
checked = cn.verify(captures="DATA/captures/lab-google-unparseable.capture.gz", browser=browser)
words = [{**each.found, "sample": bad, "where": bad} for each in checked.pages[0].checks]
checks = tuple(replace(each, found=found, why=bad) for each, found in zip(checked.pages[0].checks, words))
kept = replace(kept, query=bad, url=urls[0], chrome=bad, found={"page_state": bad, "answer_state": bad},
               redacted=({"what": bad, "where": bad, "count": 1},) * 50)
error = cn.SearchChallengeError("sorry", "google", bad, urls[0], bad, human_url=urls[0])
display(page, page.answer, cn.Comparison((page,), {("bing", bad): error}, bad, ("google", "bing")),
        cn.Searches((page,), {("bing", bad): error}), HTML(page._repr_html_()))  # the widget that the panel uses
display(run, kept, replace(checked, pages=(replace(checked.pages[0], name=bad, url=urls[0], checks=checks),),
                           failures={bad: error}))
"""
PWNED = """new Promise(done => {
    for (const link of document.querySelectorAll('.castlenb a')) link.dispatchEvent(new MouseEvent('mouseover'));
    setTimeout(() => done(window.pwned ?? 0), 500) })"""
SESSION = "jupyterapp.shell.currentWidget?.sessionContext"
TYPESET = "document.querySelectorAll('.castlenb mjx-container, .castlenb .MathJax, .castlenb .katex').length"
SCRIPTS = "[...document.querySelectorAll('.castlenb a')].filter(a => !/^https?:$/.test(a.protocol)).map(a => a.href)"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, cn.Lab, Path]]:
    folder = tmp_path_factory.mktemp("jupyterlab")
    with cn.Lab() as lab:
        lab.play("sorry", query="refused")
        data = str(ROOT / "data")
        cells = [each.format(target=lab.web.target, query=QUERY, data=data) for each in (DISPLAYS, PANEL)]
        with (
            jupyterlab.server(folder, [*cells, HOSTILE.replace("DATA", data)]) as address,
            jupyterlab.page(lab.web.target) as page,
        ):
            page.go(f"{address}/doc/tree/test.ipynb")
            page.until("document.querySelectorAll('.jp-CodeCell').length === 3", "the notebook did not open")
            page.until("window.jupyterapp?.commands.hasCommand('notebook:run-all-cells')", "JupyterLab is not ready")
            # Under load it asks which kernel, though the notebook says which.
            page.until(
                f"{SESSION}?.session?.kernel?.status === 'idle' || document.querySelector('.jp-Dialog .jp-mod-accept')",
                "there is no kernel",
            )
            page.js("document.querySelector('.jp-Dialog .jp-mod-accept')?.click()")
            page.until(f"{SESSION}?.session?.kernel?.status === 'idle'", "there is no kernel")
            page.command("notebook:run-all-cells")
            page.until("document.querySelectorAll('.jp-InputPrompt')[2].innerText === '[3]:'", "it did not run")
            yield page, lab, folder


def test_the_panel_searches_and_shows_rows(here: tuple[Page, cn.Lab, Path]) -> None:
    page, lab, _ = here
    expected = cn.search(QUERY, browser=lab.browser).results["title"].tolist()
    page.click("Search")
    panel = "document.querySelectorAll('.jp-CodeCell')[1]"
    page.until(f"{panel}.querySelectorAll('ol.castlenb-hits').length === 2", "no results")
    titles = f"[...{panel}.querySelector('ol.castlenb-hits').querySelectorAll('.castlenb-title')].map(e => e.innerText)"
    assert page.js(titles) == expected
    page.click("Keep this page")
    page.until(f"{panel}.innerText.includes('Kept: panel.kept[0]')", "it was not kept")


def test_every_display_light_and_dark(here: tuple[Page, cn.Lab, Path]) -> None:
    page, *_ = here
    names = ["search", "answer", "comparison", "searches", "browser", "capture", "verification", "run"]
    for theme in ("Light", "Dark"):
        page.command("apputils:change-theme", f"{{theme: 'JupyterLab {theme}'}}")
        page.until(f"document.body.dataset.jpThemeName === 'JupyterLab {theme}'", "the theme did not change")
        page.js("new Promise(done => setTimeout(done, 1000))")  # while the style sheets come
        ink = page.js("getComputedStyle(document.querySelector('.castlenb-title')).color")
        channels = [int(each) for each in ink.removeprefix("rgb(").removeprefix("rgba(").rstrip(")").split(",")[:3]]
        assert (sum(channels) / 3 > 128) is (theme == "Dark"), f"{ink} can not be read on {theme}"
        for number, name in enumerate(names):
            page.shot(SHOTS / f"{name}-{theme.lower()}.png", ".jp-CodeCell:first-of-type .castlenb", number)
        page.shot(SHOTS / f"panel-{theme.lower()}.png", ".jp-CodeCell .jp-OutputArea-output > .widget-vbox", 0)
    assert all((SHOTS / f"{name}-dark.png").stat().st_size > 2000 for name in (*names, "panel"))


def test_hostile_words_stay_words(here: tuple[Page, cn.Lab, Path]) -> None:
    page, _, folder = here
    hostile = "document.querySelectorAll('.jp-CodeCell')[2]"
    page.until(f"{hostile}.querySelectorAll('.castlenb').length === 8", page.js(f"{hostile}.innerText")[-3000:])
    assert page.js(PWNED) == 0
    assert page.js(TYPESET) == 0
    assert page.js(SCRIPTS) == []
    assert page.js(f"{hostile}.innerText.includes('<img src=x onerror=')")
    assert not page.js(f"{hostile}.innerText.includes(' 49 ')")
    assert page.js(f"{hostile}.offsetHeight") < 9000, "it fills the notebook"
    assert page.js("Math.max(...[...document.querySelectorAll('.castlenb')].map(e => e.scrollWidth))") <= 1280
    page.shot(SHOTS / "hostile.png", ".jp-CodeCell:nth-of-type(3) .castlenb", 0)

    page.command("docmanager:save")
    page.until("jupyterapp.shell.currentWidget.context.model.dirty === false", "it was not saved")
    notebook = nbformat.read(folder / "test.ipynb", as_version=4)
    assert notebook.cells[2].outputs, "the outputs were not saved"
    html, _ = HTMLExporter().from_notebook_node(notebook)
    page.go("about:blank")
    page.fill(html)
    page.until("document.querySelectorAll('.castlenb').length >= 15", "not shown")
    assert page.js(PWNED) == 0
    assert page.js(SCRIPTS) == []
    assert page.js("document.body.innerText.includes('<img src=x onerror=')")
