"""What every hypothesis test shares: it is a reading of a release, so asking, paying and reporting are those of a
statistic.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.errors import InvalidRequest
from discreet.statistics.equation import Statement, noise_variance, p_values
from discreet.statistics.reading import CellReading, Floats
from discreet.statistics.score import Score

ALTERNATIVES = ("two-sided", "less", "greater")
LEAST_DRAWS = 999
AT_POWER = 2.8015852  # deviations that a two-sided test at .05 needs to reject with probability .8


def check_alternative(alternative: str) -> str:
    """Refuse a word that is no alternative hypothesis."""
    if alternative not in ALTERNATIVES:
        raise InvalidRequest(f"alternative must be one of {', '.join(ALTERNATIVES)}, got {alternative!r}")
    return alternative


class HypothesisTest(CellReading):
    """A reading with a statistic, a p-value and words for how it was found.

    ``value`` is the effect where the test has one (a difference, a share), with its intervals; else the statistic itself.
    ``effect`` says in words what it is; ``{first}`` and ``{second}`` in it are the groups compared.
    """

    effect: ClassVar[str] = "Effect"
    ratio: ClassVar[bool] = False  # an effect that is seen is a factor, and no distance from the hypothesis

    def compared(self, releases: Sequence[Release]) -> dict[str, str]:
        """The first and the second group; X and Y where what was released does not name them."""
        query: Any = releases[0].query
        factors = [f for several in ("groups", "factors") for f in getattr(query, several, ())]
        factors += [query.group] if hasattr(query, "group") else []
        names = next((f.labels for f in factors if f.kind == "category" and f.size == 2), ("X", "Y"))
        return dict(zip(("first", "second"), map(str, names), strict=True))

    def measured(self, releases: Sequence[Release]) -> str:
        return self.effect.format(**self.compared(releases))

    def draw(self, result: Result, axes: Any, level: float) -> Any:
        """The effect with its interval beside the effect under the hypothesis."""
        axes = super().draw(result, axes, level)
        axes.set_title(f"p {p_in_words(result.pvalue)}\n{axes.get_title()}")
        if self.hypothesis is not None:
            axes.axvline(self.hypothesis, color="grey", lw=1, ls=":", label="hypothesis")
            axes.legend()
        return axes

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

    def headline(self, releases: Sequence[Release]) -> str:
        """The statistic and the p-value."""
        return f"statistic {self.statistic(releases):.6g}, p-value {self.pvalue(releases):.4g}"

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """The effect that a test at .05 on such a release finds with probability .8; None where it has no one effect."""
        return None

    def cells(self, releases: Sequence[Release]) -> Floats:
        """The released cells in their own shape."""
        return np.asarray(releases[0].value, np.float64).reshape(self.shape)


def p_in_words(p: float) -> str:
    """Four digits, or that it is below them."""
    return "< 0.0001" if p < 1e-4 else f"= {p:.4f}"


@lru_cache
def off_centre(freedom: int) -> float:
    """The noncentrality at which a chi-squared test at .05 rejects with probability .8."""
    from scipy.special import chdtri, chndtrinc

    return float(chndtrinc(chdtri(freedom, 0.05), freedom, 0.2))


def seen_shift(score: Score, at: float, cells: Floats, noise: NoiseLaw) -> float | None:
    """How far from ``at`` theta must be for its test to reject with probability .8; None where nobody is left."""
    slope = score.slope(cells)
    return None if slope <= 0 else AT_POWER * deviation(score.equation(cells)(np.array([at])), noise) / slope


def z_score(statement: Statement, noise: NoiseLaw) -> float:
    """L in units of its deviation: what stands in for t."""
    spread = deviation(statement, noise)
    return float(statement.score[0]) / spread if spread > 0 else 0.0


def deviation(statement: Statement, noise: NoiseLaw) -> float:
    """The standard deviation of L, of sampling and noise together."""
    return math.sqrt(float(statement.variance[0]) + float(noise_variance(statement.weights, noise)[0]))


class ScoreTest(HypothesisTest):
    """A test of one value of theta by the statement about theta; where there is none p is 1.

    Subclasses are dataclasses with ``alternative``.
    """

    alternative: str

    @abstractmethod
    def statement(self, releases: Sequence[Release]) -> Statement | None:
        """L, V and the weights at the value tested."""

    def statistic(self, releases: Sequence[Release]) -> float:
        found = self.statement(releases)
        return 0.0 if found is None else z_score(found, releases[0].noise)

    def pvalue(self, releases: Sequence[Release]) -> float:
        law = releases[0].noise
        found = self.statement(releases)
        return 1.0 if found is None else float(p_values(found, law, alternative=self.alternative)[0])


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


def monte_carlo(observed: float, draw: Callable[[int, int], Floats], draws: int = LEAST_DRAWS) -> float:
    """(1 + how many of ``draws`` are at least as large) / (draws + 1).

    ``draw(size, seed)`` makes statistics under the hypothesis from a fixed public stream, so that reading twice reads
    the same.

    Proof: where the draws have the law of the statistic under the hypothesis, its rank among them is uniform, whatever ties
    do: P(p <= a) <= a (Barnard 1963; Phipson and Smyth 2010).
    """
    made = np.asarray(draw(draws, 2026), np.float64)
    return (1 + int(np.count_nonzero(made >= observed))) / (draws + 1)
