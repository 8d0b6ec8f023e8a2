"""Runs the notebooks anew and saves them with their outputs: ``python notebooks/execute.py [NOTEBOOK…]``"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def main(names: list[str]) -> None:
    for path in [Path(name) for name in names] or sorted(HERE.glob("[0-9]*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        sys.stderr.write(f"{path}\n")
        NotebookClient(
            notebook,
            timeout=120,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()
        notebook.metadata = {  # which Python it was is of no interest, and would change with every machine
            "kernelspec": notebook.metadata["kernelspec"],
            "language_info": {"name": "python"},
        } | {name: value for name, value in notebook.metadata.items() if name == "widgets"}
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1:])
