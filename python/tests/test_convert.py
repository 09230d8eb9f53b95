"""Round trips through other layouts keep log Z."""

import numpy as np
import pytest

import ztrack


@pytest.fixture
def ours(model):
    return ztrack.Model(*model)


def same(one, other):
    assert one.log_partition().value == pytest.approx(other.log_partition().value, abs=1e-5)


def test_sklearn(ours, data):
    theirs = ztrack.to_sklearn(ours)
    same(ztrack.from_sklearn(theirs), ours)
    assert theirs.transform(data).shape == (400, 8)
    with pytest.raises(ztrack.InvalidError, match="no fitted"):
        ztrack.from_sklearn(type(theirs)())


def test_sklearns_own_model_agrees_with_enumeration(data, exact):
    neural = pytest.importorskip("sklearn.neural_network")
    theirs = neural.BernoulliRBM(n_components=16, n_iter=5, random_state=1).fit(data)
    ours = ztrack.from_sklearn(theirs)
    found = ours.log_partition(method="rts", data=data, seed=1)
    truth = exact(theirs.components_.T, theirs.intercept_visible_, theirs.intercept_hidden_)
    assert abs(found.value - truth) < 3 * found.std_error + 1e-4


def test_torch_layouts(ours):
    w, c, b = ours.weights, ours.visible_bias, ours.hidden_bias
    for state in (
        {"weights": w, "visible_bias": c, "hidden_bias": b},
        {"W": w.T, "v_bias": c, "h_bias": b},
        {"weight": w.T, "visible_bias": c, "bias": b},
    ):
        same(ztrack.from_torch(state), ours)
    same(ztrack.from_torch({"x": w, "y": c, "z": b}, names=("x", "y", "z")), ours)
    with pytest.raises(ztrack.InvalidError, match="pass names"):
        ztrack.from_torch({"x": w})
    with pytest.raises(ztrack.InvalidError, match="pass transposed"):
        ztrack.from_torch({"W": w[:8], "vbias": c[:8], "hbias": b})


def test_torch_itself(ours):
    pytest.importorskip("torch")
    same(ztrack.from_torch(ztrack.to_torch(ours, transposed=True)), ours)


def test_plus_minus(ours):
    W, c, b, constant = ztrack.to_plus_minus(ours)
    again = ztrack.from_plus_minus(W, c, b)
    same(again, ours)
    assert again.log_constant == pytest.approx(constant)
    # log Z over -1 and +1 by the definition.
    signs = 2.0 * (np.arange(2**8)[:, None] >> np.arange(8) & 1) - 1
    log_f = signs @ b + (np.logaddexp(signs @ W.T + c, -(signs @ W.T + c))).sum(axis=1)
    truth = np.logaddexp.reduce(log_f)
    assert again.log_partition().value + again.log_constant == pytest.approx(truth, abs=1e-5)
    same(ztrack.from_plus_minus(W.T, c, b, transposed=True), ours)


def test_exchanged_layers(ours):
    same(ours.transposed(), ours)
    assert (ours.transposed().transposed().weights == ours.weights).all()


