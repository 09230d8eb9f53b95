"""Run folders of the command."""

import os
import shutil
import subprocess

import pytest

import ztrack

pytest.importorskip("pandas")
COMMAND = os.environ.get("ZTRACK", shutil.which("ztrack") or "")
CONFIG = """
seed = 3
[data]
source = { name = "bars-and-stripes", side = 3, rows = 200, noise = 0.05 }
validation_fraction = 0.2
[model]
hidden = 6
[training]
updates = 40
batch = 16
gradient = { kind = "pcd" }
learning_rate = { initial = 0.05 }
[tempering]
chains = 40
[evaluation]
every = 5
[audit]
every = 2
"""


@pytest.mark.skipif(not COMMAND, reason="the command ztrack is not there: set ZTRACK to its path")
def test_a_run_is_loaded_and_plotted(tmp_path):
    (tmp_path / "tiny.toml").write_text(CONFIG)
    out = tmp_path / "run"
    subprocess.run([COMMAND, "train", tmp_path / "tiny.toml", "--out", out], check=True, capture_output=True)
    run = ztrack.load_run(out)
    assert len(run.metrics) == 9 and run.metrics["log_z_std_error"].gt(0).all()
    assert run.summary["updates"] == 40 and "hidden = 6" in run.config
    if pytest.importorskip("safetensors"):
        assert run.model().n_hidden == 6
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    run.plot().savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_what_is_no_run(tmp_path):
    with pytest.raises(ztrack.FileError, match="no metrics.csv"):
        ztrack.load_run(tmp_path)
    with pytest.raises(OSError, match="no such run folder"):
        ztrack.load_run(tmp_path / "nowhere")
