"""The estimator: scikit-learn's own checks, likelihoods against enumeration, pipelines and searches."""

import pickle

import numpy as np
import pytest

import ztrack

pytest.importorskip("sklearn")
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import Binarizer  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402


# The checks bring real numbers; with a threshold every one of them applies, and none is left out.
@parametrize_with_checks([ztrack.RBM(n_hidden=3, n_iter=2, chains=10, threshold=0.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def small(**options):
    return ztrack.RBM(**{"n_hidden": 8, "n_iter": 30, "batch_size": 50, "random_state": 1, **options})


def test_scores_are_normalised(data, exact):
    model = small(n_iter=300).fit(data)
    truth = exact(model.components_.T, model.intercept_visible_, model.intercept_hidden_)
    assert model.log_z_ == pytest.approx(truth, abs=1e-4) and model.log_z_error_ == 0
    # All 2^16 states have probability 1 together.
    states = (np.arange(2**16)[:, None] >> np.arange(16) & 1).astype(float)
    assert np.exp(model.score_samples(states)).sum() == pytest.approx(1, abs=1e-4)
    # Two prototypes with a tenth of the cells flipped have log 2 + 16 x .325 = 5.9 nats; independent units far more.
    assert -7.5 < model.score(data) < -5
    assert model.transform(data).shape == (400, 8)
    assert len(model.curves_) >= 10 and model.curves_[-1]["tracker/sound"] in (0, 1)
    assert model.n_iter_ == 300
    again = small(n_iter=300).fit(data)
    assert (again.components_ == model.components_).all()
    assert model.sample(20).shape == (20, 16)
    assert pickle.loads(pickle.dumps(model)).score(data) == model.score(data)


def test_early_stopping(data):
    model = small(early_stopping=True, n_iter=400).fit(data)
    assert 1 <= model.n_iter_ <= 400
    assert any("validation/log_likelihood" in row for row in model.curves_)
    with pytest.raises(ztrack.ZtrackError, match="leaves no rows"):
        small(early_stopping=True).fit(data[:3])


def test_partial_fit_is_tracked(data, exact):
    model = small(chains=300)
    for update in range(150):
        model.partial_fit(data[(50 * update) % 400 :][:50])
    truth = exact(model.components_.T, model.intercept_visible_, model.intercept_hidden_)
    assert 0 < model.log_z_error_ < 0.3
    assert abs(model.log_z_ - truth) < 4 * model.log_z_error_
    assert model.n_iter_ == 150
    # The verdict is that of the tracker.
    assert (model.log_z_, model.trust_) == (model._tracker.log_z, model._tracker.trust)
    doubtful = small(chains=300).partial_fit(data)
    doubt = ztrack.Trust(("few-chains",), "few-chains: raise `chains`")
    value, error, _ = doubtful._found()
    doubtful._found = lambda: (value, error, doubt)
    with pytest.warns(RuntimeWarning, match="raise `chains`"):
        doubtful.score(data)
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(data[:50])
    again.partial_fit(data[:50])
    assert model.log_z_ == again.log_z_


def test_partial_fit_is_the_update_of_the_trainer(data):
    """Centered and averaged, as in `fit`: the same quality. With a plain gradient of the current parameters it is half a nat worse."""
    trained = small(n_iter=40).fit(data)
    stepped = small(chains=20)
    for update in range(320):
        stepped.partial_fit(data[(50 * update) % 400 :][:50])
    assert stepped.score(data) > trained.score(data) - 0.5
    with pytest.raises(ztrack.InvalidError, match="the model has 8 hidden units"):
        stepped.set_params(n_hidden=12).partial_fit(data)


def test_weights_of_rows(data):
    """A row of weight 2 is the row twice: the same gradient to rounding, from the same particles."""
    batch, weights = data[:30], np.arange(30) % 3
    seen = small(chains=20).partial_fit(data)
    one, two = pickle.loads(pickle.dumps(seen)), seen
    one.partial_fit(batch, sample_weight=weights)
    two.partial_fit(np.repeat(batch, weights, axis=0))
    assert one.components_ == pytest.approx(two.components_, abs=1e-6)
    many = np.repeat(batch, weights, axis=0)
    assert one.score(batch, sample_weight=weights) == pytest.approx(one.score(many))


def test_partial_fit_of_categories():
    random = np.random.default_rng(1)
    letters = np.eye(4, dtype=np.uint8)[random.integers(0, 2, (200, 5))].reshape(200, 20)
    model = small(n_hidden=3, chains=50, groups="5*4")
    for _ in range(60):
        model.partial_fit(letters)
    # Five letters of which two occur: 5 log 2 = 3.47 nats; all four: 6.93.
    assert -4.2 < model.score(letters) < -3.3 and model.model_.groups == "5*4"
    assert (model.sample(20).reshape(20, 5, 4).sum(axis=2) == 1).all()


def test_scores_in_doubt_warn(data):
    model = small(n_iter=5).fit(data)
    assert model.trust_.sound
    model._log_z = (model.log_z_, 1.0, ztrack.Trust(("drift",), "log Z still drifts"))
    for score in (model.score, model.score_samples):
        with pytest.warns(RuntimeWarning, match="log Z still drifts"):
            score(data)


def test_random_state_is_a_generator(data):
    one, same = (small(n_iter=2, random_state=np.random.default_rng(5)).fit(data) for _ in range(2))
    assert (one.components_ == same.components_).all()


def test_grid_search_and_pipeline(data):
    search = GridSearchCV(small(n_iter=10), {"n_hidden": [2, 6]}, cv=2).fit(data)
    assert search.best_params_["n_hidden"] in (2, 6) and search.best_score_ < 0
    grey = data * 0.7 + 0.1
    pipeline = make_pipeline(Binarizer(threshold=0.5), small(n_iter=5)).fit(grey)
    assert pipeline.transform(grey).shape == (400, 8)
    assert pipeline.score(grey) == pytest.approx(pipeline[-1].score(data))
    assert list(pipeline[-1].get_feature_names_out()[:2]) == ["rbm0", "rbm1"]


def test_what_is_refused(data):
    with pytest.raises(ztrack.InvalidError, match="grey levels.*threshold"):
        small().fit(data * 0.5)
    with pytest.raises(ztrack.InvalidError, match="n_hidden"):
        small(n_hidden=0).fit(data)
    with pytest.raises(ztrack.ConfigError, match="^`learning_rate`: "):
        small(learning_rate=-1.0).fit(data)
    with pytest.raises(ztrack.InvalidError, match="^`n_iter` is 1000000000000000"):
        small(n_iter=10**15).fit(data)
    with pytest.raises(ztrack.TooLargeError):
        small(n_iter=1).fit(data).sample(10**13)
    with pytest.raises(ztrack.ConfigError, match="^`chains`: "):
        small(chains=10**9).fit(data)
    with pytest.raises(ztrack.DivergedError, match="diverged.* lower `learning_rate` or raise `chains`$"):
        small(learning_rate=1e39).fit(data)
    told = []
    with pytest.raises(ztrack.Interrupted):
        small(n_iter=10**6, progress=lambda p: told.append(p) or False).fit(data)
    assert told and told[0]["updates"] > 0


def test_an_estimator_is_as_it_was_where_a_fit_fails(data):
    once = ztrack.RBM(5, n_iter=3, chains=50, random_state=1).fit(data)
    before = (once.log_z_, once.model_, once.sample(20))
    for settings, rows in (({"n_iter": 10**6, "progress": lambda _: False}, data), ({}, data * 0.5), ({"threshold": float("nan")}, data)):
        once.set_params(**settings)
        with pytest.raises((ztrack.Interrupted, ValueError)):
            once.fit(rows)
        once.set_params(n_iter=3, progress=None, threshold=None)
        assert once.log_z_ == before[0] and once.model_ == before[1] and np.array_equal(once.sample(20), before[2])
    first = ztrack.RBM(5, chains=50, learning_rate=-1)
    with pytest.raises(ztrack.InvalidError):
        first.partial_fit(data)
    with pytest.raises(NotFittedError):
        first.score(data)
