"""Tables and comparisons as text: aligned, the same every time, and no stranger's words can bend them."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from castlenb.display import comparison_text, table_text

TARGET = "a.example/" + "long/" * 30


def target(name: str, **ranks: int | None) -> dict[str, Any]:
    return {"target": name, "url": f"https://www.{name}", "title": f"About {name}", "ranks": ranks}


def failure(message: str, human_url: str | None = None) -> dict[str, Any]:
    return {"engine": "brave", "message": message, "human_url": human_url}


def comparison(**other: Any) -> dict[str, Any]:
    return {
        "query": "tea",
        "engines": ("google", "bing", "brave"),
        "counts": {"google": 10, "bing": 1},
        "targets": [
            target("a.example/x", google=1, bing=1),
            target(TARGET, google=10, bing=None),
        ],
        "agreement": [
            {
                "engine_a": "google",
                "engine_b": "bing",
                "shared": 1,
                "either": 10,
                "jaccard": 0.1,
                "rank_correlation": None,
            }
        ],
        "warnings": [],
        "failures": [],
        **other,
    }


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    table = table_text(["n", "name", "share"], [[1, "one", 0.5], [10, None, None], [100, "a hundred", 1.0]])
    assert table.splitlines() == [
        "  n  name       share",
        "  1  one         0.50",
        " 10  -              -",
        "100  a hundred   1.00",
    ]
    assert table_text(["n", "name"], []) == "n  name"


def test_a_comparison() -> None:
    assert comparison_text(comparison()).splitlines() == [
        "'tea': google 10 results, bing 1 result",
        "",
        "Rank on each engine:",
        "google  bing  target",
        "     1     1  a.example/x",
        "    10     -  " + TARGET[:69] + "…",
        "",
        "Targets shared by two engines:",
        "              shared  of  jaccard  rank correlation",
        "google, bing       1  10     0.10                 -",
    ]


def test_what_is_not_there_takes_no_room() -> None:
    nothing = comparison(
        counts={}, targets=[], agreement=[], failures=[failure("bing, 'tea': no")], warnings=["google: x"]
    )
    assert comparison_text(nothing) == "'tea': no engine has results\n\nNote: google: x\n\nFailed: bing, 'tea': no"


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_no_words_break_a_line_or_steer_a_terminal(words: str) -> None:
    text, plain = (
        comparison_text(comparison(targets=[target(each, google=1, bing=1)], failures=[failure(each)]))
        for each in (words, "x")
    )
    assert text.count("\n") == plain.count("\n")
    assert "\x1b" not in text
    text.encode()
