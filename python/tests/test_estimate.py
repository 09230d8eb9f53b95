"""log Z of fixed models against enumeration, and what is refused."""

import numpy as np
import pytest

import ztrack
from ztrack._estimate import _log_partition


def test_exact_is_enumeration(model, exact):
    found = ztrack.log_partition(*model)
    assert found.method == "exact" and found.std_error == 0 and found.trust
    assert found.value == pytest.approx(exact(*model), abs=1e-5)
    assert found.bounds == (found.value, found.value)
    assert float(found) == found.value


def test_all_methods_agree(model, exact, data):
    found = ztrack.log_partition(*model, method=["rts", "mbar", "ais", "bar"], data=data, sweeps=300, seed=2)
    truth = exact(*model)
    assert [e.method for e in found.estimates] == ["rts", "mbar", "ais", "bar"]
    for e in found.estimates:
        # Four errors of four methods: one in four thousand seeds fails, this one does not.
        assert abs(e.value - truth) < 4 * e.std_error + 1e-4, e
    assert found.bounds[0] <= truth + 1e-4
    table = found.table()
    assert list(table.index) == ["rts", "mbar", "ais", "bar"] and table["std_error"].gt(0).all()


def test_everything_runs(model):
    found = ztrack.log_partition(*model, method="everything", sweeps=50, seed=1)
    assert len(found.estimates) >= 15 and found.method == "exact"


def test_auto_beyond_enumeration_and_seeds():
    random = np.random.default_rng(1)
    big = random.normal(0, 0.1, (40, 30)), np.zeros(40), np.zeros(30)
    one, same, other = (ztrack.log_partition(*big, seed=seed, sweeps=200) for seed in (1, 1, 2))
    assert one.method == "auto" and one.value == same.value != other.value
    assert abs(one.value - other.value) < 5 * np.hypot(one.std_error, other.std_error)


def test_auto_alone_enumerates_and_in_a_list_it_samples(model, exact):
    alone, listed = ztrack.log_partition(*model, method="auto"), ztrack.log_partition(*model, method=["auto"])
    both = ztrack.log_partition(*model, method=["auto", "exact"], seed=1)
    assert (alone.method, listed.method) == ("exact", "auto")
    sampled = both.estimates[0]
    assert sampled.method == "auto" and sampled.std_error > 0 and abs(sampled.value - exact(*model)) < 4 * sampled.std_error + 1e-4


def test_a_row_that_contradicts_the_value_is_in_doubt():
    row = {"trust": [], "at_least": None, "effective_samples": None, "gibbs_sweeps": 1, "seconds": 0.0}
    row = lambda method, value, error, bias="consistent", row=row: {**row, "method": method, "value": value, "std_error": error, "bias": bias}  # noqa: E731
    agreement = {"disagreements": ["rts and ti-rb are apart"], "use_method": "rts", "sound": False}
    doubted = [{"name": "disagreement", "text": "+9.8 errors from 100.000 \u00b1 0.030 by rts, which is taken"}]
    rows = [row("rts", 100.0, 0.03), {**row("ti-rb", 100.5, 0.04), "trust": doubted}, row("mbar", 100.1, 0.04)]
    found = _log_partition({"estimates": rows, "agreement": agreement, "bound": None, "skipped": []})
    assert found.trust.doubts == ("disagreement",) and [e.trust.sound for e in found.estimates] == [True, False, True]
    table = found.table()
    assert not table.loc["ti-rb", "sound"] and table.loc["ti-rb", "in_errors"] == pytest.approx(10)


def test_orientation(model):
    W, c, b = model
    expected = ztrack.log_partition(W, c, b).value
    assert ztrack.log_partition(W.T, c, b, transposed=True).value == expected
    assert ztrack.log_partition(W.T, b, c).value == pytest.approx(expected, abs=1e-4)
    with pytest.raises(ztrack.InvalidError, match="transpose"):
        ztrack.log_partition(W.T, c, b)


def test_log_likelihood(model, exact, data):
    W, c, b = model
    truth = (data @ c + np.logaddexp(0, data @ W + b).sum(axis=1)) - exact(*model)
    found = ztrack.log_likelihood(*model, data)
    assert found.value == pytest.approx(truth.mean(), abs=1e-5)
    assert found.std_error == pytest.approx(truth.std(ddof=1) / np.sqrt(len(data)), rel=1e-3)
    given = ztrack.log_likelihood(*model, data, log_z=(exact(*model), 0.5))
    assert given.log_z_std_error == 0.5 and given.std_error > 0.5
    assert ztrack.log_f(*model, data) - exact(*model) == pytest.approx(truth, abs=1e-5)


