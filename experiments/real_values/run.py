"""Real columns: tracked log Z beside enumeration, and test log-densities beside normals, factor analysis and mixtures of normals.

python experiments/real_values/run.py [ztrack] [seeds]    needs numpy and scikit-learn, whose package has the tables
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import FactorAnalysis
from sklearn.mixture import GaussianMixture

ZTRACK = sys.argv[1] if len(sys.argv) > 1 else "ztrack"
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}


def train(folder, seed, *settings):
    """A run; its folder."""
    source = "data.source={ name = \"files\", train = \"%s\", validation = \"%s\", test = \"%s\" }"
    source %= tuple(folder / f"{part}.csv" for part in ["train", "validation", "test"])
    out = folder / f"run{len(list(folder.iterdir()))}"
    config = folder / "run.toml"
    config.write_text("")
    settings = [source, "data.variables=real", f"seed={seed}", "training.batch=50", "evaluation.exact=true", *settings]
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    command = [ZTRACK, "train", str(config), "--quiet", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if not (out / "best.safetensors").exists():
        raise SystemExit(done.stderr)
    return out


def errors(run):
    """(tracked - exact) / standard error at every evaluation."""
    with open(run / "metrics.csv") as file:
        rows = list(csv.DictReader(file))
    return [
        (float(row["log_z"]) - float(row["exact_log_z"])) / float(row["log_z_std_error"])
        for row in rows[1:]
        if row["exact_log_z"]
    ]


def densities(run, folder):
    """log p of each test row."""
    out = folder / "rows.csv"
    command = [ZTRACK, "evaluate", str(run), "--per-row", str(out), "--force"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr)
    with open(out) as file:
        return np.array([float(row["log_likelihood"]) for row in csv.DictReader(file) if row["split"] == "test"])


def compare(name, x, seed):
    """Differences of test log-densities, and errors of tracked log Z."""
    order = np.random.default_rng(seed).permutation(len(x))
    cut = [int(0.6 * len(x)), int(0.8 * len(x))]
    train_rows, validation, test = np.split(x[order], cut)
    varies = train_rows.std(0) > 0
    parts = [rows[:, varies] for rows in [train_rows, validation, test]]
    mean, scale = parts[0].mean(0), parts[0].std(0)
    standard = [(rows - mean) / scale for rows in parts]
    columns = parts[0].shape[1]
    others = {"independent normals": -0.5 * (standard[2] ** 2 + np.log(2 * np.pi)).sum(1)}
    factors = [FactorAnalysis(k, random_state=0).fit(standard[0]) for k in (1, 2, 4, 8, 16)]
    others["factor analysis"] = max(factors, key=lambda it: it.score(standard[1])).score_samples(standard[2])
    # The variances of the model are at least a hundredth of the data's, and so are those of the mixtures.
    mixtures = [
        GaussianMixture(k, covariance_type="diag", reg_covar=0.01, random_state=0).fit(standard[0])
        for k in (1, 2, 4, 8, 16)
    ]
    others["mixture of normals"] = max(mixtures, key=lambda it: it.score(standard[1])).score_samples(standard[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for part, rows in zip(["train", "validation", "test"], parts):
            np.savetxt(folder / f"{part}.csv", rows, delimiter=",", fmt="%.9g")
        run = train(folder, seed, "model.hidden=16", "training.epochs=100", "training.early_stopping=false")
        z = errors(run)
        own = densities(run, folder) + np.log(scale).sum()
        fast = errors(train(folder, seed, "model.hidden=16", "training.epochs=30", "training.learning_rate.initial=0.1", "training.early_stopping=false"))
    found = {"table": name, "seed": seed, "columns": columns, "test log-density": round(own.mean(), 3)}
    for other, log_p in others.items():
        difference = own - log_p
        error = difference.std() / np.sqrt(len(difference))
        found[f"minus {other}"] = f"{difference.mean():.2f} +- {error:.2f}"
    found["errors of log Z"], found["errors at rate .1"] = z, fast
    return found


if __name__ == "__main__":
    usual, fast = [], []
    for name, load in TABLES.items():
        for seed in range(1, SEEDS + 1):
            found = compare(name, load().data, seed)
            usual += found.pop("errors of log Z")
            fast += found.pop("errors at rate .1")
            print(json.dumps(found), flush=True)
    for name, z in [("usual rate", usual), ("rate .1", fast)]:
        z = np.array(z)
        print(f"tracked log Z, {name}: {len(z)} evaluations, root mean square {np.sqrt((z**2).mean()):.2f} errors, {(abs(z) < 2).mean():.1%} within two, largest {abs(z).max():.1f}")
