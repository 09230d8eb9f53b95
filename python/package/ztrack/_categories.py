"""Ordinal arrays, category columns of pandas, and -1 and +1 as units of 0 and 1, and back."""

from __future__ import annotations

import numpy as np

from ._arrays import array, whole
from ._errors import InvalidError

#: ``groups`` of units that are -1 and +1, in both layers.
PLUS_MINUS = "plus-minus"


def are_spins(groups):
    """Whether ``groups`` says that units are -1 and +1."""
    return isinstance(groups, str) and groups.strip() == PLUS_MINUS


def one_hot(data, groups, categories):
    """Data, groups and numbers of states: one-hot rows and their variables where data are states, else all as they came and None."""
    if are_spins(groups):
        return zeros_for_minus(data), PLUS_MINUS, PLUS_MINUS
    states = sizes(data, categories)
    if states is None:
        return data, groups, None
    return None if data is None else ordinal(data, states), variables(groups, states), states


def zeros_for_minus(data, name="data"):
    """Rows of -1 and +1 as zeros and ones; others as they came."""
    if data is None:
        return None
    found = array(data, name, 2, None)
    return (found > 0).astype(np.uint8) if np.isin(found, (-1, 1)).all() else found


def sizes(value, categories):
    """Numbers of states of the variables of ``value``: as given, else those of a pandas frame of category columns, else None."""
    found = [len(kind.categories) for kind in _kinds(value)] or None
    if categories is None:
        return found
    try:
        given = [whole(size, "categories", 2) for size in categories]
    except TypeError as error:
        raise InvalidError(f"`categories` is {categories!r}: a sequence of numbers of states is needed") from error
    if found is not None and found != given:
        raise InvalidError(f"`categories` is {given}, the category columns have {found} states")
    return given


def variables(groups, states):
    """``groups`` as they are given, or one-hot variables with so many states each where those are known."""
    if states is None or states == PLUS_MINUS:
        return groups
    if groups is not None:
        raise InvalidError("ordinal data have `categories`, one-hot columns have `groups`: give one of them")
    return ",".join(map(str, states))


def ordinal(value, states, name="data"):
    """Rows of states 0, 1, ... [rows, variables] as one-hot rows of zeros and ones [rows, units]; numbers of ``states`` by variable."""
    if _kinds(value):
        value = np.stack([value.iloc[:, i].cat.codes for i in range(value.shape[1])], axis=1)
    found = array(value, name, 2, None)
    if found.shape[1] != len(states):
        raise InvalidError(f"`{name}` has {found.shape[1]} columns, there are {len(states)} categorical variables")
    wrong = ~((found >= 0) & (found < np.array(states)) & (found % 1 == 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidError(
            f"`{name}`: row {row}, column {column} is {found[row, column]}, not a state from 0 to {states[column] - 1} "
            "(-1 where a pandas category is missing)"
        )
    cells = np.zeros((len(found), sum(states)), dtype=np.uint8)
    first = np.cumsum([0, *states[:-1]])
    np.put_along_axis(cells, found.astype(np.int64) + first, 1, axis=1)
    return cells


def states_of(cells, states):
    """The states 0, 1, ... [rows, variables] of one-hot rows, or -1 and +1; the rows themselves where numbers of states are not known."""
    if states is None:
        return cells
    if states == PLUS_MINUS:
        return cells.astype(np.int8) * 2 - 1
    parts = np.split(cells, np.cumsum(states)[:-1], axis=1)
    return np.stack([part.argmax(axis=1) for part in parts], axis=1)


def with_missing(value):
    """A pandas frame as numbers, NaN where a cell is missing, states where its columns are categories; anything else as it came."""
    if not (hasattr(value, "iloc") and hasattr(value, "isna")):
        return value
    if _kinds(value):
        codes = np.stack([value.iloc[:, i].cat.codes for i in range(value.shape[1])], axis=1)
        return np.where(codes < 0, np.nan, codes)
    try:
        return value.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"`data` holds values that are no numbers: {error}") from error


def names(value):
    """The categories of the columns of a pandas frame all of whose columns have some."""
    return [list(kind.categories) for kind in _kinds(value)]


def _kinds(value):
    kinds = list(value.dtypes) if hasattr(value, "iloc") and getattr(value, "ndim", 0) == 2 else []
    return kinds if all(hasattr(kind, "categories") for kind in kinds) else []
