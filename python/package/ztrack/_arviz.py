"""Samples and the history of log Z as xarray, in the groups of ArviZ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import seeded, whole
from ._convert import Model
from ._errors import InvalidError
from ._packages import need
from ._tracker import Tracker


def to_arviz(source: Model | Tracker, draws: int = 500, chains: int = 4, **options: Any) -> Any:
    """Samples of a model as an xarray.DataTree with the groups of ArviZ, for R-hat, rank plots and tables: ``arviz.summary(tree)``.

    Chain i consists of ``draws`` samples by :func:`ztrack.sample` with a seed of its own, so that R-hat compares runs that know
    nothing of each other: modes that only some of them find show. Group ``posterior``: ``visible`` [chain, draw, unit], ``activity``
    [chain, draw] (mean over the columns: of bits the share of units that are 1), ``free_energy`` [chain, draw] (-log f(v), nats). Of a tracker, samples are of
    :attr:`Tracker.model`, and the group ``log_z_history`` has log Z and diagnostics of all evaluations over ``update``.

    ``options``: as of :func:`ztrack.sample` (``data``, ``seed``, ``spacing``, ...). Needs the package xarray.
    """
    xarray = need("xarray")
    tracker = source if isinstance(source, Tracker) else None
    model = source.model if isinstance(source, Tracker) else source
    if model is None:
        raise InvalidError("the tracker has no parameters yet: call `update` first")
    draws, chains, seed = whole(draws, "draws", 2), whole(chains, "chains", 2), seeded(options.pop("seed", 0))
    visible = np.stack([model.sample(draws, **{**options, "seed": seed + chain}) for chain in range(chains)])
    log_f = model.log_f(visible.reshape(chains * draws, -1)).reshape(chains, draws)
    posterior = xarray.Dataset(
        {
            "visible": (("chain", "draw", "unit"), visible),
            "activity": (("chain", "draw"), visible.mean(axis=2)),
            "free_energy": (("chain", "draw"), -log_f),
        },
        {"chain": np.arange(chains), "draw": np.arange(draws), "unit": np.arange(visible.shape[2])},
        {"inference_library": "ztrack"},
    )
    groups = {"posterior": posterior}
    if tracker is not None and tracker.evaluations:
        records = [found.record() for found in tracker.evaluations]
        columns = dict.fromkeys(name for record in records for name in record)
        values = lambda name: [np.nan if record.get(name) is None else record[name] for record in records]  # noqa: E731
        groups["log_z_history"] = xarray.Dataset(
            {name: ("update", values(name)) for name in columns if name != "update"}, {"update": values("update")}
        )
    return xarray.DataTree.from_dict(groups)
