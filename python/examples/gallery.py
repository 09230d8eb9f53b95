"""The figures of docs/gallery.md.

    python python/examples/gallery.py [--quick] [FOLDER [NAME ...]]

Names: digits, letters, ising, categories, pytorch; all unless given. Without a folder nothing is written.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import ztrack

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

QUICK = "--quick" in sys.argv
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"


def digits():
    """Scanned digits of 8 x 8 pixels: the log-likelihood of held-out rows while it trains, and samples."""
    from sklearn.datasets import load_digits

    rows = (load_digits().data > 7).astype(np.uint8)
    model = ztrack.RBM(n_hidden=64, n_iter=5 if QUICK else 300, early_stopping=True, random_state=1).fit(rows[:-300])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), width_ratios=(1.3, 1))
    column = lambda name: np.array([point.get(name, np.nan) for point in model.curves_], dtype=float)  # noqa: E731
    for name, colour in (("train", GREY), ("validation", BLUE)):
        value, error = column(f"{name}/log_likelihood"), column(f"{name}/log_likelihood_std_error")
        left.plot(column("update"), value, color=colour, label=name)
        left.fill_between(column("update"), value - 2 * error, value + 2 * error, color=colour, alpha=0.25, lw=0)
    left.set(xlabel="update", ylabel="log-likelihood, nats per row", ylim=(np.nanmax(value) - 15, np.nanmax(value) + 8))
    left.legend()
    drawn = model.sample(40, random_state=1).reshape(5, 8, 8, 8)
    right.imshow(np.pad(drawn, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=1).transpose(0, 2, 1, 3).reshape(50, 80), cmap="gray_r")
    right.set(xticks=[], yticks=[], title="40 samples")
    held = model.score(rows[-300:])
    print(f"digits: log Z {model.log_z_:.2f} +- {model.log_z_error_:.2f}, {model.trust_}; 300 held-out rows {held:.2f} nats a row")
    return figure


def letters():
    """DNA-like letters with a planted site: shares of letters by position, of the rows and of samples of the model."""
    random = np.random.default_rng(1)
    length, site = 20, np.array(["ACGT".index(letter) for letter in "TATAAT"])
    rows = random.integers(0, 4, (500 if QUICK else 4000, length))
    planted = random.random(len(rows)) < 0.5
    kept = random.random((len(rows), 6)) < 0.9
    rows[:, 7:13] = np.where(planted[:, None] & kept, site, rows[:, 7:13])
    model = ztrack.RBM(n_hidden=12, n_iter=5 if QUICK else 60, categories=[4] * length, random_state=1).fit(rows)
    drawn = model.sample(len(rows), random_state=1)
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True)
    for axis, cells, title in zip(axes, (rows, drawn), ("rows", "samples of the model")):
        bottom = np.zeros(length)
        for state, (letter, colour) in enumerate(zip("ACGT", ("#009e73", BLUE, "#f0e442", ORANGE))):
            share = (cells == state).mean(axis=0)
            axis.bar(np.arange(1, length + 1), share, bottom=bottom, color=colour, label=letter, width=0.9)
            bottom += share
        axis.set(title=title, xlabel="position")
    axes[0].set_ylabel("share of each letter")
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    # Half the rows have the site, with nine letters of ten kept: what no model can beat.
    letter = np.where(np.eye(4)[site], 0.9 + 0.1 / 4, 0.1 / 4)
    with_site = np.prod([letter[i, rows[:, 7 + i]] for i in range(6)], axis=0)
    best = np.log(0.5 * with_site + 0.5 * 4.0**-6).mean() - (length - 6) * np.log(4)
    print(f"letters: {model.score(rows):.3f} nats a row; of the distribution they were drawn from {best:.3f}; {model.trust_}")
    return figure


def lattice(side, coupling):
    """The square lattice of Ising spins on a torus as an RBM: black sites are visible, white ones hidden."""
    sites = side * side // 2
    couplings = np.zeros((sites, sites))
    for row in range(side):
        for column in range(row % 2, side, 2):
            for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                other = (row + down) % side * side + (column + right) % side
                couplings[(row * side + column) // 2, other // 2] += coupling
    return couplings, np.zeros(sites), np.zeros(sites)


def onsager(coupling):
    """log Z per site of the infinite lattice (Onsager 1944)."""
    angle, k = (np.arange(4000) + 0.5) * np.pi / 4000, np.sinh(2 * coupling) ** -2
    root = np.sqrt(1 + k**2 - 2 * k * np.cos(2 * angle)) / k
    return np.log(2) / 2 + np.log(np.cosh(2 * coupling) ** 2 + root).mean() / 2


def ising():
    """log Z per site of Ising lattices of growing size, and the limit of the infinite one."""
    figure, axis = plt.subplots(figsize=(6, 3.4))
    line = np.linspace(0.05, 0.7, 100)
    axis.plot(line, [onsager(k) for k in line], color="black", lw=1, label="infinite lattice (Onsager)")
    for side, colour, marker in ((4, GREY, "s"), (8, BLUE, "o"), (16, ORANGE, "D")):
        if QUICK and side > 8:
            continue
        doubted = 0
        for coupling in (0.1, 0.2, 0.3, 0.4, 0.44, 0.5, 0.6):
            found = ztrack.log_partition(*lattice(side, coupling), method="rts", groups="plus-minus", seed=1)
            sound = bool(found.trust.sound)
            doubted += not sound
            axis.errorbar(
                coupling, found.value / side**2, 2 * found.std_error / side**2, color=colour, fmt=marker, ms=4,
                mfc=colour if sound else "white", label=f"{side} x {side}" if coupling == 0.1 else None,
            )  # fmt: skip
        print(f"ising: {side} x {side}: {doubted} of 7 in doubt; last {found.value / side**2:.4f} a site, limit {onsager(0.6):.4f}")
    axis.set(xlabel="coupling J/T", ylabel="log Z per site, nats")
    axis.legend()
    return figure


def categories():
    """A table of ten columns of four categories: held-out log-likelihood against the number of hidden units."""
    from sklearn.datasets import load_breast_cancer

    cells = load_breast_cancer().data[:, :10]
    edges = np.quantile(cells, (0.25, 0.5, 0.75), axis=0)
    table = (cells[:, :, None] > edges.T).sum(axis=2)
    table = table[np.random.default_rng(1).permutation(len(table))]
    train, test = table[:400], table[400:]
    shares = np.stack([(train == state).mean(axis=0) for state in range(4)])
    independent = np.log(shares[test, np.arange(10)]).sum(axis=1).mean()
    sizes, found = ((2, 8) if QUICK else (1, 2, 4, 8, 16, 32)), []
    for hidden in sizes:
        model = ztrack.RBM(n_hidden=hidden, n_iter=10 if QUICK else 400, categories=[4] * 10, early_stopping=True, random_state=1)
        rows = model.fit(train).score_samples(test)
        found.append((rows.mean(), np.hypot(rows.std() / np.sqrt(len(rows)), model.log_z_error_)))
        print(f"categories: {hidden} hidden units: {found[-1][0]:.3f} +- {found[-1][1]:.3f} nats a row; {model.trust_}")
    print(f"categories: independent columns: {independent:.3f}")
    figure, axis = plt.subplots(figsize=(6, 3.2))
    value, error = np.array(found).T
    axis.errorbar(sizes, value, 2 * error, fmt="o-", color=BLUE, label="RBM, 2 errors")
    axis.axhline(independent, color=GREY, label="independent columns")
    axis.set(xscale="log", xticks=sizes, xticklabels=sizes, xlabel="hidden units", ylabel="test log-likelihood, nats per row")
    axis.minorticks_off()
    axis.legend(loc="lower right")
    return figure


def pytorch():
    """A plain loop in PyTorch, tracked: `tracker.plot()`."""
    try:
        import torch
    except ImportError:
        print("pytorch: skipped, it needs torch (pip install torch)")
        return None
    from sklearn.datasets import load_digits

    torch.manual_seed(1)
    rows = torch.tensor(load_digits().data > 7, dtype=torch.float32)
    train, valid = rows[:1500], rows[1500:]
    W, c, b = 0.01 * torch.randn(64, 32), torch.zeros(64), torch.zeros(32)
    chains = train[:100].clone()
    tracker = ztrack.Tracker(data=train, n_hidden=32, seed=1)
    tracker.update(W, c, b)
    for update in range(1, (200 if QUICK else 8000) + 1):
        v = train[torch.randint(0, len(train), (100,))]
        h = torch.sigmoid(v @ W + b)
        chains = torch.bernoulli(torch.sigmoid(torch.bernoulli(torch.sigmoid(chains @ W + b)) @ W.T + c))
        m = torch.sigmoid(chains @ W + b)
        W += 0.05 * (v.T @ h - chains.T @ m) / 100
        c += 0.05 * (v - chains).mean(0)
        b += 0.05 * (h - m).mean(0)
        tracker.update(W, c, b)
        if update % (100 if QUICK else 200) == 0:
            last = tracker.evaluate({"train": train, "validation": valid})
    sound = sum(found.trust.sound for found in tracker.evaluations)
    print(f"pytorch: log Z {last.value:.2f} +- {last.std_error:.2f}; {sound} of {len(tracker.evaluations)} evaluations sound")
    return tracker.plot()


FIGURES = {function.__name__: function for function in (digits, letters, ising, categories, pytorch)}
folder, *names = [argument for argument in sys.argv[1:] if not argument.startswith("-")] or [None]
for name in names or FIGURES:
    figure = FIGURES[name]()
    if figure is not None and folder is not None:
        figure.savefig(Path(folder) / f"gallery-{name}.png", dpi=100, bbox_inches="tight")
