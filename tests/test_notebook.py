"""The notebook in examples/ runs from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "veriscene.ipynb"


def test_the_notebook_trains_judges_explains_and_plots(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)  # nothing that would go out of date is stored
    done = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    (right, total) = map(int, re.findall(r"(\d+) of (\d+) unseen statements and scenes judged correctly", text)[0])
    assert right > 0.9 * total >= 500 and "if you" in text
    assert {"image/svg+xml", "image/png"} <= kinds
    assert (tmp_path / "run" / "best" / "model.safetensors").exists()
