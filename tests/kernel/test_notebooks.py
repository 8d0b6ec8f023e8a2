"""The notebooks' saved outputs are what they give, and a number that is not is found."""

from __future__ import annotations

import copy
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


def compared(folder: Path, *notebooks: Path) -> subprocess.CompletedProcess[str]:
    command = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout", "120", "-q", "-p", "no:cacheprovider"]
    sanitize = ["--nbval-sanitize-with", str(NOTEBOOKS / "sanitize.cfg"), "--rootdir", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *command, *sanitize, *map(str, notebooks)],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
    )


def changed(notebook: Any, number: int) -> tuple[Any, str]:
    """The notebook with its ``number``-th printed number raised by one, and where that is."""
    notebook = copy.deepcopy(notebook)
    left = number
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            for found in re.finditer(r"(?<![\w.:-])\d+(?![\w:-])", text):
                if left == 0:
                    new = f"{text[: found.start()]}{int(found[0]) + 1}{text[found.end() :]}"
                    if "text" in output:
                        output["text"] = new
                    else:
                        output["data"]["text/plain"] = new
                    return notebook, cell.source
                left -= 1
    raise AssertionError(f"{number} is more than there are")


@pytest.mark.parametrize("path", EACH, ids=lambda path: path.name)
def test_one_number_changed_is_found(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    copies = [tmp_path / "as-it-is.ipynb"]
    nbformat.write(notebook, copies[0])
    sources = []
    for number in (0, 17, 60):
        other, source = changed(notebook, number)
        copies.append(tmp_path / f"number-{number}.ipynb")
        nbformat.write(other, copies[-1])
        sources.append(source)
    assert len(set(sources)) > 1, "all of them stand in one cell"
    said = compared(tmp_path, *copies)
    failed = [line for line in said.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 3, said.stdout
    assert all(sum(each.name in line for line in failed) == 1 for each in copies[1:]), failed


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
