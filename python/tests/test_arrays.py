"""Arrays as people have them, seeds, weights of rows, messages with the names of arguments."""

import numpy as np
import pytest

import ztrack


def value(W, c, b):
    return ztrack.log_partition(W, c, b).value


def value_of(*model, **options):
    return ztrack.log_partition(*model, **options).value


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn"])
def test_types_of_ml_dtypes(model, kind):
    dtypes = pytest.importorskip("ml_dtypes")
    rounded = [x.astype(getattr(dtypes, kind)) for x in model]
    assert value(*rounded) == value(*(x.astype(np.float64) for x in rounded))


class Dlpack:
    """An array that has DLPack and nothing else."""

    def __init__(self, array, device=(1, 0)):
        self._array, self._device = array, device

    def __dlpack__(self, **options):
        if self._device != (1, 0):
            assert options == {"dl_device": (1, 0), "copy": True}
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._device


def test_dlpack(model, data):
    expected = value(*model)
    assert value(*map(Dlpack, model)) == expected
    assert value(*(Dlpack(x, (2, 0)) for x in model)) == expected
    assert value(Dlpack(np.asfortranarray(model[0])), *model[1:]) == expected
    assert (ztrack.log_f(*model, Dlpack(data)) == ztrack.log_f(*model, data)).all()


def test_bfloat16_of_torch(model):
    torch = pytest.importorskip("torch")
    rounded = [torch.tensor(x).bfloat16() for x in model]
    expected = value(*(x.float() for x in rounded))
    assert value(*rounded) == expected
    assert value(*map(Dlpack, rounded)) == expected
    # Strides of a transpose and of every second column.
    assert value(Dlpack(rounded[0].T.contiguous().T), *rounded[1:]) == expected
    wide = torch.zeros(16, 16, dtype=torch.bfloat16)
    wide[:, ::2] = rounded[0]
    assert value(Dlpack(wide[:, ::2]), *rounded[1:]) == expected
    with pytest.raises(ztrack.InvalidError, match="`weights` is no array"):
        value(torch.zeros(16, 8, device="meta"), *model[1:])


@pytest.mark.parametrize("form", ["csr_matrix", "coo_array", "lil_matrix", "dok_array"])
def test_sparse(model, data, form):
    sparse = getattr(pytest.importorskip("scipy.sparse"), form)
    expected = ztrack.log_f(*model, data)
    for kind in (np.float64, np.int64, np.bool_):
        assert (ztrack.log_f(*model, sparse(data.astype(kind))) == expected).all()
    tracker, other = ztrack.Tracker(sparse(data), 8, 20), ztrack.Tracker(data, 8, 20)
    [one.update(*model) for one in (tracker, other)]
    assert tracker.log_z == other.log_z
    with pytest.raises(ztrack.InvalidError, match="neither 0 nor 1"):
        ztrack.log_f(*model, sparse(2.0 * data))


def test_sparse_rows_everywhere(model, data):
    sparse = pytest.importorskip("scipy.sparse").csr_array
    options = {"method": "ais", "temperatures": 20, "chains": 10}
    assert value_of(*model, data=sparse(data), **options) == value_of(*model, data=data, **options)
    log_z = (3.0, 0.1)
    assert ztrack.log_likelihood(*model, sparse(data), log_z) == ztrack.log_likelihood(*model, data, log_z)
    pytest.importorskip("sklearn")
    for threshold, rows in ((None, data), (0.5, 0.7 * data)):
        one, same = (ztrack.RBM(4, n_iter=2, random_state=1, threshold=threshold).fit(X) for X in (rows, sparse(rows)))
        assert one.score(rows) == same.score(sparse(rows)) and (one.transform(rows) == same.transform(sparse(rows))).all()
    assert (ztrack.RBM(4, random_state=1).partial_fit(data).components_ == ztrack.RBM(4, random_state=1).partial_fit(sparse(data)).components_).all()


def test_sparse_is_checked_before_memory_is_taken():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ztrack.TooLargeError, match="`data`: 100000000 x 1000000 cells of a sparse matrix need about"):
        ztrack.Tracker(sparse.csr_array((10**8, 10**6), dtype=np.uint8), 2)
    # Cells that are stored twice count twice.
    twice = sparse.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(ztrack.InvalidError, match="row 0, column 1 is 2"):
        ztrack.Tracker(twice, 2)


