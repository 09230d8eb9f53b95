"""Ordinal integer arrays and category columns of pandas."""

import numpy as np
import pytest

import ztrack

SIZES = [3, 2, 4]


def model(hidden=4, scale=1.0):
    random = np.random.default_rng(5)
    w = scale * random.standard_normal((sum(SIZES), hidden))
    return w, random.standard_normal(sum(SIZES)), random.standard_normal(hidden)


def one_hot(states):
    return np.concatenate([np.eye(size, dtype=np.uint8)[states[:, i]] for i, size in enumerate(SIZES)], axis=1)


def states(count=400, seed=1):
    return ztrack.sample(*model(), count, seed=seed, categories=SIZES)


def frame(values):
    pandas = pytest.importorskip("pandas")
    letters = "abcdefgh"
    columns = {
        f"v{i}": pandas.Categorical.from_codes(values[:, i], categories=list(letters[:size])) for i, size in enumerate(SIZES)
    }
    return pandas.DataFrame(columns)


def test_functions_take_states_as_they_take_one_hot_rows():
    found = states()
    assert found.shape == (400, 3) and (found.max(axis=0) + 1 == SIZES).all()
    groups = ztrack.sample(*model(), 400, seed=1, groups=SIZES)
    assert (one_hot(found) == groups).all()
    for data in (found, found.astype(float), found.tolist(), frame(found)):
        options = {"method": "ais", "seed": 3, "temperatures": 50, "chains": 10}
        categories = None if hasattr(data, "iloc") else SIZES
        value = ztrack.log_partition(*model(), data=data, categories=categories, **options).value
        assert value == ztrack.log_partition(*model(), data=groups, groups=SIZES, **options).value
        mean = ztrack.log_likelihood(*model(), data, categories=categories).value
        assert mean == pytest.approx(ztrack.log_likelihood(*model(), groups, groups=SIZES).value, abs=1e-12)


def test_trackers_take_states():
    found = states()
    kept = []
    for data, options in ((found, {"categories": SIZES}), (frame(found), {}), (one_hot(found), {"groups": SIZES})):
        tracker = ztrack.Tracker(data, 4, chains=50, seed=1, averaging=0, **options)
        tracker.update(*model())
        tracker.set_particles(data)
        kept.append((tracker.log_z, tracker.log_likelihood(data).value))
        assert tracker.model.groups == "3,2,4"
        again = ztrack.Tracker.from_state_dict(tracker.state_dict())
        drawn, weights = again.samples()
        assert drawn.shape == (50, 9 if "groups" in options else 3) and len(weights) == 50
    assert kept[0] == kept[1] == kept[2]


def test_the_estimator_takes_states():
    pytest.importorskip("sklearn")
    found = states()
    kept = []
    for X, options in ((found, {"categories": SIZES}), (frame(found), {}), (one_hot(found), {"groups": SIZES})):
        rbm = ztrack.RBM(4, n_iter=3, random_state=2, **options).fit(X)
        kept.append(rbm.score(X))
        assert rbm.n_features_in_ == X.shape[1] and rbm.transform(X).shape == (400, 4)
        assert rbm.sample(20).shape == (20, X.shape[1])
        step = ztrack.RBM(4, chains=20, random_state=2, **options).partial_fit(X).partial_fit(X)
        kept.append(float(step.components_.sum()))
    assert kept[:2] == kept[2:4] == kept[4:]
    other = frame(found)
    other["v0"] = other["v0"].cat.reorder_categories(["c", "b", "a"])
    with pytest.raises(ztrack.InvalidError, match="other categories"):
        ztrack.RBM(4, n_iter=1).fit(frame(found)).score(other)


def test_states_that_are_none_are_refused():
    found = states(10)
    tracker = lambda data, **options: ztrack.Tracker(data, 4, **options)  # noqa: E731
    for change, match in ((4, "row 3, column 1 is 4.0, not a state from 0 to 1"), (-1, "is -1"), (0.5, "is 0.5"), (np.nan, "is nan")):
        wrong = found.astype(float)
        wrong[3, 1] = change
        with pytest.raises(ztrack.InvalidError, match=match):
            tracker(wrong, categories=SIZES)
    for options, match in (
        ({"categories": SIZES, "groups": "3,2,4"}, "one of them"),
        ({"categories": [3, 2]}, "2 categorical variables"),
        ({"categories": [3, 1, 4]}, "at least 2"),
        ({"categories": 3}, "a sequence of numbers"),
    ):
        with pytest.raises(ztrack.InvalidError, match=match):
            tracker(found, **options)
    missing = frame(found)
    missing.loc[3, "v1"] = None
    with pytest.raises(ztrack.InvalidError, match="-1 where a pandas category is missing"):
        tracker(missing)
    with pytest.raises(ztrack.InvalidError, match="the category columns have"):
        tracker(frame(found), categories=[9, 9, 9])
