"""One peer of benches/peers/run: times the settings it is given and prints one JSON line each.

Usage: peer.py NAME SECONDS VISIBLExHIDDENxCHAINS..., in an environment that pins threads before any library is loaded.
Weights and states are those of our side: Gaussian weights of standard deviation .1, states after some sweeps.
"""

import json
import os
import statistics
import sys
import time

THREADS = int(os.environ["OMP_NUM_THREADS"])


def median(seconds, work):
    """Median of the calls made in about `seconds` (at least three, after one to warm up), in milliseconds."""
    work()
    times = []
    start = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        call = time.perf_counter()
        work()
        times.append((time.perf_counter() - call) * 1e3)
    return statistics.median(times)


def torch_model(n_visible, n_hidden, chains):
    import torch

    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    weights = 0.1 * torch.randn(n_visible, n_hidden)
    visible_bias, hidden_bias = 0.1 * torch.randn(n_visible), 0.1 * torch.randn(n_hidden)
    visible = torch.bernoulli(torch.full((chains, n_visible), 0.5))
    return torch, weights, visible_bias, hidden_bias, visible


def torch_sweep(n_visible, n_hidden, chains):
    torch, weights, visible_bias, hidden_bias, visible = torch_model(n_visible, n_hidden, chains)
    state = {"visible": visible}

    def work():
        hidden = torch.bernoulli(torch.sigmoid(state["visible"] @ weights + hidden_bias))
        state["visible"] = torch.bernoulli(torch.sigmoid(hidden @ weights.T + visible_bias))

    return work


def torch_products(n_visible, n_hidden, chains):
    torch, weights, _, _, visible = torch_model(n_visible, n_hidden, chains)
    hidden = torch.bernoulli(torch.full((chains, n_hidden), 0.5))
    to_hidden, to_visible = torch.empty(chains, n_hidden), torch.empty(chains, n_visible)

    def work():
        torch.matmul(visible, weights, out=to_hidden)
        torch.matmul(hidden, weights.T, out=to_visible)

    return work


def numpy_products(n_visible, n_hidden, chains):
    import numpy

    random = numpy.random.default_rng(1)
    weights = (0.1 * random.standard_normal((n_visible, n_hidden))).astype(numpy.float32)
    visible = (random.random((chains, n_visible)) < 0.5).astype(numpy.float32)
    hidden = (random.random((chains, n_hidden)) < 0.5).astype(numpy.float32)
    to_hidden = numpy.empty((chains, n_hidden), numpy.float32)
    to_visible = numpy.empty((chains, n_visible), numpy.float32)

    def work():
        numpy.matmul(visible, weights, out=to_hidden)
        numpy.matmul(hidden, weights.T, out=to_visible)

    return work


def rbms_sweep(n_visible, n_hidden, chains):
    torch, weights, visible_bias, hidden_bias, visible = torch_model(n_visible, n_hidden, chains)
    from rbms.bernoulli_bernoulli.classes import BBRBM

    model = BBRBM(weight_matrix=weights, vbias=visible_bias, hbias=hidden_bias)
    state = {"chains": model.init_chains(num_samples=chains, start_v=visible)}

    def work():
        state["chains"] = model.sample_state(n_steps=1, chains=state["chains"], beta=1.0)

    return work


def sklearn_update(n_visible, n_hidden, chains):
    import numpy
    from sklearn.neural_network import BernoulliRBM

    random = numpy.random.default_rng(1)
    data = (random.random((chains, n_visible)) < 0.5).astype(numpy.float32)
    model = BernoulliRBM(n_components=n_hidden, learning_rate=1e-4, random_state=1)

    # The first call makes the parameters; later ones are one PCD-1 update each.
    return lambda: model.partial_fit(data)


PEERS = {
    "PyTorch composed sweep": torch_sweep,
    "PyTorch bare products": torch_products,
    "NumPy bare products": numpy_products,
    "NumPy bare products, SkylakeX kernels": numpy_products,
    "rbms sweep": rbms_sweep,
    "scikit-learn update": sklearn_update,
}

if __name__ == "__main__":
    name, seconds = sys.argv[1], float(sys.argv[2])
    for setting in sys.argv[3:]:
        n_visible, n_hidden, chains = map(int, setting.split("x"))
        work = PEERS[name](n_visible, n_hidden, chains)
        row = {"what": name, "visible": n_visible, "hidden": n_hidden, "chains": chains}
        print(json.dumps(row | {"ms": median(seconds, work)}), flush=True)
