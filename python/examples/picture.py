"""The picture of README.md: a loop in numpy, tracked, beside exact values.

    python python/examples/picture.py [--quick] [FILE]
"""

import sys

import matplotlib
import numpy as np

import ztrack

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

QUICK = "--quick" in sys.argv
files = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
random = np.random.default_rng(1)
sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
draw = lambda p: (random.random(p.shape) < p).astype(float)  # noqa: E731

lines = random.integers(0, 2, (2500, 5, 1)).repeat(5, axis=2)
upright = random.integers(0, 2, (2500, 1, 1)).astype(bool)
X = np.where(upright, lines.transpose(0, 2, 1), lines).reshape(2500, 25)
X = (X ^ (random.random(X.shape) < 0.02)).astype(float)
X, valid = X[:2000], X[2000:]

W, c, b = random.normal(0, 0.01, (25, 16)), np.zeros(25), np.zeros(16)
particles = X[:100]
tracker = ztrack.Tracker(data=X, n_hidden=16, seed=1)
tracker.update(W, c, b)
found = []
updates = 200 if QUICK else 4000
for update in range(1, updates + 1):
    v = X[random.integers(0, len(X), 100)]
    particles = draw(sigmoid(draw(sigmoid(particles @ W + b)) @ W.T + c))
    h, m = sigmoid(v @ W + b), sigmoid(particles @ W + b)
    W += 0.05 * (v.T @ h - particles.T @ m) / 100
    c += 0.05 * (v - particles).mean(0)
    b += 0.05 * (h - m).mean(0)
    tracker.update(W, c, b)
    if update % (updates // 40) == 0:
        exact = tracker.model.log_partition(method="exact").value
        own, theirs = tracker.log_likelihood(X), tracker.log_likelihood(valid)
        row = [update, tracker.log_z, tracker.std_error, exact, own.value, own.std_error]
        found.append(row + [theirs.value, theirs.std_error, float(bool(tracker.trust))])

update, log_z, error, exact, own, own_error, theirs, theirs_error, sound = np.array(found).T
inside = np.abs(log_z - exact) <= 2 * error
print(f"{int(sound.sum())} of {len(sound)} values are called sound, {inside[sound == 1].sum()} of these lie within 2 errors")
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.5), layout="constrained")
for value, bar, name in ((own, own_error, "training rows"), (theirs, theirs_error, "validation rows")):
    (line,) = above.plot(update, value, label=name)
    above.fill_between(update, value - 2 * bar, value + 2 * bar, color=line.get_color(), alpha=0.25, linewidth=0)
(line,) = below.plot(update, log_z, label="tracked, 2 errors")
below.fill_between(update, log_z - 2 * error, log_z + 2 * error, color=line.get_color(), alpha=0.25, linewidth=0)
below.plot(update, exact, "k.", markersize=4, label="exact")
above.set_ylabel("log-likelihood, nats per row")
below.set_ylabel("log Z, nats")
below.set_xlabel("update of a loop in numpy, 25 x 16 units")
above.legend(loc="lower right")
below.legend(loc="lower right")
if files:
    figure.savefig(files[0], dpi=110)
