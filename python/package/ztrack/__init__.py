"""log Z of restricted Boltzmann machines, with an error bar: of fixed models, and while anything trains them.

::

    ztrack.log_partition(W, c, b)                    # of a model one has
    tracker = ztrack.Tracker(data=X, n_hidden=500)   # of a model in training: tracker.update(W, c, b)
    ztrack.RBM(n_hidden=100).fit(X).score(X_test)    # train here, as a scikit-learn estimator

Weights are [visible, hidden], data are rows of 0 and 1, everything is in nats.
"""

from ._native import __version__ as __version__
from ._arviz import to_arviz
from ._complete import Completion, complete
from ._convert import (
    Model,
    from_plus_minus,
    from_rbms,
    from_sklearn,
    from_torch,
    rbms_updates,
    to_plus_minus,
    to_rbms,
    to_sklearn,
    to_torch,
    write_rbms_log_z,
)
from ._engine import Engine
from ._errors import (
    ConfigError,
    DivergedError,
    FileError,
    InternalError,
    Interrupted,
    InvalidError,
    IoError,
    MissingPackageError,
    NotMixedError,
    TooLargeError,
    ZtrackError,
)
from ._estimate import Estimate, LogLikelihood, LogPartition, Trust, log_f, log_likelihood, log_partition, sample
from ._evaluation import Evaluation
from ._loops import EarlyStopping, Watched, lightning_callback, watch
from ._runs import Run, load_run
from ._tracker import Tracker

# Without RBM: `from ztrack import *` works where scikit-learn is missing.
__all__ = [
    "Completion",
    "ConfigError",
    "DivergedError",
    "EarlyStopping",
    "Engine",
    "Estimate",
    "Evaluation",
    "FileError",
    "InternalError",
    "Interrupted",
    "InvalidError",
    "IoError",
    "LogLikelihood",
    "LogPartition",
    "MissingPackageError",
    "Model",
    "NotMixedError",
    "Run",
    "TooLargeError",
    "Tracker",
    "Trust",
    "Watched",
    "ZtrackError",
    "complete",
    "from_plus_minus",
    "from_rbms",
    "from_sklearn",
    "from_torch",
    "lightning_callback",
    "load_run",
    "log_f",
    "log_likelihood",
    "log_partition",
    "rbms_updates",
    "sample",
    "to_arviz",
    "to_plus_minus",
    "to_rbms",
    "to_sklearn",
    "to_torch",
    "watch",
    "write_rbms_log_z",
]


def __getattr__(name):
    # scikit-learn is imported by those who want the estimator alone.
    if name == "RBM":
        try:
            from ._sklearn import RBM
        except ImportError as error:
            raise MissingPackageError(f"ztrack.RBM needs scikit-learn 1.6 or newer ({error})") from error
        return RBM
    raise AttributeError(f"module 'ztrack' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), "RBM"])
