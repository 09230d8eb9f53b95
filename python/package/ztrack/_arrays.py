"""Arrays from anywhere, checked: numpy, torch tensors (also on a device, also with gradients), pandas, scipy.sparse, DLPack, lists."""

from __future__ import annotations

import numpy as np

from . import _native
from ._dlpack import from_dlpack
from ._errors import InvalidError
from ._reals import has_reals, seen, width


def array(value, name, ndim, dtype=np.float64):
    """``value`` as a numpy array of ``ndim`` dimensions in C order; copies only where it must."""
    try:
        found = _numbers(value, name)
    except InvalidError:
        raise
    except Exception as error:
        raise InvalidError(f"`{name}` is no array: {error}") from error
    if found.dtype.kind not in "buif":
        raise InvalidError(f"`{name}` holds {found.dtype}, numbers are needed")
    if found.ndim != ndim:
        shape = "x".join(map(str, found.shape)) or "a single number"
        raise InvalidError(f"`{name}` has {found.ndim} dimensions ({shape}), {ndim} are needed")
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(found, dtype=dtype)
    return found


def _numbers(value, name):
    """Anything that holds numbers as a numpy array: tensors, tables, sparse matrices, objects with DLPack."""
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        raise InvalidError(f"`{name}` has masked cells: fill them in or leave the rows out (`complete` and `log_likelihood` take missing cells)")
    # Tensors of torch refuse numpy while they need gradients or lie on a device.
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "cpu"):
        value = value.cpu()
    # numpy has no bfloat16; torch says so by an error.
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        value = value.float()
    if hasattr(value, "nnz") and hasattr(value, "toarray"):
        return _dense(value, name)
    if hasattr(value, "to_numpy") and hasattr(value, "isna"):
        value = _table(value, name)
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        value = from_dlpack(value)
    found = np.asarray(value)
    # Types of the package ml_dtypes, as jax has them: bfloat16, float8_...
    if found.dtype.kind not in "buif" and found.dtype.name.startswith(("bfloat", "float")):
        found = found.astype(np.float32)
    return found


def _dense(value, name):
    """A sparse matrix in full: zeros and ones as bytes, anything else as it is."""
    value = value.tocsr(copy=True)
    value.sum_duplicates()
    if value.dtype.kind not in "buif":
        raise InvalidError(f"`{name}` holds {value.dtype}, numbers are needed")
    kind = np.dtype(np.uint8) if np.isin(value.data, (0, 1)).all() else value.dtype
    rows, columns = value.shape
    _native.check_memory(float(rows) * columns * kind.itemsize, f"`{name}`: {rows} x {columns} cells of a sparse matrix")
    return value.astype(kind).toarray()


def _table(value, name):
    """A pandas frame or series, with nullable and categorical columns, as numbers."""
    missing = np.argwhere(np.asarray(value.isna()))
    if len(missing):
        place = [str(value.axes[axis][i]) for axis, i in enumerate(missing[0])]
        raise InvalidError(f"`{name}` has no value in row {', column '.join(place)}: fill it or leave the row out")
    try:
        return value.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidError(
            f"`{name}` holds values that are no numbers ({error}): pandas.get_dummies makes columns of 0 and 1 of them, "
            "which `groups` joins to categorical variables"
        ) from error


def parameters(weights, visible_bias, hidden_bias, transposed=False):
    """W [visible, hidden], c [visible] and b [hidden] as float32, shapes and values checked.

    ``transposed``: W is [hidden, visible], as scikit-learn and torch.nn.Linear keep it.
    """
    w = array(weights, "weights", 2, np.float32)
    if transposed:
        w = np.ascontiguousarray(w.T)
    c = array(visible_bias, "visible_bias", 1, np.float32)
    b = array(hidden_bias, "hidden_bias", 1, np.float32)
    if 0 in w.shape:
        raise InvalidError("an RBM needs at least one visible and one hidden unit")
    if w.shape != (len(c), len(b)):
        swapped = w.shape == (len(b), len(c))
        hint = "; it looks like the transpose: pass weights.T, or transposed=True" if swapped else ""
        raise InvalidError(
            f"`weights` is {w.shape[0]} x {w.shape[1]}, but there are {len(c)} visible and {len(b)} hidden biases{hint}"
        )
    for name, values in (("weights", w), ("visible_bias", c), ("hidden_bias", b)):
        if not np.isfinite(values).all():
            raise InvalidError(f"`{name}` contains NaN or infinity (as float32)")
    return w, c, b


