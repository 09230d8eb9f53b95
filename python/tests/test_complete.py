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


def test_both_modes_of_the_missing_cells_are_found():
    """Units that are all off or all on: given nine of ten cells that are on, the missing ones are on, which chains from the biases never see."""
    for strength in (0.3, 0.5, 0.7):
        w = np.full((30, 17), strength, np.float32)
        c, b = -w.sum(1) / 2, -w.sum(0) / 2
        row = np.full((1, 30), np.nan)
        row[0, :10] = [1] * 9 + [0]
        hidden = np.array(list(itertools.product((0, 1), repeat=17)), dtype=np.float64)
        given, open_cells = ~np.isnan(row[0]), np.isnan(row[0])
        log_f = hidden @ b + (hidden @ w[given].T + c[given]) @ row[0, given]
        exact = np.logaddexp.reduce(log_f + np.logaddexp(0, hidden @ w[open_cells].T + c[open_cells]).sum(1))
        found = ztrack.complete(w, c, b, row, seed=1)
        assert abs(found.log_f[0] - exact) < 5 * found.std_error[0] < 0.5
        assert found.means[0, 10:].mean() > 0.9
        # One row: its error is that of its chains.
        mean = ztrack.log_likelihood(w, c, b, row, 0.0, seed=1)
        assert mean.value == found.log_f[0] and mean.log_z_std_error == found.std_error[0] and np.isnan(mean.std_error)


def test_missing_cells_of_frames_and_masks():
    pandas = pytest.importorskip("pandas")
    w, c, b = model()
    rows = np.array([[1, 0, np.nan, 1, 0, 0], [np.nan, 0, 1, np.nan, 0, 1]])
    expected = ztrack.complete(w, c, b, rows).log_f
    for frame in (pandas.DataFrame(rows), pandas.DataFrame(rows).astype("Int64")):
        assert np.array_equal(ztrack.complete(w, c, b, frame).log_f, expected)
        assert ztrack.log_likelihood(w, c, b, frame, 0.0).value == pytest.approx(expected.mean())
    masked = np.ma.masked_invalid(rows)
    assert np.array_equal(ztrack.complete(w, c, b, masked).log_f, expected)
    with pytest.raises(ztrack.InvalidError, match="masked"):
        ztrack.log_partition(w, c, b, data=masked)
    # A frame of categories: a variable of three states, one of two, and a bit's two.
    kinds = pandas.DataFrame({"a": pandas.Categorical(["x", None], ["x", "y", "z"]), "b": pandas.Categorical(["q", "p"], ["p", "q", "r"])})
    codes = np.array([[0, 1], [np.nan, 0]])
    expected = ztrack.complete(w, c, b, codes, categories=[3, 3]).log_f
    assert np.array_equal(ztrack.complete(w, c, b, kinds).log_f, expected)
    assert ztrack.log_likelihood(w, c, b, kinds, 0.0).value == pytest.approx(expected.mean())
