"""One peer of benches/peers/run.py: works on one thing, when and as often as it is told.

Usage: peer.py, in an environment that pins threads before any library is loaded. Lines of standard input, fields divided
by tabs: `setup WORK VISIBLExHIDDENxCHAINS`, answered by `ready`, and `go CALLS`, answered by the milliseconds they took.
Weights and states are those of our side: Gaussian weights of standard deviation .1, states after some sweeps.
"""

import gzip
import os
import pathlib
import sys
import time

THREADS = int(os.environ["OMP_NUM_THREADS"])
# Where PyTorch computes: "cuda" beside a GPU of ours.
DEVICE = os.environ.get("PEER_DEVICE", "cpu")
TRAINING_ROWS = 6000
FIRST_UPDATES = 300
RATE = 0.05
# Of every variable of a categorical sweep.
STATES = 4


def torch_model(n_visible, n_hidden, chains):
    import torch

    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    torch.set_default_device(DEVICE)
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


def torch_products(n_visible, n_hidden, chains, kind="float32", real=False):
    torch, weights, _, _, visible = torch_model(n_visible, n_hidden, chains)
    visible = torch.randn(chains, n_visible) if real else visible
    kind = getattr(torch, kind)
    hidden = torch.bernoulli(torch.full((chains, n_hidden), 0.5)).to(kind)
    weights, visible = weights.to(kind), visible.to(kind)
    to_hidden, to_visible = torch.empty(chains, n_hidden, dtype=kind), torch.empty(chains, n_visible, dtype=kind)

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


