#!/usr/bin/env python3
"""Seconds until a held-out likelihood is reached: ztrack beside a PyTorch loop, rbms and scikit-learn.

Usage: benches/peers/likelihood.py [--seeds 3] [--seconds 30] [--threads 1] [--out DIR]

Rows: the 8x8 digits that come with scikit-learn, a pixel on where its grey level is above half; 1297 to train on, 500 held out. 16
hidden units, so that every held-out likelihood is exact (2^16 states), computed while the clock stands. Peers are run at several
settings each, ztrack with nothing but the rows and the number of units (its clock counts everything: start, tracker, evaluations).
Prints for every seed the best likelihood of each setting, and for each peer's best one the seconds it took and the seconds
after which ztrack had passed it; writes likelihood.csv and likelihood.png.
"""

import argparse
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HIDDEN = 16
HELD_OUT = 500
BATCH = 100
# Seconds of training between two looks at the likelihood, at first; they grow by a tenth.
FIRST_LOOK = 0.05
# Peer, setting: learning rate, particles, sweeps; whether the rate falls to zero over the updates, which last as long as the clock.
SETTINGS = {
    "PyTorch": [(0.05, 100, 1, None), (0.1, 500, 1, 20_000), (0.5, 500, 1, 20_000), (0.1, 500, 10, None)],
    "rbms": [(0.01, 500, 10, None), (0.1, 500, 1, None), (0.1, 500, 10, None)],
    "scikit-learn": [(0.01, 10, 1, None), (0.05, 10, 1, None), (0.05, 100, 1, None)],
}


def rows(seed):
    import numpy
    from sklearn.datasets import load_digits

    data = (load_digits().data > 7.5).astype(numpy.float32)
    order = numpy.random.default_rng(seed).permutation(len(data))
    return data[order[HELD_OUT:]], data[order[:HELD_OUT]]


def log_likelihood(held_out, weights, visible_bias, hidden_bias):
    """Mean over the rows, exact: all states of the hidden units; weights of shape [visible, hidden]."""
    import numpy

    states = (numpy.arange(2**HIDDEN)[:, None] >> numpy.arange(HIDDEN) & 1).astype(numpy.float64)
    log_f = states @ hidden_bias + numpy.logaddexp(0, states @ weights.T + visible_bias).sum(1)
    log_z = numpy.logaddexp.reduce(log_f)
    return (held_out @ visible_bias + numpy.logaddexp(0, held_out @ weights + hidden_bias).sum(1)).mean() - log_z


def torch_loop(train, setting, seed):
    """Centered PCD as one writes it in PyTorch; the start of ztrack: small weights, biases at the marginals."""
    import torch

    rate, particles, sweeps, falling = setting
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    train = torch.from_numpy(train)
    weights = 0.01 * torch.randn(train.shape[1], HIDDEN)
    data_mean = train.mean(0)
    visible_bias, hidden_bias = torch.logit(data_mean.clamp(0.001, 0.999)), torch.zeros(HIDDEN)
    visible = torch.bernoulli(data_mean.expand(particles, -1))
    update = 0
    while True:
        order = torch.randperm(len(train))
        for first in range(0, len(train) - BATCH + 1, BATCH):
            batch = train[order[first : first + BATCH]]
            step = rate * max(0.0, 1 - update / falling) if falling else rate
            batch_hidden = torch.sigmoid(batch @ weights + hidden_bias)
            for _ in range(sweeps):
                hidden = torch.bernoulli(torch.sigmoid(visible @ weights + hidden_bias))
                visible = torch.bernoulli(torch.sigmoid(hidden @ weights.T + visible_bias))
            model_hidden = torch.sigmoid(visible @ weights + hidden_bias)
            hidden_mean = batch_hidden.mean(0)
            change = (batch - data_mean).T @ (batch_hidden - hidden_mean) / BATCH
            change -= (visible - data_mean).T @ (model_hidden - hidden_mean) / particles
            to_visible = batch.mean(0) - visible.mean(0) - change @ hidden_mean
            to_hidden = hidden_mean - model_hidden.mean(0) - data_mean @ change
            weights.add_(change, alpha=step)
            visible_bias.add_(to_visible, alpha=step)
            hidden_bias.add_(to_hidden, alpha=step)
            update += 1
            yield weights.double().numpy, visible_bias.double().numpy, hidden_bias.double().numpy


