"""What a tracker says at an evaluation: a record that does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ._estimate import LogLikelihood, Trust
from ._html import error_bar, table


@dataclass(frozen=True)
class Evaluation:
    """log Z of a tracked model, and what its error bar rests on."""

    #: Updates after the first.
    update: int
    #: log Z of :attr:`Tracker.model`, nats.
    value: float
    #: Its standard error, nats; to be believed where :attr:`trust` says so.
    std_error: float
    #: Whether the error bar is to be believed, and why not.
    trust: Trust
    #: Diagnostics by the names of the columns of metrics.csv (effective_chains, settling_correlation, movement_per_round_trip, ...);
    #: None where there is none.
    diagnostics: Mapping[str, float | None] = field(repr=False)
    #: Mean log-likelihoods of the rows that were given, by their names.
    log_likelihoods: Mapping[str, LogLikelihood] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value

    def record(self) -> dict[str, Any]:
        """One flat dict of numbers and a text, with names as in metrics.csv: for wandb, mlflow, a data frame."""
        likelihoods = {}
        for name, found in self.log_likelihoods.items():
            likelihoods[f"{name}_log_likelihood"] = found.value
            likelihoods[f"{name}_log_likelihood_std_error"] = found.std_error
        return {
            "update": self.update,
            "log_z": self.value,
            "log_z_std_error": self.std_error,
            "sound": int(self.trust.sound),
            "doubts": " ".join(self.trust.doubts),
            **likelihoods,
            **self.diagnostics,
        }

    def _repr_html_(self) -> str:
        rows = [("log Z", error_bar(self.value, self.std_error)), ("trust", self.trust)]
        rows += [(f"{name} rows", f"{x.value:.3f} ± {x.std_error:.3f} nats per row") for name, x in self.log_likelihoods.items()]
        return table(f"update {self.update}", rows)


def as_state(evaluation: Evaluation) -> dict[str, Any]:
    """The record in dicts, lists and numbers alone, as torch.load takes them."""
    state = asdict(evaluation)
    trusts = [state["trust"], *(one["trust"] for one in state["log_likelihoods"].values())]
    for trust in trusts:
        trust["doubts"] = list(trust["doubts"])
    return state


def from_state(state: Mapping[str, Any]) -> Evaluation:
    """The record that :func:`as_state` made."""
    trust = lambda found: Trust(tuple(found["doubts"]), found["text"])  # noqa: E731
    likelihoods = {
        name: LogLikelihood(**{**found, "trust": trust(found["trust"])}) for name, found in state["log_likelihoods"].items()
    }
    return Evaluation(**{**state, "trust": trust(state["trust"]), "log_likelihoods": likelihoods})
