"""log Z, log-likelihoods and samples of a fixed model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._arrays import array, has_missing, number, parameters, row_weights, rows, seeded, whole
from ._arrays import groups as as_groups
from ._reals import received, statistics
from ._categories import PLUS_MINUS, are_spins, one_hot, sizes, states_of, zeros_for_minus
from ._errors import InvalidError
from ._html import error_bar, table
from ._packages import need

if TYPE_CHECKING:
    import pandas

#: What is taken as a seed.
Seed = Union[int, np.random.Generator, np.random.RandomState, np.random.SeedSequence, np.random.BitGenerator, None]

#: Rows whose log f is computed at a time.
_TASK = 4096


@dataclass(frozen=True)
class Trust:
    """Whether an error bar is to be believed, and why not. True where it is."""

    #: Short names of the reasons for doubt, such as ``("drift",)``; empty where sound.
    doubts: tuple[str, ...] = ()
    #: The reasons in words, with what to do about them.
    text: str = "sound"

    @property
    def sound(self) -> bool:
        """Whether there is no reason for doubt."""
        return not self.doubts

    def __bool__(self) -> bool:
        return self.sound

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return table("sound" if self.sound else "in doubt", [] if self.sound else [(" ".join(self.doubts), self.text)])


@dataclass(frozen=True)
class Estimate:
    """What one method says."""

    #: Its name.
    method: str
    #: log Z in nats.
    value: float
    #: Standard error in nats; 0 for exact values, NaN where a method has none.
    std_error: float
    #: Whether the error bar is to be believed.
    trust: Trust
    #: "none", "consistent", "low", "high" or "biased": the direction of the error in expectation.
    bias: str
    #: log Z is at least this with 99.9 %, by the weights of annealing wherever its chains went; None where the method does not anneal.
    at_least: float | None
    #: Effective number of samples, or None.
    effective_samples: float | None
    #: Gibbs sweeps of single chains spent.
    gibbs_sweeps: int
    #: Wall time in seconds.
    seconds: float


@dataclass(frozen=True)
class LogPartition:
    """log Z of a fixed model."""

    #: log Z in nats, of the method to be used.
    value: float
    #: Its standard error in nats; 0 where it is exact.
    std_error: float
    #: Whether that is to be believed.
    trust: Trust
    #: Lower bound that holds for sure, and an upper one where a method gives one (else infinity), nats.
    bounds: tuple[float, float]
    #: log Z is at least this with 99.9 %, nats: the highest bound that the weights of annealing give, or None.
    at_least: float | None
    #: The method to be used.
    method: str
    #: What every method says, in the order they were asked for.
    estimates: tuple[Estimate, ...] = field(repr=False)
    #: Contradictions between methods, in words.
    disagreements: tuple[str, ...] = field(default=(), repr=False)
    #: Methods of "all" that the model does not allow, with the reason.
    skipped: tuple[str, ...] = field(default=(), repr=False)

    def __float__(self) -> float:
        return self.value

    def _repr_html_(self) -> str:
        rows = [("log Z", error_bar(self.value, self.std_error)), ("trust", self.trust), ("at least", f"{self.bounds[0]:.3f} nats")]
        return table(f"log Z by {self.method}", rows + [("disagreement", text) for text in self.disagreements])

    def table(self) -> pandas.DataFrame:
        """A pandas data frame with a row for each method. ``in_errors``: distance from :attr:`value`, in errors of both together; a row
        that is more than 4 away is in doubt."""
        columns = ["value", "std_error", "bias", "effective_samples", "gibbs_sweeps", "seconds"]
        frame = need("pandas").DataFrame(
            [[getattr(e, c) for c in columns] + [e.trust.sound, str(e.trust)] for e in self.estimates],
            columns=columns + ["sound", "doubts"],
            index=[e.method for e in self.estimates],
        )
        both = np.hypot(frame["std_error"], self.std_error).replace(0, np.nan)
        frame.insert(2, "in_errors", ((frame["value"] - self.value) / both).fillna(0.0).where(frame["std_error"].notna()))
        frame.index.name = "method"
        return frame


@dataclass(frozen=True)
class LogLikelihood:
    """Mean log-likelihood of rows, nats per row."""

    #: mean log p(v).
    value: float
    #: Its standard error, of log Z and of the rows together; NaN of one row.
    std_error: float
    #: The part from the number of rows; NaN of one row, which shows none.
    data_std_error: float
    #: The part from log Z, and from chains over missing cells.
    log_z_std_error: float
    #: Whether log Z is to be believed.
    trust: Trust = Trust()

    def __float__(self) -> float:
        return self.value


def log_partition(
    weights: ArrayLike,
    visible_bias: ArrayLike,
    hidden_bias: ArrayLike,
    method: str | Sequence[str] = "auto",
    data: ArrayLike | None = None,
    seed: Seed = 0,
    *,
    transposed: bool = False,
    chains: int = 100,
    temperatures: int | None = None,
    sweeps: int = 1000,
    budget: float = 20.0,
    states: ArrayLike | None = None,
    groups: str | Sequence[int] | None = None,
    categories: Sequence[int] | None = None,
    progress: Callable[[str], object] | None = None,
) -> LogPartition:
    """log Z of the RBM log f(v, h) = v.W h + c.v + b.h with units in {0, 1}.

    Parameters
    ----------
    weights : array [visible, hidden]
        W; [hidden, visible] with ``transposed=True``.
    visible_bias : array [visible]
        c.
    hidden_bias : array [hidden]
        b.
    method : str or list of str
        "auto": enumeration up to 20 units in the smaller layer, else a search for modes and tempered chains that work until
        nothing is in doubt or ``budget`` is used up. Else any of exact, rts, ais, reverse-ais, sandwich, bar, mbar, mixed,
        sams, ti-corrected, ti-rb, raise, tap-third, ... (a wrong name lists them), "all" or "everything". In a list, "auto" is the
        search and the chains alone and enumerates nothing.
    data : array [rows, visible] of 0 and 1, optional
        Training rows, which tell where the mass of the model may lie. Worth giving.
    seed : int, Generator, RandomState, SeedSequence or None
        The same number gives the same result, whatever the number of threads; None for a fresh one.
    chains, temperatures, sweeps : int
        Size of the runs; ``temperatures=None`` for what suits each method.
    budget : float
        Work that "auto" may do while in doubt, in seconds of one usual core.
    states : array [rows, visible] of 0 and 1, optional
        States of the model that its chains visited, as the model files of ``ztrack`` have them.
    groups : str or sequence of int, optional
        What the visible columns stand for, see :class:`Model`; default: bits.
    categories : sequence of int, optional
        Numbers of states of the visible variables, each of one-hot units; ``data`` then holds states 0, 1, ... [rows, variables]. A pandas
        frame of category columns as ``data`` brings them.
    progress : callable, optional
        Gets a line of text after each step; returning False ends the call with :class:`Interrupted`.

    Raises
    ------
    InvalidError
        Shapes that do not fit, NaN, an unknown method.
    """
    data, groups, _ = one_hot(data, groups, categories)
    given = _given(parameters(weights, visible_bias, hidden_bias, transposed), data, states, groups)
    try:
        names = [method] if isinstance(method, str) else [str(name) for name in method]
    except TypeError as error:
        raise InvalidError(f"`method` is {method!r}, a name or a list of names is needed") from error
    if isinstance(method, str) and method == "auto":
        names = []
    settings = {
        "methods": names,
        "chains": whole(chains, "chains", 0),
        "temperatures": None if temperatures is None else whole(temperatures, "temperatures", 0),
        "sweeps": whole(sweeps, "sweeps", 0),
        "budget": number(budget, "budget", 0),
        "seed": seeded(seed),
    }
    return _log_partition(json.loads(_native.log_partition(given, settings, progress)))


def _given(model, data, states, groups) -> dict[str, Any]:
    """A model and what is known of it, as the native functions take it."""
    w, c, b = model
    groups = as_groups(groups, len(c))
    cells, visited = (None if it is None else rows(it, len(c), name, groups).tobytes() for it, name in ((data, "data"), (states, "states")))
    return {
        "weights": w.tobytes(),
        "visible_bias": c.tobytes(),
        "hidden_bias": b.tobytes(),
        "groups": groups,
        "data": cells,
        "states": visited,
    }


def _log_partition(found) -> LogPartition:
    estimates = tuple(_estimate(one) for one in found["estimates"])
    agreement = found["agreement"]
    if not estimates:
        raise InvalidError("no method could be used: " + "; ".join(found["skipped"]))
    chosen = next((e for e in estimates if e.method == agreement["use_method"]), estimates[0])
    trust = chosen.trust
    if trust.sound and not agreement["sound"]:
        trust = Trust(("disagreement",), "; ".join(agreement["disagreements"]))
    exact = chosen.bias == "none"
    lower = chosen.value if exact else (found["bound"] or {}).get("value", -np.inf)
    upper = chosen.value if exact else np.inf
    return LogPartition(
        value=chosen.value,
        std_error=chosen.std_error,
        trust=trust,
        bounds=(lower, upper),
        at_least=max((e.at_least for e in estimates if e.at_least is not None), default=None),
        method=chosen.method,
        estimates=estimates,
        disagreements=tuple(agreement["disagreements"]),
        skipped=tuple(found["skipped"]),
    )


def _number(value) -> float:
    # JSON has no NaN.
    return np.nan if value is None else float(value)


def _estimate(found) -> Estimate:
    trust = _trust([(doubt["name"], doubt["text"]) for doubt in found["trust"]])
    if found["value"] is None and trust.sound:
        trust = Trust(("not-finite",), "the value is no finite number: the parameters are too large for this method")
    return Estimate(
        method=found["method"],
        value=_number(found["value"]),
        std_error=_number(found["std_error"]),
        trust=trust,
        bias=found["bias"],
        at_least=found["at_least"],
        effective_samples=found["effective_samples"],
        gibbs_sweeps=found["gibbs_sweeps"],
        seconds=found["seconds"],
    )


def _trust(doubts) -> Trust:
    """Of pairs of a name and a text."""
    if not doubts:
        return Trust()
    return Trust(tuple(name for name, _ in doubts), "; ".join(text for _, text in doubts))


def log_f(
    weights: ArrayLike, visible_bias: ArrayLike, hidden_bias: ArrayLike, data: ArrayLike, *, transposed: bool = False,
    groups: str | Sequence[int] | None = None,
) -> np.ndarray:
    """log f(v) = c.v + sum_j softplus(b_j + (v W)_j) of every row, nats, float64 [rows]: log p(v) + log Z.

    Shapes as in :func:`log_partition`; ``data`` is [rows, visible] of 0 and 1. With ``groups="plus-minus"`` units are -1 and +1, and
    log f(s) = c.s + sum_j log 2 cosh(b_j + (s W)_j).
    """
    data = zeros_for_minus(data) if are_spins(groups) else data
    w, c, b = parameters(weights, visible_bias, hidden_bias, transposed)
    groups = as_groups(groups, len(c))
    return _log_f(w, c, b, rows(data, len(c), groups=groups), groups)


def _log_f(w, c, b, cells, groups=None) -> np.ndarray:
    w, c, b = (x.astype(np.float64) for x in (w, c, b))
    out, spins = np.empty(len(cells)), isinstance(groups, str) and groups == PLUS_MINUS
    for start in range(0, len(cells), _TASK):
        v = statistics(cells[start : start + _TASK].astype(np.float64), groups)
        v = 2 * v - 1 if spins else v
        x = v @ w + b
        out[start : start + _TASK] = v @ c + np.logaddexp(-x if spins else 0.0, x).sum(axis=1)
    return out


def log_likelihood(
    weights: ArrayLike,
    visible_bias: ArrayLike,
    hidden_bias: ArrayLike,
    data: ArrayLike,
    log_z: LogPartition | ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    transposed: bool = False,
    **options: Any,
) -> LogLikelihood:
    """Mean normalised log-likelihood of ``data`` [rows, visible], nats per row, with weights of rows where there are any. Cells that are
    NaN are missing and summed out, see :func:`complete`.

    ``log_z``: a :class:`LogPartition`, or a number, or a pair (value, std_error), where it is known; else
    :func:`log_partition` finds it, with ``options``.
    """
    w, c, b = parameters(weights, visible_bias, hidden_bias, transposed)
    groups, categories = options.get("groups"), options.pop("categories", None)
    errors, doubtful = None, []
    if has_missing(data):
        from ._complete import complete

        found = complete(w, c, b, data, seed=options.get("seed", 0), groups=groups, categories=categories, progress=options.get("progress"))
        values, errors = found.log_f, found.std_error
        doubtful = [trust for trust in found.trust if not trust]
        _, options["groups"], _ = one_hot(None, groups, sizes(data, categories))
    else:
        data, groups, _ = one_hot(data, groups, categories)
        options["groups"] = groups = as_groups(groups, len(c))
        values = _log_f(w, c, b, rows(data, len(c), groups=groups), groups)
    if log_z is None:
        log_z = log_partition(w, c, b, **options)
    elif unknown := options.keys() - _OPTIONS:
        raise InvalidError(f"`log_likelihood` has no option {', '.join(sorted(unknown))}")
    of_rows = Trust()
    if doubtful:
        of_rows = Trust(("rows-in-doubt",), f"{len(doubtful)} of {len(values)} rows with missing cells are in doubt, as in: {doubtful[0]}")
    if isinstance(log_z, LogPartition):
        both = [trust for trust in (log_z.trust, of_rows) if not trust]
        trust = Trust(sum((it.doubts for it in both), ()), "; ".join(it.text for it in both)) if both else Trust()
        return mean_log_likelihood(values, sample_weight, log_z.value, log_z.std_error, trust, errors)
    pair = array(np.atleast_1d(log_z), "log_z", 1)
    if not (len(pair) in (1, 2) and np.isfinite(pair).all() and (pair[1:] >= 0).all()):
        raise InvalidError(f"`log_z` is {log_z!r}: a finite number, or a pair of it and a standard error of at least 0, is needed")
    error = float(pair[1]) if len(pair) > 1 else 0.0
    return mean_log_likelihood(values, sample_weight, float(pair[0]), error, of_rows, errors)


#: Options of :func:`log_partition` that :func:`log_likelihood` takes, and has no use for where log Z is given.
_OPTIONS = {"method", "seed", "chains", "temperatures", "sweeps", "budget", "states", "groups", "progress"}


def mean_log_likelihood(log_f, sample_weight, log_z: float, log_z_std_error: float, trust: Trust, errors=None) -> LogLikelihood:
    """The mean of log f - log Z over rows; ``errors`` of log f where missing cells are summed out by chains."""
    n = len(log_f)
    shares = row_weights(sample_weight, n)
    shares = np.full(n, 1 / n) if shares is None else shares
    mean = float(shares @ log_f)
    counted = int((shares > 0).sum())
    spread = np.sqrt(((shares * (log_f - mean)) ** 2).sum() * counted / (counted - 1)) if counted > 1 else np.nan
    if errors is not None:
        log_z_std_error = float(np.hypot(log_z_std_error, np.sqrt(((shares * errors) ** 2).sum())))
    return LogLikelihood(
        value=mean - log_z,
        std_error=float(np.hypot(spread, log_z_std_error)),
        data_std_error=float(spread),
        log_z_std_error=log_z_std_error,
        trust=trust,
    )


def sample(
    weights: ArrayLike,
    visible_bias: ArrayLike,
    hidden_bias: ArrayLike,
    count: int = 100,
    data: ArrayLike | None = None,
    seed: Seed = 0,
    *,
    transposed: bool = False,
    chains: int = 100,
    temperatures: int = 50,
    burn_in: int = 1000,
    spacing: int = 10,
    budget: float = 20.0,
    states: ArrayLike | None = None,
    groups: str | Sequence[int] | None = None,
    categories: Sequence[int] | None = None,
    progress: Callable[[str], object] | None = None,
) -> np.ndarray:
    """``count`` samples of the model, uint8 [count, visible] of 0 and 1, or int8 of -1 and +1.

    Exact and independent where the smaller layer has at most 20 units. Else of tempered chains that search for modes, move
    and are judged as those of :func:`log_partition`, by ``burn_in`` sweeps and more of them for ``budget`` seconds while
    they are in doubt, with ``spacing`` sweeps between two samples of a chain. A warning where doubt is left.
    ``data`` [rows, visible]: training rows, places to start from; ``states`` [rows, visible]: states that its chains visited;
    ``groups``: what the visible columns stand for, see :class:`Model`; with ``categories``, as for :func:`log_partition`, samples are
    states 0, 1, ..., int [count, variables]; ``progress``: as of :func:`log_partition`.
    """
    import warnings

    data, groups, numbers_of_states = one_hot(data, groups, categories)
    given = _given(parameters(weights, visible_bias, hidden_bias, transposed), data, states, groups)
    draws = {
        "count": whole(count, "count", 1),
        "chains": whole(chains, "chains", 4),
        "temperatures": whole(temperatures, "temperatures", 2),
        "burn_in": whole(burn_in, "burn_in", 1),
        "spacing": whole(spacing, "spacing", 1),
        "budget": number(budget, "budget", 0),
        "seed": seeded(seed),
    }
    found, doubts = _native.sample(given, draws, progress)
    for doubt in doubts:
        warnings.warn(f"samples in doubt: {doubt}", RuntimeWarning, stacklevel=2)
    return states_of(received(found, draws["count"], given["groups"]), numbers_of_states)