def rbms_loop(train, setting, seed):
    """Centered PCD of rbms: its batches of gradients and SGD, as its train does."""
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.training.pcd import fit_batch_pcd

    rate, particles, sweeps, _ = setting
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    train = torch.from_numpy(train)
    data_mean = train.mean(0)
    model = BBRBM(
        weight_matrix=0.01 * torch.randn(train.shape[1], HIDDEN),
        vbias=torch.logit(data_mean.clamp(0.001, 0.999)),
        hbias=torch.zeros(HIDDEN),
    )
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, maximize=True)
    chains = model.init_chains(num_samples=particles, start_v=torch.bernoulli(data_mean.expand(particles, -1)))
    ones = torch.ones(BATCH)
    while True:
        order = torch.randperm(len(train))
        for first in range(0, len(train) - BATCH + 1, BATCH):
            optimizer.zero_grad(set_to_none=False)
            chains, _ = fit_batch_pcd((train[order[first : first + BATCH]], ones), chains, model, sweeps, 1.0, True)
            optimizer.step()
            yield model.weight_matrix.double().numpy, model.vbias.double().numpy, model.hbias.double().numpy


def sklearn_loop(train, setting, seed):
    """scikit-learn's PCD-1, whose particles are as many as the rows of a batch."""
    import numpy
    from sklearn.neural_network import BernoulliRBM

    rate, batch, _, _ = setting
    model = BernoulliRBM(n_components=HIDDEN, learning_rate=rate, batch_size=batch, random_state=seed)
    random = numpy.random.default_rng(seed)
    while True:
        order = random.permutation(len(train))
        for first in range(0, len(train) - batch + 1, batch):
            model.partial_fit(train[order[first : first + batch]])
            yield lambda: model.components_.T, lambda: model.intercept_visible_, lambda: model.intercept_hidden_


LOOPS = {"PyTorch": torch_loop, "rbms": rbms_loop, "scikit-learn": sklearn_loop}


def peer(name, setting, seed, seconds):
    """Prints seconds and likelihood, line by line."""
    import numpy

    train, held_out = rows(seed)
    loop = LOOPS[name](train, setting, seed)
    next(loop)
    spent, look, start = 0.0, FIRST_LOOK, time.perf_counter()
    for parameters in loop:
        now = time.perf_counter()
        if spent + now - start < look:
            continue
        spent += now - start
        weights, visible_bias, hidden_bias = (numpy.asarray(read(), dtype=numpy.float64) for read in parameters)
        print(spent, log_likelihood(held_out, weights, visible_bias, hidden_bias), flush=True)
        if spent > seconds:
            return
        look = max(look, spent) * 1.1
        start = time.perf_counter()


def ztrack(seed, folder, environment):
    """(seconds, likelihood) at the evaluations of a run with nothing but the rows and the number of units given."""
    import numpy

    train, held_out = rows(seed)
    numpy.save(folder / "train.npy", train.astype(numpy.uint8))
    numpy.save(folder / "held-out.npy", held_out.astype(numpy.uint8))
    (folder / "digits.toml").write_text(
        f"""seed = {seed}
[data]
source = {{ name = "files", train = "{folder}/train.npy", validation = "{folder}/held-out.npy" }}
[model]
hidden = {HIDDEN}
[evaluation]
images_every = 0
[audit]
every = 0
"""
    )
    command = [ROOT / "target" / "release" / "ztrack", "train", folder / "digits.toml", "--out", folder / f"run-{seed}", "--quiet"]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    with open(folder / f"run-{seed}" / "metrics.csv", newline="") as file:
        return [(float(row["seconds"]), float(row["validation_log_likelihood"])) for row in csv.DictReader(file)]


