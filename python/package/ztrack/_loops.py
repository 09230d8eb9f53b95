"""The tracker in loops of others: a hook of PyTorch's optimizers, a callback of Lightning, early stopping."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from . import _native
from ._arrays import number, whole
from ._errors import InvalidError
from ._estimate import LogLikelihood
from ._evaluation import Evaluation
from ._packages import need
from ._tracker import Tracker


class Watched:
    """A tracker that follows the steps of an optimizer; :func:`watch` makes it."""

    def __init__(self, tracker: Tracker, read: Callable[[], tuple[Any, Any, Any]], every: int, handle: Any):
        #: The tracker: ``tracker.evaluate()`` at any time.
        self.tracker = tracker
        #: Steps of the optimizer so far.
        self.steps = 0
        self._read, self._every, self._handle = read, every, handle

    def _step(self, *_: Any) -> None:
        self.steps += 1
        if self.steps % self._every == 0:
            self.tracker.update(*self._read())

    def evaluate(self, data: Any = None, **options: Any) -> Evaluation:
        """:meth:`Tracker.evaluate`."""
        return self.tracker.evaluate(data, **options)

    def remove(self) -> None:
        """Takes the hook away; the tracker stays as it is."""
        self._handle.remove()

    def __repr__(self) -> str:
        return f"Watched({self.tracker!r}, every {self._every} of {self.steps} steps)"


def watch(
    optimizer: Any,
    weights: ArrayLike,
    visible_bias: ArrayLike,
    hidden_bias: ArrayLike,
    every: int = 10,
    *,
    data: ArrayLike | None = None,
    tracker: Tracker | None = None,
    **options: Any,
) -> Watched:
    """Tracks log Z of the parameters that a PyTorch optimizer changes, without a line in the loop.

    ::

        watched = ztrack.watch(optimizer, W, c, b, every=10, data=X)     # before training
        ...                                                              # any loop with optimizer.step()
        watched.evaluate({"validation": X_valid})

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Anything with ``register_step_post_hook``.
    weights, visible_bias, hidden_bias : tensors
        W [visible, hidden], c [visible] and b [hidden], the tensors that the optimizer changes in place. With ``transposed=True`` W is
        [hidden, visible].
    every : int
        Steps of the optimizer between updates of the tracker.
    data : array [rows, visible] of 0 and 1
        Training rows; not needed where a ``tracker`` is given.
    tracker : Tracker, optional
        One that exists, instead of a new one of ``data`` and ``options``.
    options
        As of :class:`Tracker`: ``chains``, ``averaging``, ``seed``, ...
    """
    register = getattr(optimizer, "register_step_post_hook", None)
    if register is None:
        raise InvalidError("`optimizer` has no register_step_post_hook: a torch.optim.Optimizer of PyTorch 2 is needed")
    every = whole(every, "every", 1)
    if tracker is None:
        tracker = Tracker(data, options.pop("n_hidden", len(hidden_bias)), **options)
    elif options or data is not None:
        raise InvalidError("`tracker` is given: `data` and the options of a tracker would not be used")
    watched = Watched(tracker, lambda: (weights, visible_bias, hidden_bias), every, None)
    tracker.update(weights, visible_bias, hidden_bias)
    watched._handle = register(watched._step)
    return watched


def lightning_callback(
    tracker: Tracker, parameters: Callable[[Any], tuple[Any, Any, Any]], every: int = 10, data: Any = None, evaluate_every: int = 1
) -> Any:
    """A callback of Lightning that tracks the module in training and logs log Z.

    ``parameters``: from the module to W, c and b, as ``lambda module: (module.W, module.c, module.b)``. The tracker follows every
    ``every``-th batch; every ``evaluate_every``-th epoch ends with an evaluation of ``data`` (as :meth:`Tracker.evaluate` takes them), logged as
    ``ztrack/log_z``, ``ztrack/sound`` and so on. Needs the package lightning or pytorch_lightning.
    """
    try:
        base = need("lightning.pytorch").Callback
    except ImportError:
        base = need("pytorch_lightning").Callback
    every, evaluate_every = whole(every, "every", 1), whole(evaluate_every, "evaluate_every", 1)

    class LogZ(base):  # type: ignore[misc, valid-type]
        def __init__(self):
            self.tracker, self.batches = tracker, 0

        def on_train_start(self, trainer, module):
            if tracker.model is None:
                tracker.update(*parameters(module))

        def on_train_batch_end(self, trainer, module, *_, **__):
            self.batches += 1
            if self.batches % every == 0:
                tracker.update(*parameters(module))

        def on_train_epoch_end(self, trainer, module):
            if (trainer.current_epoch + 1) % evaluate_every == 0:
                record = tracker.evaluate(data).record()
                numbers = {f"ztrack/{key}": float(x) for key, x in record.items() if isinstance(x, (int, float))}
                module.log_dict(numbers)

        def state_dict(self):
            return {"tracker": tracker.state_dict(), "batches": self.batches}

        def load_state_dict(self, state):
            tracker.load_state_dict(state["tracker"])
            self.batches = state["batches"]

    return LogZ()


class EarlyStopping:
    """The trainer's early stopping, for a loop of one's own: by validation log-likelihoods, within their error bars.

    ::

        stopping = ztrack.EarlyStopping(patience=30)
        ...
            if stopping.stops(tracker.evaluate({"validation": X_valid})):
                break

    Evaluations in doubt decide nothing. The level is the mean of the latest sound evaluations; a run ends after ``patience`` evaluations
    without improvement, if it is then ``patience_factor`` times as long as at the last one.

    Parameters
    ----------
    patience : int
        Evaluations in a row without improvement.
    patience_factor : float
        Length of the run over its length at the last improvement, at least 1.
    minimum_improvement : float
        Smallest rise that counts, nats per row.
    error_factor : float
        Smallest rise that counts, in standard errors of the difference.
    warm_up : int
        Updates before which evaluations do not count against patience.
    """

    def __init__(
        self,
        patience: int = 30,
        *,
        patience_factor: float = 2.5,
        minimum_improvement: float = 0.0,
        error_factor: float = 1.0,
        warm_up: int = 0,
    ):
        self._settings = json.dumps(
            {
                "patience": whole(patience, "patience", 1),
                "patience_factor": number(patience_factor, "patience_factor", 1),
                "minimum_improvement": number(minimum_improvement, "minimum_improvement", 0),
                "error_factor": number(error_factor, "error_factor", 0),
                "warm_up": whole(warm_up, "warm_up", 0),
            }
        )
        self._state = ""
        #: Whether the last evaluation was an improvement beyond the error bar.
        self.improved = False
        #: Whether its level is the highest so far: a model to keep.
        self.best = False

    def stops(self, evaluation: Evaluation, name: str = "validation") -> bool:
        """Takes in an evaluation, and says whether the run ends. ``name``: the rows that decide."""
        if name not in evaluation.log_likelihoods:
            raise InvalidError(f"the evaluation has no log-likelihood of {name!r}: call evaluate({{{name!r}: rows}})")
        found: LogLikelihood = evaluation.log_likelihoods[name]
        told = (evaluation.update, found.value, evaluation.std_error, evaluation.trust.sound)
        self._state, stop, self.improved, self.best = _native.observe(self._state, self._settings, told)
        return stop