def test_samples_have_the_models_means(model):
    W, c, b = model
    states = (np.arange(2**8)[:, None] >> np.arange(8) & 1).astype(float)
    log_f = states @ b + np.logaddexp(0, states @ W.T + c).sum(axis=1)
    p = np.exp(log_f - np.logaddexp.reduce(log_f))
    means = p @ (1 / (1 + np.exp(-(states @ W.T + c))))
    found = ztrack.sample(*model, 4000, seed=1)
    assert found.shape == (4000, 16) and found.dtype == np.uint8 and set(np.unique(found)) == {0, 1}
    # 4000 exact samples: an error of 0.5/sqrt(4000) = 0.008; five of these.
    assert np.abs(found.mean(axis=0) - means).max() < 0.04
    assert (found == ztrack.sample(*model, 4000, seed=1)).all()


def test_doubts_name_arguments():
    # Two modes far apart, and chains too few and too short to go from one to the other.
    W = np.full((30, 30), 1.2)
    found = ztrack.log_partition(W, -18 * np.ones(30), -18 * np.ones(30), method=["ts", "ais", "reverse-ais"], sweeps=5, chains=4)
    text = " ".join([str(e.trust) for e in found.estimates] + list(found.disagreements) + list(found.skipped))
    assert any(not e.trust for e in found.estimates) and "--" not in text, text
    # What is in doubt is not what is reported: log Z is log 2 within 30 exp(-16.8).
    assert found.trust and abs(found.value - np.log(2)) < 4 * found.std_error


def test_samples_are_of_both_modes():
    """All off or all on, nothing between; too many hidden units to be enumerated."""
    W, c, b = np.full((30, 22), 0.6), np.full(30, -6.6), np.full(22, -9.0)
    # All on: 0.6 * 660 - 6.6 * 30 - 9 * 22 = 0, as all off.
    on = ztrack.sample(W, c, b, 1000, seed=1).mean(axis=1)
    assert set(np.round(on)) == {0, 1} and 0.2 < (on > 0.5).mean() < 0.8


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.bool_])
def test_dtypes(dtype):
    W = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype)
    found = ztrack.log_partition(W, np.zeros(2, dtype), np.zeros(3, dtype))
    assert found.value == ztrack.log_partition(W.astype(float), [0, 0], [0, 0, 0]).value


def test_layouts_of_arrays(model, data):
    W, c, b = model
    expected = ztrack.log_partition(*model).value
    wide = np.zeros((16, 16))
    wide[:, ::2] = W
    readonly = W.copy()
    readonly.flags.writeable = False
    for same in (wide[:, ::2], np.asfortranarray(W), readonly, W.tolist(), W.astype(">f8")):
        assert ztrack.log_partition(same, c, b).value == expected
    frozen = data.copy()
    frozen.flags.writeable = False
    assert ztrack.log_f(*model, frozen[::2]) == pytest.approx(ztrack.log_f(*model, data)[::2])


def change(array, value):
    array = np.array(array, dtype=float)
    array.flat[0] = value
    return array


def test_what_is_refused(model, data):
    W, c, b = model
    for arguments, text in [
        ((change(W, np.nan), c, b), "`weights` contains NaN"),
        ((W, change(c, np.inf), b), "`visible_bias` contains NaN"),
        ((change(W, 1e300), c, b), "NaN or infinity"),
        ((W[0], c, b), "1 dimensions"),
        ((W[None], c, b), "3 dimensions"),
        ((W, c[:-1], b), "16 x 8, but there are 15 visible"),
        ((W[:0], c[:0], b), "at least one visible"),
        ((W.astype(complex), c, b), "complex128"),
        ((W.astype(str), c, b), "numbers are needed"),
        (([[1, 2], [3]], c, b), "is no array"),
        ((None, c, b), "numbers are needed"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            ztrack.log_partition(*arguments)
    for options, text in [
        ({"method": "magic"}, "no method `magic`; there are auto, exact"),
        ({"seed": -1}, "`seed`"),
        ({"seed": 1.5}, "`seed`"),
        ({"method": "rts", "chains": 1}, "at least 2"),
        ({"method": "rts", "chains": 10**9}, "memory|need about"),
        ({"method": "rts", "sweeps": 0}, "at least 1"),
        ({"data": data[:, :-1]}, "15 columns"),
        ({"data": data * 2}, "neither 0 nor 1"),
        ({"data": data * 2.0 - 1}, r"pass \(data \+ 1\) / 2"),
        ({"data": data * 0.5}, "grey levels"),
        ({"data": change(data, np.nan)}, "NaN"),
        ({"data": data[:0]}, "empty"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            ztrack.log_partition(*model, **options)
    with pytest.raises(ValueError):
        ztrack.log_partition(*model, method="magic")