def passed(curve, level):
    return next((seconds for seconds, value in curve if value >= level), float("nan"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--seconds", type=float, default=30.0, help="training time of each setting of a peer")
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "results" / "likelihood")
    options.add_argument("--peer", nargs=3, metavar=("NAME", "SETTING", "SEED"), help=argparse.SUPPRESS)
    options = options.parse_args()
    if options.peer:
        name, setting, seed = options.peer
        return peer(name, SETTINGS[name][int(setting)], int(seed), options.seconds)
    from run import python

    interpreter = str(python())
    if sys.executable != interpreter and "ZTRACK_PEERS" not in os.environ:
        os.execve(interpreter, [interpreter, *sys.argv], {**os.environ, "ZTRACK_PEERS": "1"})
    subprocess.run(["cargo", "build", "--release", "--quiet"], check=True, cwd=ROOT)
    threads = str(options.threads)
    variables = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]
    environment = {**os.environ, **dict.fromkeys(variables, threads)}
    options.out.mkdir(parents=True, exist_ok=True)
    points = []
    for seed in range(1, options.seeds + 1):
        curves = {}
        with tempfile.TemporaryDirectory() as folder:
            curves["ztrack", ()] = ztrack(seed, pathlib.Path(folder), environment)
        for name, settings in SETTINGS.items():
            for index, setting in enumerate(settings):
                arguments = ["--peer", name, str(index), str(seed), "--seconds", str(options.seconds)]
                command = [interpreter, __file__, *arguments]
                text = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
                curves[name, setting] = [tuple(map(float, line.split())) for line in text.splitlines()]
        report(seed, curves)
        for (name, setting), curve in curves.items():
            points += [[seed, name, " ".join(map(str, setting)), *point] for point in curve]
    with open(options.out / "likelihood.csv", "w", newline="") as file:
        csv.writer(file).writerows([["seed", "what", "rate particles sweeps updates-to-zero", "seconds", "log_likelihood"], *points])
    draw(points, options.out / "likelihood.png")


def report(seed, curves):
    ours = curves["ztrack", ()]
    print(f"seed {seed}\n  {'ztrack, defaults':<34} best {max(value for _, value in ours):8.3f} in {ours[-1][0]:6.2f} s")
    for name in SETTINGS:
        best = None
        for (peer_name, setting), curve in curves.items():
            if peer_name != name:
                continue
            seconds, value = max(curve, key=lambda point: point[1])
            rate, particles, sweeps, falling = setting
            what = f"{name}: rate {rate}{' to 0' if falling else ''}, {particles} x {sweeps}"
            print(f"  {what:<34} best {value:8.3f} in {seconds:6.2f} s")
            if best is None or value > best[1]:
                best = (seconds, value)
        ours_at = passed(ours, best[1])
        print(f"  best of {name}: {best[1]:.3f} in {best[0]:.2f} s; ztrack passed it after {ours_at:.2f} s, {best[0] / ours_at:.0f} times as fast")
    sys.stdout.flush()


def draw(points, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"ztrack": "black", "PyTorch": "tab:orange", "rbms": "tab:blue", "scikit-learn": "tab:green"}
    figure, axes = plt.subplots(figsize=(8, 4.5))
    shown = set()
    for seed, name, setting in dict.fromkeys((point[0], point[1], point[2]) for point in points):
        curve = [point[3:] for point in points if point[:3] == [seed, name, setting]]
        axes.plot(*zip(*curve), color=colours[name], lw=2 if name == "ztrack" else 0.8, label=None if name in shown else name)
        shown.add(name)
    highest = max(point[4] for point in points)
    axes.set(xscale="log", xlabel="seconds of training", ylabel="held-out log-likelihood, nats a row", ylim=(highest - 8, highest + 0.5))
    axes.set_title("8x8 digits, 16 hidden units: every setting and seed")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
