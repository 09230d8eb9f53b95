"""Run folders of the command `ztrack train`."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from ._convert import Model
from ._errors import FileError, IoError
from ._packages import need


class Run:
    """A run folder: ``metrics`` (pandas), ``summary``, the models ``best`` and ``last``, and :meth:`plot`."""

    def __init__(self, folder: str | PathLike[str]):
        self.folder = Path(folder)
        table = self.folder / "metrics.csv"
        if not self.folder.is_dir():
            raise IoError(f"{folder}: there is no such run folder")
        if not table.is_file():
            raise FileError(f"{folder}: no metrics.csv: this is no run folder of ztrack, or its run has just begun")
        #: One row per evaluation, with the columns of metrics.csv; likelihoods in nats per row, log Z in nats.
        self.metrics = need("pandas").read_csv(table, keep_default_na=True)

    @property
    def summary(self) -> dict[str, Any] | None:
        """How the run ended, None while it goes on."""
        path = self.folder / "summary.json"
        return json.loads(path.read_text()) if path.is_file() else None

    @property
    def config(self) -> str:
        """The resolved configuration, TOML."""
        return (self.folder / "config.toml").read_text()

    def model(self, name: str = "best") -> Model:
        """The model "best" or "last" (needs the package safetensors)."""
        path = self.folder / f"{name}.safetensors"
        if not path.is_file():
            raise IoError(f"{path}: is missing: the run has not ended, or no evaluation was sound")
        return Model.load(path)

    def plot(self, axes: Any = None) -> Any:
        """Log-likelihoods with bands of 2 errors, and log Z with its band, doubtful stretches grey; returns the figure."""
        figure = axes[0].figure if axes is not None else None
        if figure is None:
            figure, axes = need("matplotlib.pyplot").subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
        table = self.metrics
        update = table["update"]
        for part in ("train", "validation"):
            column = _column(table, f"{part}_log_likelihood")
            if column is not None and column.notna().any():
                error = _column(table, f"{part}_log_likelihood_std_error")
                _band(axes[0], update, column, error, part)
        axes[0].set_ylabel("log-likelihood, nats per row")
        _band(axes[1], update, table["log_z"], table["log_z_std_error"], "tracked, 2 errors")
        for name, label in (("exact_log_z", "exact"), ("ais_log_z", "AIS")):
            column = _column(table, name)
            if column is not None and column.notna().any():
                axes[1].plot(update, column, "k.", markersize=3, label=label)
        doubtful = table["sound"] == 0
        if doubtful.any():
            axes[1].fill_between(
                update, 0, 1, where=doubtful, transform=axes[1].get_xaxis_transform(), color="0.9", label="in doubt"
            )
        axes[1].set_ylabel("log Z, nats")
        axes[1].set_xlabel("update")
        for axis in axes:
            axis.legend()
        return figure

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {len(self.metrics)} evaluations)"


def _column(table, name):
    return table[name] if name in table else None


def _band(axis, x, value, error, label):
    (line,) = axis.plot(x, value, label=label)
    if error is not None:
        axis.fill_between(x, value - 2 * error, value + 2 * error, color=line.get_color(), alpha=0.25, linewidth=0)


def load_run(folder: str | PathLike[str]) -> Run:
    """The run in a folder of ``ztrack train``, as ``runs/dna``; needs pandas."""
    return Run(folder)
