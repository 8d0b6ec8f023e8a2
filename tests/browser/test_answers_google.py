"""Google's AI Overview in all its forms, and what each of them is told apart from."""

import pytest

import castlenb as cn

from . import google_pages
from .answer_pages import (
    LONG,
    MORE,
    card,
    chip,
    column,
    header,
    opened,
    overview,
    para,
    read,
    results,
    wrapped,
)
from .google_pages import page, row

PROGRESS = '<div role="progressbar" style="width:9px;height:9px"></div>'
SOURCES = f"<ul>{card('https://a.example/boil', 'On boiling', 'Kettles', 'Water boils when it is hot.')}</ul>"


class TestForms:
    def test_in_the_first_mark_up(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, results(overview(para(LONG) + para(MORE), SOURCES)))
        assert found["text"] == f"{LONG}\n\n{MORE}"
        assert (found["state"], found["settled_by"]) == ("settled", None)
        assert (found["label"], found["header"]) == ("Google AI Overview", "AI Overview")
        assert (found["language"], found["placement"]) == ("en", "top")
        assert [each["url"] for each in found["citations"]] == ["https://a.example/boil"]
        assert found["warnings"] == []

    def test_fetched_after_the_document(self, one_lab: cn.Lab) -> None:
        whole = overview(para(LONG), lazy=True, end='<div data-complete="true"></div>')
        assert [read(one_lab, results(whole))[key] for key in ("state", "settled_by")] == ["settled", "marker"]
        assert read(one_lab, results(whole))["markers"]["stream_end"]
        rest = read(one_lab, results(overview(para(LONG), lazy=True)))
        assert (rest["state"], rest["settled_by"]) == ("settled", None)

    def test_among_the_results(self, one_lab: cn.Lab) -> None:
        html = page(
            row("https://one.example/", "One") + overview(para(LONG), SOURCES, heading="h2"),
            row("https://two.example/", "Two"),
        )
        found = read(one_lab, html)
        assert (found["placement"], found["text"]) == ("inline", LONG)
        listed = google_pages.urls(google_pages.read(one_lab, html))
        assert listed == ["https://one.example/", "https://two.example/"]

    def test_at_the_head_of_the_results_it_is_at_the_top(self, one_lab: cn.Lab) -> None:
        html = page("<script>x()</script>" + overview(para(LONG)) + row("https://one.example/"))
        assert read(one_lab, html)["placement"] == "top"

    def test_of_february_2025(self, one_lab: cn.Lab) -> None:
        """No #m-x-content, no main column; sentences in spans; sources without a number."""

        def source(n: int) -> str:
            return (
                f'<li><div><div><a aria-label="Source {n}" href="https://s{n}.example/p#:~:text=Water%20boils"></a>'
                f"<div><div>Source {n}</div><span>A piece of its text that is long enough to be one, number {n}.</span>"
                f"<div><div>Site {n}</div></div></div></div></div></li>"
            )

        mark = '<div data-uuids="1"><div aria-label="View related links" role="button"><span></span></div></div>'
        hidden = '<div style="display:none">never</div>'
        prose = (
            f'<div><span data-huuid="1"><span>{LONG}</span><span> </span></span><span data-huuid="2"><span>{MORE}</span></span>'
            f'{mark}{hidden}</div><span data-huuid="3"><span role="heading" aria-level="2">Where it boils:</span></span>'
            '<ul><li><span data-huuid="4"><strong>Mountains</strong>: lower</span></li></ul>'
        )
        body = (
            f'<div jsname="V3qe9d">{header()}<div jsname="HKDuG"><div jsname="dvXlsc" data-rl="en">{prose}</div>'
            f'<div jsname="EVe5O"><ul>{source(1)}{source(2)}<li><div role="button">Show all</div></li></ul></div></div></div>'
        )
        found = read(
            one_lab, results(f'<div id="eKIzJc"><h1>AI Overview</h1><div data-subtree="mfc">{body}</div></div>')
        )
        assert found["text"] == f"{LONG} {MORE}\n\n## Where it boils:\n\n- Mountains: lower"
        assert [(each["title"], each["site"], each["url"]) for each in found["citations"]] == [
            ("Source 1", "Site 1", "https://s1.example/p"),
            ("Source 2", "Site 2", "https://s2.example/p"),
        ]
        assert found["citations"][0]["fragment"] == "Water%20boils"

    def test_without_cards_a_link_in_the_prose_is_the_source(self, one_lab: cn.Lab) -> None:
        prose = (
            f'<div><span data-huuid="1">{LONG} <a href="https://stat.example/n">The office</a> says so.</span></div>'
        )
        found = read(one_lab, results(wrapped(f'<div jsname="HKDuG"><div jsname="dvXlsc">{prose}</div></div>')))
        assert found["text"] == f"{LONG} The office says so."
        [citation] = found["citations"]
        assert (citation["title"], citation["url"], citation["site"]) == (
            "The office",
            "https://stat.example/n",
            "stat.example",
        )

    def test_in_another_language_than_the_page(self, one_lab: cn.Lab) -> None:
        assert read(one_lab, results(overview(para("El agua hierve antes."), lang="es")))["language"] == "es"

    def test_marks_that_change_leave_others_to_find_it_by(self, one_lab: cn.Lab) -> None:
        whole = results(overview(para(LONG), SOURCES))
        for lost in (
            'data-container-id="main-col"',
            'data-subtree="aimc"',
            'jsname="dvXlsc" data-rl="en"',
        ):
            whole = whole.replace(lost, "")
            assert read(one_lab, whole)["text"] == LONG, lost
        whole = whole.replace('id="m-x-content"', "").replace('data-subtree="mfc"', "")
        assert (read(one_lab, whole)["text"], read(one_lab, whole)["warnings"]) == (LONG, [])

    def test_of_the_autumn_of_2026(self, one_lab: cn.Lab) -> None:
        """No <h1>; a hidden heading over the prose; names in boxes; links beside the marks; controls under the prose."""
        clip = "position:absolute;clip:rect(1px,1px,1px,1px);height:1px;width:1px;overflow:hidden"
        name = '<div style="display:inline"><span><a role="button" href="/search?q=x">soft eggs</a></span><div style="display:inline"></div></div>'
        prose = (
            f'<div><span><span>For </span>{name} boil them <mark data-icl-uuid="u1"><strong>6 minutes</strong></mark>.</span>'
            f"{chip('Kettles +1', 'u1', 'https://k.example/', 'Kettles (+1) – On eggs. Related results')}</div>"
            '<div role="heading" aria-level="3">Peeling</div><ul><li><span>Peel gently.</span></li></ul>'
            '<div data-subtree="aimba"><span>Good answer</span></div>'
            '<div data-xid="Gd7Hsc"><span>Copy text</span></div><div data-ignore-copy=""><p>Copied</p></div>'
            '<div role="status">Copied to clipboard</div>'
        )
        body = (
            f'<div data-subtree="aimc"><h3 style="{clip}">AI Mode replied:</h3><div data-container-id="main-col">{prose}</div>'
            f'<div data-container-id="rhs-col">{card("https://k.example/", "On eggs")}</div></div>'
        )
        top = '<div role="heading" aria-level="2">AI Overview</div>'
        found = read(one_lab, results(f'<div id="eKIzJc"><div jsname="V3qe9d">{top}{body}</div></div>'))
        assert found["text"] == "For soft eggs boil them 6 minutes.\n\n### Peeling\n\n- Peel gently."
        assert (found["header"], found["warnings"]) == ("AI Overview", [])
        assert [each["citations"] for each in found["claims"]] == [[1]]
        without = results(f'<div jsname="V3qe9d">{top}{body.replace(" data-container-id=", " data-c=")}</div>')
        found = read(one_lab, without)
        assert found["text"].startswith("For soft eggs boil them 6 minutes.")
        assert any("found nothing" in warning for warning in found["warnings"])