def test_rbms_archives(ours, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "rbm.h5"
    ztrack.to_rbms(ours, path, 10, log_z=1.0)
    ztrack.to_rbms(ours.transposed(), path, 200)
    assert ztrack.rbms_updates(path) == [10, 200]
    same(ztrack.from_rbms(path, 10), ours)
    assert ztrack.from_rbms(path).n_visible == 8
    ztrack.write_rbms_log_z(path, 200, 2.5)
    with h5py.File(path) as file:
        assert file["update_200"]["log_z"][()] == 2.5 and file["update_10"]["log_z"][()] == 1.0
    with pytest.raises(ztrack.InvalidError, match="no update 11; there are 10, 200"):
        ztrack.from_rbms(path, 11)
    other = tmp_path / "other.h5"
    h5py.File(other, "w").close()
    with pytest.raises(ztrack.FileError, match="no archive of rbms"):
        ztrack.from_rbms(other)


@pytest.mark.parametrize("name", ["model.npz", "model.safetensors"])
def test_files(ours, tmp_path, name):
    if name.endswith("safetensors"):
        pytest.importorskip("safetensors")
    ours.states = np.eye(ours.n_visible, dtype=np.uint8)[:3]
    ours.save(tmp_path / name)
    again = ztrack.Model.load(tmp_path / name)
    assert (again.weights == ours.weights).all() and (again.hidden_bias == ours.hidden_bias).all()
    # npz has the three arrays alone.
    assert again.states is None if name.endswith("npz") else (again.states == ours.states).all()
    assert again.log_partition().value == pytest.approx(ours.log_partition().value, abs=1e-6)
    with pytest.raises(ztrack.InvalidError, match="is called .npz"):
        ours.save(tmp_path / "model.txt")


def test_plus_minus_is_a_kind_of_units(tmp_path):
    """Couplings as they are, in numbers, files, samples and the tracker; against the definition."""
    rng = np.random.default_rng(3)
    W, c, b = rng.normal(0, 0.4, (5, 4)), rng.normal(0, 0.3, 5), rng.normal(0, 0.3, 4)
    model = ztrack.Model(W, c, b, groups="plus-minus")
    spins = lambda n: 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1  # noqa: E731
    s, t = spins(5), spins(4)
    log_f = np.logaddexp.reduce(s @ c[:, None] + (s @ W + b) @ t.T, axis=1)
    truth = np.logaddexp.reduce(log_f)
    assert np.allclose(model.log_f(s), log_f, atol=1e-5)
    assert np.allclose(model.log_f((s + 1) // 2), log_f, atol=1e-5)
    found = model.log_partition()
    assert found.value == pytest.approx(truth, abs=1e-5)
    assert model.log_likelihood(s, found).value == pytest.approx((log_f - truth).mean(), abs=1e-5)
    assert model.transposed().log_partition().value == pytest.approx(truth, abs=1e-5)
    samples = model.sample(200)
    assert samples.dtype == np.int8 and set(np.unique(samples)) == {-1, 1}
    as_bits = ztrack.from_plus_minus(W, c, b)
    assert as_bits.log_partition().value + as_bits.log_constant == pytest.approx(truth, abs=1e-5)

    tracker = ztrack.Tracker(samples, 4, chains=100, groups="plus-minus")
    tracker.update(W, c, b)
    assert np.allclose(tracker.model.weights, W, atol=1e-6) and np.allclose(tracker.model.visible_bias, c, atol=1e-6)
    value = tracker.evaluate()
    assert abs(value.value - truth) < 5 * value.std_error
    with pytest.raises(ztrack.ZtrackError, match="Tracker"):
        ztrack.RBM(groups="plus-minus").fit((samples + 1) // 2)

    pytest.importorskip("safetensors")
    model.save(tmp_path / "spins.safetensors")
    again = ztrack.Model.load(tmp_path / "spins.safetensors")
    assert again.groups == "plus-minus" and again == model


def test_what_another_layout_has_no_place_for_is_refused(model, tmp_path):
    w, c, b = model
    spins, variables = ztrack.Model(w, c, b, groups="plus-minus"), ztrack.Model(w, c, b, groups=[8, 8])
    for convert in (ztrack.to_sklearn, ztrack.to_torch):
        for one in (spins, variables):
            with pytest.raises(ztrack.InvalidError, match="no place"):
                convert(one)
    with pytest.raises(ztrack.InvalidError, match="no place"):
        ztrack.to_plus_minus(variables)
    shifted = ztrack.Model(w, c, b, log_constant=0.1)
    with pytest.raises(ztrack.InvalidError, match="log_constant"):
        shifted.save(tmp_path / "m.npz")
    pytest.importorskip("safetensors")
    shifted.save(tmp_path / "m.safetensors")
    assert ztrack.Model.load(tmp_path / "m.safetensors") == shifted
    for name in ("m.npz", "m.safetensors"):
        with pytest.raises(ztrack.IoError):
            ztrack.Model(w, c, b).save(tmp_path / "nowhere" / name)
    with pytest.raises(ztrack.InvalidError, match="no state dict"):
        ztrack.from_torch(3)


def test_a_model_keeps_its_numbers_and_its_columns(model):
    w, c, b = (part.astype(np.float32) for part in model)
    kept = ztrack.Model(w, c, b)
    before = kept.weights.copy()
    w += 1
    assert np.array_equal(kept.weights, before)
    with pytest.raises(ztrack.InvalidError, match="12 columns"):
        ztrack.Model(w, c, b, groups="4,4,4")
    # Other spellings of bits, and of -1 and +1.
    for groups in ("bits", "16*1+", [1] * 16):
        assert ztrack.Model(w, c, b, groups=groups).groups == ""
    rows = np.ones((2, 16))
    values = [ztrack.log_likelihood(w, c, b, rows, groups=groups).value for groups in ("plus-minus", " plus-minus ")]
    assert values[0] == values[1]
