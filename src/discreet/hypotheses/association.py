"""Whether two numbers go together: the correlation, and the slope of a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import AT_POWER, ScoreTest, check_alternative, deviation
from discreet.statistics.bernstein import cell_weights
from discreet.statistics.covariance import PopulationCorrelation
from discreet.statistics.equation import Statement, interval
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats
from discreet.statistics.score import Score


@statistic("pearsonr")
def pearsonr(table: Table, x: str, y: str, *, alternative: str = "two-sided") -> Question:
    """Whether the correlation of two columns is 0 in the population, and its interval, from the sums of degree 4 of both."""
    check_alternative(alternative)
    query = table.cells(table.factor("quartic", x), table.factor("quartic", y))
    return Question(query, Pearson(PopulationCorrelation(query.shape, (), table.most_rows), alternative))


@readings("pearsonr")
@dataclass(frozen=True)
class Pearson(ScoreTest):
    """Pearson's correlation with its interval, and the p-value of its being 0: psi = z z' - rho (z**2 + z'**2) / 2.

    The variance of psi is that of the people, not that of normal theory: unequal spreads do not raise its level.
    """

    correlation: PopulationCorrelation
    alternative: str = "two-sided"
    effect: ClassVar[str] = "Correlation"

    def __post_init__(self) -> None:
        if self.correlation.shape != self.shape:
            raise InvalidRequest(_WANTED)

    shape: ClassVar[tuple[int, ...]] = (5, 5)
    method: ClassVar[str] = (
        "asymptotic: score test of the correlation, noise included, Student's t for the noise of the variance"
    )

    @property
    def hypothesis(self) -> float | None:
        return 0.0

    def compute(self, cells: Floats) -> Floats:
        return self.correlation.compute(cells)

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        cells = self.cells(releases)
        score = self.correlation.score(cells)
        return None if score is None else score.equation(cells)(np.zeros(1))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        found = self.statement(releases)
        # At rho = 0 L moves by N with rho: z**2 has mean 1.
        return None if found is None else AT_POWER * deviation(found, releases[0].noise) / float(self.cells(releases).sum())

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.correlation.population_interval(releases, level, strict)


@statistic("linregress")
def linregress(
    table: Table, x: str, y: str, *, within: Sequence[float] | None = None, alternative: str = "two-sided"
) -> Question:
    """Whether y has a slope on x in the population, and the interval of the slope, from one release of both columns' sums.

    ``within`` are two public slopes that the interval stays between, by default a hundred times that from corner to corner
    of the bounds, either way.
    """
    check_alternative(alternative)
    a, b = table.number(x), table.number(y)
    query = table.cells(table.factor("quartic", x), table.factor("square", y))
    unit = (float(b.hi) - float(b.lo)) / (float(a.hi) - float(a.lo))
    low, high = (-_STEEP * unit, _STEEP * unit) if within is None else (float(end) for end in within)
    return Question(query, Slope(unit, (low, high), table.most_rows, alternative))


@readings("linregress")
@dataclass(frozen=True)
class Slope(ScoreTest):
    """The slope of y on x, its interval, and the p-value of its being 0. ``unit`` is the slope from corner to corner.

    psi = (s - m)(t - m') - beta (s - m)**2 with the columns' own means; what the noise of the means takes from L is
    given back. At beta = 0 this is the test of the covariance, whatever the residuals' variance depends on. The interval is
    looked for among all slopes, tan(phi) for phi from -pi/2 to pi/2, and then cut to ``within``: an end that lies there
    says that steeper lines are not ruled out. Where x has no variance left nothing can be said: the whole range.
    """

    unit: float
    within: tuple[float, float]
    rows: int = 1
    alternative: str = "two-sided"
    effect: ClassVar[str] = "Slope"

    def __post_init__(self) -> None:
        if len(self.within) != 2 or not -math.inf < self.within[0] < self.within[1] < math.inf:
            raise InvalidRequest(f"within must be two finite public slopes that increase, got {self.within}")

    shape: ClassVar[tuple[int, ...]] = (5, 3)
    method: ClassVar[str] = (
        "asymptotic: score test of the covariance, noise included, Student's t for the noise of the variance"
    )

    def _moments(self, cells: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Means of s and t, the covariance and the variance of s; leading axes are many releases."""
        first, second = (cell_weights(np.eye(j + 1)[j], (4,)) for j in (1, 2))
        other = cell_weights(np.array([0.0, 1.0]), (2,))
        total = np.maximum(cells.sum((-1, -2)), 2.0)
        s, t = (np.clip(v, 0.0, 1.0) for v in (cells.sum(-1) @ first / total, cells.sum(-2) @ other / total))
        cross = (cells @ other) @ first / total - s * t
        return s, t, cross, cells.sum(-1) @ second / total - s * s

    @property
    def hypothesis(self) -> float | None:
        return 0.0

    def compute(self, cells: Floats) -> Floats:
        _, _, cross, spread = self._moments(cells)
        usable = spread > 1e-12
        slope = np.divide(cross, spread, out=np.zeros(np.shape(cross)), where=usable)
        return np.asarray(np.clip(self.unit * slope, *self.within))

    def _score(self, cells: Floats, law: NoiseLaw) -> Score | None:
        s, t, _, spread = (float(v) for v in self._moments(cells))
        total = float(cells.sum())
        if total <= 0 or spread <= 1e-12:
            return None
        square = np.array([[s * s], [-2 * s], [1.0]])
        made = Score.of(np.outer([-s, 1.0], [-t, 1.0]), -square, (4, 2), self.rows)
        one = (cell_weights(np.array([0.0, 1.0]), (4,)) - s)[:, None]
        other = (cell_weights(np.array([0.0, 1.0]), (2,)) - t)[None, :]
        noise = np.broadcast_to(np.asarray(law.expected_error, np.float64) ** 2, (cells.size,)).reshape(cells.shape)
        back = float((one * other * noise).sum()) / total, -float((one * one * noise).sum()) / total
        return Score(made.a, made.b, made.squares, back, rows=self.rows)

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        cells = self.cells(releases)
        score = self._score(cells, releases[0].noise)
        return None if score is None else score.equation(cells)(np.zeros(1))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        found, cells = self.statement(releases), self.cells(releases)
        if found is None:
            return None
        spread = float(self._moments(cells)[3]) * float(cells.sum())
        return self.unit * AT_POWER * deviation(found, releases[0].noise) / spread

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        cells, law = self.cells(releases), releases[0].noise
        score = self._score(cells, law)
        if score is None:
            return self.within
        slopes = score.equation(cells)

        def equation(angle: Floats) -> Statement:
            return slopes(np.tan(np.clip(angle, -_STEEPEST, _STEEPEST)))

        middle = math.atan(float(self.compute(cells)) / self.unit)
        ends = interval(equation, law, middle, -_STEEPEST, _STEEPEST, level, strict)
        low, high = (float(np.clip(self.unit * math.tan(end), *self.within)) for end in ends)
        return low, high


_WANTED = "pearsonr is of two columns, read off their correlation asked with of='population'"
_STEEP = 100.0
_STEEPEST = math.pi / 2 - 1e-7  # as good as vertical


def _pearson(reading: Reading, releases: Sequence[Release], *, alternative: str = "two-sided") -> Reading:
    if not isinstance(reading, PopulationCorrelation):
        raise InvalidRequest(_WANTED)
    return Pearson(reading, check_alternative(alternative))


tests_read_off["pearsonr"] = _pearson
