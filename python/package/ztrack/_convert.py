"""Models to and from other packages' layouts. All keep log Z, up to rounding to float32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import array, parameters, rows, whole
from ._arrays import groups as as_groups
from ._categories import PLUS_MINUS, one_hot
from ._errors import FileError, InvalidError, IoError, ZtrackError
from ._estimate import LogLikelihood, LogPartition, _log_f, log_likelihood, log_partition, sample
from ._html import table
from ._packages import need
from ._reals import has_reals
from ._reals import variables as variables_of

#: Names of the three arrays in state dicts of torch, tried in this order: weights, visible bias, hidden bias.
_TORCH_NAMES = (
    ("weights", "visible_bias", "hidden_bias"),
    ("weight_matrix", "vbias", "hbias"),
    ("W", "v_bias", "h_bias"),
    ("W", "vbias", "hbias"),
    ("W", "c", "b"),
    ("weight", "visible_bias", "bias"),
)


@dataclass(eq=False, repr=False)
class Model:
    """An RBM with units in {0, 1}: log f(v, h) = v.W h + c.v + b.h.

    Visible columns are bits, unless ``groups`` makes adjacent ones of which at most one is set a categorical variable: a sequence of
    numbers of columns (each a one-hot variable, 1 for a bit), or a text such as "60*3+,4,1+" (60 variables of three columns with the
    state "no column is set", a one-hot variable of four columns, a bit). With ``groups="plus-minus"`` the units of both layers are -1
    and +1 (Ising spins): log f(s, t) = s.W t + c.s + b.t, data and samples are -1 and +1.

    ``groups="10*real,1+"`` has ten real columns and a bit ("real" alone: all columns). Arrays of rows and samples are float64 then, with
    one column for each of them. Given the hidden units a real column is normal; W and c have two rows for it, for v and v^2:
    W / s^2 and a row of zeros, and mu / s^2 and -1 / (2 s^2) (docs/real.md). v is a number as it is, or minus a mean and over a scale:
    "real(5.8;0.83)". log Z and log-likelihoods are those of densities of the numbers as they are given.
    """

    #: W, float32 [visible, hidden].
    weights: np.ndarray
    #: c, float32 [visible].
    visible_bias: np.ndarray
    #: b, float32 [hidden].
    hidden_bias: np.ndarray
    #: log Z of the model this one was converted from, minus that of this one, nats.
    log_constant: float = 0.0
    #: States that its chains visited, uint8 [rows, visible], as model files of ``ztrack`` have them: they tell where its mass lies.
    states: np.ndarray | None = None
    #: What the visible columns stand for, as a text; "" for bits.
    groups: str | Sequence[int] | None = ""

    def __post_init__(self):
        # Copies: training goes on in place.
        self.weights, self.visible_bias, self.hidden_bias = (
            part.copy() for part in parameters(self.weights, self.visible_bias, self.hidden_bias)
        )
        self.groups = as_groups(self.groups, self.n_visible)
        columns = sum(columns for columns, _, _ in variables_of(self.groups, self.n_visible))
        if columns != self.n_visible:
            raise InvalidError(f"`groups` is {self.groups!r}, variables of {columns} columns, and there are {self.n_visible} visible units")
        if self.states is not None:
            self.states = rows(self.states, self.n_visible, "states", self.groups)

    def _all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.weights, self.visible_bias, self.hidden_bias

    def __repr__(self) -> str:
        groups = f", groups={self.groups!r}" if self.groups else ""
        return f"Model({self.n_visible} visible, {self.n_hidden} hidden units{groups})"

    def _repr_html_(self) -> str:
        largest = f"{np.abs(self.weights).max():.3g}"
        rows = [("visible units", self.n_visible), ("hidden units", self.n_hidden), ("columns", self.groups or "bits"), ("largest weight", largest)]
        return table("RBM", rows)

    def __eq__(self, other: object) -> bool:
        """The same numbers, and the same kinds of columns."""
        if not isinstance(other, Model):
            return NotImplemented
        same = all(np.array_equal(a, b) for a, b in zip(self._all(), other._all()))
        return same and (self.groups, self.log_constant) == (other.groups, other.log_constant)

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return len(self.visible_bias)

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return len(self.hidden_bias)

    def log_partition(self, **options: Any) -> LogPartition:
        """log Z of this model (without :attr:`log_constant`); options as of :func:`ztrack.log_partition`."""
        return log_partition(*self._all(), **{"states": self.states, "groups": self.groups, **options})

    def log_likelihood(
        self, data: ArrayLike, log_z: LogPartition | ArrayLike | None = None, **options: Any
    ) -> LogLikelihood:
        """Mean log-likelihood of rows, see :func:`ztrack.log_likelihood`."""
        states = {"states": self.states} if log_z is None else {}
        options = {"groups": self.groups, **states, **options}
        return log_likelihood(*self._all(), data, log_z, **options)

    def log_f(self, data: ArrayLike) -> np.ndarray:
        """log p(v) + log Z of every row, see :func:`ztrack.log_f`."""
        data, _, _ = one_hot(data, self.groups, None)
        return _log_f(*self._all(), rows(data, self.n_visible, groups=self.groups), self.groups)

    def sample(self, count: int = 100, **options: Any) -> np.ndarray:
        """Samples, see :func:`ztrack.sample`."""
        return sample(*self._all(), count, **{"states": self.states, "groups": self.groups, **options})

    def to_arviz(self, draws: int = 500, chains: int = 4, **options: Any) -> Any:
        """Samples as an xarray.DataTree for ArviZ, see :func:`ztrack.to_arviz`."""
        from ._arviz import to_arviz

        return to_arviz(self, draws, chains, **options)

    def transposed(self) -> "Model":
        """The layers exchanged; log Z is the same. Of a model without categorical variables."""
        if self.groups not in ("", PLUS_MINUS):
            raise InvalidError("hidden units are bits: a model with categorical variables has no transpose")
        return Model(self.weights.T, self.hidden_bias, self.visible_bias, self.log_constant, groups=self.groups)

    def zero_sum(self) -> "Model":
        """The same distribution with weights and visible biases that sum to zero over the columns of each one-hot variable.

        One-hot variables have this freedom: a constant added to all their columns changes nothing but log Z (:attr:`log_constant`) and
        the hidden biases. Comparing weights of two models needs a choice; variables with the state "no column is set" have none.
        """
        w, c, b = (x.astype(np.float64) for x in self._all())
        constant, first = self.log_constant, 0
        for columns, implicit, _ in variables_of(self.groups, self.n_visible):
            own = slice(first, first + columns)
            first += columns
            if not implicit:
                mean_w, mean_c = w[own].mean(axis=0), c[own].mean()
                w[own], c[own] = w[own] - mean_w, c[own] - mean_c
                b, constant = b + mean_w, constant + mean_c
        return Model(w, c, b, float(constant), self.states, self.groups)

    # Files that the command `ztrack` reads as well.

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a safetensors file (needs the package safetensors), or an npz file of the parameters alone, as the name ends."""
        arrays = dict(zip(("weights", "visible_bias", "hidden_bias"), self._all()))
        if str(path).endswith(".safetensors"):
            states = {} if self.states is None else {"states": self.states}
            metadata = {"layout": "visible-hidden", "variables": self.groups} if self.groups else {}
            if self.log_constant:
                metadata["log_constant"] = repr(float(self.log_constant))
            save_file = need("safetensors.numpy").save_file
            try:
                save_file({**arrays, **states}, str(path), metadata or None)
            except Exception as error:
                raise IoError(f"{path}: {error}") from error
        elif str(path).endswith(".npz"):
            if self.groups:
                raise InvalidError(f"{path}: an npz file has no place for the variables of the columns: use .safetensors")
            if self.log_constant:
                raise InvalidError(f"{path}: an npz file has no place for `log_constant`: use .safetensors")
            try:
                np.savez(path, **arrays)
            except OSError as error:
                raise IoError(f"{path}: {error}") from error
        else:
            raise InvalidError(f"{path}: a model file is called .npz or .safetensors")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Model":
        """Reads what :meth:`save` or the command wrote."""
        groups, log_constant = "", 0.0
        try:
            if str(path).endswith(".safetensors"):
                arrays = need("safetensors.numpy").load_file(str(path))
                with need("safetensors").safe_open(str(path), "numpy") as file:
                    metadata = file.metadata() or {}
                groups, log_constant = metadata.get("variables", ""), float(metadata.get("log_constant", 0))
            else:
                with np.load(path, allow_pickle=False) as file:
                    arrays = dict(file)
        except (OSError, ZtrackError) as error:
            raise error if isinstance(error, ZtrackError) else IoError(f"{path}: {error}") from error
        except Exception as error:
            raise FileError(f"{path}: this is no model file, .npz or .safetensors: {error}") from error
        try:
            parts = (arrays[name] for name in ("weights", "visible_bias", "hidden_bias"))
            # States with numbers are packed.
            return cls(*parts, log_constant, None if has_reals(groups) else arrays.get("states"), groups)
        except KeyError as error:
            raise FileError(f"{path}: no array {error}; found {', '.join(sorted(arrays))}") from error


