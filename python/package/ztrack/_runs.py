"""Run folders of the command `ztrack train`."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from ._convert import Model
from ._errors import FileError, IoError
from ._packages import need
from ._plot import band, doubtful, two_axes


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
        figure, axes = two_axes(axes)
        table = self.metrics
        update = table["update"]
        for part in ("train", "validation"):
            column = _column(table, f"{part}_log_likelihood")
            if column is not None and column.notna().any():
                error = _column(table, f"{part}_log_likelihood_std_error")
                band(axes[0], update, column, error, part)
        axes[0].set_ylabel("log-likelihood, nats per row")
        band(axes[1], update, table["log_z"], table["log_z_std_error"], "tracked, 2 errors")
        for name, label in (("exact_log_z", "exact"), ("ais_log_z", "AIS")):
            column = _column(table, name)
            if column is not None and column.notna().any():
                axes[1].plot(update, column, "k.", markersize=3, label=label)
        doubtful(axes[1], update, table["sound"])
        axes[1].set_ylabel("log Z, nats")
        axes[1].set_xlabel("update")
        for axis in axes:
            axis.legend()
        return figure

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {len(self.metrics)} evaluations)"


def _column(table, name):
    return table[name] if name in table else None


def load_run(folder: str | PathLike[str]) -> Run:
    """The run in a folder of ``ztrack train``, as ``runs/dna``; needs pandas."""
    return Run(folder)
