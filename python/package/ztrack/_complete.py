"""Rows with missing cells: the likelihood of the cells that are there, and the distribution of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from . import _native
from ._arrays import array, parameters, seeded, whole
from ._categories import PLUS_MINUS, are_spins, one_hot, sizes, states_of, with_missing
from ._errors import InvalidError
from ._estimate import Seed, Trust, _given
from ._reals import has_reals


@dataclass(frozen=True)
class Completion:
    """What a model says of rows with missing cells."""

    #: log of the sum of f over all states of the missing cells, nats, [rows]: minus log Z, the log-likelihood of the cells that are there.
    log_f: np.ndarray
    #: Its standard error, [rows]; 0 where it is exact.
    std_error: np.ndarray
    #: Probability that each visible unit is on, given the cells that are there, [rows, visible]; of given cells 0 or 1.
    means: np.ndarray
    #: Draws of the whole row, [rows, draws, visible], or states of the variables with ``categories``.
    draws: np.ndarray
    #: Whether chains represent the whole distribution, for every row.
    trust: tuple[Trust, ...]


def complete(
    weights: ArrayLike,
    visible_bias: ArrayLike,
    hidden_bias: ArrayLike,
    data: ArrayLike,
    draws: int = 0,
    seed: Seed = 0,
    *,
    near: ArrayLike | None = None,
    transposed: bool = False,
    groups: str | Sequence[int] | None = None,
    categories: Sequence[int] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Completion:
    """Rows whose missing cells are NaN, completed by a model: to fill in cells, to draw some variables given others, and for the likelihood
    of rows with missing cells, ``complete(W, c, b, data).log_f - log_z``.

    Parameters
    ----------
    weights, visible_bias, hidden_bias, transposed
        As for :func:`log_partition`.
    data : array [rows, visible] of 0 and 1, NaN where missing
        A masked array does as well. With ``categories`` states 0, 1, ... [rows, variables]; with ``groups="plus-minus"`` -1 and +1. A
        variable of several columns is missing as a whole.
    draws : int
        Draws of every row.
    near : array [rows, visible], optional
        Training rows, from whose marginals chains start; no cell of them is missing.

    Each row is a model of its missing cells. It is enumerated where the smaller layer has at most 16 units; else tempered chains are run,
    ``trust`` says whether they mixed, and a warning where they did not.
    """
    import warnings

    if has_reals(groups):
        raise InvalidError("`complete` takes columns of 0 and 1: `ztrack impute` and `ztrack evaluate` take real ones with missing cells")
    categories = sizes(data, categories)
    data = with_missing(data)
    cells = np.ma.getdata(data) if np.ma.isMaskedArray(data) else array(data, "data", 2, None)
    missing = np.isnan(cells) if cells.dtype.kind == "f" else np.zeros(cells.shape, dtype=bool)
    missing |= np.ma.getmaskarray(data) if np.ma.isMaskedArray(data) else False
    filled = np.where(missing, 0, cells)
    plus_minus = are_spins(groups)
    near, _, _ = one_hot(near, groups, categories)
    states = PLUS_MINUS if plus_minus else None
    if categories is not None:
        filled, groups, states = one_hot(filled, groups, categories)
        missing = np.repeat(missing, states, axis=1)
    elif plus_minus:
        known = filled[~missing]
        filled = np.where(missing | (filled < 0), 0, filled) if np.isin(known, (-1, 1)).all() else filled
    model = parameters(weights, visible_bias, hidden_bias, transposed)
    width = len(model[1])
    if filled.ndim != 2 or filled.shape[1] != width or len(filled) == 0:
        raise InvalidError(f"`data` has shape {filled.shape}, rows of {width} visible units are needed")
    wrong = (filled != 0) & (filled != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidError(f"`data`: row {row}, column {column} is {filled[row, column]}, neither 0 nor 1 nor NaN")
    count = whole(draws, "draws", 0)
    asked = {
        "rows": np.ascontiguousarray(filled, dtype=np.uint8).tobytes(),
        "missing": np.ascontiguousarray(missing, dtype=np.uint8).tobytes(),
        "means": True,
        "draws": count,
        "seed": seeded(seed),
    }
    log_f, std_error, means, drawn, doubts = _native.complete(_given(model, near, None, groups), asked, progress)
    trust = [Trust()] * len(filled)
    for row, text in doubts:
        trust[row] = Trust(("in-doubt",), text)
    if doubts:
        warnings.warn(f"{len(doubts)} of {len(filled)} rows are in doubt, the first of them row {doubts[0][0]}: {doubts[0][1]}", RuntimeWarning, stacklevel=2)
    drawn = states_of(np.frombuffer(drawn, dtype=np.uint8).reshape(len(filled) * count, width).copy(), states)
    return Completion(
        log_f=np.array(log_f),
        std_error=np.array(std_error),
        means=np.frombuffer(means, dtype=np.float64).reshape(len(filled), width).copy(),
        draws=drawn.reshape(len(filled), count, drawn.shape[1]),
        trust=tuple(trust),
    )
