"""log Z of a model in training, from one line in any loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._arrays import array, parameters, rows, whole
from ._arrays import groups as as_groups
from ._convert import Model
from ._errors import InvalidError
from ._estimate import LogLikelihood, Trust


class Tracker:
    """log Z, with an error bar, of a model that something else trains.

    ::

        tracker = ztrack.Tracker(data=X, n_hidden=500)
        tracker.update(W, c, b)              # before the first update: starts the chains
        for batch in batches:
            ...                              # any training
            tracker.update(W, c, b)          # after every update, or every tenth
            if it_is_time:
                print(tracker.log_z, tracker.std_error, tracker.trust, tracker.log_likelihood(X_valid).value)

    Values are about the running average of the parameters, :attr:`model`. Tempered chains follow it; the first call, to be made
    before the first update, starts them. Reading a value lets a copy of them come to rest first (60 sweeps and more), so read at evaluations, not at every update.

    Parameters
    ----------
    data : array [rows, visible] of 0 and 1
        Training rows; some thousands do. None where only ``marginals`` are known.
    n_hidden : int
        Number of hidden units.
    chains : int, optional
        Tempered chains; 500, and 200 for models of more than 100 000 weights. The error bar falls with the square root.
    seed : int
        The same seed and the same parameters give the same values.
    marginals : array [visible], optional
        Means of the visible units, in place of data.
    averaging : float
        Share of the updates so far, 0 to 1, over which the parameters are averaged; what is tracked, and what every value speaks of,
        is their running average (:attr:`model`), which moves slowly and is mostly the better model. 0 for the parameters as they
        are: :meth:`negative_phase` needs that, and the updates of a large model may be faster than any chain then.
    every : int, optional
        Updates between steps of the chains; 1, and of an average a two hundredth of the updates so far, at most 20.
    temperatures, sweeps : int, optional
        Inverse temperatures (20 to 50, by size) and Gibbs sweeps per step (2).
    settling : (int, int), optional
        Fewest and most sweeps at fixed parameters before a value is told.
    transposed : bool
        W is given as [hidden, visible].
    groups : str or sequence of int, optional
        What the visible columns stand for, see :class:`Model`; default: bits.

    Two threads may use trackers of their own at the same time; one that is shared serves them in turn.
    """

    def __init__(
        self,
        data: ArrayLike | None = None,
        n_hidden: int | None = None,
        chains: int | None = None,
        seed: int = 0,
        *,
        marginals: ArrayLike | None = None,
        averaging: float = 0.1,
        every: int | None = None,
        temperatures: int | None = None,
        sweeps: int | None = None,
        settling: tuple[int, int] | None = None,
        transposed: bool = False,
        groups: str | Sequence[int] | None = None,
    ):
        if (data is None) == (marginals is None):
            raise InvalidError("a tracker needs `data` or `marginals`, one of them")
        if n_hidden is None:
            raise InvalidError("a tracker needs `n_hidden`, the number of hidden units")
        optional = lambda value, name: None if value is None else whole(value, name, 0)  # noqa: E731
        settings = {
            "hidden": whole(n_hidden, "n_hidden", 0),
            "chains": optional(chains, "chains"),
            "temperatures": optional(temperatures, "temperatures"),
            "sweeps": optional(sweeps, "sweeps"),
            "every": optional(every, "every"),
            "averaging": _number(averaging, "averaging"),
            "settling": None if settling is None else _pair(settling),
            "seed": whole(seed, "seed", 0),
            "groups": as_groups(groups),
        }
        self._transposed = bool(transposed)
        if data is not None:
            cells = rows(data)
            self._native = _native.Tracker(cells.tobytes(), None, cells.shape[1], settings)
        else:
            means = array(marginals, "marginals", 1)
            self._native = _native.Tracker(None, means.tolist(), len(means), settings)

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
        self._native.set_particles(rows(particles, self.n_visible, "particles").tobytes())

    @property
    def log_z(self) -> float:
        """log Z of :attr:`model`, nats."""
        return self._native.evaluate()[0]

    @property
    def std_error(self) -> float:
        """Standard error of :attr:`log_z`, nats. To be believed only where :attr:`trust` says so."""
        return self._native.evaluate()[1]

    @property
    def trust(self) -> Trust:
        """Whether the error bar is to be believed, and why not."""
        _, _, names, text = self._native.evaluate()
        return Trust(tuple(names.split()), text)

    @property
    def running(self) -> tuple[float, float]:
        """log Z and its error as the filter has them: free, but behind a model that moves. For progress bars."""
        return self._native.running()

    def log_likelihood(self, data: ArrayLike) -> LogLikelihood:
        """Mean log-likelihood of ``data`` [rows, visible], nats per row, with the error of log Z and of the rows."""
        cells = rows(data, self.n_visible)
        return LogLikelihood(*self._native.log_likelihood(cells.tobytes()), trust=self.trust)

    @property
    def model(self) -> Model | None:
        """The model that values are about: the parameters of the last update, or their running average. None before the first."""
        parts = self._native.parameters()
        if parts is None:
            return None
        w, c, b = (np.frombuffer(part, dtype=np.float32) for part in parts)
        return Model(w.reshape(len(c), len(b)).copy(), c.copy(), b.copy(), groups=self._native.groups())

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """States of the chains, uint8 [chains, visible], and their weights [chains], which add up to 1."""
        found, shares = self._native.samples()
        states = np.frombuffer(found, dtype=np.uint8).reshape(len(shares), -1)
        return states.copy(), np.array(shares)

    def negative_phase(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[v h'] [visible, hidden], E[v] and E[h] of the model by the weighted chains: the negative phase of the tempered
        gradient, for ``every=1`` and ``averaging=0``. W comes [hidden, visible] from a transposed tracker."""
        found, visible, hidden = self._native.negative_phase()
        products = np.frombuffer(found, dtype=np.float32).reshape(len(visible), len(hidden))
        return (products.T if self._transposed else products).copy(), np.array(visible), np.array(hidden)

    def state_dict(self) -> dict[str, Any]:
        """Everything the tracker knows; :meth:`from_state_dict` goes on with it to the bit. Pickles and torch.save take it."""
        return {"state": self._native.to_bytes(), "transposed": self._transposed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes the tracker whose :meth:`state_dict` this is.

        Raises
        ------
        FileError, InvalidError
            A state that is damaged or none at all.
        """
        try:
            content, transposed = bytes(state["state"]), bool(state["transposed"])
        except (KeyError, TypeError) as error:
            raise InvalidError("this is no state of a tracker") from error
        self._native, self._transposed = _native.Tracker.from_bytes(content), transposed

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> "Tracker":
        """The tracker whose :meth:`state_dict` this is."""
        tracker = cls.__new__(cls)
        tracker.load_state_dict(state)
        return tracker

    def __getstate__(self) -> dict[str, Any]:
        return self.state_dict()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.load_state_dict(state)

    def __repr__(self) -> str:
        visible, hidden, chains, updates, _ = self._native.counts()
        return f"Tracker({visible} visible, {hidden} hidden units, {chains} chains, {updates} updates)"

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


def _number(value, name) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"`{name}` is {value!r}, a number is needed") from error


def _pair(settling) -> tuple[int, int]:
    try:
        fewest, most = settling
    except (TypeError, ValueError) as error:
        raise InvalidError(f"`settling` is {settling!r}, a pair (fewest, most) of sweeps is needed") from error
    return whole(fewest, "settling", 0), whole(most, "settling", 0)