def test_pandas(model, data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data, columns=[f"x{i}" for i in range(16)])
    expected = ztrack.log_f(*model, data)
    for kind in ("boolean", "Int64", "Float32", "category", "bool"):
        assert (ztrack.log_f(*model, frame.astype(kind)) == expected).all(), kind
    mixed = frame.astype({"x0": "boolean", "x1": "category", "x2": "Int8"})
    assert (ztrack.log_f(*model, mixed) == expected).all()
    assert value(pandas.DataFrame(model[0]), pandas.Series(model[1]), pandas.Series(model[2])) == value(*model)
    missing = frame.astype("Int64")
    missing.loc[3, "x5"] = pandas.NA
    with pytest.raises(ztrack.InvalidError, match="`data` has no value in row 3, column x5"):
        ztrack.log_f(*model, missing)
    words = frame.assign(x0=pandas.Categorical(["A", "B"] * 200))
    with pytest.raises(ztrack.InvalidError, match="pandas.get_dummies"):
        ztrack.log_f(*model, words)


def test_seeds(data):
    random = np.random.default_rng(1)
    big = random.normal(0, 0.1, (40, 30)), np.zeros(40), np.zeros(30)
    found = lambda seed: ztrack.log_partition(*big, method="rts", sweeps=20, seed=seed).value  # noqa: E731
    for kind in (np.random.default_rng, np.random.RandomState, np.random.SeedSequence, np.random.PCG64):
        assert found(kind(3)) == found(kind(3)) != found(kind(4)), kind
    generator = np.random.default_rng(3)
    assert found(generator) != found(generator)
    assert found(None) != found(None) and found(np.int32(3)) == found(3)
    ztrack.Tracker(data, 8, seed=np.random.default_rng(1))


def test_weights_of_rows_are_repeats(model, data):
    data = data[:40]
    repeats = np.arange(40) % 3
    many = np.repeat(data, repeats, axis=0)
    log_z = (3.0, 0.1)
    weighted = ztrack.log_likelihood(*model, data, log_z, sample_weight=repeats)
    assert weighted.value == pytest.approx(ztrack.log_likelihood(*model, many, log_z).value)
    same = ztrack.log_likelihood(*model, data, log_z, sample_weight=np.full(40, 7))
    plain = ztrack.log_likelihood(*model, data, log_z)
    assert (same.value, same.std_error) == pytest.approx((plain.value, plain.std_error))
    tracker = ztrack.Tracker(data, 8, 50)
    tracker.update(*model)
    assert tracker.log_likelihood(data, sample_weight=repeats).value == pytest.approx(tracker.log_likelihood(many).value)
    for bad, text in [(repeats[1:], "39 weights for 40 rows"), (-repeats, "at least 0"), (0 * repeats, "not 0 everywhere")]:
        with pytest.raises(ztrack.InvalidError, match=text):
            ztrack.log_likelihood(*model, data, log_z, sample_weight=bad)


def test_what_cannot_become_an_array_is_named(model):
    class Meta:
        """A tensor without numbers, as torch's device "meta" has them."""

        def __array__(self, dtype=None, copy=None):
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")

    with pytest.raises(ztrack.InvalidError, match="`weights` is no array: Cannot copy out of meta tensor"):
        value(Meta(), *model[1:])


def test_messages_name_arguments(model, data, tmp_path):
    for call, text in [
        (lambda: ztrack.log_partition(*model, budget="x"), "`budget` is 'x'"),
        (lambda: ztrack.log_partition(*model, budget=-1), "`budget` is -1"),
        (lambda: ztrack.log_partition(*model, method=None), "`method` is None"),
        (lambda: ztrack.sample(*model, 10**25), "`count`"),
        (lambda: ztrack.sample([[1.0]], [0.0], [0.0], 10**11), "samples need about"),
        (lambda: ztrack.log_likelihood(*model, data, np.nan), "`log_z` is nan"),
        (lambda: ztrack.log_likelihood(*model, data, (1.0, -1.0)), "standard error of at least 0"),
        (lambda: ztrack.log_likelihood(*model, data, 3.0, foo=1), "no option foo"),
        (lambda: ztrack.Tracker(data, 8, averaging=np.nan), "`averaging`"),
        (lambda: ztrack.Tracker(data, 8, sweeps=0), "`sweeps`"),
        (lambda: ztrack.Tracker(data, 8, settling=(5, 1)), "`settling` is \\(5, 1\\): the fewest sweeps are more than the most"),
        (lambda: ztrack.Tracker(data, 8).load_state_dict({}), "no state of a tracker"),
        (lambda: ztrack.Tracker(data, 10**15), "`n_hidden` is 1000000000000000"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            call()
    for name in ("bad.npz", "bad.npy", "bad.safetensors"):
        if name.endswith("safetensors"):
            pytest.importorskip("safetensors")
        (tmp_path / name).write_bytes(b"garbage")
        with pytest.raises(ztrack.FileError, match=name):
            ztrack.Model.load(tmp_path / name)
    with pytest.raises(ztrack.IoError):
        ztrack.Model.load(tmp_path / "missing.npz")
