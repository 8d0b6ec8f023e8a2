"""The prose of an answer as plain text: what is written of it, and what is left out."""

import pytest

import castlenb as cn

from .answer_pages import LONG, MORE, asked, card, chip, overview, para, read, results


def text(lab: cn.Lab, prose: str, head: str = "") -> str | None:
    """What is read of an answer with that prose."""
    found: str | None = read(lab, results(overview(prose), head=head))["text"]
    return found


class TestWritten:
    def test_paragraphs_and_line_breaks(self, one_lab: cn.Lab) -> None:
        prose = para("One.") + "<p>Two,<br>three.</p><div>Four <b>and</b> <i>five</i>.</div>"
        assert text(one_lab, prose) == "One.\n\nTwo,\nthree.\n\nFour and five."

    def test_headings_by_element_and_by_role(self, one_lab: cn.Lab) -> None:
        prose = (
            "<h2>First</h2>a<h3>Second</h3>b"
            '<div role="heading" aria-level="4">Third</div>c<span><span role="heading">Fourth</span></span>d'
        )
        assert text(one_lab, prose) == "## First\n\na\n\n### Second\n\nb\n\n#### Third\n\nc\n\n### Fourth\n\nd"

    def test_lists_in_lists(self, one_lab: cn.Lab) -> None:
        prose = (
            "<ul><li>Tea<ul><li>green</li><li>black<ol><li>hot</li><li>iced</li></ol></li></ul></li>"
            '<div style="display:contents"><li><p>Coffee</p><p>is more work.</p></li></div></ul>'
            '<ol start="7"><li>seven</li><li>eight</li></ol>'
        )
        assert text(one_lab, prose) == (
            "- Tea\n  - green\n  - black\n    1. hot\n    2. iced\n- Coffee\n  is more work.\n7. seven\n8. eight"
        )

    def test_tables(self, one_lab: cn.Lab) -> None:
        prose = (
            "<table><tr><th>Place</th><th>Boils at</th></tr><tr><td>Sea</td><td>100 °C</td></tr>"
            "<tr><td><p>Peak</p><p>(high)</p></td><td>70|75 °C</td></tr></table>"
        )
        assert text(one_lab, prose) == (
            "| Place | Boils at |\n| --- | --- |\n| Sea | 100 °C |\n| Peak (high) | 70\\|75 °C |"
        )

    def test_a_table_of_one_column_is_a_layout(self, one_lab: cn.Lab) -> None:
        assert text(one_lab, "<table><tr><td><p>One.</p></td></tr><tr><td>Two.</td></tr></table>") == "One.\n\nTwo."

    def test_quotations(self, one_lab: cn.Lab) -> None:
        assert text(one_lab, "<blockquote><p>Said.</p></blockquote>after") == "> Said.\n\nafter"

    @pytest.mark.parametrize(
        "box",
        [
            '<div><div><div>python</div><pre><code>{}</code></pre></div><div><div>Use code with caution.</div><div><button aria-label="Copy"></button></div></div></div>',
            "<pre><div><h5>Python</h5><button>Copy code</button></div><code>{}</code></pre>",
            "<pre>{}</pre>",
        ],
    )
    def test_code_without_what_stands_around_it(self, one_lab: cn.Lab, box: str) -> None:
        code = "<span>def</span> boil(t):\n    <span>return</span> t &gt; 100"
        found = text(one_lab, para("Like this:") + box.format(code) + para("That is all."))
        assert found == "Like this:\n\n```\ndef boil(t):\n    return t > 100\n```\n\nThat is all."

    def test_code_in_a_sentence(self, one_lab: cn.Lab) -> None:
        assert text(one_lab, para("Call <code>boil()</code> once.")) == "Call boil() once."

    def test_formulas_once_and_on_one_line(self, one_lab: cn.Lab) -> None:
        water = (
            '<math><semantics><mrow><msub><mi>H</mi><mn>2</mn></msub><mi>O</mi></mrow><annotation encoding="text/plain">'
            "cap H sub 2 cap O</annotation></semantics></math>"
        )
        price = '<math><semantics><mrow><mo>$</mo><mn>600</mn></mrow><annotation style="display:none">$ 600</annotation></semantics></math>'
        drawn = '<div style="display:inline-block"><img role="presentation"><div style="opacity:.001">{}</div></div>'
        prose = para(f"Water ({drawn.format(water)}) costs {drawn.format(price)} a ton.")
        assert text(one_lab, prose) == "Water (H2O) costs $600 a ton."

    def test_formulas_of_every_make(self, one_lab: cn.Lab) -> None:
        made = (
            "<mrow><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow>"
            "<msqrt><mi>b</mi></msqrt></mfrac><mo>→</mo><msub><mi>y</mi><mi>i</mi></msub></mrow>"
        )
        assert text(one_lab, para(f"So <math>{made}</math>.")) == "So x^2 = (a + 1)/(√b) → y_i."

    def test_a_formula_that_is_drawn_beside_its_mathml(self, one_lab: cn.Lab) -> None:
        hidden = "position:absolute;clip:rect(1px,1px,1px,1px);height:1px;width:1px;overflow:hidden"
        twice = (
            f'<span class="katex"><span style="{hidden}"><math><mi>E</mi></math></span>'
            '<span aria-hidden="true"><span>E</span></span></span>'
        )
        assert text(one_lab, para(f"Here {twice} is energy.")) == "Here E is energy."

    def test_a_formula_of_which_there_is_only_its_source(self, one_lab: cn.Lab) -> None:
        """Drawn as glyphs; as MathML, where there is any, it is read from that."""

        def glyph(source: str, more: str = "") -> str:
            return (
                f'<div style="display:inline-block"><img aria-hidden="true" data-xpm-latex="{source}">{more}'
                '<svg aria-hidden="true"><text>x</text></svg></div>'
            )

        parts = glyph("O(") + glyph("n ")
        whole = rf'<span data-xpm-copy-root="" data-xpm-latex="O(n \log n)">{parts}</span>'
        twice = glyph("E", "<div><math><mi>E</mi></math></div>")
        price = glyph(r"\$6")
        prose = para(f"It takes {whole}, or {price}, for {twice}.")
        assert text(one_lab, prose) == r"It takes O(n \log n), or $6, for E."

    def test_names_that_are_links_or_buttons(self, one_lab: cn.Lab) -> None:
        prose = para(
            'In <a href="https://www.google.com/search?q=nepal">Nepal</a> a <button>kettle</button> '
            'on <span role="button" tabindex="0">Everest</span> boils early.'
        )
        found = read(one_lab, results(overview(prose)))
        assert found["text"] == "In Nepal a kettle on Everest boils early."
        assert found["citations"] == []

    def test_a_name_that_is_a_block_of_its_own(self, one_lab: cn.Lab) -> None:
        name = (
            '<a role="button" href="https://www.google.com/search?q=x"><div><span data-huuid="1"><strong>Key West:</strong></span></div>'
            '<span style="opacity:0">.</span><span style="position:absolute;clip:rect(1px,1px,1px,1px)">Opens in new tab</span></a>'
        )
        assert text(one_lab, f"<ul><li><div>{name}<div>An island.</div></div></li></ul>") == "- Key West:\n  An island."

    def test_prose_that_is_folded_away(self, one_lab: cn.Lab) -> None:
        """aria-hidden, cut off by a height, or faded in: it is prose."""
        prose = f'<div style="height:0;overflow:hidden" aria-hidden="true"><p style="opacity:.2">{LONG}</p></div>'
        assert text(one_lab, prose) == LONG

    def test_a_column_that_waits_for_its_scripts(self, one_lab: cn.Lab) -> None:
        html = f'<div style="visibility:hidden">{overview(para(LONG))}</div>'
        assert read(one_lab, results(html))["text"] == LONG

    def test_a_paragraph_in_boxes_that_break_nothing(self, one_lab: cn.Lab) -> None:
        prose = para('<div style="display:contents">The air</div> is <div style="display:inline">thin</div>.')
        assert text(one_lab, prose) == "The air is thin."