def from_sklearn(estimator: Any) -> Model:
    """From a fitted ``sklearn.neural_network.BernoulliRBM``, whose ``components_`` are [hidden, visible]."""
    try:
        return Model(
            np.asarray(estimator.components_).T, estimator.intercept_visible_, estimator.intercept_hidden_
        )
    except AttributeError as error:
        raise InvalidError(f"this is no fitted BernoulliRBM: {error}") from error


def _of_bits(model: Model, what: str) -> None:
    if model.groups:
        raise InvalidError(f"{what} has no place for the variables of the columns ({model.groups}): save the model as .safetensors")


def to_sklearn(model: Model) -> Any:
    """A ``BernoulliRBM`` with these parameters, as if fitted. Of a model whose columns are bits."""
    _of_bits(model, "a BernoulliRBM")
    estimator = need("sklearn.neural_network").BernoulliRBM(n_components=model.n_hidden)
    estimator.components_ = model.weights.T.astype(np.float64)
    estimator.intercept_visible_ = model.visible_bias.astype(np.float64)
    estimator.intercept_hidden_ = model.hidden_bias.astype(np.float64)
    estimator.h_samples_ = np.zeros((estimator.batch_size, model.n_hidden))
    estimator.n_features_in_ = model.n_visible
    estimator._n_features_out = model.n_hidden
    return estimator


