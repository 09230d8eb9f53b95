"""Models of one's own: an engine is any object with three methods on whole arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ._arrays import array, number, seeded, whole
from ._errors import InvalidError
from ._estimate import Seed
from ._evaluation import as_state, from_state
from ._html import error_bar, table
from ._tracker import _MOST, Tracker, _pair

#: States with which `sweep` is checked.
CHECKED = 1000
#: Methods that an engine must have.
METHODS = ("sample_base", "log_f", "sweep")
#: Arguments of :class:`Tracker` that are about RBMs.
OF_RBMS = ("marginals", "averaging", "transposed", "groups", "categories")


class Engine(Protocol):
    """A model of one's own, for ``ztrack.Tracker(engine=...)``; it inherits nothing, only the methods count.

    It is a family of unnormalised densities f(state, beta), beta from 0 to 1: f(., 1) is the model, f(., 0) a base distribution that can
    be sampled and whose log Z is known. The usual choice is log f = beta log f_model + (1 - beta) log f_base.

    States are an array of numpy, torch (on any device) or jax with one state per row, or a tuple, list or dict of such arrays. They
    stay such: only numbers and the table of ``log_f`` are converted. Methods are called on the thread that called the tracker. What they
    raise ends its call and is raised there; the tracker stays as it was. The first update tries ``sweep`` on 1000 states: one that
    changes what it should leave invariant is a doubt, ``engine``, of every evaluation. A wrong step far from the base may not show there.
    """

    #: log of the sum (integral) of f(., 0) over all states, nats; the same at all updates. A method without arguments will do, too.
    log_z_base: float | Callable[[], float]

    def sample_base(self, n: int, seed: int) -> Any:
        """``n`` independent states of f(., 0), [n, ...]."""

    def log_f(self, states: Any, at: np.ndarray) -> Any:
        """log f of S states at K inverse temperatures ``at`` (float64 [K]): [S, K], finite, float64 where there is a choice."""

    def sweep(self, states: Any, at: np.ndarray, seed: int) -> Any:
        """States after one step of a Markov chain, each at its own inverse temperature (``at``: float64 [S]), of the same shape.

        A step leaves f(., at) invariant, as any Gibbs or Metropolis step does. ``seed``, at most 2^63 - 1, is another at each call; a
        step that uses no other random numbers gives the same values again. It may change ``states`` in place.
        """


class Adapter:
    """An engine as the library calls it: what it returns is checked."""

    def __init__(self, engine: Any):
        missing = [name for name in METHODS if not callable(getattr(engine, name, None))]
        if missing or not hasattr(engine, "log_z_base"):
            missing += [] if hasattr(engine, "log_z_base") else ["log_z_base"]
            raise InvalidError(f"`engine` is a {type(engine).__name__} without {', '.join(missing)}: see ztrack.Engine for what it needs")
        self.engine = engine
        log_z = engine.log_z_base
        self.log_z_base = number(log_z() if callable(log_z) else log_z, "log_z_base")

    def sample_base(self, n: int, seed: int) -> Any:
        states = self.engine.sample_base(n, seed)
        for shape in _shapes(states, "sample_base"):
            if shape[:1] != (n,):
                raise InvalidError(f"`sample_base({n}, seed)` of the engine returned an array {_words(shape)}: {n} rows are needed")
        return states

    def log_f(self, states: Any, at: list[float], rows: int) -> bytes:
        found = array(self.engine.log_f(states, np.array(at)), "log_f of the engine", 2)
        if found.shape != (rows, len(at)):
            raise InvalidError(
                f"`log_f` of the engine returned an array {_words(found.shape)} for {rows} states at {len(at)} inverse temperatures: "
                f"{_words((rows, len(at)))} is needed"
            )
        if not np.isfinite(found).all():
            row, column = np.argwhere(~np.isfinite(found))[0]
            raise InvalidError(f"`log_f` of the engine is {found[row, column]} for state {row} at inverse temperature {at[column]:g}")
        return found.tobytes()

    def sweep(self, states: Any, at: list[float], seed: int) -> Any:
        before = _shapes(states, "sweep")
        after = self.engine.sweep(states, np.array(at), seed)
        if _shapes(after, "sweep") != before:
            shapes = [", ".join(map(_words, shapes)) for shapes in (_shapes(after, "sweep"), before)]
            raise InvalidError(f"`sweep` of the engine returned states {shapes[0]} for states {shapes[1]}")
        return after

    def changed_by_sweep(self, seed: int) -> str | None:
        """What a step changes that it must not: mean and spread of log f(., 1) - log f(., 0) over f(., at). At 0, over states of the base; and at
        the largest inverse temperature that these reach by weights."""
        states, at = self.sample_base(CHECKED, seed), np.linspace(0, 1, 21)
        log_f = np.frombuffer(self.log_f(states, at.tolist(), CHECKED)).reshape(CHECKED, -1)
        weights = np.exp(log_f - log_f[:, :1] - (log_f - log_f[:, :1]).max(axis=0))
        weights /= weights.sum(axis=0)
        reached = int(np.flatnonzero(1 / (weights**2).sum(axis=0) > CHECKED / 5)[-1])
        for k in {0, reached}:
            # A copy: a step may change states in place.
            after = self.sweep(self.take(states, list(range(CHECKED))), [at[k]] * CHECKED, (seed + k + 1) % 2**63)
            then = np.frombuffer(self.log_f(after, [0.0, 1.0], CHECKED)).reshape(CHECKED, 2)
            before, later = log_f[:, -1] - log_f[:, 0], then[:, 1] - then[:, 0]
            mean = weights[:, k] @ before
            for what, old, new in (("mean", before, later), ("spread", (before - mean) ** 2, (later - mean) ** 2)):
                change = weights[:, k] * (new - old)
                error = np.sqrt((change**2).sum())
                if abs(change.sum()) > 6 * error + 1e-9 * abs(old).max():
                    return (
                        f"a step of `sweep` at inverse temperature {at[k]:.3g} changes the {what} of log f(., 1) - log f(., 0) by "
                        f"{change.sum():+.3g} ± {error:.2g}: it does not leave f(., at) invariant, or `sample_base` is not of f(., 0)"
                    )
        return None

    def take(self, states: Any, rows: list[int]) -> Any:
        """A copy of some rows."""
        return _mapped(lambda one: one[np.array(rows, dtype=np.int64)], states)


def _mapped(function, states):
    if isinstance(states, dict):
        return {name: _mapped(function, one) for name, one in states.items()}
    if isinstance(states, (tuple, list)):
        parts = [_mapped(function, one) for one in states]
        return type(states)(*parts) if hasattr(states, "_fields") else type(states)(parts)
    return function(states)


def _shapes(states, method):
    """Shapes of all arrays of states."""
    found = []

    def note(one):
        if not hasattr(one, "shape") or not hasattr(one, "__getitem__"):
            raise InvalidError(
                f"`{method}` of the engine returned {type(one).__name__}, no states: an array, or a tuple, list or dict of arrays, is needed"
            )
        found.append(tuple(one.shape))

    _mapped(note, states)
    if not found:
        raise InvalidError(f"`{method}` of the engine returned no array")
    return found


def _words(shape) -> str:
    return " x ".join(map(str, shape)) or "of no dimension"


class EngineTracker(Tracker):
    """What ``ztrack.Tracker(engine=...)`` is."""

    def __init__(
        self,
        data: None = None,
        n_hidden: None = None,
        chains: int | None = None,
        seed: Seed = 0,
        *,
        engine: Any,
        every: int | None = None,
        temperatures: int | None = None,
        sweeps: int | None = None,
        settling: Sequence[int] | None = None,
        **others: Any,
    ):
        strange = [name for name in others if name not in OF_RBMS]
        if strange:
            raise TypeError(f"Tracker() got an unexpected keyword argument {strange[0]!r}")
        of_rbms = {"data": data, "n_hidden": n_hidden, **others}
        given = [name for name, value in of_rbms.items() if value is not None]
        if given:
            raise InvalidError(f"`{given[0]}` is for RBMs, and `engine` brings a model of its own: leave one of them out")
        from . import _native

        optional = lambda value, name, least: None if value is None else whole(value, name, least, _MOST)  # noqa: E731
        Adapter(engine)
        self._engine, self._seed = engine, seeded(seed)
        self._settings = {
            "chains": 500 if chains is None else whole(chains, "chains", 2, _MOST),
            "temperatures": optional(temperatures, "temperatures", 2),
            "sweeps": optional(sweeps, "sweeps", 1),
            "every": 1 if every is None else whole(every, "every", 1, _MOST),
            "settling": None if settling is None else _pair(settling),
            "seed": self._seed,
        }
        self._native = _native.EngineTracker(self._settings)
        self._evaluations = []

    def update(self, engine: Any = None) -> None:  # type: ignore[override]
        """Follows the engine, once before the first update of its parameters and after each: a deep copy of it, so that it may change
        in place. With ``engine``, that object is followed in its place, and not copied; it must not change any more."""
        if engine is None:
            try:
                engine = copy.deepcopy(self._engine)
            except Exception as error:
                raise InvalidError(
                    f"the engine cannot be copied ({error}): give it `__deepcopy__`, or a new engine to each `update`"
                ) from error
        adapter = Adapter(engine)
        first = self.model is None
        self._native.update(adapter, adapter.log_z_base)
        changed = adapter.changed_by_sweep(self._seed) if first else None
        if changed is not None:
            self._own_doubts = (("engine", changed),)

    def _rows(self, data, columns, name="data"):
        return data

    def _model(self, parts) -> Any:
        return parts

    @staticmethod
    def _log_f(model, cells):
        return np.frombuffer(model.log_f(cells, [1.0], _shapes(cells, "data")[0][0]))

    @property
    def model(self) -> Any:
        """The engine that values are about, as it was at the last step of the chains; None before the first update."""
        adapter = self._native.engine()
        return None if adapter is None else adapter.engine

    def samples(self) -> tuple[Any, np.ndarray]:
        """States of the chains, as the engine has them, and their weights [chains], which add up to 1: weighted means over them are
        means over the model, as for the negative phase of a gradient."""
        states, shares = self._native.samples()
        return states, np.array(shares)

    def state_dict(self) -> dict[str, Any]:
        """Everything the tracker knows, with the states of the chains and copies of the engine as they are: what takes these (pickle,
        torch.save, copy.deepcopy) takes the dict and the tracker. A sampler that draws by ``seed`` alone goes on with the same values."""
        state, batch, tracked, newest = self._native.to_state()
        return {
            "state": state,
            "batch": batch,
            "engines": [None if adapter is None else adapter.engine for adapter in (tracked, newest)],
            "engine": self._engine,
            "settings": self._settings,
            "doubts": self._own_doubts,
            "evaluations": [as_state(found) for found in self._evaluations],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes the tracker whose :meth:`state_dict` this is; :meth:`update` goes on with the engine that this tracker was made with, and in
        one by :meth:`from_state_dict` or pickle with the copy in ``state``.

        Raises
        ------
        FileError, InvalidError
            A state that is damaged or none at all.
        """
        from . import _native

        try:
            content, settings, engine = bytes(state["state"]), dict(state["settings"]), state["engine"]
            paths = [None if one is None else Adapter(one) for one in state["engines"]]
            doubts, evaluations = tuple(map(tuple, state["doubts"])), [from_state(found) for found in state["evaluations"]]
            batch = None if state["batch"] is None else (state["batch"][0], int(state["batch"][1]))
            native, seed = _native.EngineTracker(settings), settings["seed"]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise InvalidError("this is no state of a tracker of an engine") from error
        native.load_state(content, batch, *(path and (path, path.log_z_base) for path in paths))
        self._native, self._settings, self._seed, self._evaluations = native, settings, seed, evaluations
        self._own_doubts = doubts
        self._engine = getattr(self, "_engine", engine)

    def _none(self, *_: Any, **__: Any) -> Any:
        raise InvalidError("a tracker of an `engine` has only what does not need an RBM: update, evaluate, history, plot, samples, model")

    set_particles = negative_phase = to_arviz = _none  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tracker({type(self._engine).__name__}, {self.chains} chains, {self.updates} updates)"

    def _repr_html_(self) -> str:
        rows = [("engine", type(self._engine).__name__), ("chains", self.chains), ("updates", self.updates)]
        if self._evaluations:
            last = self._evaluations[-1]
            rows += [(f"log Z at update {last.update}", error_bar(last.value, last.std_error)), ("trust", last.trust)]
        return table("Tracker", rows)

    n_visible = n_hidden = None  # type: ignore[assignment]

    @property
    def chains(self) -> int:
        """Number of chains."""
        return self._native.counts()[0]

    @property
    def updates(self) -> int:
        """Updates after the first."""
        return self._native.counts()[1]

    @property
    def restarts(self) -> int:
        """Times the chains had crowded at few temperatures, and started again."""
        return self._native.counts()[2]
