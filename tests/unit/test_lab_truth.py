"""What the lab says of a page's times."""

import pytest

from castlenb.lab import Mark, Truth
from castlenb.lab.truth import Report, of_page, of_server


def truth(*marks: tuple[str, float]) -> Truth:
    return Truth(tuple(Mark(part, ms) for part, ms in marks), "page")


def test_a_timeline() -> None:
    told = truth(
        ("head", 10.0),
        ("wrapper", 20.0),
        ("row", 30.0),
        ("results", 40.0),
        ("shell", 50.0),
        ("loading", 60.0),
        ("answer", 70.0),
        ("results", 75.0),
        ("answer", 80.0),
        ("sources", 90.0),
        ("settled", 95.0),
    )
    assert (told.parse_ready_ms, told.results_complete_ms) == (30.0, 75.0)
    assert (told.ai_shell_ms, told.ai_loading_ms, told.ai_appear_ms) == (20.0, 60.0, 70.0)
    assert (told.ai_settle_ms, told.ai_marker_ms, told.ai_declined_ms) == (80.0, 95.0, None)
    assert [mark.ms for mark in told.ai_growth] == [70.0, 80.0]


def test_what_did_not_happen_has_no_time() -> None:
    told = truth(("head", 10.0), ("declined", 20.0))
    assert told.ai_declined_ms == 20.0
    assert told.ai_growth == ()
    times = (told.parse_ready_ms, told.results_complete_ms, told.ai_shell_ms, told.ai_appear_ms, told.ai_settle_ms)
    assert times == (None,) * 5


def test_a_page_tells_all_it_has_each_time_and_reports_can_overtake_each_other() -> None:
    report = Report()
    marks = [["head", 1, 0, None], ["answer", 2.5, 30, 35]]
    report.note({"marks": marks, "over": True})
    report.note({"marks": marks[:1], "over": False})
    assert of_page(report).marks == (Mark("head", 1.0, 0, None), Mark("answer", 2.5, 30, 35))
    assert report.over


def test_the_servers_instants_on_a_pages_clock() -> None:
    report = Report()
    report.writes([("head", 0), ("answer", 150)])
    at = report.wrote[0].at
    assert of_server(report, 1000 * at - 250).marks == (
        Mark("head", pytest.approx(250.0, abs=0.01)),
        Mark("answer", pytest.approx(250.0, abs=0.01), 150),
    )
