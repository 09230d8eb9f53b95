"""A loop of numpy with the tracker in it; its state; threads; what it refuses."""

import os
import pickle
import signal
import textwrap
import threading
import time

import numpy as np
import pytest

import ztrack


def train(data, updates, seed=0, hidden=8):
    """PCD-1 in numpy; yields W, c, b before the first update and after every one."""
    random = np.random.default_rng(seed)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    draw = lambda p: (random.random(p.shape) < p).astype(float)  # noqa: E731
    W, c, b = random.normal(0, 0.01, (data.shape[1], hidden)), np.zeros(data.shape[1]), np.zeros(hidden)
    particles = data[:50].astype(float)
    yield W, c, b
    for _ in range(updates):
        v = data[random.integers(0, len(data), 50)].astype(float)
        particles = draw(sigmoid(draw(sigmoid(particles @ W + b)) @ W.T + c))
        h, m = sigmoid(v @ W + b), sigmoid(particles @ W + b)
        W = W + 0.05 * (v.T @ h - particles.T @ m) / 50
        c, b = c + 0.05 * (v - particles).mean(0), b + 0.05 * (h - m).mean(0)
        yield W, c, b


def test_tracked_values_are_within_their_errors(data, exact):
    tracker = ztrack.Tracker(data=data, n_hidden=8, chains=200, seed=1)
    errors = []
    for update, model in enumerate(train(data, 200)):
        tracker.update(*model)
        if update % 20 == 0:
            assert tracker.trust, tracker.trust
            model = tracker.model._all()
            errors.append((tracker.log_z - exact(*model)) / tracker.std_error)
            likelihood = tracker.log_likelihood(data)
            expected = ztrack.log_f(*model, data).mean() - tracker.log_z
            assert likelihood.value == pytest.approx(expected, abs=1e-4)
    # Eleven values, correlated: three beyond two errors, or one beyond four, would be a mistake.
    assert (np.abs(errors) > 2).sum() <= 2 and np.abs(errors).max() < 4, errors
    assert tracker.updates == 200 and tracker.n_visible == 16 and tracker.n_hidden == 8
    assert np.isfinite(tracker.running).all()


def test_same_seed_same_values_and_state_to_the_bit(data):
    models = list(train(data, 40))
    one, other = (ztrack.Tracker(data, 8, 50, seed=3) for _ in range(2))
    for update, model in enumerate(models):
        one.update(*model)
        other.update(*model)
        if update % 9 == 0:
            assert (one.log_z, one.std_error, one.trust) == (other.log_z, other.std_error, other.trust)
            state = other.state_dict()
            other = [
                lambda: ztrack.Tracker.from_state_dict(state),
                lambda: pickle.loads(pickle.dumps(other)),
            ][update % 2]()
    assert one.log_z == other.log_z
    assert one.state_dict() == other.state_dict()


def test_layouts_and_negative_phase(data):
    models = list(train(data, 10))
    plain, transposed = (ztrack.Tracker(data, 8, 50, averaging=0, transposed=t) for t in (False, True))
    for W, c, b in models:
        plain.update(W, c, b)
        transposed.update(W.T, c, b)
    assert plain.log_z == transposed.log_z
    products, visible, hidden = plain.negative_phase()
    assert products.shape == (16, 8) and visible.shape == (16,) and hidden.shape == (8,)
    assert (transposed.negative_phase()[0] == products.T).all()
    states, weights = plain.samples()
    assert weights.sum() == pytest.approx(1) and states.shape == (50, 16)
    assert visible == pytest.approx(weights @ states, abs=1e-6)


def test_torch_like_tensors(data):
    class Tensor:
        """What torch tensors do where they need gradients on a device."""

        def __init__(self, value, ready=False):
            self.value, self.ready = value, ready

        def detach(self):
            return self

        def cpu(self):
            return Tensor(self.value, ready=True)

        def __array__(self, dtype=None, copy=None):
            if not self.ready:
                raise TypeError("can't convert cuda tensor")
            return np.asarray(self.value, dtype)

    tracker, other = ztrack.Tracker(data, 8, 50), ztrack.Tracker(Tensor(data), 8, 50)
    for model in train(data, 3):
        tracker.update(*model)
        other.update(*map(Tensor, model))
    assert tracker.log_z == other.log_z


def test_marginals_every_and_particles(data, exact):
    tracker = ztrack.Tracker(marginals=data.mean(axis=0), n_hidden=8, chains=200, every=10, seed=2)
    for model in train(data, 95):
        tracker.update(*model)
    tracker.set_particles(data[:20])
    # The 95th update is followed although none of the chains' own steps was due.
    assert abs(tracker.log_z - exact(*tracker.model._all())) < 5 * tracker.std_error