class TestStates:
    def test_absent(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, results(""))
        assert (found["state"], found["text"], found["placement"]) == ("absent", None, None)
        assert not any(found["wrapper"].values())

    def test_loading(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, results(wrapped(PROGRESS, words="<span>Thinking</span><span>Searching</span>")))
        assert (found["state"], found["text"]) == ("loading", None)

    def test_half_of_it(self, one_lab: cn.Lab) -> None:
        """Prose stands there already while a bar says that there is more to come."""
        found = read(one_lab, results(wrapped(column(para(LONG)) + f'<div aria-hidden="true">{PROGRESS}</div>')))
        assert (found["state"], found["text"]) == ("growing", LONG)

    def test_half_of_a_saved_one_was_cut_by_no_budget(self, one_lab: cn.Lab) -> None:
        html = results(wrapped(column(para(LONG)) + f'<div aria-hidden="true">{PROGRESS}</div>'))
        found = google_pages.read(one_lab, html)
        assert found.answer is not None
        assert (found.answer.state, found.warnings) == ("growing", ())

    def test_a_place_that_is_held_for_more(self, one_lab: cn.Lab) -> None:
        """What stands for the prose until it is there, without a bar."""
        ghost = '<div id="u_folsrch-ghost-1"><div style="height:99px"></div></div>'
        assert read(one_lab, results(wrapped(ghost)))["state"] == "loading"
        found = read(one_lab, results(wrapped(column(para(LONG)) + ghost)))
        assert (found["state"], found["text"]) == ("growing", LONG)

    def test_a_bar_that_is_put_away_says_nothing(self, one_lab: cn.Lab) -> None:
        rest = f'<div style="display:none">{PROGRESS}</div>'
        assert read(one_lab, results(wrapped(column(para(LONG)) + rest)))["state"] == "settled"

    def test_a_place_that_is_filled_later(self, one_lab: cn.Lab) -> None:
        """Places of the prose are filled from the end of the document: with none filled behind it, it is cut."""
        empty, full = (
            '<div style="display:contents" id="sdh_x_{n}"></div>',
            f'<div style="display:contents" id="sdh_x_2">{para(MORE)}</div>',
        )
        cut = read(one_lab, results(overview(f"<ul><li>{LONG}{empty.format(n=1)}</li></ul>")))
        assert (cut["state"], cut["text"]) == ("growing", f"- {LONG}")
        whole = read(one_lab, results(overview(para(LONG) + empty.format(n=1) + full)))
        assert (whole["state"], whole["text"]) == ("settled", f"{LONG}\n\n{MORE}")

    def test_declined(self, one_lab: cn.Lab) -> None:
        """The wrapper itself is hidden then."""
        inside = f'<div id="B2Jtyd" data-async-type="folsrch">{header(unavailable=True)}<div style="display:none">{PROGRESS}</div></div>'
        found = read(one_lab, results(f'<div id="eKIzJc" style="display:none">{inside}</div>'))
        assert (found["state"], found["text"], found["citations"]) == ("declined", None, [])

    def test_declined_is_not_said_of_a_page_with_prose(self, one_lab: cn.Lab) -> None:
        """Saved without its style sheets, a page shows every string that it keeps ready."""
        body = header(unavailable=True) + column(para(LONG))
        found = read(one_lab, results(f'<div id="eKIzJc"><div id="m-x-content">{body}</div></div>'))
        assert (found["state"], found["text"]) == ("settled", LONG)

    def test_offered(self, one_lab: cn.Lab) -> None:
        button = '<div jsname="B76aWe" role="button">Generate</div>'
        found = read(one_lab, results(f'<div id="eKIzJc"><div>Get an AI-powered overview? {button}</div></div>'))
        assert (found["state"], found["text"]) == ("offered", None)


