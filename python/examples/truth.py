"""The table of README.md: what packages report by themselves, beside the truth by enumeration, at 16 hidden units.

    python python/examples/truth.py [--quick]
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import BernoulliRBM

import ztrack

QUICK = "--quick" in sys.argv
digits = (load_digits().data > 7).astype(np.float32)
train, test = digits[:1400], digits[1400:]
found = []


def compare(package, model, reports):
    """A row for a model by its package, and what the package says of log Z or of the test rows."""
    exact = model.log_partition(method="exact")
    truth = model.log_likelihood(test, exact).value
    # As if it could not be enumerated.
    ours = model.log_partition(method="rts", data=train, seed=1)
    assert abs(ours.value - exact.value) < 3 * ours.std_error + 1e-4, (package, ours, exact)
    for name, value, is_log_z in reports(model):
        right = exact.value if is_log_z else truth
        found.append((package, name, f"{value:.2f}", f"{right:.2f}", f"{ours.value:.2f} +- {ours.std_error:.2f}"))


theirs = BernoulliRBM(n_components=16, n_iter=5 if QUICK else 50, learning_rate=0.05, random_state=1).fit(train)
compare(
    "scikit-learn",
    ztrack.from_sklearn(theirs),
    lambda model: [("`score_samples`: pseudo-likelihood", theirs.score_samples(test).mean(), False)],
)

try:
    import torch
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.partition_function.ais import compute_partition_function_ais
    from rbms.training.pcd import fit_batch_pcd
except ImportError:
    print("without rbms: pip install rbms", file=sys.stderr)
else:
    torch.manual_seed(1)
    rows = torch.tensor(train)
    share = rows.mean(0).clamp(0.01, 0.99)
    params = BBRBM(0.01 * torch.randn(64, 16), torch.log(share / (1 - share)), torch.zeros(16))
    for parameter in params.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.SGD(params.parameters(), lr=0.05, maximize=True)
    chains = params.init_chains(num_samples=100)
    for _ in range(200 if QUICK else 5000):
        batch = rows[torch.randint(0, len(rows), (100,))], torch.ones(100, 1)
        chains, _ = fit_batch_pcd(batch, chains, params, gibbs_steps=1, beta=1.0)
        optimizer.step()
    compare(
        "rbms",
        ztrack.from_torch(params.named_parameters()),
        lambda model: [
            (f"log Z, AIS {n} x {n}", compute_partition_function_ais(n, n, params), True) for n in (100, 1000)
        ],
    )

ours = ztrack.RBM(n_hidden=16, n_iter=5 if QUICK else 100, random_state=1).fit(train)
compare("ztrack", ours.model_, lambda model: [("`score`: log-likelihood", ours.score(test), False)])

print("| package | reports by itself | value | truth | log Z by `log_partition(method=\"rts\")` |")
print("|---|---|---|---|---|")
for row in found:
    print("| " + " | ".join(row) + " |")
