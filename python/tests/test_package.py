"""What is around the code: names, licences, the folder of the sources."""

import subprocess
import sys
from pathlib import Path

import pytest

import ztrack

PYTHON = Path(__file__).parent.parent


def test_the_folder_of_the_sources_does_not_hide_the_package():
    code = "import sys; sys.path.insert(0, ''); import ztrack; print(ztrack.log_partition([[0.0]], [0.0], [0.0]).value)"
    done = subprocess.run([sys.executable, "-c", code], cwd=PYTHON, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert abs(float(done.stdout) - 2 * 0.6931471805599453) < 1e-6


def test_names():
    exec("from ztrack import *", {})
    assert "RBM" in dir(ztrack) and "RBM" not in ztrack.__all__
    stub = Path(ztrack.__file__).with_suffix(".pyi").read_text()
    assert all(f" as {name}\n" in stub for name in [*ztrack.__all__, "RBM"])


def test_a_star_import_needs_numpy_alone():
    code = "import sys; sys.modules['sklearn'] = None; from ztrack import *; print(log_partition([[0.0]], [0.0], [0.0]).method)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "exact\n", done.stderr


def test_one_version_and_the_licences():
    root = PYTHON.parent
    manifest = (root / "Cargo.toml").read_text()
    assert f'[workspace.package]\nversion = "{ztrack.__version__}"' in manifest
    assert f"version: {ztrack.__version__}\n" in (root / "CITATION.cff").read_text()
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (root / name).read_bytes() == (PYTHON / "licenses" / name).read_bytes(), name


def test_the_reference_is_that_of_the_docstrings():
    docs = PYTHON.parent / "docs"
    made = subprocess.run([sys.executable, docs / "python_reference.py"], capture_output=True, text=True, check=True).stdout
    assert made == (docs / "python-reference.md").read_text(), "python3 docs/python_reference.py > docs/python-reference.md"
    headings = [line.split("`")[1] for line in made.splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted([*ztrack.__all__, "RBM"])
    assert made.count("```") % 2 == 0 and "----" not in made
