#!/usr/bin/env python3
"""Test likelihood after given seconds of training at 784 x 500: ztrack beside a PyTorch loop and rbms.

Usage: benches/peers/likelihood_mnist.py DATA [--seconds 180] [--epochs 5 15] [--threads 1] [--out DIR]

MNIST thresholded at a half (DATA is the folder with mnist/), 54000 rows to train on, batches of 100. Peers are looked at after a
quarter, a half and all of the seconds; ztrack trains with configs/mnist.toml for as many epochs as given, its clock counting start,
tracker and evaluations. The likelihood of the 10000 test rows of every model is by the same command, `ztrack evaluate --method
sandwich`: log Z between annealing and reverse annealing (Bennett's ratio), with what either pass alone would say.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import likelihood
from likelihood import LOOPS, ROOT

HIDDEN = 500
TRAINING_ROWS = 54_000
# Peer, setting: learning rate, particles, sweeps; updates over which the rate falls to zero, about as many as fit in the time.
SETTINGS = {
    "PyTorch": [(0.05, 500, 1, None), (0.2, 500, 1, 5000)],
    "rbms": [(0.05, 500, 1, None)],
}


def rows(folder):
    import numpy

    packed = next(pathlib.Path(folder, "mnist").glob("train-images*"))
    content = packed.read_bytes()
    content = gzip.decompress(content) if packed.suffix == ".gz" else content
    grey = numpy.frombuffer(content, numpy.uint8, offset=16).reshape(-1, 784)
    return (grey[:TRAINING_ROWS] > 127).astype(numpy.float32)


def peer(name, setting, options):
    """Saves models and prints their seconds."""
    import numpy

    likelihood.HIDDEN = HIDDEN
    loop = LOOPS[name](rows(options.data), setting, 1)
    next(loop)
    marks = [options.seconds / 4, options.seconds / 2, options.seconds]
    spent, start = 0.0, time.perf_counter()
    for parameters in loop:
        now = time.perf_counter()
        if spent + now - start < marks[0]:
            continue
        spent += now - start
        weights, visible_bias, hidden_bias = (numpy.array(read()) for read in parameters)
        path = options.out / f"{name}-{setting[0]}-{marks.pop(0):.0f}.npz"
        numpy.savez(path, weights=weights, visible_bias=visible_bias, hidden_bias=hidden_bias)
        print(spent, path, flush=True)
        if not marks:
            return
        start = time.perf_counter()


def ztrack(epochs, options, environment):
    """Seconds of a run, and its model."""
    folder = options.out / f"ztrack-{epochs}"
    command = [ROOT / "target" / "release" / "ztrack", "train", "mnist", "--data-folder", options.data, "--out", folder, "--quiet"]
    command += ["--set", f"training.epochs={epochs}", "--set", "audit.every=0"]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start, folder / "last.safetensors"


def test_likelihood(model, options, environment):
    """Mean log-likelihood of the test rows and its error, and log Z by all three methods."""
    command = [ROOT / "target" / "release" / "ztrack", "evaluate", model, "--data", ROOT / "configs" / "mnist.toml"]
    command += ["--data-folder", options.data, "--split", "test", "--method", "sandwich", "--temperatures", "5000", "--json"]
    done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    return json.loads(done.stdout)


def cells(found):
    """Test likelihood with the value between both passes, and log Z by all three."""
    rows = {row["method"]: row for row in found["log_likelihoods"]}
    between = next(estimate for estimate in found["estimates"] if estimate["method"] == "ais-bar")
    log_z = {estimate["method"]: estimate["value"] for estimate in found["estimates"]}
    values = [rows["ais-bar"]["value"], rows["ais-bar"]["std_error"]]
    values += [log_z[method] for method in ("ais", "reverse-ais", "ais-bar")]
    return [f"{value:.3f}" for value in values] + [" ".join(doubt["name"] for doubt in between["trust"])]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=pathlib.Path)
    options.add_argument("--seconds", type=float, default=180.0, help="training time of each setting of a peer")
    options.add_argument("--epochs", type=int, nargs="+", default=[5, 15])
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "likelihood_mnist")
    options.add_argument("--peer", nargs=2, metavar=("NAME", "SETTING"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.peer:
        return peer(options.peer[0], SETTINGS[options.peer[0]][int(options.peer[1])], options)
    from run import python

    interpreter = str(python())
    if sys.executable != interpreter and "ZTRACK_PEERS" not in os.environ:
        os.execve(interpreter, [interpreter, *sys.argv], {**os.environ, "ZTRACK_PEERS": "1"})
    subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=ROOT)
    variables = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = {**os.environ, **dict.fromkeys(variables, str(options.threads))}
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "likelihood_mnist.csv"
    with tempfile.TemporaryDirectory() as folder:
        options.out = pathlib.Path(folder)
        lines = measure(options, interpreter, environment)
    with open(table, "w", newline="") as file:
        csv.writer(file).writerows(lines)


def measure(options, interpreter, environment):
    """Lines of the table; models lie in options.out."""
    models = [("ztrack", f"{epochs} epochs", *ztrack(epochs, options, environment)) for epochs in options.epochs]
    for name, settings in SETTINGS.items():
        for index, (rate, particles, sweeps, falling) in enumerate(settings):
            command = [interpreter, __file__, str(options.data), "--out", str(options.out), "--seconds", str(options.seconds)]
            command += ["--peer", name, str(index)]
            text = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
            what = f"rate {rate}{' to 0' if falling else ''}, {particles} x {sweeps}"
            models += [(name, what, *line.split(maxsplit=1)) for line in text.splitlines()]
    lines = [["what", "setting", "seconds", "test", "std_error", "log_z_ais", "log_z_reverse", "log_z_between", "doubt"]]
    for name, what, seconds, model in models:
        found = test_likelihood(model, options, environment)
        lines.append([name, what, f"{float(seconds):.1f}", *cells(found)])
        print("  ".join(f"{cell:>12}" for cell in lines[-1]), flush=True)
    return lines


if __name__ == "__main__":
    main()
