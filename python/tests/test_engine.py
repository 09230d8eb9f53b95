"""Models of one's own: coverage against enumeration, with fixed and with moving parameters, and what an engine may do wrong."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest

import ztrack
from ztrack._engine import Adapter


class Machine:
    """An RBM with its hidden layer summed over, in any array package."""

    def __init__(self, seed, scale=1.0, visible=6, hidden=3):
        self.weights = np.random.default_rng(seed).normal(0, scale, (visible, hidden))
        self.bias = -self.weights.sum(axis=0) / 2
        self.log_z_base = (visible + hidden) * np.log(2)

    def sample_base(self, n, seed):
        return np.random.default_rng(seed).integers(0, 2, (n, len(self.weights))).astype(float)

    def log_f(self, states, at):
        return np.logaddexp(0, at[:, None] * (states @ self.weights + self.bias)[:, None, :]).sum(axis=2)

    def sweep(self, states, at, seed):
        random, at = np.random.default_rng(seed), at[:, None]
        chance = lambda x: 1 / (1 + np.exp(-at * x))  # noqa: E731
        hidden = random.random((len(states), len(self.bias))) < chance(states @ self.weights + self.bias)
        return (random.random(states.shape) < chance(hidden @ self.weights.T)).astype(float)

    def exact(self):
        units = len(self.weights)
        states = (np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(float)
        return np.logaddexp.reduce(self.log_f(states, np.ones(1))[:, 0])


def tracked(engine, updates=0, **options):
    tracker = ztrack.Tracker(engine=engine, **{"chains": 50, "temperatures": 8, "seed": 1, **options})
    tracker.update()
    random = np.random.default_rng(5)
    for _ in range(updates):
        engine.weights += 0.03 * random.normal(0, 1, engine.weights.shape)
        tracker.update()
    return tracker


def in_errors(updates, seeds, **options):
    found = []
    for seed in seeds:
        engine = Machine(seed)
        evaluation = tracked(engine, updates, seed=seed, **options).evaluate()
        assert evaluation.trust.sound, (seed, evaluation)
        found.append((evaluation.value - engine.exact()) / evaluation.std_error)
    return np.array(found)


@pytest.mark.parametrize("updates", [0, 40])
def test_error_bars_are_neither_too_small_nor_too_large(updates):
    errors = in_errors(updates, range(80))
    assert 0.75 < np.sqrt((errors**2).mean()) < 1.3, errors
    assert 0.9 <= (abs(errors) < 2).mean() < 1 and abs(errors).max() < 4.5
    assert 0.5 < (abs(errors) < 1).mean() < 0.85


def test_many_chains_are_not_biased_by_their_start():
    errors = in_errors(0, range(12), chains=4000)
    assert abs(errors.mean()) < 0.9 and abs(errors).max() < 4, errors


def test_same_seed_same_values_and_history():
    first, second = (tracked(Machine(3), 5) for _ in range(2))
    assert first.evaluate({"rows": np.ones((2, 6))}) == second.evaluate({"rows": np.ones((2, 6))})
    assert tracked(Machine(3), 5, seed=2).log_z != first.log_z
    assert first.history["log_z"].tolist() == [first.log_z] and first.plot() is not None
    assert first.evaluate() is first.evaluations[-1] and first.updates == 5 and "Machine" in repr(first) + first._repr_html_()
    assert np.isfinite(first.evaluate().diagnostics["effective_chains"])


def test_log_likelihood_is_that_of_the_engine():
    engine = Machine(4)
    tracker = tracked(engine, chains=400)
    rows = engine.sample_base(30, 1)
    exact = engine.log_f(rows, np.ones(1)).mean() - engine.exact()
    found = tracker.log_likelihood(rows)
    assert abs(found.value - exact) < 4 * found.log_z_std_error and found.log_z_std_error > 0
    weights = np.arange(30)
    weighted = np.average(engine.log_f(rows, np.ones(1))[:, 0], weights=weights) - tracker.log_z
    assert tracker.log_likelihood(rows, sample_weight=weights).value == pytest.approx(weighted)


def test_samples_give_means_of_the_model():
    engine = Machine(5)
    states, weights = tracked(engine, chains=4000).samples()
    all_states = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(float)
    shares = np.exp(engine.log_f(all_states, np.ones(1))[:, 0] - engine.exact())
    assert weights.sum() == pytest.approx(1) and abs(weights @ states - shares @ all_states).max() < 0.06


def test_the_engine_of_the_last_update_counts_and_not_what_became_of_it():
    engine = Machine(6)
    tracker = tracked(engine)
    value, exact = tracker.log_z, engine.exact()
    engine.weights += 1
    assert tracker.evaluate().value == value and abs(value - exact) < 1
    assert tracker.model.exact() == exact
    engine.weights -= 1
    # An engine that is given is taken as it is.
    other = Machine(6)
    tracker.update(other)
    assert tracker.model is other


def test_states_of_several_arrays_and_changes_in_place():
    class Pair(Machine):
        def sample_base(self, n, seed):
            states = super().sample_base(n, seed)
            return {"left": states[:, :2], "rest": (states[:, 2:],)}

        def log_f(self, states, at):
            return super().log_f(np.hstack([states["left"], *states["rest"]]), at)

        def sweep(self, states, at, seed):
            new = super().sweep(np.hstack([states["left"], *states["rest"]]), at, seed)
            states["left"][:] = new[:, :2]
            states["rest"][0][:] = new[:, 2:]
            return states

    plain, pair = (tracked(kind(7), 3).evaluate() for kind in (Machine, Pair))
    assert (plain.value, plain.std_error) == (pair.value, pair.std_error)


@pytest.mark.parametrize("package", ["torch", "jax"])
def test_arrays_of_other_packages_stay_what_they_are(package):
    pytest.importorskip(package)
    if package == "torch":
        import torch

        array, kind = torch.tensor, torch.Tensor
    else:
        import jax
        import jax.numpy

        array, kind = jax.numpy.asarray, jax.Array

    class Elsewhere(Machine):
        def sample_base(self, n, seed):
            return array(super().sample_base(n, seed))

        def log_f(self, states, at):
            assert isinstance(states, kind)
            return array(super().log_f(np.asarray(states), at))

        def sweep(self, states, at, seed):
            assert isinstance(states, kind)
            return array(super().sweep(np.asarray(states), at, seed))

    tracker = tracked(Elsewhere(8), 3)
    plain = tracked(Machine(8), 3)
    assert isinstance(tracker.samples()[0], kind)
    assert tracker.log_z == pytest.approx(plain.log_z, abs=1e-12 if package == "torch" else 0.2)


def returns(method, value):
    engine = Machine(1)
    setattr(engine, method, value)
    return engine


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (object(), "sample_base, log_f, sweep, log_z_base"),
        (returns("sweep", None), "a Machine without sweep"),
        (returns("log_z_base", np.nan), "`log_z_base` is nan"),
        (returns("log_z_base", "x"), "`log_z_base` is 'x', a number is needed"),
        (returns("sample_base", lambda n, seed: np.zeros((n + 1, 6))), r"`sample_base\(50, seed\)` .* 51 x 6: 50 rows"),
        (returns("sample_base", lambda n, seed: None), "`sample_base` of the engine returned NoneType, no states"),
        (returns("sample_base", lambda n, seed: ()), "`sample_base` of the engine returned no array"),
        (returns("log_f", lambda states, at: np.zeros((len(at), len(states)))), "2 x 50 for 50 states at 2 .*: 50 x 2 is needed"),
        (returns("log_f", lambda states, at: np.zeros(len(states))), "`log_f of the engine` has 1 dimensions"),
        (returns("log_f", lambda states, at: None), "`log_f of the engine` holds object"),
        (returns("log_f", lambda states, at: np.zeros((len(states), len(at))) * 1j), "`log_f of the engine` holds complex128"),
        (returns("log_f", lambda states, at: np.where(at > 0.5, np.nan, np.zeros((len(states), 1)))), "is nan for state 0 at inverse temperature"),
        (returns("log_f", lambda states, at: np.full((len(states), len(at)), -np.inf)), "is -inf for state 0 at inverse temperature 0"),
        (returns("sweep", lambda states, at, seed: states[:, 0]), "`sweep` of the engine returned states 50 for states 50 x 6"),
        (returns("sweep", lambda states, at, seed: 3), "`sweep` of the engine returned int"),
    ],
)
def test_mistakes_of_an_engine_are_named(engine, words):
    with pytest.raises(ztrack.InvalidError, match=words):
        tracked(engine)


def test_what_a_method_raises_comes_out_and_the_tracker_stays():
    engine = Machine(9)
    tracker = tracked(engine, 2)
    before = tracker.running
    broken = copy.deepcopy(engine)
    calls = []

    def raises(states, at, seed):
        calls.append(threading.current_thread())
        raise ZeroDivisionError("of the user")

    broken.sweep = raises
    with pytest.raises(ZeroDivisionError, match="of the user"):
        tracker.update(broken)
    # On the thread that called, once.
    assert calls == [threading.current_thread()] and tracker.running == before and tracker.updates == 2
    tracker.update(engine)
    value, exact = tracker.evaluate(), engine.exact()
    assert abs(value.value - exact) < 5 * value.std_error


def test_keyboard_interrupt_and_progress_end_a_call():
    class Slow(Machine):
        sweeps = 0

        def sweep(self, states, at, seed):
            Slow.sweeps += 1
            time.sleep(0.01)
            return super().sweep(states, at, seed)

    tracker = tracked(Slow(2), settling=(100_000, 100_000))
    Slow.sweeps = 0
    with pytest.raises(ztrack.Interrupted):
        tracker.evaluate(progress=lambda line: False)
    assert Slow.sweeps < 100_000 and tracker.evaluations == ()

    def stopped(states, at, seed):
        raise KeyboardInterrupt

    tracker.model.sweep = stopped
    with pytest.raises(KeyboardInterrupt):
        tracker.evaluate()


def test_a_method_cannot_call_its_own_tracker_but_any_other_function():
    engine = Machine(3)
    engine.__class__ = type("Calling", (Machine,), {"__deepcopy__": lambda self, memo: self})
    tracker = ztrack.Tracker(engine=engine, chains=20, temperatures=4)
    engine.sweep = lambda states, at, seed: tracker.log_z
    with pytest.raises(ztrack.InvalidError, match="calls the tracker that called it"):
        tracker.update()
    rbm = np.zeros((4, 2)), np.zeros(4), np.zeros(2)

    def sweep(states, at, seed):
        assert ztrack.log_partition(*rbm, method="rts", data=np.eye(4)).value > 0
        return Machine.sweep(engine, states, at, seed)

    engine.sweep = sweep
    other = ztrack.Tracker(engine=engine, chains=20, temperatures=2, settling=(3, 3))
    engine.log_f(engine.sample_base(2, 1), np.ones(1))
    short = iter(range(3))
    engine.sweep = lambda states, at, seed: (sweep if next(short, None) is not None else Machine.sweep.__get__(engine))(states, at, seed)
    other.update()


def test_threads_share_a_tracker_in_turn():
    tracker = tracked(Machine(1))
    found = []
    threads = [threading.Thread(target=lambda: found.append(tracker.evaluate().value)) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(found) == 4 and len(set(found)) == 1


def test_a_call_that_waits_for_another_ends_alone():
    # What an update copies: the engine, not the events of its sweep.
    begun, free, sweeps, seen = threading.Event(), threading.Event(), [], []
    right = Machine(1)

    def slow(states, at, seed):
        begun.set()
        assert free.wait(60)
        if seen:
            time.sleep(0.2)
        sweeps.append(seed)
        return Machine.sweep(right, states, at, seed)

    free.set()
    tracker = ztrack.Tracker(engine=with_sweep(right, slow), chains=20, temperatures=2, settling=(3, 3))
    tracker.update()
    begun.clear()
    free.clear()
    found = []
    thread = threading.Thread(target=lambda: found.append(tracker.evaluate().value))
    thread.start()
    assert begun.wait(60)

    # Ended while the other call is in a sweep and has more of them left.
    def end(line):
        seen.append(len(sweeps))
        free.set()
        return False

    with pytest.raises(ztrack.Interrupted):
        tracker.evaluate(progress=end)
    thread.join(60)
    assert seen and len(sweeps) > seen[0] + 1
    assert found == [tracker.evaluate().value]


def test_what_is_for_rbms_alone_is_refused():
    with pytest.raises(ztrack.InvalidError, match="`data` is for RBMs"):
        ztrack.Tracker([[0, 1]], engine=Machine(1))
    with pytest.raises(ztrack.InvalidError, match="`averaging` is for RBMs"):
        ztrack.Tracker(engine=Machine(1), averaging=0.1)
    with pytest.raises(TypeError, match="chain"):
        ztrack.Tracker(engine=Machine(1), chain=3)
    with pytest.raises(ztrack.InvalidError, match="or an `engine`"):
        ztrack.Tracker(n_hidden=3)
    tracker = ztrack.Tracker(engine=Machine(1), chains=20)
    assert isinstance(tracker, ztrack.Tracker) and tracker.model is None
    for call in (tracker.evaluate, tracker.samples, lambda: tracker.running, lambda: tracker.log_likelihood(np.zeros((1, 6)))):
        with pytest.raises(ztrack.InvalidError, match="call `update` first"):
            call()
    for call in (tracker.negative_phase, tracker.to_arviz, lambda: tracker.set_particles(np.zeros((1, 6)))):
        with pytest.raises(ztrack.InvalidError, match="only what does not need an RBM"):
            call()


class Loop:
    """A training, so that a tracker and its engine are saved together."""

    def __init__(self, every=1):
        self.engine, self.random = Machine(3), np.random.default_rng(5)
        self.tracker = ztrack.Tracker(engine=self.engine, chains=50, temperatures=8, seed=1, every=every)
        self.tracker.update()

    def go_on(self, updates):
        for _ in range(updates):
            self.engine.weights += 0.03 * self.random.normal(0, 1, self.engine.weights.shape)
            self.tracker.update()
        return self.tracker.evaluate()


# With every third update the engine of the last update is another than that of the last step, after two updates.
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loop: pickle.loads(pickle.dumps(loop))])
def test_a_saved_tracker_goes_on_to_the_bit(every, copied):
    straight, saved = Loop(every), Loop(every)
    for updates in (0, 2, 5):
        saved = copied(saved)
        assert straight.go_on(updates) == saved.go_on(updates)
        assert saved.tracker.evaluations == straight.tracker.evaluations
        saved = copied(saved)
        # What was evaluated is not evaluated again.
        assert saved.tracker.evaluate() == straight.tracker.evaluate() and saved.tracker.running == straight.tracker.running
    saved.engine.weights += 1
    assert (saved.tracker.model.weights != saved.engine.weights).all()
    # The copy follows its own engine.
    saved.tracker.update()
    assert (saved.tracker.evaluate().update, straight.tracker.evaluate().update) == (8, 7)
    assert (saved.tracker.model.weights == saved.engine.weights).all()


def test_a_state_is_loaded_into_a_tracker_with_an_engine_of_its_own():
    straight = Loop()
    straight.go_on(3)
    state = pickle.loads(pickle.dumps(straight.tracker.state_dict()))
    engine = copy.deepcopy(straight.engine)
    other = ztrack.Tracker(engine=engine)
    other.load_state_dict(state)
    alone = ztrack.Tracker.from_state_dict(state)
    assert type(alone) is type(other) and repr(alone) == repr(straight.tracker)
    engine.weights += 0.1
    straight.engine.weights += 0.1
    for tracker in (straight.tracker, other):
        tracker.update()
    assert other.evaluate() == straight.tracker.evaluate()
    # Without an engine of its own, the copy in the state, which did not change.
    alone.update()
    assert alone.model is not engine and np.allclose(alone.model.weights, engine.weights - 0.1)
    # A doubt of the engine stays.
    wrong = tracked(with_sweep(Machine(2), lambda states, at, seed: Machine.sweep(Machine(3), states, at, seed)))
    assert "engine" in ztrack.Tracker.from_state_dict(wrong.state_dict()).trust.doubts


def test_states_that_are_none_of_an_engine():
    state = tracked(Machine(1)).state_dict()
    rbm = ztrack.Tracker(np.eye(4), 2, 20).state_dict()
    tracker = ztrack.Tracker(engine=Machine(1), chains=20)
    for bad, kind in [
        ({}, ztrack.InvalidError),
        (rbm, ztrack.InvalidError),
        ({**state, "batch": 3}, ztrack.InvalidError),
        ({**state, "settings": {}}, ztrack.InvalidError),
        ({**state, "engines": [object(), None]}, ztrack.InvalidError),
        ({**state, "engines": [None, None]}, ztrack.InvalidError),
        ({**state, "state": rbm["state"]}, ztrack.InvalidError),
        ({**state, "state": state["state"][:-9]}, ztrack.FileError),
        ({**state, "settings": {**state["settings"], "temperatures": 5}}, ztrack.InvalidError),
    ]:
        with pytest.raises(kind):
            tracker.load_state_dict(bad)
    assert tracker.model is None and tracker.updates == 0
    with pytest.raises(ztrack.InvalidError, match="no state of a tracker"):
        ztrack.Tracker(np.eye(4), 2, 20).load_state_dict(state)


def test_a_base_that_changes_and_an_engine_that_cannot_be_copied():
    engine = Machine(1)
    tracker = tracked(engine)
    engine.log_z_base += 1
    with pytest.raises(ztrack.InvalidError, match="log Z of the base distribution was"):
        tracker.update()
    engine.lock = threading.Lock()
    with pytest.raises(ztrack.InvalidError, match="cannot be copied .*`__deepcopy__`, or a new engine"):
        tracker.update()


def with_sweep(engine, sweep):
    engine = copy.deepcopy(engine)
    engine.sweep = sweep
    return engine


def test_a_sweep_that_is_wrong_is_a_doubt():
    right = Machine(2)
    for name, sweep in {
        "ignores the temperature": lambda states, at, seed: Machine.sweep(right, states, np.ones_like(at), seed),
        "cold for hot": lambda states, at, seed: Machine.sweep(right, states, 1 - at, seed),
        "another model": lambda states, at, seed: Machine.sweep(Machine(3), states, at, seed),
    }.items():
        tracker = tracked(with_sweep(right, sweep))
        assert "engine" in tracker.trust.doubts, name
        assert "does not leave f(., at) invariant" in str(tracker.trust)
    # The base and the densities do not belong together.
    base = copy.deepcopy(right)
    base.sample_base = lambda n, seed: np.ones((n, 6))
    assert "engine" in tracked(base).trust.doubts


def test_a_right_sweep_is_never_doubted():
    for seed in range(200):
        assert Adapter(Machine(seed, scale=0.2 + seed / 100)).changed_by_sweep(seed) is None
    assert Adapter(with_sweep(Machine(1), lambda states, at, seed: states)).changed_by_sweep(1) is None
