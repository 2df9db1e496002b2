"""Tests of means: one sample, pairs, and two groups (Welch)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import AT_POWER, ScoreTest, check_alternative, deviation, seen_shift
from discreet.statistics.equation import Statement
from discreet.statistics.mean import mean_of_population
from discreet.statistics.population import Contrast, MeanReading
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import Floats
from discreet.statistics.score import Score


@statistic("ttest_1samp")
def ttest_1samp(table: Table, column: str, *, popmean: float, alternative: str = "two-sided") -> Question:
    """Whether the population's mean is ``popmean``: the statement of a population mean at that value."""
    check_alternative(alternative)
    number = table.number(column)
    lo, hi = float(number.lo), float(number.hi)
    if not lo <= popmean <= hi:
        raise InvalidRequest(f"popmean must lie within the declared bounds [{lo:g}, {hi:g}], got {popmean}")
    question = mean_of_population(table, column, lo, hi, None)
    return Question(question.query, OneMean(question.reading, float(popmean), alternative))


@readings("ttest_1samp")
@dataclass(frozen=True)
class OneMean(ScoreTest):
    """The mean, and the p-value of one value of it. ``mean`` is the reading of a population mean."""

    mean: MeanReading
    popmean: float
    alternative: str = "two-sided"
    effect: ClassVar[str] = "Mean"

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mean.shape

    method: ClassVar[str] = "asymptotic: score test of the mean, noise included, Student's t for the noise of the variance"

    @property
    def hypothesis(self) -> float | None:
        return self.popmean

    def compute(self, cells: Floats) -> Floats:
        return self.mean.compute(cells)

    @property
    def _share(self) -> float:
        return (self.popmean - self.mean.lo) / (self.mean.hi - self.mean.lo)

    def statement(self, releases: Sequence[Release]) -> Statement:
        return self.mean.score.equation(self.cells(releases))(np.array([self._share]))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        found = seen_shift(self.mean.score, self._share, self.cells(releases), releases[0].noise)
        return None if found is None else float(self.mean.hi - self.mean.lo) * found

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self.mean.population_interval(releases, level, strict)


@statistic("ttest_ind")
def ttest_ind(table: Table, column: str, *, by: str, alternative: str = "two-sided") -> Question:
    """Welch's test: whether two groups have the same mean. ``by`` is a category of exactly two labels."""
    check_alternative(alternative)
    table.two_groups(by, "ttest_ind (for more, f_oneway)")
    number = table.number(column)
    question = mean_of_population(table, column, float(number.lo), float(number.hi), by)
    return Question(question.query, Welch(question.reading, alternative))


