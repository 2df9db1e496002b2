"""What every hypothesis test shares: it is a reading of a release, so asking, paying and reporting are those of a
statistic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.statistics.reading import CellReading, Floats

ALTERNATIVES = ("two-sided", "less", "greater")
_LEAST_DRAWS = 999


def check_alternative(alternative: str) -> str:
    """Refuse a word that is no alternative hypothesis."""
    if alternative not in ALTERNATIVES:
        raise InvalidRequest(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r}")
    return alternative


class HypothesisTest(CellReading):
    """A reading with a statistic, a p-value and words for how it was found.

    ``value`` is the effect where the test has one (a difference, a share), with its intervals; else the statistic itself.
    """

    @property
    def about_population(self) -> bool:
        """A p-value is a statement about the population."""
        return True

    @abstractmethod
    def statistic(self, releases: Sequence[Release]) -> float:
        """The test statistic."""

    @abstractmethod
    def pvalue(self, releases: Sequence[Release]) -> float:
        """The p-value."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How the p-value was found, in words."""

    def cells(self, releases: Sequence[Release]) -> Floats:
        """The released cells in their own shape."""
        return np.asarray(releases[0].value, np.float64).reshape(self.shape)


class OmnibusTest(HypothesisTest):
    """A test whose statistic has no effect with an interval in the population: what it is worth is its p-value."""

    @property
    def about_population(self) -> bool:
        """It has no interval in the population."""
        return False

    def statistic(self, releases: Sequence[Release]) -> float:
        return float(self.compute(self.cells(releases)))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        raise InvalidRequest("this test has no single effect to give an interval for; see the intervals of what it compares")


def monte_carlo(observed: float, draw: Callable[[int, int], Floats], draws: int = _LEAST_DRAWS) -> float:
    """(1 + how many of ``draws`` are at least as large) / (draws + 1).

    ``draw(size, seed)`` makes statistics under the hypothesis from a fixed public stream, so that reading twice reads
    the same.

    Proof: where the draws have the law of the statistic under the hypothesis, its rank among them is uniform, whatever ties
    do: P(p <= a) <= a (Barnard 1963; Phipson and Smyth 2010).
    """
    made = np.asarray(draw(draws, 2026), np.float64)
    return (1 + int(np.count_nonzero(made >= observed))) / (draws + 1)
