"""Real columns: densities of public tables, limits that are known, tracked log Z beside enumeration, tables of any scale.

python experiments/real_values/run.py PART [ztrack] [seeds]    needs numpy and scikit-learn, whose package has the tables

PART: densities (test rows beside normals, factor analysis and mixtures, as they are and in principal components), limits (rows of mixtures
that an RBM represents exactly; the largest by other settings too), settings (breast cancer with more hidden units, longer and with tempered gradients), errors (tracked log Z beside enumeration, at the usual rate and at a larger one), scales (twelve tables of
other people and of very different scale, by default).
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.decomposition import FactorAnalysis
from sklearn.mixture import GaussianMixture

PART = sys.argv[1] if len(sys.argv) > 1 else "densities"
ZTRACK = sys.argv[2] if len(sys.argv) > 2 else "ztrack"
SEEDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
TABLES = {"wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
FIXED = ["model.hidden=16", "training.batch=50", "training.early_stopping=false"]


def train(folder, parts, *settings):
    """A run on training, validation and test rows, or on one table that the command splits; its folder and what it said."""
    paths = []
    for part, rows in zip(["train", "validation", "test"], parts):
        paths.append(folder / f"{part}.csv")
        np.savetxt(paths[-1], rows, delimiter=",", fmt="%.12g")
    out = folder / f"run{len(list(folder.iterdir()))}"
    config, settings = paths[0], ["data.variables=real", *settings]
    if len(parts) > 1:
        config = folder / "run.toml"
        config.write_text("")
        source = ", ".join(f'{path.stem} = "{path}"' for path in paths)
        settings.insert(0, "data.source={ name = \"files\", %s }" % source)
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    command = [ZTRACK, "train", str(config), "--quiet", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 2) or not (out / "metrics.csv").exists():
        raise SystemExit(f"{command}: {done.stderr}")
    return out, done.stderr


def metrics(run):
    with open(run / "metrics.csv") as file:
        return list(csv.DictReader(file))


def errors(run):
    """(tracked - exact) / standard error at every evaluation, and whether it was sound."""
    rows = [row for row in metrics(run) if row["exact_log_z"]]
    z = [(float(row["log_z"]) - float(row["exact_log_z"])) / float(row["log_z_std_error"]) for row in rows]
    return np.array(z), np.array([row["sound"] == "1" for row in rows])


def densities(run, folder):
    """log p of each test row."""
    out = folder / "rows.csv"
    done = subprocess.run([ZTRACK, "evaluate", str(run), "--per-row", str(out), "--force"], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr)
    with open(out) as file:
        return np.array([float(row["log_likelihood"]) for row in csv.DictReader(file) if row["split"] == "test"])


def split(x, seed):
    """Training, validation and test rows, in columns that vary in the training rows, standardised by these."""
    order = np.random.default_rng(seed).permutation(len(x))
    parts = np.split(x[order], [int(0.6 * len(x)), int(0.8 * len(x))])
    varies = parts[0].std(0) > 0
    mean, scale = parts[0][:, varies].mean(0), parts[0][:, varies].std(0)
    return [(rows[:, varies] - mean) / scale for rows in parts]


def principal(parts):
    """The same in principal components of variance 1, and log |determinant|, which densities of the columns add."""
    values, vectors = np.linalg.eigh(np.cov(parts[0].T, bias=True))
    values = np.maximum(values, 1e-6)
    return [rows @ vectors / np.sqrt(values) for rows in parts], -0.5 * np.log(values).sum()


def compare(name, x, seed):
    """Differences of test log-densities."""
    parts = split(x, seed)
    columns = parts[0].shape[1]
    others = {"independent normals": -0.5 * (parts[2] ** 2 + np.log(2 * np.pi)).sum(1)}
    factors = [FactorAnalysis(k, random_state=0).fit(parts[0]) for k in (1, 2, 4, 8, 16)]
    others["factor analysis"] = max(factors, key=lambda it: it.score(parts[1])).score_samples(parts[2])

    # The variances of the model are at least a hundredth of the data's, and so are those of the mixtures.
    def mixture(components):
        return GaussianMixture(components, covariance_type="diag", reg_covar=0.01, random_state=0).fit(parts[0])

    others["mixture of normals"] = max(map(mixture, (1, 2, 4, 8, 16)), key=lambda it: it.score(parts[1])).score_samples(parts[2])
    as_many = round((16 * columns + 2 * columns + 16 + 1) / (2 * columns + 1))
    others["mixture with as many parameters"] = mixture(as_many).score_samples(parts[2])
    found = {"table": name, "seed": seed, "columns": columns}
    for place, rows, added in [("columns", parts, 0.0), ("principal components", *principal(parts))]:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            run, _ = train(folder, rows, *FIXED, f"seed={seed}", "training.epochs=100")
            own = densities(run, folder) + added
        found[place] = round(own.mean(), 2)
        for other, log_p in others.items():
            difference = own - log_p
            found[f"{place} minus {other}"] = f"{difference.mean():.2f} +- {difference.std() / np.sqrt(len(own)):.2f}"
    return found


def limit(hidden, columns, seed, *settings):
    """Test log-density and that of the truth, an RBM with few hidden units: a mixture of 2^hidden normals."""
    random = np.random.default_rng(seed)
    means, odds = random.normal(size=(hidden, columns)) * 2, random.normal(size=hidden)
    states = (np.arange(2**hidden)[:, None] >> np.arange(hidden)) & 1
    log_share = states @ odds
    log_share = log_share - np.logaddexp.reduce(log_share)

    def draw(n):
        chosen = random.choice(2**hidden, n, p=np.exp(log_share))
        return states[chosen] @ means + random.normal(size=(n, columns))

    def log_p(rows):
        squares = ((rows[:, None] - states @ means) ** 2).sum(2)
        return np.logaddexp.reduce(log_share - 0.5 * squares - 0.5 * columns * np.log(2 * np.pi), axis=1)

    parts = [draw(n) for n in (20_000, 2_000, 10_000)]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        usual = [f"model.hidden={2 * hidden}", f"seed={seed}", "training.batch=100", "training.epochs=40"]
        run, _ = train(folder, parts, *usual, *settings)
        difference = densities(run, folder) - log_p(parts[2])
    entropy = -np.concatenate([log_p(draw(20_000)) for _ in range(10)])
    return {
        "components": 2**hidden,
        "columns": columns,
        "settings": settings,
        "entropy": f"{entropy.mean():.3f} +- {entropy.std() / np.sqrt(len(entropy)):.3f}",
        "test minus truth": f"{difference.mean():.4f} +- {difference.std() / np.sqrt(len(difference)):.4f}",
    }


def other_settings():
    """Test log-density of breast cancer by what usually helps; that of factor analysis first."""
    parts = split(datasets.load_breast_cancer().data, 1)
    factors = [FactorAnalysis(k, random_state=0).fit(parts[0]) for k in (1, 2, 4, 8, 16)]
    yield "factor analysis", max(factors, key=lambda it: it.score(parts[1])).score(parts[2])
    tempered = ["training.gradient=tempered"]
    fast = [*tempered, "training.learning_rate.initial=0.1"]
    usual = ["training.batch=50", "training.early_stopping=false", "seed=1", "evaluation.every=1000", "audit.every=0"]
    for hidden, updates, more in [(16, 5000, []), (64, 5000, []), (64, 20_000, []), (64, 20_000, tempered), (64, 20_000, fast), (256, 20_000, [])]:
        with tempfile.TemporaryDirectory() as folder:
            settings = [f"model.hidden={hidden}", f"training.updates={updates}", *more]
            run, _ = train(Path(folder), parts, *usual, *settings)
            yield " ".join(settings), densities(run, Path(folder)).mean()


def ten_tables():
    """Tables of other people, some of them with scales from 1e-6 to 1e6 and means a thousand times that; and hard ones."""
    random = np.random.default_rng(0)

    def scaled(x):
        scale = 10.0 ** random.uniform(-6, 6, x.shape[1])
        return x * scale + 1e3 * scale * random.normal(size=x.shape[1])

    z = random.normal(size=(5000, 3))
    digits, linnerud = datasets.load_digits().data, datasets.load_linnerud()
    zeros = random.uniform(size=(5000, 10)) < 0.99
    return {
        "iris": datasets.load_iris().data,
        "wine, scaled": scaled(datasets.load_wine().data),
        "breast cancer, scaled": scaled(datasets.load_breast_cancer().data),
        "digits": digits[:, digits.std(0) > 0.3],
        "diabetes": datasets.load_diabetes().data,
        "linnerud, 20 rows": np.hstack([linnerud.data, linnerud.target]),
        "Student, 1.5 degrees of freedom": random.standard_t(1.5, size=(5000, 6)) + z[:, :1],
        "log-normal": 1e5 * np.exp(z @ random.normal(size=(3, 8)) + 0.5 * random.normal(size=(5000, 8))),
        "collinear to 1e-4": np.hstack([z, z @ random.normal(size=(3, 5)) + 1e-4 * random.normal(size=(5000, 5))]),
        "three different values": random.integers(0, 3, size=(5000, 6)).astype(float),
        "99 % zeros": np.where(zeros, 0, random.exponential(size=(5000, 10))),
        "60 rows, 300 columns": random.normal(size=(60, 300)),
    }


def by_default(name, x):
    """A run by default on a table: first and last validation log-density, in standardised columns, and notices."""
    with tempfile.TemporaryDirectory() as folder:
        run, said = train(Path(folder), [x], "training.updates=3000", "evaluation.every=500")
        rows, (z, _) = metrics(run), errors(run)
        constant = np.log(x.std(0)).sum()
        values = [float(row["validation_log_likelihood"]) + constant for row in (rows[0], rows[-1])]
        with open(run / "notices.jsonl") as file:
            notices = sorted({json.loads(line)["kind"] for line in file})
    found = {"table": name, "rows, columns": x.shape, "validation": [round(value, 2) for value in values], "notices": notices}
    return found | {"largest error of log Z, in errors": round(abs(z).max(), 1) if len(z) else None}


if __name__ == "__main__":
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    if PART == "densities":
        for name, load in TABLES.items():
            for seed in range(1, SEEDS + 1):
                print(json.dumps(compare(name, load().data, seed)), flush=True)
    elif PART == "limits":
        others = ["training.preconditioning=false", "training.epochs=120", "training.gradient=tempered"]
        others += ["training.largest_step=1e9", "model.weight_scale=0.2", "model.hidden=16"]
        for hidden, columns, *settings in [(1, 4), (2, 6), (3, 8), (4, 12), *[(4, 12, other) for other in others]]:
            for seed in range(1, SEEDS + 1):
                print(json.dumps(limit(hidden, columns, seed, *settings)), flush=True)
    elif PART == "settings":
        for name, value in other_settings():
            print(f"{name}: {value:.2f}", flush=True)
    elif PART == "scales":
        for name, x in ten_tables().items():
            print(json.dumps(by_default(name, x)), flush=True)
    else:
        for name, rate in [("usual rate", []), ("rate .2", ["training.learning_rate.initial=0.2"])]:
            runs = []
            for seed in range(1, SEEDS + 1):
                parts = split(list(TABLES.values())[seed % 2]().data, seed)
                with tempfile.TemporaryDirectory() as folder:
                    settings = [*FIXED, *rate, f"seed={seed}", "training.updates=3000", "evaluation.every=100", "evaluation.exact=true"]
                    runs.append(errors(train(Path(folder), parts, *settings)[0]))
            z, sound = map(np.concatenate, zip(*runs))
            told = z[sound]
            within = ", ".join(f"{(abs(told) < k).mean():.1%} within {k}" for k in (1, 2, 4))
            square = np.sqrt((told**2).mean())
            print(f"{name}: {SEEDS} runs, {len(z)} evaluations, {sound.mean():.1%} sound; of these root mean square {square:.2f}, {within}, largest {abs(told).max():.1f}", flush=True)
