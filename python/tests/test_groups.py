"""Categorical visible variables: columns of which at most one is set."""

import itertools

import numpy as np
import pytest

import ztrack

GROUPS = "2*3+,4"
STARTS = [(0, 3, True), (3, 3, True), (6, 4, False)]


def model(seed=0, hidden=5, scale=1.0):
    random = np.random.default_rng(seed)
    w = scale * random.standard_normal((10, hidden))
    return ztrack.Model(w, random.standard_normal(10), random.standard_normal(hidden), groups=GROUPS)


def states():
    """All visible states that the variables allow, uint8 [64, 10]."""
    choices = [list(range(size)) + [None] * implicit for _, size, implicit in STARTS]
    found = np.zeros((4 * 4 * 4, 10), np.uint8)
    for row, chosen in zip(found, itertools.product(*choices)):
        for (first, _, _), column in zip(STARTS, chosen):
            if column is not None:
                row[first + column] = 1
    return found


def exact(m):
    return float(np.logaddexp.reduce(m.log_f(states())))


def test_log_partition_counts_allowed_states_alone():
    m = model()
    assert m.log_partition().value == pytest.approx(exact(m), abs=1e-5)
    assert m.log_partition(method="ais", seed=1).value == pytest.approx(exact(m), abs=0.2)
    bits = ztrack.log_partition(m.weights, m.visible_bias, m.hidden_bias)
    assert bits.value > exact(m) + 0.5


def test_samples_are_allowed_and_have_the_probabilities():
    m, n = model(), 20_000
    found = m.sample(n, seed=2)
    p = np.exp(m.log_f(states()) - exact(m))
    keys = {tuple(state): i for i, state in enumerate(states())}
    counts = np.bincount([keys[tuple(row)] for row in found], minlength=64)
    # 63 degrees of freedom: 120 is exceeded once in 30 000.
    assert ((counts - n * p) ** 2 / (n * p)).sum() < 130


def test_files_keep_the_groups(tmp_path):
    pytest.importorskip("safetensors")
    m = model()
    m.save(tmp_path / "m.safetensors")
    assert ztrack.Model.load(tmp_path / "m.safetensors").groups == GROUPS
    with pytest.raises(ztrack.InvalidError, match="safetensors"):
        m.save(tmp_path / "m.npz")
    with pytest.raises(ztrack.InvalidError, match="transpose"):
        m.transposed()


def test_a_tracker_follows_a_model_with_groups():
    m = model(scale=0.1)
    rows = m.sample(500, seed=3)
    tracker = ztrack.Tracker(data=rows, n_hidden=5, seed=1, averaging=0, groups=GROUPS)
    tracker.update(*m._all())
    for step in range(20):
        m = ztrack.Model(1.05 * m.weights, m.visible_bias, m.hidden_bias, groups=GROUPS)
        tracker.update(*m._all())
    assert tracker.trust and abs(tracker.log_z - exact(m)) < 4 * tracker.std_error + 1e-3
    assert tracker.model.groups == GROUPS
    again = ztrack.Tracker.from_state_dict(tracker.state_dict())
    assert again.log_z == tracker.log_z and again.model.groups == GROUPS


def test_the_estimator_finds_groups_or_takes_them():
    pytest.importorskip("sklearn")
    rows = model(scale=0.5).sample(2000, seed=4)
    found = ztrack.RBM(5, n_iter=3, groups="auto", random_state=1).fit(rows)
    assert found.model_.groups == GROUPS
    given = ztrack.RBM(5, n_iter=3, groups=GROUPS, random_state=1).fit(rows)
    assert np.array_equal(given.components_, found.components_)
    assert abs(found.log_z_ - exact(found.model_)) < 1e-4
    bits = ztrack.RBM(5, n_iter=3, random_state=1).fit(rows)
    assert bits.model_.groups == "" and found.score(rows) > bits.score(rows)
    found.partial_fit(rows)
    assert found.model_.groups == GROUPS


@pytest.mark.parametrize(
    "groups, message",
    [("3,3", "columns"), ("x", "number of its columns"), ([0, 10], "at least 1"), (7, "text such as"), ("1,9", "two or more")],
)
def test_groups_that_do_not_fit_are_refused(groups, message):
    m = model()
    with pytest.raises(ztrack.InvalidError, match=message):
        ztrack.log_partition(m.weights, m.visible_bias, m.hidden_bias, groups=groups)


def test_rows_that_break_a_variable_are_named():
    m, bad = model(), states()[:5].copy()
    bad[2] = 1
    with pytest.raises(ztrack.InvalidError, match="`data`, row 3"):
        m.log_partition(method="ais", data=bad)


def test_zero_sum_is_the_same_distribution():
    m = model()
    gauged = m.zero_sum()
    one_hot = slice(6, 10)
    assert np.abs(gauged.weights[one_hot].sum(axis=0)).max() < 1e-5
    assert abs(gauged.visible_bias[one_hot].sum()) < 1e-5
    # The other variables have a state without columns, and no freedom.
    assert (gauged.weights[:6] == m.weights[:6]).all()
    assert np.allclose(gauged.log_f(states()) + gauged.log_constant, m.log_f(states()), atol=1e-4)
    assert exact(gauged) + gauged.log_constant == pytest.approx(exact(m), abs=1e-4)


def test_archives_of_potts_models_of_rbms(tmp_path):
    h5py = pytest.importorskip("h5py")
    random = np.random.default_rng(1)
    m = ztrack.Model(random.standard_normal((12, 4)), random.standard_normal(12), random.standard_normal(4), groups="4*3")
    path = tmp_path / "potts.h5"
    ztrack.to_rbms(m, path, 5, log_z=1.5)
    with h5py.File(path) as file:
        params = file["update_5"]["params"]
        assert params["weight_matrix"].shape == (4, 3, 4) and params["vbias"].shape == (4, 3)
        assert params["weight_matrix"][2, 1, 3] == m.weights[7, 3] and file["model_type"].asstr()[()] == "PBRBM"
    again = ztrack.from_rbms(path)
    assert again.groups == "4*3" and (again.weights == m.weights).all()
    assert again.log_partition().value == pytest.approx(m.log_partition().value, abs=1e-6)
    bits = ztrack.Model(m.weights, m.visible_bias, m.hidden_bias)
    with pytest.raises(ztrack.InvalidError, match="archive of PBRBM"):
        ztrack.to_rbms(bits, path, 6)
    with pytest.raises(ztrack.InvalidError, match="one number of states"):
        ztrack.to_rbms(model(), tmp_path / "mixed.h5", 1)
