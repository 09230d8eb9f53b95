"""Every example runs; those whose packages are missing say so."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    done = subprocess.run([sys.executable, path, "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("skipped:"):
        pytest.skip(done.stdout.strip())
    assert done.stdout