def from_torch(state: Any, names: Sequence[str] | None = None, transposed: bool | None = None) -> Model:
    """From a torch state dict, or any mapping to arrays.

    ``names``: the keys of weights, visible bias and hidden bias, where they are not found by themselves. ``transposed``: whether
    weights are [hidden, visible], as torch.nn.Linear keeps them; found from the shapes, where layers differ in size.
    """
    state = state.state_dict() if hasattr(state, "state_dict") else state
    if not isinstance(state, Mapping):
        raise InvalidError(f"this is no state dict but a {type(state).__name__}")
    if names is None:
        names = next((known for known in _TORCH_NAMES if all(name in state for name in known)), None)
        if names is None:
            raise InvalidError(
                f"no weights and biases among {', '.join(map(str, state))}: pass names=(weights, visible bias, hidden bias)"
            )
    try:
        w, c, b = (state[name] for name in names)
    except (KeyError, ValueError) as error:
        raise InvalidError(f"names={names!r} do not fit: {error}") from error
    w, c, b = array(w, names[0], 2), array(c, names[1], 1), array(b, names[2], 1)
    if transposed is None:
        if len(c) == len(b):
            raise InvalidError(
                "layers of equal size do not tell how the weights lie: pass transposed=True where they are [hidden, visible], else False"
            )
        transposed = w.shape == (len(b), len(c))
    return Model(w.T if transposed else w, c, b)


def to_torch(
    model: Model, names: Sequence[str] = _TORCH_NAMES[0], transposed: bool = False
) -> dict[str, Any]:
    """A state dict of torch tensors. Of a model whose columns are bits."""
    _of_bits(model, "a state dict")
    torch = need("torch")
    w = model.weights.T if transposed else model.weights
    arrays = zip(names, (w, model.visible_bias, model.hidden_bias))
    return {name: torch.tensor(np.ascontiguousarray(value)) for name, value in arrays}


def from_plus_minus(
    weights: ArrayLike, visible_bias: ArrayLike, hidden_bias: ArrayLike, *, transposed: bool = False
) -> Model:
    """From an RBM with units in {-1, +1}, log f(s, t) = s.W t + c.s + b.t, in double precision.

    With s = 2v - 1 and t = 2h - 1 the weights become 4W, the biases 2(c - W1) and 2(b - W'1); :attr:`Model.log_constant` is what
    log Z of the original has beyond that of the result.
    """
    w = array(weights, "weights", 2)
    w = w.T if transposed else w
    c, b = array(visible_bias, "visible_bias", 1), array(hidden_bias, "hidden_bias", 1)
    parameters(w, c, b)
    constant = float(w.sum() - c.sum() - b.sum())
    return Model(4 * w, 2 * (c - w.sum(axis=1)), 2 * (b - w.sum(axis=0)), constant)