def rows(value, columns=None, name="data", groups=None):
    """Rows of zeros and ones [rows, units] as uint8; -1 and +1 are told apart from mistakes, nothing is rounded. With real columns in
    ``groups`` numbers as float64."""
    found = array(value, name, 2, np.float64 if has_reals(groups) else None)
    columns = columns if columns is None else width(groups, columns)
    if columns is not None and found.shape[1] != columns:
        raise InvalidError(f"`{name}` has {found.shape[1]} columns, the model has {columns} visible units")
    if 0 in found.shape:
        raise InvalidError(f"`{name}` is empty: {found.shape[0]} rows of {found.shape[1]} columns")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise InvalidError(f"`{name}` contains NaN or infinity")
    if has_reals(groups):
        return found
    wrong = (found != 0) & (found != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        values = found[wrong]
        hint = "; for units -1 and +1 pass (data + 1) / 2" if (values == -1).all() else ""
        if ((values >= 0) & (values <= 1)).all():
            hint = "; grey levels have to be binarized first, as in data > 0.5"
        raise InvalidError(
            f"`{name}`: row {row}, column {column} is {found[row, column]}, neither 0 nor 1{hint}"
        )
    return np.ascontiguousarray(found, dtype=np.uint8)


def has_missing(value):
    """Whether cells of an array or a pandas frame are missing, or masked."""
    if hasattr(value, "isna"):
        return bool(np.asarray(value.isna()).any())
    if np.ma.isMaskedArray(value):
        return bool(np.ma.getmaskarray(value).any())
    found = np.asarray(value)
    return found.dtype.kind == "f" and bool(np.isnan(found).any())


def groups(value, columns=0):
    """What the ``columns`` visible columns stand for, as the library's text; "" for bits.

    None: bits. A sequence of numbers of columns: each a one-hot variable, 1 for a bit. A text: "60*3+,4,1+" are 60 variables of three
    columns with the state "no column is set", a one-hot variable of four columns, and a bit.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        text = ",".join(part.strip() for part in value.split(","))
    else:
        try:
            sizes = [whole(size, "groups", 1) for size in value]
        except TypeError as error:
            raise InvalidError(f"`groups` is {value!r}: a text such as '60*3+,4,1+' or a sequence of numbers of columns is needed") from error
        text = ",".join("1+" if size == 1 else str(size) for size in sizes)
    bits = text == "bits" or all(part.rpartition("*")[2] == "1+" for part in text.split(","))
    return "" if bits else seen(text, columns)


def whole(value, name, least, most=2**63 - 1):
    """An integer between ``least`` and ``most``."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidError(f"`{name}` is {value!r}, a whole number is needed") from error
    if number != value or number < least:
        raise InvalidError(f"`{name}` is {value!r}, a whole number of at least {least} is needed")
    if number > most:
        raise InvalidError(f"`{name}` is {value!r}, at most {most} is possible")
    return number


def number(value, name, least=-np.inf, most=np.inf):
    """A finite float between ``least`` and ``most``."""
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidError(f"`{name}` is {value!r}, a number is needed") from error
    if not (np.isfinite(found) and least <= found <= most):
        limits = f" between {least:g} and {most:g}" if np.isfinite(most) else f" of at least {least:g}" if np.isfinite(least) else ""
        raise InvalidError(f"`{name}` is {value!r}, a finite number{limits} is needed")
    return found


def seeded(value, name="seed"):
    """A seed as numpy's users give it: an integer, None for a fresh one, or a Generator, RandomState, SeedSequence or BitGenerator."""
    if isinstance(value, np.random.RandomState):
        return int(value.randint(2**31))
    if value is None or isinstance(value, (np.random.Generator, np.random.SeedSequence, np.random.BitGenerator)):
        return int(np.random.default_rng(value).integers(2**63))
    return whole(value, name, 0)


def row_weights(value, count, name="sample_weight"):
    """Weights of rows as float64 [rows], at least 0, that add up to 1; None where there are none."""
    if value is None:
        return None
    found = array(value, name, 1)
    if len(found) != count:
        raise InvalidError(f"`{name}` has {len(found)} weights for {count} rows")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise InvalidError(f"`{name}` must be finite and at least 0, and not 0 everywhere")
    return found / found.max() / (found / found.max()).sum()