def test_the_average_is_tracked(data, exact):
    tracker = ztrack.Tracker(data, 8, 200, averaging=0.5, seed=2)
    assert tracker.model is None
    mean = None
    for update, model in enumerate(train(data, 90)):
        tracker.update(*model)
        rate = 1 / max(1, 0.5 * update)
        mean = model if mean is None else [old + rate * (new - old) for old, new in zip(mean, model)]
        if update % 30 == 0:
            tracker = pickle.loads(pickle.dumps(tracker))
    W, c, b = mean
    assert tracker.model.weights == pytest.approx(W, abs=1e-5)
    assert tracker.model.hidden_bias == pytest.approx(b, abs=1e-5)
    assert abs(tracker.log_z - exact(W, c, b)) < 4 * tracker.std_error
    expected = tracker.model.log_f(data).mean() - tracker.log_z
    assert tracker.log_likelihood(data).value == pytest.approx(expected, abs=1e-4)
    assert np.abs(tracker.model.weights - model[0]).max() > 0.01
    with pytest.raises(ztrack.InvalidError, match="with `averaging` 0"):
        tracker.negative_phase()
    plain = ztrack.Tracker(data, 8, 50, averaging=0)
    plain.update(*model)
    assert (plain.model.weights == model[0].astype(np.float32)).all()


def test_the_average_is_the_default(data):
    """Few values without it were sound on MNIST, and one of these was 6.4 nats low."""
    tracker = ztrack.Tracker(data, 8, 50)
    for model in train(data, 60):
        tracker.update(*model)
    # Over a tenth of 60 updates.
    assert 0 < np.abs(tracker.model.weights - model[0]).max() < 0.2
    with pytest.raises(ztrack.InvalidError, match="with `averaging` 0"):
        tracker.negative_phase()


def test_a_burst_of_parameters_leaves_the_tracker_as_it_was(data, model):
    W, c, b = model
    tracker, other = (ztrack.Tracker(data, 8, 50, seed=1) for _ in range(2))
    for one in (tracker, other):
        one.update(W, c, b)
    with pytest.raises(ztrack.InvalidError, match="diverged"):
        tracker.update(W * 1e12, c, b)
    for one in (tracker, other):
        one.update(1.01 * W, c, b)
    assert tracker.evaluate() == other.evaluate() and np.isfinite(tracker.std_error)
    assert pickle.loads(pickle.dumps(tracker)).state_dict() == tracker.state_dict()


def test_the_example_in_the_docstring_runs(data, model, capsys):
    """As it stands, with the update before the first one of the training."""
    pytest.importorskip("matplotlib").use("agg")
    code = ztrack.Tracker.__doc__.split("::\n")[1].split("\n\n    Values")[0]
    W, c, b = model
    names = {"ztrack": ztrack, "X": data, "X_valid": data[:50], "W": W, "c": c, "b": b, "batches": range(2), "it_is_time": True}
    exec(textwrap.dedent(code).replace("n_hidden=500", "n_hidden=8"), names)
    # Called before the training, and after each of two updates.
    assert names["tracker"].updates == 2 and capsys.readouterr().out.count("Evaluation(") == 2


def test_doubts_name_arguments(data, model):
    # Without data there is no mixture to anneal from in their place.
    tracker = ztrack.Tracker(n_hidden=8, chains=2, marginals=data.mean(axis=0))
    tracker.update(*model)
    assert "few-chains" in tracker.trust.doubts
    assert "raise `chains`" in str(tracker.trust) and "tempering." not in str(tracker.trust)


