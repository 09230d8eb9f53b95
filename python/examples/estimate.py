"""log Z, log-likelihoods and samples of models that are trained already, in every layout.

    python python/examples/estimate.py [--quick]
"""

import sys

import numpy as np
from sklearn.neural_network import BernoulliRBM

import ztrack

QUICK = "--quick" in sys.argv
random = np.random.default_rng(1)

# Two prototypes with noise; scikit-learn's own model of them.
prototypes = random.integers(0, 2, (2, 20))
data = (prototypes[random.integers(0, 2, 1000)] ^ (random.random((1000, 20)) < 0.05)).astype(float)
theirs = BernoulliRBM(n_components=16, n_iter=3 if QUICK else 20, learning_rate=0.05, random_state=1).fit(data)
model = ztrack.from_sklearn(theirs)

exact = model.log_partition(method="exact")
print(f"exact log Z {exact.value:.3f}; scikit-learn's pseudo-likelihood {theirs.score_samples(data).mean():.2f},")
print(f"the log-likelihood is {model.log_likelihood(data, exact).value:.3f} nats per row\n")

methods = ["rts", "mbar", "ais", "sandwich"] if QUICK else "all"
found = model.log_partition(method=methods, data=data, sweeps=200, seed=1)
print(found.table().to_string(float_format="%.3f"))
print(f"\nuse {found.method}: {found.value:.3f} +- {found.std_error:.3f}, {found.trust}; at least {found.bounds[0]:.3f}")
assert abs(found.value - exact.value) < 5 * found.std_error + 1e-4

# Units -1 and +1, and back: the same distribution.
W, c, b, constant = ztrack.to_plus_minus(model)
again = ztrack.from_plus_minus(W, c, b)
print(f"through -1/+1 and back: log Z {again.log_partition(method='exact').value:.3f}")
print(f"ten samples have {model.sample(10, data=data, seed=1).mean():.2f} ones, the data {data.mean():.2f}")