def to_plus_minus(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """W, c, b (float64) of the same distribution over units in {-1, +1}, and its log Z minus that of ``model``, nats. Of a model whose columns are
    bits, or -1 and +1."""
    w, c, b = (x.astype(np.float64) for x in model._all())
    if model.groups == PLUS_MINUS:
        return w, c, b, 0.0
    _of_bits(model, "an RBM with units -1 and +1")
    w = w / 4
    c, b = c / 2 + w.sum(axis=1), b / 2 + w.sum(axis=0)
    return w, c, b, float(w.sum() - c.sum() - b.sum())


def _archive(path: str | PathLike[str], mode: str) -> Any:
    file = need("h5py").File
    try:
        return file(path, mode)
    except OSError as error:
        raise IoError(f"{path}: {error}") from error


def rbms_updates(path: str | PathLike[str]) -> list[int]:
    """Updates saved in an HDF5 archive of the package rbms, ascending."""
    with _archive(path, "r") as file:
        found = [key.removeprefix("update_") for key in file if key.startswith("update_")]
    return sorted(int(key) for key in found if key.isdigit())


def from_rbms(path: str | PathLike[str], update: int | None = None) -> Model:
    """From an HDF5 archive of the package rbms (``update_N/params/{weight_matrix, vbias, hbias}``) of binary or Potts visible units, each
    of which becomes a one-hot variable (:attr:`Model.groups`); the last update unless one is named."""
    updates = rbms_updates(path)
    if not updates:
        raise FileError(f"{path}: no group update_N: this is no archive of rbms")
    update = updates[-1] if update is None else whole(update, "update", 0)
    if update not in updates:
        raise InvalidError(f"{path}: no update {update}; there are {', '.join(map(str, updates))}")
    with _archive(path, "r") as file:
        try:
            group = file[f"update_{update}"]["params"]
            w, c, b = (group[name][()] for name in ("weight_matrix", "vbias", "hbias"))
            if w.ndim == 3 and c.shape == w.shape[:2]:
                units, states, hidden = w.shape
                return Model(w.reshape(-1, hidden), c.reshape(-1), b, groups=f"{units}*{states}")
            return Model(w, c, b)
        except KeyError as error:
            raise FileError(f"{path}: update {update} holds no parameters of a binary or Potts RBM: {error}") from error


def to_rbms(model: Model, path: str | PathLike[str], update: int, log_z: float | None = None) -> None:
    """Adds ``update_N/params`` to an HDF5 archive of rbms, or makes one; ``log_z`` is written beside it.

    Visible units are bits, or one-hot variables of the same number of states.
    """
    update = whole(update, "update", 0)
    (w, c, b), kind = model._all(), "BBRBM"
    if model.groups:
        variables = set(variables_of(model.groups, model.n_visible))
        states, implicit, _ = next(iter(variables))
        if len(variables) > 1 or implicit:
            raise InvalidError(
                f"rbms has one-hot variables of one number of states, this model has variables {model.groups}: save it as .safetensors"
            )
        w, c, kind = w.reshape(-1, states, model.n_hidden), c.reshape(-1, states), "PBRBM"
    with _archive(path, "a") as file:
        if "model_type" in file and file["model_type"].asstr()[()] != kind:
            other = file["model_type"].asstr()[()]
            raise InvalidError(f"{path} is an archive of {other}, this model is a {kind}: give another file")
        name = f"update_{update}"
        if name in file:
            del file[name]
        group = file.create_group(name)
        params = group.create_group("params")
        params["weight_matrix"], params["vbias"], params["hbias"] = w, c, b
        if "model_type" not in file:
            file["model_type"] = kind
        if log_z is not None:
            group["log_z"] = float(log_z)


def write_rbms_log_z(path: str | PathLike[str], update: int, log_z: float) -> None:
    """Writes log Z of an update into an archive of rbms, as ``update_N/log_z``."""
    with _archive(path, "a") as file:
        name = f"update_{whole(update, 'update', 0)}"
        if name not in file:
            raise InvalidError(f"{path}: there is no {name}")
        if "log_z" in file[name]:
            del file[name]["log_z"]
        file[name]["log_z"] = float(log_z)
