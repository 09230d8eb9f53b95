"""Notebooks run from top to bottom: by nbclient where it and a kernel are installed, else their code cells by Python."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path):
    pytest.importorskip("torch", reason="the notebook of the PyTorch loop needs torch")
    matplotlib = pytest.importorskip("matplotlib")
    content = json.loads(path.read_text())
    code = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(not cell.get("outputs") for cell in content["cells"])
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        matplotlib.use("agg")
        names = {"__name__": path.stem}
        for number, cell in enumerate(code):
            exec(compile(cell, f"{path.name}, code cell {number}", "exec"), names)
    else:
        nbclient.NotebookClient(nbformat.reads(json.dumps(content), 4), timeout=300).execute()
    assert len(code) > 4


def test_there_is_a_notebook():
    assert NOTEBOOKS