class TestLeftOut:
    def test_marks_of_sources(self, one_lab: cn.Lab) -> None:
        prose = para(f"Water boils{chip('Kettles +2')}.") + para(f"At last.{chip('Tea', 'u2')}")
        assert text(one_lab, prose) == "Water boils.\n\nAt last."

    def test_small_numbers_that_lead_somewhere(self, one_lab: cn.Lab) -> None:
        prose = para('It boils<sup><a href="https://a.example/">1</a></sup> at 10<sup>2</sup> degrees.')
        assert text(one_lab, prose) == "It boils at 102 degrees."

    def test_cards_among_the_prose(self, one_lab: cn.Lab) -> None:
        cards = f'<div role="list">{card("https://a.example/", "A title", "A site", "A snippet.")}</div>'
        unmarked = cards.replace('data-src-id="1"', "")
        for each in (cards, unmarked):
            assert text(one_lab, para(LONG) + each + para(MORE)) == f"{LONG}\n\n{MORE}"

    def test_a_video_and_its_caption(self, one_lab: cn.Lab) -> None:
        thumb = '<div role="button"><img alt=""><div><span>1m</span></div><video></video></div>'
        said = "<div><img alt=''><div>A channel</div><div>YouTube • May 13, 2015</div></div>"
        beside = f'<div><div>{thumb}</div><a href="https://video.example/w?v=1"><div>{said}</div></a></div>'
        inside = f'<a href="https://video.example/w?v=1"><div><div>{thumb}</div>{said}</div></a>'
        for video in (beside, inside):
            found = read(one_lab, results(overview(para(f"This video shows it:{video}") + para(MORE))))
            assert found["text"] == f"This video shows it:\n\n{MORE}"
            assert [(each["title"], each["site"]) for each in found["citations"]] == [("A channel", "YouTube")]

    def test_what_lies_over_the_page_or_steers_it(self, one_lab: cn.Lab) -> None:
        prose = (
            '<div role="dialog">Thank you</div><div role="tooltip">Tip</div><ul role="menu"><li>Export</li></ul>'
            '<div><button>Copy</button><div role="button">Show all</div></div><textarea>typed</textarea>'
            f"<script>run()</script><style>p{{}}</style><figure><img><figcaption>A kettle</figcaption></figure>{para(LONG)}"
        )
        assert text(one_lab, prose) == LONG

    def test_what_is_never_seen(self, one_lab: cn.Lab) -> None:
        prose = (
            '<div style="display:none">none</div><div hidden>hidden</div><div class="x">by a rule</div>'
            '<span style="visibility:hidden">veiled</span>'
            '<span style="position:absolute;width:1px;height:1px;overflow:hidden">for readers aloud</span>'
            f'<span style="position:absolute;clip-path:inset(50%)">clipped</span>{para(LONG)}'
        )
        assert text(one_lab, prose, head="<style>.x{display:none}</style>") == LONG

    def test_a_box_that_is_placed_is_not_clipped(self, one_lab: cn.Lab) -> None:
        prose = f'<div style="position:absolute;clip:rect(0px,400px,200px,0px)">{LONG}</div>'
        assert text(one_lab, prose) == LONG

    @pytest.mark.parametrize("words", ["AI responses may include mistakes. ", "KI-Antworten können Fehler enthalten. "])
    def test_the_warning_in_any_language(self, one_lab: cn.Lab, words: str) -> None:
        link = '<a href="https://support.google.com/websearch?p=ai_overviews">Learn more</a>'
        assert text(one_lab, para(LONG) + f"<div>{words}{link}</div>") == LONG


@pytest.mark.proof
def test_a_page_as_deep_as_a_script_can_make_it(one_lab: cn.Lab) -> None:
    """The parser stops at 512; scripts do not. Run in our world, which has the same tree."""
    deep = (
        "(() => { let at = document.querySelector('[data-container-id=main-col]'); for (let n = 0; n < 9000; n++) {"
        "const box = document.createElement('div'); at.appendChild(box); at = box; } at.textContent = 'At the bottom.';"
        "return [answers.probe().state, answers.answer().text]; })()"
    )
    state, said = asked(one_lab, results(overview(para(LONG))), deep)
    assert state in ("growing", "settled")
    assert said == f"{LONG}\n\nAt the bottom."