def torch_categorical_sweep(n_visible, n_hidden, chains):
    """One-hot rows of variables of STATES states each, drawn by torch.multinomial."""
    torch, weights, visible_bias, hidden_bias, _ = torch_model(n_visible, n_hidden, chains)
    one_hot = torch.nn.functional.one_hot
    first = torch.randint(STATES, (chains, n_visible // STATES))
    state = {"visible": one_hot(first, STATES).float().view(chains, n_visible)}

    def work():
        hidden = torch.bernoulli(torch.sigmoid(state["visible"] @ weights + hidden_bias))
        probabilities = torch.softmax((hidden @ weights.T + visible_bias).view(-1, STATES), 1)
        drawn = torch.multinomial(probabilities, 1)
        state["visible"] = one_hot(drawn, STATES).float().view(chains, n_visible)

    return work


def rbms_categorical_sweep(n_visible, n_hidden, chains):
    torch, weights, visible_bias, hidden_bias, _ = torch_model(n_visible, n_hidden, chains)
    from rbms.potts_bernoulli.classes import PBRBM

    variables = n_visible // STATES
    model = PBRBM(
        weight_matrix=weights.view(variables, STATES, n_hidden), vbias=visible_bias.view(variables, STATES), hbias=hidden_bias
    )
    start = torch.randint(STATES, (chains, variables)).float()
    state = {"chains": model.init_chains(num_samples=chains, start_v=start)}

    def work():
        state["chains"] = model.sample_state(n_steps=1, chains=state["chains"], beta=1.0)

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


def training_model(n_visible, n_hidden, chains):
    """Small weights; rows of MNIST where ZTRACK_DATA names the folder of data sets, else random ones."""
    import numpy

    torch, weights, visible_bias, hidden_bias, visible = torch_model(n_visible, n_hidden, chains)
    weights, visible_bias, hidden_bias = 0.1 * weights, 0 * visible_bias, 0 * hidden_bias
    if n_visible == 784 and "ZTRACK_DATA" in os.environ:
        packed = next(pathlib.Path(os.environ["ZTRACK_DATA"]).glob("mnist/train-images*"))
        content = packed.read_bytes()
        content = gzip.decompress(content) if packed.suffix == ".gz" else content
        grey = numpy.frombuffer(content, numpy.uint8, offset=16).reshape(-1, n_visible)
        data = torch.from_numpy((grey > 127).astype(numpy.float32)).to(DEVICE)
    else:
        data = torch.bernoulli(torch.full((max(TRAINING_ROWS, chains), n_visible), 0.2))
    state = {"batch": 0, "order": None}

    def batch():
        batches = len(data) // chains
        if state["batch"] % batches == 0:
            state["order"] = torch.randperm(len(data))
        first = state["batch"] % batches * chains
        state["batch"] += 1
        return data[state["order"][first : first + chains]]

    return torch, weights, visible_bias, hidden_bias, visible, data, batch


def torch_training(n_visible, n_hidden, chains, precision="highest", kind="float32"):
    """One update of centered PCD-1 as one writes it in PyTorch, in place, without autograd; rows in shuffled batches.

    `precision`: of torch.set_float32_matmul_precision; `kind`: what both factors of a product are converted to.
    """
    torch, weights, visible_bias, hidden_bias, visible, data, batch = training_model(n_visible, n_hidden, chains)
    torch.set_float32_matmul_precision(precision)
    data_mean, state = data.mean(0), {"visible": visible}
    kind = getattr(torch, kind)

    def product(a, b):
        return a @ b if kind == torch.float32 else (a.to(kind) @ b.to(kind)).float()

    def work():
        rows = batch()
        rows_hidden = torch.sigmoid(product(rows, weights) + hidden_bias)
        hidden = torch.bernoulli(torch.sigmoid(product(state["visible"], weights) + hidden_bias))
        state["visible"] = torch.bernoulli(torch.sigmoid(product(hidden, weights.T) + visible_bias))
        model_hidden = torch.sigmoid(product(state["visible"], weights) + hidden_bias)
        hidden_mean = rows_hidden.mean(0)
        positive = product((rows - data_mean).T, rows_hidden - hidden_mean)
        negative = product((state["visible"] - data_mean).T, model_hidden - hidden_mean)
        change = (positive - negative) / chains
        to_visible = (rows - state["visible"]).mean(0) - change @ hidden_mean
        to_hidden = hidden_mean - model_hidden.mean(0) - data_mean @ change
        weights.add_(change, alpha=RATE)
        visible_bias.add_(to_visible, alpha=RATE)
        hidden_bias.add_(to_hidden, alpha=RATE)

    return work


def rbms_training(n_visible, n_hidden, chains):
    """One centered PCD-1 update of rbms: its fit_batch_pcd and a step of SGD, as its train does."""
    torch, weights, visible_bias, hidden_bias, visible, _, batch = training_model(n_visible, n_hidden, chains)
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.training.pcd import fit_batch_pcd

    model = BBRBM(weight_matrix=weights, vbias=visible_bias, hbias=hidden_bias)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, maximize=True)
    state = {"chains": model.init_chains(num_samples=chains, start_v=visible)}
    ones = torch.ones(chains)

    def work():
        rows = batch()
        optimizer.zero_grad(set_to_none=False)
        state["chains"], _ = fit_batch_pcd((rows, ones), state["chains"], model, 1, 1.0, True)
        optimizer.step()

    return work


WORKS = {
    "PyTorch composed sweep": torch_sweep,
    "PyTorch bare products": torch_products,
    "PyTorch bare products of real rows": lambda *sizes: torch_products(*sizes, real=True),
    "PyTorch bare products, bf16": lambda *sizes: torch_products(*sizes, kind="bfloat16"),
    "NumPy bare products": numpy_products,
    "NumPy bare products, SkylakeX kernels": numpy_products,
    "rbms sweep": rbms_sweep,
    "PyTorch categorical sweep": torch_categorical_sweep,
    "rbms categorical sweep": rbms_categorical_sweep,
    "scikit-learn update": sklearn_update,
    "PyTorch training update": torch_training,
    "PyTorch training update, medium precision": lambda *sizes: torch_training(*sizes, precision="medium"),
    "PyTorch training update, bf16": lambda *sizes: torch_training(*sizes, kind="bfloat16"),
    "rbms training update": rbms_training,
}


def main():
    work = None
    for line in sys.stdin:
        command, *fields = line.rstrip("\n").split("\t")
        if command == "setup":
            what, setting = fields
            work = WORKS[what](*map(int, setting.split("x")))
            for _ in range(FIRST_UPDATES if "training" in what else 3):
                work()
            print("ready", flush=True)
        elif command == "go":
            start = time.perf_counter()
            for _ in range(int(fields[0])):
                work()
            if DEVICE == "cuda":
                sys.modules["torch"].cuda.synchronize()
            print((time.perf_counter() - start) * 1e3, flush=True)


if __name__ == "__main__":
    main()
