"""How much in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core import numbers
from discreet.core.mechanism import NoiseLaw
from discreet.core.numbers import Number
from discreet.core.reading import Axes, readings
from discreet.errors import InvalidRequest
from discreet.statistics.bernstein import cell_weights
from discreet.statistics.mean import mean_of_population
from discreet.statistics.population import PopulationReading, total_interval
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import Floats, Scaled
from discreet.statistics.score import Score


@statistic("sum")
def sum(  # noqa: A001
    table: Table,
    column: str,
    *,
    by: str | Sequence[str] | None = None,
    of: str = "table",
    population_size: Number | None = None,
) -> Question:
    """The sum of the clipped values.

    Where the number of rows is public, n lo + R S with S the noisy sum of t = (x - lo)/R; else each value is added as a
    share of the largest size the bounds allow. ``of="population"``: with ``population_size`` M the total over a
    population of M, M times the mean; without it the expected sum over a table like this one, whose number of rows is
    Poisson's where it is not public.
    """
    level = table.factor("level", column)
    if for_population(of):
        return _total(table, column, by, population_size)
    if population_size is not None:
        raise InvalidRequest("population_size is for of='population'; leave it out for the sum over the table")
    if table.rows is not None and by is None:
        return Question(table.cells(level), Scaled(table.rows * level.lo, level.hi - level.lo))
    groups, number = table.groups(by), table.factor("signed", column)
    query = table.cells(*groups, number)
    largest = max(abs(number.lo), abs(number.hi))
    return Question(query, Scaled(factor=largest, shape=query.shape[:-1], labels=axes(groups)))


def _total(table: Table, column: str, by: str | Sequence[str] | None, population_size: Number | None) -> Question:
    number = table.factor("square", column)
    size = None if population_size is None else numbers.positive(population_size, "population_size")
    if size is None and table.rows is not None and by is None:
        size = numbers.positive(table.rows, "rows")
    if size is not None:
        return mean_of_population(table, column, float(size) * number.lo, float(size) * number.hi, by)
    groups = table.groups(by)
    query = table.cells(*groups, number)
    return Question(query, Total(number.lo, number.hi, query.shape, axes(groups), table.most_rows))


@readings("total")
@dataclass(frozen=True)
class Total(PopulationReading):
    """The sum of x = lo + R t from the cells of degree 2, for a Poisson number of rows: L = sum of x - tau, V = sum of
    x**2.
    """

    lo: float
    hi: float
    shape: tuple[int, ...] = (3,)
    labels: Axes = ()
    rows: int = 1

    def compute(self, cells: Floats) -> Floats:
        return np.asarray(cells @ cell_weights(np.array([self.lo, self.hi - self.lo]), (2,)))

    @property
    def unit(self) -> float:
        """The largest of the bounds."""
        return max(abs(self.lo), abs(self.hi))

    @property
    def score(self) -> Score:
        """The score of tau / ``unit``: the squares of V are then as large as a double holds."""
        lo, width = self.lo / self.unit, (self.hi - self.lo) / self.unit
        made = Score.of(np.array([lo, width]), np.array([0.0]), (2,), self.rows)
        return Score(made.a, made.b, made.squares, (0.0, -1.0), rows=self.rows)

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        low, high = total_interval(self.score, cells, noise, level, strict)
        return self.unit * low, self.unit * high
