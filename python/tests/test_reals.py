"""Real columns: the same model enumerated by hand, tracked, sampled, trained and refused."""

import itertools

import numpy as np
import pytest
import ztrack

GROUPS = "2*real,1+,real(3;0.5)"


def model(seed=1, hidden=4):
    """W, c, b of two real columns, a bit, and a real column of mean 3 and scale .5."""
    random = np.random.default_rng(seed)
    weights, visible = 0.5 * random.standard_normal((7, hidden)), 0.3 * random.standard_normal(7)
    weights[[1, 3, 6]] = 0
    visible[[1, 3, 6]] = [-0.6, -1.0, -0.5]
    return weights, visible, 0.3 * random.standard_normal(hidden)


def enumerated(weights, visible, hidden):
    """log Z by the sum over hidden states of integrals of the visible columns."""
    terms = []
    for h in itertools.product([0, 1], repeat=len(hidden)):
        eta = visible + weights @ np.array(h)
        a = np.logaddexp(0, eta[4]) + np.log(0.5)
        for first in (0, 2, 5):
            a += eta[first] ** 2 / (-4 * eta[first + 1]) + 0.5 * np.log(np.pi / -eta[first + 1])
        terms.append(hidden @ np.array(h) + a)
    return np.logaddexp.reduce(terms)


def test_log_z_is_that_of_densities_in_the_units_of_the_numbers():
    parameters = model()
    exact = enumerated(*parameters)
    found = ztrack.log_partition(*parameters, groups=GROUPS)
    assert abs(found.value - exact) < 1e-5
    annealed = ztrack.log_partition(*parameters, groups=GROUPS, method="ais", chains=400)
    assert abs(annealed.value - exact) < 4.5 * annealed.std_error
    # A density: its integral over one real column, the others summed by the samples, is that of another choice of the row.
    rows = ztrack.sample(*parameters, 4000, groups=GROUPS)
    assert rows.dtype == np.float64 and rows.shape == (4000, 4)
    assert set(np.unique(rows[:, 2])) <= {0.0, 1.0}
    likelihood = ztrack.log_likelihood(*parameters, rows, found, groups=GROUPS)
    # The entropy of the last column, of standard deviation .5 or so, is lower than that of v.
    wider = (*parameters, np.column_stack([rows[:, :3], (rows[:, 3] - 3) / 0.5]))
    other = ztrack.log_likelihood(*wider, found.value - np.log(0.5), groups="2*real,1+,real")
    assert abs(likelihood.value - (other.value - np.log(0.5))) < 1e-5


def test_samples_have_the_moments_of_the_model():
    parameters = model()
    n = 8000
    rows = ztrack.sample(*parameters, n, groups=GROUPS, seed=3)
    weights, visible, hidden = parameters
    states = np.array(list(itertools.product([0, 1], repeat=4)))
    eta = visible + states @ weights.T
    log_p = states @ hidden + np.logaddexp(0, eta[:, 4])
    for first in (0, 2, 5):
        log_p = log_p + eta[:, first] ** 2 / (-4 * eta[:, first + 1])
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    for column, first, mean, scale in [(0, 0, 0, 1), (1, 2, 0, 1), (3, 5, 3, 0.5)]:
        expected = mean + scale * (p @ (eta[:, first] / (-2 * eta[:, first + 1])))
        error = rows[:, column].std() / np.sqrt(n)
        assert abs(rows[:, column].mean() - expected) < 4.5 * error


def test_a_tracker_follows_a_model_of_real_columns():
    parameters = model()
    rows = ztrack.sample(*parameters, 1000, groups="2*real,1+,real", seed=5)
    tracker = ztrack.Tracker(rows, 4, 100, groups="2*real,1+,real", averaging=0)
    for step in range(6):
        weights, visible, hidden = parameters
        moved = (weights * (1 + 0.02 * step), visible, hidden + 0.02 * step)
        tracker.update(*moved)
    exact = enumerated(*moved) - np.log(0.5)
    found = tracker.evaluate({"train": rows})
    assert abs(found.value - exact) < 4.5 * found.std_error
    assert np.isfinite(found.log_likelihoods["train"].value)
    states, shares = tracker.samples()
    assert states.dtype == np.float64 and states.shape == (100, 4) and np.isclose(shares.sum(), 1)
    again = ztrack.Tracker.from_state_dict(tracker.state_dict())
    assert again.evaluate(rows).value == found.value
    assert tracker.model.groups.startswith("2*real(0;1)")


def test_the_estimator_standardises_and_its_densities_are_in_units_of_the_table():
    sklearn = pytest.importorskip("sklearn.datasets")
    x = sklearn.load_iris().data * [1e-3, 1, 1e4, 1] + [0, 1e6, 0, 0]
    found = ztrack.RBM(8, groups="real", n_iter=100, random_state=1).fit(x)
    scale = x.std(axis=0)
    normal = -0.5 * (((x - x.mean(axis=0)) / scale) ** 2 + np.log(2 * np.pi)).sum(axis=1) - np.log(scale).sum()
    assert found.score(x) > normal.mean() + 0.5
    assert found.transform(x).shape == (150, 8)
    drawn = found.sample(2000, random_state=2)
    assert np.allclose(drawn.mean(axis=0), x.mean(axis=0), atol=0.2 * scale.max(), rtol=0.2)
    with pytest.raises(ztrack.InvalidError, match="`partial_fit` takes columns of 0 and 1"):
        ztrack.RBM(4, groups="real").partial_fit(x)


def test_what_has_no_meaning_is_refused():
    parameters = model()
    rows = np.zeros((3, 4))
    for call, words in [
        (lambda: ztrack.log_f(*parameters, np.zeros((3, 7)), groups=GROUPS), "has 7 columns, the model has 4"),
        (lambda: ztrack.log_f(*parameters, np.full((3, 4), np.nan), groups=GROUPS), "NaN or infinity"),
        (lambda: ztrack.log_partition(*parameters, groups="2*real,1+,realer"), "realer"),
        (lambda: ztrack.log_partition(*parameters, data=rows + 0.5, groups=GROUPS), "neither 0 nor 1"),
        (lambda: ztrack.log_partition(*parameters, groups=GROUPS, method="tap-third"), "real"),
        (lambda: ztrack.complete(*parameters, rows, groups=GROUPS), "ztrack impute"),
        (lambda: ztrack.Tracker(None, 4, marginals=[0.5] * 8, groups="4*real"), "needs `data`"),
        (lambda: ztrack.log_partition(np.ones((2, 3)), [0, -1], np.zeros(3), groups="real"), "square of a real variable"),
    ]:
        with pytest.raises(ztrack.ZtrackError, match=words):
            call()
