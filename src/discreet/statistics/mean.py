"""The average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.core.reading import Axes, Reading, readings
from discreet.errors import InvalidRequest
from discreet.statistics.person_cells import PersonCells
from discreet.statistics.population import MeanQuestion, MeanReading, contrast_of_groups
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled
from discreet.statistics.score import Score, mean_score, person_mean_score
from discreet.statistics.two_moments import FOR_GAUSSIAN, FOR_LAPLACE, TwoMoments


@statistic("mean")
def mean(table: Table, column: str, *, by: str | Sequence[str] | None = None, of: str = "table") -> Question:
    """The mean of the clipped values.

    Where the number of rows is public: lo + R S / n with S the noisy sum of t = (x - lo)/R, which moves by R/n. Where it
    is not, the sums of 1 - t and of t are released together and their ratio is read: noise scaled by a private n would
    not be private at any epsilon. ``of="population"`` releases the second moment with them, at the same price.
    """
    number = table.number(column)
    lo, hi = float(number.lo), float(number.hi)
    if for_population(of):
        return mean_of_population(table, column, lo, hi, by)
    if table.rows is not None and by is None:
        reading = Scaled(lo, (hi - lo) / table.rows, lo, hi)
        return Question(table.cells(table.factor("level", column)), reading)
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("linear", column))
    return Question(query, Ratio(lo, hi, query.shape, axes(groups)))


def mean_of_population(table: Table, column: str, lo: float, hi: float, by: str | Sequence[str] | None) -> MeanQuestion:
    """The mean with what it takes to speak of the population; ``lo`` and ``hi`` are what t = 0 and t = 1 stand for."""
    groups, rows = table.groups(by), table.most_rows
    if table.rows is not None and not groups:
        weight = FOR_GAUSSIAN if table.gaussian else FOR_LAPLACE
        query = TwoMoments(table.factor("level", column), table.rows, weight)
        return MeanQuestion(query, PublicMean(lo, hi, table.rows, weight))
    if rows > 1 and not groups:
        return MeanQuestion(PersonCells(table.factor("level", column), rows), PersonMean(lo, hi, rows))
    cells = table.cells(*groups, table.factor("square", column))
    return MeanQuestion(cells, PopulationMean(lo, hi, cells.shape, axes(groups), rows))


def _share(top: Floats, total: Floats) -> Floats:
    """top / total, one half where nothing is left to divide by."""
    return np.asarray(np.divide(top, total, out=np.full(np.shape(total), 0.5), where=total > 0))


@readings("mean")
@dataclass(frozen=True)
class Ratio(CellReading):
    """lo + R S1 / (S0 + S1), within the bounds; the middle of them where nothing is left to divide by."""

    lo: float
    hi: float
    shape: tuple[int, ...] = (2,)
    labels: Axes = ()

    def compute(self, cells: Floats) -> Floats:
        share = _share(cells[..., 1], cells[..., 0] + cells[..., 1])
        return np.asarray(self.lo + (self.hi - self.lo) * np.clip(share, 0.0, 1.0))


@readings("population_mean")
@dataclass(frozen=True)
class PopulationMean(MeanReading):
    """The mean from the sums of (1-t)**2, 2t(1-t) and t**2; ``rows`` of a person count at most."""

    lo: float
    hi: float
    shape: tuple[int, ...] = (3,)
    labels: Axes = ()
    rows: int = 1

    def share(self, cells: Floats) -> Floats:
        return _share(cells[..., 1] / 2 + cells[..., 2], cells.sum(-1))

    @cached_property
    def score(self) -> Score:
        return mean_score(2, self.rows)

    def contrast(self, coefficients: dict[Any, float], ratio_within: tuple[float, float] | None = None) -> Reading:
        if len(self.labels) > 1:
            columns = ", ".join(name for name, _ in self.labels)
            raise InvalidRequest(
                f"a contrast is of means by one column of groups, and these are by {columns}; "
                "ask by one of them, and filter by the others with where="
            )
        if not self.labels:
            return super().contrast(coefficients, ratio_within)
        return contrast_of_groups(self, self.labels[0][1], coefficients, ratio_within)


@readings("person_mean")
@dataclass(frozen=True)
class PersonMean(MeanReading):
    """The mean over rows from the six cells of people with up to ``rows`` rows each."""

    lo: float
    hi: float
    rows: int
    shape: ClassVar[tuple[int, ...]] = (6,)

    def share(self, cells: Floats) -> Floats:
        return _share(cells @ self.score.a, -(cells @ self.score.b))

    @cached_property
    def score(self) -> Score:
        return person_mean_score(self.rows)


@readings("public_mean")
@dataclass(frozen=True)
class PublicMean(MeanReading):
    """The mean of n rows, n public, from the sums of u = 2t - 1 and of c u**2.

    The sum of t is (U + n)/2 and that of t**2 is U2 / 4c + U/2 + n/4; n is known and carries no noise.
    """

    lo: float
    hi: float
    rows: int
    weight: Fraction
    shape: ClassVar[tuple[int, ...]] = (2,)

    def share(self, cells: Floats) -> Floats:
        return np.asarray((cells[..., 0] / self.rows + 1) / 2)

    @cached_property
    def score(self) -> Score:
        n, c = float(self.rows), float(self.weight)
        first, second, nothing = np.array([0.5, 0.0]), np.array([0.5, 0.25 / c]), np.zeros(2)
        return Score(first, nothing, (second, -first, nothing), (n / 2, -n), (n / 4, -n, n))
