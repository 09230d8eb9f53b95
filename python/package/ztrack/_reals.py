"""Real columns: numbers in place of zeros and ones, as ``groups`` such as "3*real,1+" say."""

from __future__ import annotations

import numpy as np

from ._errors import InvalidError

#: The name of a real column in ``groups``.
REAL = "real"


def has_reals(groups):
    """Whether columns are real numbers."""
    return isinstance(groups, str) and REAL in groups


def seen(groups, visible):
    """``groups`` with a mean and a scale for every real column, 0 and 1 where none are given; "real" alone is all ``visible`` / 2 of them."""
    if not has_reals(groups):
        return groups
    if groups.strip() == REAL:
        groups = f"{visible // 2}*{REAL}"
    parts = [part.strip() for part in groups.split(",")]
    return ",".join(f"{part}(0;1)" if part.endswith(REAL) else part for part in parts)


def variables(groups, columns):
    """Of every variable the number of its visible columns, whether "no column is set" is a state, and mean and scale of a real one; of a text
    such as "60*3+,4,1+,real(0;1)", "" for bits."""
    found = []
    bits = groups in ("", "bits", "plus-minus")
    for part in (f"{columns}*1+" if bits else groups).split(","):
        count, star, size = part.strip().rpartition("*")
        try:
            if size.startswith(REAL):
                mean, scale = (float(number) for number in (size[len(REAL) :] or "(0;1)").strip("()").split(";"))
                one = (2, True, (mean, scale))
            else:
                one = (int(size.rstrip("+")), size.endswith("+"), None)
            found += [one] * (int(count) if star else 1)
        except ValueError as error:
            raise InvalidError(f"`groups`: `{part}` is no variable, as in 60*3+,4,1+,10*real") from error
    return found


def width(groups, visible):
    """Columns of arrays of a model with so many visible columns: a real variable has one."""
    return visible - sum(real is not None for _, _, real in variables(groups, visible)) if has_reals(groups) else visible


def statistics(cells, groups):
    """What the weights multiply, float64 [rows, visible]: zeros and ones, and of real columns v and v^2 with v standardised; else as they are."""
    if not has_reals(groups):
        return cells
    parts, first = [], 0
    for columns, _, real in variables(groups, None):
        if real is None:
            parts.append(cells[:, first : first + columns])
        else:
            v = ((cells[:, first] - real[0]) / real[1])[:, None]
            parts += [v, v**2]
        first += columns if real is None else 1
    return np.concatenate(parts, axis=1)


def received(found, count, groups):
    """Bytes of the library as an array of ``count`` rows: float64 where columns are real, else uint8."""
    return np.frombuffer(found, dtype=np.float64 if has_reals(groups) else np.uint8).reshape(count, -1).copy()
