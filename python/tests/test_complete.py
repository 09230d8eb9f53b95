"""Rows with missing cells, against sums over all states."""

import itertools

import numpy as np
import pytest

import ztrack


def model(visible=6, hidden=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (visible, hidden)), rng.normal(0, 1, visible), rng.normal(0, 1, hidden)


def states(row):
    """All rows that fill the missing cells."""
    open_cells = np.flatnonzero(np.isnan(row))
    for bits in itertools.product((0, 1), repeat=len(open_cells)):
        filled = row.copy()
        filled[open_cells] = bits
        yield filled


def test_missing_cells_are_summed_out():
    w, c, b = model()
    rows = np.array([[1, 0, 1, 1, 0, 0], [np.nan, 0, 1, np.nan, 0, 1], [np.nan] * 6])
    found = ztrack.complete(w, c, b, rows, draws=2000, seed=3)
    for row, log_f, means, draws in zip(rows, found.log_f, found.means, found.draws):
        full = np.array(list(states(row)))
        each = ztrack.log_f(w, c, b, full)
        total = np.logaddexp.reduce(each)
        assert abs(log_f - total) < 1e-5
        expected = np.exp(each - total) @ full
        assert np.allclose(means, expected, atol=1e-5)
        # Standard errors of 2000 draws.
        assert (np.abs(draws.mean(axis=0) - expected) <= 5 * np.sqrt(expected * (1 - expected) / 2000) + 1e-9).all()
    assert (found.std_error == 0).all() and all(found.trust)
    # All cells missing: log Z.
    assert abs(found.log_f[2] - ztrack.log_partition(w, c, b).value) < 1e-5
    masked = np.ma.masked_invalid(rows)
    assert np.array_equal(ztrack.complete(w, c, b, masked).log_f, found.log_f)


def test_states_and_spins_come_back_as_they_are_given():
    w, c, b = model(7)
    rows = np.array([[0, 2, np.nan], [np.nan, 1, 1]])
    found = ztrack.complete(w, c, b, rows, draws=50, categories=[2, 3, 2])
    assert found.draws.shape == (2, 50, 3) and found.means.shape == (2, 7)
    assert (found.draws[0, :, :2] == [0, 2]).all() and set(np.unique(found.draws[0, :, 2])) <= {0, 1}
    spins = np.array([[1, -1, np.nan, 1, -1, 1, 1]])
    found = ztrack.complete(w, c, b, spins, draws=20, groups="plus-minus")
    full = np.array([np.where(np.isnan(spins[0]), s, spins[0]) for s in (-1, 1)])
    assert abs(found.log_f[0] - np.logaddexp(*ztrack.log_f(w, c, b, full, groups="plus-minus"))) < 1e-4
    assert (found.draws[0][:, [0, 1]] == [1, -1]).all() and set(np.unique(found.draws)) <= {-1, 1}


def test_likelihoods_of_rows_with_missing_cells():
    w, c, b = model()
    rows = np.array([[np.nan, 0, 1, 1, 0, 1], [1, 0, 1, 0, np.nan, 1]])
    log_z = ztrack.log_partition(w, c, b)
    found = ztrack.log_likelihood(w, c, b, rows, log_z)
    assert abs(found.value - (ztrack.complete(w, c, b, rows).log_f - log_z.value).mean()) < 1e-9


def test_wrong_cells_are_refused():
    w, c, b = model()
    with pytest.raises(ztrack.InvalidError, match="row 0, column 1 is 2"):
        ztrack.complete(w, c, b, [[0, 2, 1, 1, 0, np.nan]])
    with pytest.raises(ztrack.InvalidError, match="6 visible units"):
        ztrack.complete(w, c, b, [[0, 1, np.nan]])