class TestDrift:
    def test_hooks_in_two_places(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, results(overview(para(LONG)) + '<div data-subtree="mfc">else</div>'))
        assert found["text"] == LONG
        assert any("different places" in warning for warning in found["warnings"])

    def test_only_the_less_trusted(self, one_lab: cn.Lab) -> None:
        found = read(one_lab, results(overview(para(LONG)).replace('id="eKIzJc"', "")))
        assert found["text"] == LONG
        assert any("#eKIzJc found nothing" in warning for warning in found["warnings"])

    def test_prose_that_the_walk_leaves_out(self, one_lab: cn.Lab) -> None:
        """Were a whole paragraph laid out as a card is, the text would lack it: that is said."""
        laid = f'<div><a href="https://a.example/" aria-label="More"></a><p>{LONG} {MORE}</p></div>'
        found = read(one_lab, results(overview(para("Short.") + laid)))
        assert found["text"] == "Short."
        assert any("of about" in warning for warning in found["warnings"])


@pytest.mark.parametrize("words", ["Visión general creada por IA", "AI 摘要", "Обзор от ИИ", ""])
def test_the_heading_is_recorded_and_never_matched(one_lab: cn.Lab, words: str) -> None:
    found = read(one_lab, results(overview(para(LONG), words=words)))
    assert (found["state"], found["text"], found["header"]) == ("settled", LONG, words or None)


def test_the_page_is_only_looked_at(one_lab: cn.Lab) -> None:
    with opened(one_lab, results(overview(para(LONG), SOURCES))) as evaluate:
        assert evaluate(
            "(() => { const whole = () => document.documentElement.outerHTML; const before = whole();"
            "answers.probe(); answers.answer(); answers.probe([]); return whole() === before })()"
        )
