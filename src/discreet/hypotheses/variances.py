"""Whether two groups have the same variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.reading import Reading, readings, tests_read_off
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.hypotheses.reading import AT_POWER, ScoreTest, check_alternative, deviation
from discreet.statistics.equation import Statement, interval
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Floats
from discreet.statistics.score import each_group
from discreet.statistics.variance import PopulationVariance, variance_score

_WANTED = "read off the variances of two groups, asked with by= and of='population'"


@statistic("equal_variances")
def equal_variances(table: Table, column: str, *, by: str, alternative: str = "two-sided") -> Question:
    """Whether two groups have the same variance, without normal theory: from the moments up to the fourth of both."""
    check_alternative(alternative)
    groups = table.two_groups(by, "equal_variances")
    number = table.number(column)
    cells = table.cells(*groups, table.factor("quartic", column))
    width = float(number.hi) - float(number.lo)
    own = PopulationVariance(width, False, False, cells.shape, axes(groups), table.most_rows)
    return Question(cells, EqualVariances(own, alternative))


@readings("equal_variances")
@dataclass(frozen=True)
class EqualVariances(ScoreTest):
    """The first group's variance less the second's, its interval, and the p-value of their being equal.

    L = L_1(v) / (N_1 - 1) - L_2(v) / (N_2 - 1) with each group's score of a variance; the test takes both at their pooled
    variance v, the interval each at its own. Where a group has fewer than two rows left p is 1.
    """

    variances: PopulationVariance
    alternative: str = "two-sided"
    effect: ClassVar[str] = "Difference of variances, {first} − {second}"

    def __post_init__(self) -> None:
        if self.variances.shape != self.shape or self.variances.pooled or self.variances.root:
            raise InvalidRequest(_WANTED)

    shape: ClassVar[tuple[int, ...]] = (2, 5)
    method: ClassVar[str] = (
        "asymptotic: score test of the difference of variances, noise included, Student's t for the noise of the spread"
    )

    @property
    def hypothesis(self) -> float | None:
        return 0.0

    def compute(self, cells: Floats) -> Floats:
        found = self._each(cells)
        return np.asarray(found[..., 0] - found[..., 1])

    def _each(self, cells: Floats) -> Floats:
        """Both groups' variances, each one that a population within the bounds can have."""
        return np.clip(self.variances.compute(cells), *self.variances.range)

    def _at(self, releases: Sequence[Release], at: Sequence[float] | None) -> Statement | None:
        """L and V with both variances given on the scale of [0, 1]; None: the pooled one for both."""
        cells, law = self.cells(releases), releases[0].noise
        found = [variance_score(own[None], noise, self.variances.rows) for own, noise in each_group(cells, law, 1)]
        sizes = cells.sum(-1) - 1
        pooled = variance_score(cells, law, self.variances.rows)
        if (sizes <= 1).any() or pooled is None:
            return None
        values = [float(np.clip(pooled[1], 0.0, 0.25))] * 2 if at is None else list(at)
        made = [
            (sign / size, pair[0].equation(own)(np.array([value])))
            for sign, size, pair, own, value in zip((1.0, -1.0), sizes, found, cells, values, strict=True)
            if pair is not None
        ]
        score = np.array([sum(c * float(s.score[0]) for c, s in made)])
        variance = np.array([sum(c * c * float(s.variance[0]) for c, s in made)])
        weights = np.concatenate([c * s.weights for c, s in made], -1)
        spreads = np.concatenate([c * c * s.variance_weights for c, s in made], -1)
        return Statement(score, variance, weights, spreads)

    def statement(self, releases: Sequence[Release]) -> Statement | None:
        return self._at(releases, None)

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        found = self.statement(releases)
        return None if found is None else float(self.variances.width**2 * AT_POWER * deviation(found, releases[0].noise))

    def population_interval(self, releases: Sequence[Release], level: float, strict: bool) -> tuple[Any, Any]:
        area = float(self.variances.width) ** 2
        own = self._each(self.cells(releases)) / area
        here = self._at(releases, own.tolist())
        if here is None:
            return -area / 4, area / 4
        found, middle, law = here, float(own[0] - own[1]), releases[0].noise

        def equation(delta: Floats) -> Statement:
            ones = np.ones_like(delta)
            assert found.variance_weights is not None
            score = float(found.score[0]) + middle - delta
            return Statement(score, found.variance * ones, np.repeat(found.weights, len(delta), 0),
                             np.repeat(found.variance_weights, len(delta), 0))  # fmt: skip

        low, high = interval(equation, law, middle, -0.25, 0.25, level, strict)
        return area * low, area * high


def _equal(reading: Reading, releases: Sequence[Release], *, alternative: str = "two-sided") -> Reading:
    if not isinstance(reading, PopulationVariance):
        raise InvalidRequest(_WANTED)
    return EqualVariances(reading, check_alternative(alternative))


tests_read_off["equal_variances"] = _equal
