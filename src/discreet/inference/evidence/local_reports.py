"""Reports that were private before they left their people, as evidence: what each says about its person alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.core.x64 import jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, Records
from discreet.local.frequency import FrequencyOracle
from discreet.local.law import LocalMechanism
from discreet.local.reports import Reports
from discreet.local.scalar import ScalarLaw

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LocalLaw(Mechanism):
    """The law of local reports in the place of a release's law; the reports themselves travel with it."""

    law: LocalMechanism
    columns: Mapping[str, npt.NDArray[Any]]
    name = "local_reports"
    no_posterior = ""

    @property
    def categories(self) -> tuple[Any, ...]:
        """The labels that reports are about; refuses a law of numbers."""
        if not isinstance(self.law, FrequencyOracle):
            raise InvalidRequest(f"the reports of {self.law.name} are about numbers, not categories; use a model of numbers")
        return self.law.labels

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        raise InvalidRequest("reports are made by their people; use the law of discreet.local itself")

    def log_prob(self, released: Any, exact: Any) -> Any:
        return self.law.log_prob(Reports.fresh(self.law, self.columns, True), exact)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return self.law.cost()

    def deviation(self, size: int) -> Floats:
        """Not a number: reports are no totals."""
        return np.full(size, np.nan)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "law": self.law.to_dict()}


def as_release(reports: Reports) -> Release:
    """Reports as one release, at what each of their people spent. Refuses people who reported twice, and vectors."""
    law = reports.mechanism
    law.tally(reports)  # refuses people who reported twice
    if not isinstance(law, FrequencyOracle | ScalarLaw) or not len(reports):
        raise InvalidRequest(
            f"a posterior can be had from reports of categories or of one number each, got {len(reports)} of {law.name}"
        )
    made = LocalLaw(law, reports.columns)
    return Release(np.arange(len(reports)), made, cost=law.cost(), private=reports.private)


def lines(made: LocalLaw) -> tuple[Floats, npt.NDArray[np.int64]]:
    """How likely each kind of report is given each category, up to a factor of its own, and which kind everyone gave."""
    law = made.law
    assert isinstance(law, FrequencyOracle)
    sent = Reports.fresh(law, made.columns, True)
    logs = np.column_stack([np.broadcast_to(law.log_prob(sent, label), len(sent)) for label in law.labels])
    kinds, codes = np.unique(np.round(logs - logs.max(1, keepdims=True), 12), axis=0, return_inverse=True)
    return np.exp(kinds), codes.reshape(-1).astype(np.int64)


def log_chances(made: LocalLaw, records: Records) -> Array:
    """The log-chance of every report given its person's number: clipped to the law's bounds as on the device."""
    law = made.law
    assert isinstance(law, ScalarLaw)
    low, high = (float(end) for end in law.bounds)
    t = jnp.clip((records - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)
    columns: Any = {name: jnp.asarray(values) for name, values in made.columns.items()}
    return law.log_chance(columns, t, jnp)
