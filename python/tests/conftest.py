import numpy as np
import pytest


def two_prototypes(rows, units=16, seed=1):
    random = np.random.default_rng(seed)
    prototypes = np.random.default_rng(7).integers(0, 2, (2, units))
    flips = random.random((rows, units)) < 0.1
    return (prototypes[random.integers(0, 2, rows)] ^ flips).astype(np.uint8)


@pytest.fixture
def data():
    return two_prototypes(400)


@pytest.fixture
def model():
    random = np.random.default_rng(3)
    W = random.normal(0, 0.4, (16, 8))
    return W, random.normal(0, 0.3, 16), random.normal(0, 0.3, 8)


@pytest.fixture
def exact():
    return enumerate_log_z


def enumerate_log_z(W, c, b):
    """log Z by every state of the hidden layer, in float64."""
    W, c, b = (np.asarray(x, dtype=np.float64) for x in (W, c, b))
    states = (np.arange(2 ** len(b))[:, None] >> np.arange(len(b)) & 1).astype(np.float64)
    log_f = states @ b + np.logaddexp(0, states @ W.T + c).sum(axis=1)
    return float(np.logaddexp.reduce(log_f))
