"""Means of vectors with one public range for every coordinate: what the box laws share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.local.estimate import Estimate, deviation
from discreet.local.law import LocalMechanism, Tally
from discreet.local.reports import Columns, Reports
from discreet.local.scalar import as_floats, read_bounds, to_unit
from discreet.mechanisms.sampling.uniform import Floats

MOST_DIMENSIONS = 1 << 14


def read_dimension(value: Any, least: int = 1) -> int:
    """A number of coordinates."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= MOST_DIMENSIONS:
        raise InvalidRequest(f"dimension must be a whole number between {least} and {MOST_DIMENSIONS}, got {value!r}")
    return int(value)


def read_rows(values: Any, dimension: int) -> Floats:
    """One row for each person."""
    rows = as_floats(values, 2)
    if rows.shape[1] != dimension:
        raise InvalidRequest(f"every value must have {dimension} coordinates, got {rows.shape[1]}")
    return rows


@dataclass(frozen=True)
class BoxLaw(LocalMechanism):
    """A law for ``dimension`` numbers, each in ``bounds``; outside is clipped, a missing one counts as the middle."""

    dimension: int
    bounds: tuple[Fraction, Fraction] = (Fraction(-1), Fraction(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dimension", read_dimension(self.dimension))
        object.__setattr__(self, "bounds", read_bounds(self.bounds))

    @property
    def width(self) -> int:
        return self.dimension

    @property
    def half(self) -> float:
        """r, half the width of the range: what one unit of t is worth."""
        return float((self.bounds[1] - self.bounds[0]) / 2)

    @property
    @abstractmethod
    def worst_variance(self) -> float:
        """The largest variance of one coordinate of the unbiased z, in units of t."""

    @abstractmethod
    def moments(self, tally: Tally) -> tuple[Floats, Floats]:
        """The averages of z and of z^2, coordinate by coordinate."""

    @abstractmethod
    def _log_prob(self, columns: Columns, t: Floats) -> Floats:
        """The log-probability of each report given each row."""

    def encode(self, values: Any) -> Floats:
        return to_unit(read_rows(values, self.dimension), self.bounds)

    def log_prob(self, reports: Reports, values: Any) -> Floats:
        self.require(reports.mechanism)
        rows = np.asarray(values, np.float64)
        return self._log_prob(reports.columns, self.encode(rows if rows.ndim == 2 else rows[None]))

    def conclude(self, tally: Tally) -> Estimate:
        """Noise is E[z^2] - t^2 on average, and the average of t^2 is at least that of z squared."""
        mean, square = self.moments(tally)
        middle = float((self.bounds[0] + self.bounds[1]) / 2)
        noise = self.half * deviation(square - np.minimum(mean * mean, 1.0), tally.count)
        both = self.half * deviation(square - mean * mean, tally.count)
        return Estimate(
            middle + self.half * mean,
            noise,
            np.maximum(noise, both),
            tally.count,
            float(self.epsilon),
            private=tally.private,
        )