def test_two_trackers_in_two_threads(data):
    models = list(train(data, 60))

    def follow(seed):
        tracker = ztrack.Tracker(data, 8, 100, seed=seed)
        for model in models:
            tracker.update(*model)
        return tracker.log_z

    alone = [follow(seed) for seed in (1, 2)]
    found = {}
    threads = [threading.Thread(target=lambda s=s: found.update({s: follow(s)})) for s in (1, 2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert [found[1], found[2]] == alone


def test_one_tracker_shared_by_threads(data):
    tracker = ztrack.Tracker(data, 8, 50)
    model = next(train(data, 0))
    tracker.update(*model)
    failures = []

    def use():
        try:
            for _ in range(5):
                tracker.update(*model)
                assert np.isfinite(tracker.log_z)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=use) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures and tracker.updates == 15


def test_what_is_refused(data, model):
    for arguments, text in [
        ({}, "`data` or `marginals`"),
        ({"data": data, "marginals": data.mean(0), "n_hidden": 2}, "one of them"),
        ({"data": data}, "n_hidden"),
        ({"data": data, "n_hidden": 0}, "`n_hidden`"),
        ({"data": data, "n_hidden": 10**15}, "`n_hidden`"),
        ({"data": data, "n_hidden": 2, "settling": (5, 1)}, "`settling`"),
        ({"data": data, "n_hidden": 2.5}, "whole number"),
        ({"data": data, "n_hidden": 2, "chains": 1}, "`chains`"),
        ({"data": data, "n_hidden": 2, "averaging": 2}, "`averaging`"),
        ({"data": data, "n_hidden": 2, "averaging": "much"}, "`averaging`"),
        ({"data": data, "n_hidden": 2, "settling": 60}, "`settling`"),
        ({"data": data, "n_hidden": 2, "settling": (60,)}, "`settling`"),
        ({"data": data, "n_hidden": 2, "chains": 10**8}, "`chains`"),
        ({"data": data + 1, "n_hidden": 2}, "neither 0 nor 1"),
        ({"marginals": [0.5, 2.0], "n_hidden": 2}, "marginal 1 is 2"),
        ({"marginals": [np.nan], "n_hidden": 2}, "marginal 0 is NaN"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            ztrack.Tracker(**arguments)
    tracker = ztrack.Tracker(data, 8, 20)
    with pytest.raises(ztrack.InvalidError, match="call `update` first"):
        tracker.log_z
    W, c, b = model
    tracker.update(W, c, b)
    state = tracker.state_dict()
    for bad, text in [
        ((W * np.nan, c, b), "NaN"),
        ((W * 1e12, c, b), "diverged"),
        ((W[:, :4], c, b[:4]), "16 visible and 8 hidden units, got"),
        ((W.T, c, b), "transpose"),
    ]:
        with pytest.raises(ztrack.InvalidError, match=text):
            tracker.update(*bad)
    with pytest.raises(ztrack.InvalidError, match="15 columns"):
        tracker.log_likelihood(data[:, 1:])
    assert tracker.state_dict() == state
    for bad in ({}, {"state": b"nothing", "transposed": False}, 3):
        with pytest.raises(ztrack.ZtrackError):
            ztrack.Tracker.from_state_dict(bad)


def test_an_evaluation_is_about_one_model(data, model):
    """Another thread updates the tracker: values and rows' likelihoods are of the same parameters all the same."""
    w, c, b = model
    tracker = ztrack.Tracker(data, w.shape[1], 60, averaging=0, settling=(6, 6))
    tracker.update(w, c, b)
    expected = [float(ztrack.log_likelihood(f * w, c, b, data).value) for f in (1, 2)]
    stop = threading.Event()

    def train():
        step = 0
        while not stop.is_set():
            step += 1
            tracker.update(w * (1 + step % 2), c, b)

    other = threading.Thread(target=train)
    other.start()
    try:
        found = [tracker.evaluate({"x": data}).log_likelihoods["x"] for _ in range(6)] + [tracker.log_likelihood(data) for _ in range(6)]
    finally:
        stop.set()
        other.join()
    for one in found:
        assert min(abs(one.value - value) for value in expected) < 10 * one.log_z_std_error + 0.2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_goes_on(data, model):
    tracker = ztrack.Tracker(data, model[0].shape[1], 50)
    tracker.update(*model)
    child = os.fork()
    if child == 0:
        try:
            tracker.update(*model)
            tracker.evaluate()
            os._exit(0)
        except BaseException:
            os._exit(1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hangs")
    assert status == 0


def test_categories_keep_their_order():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": pandas.Categorical(rng.choice(list("xyz"), 100)), "b": pandas.Categorical(rng.choice(list("pq"), 100))})
    tracker = ztrack.Tracker(frame, 4, 50)
    tracker.update(np.zeros((5, 4)), np.log([0.8, 0.1, 0.1, 0.5, 0.5]), np.zeros(4))
    tracker.log_likelihood(frame)
    other = frame.assign(a=frame.a.cat.reorder_categories(list("zyx")))
    for one in (tracker, pickle.loads(pickle.dumps(tracker))):
        with pytest.raises(ztrack.InvalidError, match="other categories"):
            one.log_likelihood(other)


def test_marginals_of_spins_are_means():
    share = np.array([0.25, 0.5, 0.75])
    model = (np.zeros((3, 2)), np.zeros(3), np.zeros(2))
    values = []
    for marginals, groups in ((2 * share - 1, "plus-minus"), (share, None)):
        tracker = ztrack.Tracker(marginals=marginals, n_hidden=2, chains=50, groups=groups)
        tracker.update(*model)
        values.append(tracker.log_z)
    assert abs(values[0] - values[1]) < 0.2


def test_a_subclass_takes_no_engine():
    class Own(ztrack.Tracker):
        pass

    with pytest.raises(ztrack.InvalidError, match="Own is a tracker of an RBM"):
        Own(engine=object())
