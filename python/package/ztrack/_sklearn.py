"""A scikit-learn estimator whose scores are normalised log-likelihoods."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native
from ._arrays import array, number, row_weights, rows, seeded, whole
from ._arrays import groups as as_groups
from ._categories import are_spins, names, ordinal, sizes, states_of, variables
from ._convert import Model
from ._errors import InvalidError
from ._estimate import Seed, Trust, _estimate, _log_f
from ._reals import has_reals, statistics
from ._tracker import Tracker


def _as_a_whole(method):
    """A method that leaves the estimator as it was where it fails."""

    @functools.wraps(method)
    def called(self, *given, **options):
        before = dict(self.__dict__)
        try:
            return method(self, *given, **options)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return called


#: Particles of a gradient by persistent chains, as the trainer has.
_PARTICLES = 500


class RBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Restricted Boltzmann machine with binary units.

    ``fit`` trains by centered persistent contrastive divergence while tempered chains track log Z; ``score`` and
    ``score_samples`` are mean and rows' log-likelihoods in nats, normalised, so that models of different size compare.

    Parameters
    ----------
    n_hidden : int
        Number of hidden units.
    learning_rate : float
        Step size; in ``fit`` it falls to zero over the run.
    batch_size : int or None
        Rows per minibatch. None: a hundredth of the rows, between 10 and 100.
    n_iter : int
        Passes through the rows, at most.
    early_stopping : bool
        Stop, and choose the best model, by the log-likelihood of ``validation_fraction`` of the rows.
    validation_fraction : float
        See ``early_stopping``.
    chains : int
        Tempered chains of the tracker.
    threshold : float or None
        Cells above it count as 1. None: data must be 0 and 1, anything else is an error.
    groups : str, sequence of int or None
        What the columns stand for, see :class:`ztrack.Model`; "auto": adjacent columns that exclude each other in ``X`` become
        categorical variables (not in :meth:`partial_fit`). None: bits.
    categories : sequence of int or None
        Numbers of states of the columns of ``X``, whose cells are then states 0, 1, ...; a pandas frame of category columns brings them.
        Each variable is one-hot units of the model, and samples are states likewise.
    progress : callable or None
        Gets a dict (update, updates, seconds, log_z, ...) some times a second; returning False ends the call with
        :class:`ztrack.Interrupted`.
    random_state : int, Generator, RandomState or None
        The same number gives the same model.

    Attributes
    ----------
    components_ : array [hidden, visible]
        Weights, as ``BernoulliRBM`` keeps them.
    intercept_visible_ : array [visible]
    intercept_hidden_ : array [hidden]
        Biases.
    log_z_ : float
        log Z, nats: of ``fit`` enumerated or annealed apart from the tracker, of ``partial_fit`` tracked.
    log_z_error_ : float
        Its standard error, nats.
    trust_ : Trust
        Whether that error is to be believed; ``score`` and ``score_samples`` warn where not.
    n_iter_ : int
        Passes until the model that was kept.
    curves_ : list of dict
        Every evaluation of ``fit`` (``pandas.DataFrame(model.curves_)``).
    """

    def __init__(
        self,
        n_hidden: int = 100,
        *,
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        n_iter: int = 50,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        chains: int = 200,
        threshold: float | None = None,
        groups: str | Sequence[int] | None = None,
        categories: Sequence[int] | None = None,
        progress: Callable[[dict[str, Any]], object] | None = None,
        random_state: Seed = None,
    ):
        self.n_hidden = n_hidden
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.n_iter = n_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.chains = chains
        self.threshold = threshold
        self.groups = groups
        self.categories = categories
        self.progress = progress
        self.random_state = random_state

    @_as_a_whole
    def fit(self, X: ArrayLike, y: Any = None) -> "RBM":
        """Trains on ``X`` [rows, visible]; ``y`` is not looked at."""
        self._states, self._named = sizes(X, self.categories), names(X)
        self._groups = self.groups if has_reals(self.groups) else ""
        cells = self._rows(X, reset=True)
        iterations = whole(self.n_iter, "n_iter", 1, 10**9)
        if self.batch_size is None:
            batch = min(max(len(cells) // 100, 10), 100)
        else:
            batch = whole(self.batch_size, "batch_size", 1)
        settings = {
            "hidden": whole(self.n_hidden, "n_hidden", 1),
            "epochs": iterations,
            "batch": batch,
            "learning_rate": number(self.learning_rate, "learning_rate"),
            "validation_fraction": number(self.validation_fraction, "validation_fraction", 0, 1) if self.early_stopping else 0.0,
            "evaluations": 20,
            "chains": whole(self.chains, "chains", 2),
            "seed": seeded(self.random_state, "random_state"),
            "settings": self._columns(),
            "groups": self._groups,
        }
        progress = self.progress
        told = None if progress is None else (lambda line: progress(json.loads(line)))
        *model, found = _native.fit(cells.tobytes(), cells.shape[1], settings, told)
        w, c, b = (np.frombuffer(part, dtype=np.float32) for part in model)
        self._keep(w.reshape(len(c), len(b)), c, b)
        found = json.loads(found)
        log_z = _estimate(found["log_z"])
        self._groups = found["groups"]
        self._tracker = self._state = None
        self._log_z = (log_z.value, log_z.std_error, log_z.trust)
        self.curves_ = found["curves"]
        trained = len(cells) - (round(len(cells) * self.validation_fraction) if self.early_stopping else 0)
        self.n_iter_ = max(1, round(found["update"] / max(1, -(-trained // min(batch, trained)))))
        return self

    @_as_a_whole
    def partial_fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> "RBM":
        """One update of the trainer with ``X`` [rows, visible] as the minibatch, tracked; for loops of one's own.

        The update is that of :meth:`fit`, centered PCD-1 with 500 particles, at the constant ``learning_rate``; the estimator is
        the running average of the parameters over the last tenth of the updates, as there. ``sample_weight`` [rows]: weights of the rows in the gradient.
        """
        if has_reals(self.groups):
            raise InvalidError("`partial_fit` takes columns of 0 and 1: train real ones by `fit`, or by a loop of your own with `Tracker`")
        first = not hasattr(self, "components_")
        if first:
            self._states, self._named = sizes(X, self.categories), names(X)
        cells = self._rows(X, reset=first)
        hidden, chains = whole(self.n_hidden, "n_hidden", 1), whole(self.chains, "chains", 2)
        if first:
            if isinstance(self.groups, str) and self.groups == "auto":
                raise InvalidError('`groups` is "auto", which needs all rows: name the groups for `partial_fit`, or call `fit`')
            _native.check_memory(24.0 * cells.shape[1] * hidden, f"weights of {cells.shape[1]} x {hidden} units")
            self._groups = as_groups(variables(self.groups, self._states))
            share = (cells.sum(axis=0) + 1) / (len(cells) + 2)
            w = 0.01 * np.random.default_rng(seeded(self.random_state, "random_state")).standard_normal((cells.shape[1], hidden))
            c = np.log(share) if self._groups else np.log(share / (1 - share))
            self._keep(w, c, np.zeros(hidden))
            self.n_iter_, self.curves_ = 0, []
        elif hidden != len(self.components_):
            raise InvalidError(f"`n_hidden` is {hidden}, the model has {len(self.components_)} hidden units: `fit` begins anew")
        if getattr(self, "_state", None) is None:
            model, seed = self._model(), seeded(self.random_state, "random_state")
            self._tracker = Tracker(cells, hidden, chains, seed, groups=self._groups)
            self._tracker.update(*model._all())
            w, c, b = (part.tobytes() for part in model._all())
            self._state = {"weights": w, "visible_bias": c, "hidden_bias": b, "groups": self._groups}
            self._state |= {"offsets": None, "particles": None, "updates": 0, "seed": seed}
        weights = row_weights(sample_weight, len(cells))
        batch = {
            "rows": cells.tobytes(),
            "weights": None if weights is None else weights.tolist(),
            "learning_rate": number(self.learning_rate, "learning_rate", 0),
            "particles": _PARTICLES,
        }
        parts, offsets, particles = _native.step(self._state, batch)
        state = dict(zip(("weights", "visible_bias", "hidden_bias"), parts))
        w, c, b = (np.frombuffer(part, dtype=np.float32) for part in parts)
        self._tracker.update(w.reshape(len(c), len(b)), c, b)
        self._state = {**self._state, **state, "offsets": offsets, "particles": particles, "updates": self._state["updates"] + 1}
        self._keep(*self._tracker.model._all())
        self._log_z = None
        self.n_iter_ += 1
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """P(h = 1 | v) of every row, [rows, hidden]."""
        check_is_fitted(self)
        v = statistics(self._rows(X, reset=False).astype(np.float64), getattr(self, "_groups", ""))
        return _sigmoid(v @ self.components_.T + self.intercept_hidden_)

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """log p(v) of every row, nats, [rows]: normalised, unlike that of ``BernoulliRBM``. Warns where :attr:`trust_` is not sound."""
        check_is_fitted(self)
        cells = self._rows(X, reset=False)
        log_z, _, trust = self._found()
        if not trust:
            warnings.warn(f"log Z of this score is in doubt: {trust}", RuntimeWarning, stacklevel=2)
        return _log_f(*self._model()._all(), cells, self._model().groups) - log_z

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log-likelihood of ``X``, nats per row; with weights of rows where there are any."""
        values = self.score_samples(X)
        weights = row_weights(sample_weight, len(values))
        return float(values.mean() if weights is None else weights @ values)

    def sample(
        self, n_samples: int = 100, random_state: Seed = None
    ) -> np.ndarray:
        """Samples of the model, uint8 [n_samples, visible] or states [n_samples, variables], by tempered chains."""
        check_is_fitted(self)
        given = self.random_state if random_state is None else random_state
        found = self._model().sample(n_samples, seed=seeded(given, "random_state"))
        return states_of(found, self._states)

    @property
    def log_z_(self) -> float:
        """log Z, nats."""
        check_is_fitted(self, "components_")
        return self._found()[0]

    @property
    def log_z_error_(self) -> float:
        """Standard error of :attr:`log_z_`, nats; 0 where it is enumerated."""
        check_is_fitted(self, "components_")
        return self._found()[1]

    @property
    def trust_(self) -> Trust:
        """Whether :attr:`log_z_error_` is to be believed, and why not."""
        check_is_fitted(self, "components_")
        return self._found()[2]

    @property
    def model_(self) -> Model:
        """The fitted model."""
        check_is_fitted(self, "components_")
        return self._model()

    def _found(self):
        if self._log_z is None:
            found = self._tracker.evaluate()
            self._log_z = (found.value, found.std_error, found.trust)
        return self._log_z

    def _model(self):
        groups = getattr(self, "_groups", "")
        return Model(self.components_.T, self.intercept_visible_, self.intercept_hidden_, groups=groups)

    def _keep(self, w, c, b):
        self.components_ = np.array(w, dtype=np.float64).T
        self.intercept_visible_ = np.array(c, dtype=np.float64)
        self.intercept_hidden_ = np.array(b, dtype=np.float64)

    def _columns(self):
        if self.groups is None and self._states is None:
            return ["data.groups=false"]
        if isinstance(self.groups, str) and self.groups == "auto":
            return []
        if are_spins(self.groups):
            raise InvalidError('the estimator has units of 0 and 1: train on -1 and +1 by `ztrack train`, or by a loop with `Tracker(groups="plus-minus")`')
        if has_reals(self.groups):
            return [f'data.variables="{self.groups}"']
        return [f'data.variables="{as_groups(variables(self.groups, self._states))}"']

    def _rows(self, X, reset):
        if self._states is not None:
            if names(X) != self._named:
                raise InvalidError("the columns of `X` have other categories than those of `fit`: use the same types, in the same order")
            # pandas' own type for the check of names and number of columns; `ordinal` turns it into states.
            validate_data(self, X, reset=reset, dtype=None)
            return ordinal(X, self._states, "X")
        X = validate_data(self, X, reset=reset, dtype="numeric", accept_sparse=True)
        if self.threshold is not None:
            X = array(X, "X", 2, None) > number(self.threshold, "threshold")
        try:
            return rows(X, name="X", groups=self.groups)
        except InvalidError as error:
            if "neither 0 nor 1" in str(error):
                raise InvalidError(f"{error}; or give the estimator a threshold") from None
            raise

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]


def _sigmoid(x):
    return 0.5 * (1.0 + np.tanh(0.5 * x))