@readings("ttest_ind")
@dataclass(frozen=True)
class Welch(ScoreTest):
    """One group's mean less another's (``between``: their places), and the p-value of their being equal.

    The p-value takes both groups at their common mean m = sum of T_g / sum of N_g, which is what the hypothesis says;
    the interval of the difference takes each at its own. So at a difference of 0 the two disagree in a few tables of a
    hundred. Where a group has no rows left p is 1.
    """

    means: MeanReading
    alternative: str = "two-sided"
    between: tuple[int, int] = (0, 1)
    effect: ClassVar[str] = "Difference of means, {first} − {second}"

    def __post_init__(self) -> None:
        groups = self.means.shape[0]
        if self.between[0] == self.between[1] or not all(0 <= place < groups for place in self.between):
            raise InvalidRequest(f"two of {groups} groups are compared, got the places {self.between}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.means.shape

    @property
    def _coefficients(self) -> Floats:
        made = np.zeros(self.shape[0])
        made[list(self.between)] = 1.0, -1.0
        return made

    method: ClassVar[str] = "asymptotic: Welch's score test, noise included, Student's t for the noise of the variances"

    @property
    def _difference(self) -> Contrast:
        return Contrast(self.means, tuple(self._coefficients.tolist()))

    @property
    def hypothesis(self) -> float | None:
        return 0.0

    def compared(self, releases: Sequence[Release]) -> dict[str, str]:
        labels = [str(self.means.labels[0][1][place]) for place in self.between]
        return dict(zip(("first", "second"), labels, strict=True))

    def compute(self, cells: Floats) -> Floats:
        return self._difference.combined(self.means.compute(cells))

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        """L, V and weights at the common mean; None where a group has no rows left."""
        return common_mean(self.means, self.cells(releases), self._coefficients)

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        found = self.statement(releases)
        width = self.means.hi - self.means.lo
        return None if found is None else float(width * AT_POWER * deviation(found, releases[0].noise))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        return self._difference.population_interval(releases, level, strict)


def common_mean(means: MeanReading, cells: Floats, coefficients: Floats) -> Statement | None:
    """The statement that a contrast of groups' means is 0 because all have one mean, on the scale of [0, 1]."""
    groups = cells.reshape(-1, cells.shape[-1])
    sizes, named = groups.sum(-1), coefficients != 0
    if (sizes[named] <= 0).any():
        return None
    middle = float(np.clip(means.share(groups[named].sum(0)), 0.0, 1.0))
    at = [means.score.equation(own)(np.array([middle])) for own in groups]
    parts = np.divide(coefficients, sizes, out=np.zeros(len(sizes)), where=named)
    weights = np.concatenate([c * s.weights for c, s in zip(parts, at, strict=True)], -1)
    spreads = np.concatenate([c * c * s.variance_weights for c, s in zip(parts, at, strict=True)], -1)
    score = np.array([sum(c * float(s.score[0]) for c, s in zip(parts, at, strict=True))])
    variance = np.array([sum(c * c * float(s.variance[0]) for c, s in zip(parts, at, strict=True))])
    return Statement(score, variance, weights, spreads)


@statistic("ttest_rel")
def ttest_rel(table: Table, x: str, y: str, *, alternative: str = "two-sided") -> Question:
    """Whether two columns of the same people have the same mean, from the nine cells of their squares."""
    check_alternative(alternative)
    a, b = table.number(x), table.number(y)
    query = table.cells(table.factor("square", x), table.factor("square", y))
    bounds = (float(a.lo), float(a.hi), float(b.lo), float(b.hi))
    return Question(query, Paired(bounds, table.most_rows, alternative))


@readings("ttest_rel")
@dataclass(frozen=True)
class Paired(ScoreTest):
    """The mean of x - y, and the p-value of its being 0: psi = x - y - delta, a polynomial of both columns."""

    bounds: tuple[float, float, float, float]
    rows: int = 1
    alternative: str = "two-sided"
    shape: ClassVar[tuple[int, ...]] = (3, 3)
    method: ClassVar[str] = (
        "asymptotic: score test of the mean difference, noise included, Student's t for the noise of the variance"
    )
    effect: ClassVar[str] = "Mean difference"

    @property
    def _range(self) -> tuple[float, float]:
        return self.bounds[0] - self.bounds[3], self.bounds[1] - self.bounds[2]

    @property
    def _score(self) -> Score:
        lo, hi, low, high = self.bounds
        return Score.of(np.array([[lo - low, low - high], [hi - lo, 0.0]]), np.array([[-1.0]]), (2, 2), self.rows)

    @property
    def hypothesis(self) -> float | None:
        return 0.0

    def compute(self, cells: Floats) -> Floats:
        total, score = cells.sum((-1, -2)), self._score
        value = (cells.reshape(*cells.shape[:-2], 9) @ score.a) / np.where(total > 0, total, 1.0)
        return np.asarray(np.where(total > 0, np.clip(value, *self._range), sum(self._range) / 2))

    def statement(self, releases: Sequence[Release]) -> Statement:
        return self._score.equation(self.cells(releases))(np.zeros(1))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        return seen_shift(self._score, 0.0, self.cells(releases), releases[0].noise)

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[float, float]:
        cells, law = self.cells(releases), releases[0].noise
        return self._score.interval(cells, law, float(self.compute(cells)), self._range, level, strict)
