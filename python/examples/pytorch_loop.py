"""log Z of an RBM that a plain PyTorch loop trains, beside the exact value.

    python python/examples/pytorch_loop.py [--quick]
"""

import sys

import numpy as np

import ztrack

try:
    import torch
except ImportError:
    print("skipped: this example needs torch (pip install torch)")
    sys.exit(0)

QUICK = "--quick" in sys.argv
UPDATES, SIDE, HIDDEN, BATCH, RATE = (300 if QUICK else 3000), 4, 16, 100, 0.05


def bars_and_stripes(rows, generator):
    lines = torch.randint(0, 2, (rows, SIDE, 1), generator=generator).expand(rows, SIDE, SIDE)
    upright = torch.randint(0, 2, (rows, 1, 1), generator=generator).bool()
    picture = torch.where(upright, lines.transpose(1, 2), lines).reshape(rows, -1)
    noise = torch.rand(picture.shape, generator=generator) < 0.02
    return torch.where(noise, 1 - picture, picture).float()


generator = torch.Generator().manual_seed(1)
data = bars_and_stripes(2000, generator)
validation = bars_and_stripes(500, generator)
W = 0.01 * torch.randn(SIDE * SIDE, HIDDEN, generator=generator)
c, b = torch.zeros(SIDE * SIDE), torch.zeros(HIDDEN)
particles = torch.bernoulli(torch.full((BATCH, SIDE * SIDE), 0.5), generator=generator)

tracker = ztrack.Tracker(data=data, n_hidden=HIDDEN, seed=1)  # the line to add,
tracker.update(W, c, b)  # once before training,
print("update   tracked log Z       exact   errors  validation log-lik.  trust")
inside = evaluations = 0
for update in range(1, UPDATES + 1):
    v = data[torch.randint(0, len(data), (BATCH,), generator=generator)]
    h = torch.sigmoid(v @ W + b)
    hidden = torch.bernoulli(torch.sigmoid(particles @ W + b), generator=generator)
    particles = torch.bernoulli(torch.sigmoid(hidden @ W.T + c), generator=generator)
    model = torch.sigmoid(particles @ W + b)
    W += RATE * (v.T @ h - particles.T @ model) / BATCH
    c += RATE * (v - particles).mean(0)
    b += RATE * (h - model).mean(0)

    tracker.update(W, c, b)  # and after every update
    if update % (UPDATES // 10) == 0:
        exact = tracker.model.log_partition(method="exact").value  # of the average, which is tracked
        errors = (tracker.log_z - exact) / tracker.std_error
        evaluations += tracker.trust.sound
        inside += tracker.trust.sound and abs(errors) < 4
        likelihood = tracker.log_likelihood(validation)
        print(
            f"{update:6}  {tracker.log_z:8.3f} +- {tracker.std_error:.3f}  {exact:8.3f}  {errors:+7.1f}"
            f"  {likelihood.value:9.3f} +- {likelihood.std_error:.3f}  {tracker.trust}"
        )
print(f"{inside} of {evaluations} sound values are within 4 of their errors")
assert np.isfinite(tracker.log_z) and inside >= evaluations - 1
