"""Hooks as data: what each says of itself, changing them, and the file in which a user sets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from castlenb import cli, engines
from castlenb.engines import ENGINES, Engine, EngineError, engine
from castlenb.engines.base import PLACES, Hook, kind_of
from castlenb.engines.overrides import FILE, overrides, overrides_file
from castlenb.selectors import Repair
from castlenb.selectors.repair import Trial

SCRIPTS = Path(engines.__file__).parents[1] / "page"


@pytest.fixture
def own_file() -> Iterator[Path]:
    file = overrides_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    yield file
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("each", ENGINES.values(), ids=list(ENGINES))
def test_all_that_is_relied_on_can_be_checked(each: Engine) -> None:
    every = each.checked()
    assert set(each.hooks) < set(every)
    assert {hook.css for hook in every if hook.part == "refusal"} == {
        sign for rule in each.refusals for sign in ([rule.address] if rule.address else rule.css) if sign
    }
    for hook in every:
        assert hook.evidence
        assert re.fullmatch(r"20\d\d-\d\d", hook.held[0]), hook
        assert hook.held[0] <= hook.held[1]
        least, most = hook.expected
        assert least >= 0
        assert most is None or most >= max(least, 1)


@pytest.mark.parametrize("each", ENGINES.values(), ids=list(ENGINES))
def test_kinds_say_what_a_selector_holds_on_to(each: Engine) -> None:
    for hook in each.hooks:
        signs = {"id": "#|id[$^*~]?=", "class": r"\.|class", "attribute": r"\[", "aria": r"\[(role|aria)|complementary"}
        assert re.search(signs.get(hook.kind, "."), hook.css), hook


def test_no_script_names_an_engines_markup() -> None:
    """Attributes and roles of HTML and ARIA, and our own marks on copies, are all they know."""
    ours = {"data-inert-src", "data-castlenb-answer"}
    for script in SCRIPTS.glob("*.js"):
        code = re.sub(r"//.*", "", script.read_text())
        assert set(re.findall(r"data-[a-z-]+", code)) <= ours, script.name
        assert "jsname" not in code
        for engine_ in ENGINES.values():
            names = {name for hook in engine_.hooks for name in re.findall(r"[#.][A-Za-z][\w-]+", hook.css)}
            assert not {name for name in names if re.search(rf"[\"'`]{re.escape(name)}\b", code)}, script.name


def test_places_speak_of_parts_that_there_are() -> None:
    from typing import get_args

    from castlenb.engines.base import Part

    for part, place in PLACES.items():
        assert {part, *place.inside, *place.outside, *place.holds, *place.holds_no} <= set(get_args(Part))


def test_a_hook_is_replaced_where_it_stands() -> None:
    google = engine("google")
    changed = google.replace("area", "#tomorrow", instead_of="#rso")
    assert changed.css("area") == ["#tomorrow", "#search"]
    assert google.css("area") == ["#rso", "#search"]
    new = next(hook for hook in changed.hooks if hook.css == "#tomorrow")
    old = next(hook for hook in google.hooks if (hook.part, hook.css) == ("area", "#rso"))
    assert (new.kind, new.trust, new.expected, new.evidence) == ("id", old.trust, old.expected, "set by hand")
    assert google.replace("area", "[data-results]", "#x").css("area") == ["[data-results]", "#x"]
    own = Hook("area", "#mine", "id", "low", "this test", ("2026-11", "2026-11"))
    assert own in google.replace("area", own).hooks


def test_a_hook_that_is_not_there_can_not_be_replaced() -> None:
    with pytest.raises(EngineError, match="Google has no hook '#no' for 'area'; it has #rso, #search"):
        engine("google").replace("area", "#x", instead_of="#no")
    with pytest.raises(EngineError, match="a page has no part 'roof'"):
        engine("google").replace("roof", "#x")  # type: ignore[arg-type]


def test_a_changed_engine_is_searched_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ENGINES", dict(ENGINES))
    engines.use(engine("bing").replace("area", "#list"))
    assert engine("bing").spec()["parts"]["area"] == ["#list"]
    with pytest.raises(EngineError, match="no engine is called"):
        engines.use(replace(engine("bing"), name="altavista"))


def test_the_users_file_is_heeded_and_read_again_when_it_changes(own_file: Path) -> None:
    assert overrides() == ()
    own_file.write_text('[[google]]\npart = "area"\ncss = "#tomorrow"\ninstead_of = "#rso"\n')
    assert engine("google").css("area") == ["#tomorrow", "#search"]
    assert engine("bing").css("area") == ["#b_results"]
    own_file.write_text('[[google]]\npart = "area"\ncss = "#next"\n\n[[bing]]\npart = "cite"\ncss = ".c"\n')
    assert engine("google").css("area") == ["#next", "#rso", "#search"]
    assert engine("bing").css("cite") == [".c", "cite"]
    assert [str(each) for each in overrides()] == [
        "google: area by #next, before the others",
        "bing: cite by .c, before the others",
    ]


def test_an_engine_with_what_the_users_file_says_can_be_changed_further(
    own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "ENGINES", dict(ENGINES))
    own_file.write_text(
        '[[google]]\npart = "area"\ncss = "#tomorrow"\ninstead_of = "#rso"\n\n[[google]]\npart = "cite"\ncss = ".c"\n'
    )
    engines.use(engine("google").replace("heading", "h4", instead_of="h3"))
    assert engine("google").css("heading")[0] == "h4"
    assert engine("google").css("area") == ["#tomorrow", "#search"]
    assert engine("google").css("cite") == [".c", "cite"]


def test_a_repair_is_ready_for_the_users_file(own_file: Path) -> None:
    old = next(hook for hook in engine("google").hooks if (hook.part, hook.css) == ("area", "#rso"))
    odd = r"""[data-x="\\1 'ü'"] > div"""
    own_file.write_text(Repair("google", old, odd, Trial(1)).override, encoding="utf-8")
    assert engine("google").css("area") == [odd, "#search"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[google]\n", FILE),
        ('[google]\npart = "area"\n', "has to be a list of tables"),
        ('[[google]]\npart = "area"\n', "has part, css and perhaps instead_of"),
        ('[[google]]\npart = "area"\ncss = 3\n', "words in quotes"),
        ('[[google]]\npart = "roof"\ncss = "#x"\n', "no part 'roof'"),
        ('[[google]]\npart = "area"\ncss = "#x"\ninstead_of = "#gone"\n', "no hook '#gone'"),
    ],
)
def test_a_file_that_makes_no_sense_is_said_to(own_file: Path, text: str, problem: str) -> None:
    own_file.write_text(text)
    with pytest.raises(EngineError, match=re.escape(problem)) as wrong:
        engine("google")
    assert FILE in str(wrong.value)


def test_the_doctor_shows_the_users_file(own_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--target", "127.0.0.1:1"])
    assert f"hooks       {own_file}: sets none" in capsys.readouterr().out
    own_file.write_text('[[bing]]\npart = "cite"\ncss = ".c"\n')
    cli.main(["doctor", "--target", "127.0.0.1:1"])
    assert f"hooks       {own_file}\n            bing: cite by .c, before the others\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("css", "kind"),
    [
        ("#rso", "id"),
        ("[role=main] h2", "aria"),
        ("[data-x]", "attribute"),
        ('a[href="#top"]', "attribute"),
        (".b_algo", "class"),
        ("h2 > a", "structure"),
    ],
)
def test_the_kind_of_a_selector(css: str, kind: str) -> None:
    assert kind_of(css) == kind
