"""Records: what is written is what is read, and what is damaged is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from castlenb import JournalError, RecordError
from castlenb.study import Run, journal
from castlenb.study.journal import Journal, line_of
from castlenb.study.records import RUNS, SCHEMA, SCHEMA_VERSION, TRIALS, empty


def run_line(run_id: str = "r1", **more: Any) -> dict[str, Any]:
    return {"kind": "run", "run": {"run_id": run_id, "schema_version": SCHEMA_VERSION, **more}}


def trial_line(trial_id: str, *, changes: int = 0, **more: Any) -> dict[str, Any]:
    trial = dict.fromkeys(TRIALS) | {
        "run_id": "r1",
        "trial_id": trial_id,
        "query": 'NA, "quoted",\nand äöü',
        "query_class": "lookup",
        "block": 1,
        "position": 0,
        "repeat": 1,
        "engine": "bing",
        "layout": "default",
        "visibility": "emulated",
        "warmup": False,
        "started_at": "2026-11-30T22:00:00.123456+00:00",
        "outcome": "results",
        "parse_ready_ms": 512.3,
        **more,
    }
    line = {"kind": "trial", "trial": trial}
    if changes:
        line["growth"] = {
            "t_ms": [100.5 * n for n in range(changes)],
            "chars": list(range(changes)),
            "kind": ["growing"] * changes,
            "signature": [4294967295] * changes,
        }
    return line


def written(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line_of(line) for line in lines))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Run:
    results = {"rank": [1, 2], "url": ["https://a.example/", None], "site": ["a.example", "b"], "title": ["", "NaN"]}
    lines = [
        run_line(planned=3, headless=True),
        trial_line("t1", changes=3) | {"results": results},
        trial_line("t2", warmup=True, outcome="challenge", started_at="2026-11-30T22:00:01+00:00"),
        trial_line("t3", changes=2),
        {"kind": "end", "run": {"run_id": "r1", "ended_at": "2026-11-30T22:10:00+00:00"}},
    ]
    return Run.load(written(tmp_path / "journal.jsonl", *lines))


def test_a_journal_becomes_frames(run: Run) -> None:
    for name, frame in run.frames().items():
        assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == {
            column: kind.dtype for column, kind in SCHEMA[name].items()
        }, name
    assert list(run.trials["trial_id"]) == ["t1", "t2", "t3"]
    assert run.trials.loc[0, "query"] == 'NA, "quoted",\nand äöü'
    assert run.trials.loc[0, "started_at"] == pd.Timestamp("2026-11-30T22:00:00.123456", tz="UTC")
    assert run.trials["ai_state"].isna().all(), "what was not observed is missing"
    assert list(run.growth["trial_id"]) == ["t1"] * 3 + ["t3"] * 2
    assert list(run.growth["t_ms"]) == [0.0, 100.5, 201.0, 0.0, 100.5]
    assert run.runs.loc[0, "planned"] == 3
    assert run.runs.loc[0, "ended_at"] == pd.Timestamp("2026-11-30T22:10:00", tz="UTC")
    assert repr(run) == "Run(3 trials of bing)"


@pytest.mark.parametrize("form", ["copy.jsonl", "folder", "parquet"])
def test_what_is_saved_is_what_is_loaded(run: Run, tmp_path: Path, form: str) -> None:
    if form != "copy.jsonl":  # CSV can not tell an empty text from none
        run.results["title"] = run.results["title"].replace("", pd.NA)
    again = Run.load(run.save(tmp_path / form, parquet=form == "parquet"))
    for name, frame in run.frames().items():
        pd.testing.assert_frame_equal(again.frames()[name], frame)


def test_saving_in_the_other_form_leaves_no_second_truth(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run", parquet=True)
    run.trials = run.trials.iloc[:2]
    run.growth = run.growth.iloc[:3]
    run.save(tmp_path / "run")
    assert len(Run.load(tmp_path / "run").trials) == 2


def test_a_frame_without_rows_has_its_columns() -> None:
    for name, columns in SCHEMA.items():
        assert [str(dtype) for dtype in empty(name).dtypes] == [column.dtype for column in columns.values()]


def test_every_column_says_what_it_means() -> None:
    for columns in SCHEMA.values():
        assert all(column.about for column in columns.values())


def broken(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    line = trial_line("t2", changes=2)
    change(line)
    return line


@pytest.mark.parametrize(
    ("line", "column", "says"),
    [
        (broken(lambda line: line["trial"].pop("query")), "query", "lacks"),
        (broken(lambda line: line["trial"].update(colour="red")), "colour", "no such column"),
        (broken(lambda line: line["trial"].update(parse_ready_ms="soon")), "parse_ready_ms", "'soon' is no Float64"),
        (broken(lambda line: line["trial"].update(n_results=2.5)), "n_results", "2.5 is no Int64"),
        (broken(lambda line: line["trial"].update(n_results=10**30)), "n_results", "is no Int64"),
        (broken(lambda line: line["trial"].update(query=7)), "query", "7 is no string"),
        (broken(lambda line: line["trial"].update(engine=None)), "engine", "missing"),
        (broken(lambda line: line["trial"].update(query=["a"])), "query", "is no string"),
        (broken(lambda line: line["trial"].update(warmup="no")), "warmup", "'no' is no boolean"),
        (broken(lambda line: line["trial"].update(started_at="noon")), "started_at", "'noon' is no"),
        (broken(lambda line: line["trial"].update(outcome="fine")), "outcome", "'fine' is none of results, "),
        (broken(lambda line: line["growth"].update(kind=["growing", "dancing"])), "kind", "'dancing'"),
        (broken(lambda line: line["growth"].update(t_ms=[1.0, "x"])), "t_ms", "'x' is no Float64"),
        (broken(lambda line: line["growth"].update(t_ms=[1.0])), "", "all of one length"),
        (broken(lambda line: line["growth"].pop("chars")), "", "growth has to have"),
        (broken(lambda line: line.update(growth=[1])), "", "growth has to have"),
        (broken(lambda line: line.update(growth={"t_ms": 1, "chars": 1, "kind": 1, "signature": 1})), "", "growth has"),
        (broken(lambda line: line.update(trial=None)), "", "without its columns"),
        (broken(lambda line: line.update(kind="tale")), "", "'tale'"),
        (b'{"kind": "trial", "tri\n', "", "no JSON object"),
        (b"[]\n", "", "no JSON object"),
        (b"1],[2\n", "", "no JSON object"),
        (b"\xff\xfe\n", "", "no JSON object"),
        (run_line(schema_version=99), "schema_version", "schema version 99"),
        ({"kind": "run"}, "", "says nothing of its run"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: Any, column: str, says: str) -> None:
    path = written(tmp_path / "damaged.jsonl", run_line(), trial_line("t1", changes=2), line, trial_line("t3"))
    with pytest.raises(RecordError, match=says) as caught:
        Run.load(path)
    assert (caught.value.path, caught.value.where, caught.value.column) == (str(path), "line 3", column)
    assert "line 3" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([run_line(), trial_line("t1"), trial_line("t1")], "t1 is there twice"),
        ([run_line(), trial_line("t1", run_id="other")], "run other, of which nothing is said"),
        ([trial_line("t1")], "of which run"),
        ([], "of which run"),
    ],
)
def test_a_journal_that_does_not_add_up(tmp_path: Path, lines: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(RecordError, match=says):
        Run.load(written(tmp_path / "odd.jsonl", *lines))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"a":' * 100_000 + b"\n", "line 2: this is no JSON object"),
        (run_line() | {"run": {"run_id": None}}, "line 2, column 'run_id': None is no string"),
        (run_line() | {"run": {"run_id": 5}}, "line 2, column 'run_id': 5 is no string"),
    ],
    ids=["nested too deep", "a run without a name", "a run with a number for a name"],
)
def test_what_something_else_wrote_is_refused_in_words(tmp_path: Path, line: Any, says: str) -> None:
    path = written(tmp_path / "journal.jsonl", run_line(), line)
    with pytest.raises(RecordError, match=says):
        Run.load(path)
    before = path.read_bytes()
    with pytest.raises(RecordError, match=says):
        Journal(path)
    assert path.read_bytes() == before


def test_growth_of_no_trial_is_refused(run: Run, tmp_path: Path) -> None:
    run.trials = run.trials.iloc[:2]
    with pytest.raises(RecordError, match="growth of t3, which is no trial"):
        Run.load(run.save(tmp_path / "run"))


def test_a_damaged_table_is_named(run: Run, tmp_path: Path) -> None:
    table = run.save(tmp_path / "run") / "growth.csv"
    table.write_text(table.read_text().replace("201.0", "long"))
    with pytest.raises(RecordError, match=r"growth\.csv, row 3, column 't_ms': 'long' is no Float64"):
        Run.load(tmp_path / "run")
    table.unlink()
    with pytest.raises(RecordError, match=r"neither growth\.csv nor growth\.parquet"):
        Run.load(tmp_path / "run")
    with pytest.raises(RecordError, match="No such file"):
        Run.load(tmp_path / "none.jsonl")


def test_a_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    torn = line_of(trial_line("t2"))[:-9]
    path = written(tmp_path / "torn.jsonl", run_line(), trial_line("t1"), torn)
    with pytest.warns(UserWarning, match="torn"):
        run = Run.load(path)
    assert list(run.trials["trial_id"]) == ["t1"]
    taken_up = Journal(path)
    assert [line["kind"] for line in taken_up.lines] == ["run", "trial"]
    taken_up.write(trial_line("t2"))
    taken_up.close()
    assert list(Run.load(path).trials["trial_id"]) == ["t1", "t2"]


def test_many_lines_are_read_in_several_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_BATCH", 3)
    trials = [trial_line(f"t{n}", changes=n % 4) for n in range(11)]
    path = written(tmp_path / "long.jsonl", run_line(), *trials)
    run = Run.load(path)
    assert list(run.trials["trial_id"]) == [f"t{n}" for n in range(11)]
    assert run.growth.groupby("trial_id").size().to_dict() == {f"t{n}": n % 4 for n in range(11) if n % 4}
    written(path, run_line(), *trials, b"{\n")
    with pytest.raises(RecordError, match="line 13"):
        Run.load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(column=st.sampled_from([*TRIALS, *RUNS]), value=JSON, frame=st.sampled_from(["growth", "results", "trial"]))
def test_any_value_anywhere_is_read_or_refused_in_words(tmp_path: Path, column: str, value: Any, frame: str) -> None:
    line = trial_line("t1")
    begun = run_line()
    (line["trial"] if column in TRIALS else begun["run"])[column] = value
    if frame in ("growth", "results"):
        line[frame] = value
    (tmp_path / "any.jsonl").write_text("\n".join(json.dumps(each) for each in (begun, line)) + "\n")
    try:
        Run.load(tmp_path / "any.jsonl")
    except RecordError as refused:
        str(refused)


class TestWriting:
    def test_a_full_disk_and_what_keeps_nothing(self) -> None:
        with pytest.raises(JournalError, match="/dev/full can not be written: No space left on device"):
            Journal(Path("/dev/full"))
        with pytest.raises(JournalError, match="/dev/null can not be written: it is no regular file"):
            Journal(Path("/dev/null"))

    def test_no_room_for_what_is_planned(self, tmp_path: Path) -> None:
        book = Journal(tmp_path / "j.jsonl")
        book.make_sure_of(1)
        with pytest.raises(JournalError, match="kB are free there"):
            book.make_sure_of(10**12)
        book.close()

    def test_a_place_that_can_not_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for path in (tmp_path / "file" / "j.jsonl", tmp_path):
            with pytest.raises(JournalError, match="can not be written"):
                Journal(path)

    def test_somebody_else_is_writing_it(self, tmp_path: Path) -> None:
        first = Journal(tmp_path / "j.jsonl")
        with pytest.raises(JournalError, match="a study is writing it"):
            Journal(tmp_path / "j.jsonl")
        first.close()
        Journal(tmp_path / "j.jsonl").close()

    def test_what_is_no_journal_is_left_as_it_is(self, tmp_path: Path) -> None:
        other = tmp_path / "notes.txt"
        other.write_text("dear diary\nnothing happened")
        with pytest.raises(RecordError, match="line 1"):
            Journal(other)
        assert other.read_text() == "dear diary\nnothing happened"


def test_the_recorded_run_is_read() -> None:
    [path] = (Path(__file__).parents[2] / "data" / "runs").glob("*.jsonl")
    run = Run.load(path)
    assert len(run.trials) >= 200
    assert len(run.growth) > 1000
    assert set(run.trials["ai_state"]) >= {"absent", "declined", "growing", "settled", "unsupported"}
