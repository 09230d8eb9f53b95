"""Curves with bands of two errors."""

from __future__ import annotations

from typing import Any

from ._packages import need


def two_axes(axes: Any) -> tuple[Any, Any]:
    """Figure and two axes, one above the other: those that are given, or new ones."""
    if axes is not None:
        return axes[0].figure, axes
    return need("matplotlib.pyplot").subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")


def band(axis: Any, x: Any, value: Any, error: Any, label: str) -> None:
    """A curve, and a band of two errors where there are any."""
    (line,) = axis.plot(x, value, label=label)
    if error is not None:
        axis.fill_between(x, value - 2 * error, value + 2 * error, color=line.get_color(), alpha=0.25, linewidth=0)


def doubtful(axis: Any, x: Any, sound: Any) -> None:
    """Grey where values are in doubt."""
    if (sound == 0).any():
        axis.fill_between(x, 0, 1, where=sound == 0, transform=axis.get_xaxis_transform(), color="0.9", label="in doubt")
