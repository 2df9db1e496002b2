"""Means of numbers in a public range: what the four laws share.

Every law maps the range to [-1, 1], reports a whole number, and the server turns it into an unbiased z with mean t.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest
from discreet.local.estimate import Estimate, deviation
from discreet.local.law import LocalMechanism, Tally
from discreet.local.reports import Columns, Reports
from discreet.mechanisms.sampling.uniform import Floats

Bounds = tuple[Number, Number]


def read_bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    """A public range as two rationals, the lower one first."""
    try:
        lo, hi = bounds
    except (TypeError, ValueError):
        raise InvalidRequest(f"bounds must be a pair (low, high), got {bounds!r}") from None
    low, high = numbers.rational(lo, "bounds"), numbers.rational(hi, "bounds")
    if low >= high:
        raise InvalidRequest(f"bounds must be (low, high) with low < high, got ({lo}, {hi})")
    return low, high


def to_unit(values: Floats, bounds: tuple[Fraction, Fraction]) -> Floats:
    """The range mapped to [-1, 1]; what lies outside is clipped, what is no number becomes the middle."""
    low, high = bounds
    middle, half = float((low + high) / 2), float((high - low) / 2)
    with np.errstate(over="ignore"):
        scaled = (values - middle) / half
    np.clip(scaled, -1.0, 1.0, out=scaled)
    scaled[np.isnan(scaled)] = 0.0
    return scaled


def _doubles(values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except OverflowError:
        if isinstance(values, list | tuple | np.ndarray):
            return np.asarray([_doubles(v) for v in values], np.float64)
        return np.asarray(math.inf if values > 0 else -math.inf)


def as_floats(values: Any, dimensions: int) -> Floats:
    """Doubles with that many axes; None counts as missing, a number beyond all doubles as infinite."""
    plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
    try:
        with np.errstate(over="ignore"):
            found = _doubles(plain)
    except (TypeError, ValueError):
        raise InvalidRequest("values must be numbers; turn categories into codes, or use a frequency oracle") from None
    if found.ndim != dimensions:
        raise InvalidRequest(f"values must have {dimensions} axes, one row for each person, got shape {found.shape}")
    return found


@dataclass(frozen=True)
class ScalarLaw(LocalMechanism):
    """A law for one number in ``bounds``. Values outside are clipped; a missing one counts as the middle of the range."""

    bounds: tuple[Fraction, Fraction] = (Fraction(-1), Fraction(1))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bounds", read_bounds(self.bounds))

    @property
    def half(self) -> float:
        """Half the width of the range: what one unit of t is worth."""
        return float((self.bounds[1] - self.bounds[0]) / 2)

    @abstractmethod
    def variance(self, t: Any) -> Any:
        """The variance of the unbiased z for a value t in [-1, 1], in units of t."""

    @property
    @abstractmethod
    def worst_variance(self) -> float:
        """The largest ``variance`` over t."""

    @abstractmethod
    def moments(self, tally: Tally) -> tuple[float, float]:
        """The averages of z and of z^2."""

    def noise(self, mean: float, square: float) -> float:
        """The average variance of the noise, given the averages of z and z^2.

        The average of z^2 is that of the noise variance and of t^2, and the latter is at least mean^2. A law that can
        tell the two apart does better.
        """
        return square - min(mean * mean, 1.0)

    @abstractmethod
    def log_chance(self, columns: Columns, t: Any, xp: Any = np) -> Any:
        """The log-probability of each report given t in [-1, 1]; ``xp`` is the library of the arrays, NumPy or JAX."""

    def encode(self, values: Any) -> Floats:
        return to_unit(as_floats(values, 1), self.bounds)

    def log_prob(self, reports: Reports, values: Any) -> Floats:
        self.require(reports.mechanism)
        value: Floats = self.log_chance(reports.columns, self.encode(np.atleast_1d(np.asarray(values))))
        return value

    def conclude(self, tally: Tally) -> Estimate:
        mean, square = self.moments(tally)
        n, middle = tally.count, float((self.bounds[0] + self.bounds[1]) / 2)
        noise = self.half * deviation(self.noise(mean, square), n)
        both = self.half * deviation(square - mean * mean, n)
        return Estimate(middle + self.half * mean, noise, max(noise, both), n, float(self.epsilon), private=tally.private)


def quadratic_noise(a: float, b: float, mean: float, square: float) -> float:
    """The average of a + b t^2 where the average of z^2 is a + (1 + b) t^2: solved for t^2, which lies in [mean^2, 1]."""
    least = min(mean * mean, 1.0)
    t2 = least if b <= -1 + 1e-9 else min(max((square - a) / (1 + b), least), 1.0)
    return a + b * t2
