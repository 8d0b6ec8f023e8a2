"""The notebooks' saved outputs are what they give, and a number that is not is found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.proof

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EACH = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))


def raised_by_one(cells: Any, number: int) -> int:
    """Raises the ``number``-th printed number by one, and returns which cell it stands in."""
    for place, cell in enumerate(cells):
        for output in cell.outputs:
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            found = list(re.finditer(r"(?<![\w.:-])\d+(?![\w:-])", text))
            if number < len(found):
                at = found[number]
                new = f"{text[: at.start()]}{int(at[0]) + 1}{text[at.end() :]}"
                if "text" in output:
                    output["text"] = new
                else:
                    output["data"]["text/plain"] = new
                return place
            number -= len(found)
    raise AssertionError(f"there are {number} printed numbers too few")


@pytest.mark.parametrize("path", EACH, ids=lambda path: path.name)
def test_one_number_changed_is_found(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    wrong = sorted({raised_by_one(code, number) for number in (0, 60)})
    folder = tmp_path / NOTEBOOKS.name
    folder.mkdir()
    nbformat.write(notebook, folder / "changed.ipynb")
    (tmp_path / "data").symlink_to(NOTEBOOKS.parent / "data")  # which some of them read, beside their folder
    options = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120", "-p", "no:cacheprovider"]
    sanitize = ["--nbval-sanitize-with", str(NOTEBOOKS / "sanitize.cfg")]
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *options, *sanitize, str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
    )
    failed = [int(number) for number in re.findall(r"^FAILED .*::Cell (\d+)", said.stdout, re.MULTILINE)]
    base = min(int(number) for number in re.findall(r"::Cell (\d+)", said.stdout))  # 1 in nbval's next release
    assert [number - base for number in failed] == wrong, said.stdout[-5000:]
    assert len(wrong) == 2


@pytest.mark.parametrize("path", EACH, ids=lambda path: path.name)
def test_a_notebook_is_fit_to_be_run_elsewhere(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    [parameters] = [cell for cell in code if "parameters" in cell.metadata.get("tags", ())]
    assert parameters.source.startswith('TARGET = "lab"')
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "not saved as it was run"
    ignored = [cell for cell in code if {"nbval-ignore-output", "nbval-skip"} & set(cell.metadata.get("tags", ()))]
    assert len(ignored) <= 2
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert str(Path.home()) not in path.read_text("utf-8")
