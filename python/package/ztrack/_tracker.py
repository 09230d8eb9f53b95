"""log Z of a model in training, from one line in any loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._arrays import array, number, parameters, rows, seeded, whole
from ._arrays import groups as as_groups
from ._categories import PLUS_MINUS, are_spins, names, ordinal, sizes, states_of, variables, zeros_for_minus
from ._convert import Model
from ._errors import InvalidError
from ._estimate import LogLikelihood, Seed, Trust, _log_f, _trust, mean_log_likelihood
from ._evaluation import Evaluation, as_state, from_state
from ._html import error_bar, table
from ._packages import need
from ._plot import band, doubtful, two_axes
from ._reals import has_reals, received

if TYPE_CHECKING:
    import pandas

#: Largest number that the library takes in any setting.
_MOST = 10_000_000


class Tracker:
    """log Z, with an error bar, of a model that something else trains.

    ::

        tracker = ztrack.Tracker(data=X, n_hidden=500)
        tracker.update(W, c, b)              # before the first update: starts the chains
        for batch in batches:
            ...                              # any training
            tracker.update(W, c, b)          # after every update, or every tenth
            if it_is_time:
                print(tracker.evaluate({"validation": X_valid}))
        tracker.plot()

    Values are about the running average of the parameters, :attr:`model`. Tempered chains follow it; the first call, to be made
    before the first update, starts them. An evaluation equilibrates a copy of them first (60 to 600 sweeps, as they need them; up to 2000 after as many of the chains); between two updates
    it is made once.

    Parameters
    ----------
    data : array [rows, visible] of 0 and 1
        Training rows; some thousands do. None where only ``marginals`` are known.
    n_hidden : int
        Number of hidden units.
    chains : int, optional
        Tempered chains; 500, and 200 for models of more than 100 000 weights. The error bar falls with the square root.
    seed : int, Generator, RandomState, SeedSequence or None
        The same number and the same parameters give the same values; None for a fresh one.
    marginals : array [visible], optional
        Means of the visible units, in place of data; from -1 to 1 with ``groups="plus-minus"``.
    averaging : float
        Share of the updates so far, 0 to 1, over which the parameters are averaged; what is tracked, and what every value speaks of,
        is their running average (:attr:`model`), which moves slowly and is mostly the better model. 0 for the parameters as they
        are: :meth:`negative_phase` needs that, and the updates of a large model may be faster than any chain then.
    every : int, optional
        Updates between steps of the chains; 1, and of an average a two hundredth of the updates so far, at most 20.
    temperatures, sweeps : int, optional
        Inverse temperatures (20 to 50, by size) and Gibbs sweeps per step (2).
    settling : (int, int), optional
        Fewest and most sweeps at fixed parameters before a value is given.
    transposed : bool
        W is given as [hidden, visible].
    groups : str or sequence of int, optional
        What the visible columns stand for, see :class:`Model`; default: bits.
    engine : Engine, optional
        A model of one's own in place of an RBM: an object with the methods of :class:`ztrack.Engine`. Of the other arguments, ``chains``,
        ``seed``, ``every``, ``temperatures`` (20) and ``sweeps``, ``settling`` go with it. ``update()`` without arguments follows it;
        there is no average, and modes of the data that no chain has visited are not missed.
    categories : sequence of int, optional
        Numbers of states of the columns of ``data``, whose cells are then states 0, 1, ...; each is one-hot units of the model. A pandas
        frame of category columns brings them. Rows that are given later and samples are states likewise.

    Two threads may use trackers of their own at the same time; one that is shared serves them in turn.
    """

    def __new__(cls, *given: Any, engine: Any = None, **options: Any) -> "Tracker":
        from ._engine import EngineTracker

        if engine is None or issubclass(cls, EngineTracker):
            return super().__new__(cls)
        if cls is not Tracker:
            raise InvalidError(f"{cls.__name__} is a tracker of an RBM: make a subclass of type(ztrack.Tracker(engine=...)) for an `engine`")
        return super().__new__(EngineTracker)

    def __init__(
        self,
        data: ArrayLike | None = None,
        n_hidden: int | None = None,
        chains: int | None = None,
        seed: Seed = 0,
        *,
        marginals: ArrayLike | None = None,
        averaging: float = 0.1,
        every: int | None = None,
        temperatures: int | None = None,
        sweeps: int | None = None,
        settling: Sequence[int] | None = None,
        transposed: bool = False,
        groups: str | Sequence[int] | None = None,
        categories: Sequence[int] | None = None,
        engine: Any = None,
    ):
        if (data is None) == (marginals is None):
            raise InvalidError("a tracker needs `data` or `marginals`, one of them, or an `engine`")
        if n_hidden is None:
            raise InvalidError("a tracker needs `n_hidden`, the number of hidden units")
        spins = are_spins(groups)
        self._states = PLUS_MINUS if spins else sizes(data, categories)
        self._named = names(data)
        optional = lambda value, name, least: None if value is None else whole(value, name, least, _MOST)  # noqa: E731
        settings = {
            "hidden": whole(n_hidden, "n_hidden", 1, _MOST),
            "chains": optional(chains, "chains", 2),
            "temperatures": optional(temperatures, "temperatures", 2),
            "sweeps": optional(sweeps, "sweeps", 1),
            "every": optional(every, "every", 1),
            "averaging": number(averaging, "averaging", 0, 1),
            "settling": None if settling is None else _pair(settling),
            "seed": seeded(seed),
        }
        text = as_groups(variables(groups, self._states))
        if has_reals(text) and data is None:
            raise InvalidError("a tracker of real columns needs `data`")
        self._groups = text
        self._evaluations: list[Evaluation] = []
        self._transposed = bool(transposed)
        if data is not None:
            cells = self._rows(data, None)
            self._groups = settings["groups"] = as_groups(variables(groups, self._states), 2 * cells.shape[1])
            self._native = _native.Tracker(cells.tobytes(), None, cells.shape[1], settings)
        else:
            means, settings["groups"] = array(marginals, "marginals", 1), text
            means = (1 + means) / 2 if spins else means
            self._native = _native.Tracker(None, means.tolist(), len(means), settings)

    #: Names and texts of doubts beside those of the chains.
    _own_doubts: tuple[tuple[str, str], ...] = ()

    def _rows(self, data, columns, name="data"):
        if self._states == PLUS_MINUS:
            return rows(zeros_for_minus(data, name), columns, name)
        if self._named and names(data) not in ([], self._named):
            raise InvalidError(f"the columns of `{name}` have other categories than those of the tracker's data: use the same types, in the same order")
        return rows(data, columns, name, self._groups) if self._states is None else ordinal(data, self._states, name)

    def update(self, weights: ArrayLike, visible_bias: ArrayLike, hidden_bias: ArrayLike) -> None:
        """Takes in parameters: W [visible, hidden], c [visible], b [hidden]; numpy arrays or torch tensors.

        Call it once before the first update, which starts the chains, and after every update of the parameters.

        Raises
        ------
        InvalidError
            Another size; NaN or values beyond all measure: training has diverged. The tracker stays as it was.
        """
        w, c, b = parameters(weights, visible_bias, hidden_bias, self._transposed)
        self._native.update(w.tobytes(), c.tobytes(), b.tobytes())

    def set_particles(self, particles: ArrayLike) -> None:
        """Particles of a PCD gradient, [rows, visible] of 0 and 1: evaluations check that their modes are known."""
        self._native.set_particles(self._rows(particles, self.n_visible, "particles").tobytes())

    def evaluate(
        self, data: ArrayLike | Mapping[str, ArrayLike] | None = None, *, progress: Callable[[str], object] | None = None
    ) -> Evaluation:
        """log Z of :attr:`model` with its error, verdict and diagnostics, as a record that does not change.

        Parameters
        ----------
        data : array [rows, visible], or dict of such by name, optional
            Rows whose mean log-likelihoods go into the record, as ``{"train": X, "validation": X_valid}``; one array is called "data".
        progress : callable, optional
            Gets a line of text about every second; returning False ends the call with :class:`Interrupted`, the tracker as it was.

        The record is kept in :attr:`evaluations`; a second call without an update between gives the same values at once.
        """
        named = {} if data is None else data if isinstance(data, Mapping) else {"data": data}
        cells = {str(name): self._rows(value, self.n_visible, str(name)) for name, value in named.items()}
        return self._evaluate(cells, progress)[0]

    def _evaluate(self, cells, progress=None) -> tuple[Evaluation, Any]:
        """An evaluation with the likelihoods of rows, and the model that it is about: another thread may update the tracker meanwhile."""
        (update, value, std_error, doubts, diagnostics), of = self._native.evaluate(progress)
        trust = _trust([*doubts, *self._own_doubts])
        model = self._model(of)
        found = {name: mean_log_likelihood(self._log_f(model, these), None, value, std_error, trust) for name, these in cells.items()}
        last = self._evaluations[-1] if self._evaluations else None
        again = last is not None and (last.update, last.value, last.std_error) == (update, value, std_error)
        found = {**(last.log_likelihoods if again else {}), **found}
        evaluation = Evaluation(update, value, std_error, trust, json.loads(diagnostics), found)
        self._evaluations[len(self._evaluations) - again :] = [evaluation]
        return evaluation, model

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """All evaluations so far, oldest first."""
        return tuple(self._evaluations)

    @property
    def history(self) -> pandas.DataFrame:
        """All evaluations as a data frame, one row each, with columns as in metrics.csv; needs pandas."""
        return need("pandas").DataFrame([found.record() for found in self._evaluations])

    def plot(self, axes: Any = None) -> Any:
        """Log-likelihoods and log Z of all evaluations with bands of 2 errors, doubtful stretches grey; returns the figure.

        ``axes``: two axes of matplotlib to draw on; new ones unless given.
        """
        figure, axes = two_axes(axes)
        column = lambda one: np.array([one(found) for found in self._evaluations], dtype=float)  # noqa: E731
        update = column(lambda found: found.update)
        for name in dict.fromkeys(name for found in self._evaluations for name in found.log_likelihoods):
            of = lambda found, part: getattr(found.log_likelihoods.get(name), part, np.nan)  # noqa: E731, B023
            band(axes[0], update, column(lambda f: of(f, "value")), column(lambda f: of(f, "std_error")), name)  # noqa: B023
        band(axes[1], update, column(lambda found: found.value), column(lambda found: found.std_error), "tracked, 2 errors")
        doubtful(axes[1], update, column(lambda found: found.trust.sound))
        axes[0].set_ylabel("log-likelihood, nats per row")
        axes[1].set_ylabel("log Z, nats")
        axes[1].set_xlabel("update")
        for axis in axes:
            if axis.get_legend_handles_labels()[0]:
                axis.legend()
        return figure

    @property
    def log_z(self) -> float:
        """``evaluate().value``: log Z of :attr:`model`, nats."""
        return self.evaluate().value

    @property
    def std_error(self) -> float:
        """``evaluate().std_error``: standard error of log Z, nats."""
        return self.evaluate().std_error

    @property
    def trust(self) -> Trust:
        """``evaluate().trust``: whether the error bar is to be believed, and why not."""
        return self.evaluate().trust

    @property
    def running(self) -> tuple[float, float]:
        """log Z and its error as the filter has them: free, but behind a model that moves. For progress bars."""
        return self._native.running()

    def log_likelihood(self, data: ArrayLike, *, sample_weight: ArrayLike | None = None) -> LogLikelihood:
        """Mean log-likelihood of ``data`` [rows, visible], nats per row, with the error of log Z and of the rows; with weights of rows
        where there are any."""
        cells = self._rows(data, self.n_visible)
        found, model = self._evaluate({})
        return mean_log_likelihood(self._log_f(model, cells), sample_weight, found.value, found.std_error, found.trust)

    @staticmethod
    def _log_f(model, cells):
        return _log_f(*model._all(), cells, model.groups)

    @property
    def model(self) -> Model | None:
        """The model that values are about: the parameters of the last update, or their running average. None before the first."""
        return self._model(self._native.parameters())

    def _model(self, parts) -> Model | None:
        if parts is None:
            return None
        w, c, b = (np.frombuffer(part, dtype=np.float32) for part in parts)
        return Model(w.reshape(len(c), len(b)), c, b, groups=self._native.groups())

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the chains, uint8 [chains, visible], float64 with real columns, or int [chains, variables], and their weights [chains], which add up to 1."""
        found, shares = self._native.samples()
        return states_of(received(found, len(shares), self._groups), self._states), np.array(shares)

    def negative_phase(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[v h'] [visible, hidden], E[v] and E[h] of the model by the weighted chains: the negative phase of the tempered
        gradient, for ``every=1`` and ``averaging=0``. W comes [hidden, visible] from a transposed tracker. With
        ``groups="plus-minus"`` they are E[s t'], E[s] and E[t]."""
        found, visible, hidden = self._native.negative_phase()
        visible, hidden = np.array(visible), np.array(hidden)
        products = np.frombuffer(found, dtype=np.float32).reshape(len(visible), len(hidden))
        if self._states == PLUS_MINUS:
            products = (4 * products - 2 * visible[:, None] - 2 * hidden + 1).astype(np.float32)
            visible, hidden = 2 * visible - 1, 2 * hidden - 1
        return (products.T if self._transposed else products).copy(), visible, hidden

    def to_arviz(self, draws: int = 500, chains: int = 4, **options: Any) -> Any:
        """Samples of :attr:`model` and all evaluations as an xarray.DataTree for ArviZ, see :func:`ztrack.to_arviz`."""
        from ._arviz import to_arviz

        return to_arviz(self, draws, chains, **options)

    def state_dict(self) -> dict[str, Any]:
        """Everything the tracker knows; :meth:`from_state_dict` goes on with it to the bit. Pickles and torch.save take it."""
        evaluations = [as_state(found) for found in self._evaluations]
        return {"state": self._native.to_bytes(), "transposed": self._transposed, "evaluations": evaluations, "categories": self._states, "names": self._named}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes the tracker whose :meth:`state_dict` this is.

        Raises
        ------
        FileError, InvalidError
            A state that is damaged or none at all.
        """
        try:
            content, transposed = bytes(state["state"]), bool(state["transposed"])
            evaluations = [from_state(found) for found in state.get("evaluations", ())]
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidError("this is no state of a tracker") from error
        self._native, self._transposed, self._evaluations = _native.Tracker.from_bytes(content), transposed, evaluations
        self._states, self._named, self._groups = state.get("categories"), state.get("names", []), self._native.groups()

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> "Tracker":
        """The tracker whose :meth:`state_dict` this is."""
        tracker = cls.__new__(cls, engine=state.get("engine") if isinstance(state, Mapping) else None)
        tracker.load_state_dict(state)
        return tracker

    def __getstate__(self) -> dict[str, Any]:
        return self.state_dict()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.load_state_dict(state)

    def __repr__(self) -> str:
        visible, hidden, chains, updates, _ = self._native.counts()
        return f"Tracker({visible} visible, {hidden} hidden units, {chains} chains, {updates} updates)"

    def _repr_html_(self) -> str:
        rows = [("visible units", self.n_visible), ("hidden units", self.n_hidden), ("chains", self.chains), ("updates", self.updates)]
        if self._evaluations:
            last = self._evaluations[-1]
            rows += [(f"log Z at update {last.update}", error_bar(last.value, last.std_error)), ("trust", last.trust)]
        return table("Tracker", rows)

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self._native.counts()[0]

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return self._native.counts()[1]

    @property
    def chains(self) -> int:
        """Number of tempered chains."""
        return self._native.counts()[2]

    @property
    def updates(self) -> int:
        """Updates after the first."""
        return self._native.counts()[3]

    @property
    def restarts(self) -> int:
        """Times the chains had missed a mode that data or particles know, and started again from it."""
        return self._native.counts()[4]


def _pair(settling) -> tuple[int, int]:
    try:
        fewest, most = settling
    except (TypeError, ValueError) as error:
        raise InvalidError(f"`settling` is {settling!r}, a pair (fewest, most) of sweeps is needed") from error
    fewest, most = whole(fewest, "settling", 0, _MOST), whole(most, "settling", 0, _MOST)
    if fewest > most:
        raise InvalidError(f"`settling` is {settling!r}: the fewest sweeps are more than the most")
    return fewest, most
