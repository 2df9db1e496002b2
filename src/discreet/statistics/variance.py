"""Variance, standard deviation and pooled variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Axes, readings
from discreet.core.release import Release
from discreet.statistics.bernstein import cell_weights
from discreet.statistics.equation import noise_variance
from discreet.statistics.population import PopulationReading
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled
from discreet.statistics.score import Score, joined
from discreet.statistics.spread import Spread


@statistic("variance")
def variance(
    table: Table, column: str, *, by: str | Sequence[str] | None = None, of: str = "table", root: bool = False
) -> Question:
    """The variance with divisor n - 1; negative values after noise become 0 (redrawing them would not be private).

    ``of="population"`` releases the moments up to the fourth, at the same price.
    """
    number = table.number(column)
    width = float(number.hi) - float(number.lo)
    if for_population(of):
        cells = table.cells(*table.groups(by), table.factor("quartic", column))
        return Question(cells, PopulationVariance(width, root, False, cells.shape, axes(table.groups(by)), table.most_rows))
    if table.rows is not None and by is None:
        same = table.factor("level", column)
        return Question(Spread(same, same, table.rows), _scaled(width * width, root))
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("square", column))
    return Question(query, Variance(width, root, False, query.shape, axes(groups)))


@statistic("std")
def std(table: Table, column: str, *, by: str | Sequence[str] | None = None, of: str = "table") -> Question:
    """The standard deviation: the root of the variance."""
    return variance(table, column, by=by, of=of, root=True)


@statistic("pooled_variance")
def pooled_variance(table: Table, column: str, *, by: str, of: str = "table") -> Question:
    """The variance within groups: sum of n_j var_j (divisor n_j) over n - J, empty groups counted in J."""
    number = table.number(column)
    width = float(number.hi) - float(number.lo)
    group = table.groups(by)[0]
    if for_population(of):
        quartic = table.cells(group, table.factor("quartic", column))
        return Question(quartic, PopulationVariance(width, False, True, quartic.shape, (), table.most_rows))
    if table.rows is not None and everyone_in_a_group(table, by):
        same = table.factor("level", column)
        query = Spread(same, same, table.rows, group, table.public_labels, table.largest_group)
        return Question(query, _scaled(width * width, root=False))
    cells = table.cells(group, table.factor("square", column))
    return Question(cells, Variance(width, False, True, cells.shape))


def everyone_in_a_group(table: Table, by: str) -> bool:
    """Whether every row belongs to some declared group, whatever it holds: a missing label has a rule."""
    declared, relation = table.categories(by), table.schema.neighbors
    return declared.fill(relation) >= 0 and declared.stray(relation) >= 0


def _scaled(factor: float, root: bool) -> Scaled:
    return Root(factor=factor, least=0.0) if root else Scaled(factor=factor, least=0.0)


@readings("root")
@dataclass(frozen=True)
class Root(Scaled):
    """The square root of a scaled release that is kept from falling below zero."""

    @property
    def over_deviation(self) -> bool:
        return True

    def _answer(self, values: Floats) -> float:
        return math.sqrt(super()._answer(values))

    def expected_error(self, releases: Sequence[Release]) -> float:
        """By the slope of the root at the released value; at zero by the root of the error itself."""
        inner = float(super().expected_error(releases))
        value = float(self.value(releases))
        return math.sqrt(inner) if value * value <= inner else inner / (2 * value)


@readings("variance")
@dataclass(frozen=True)
class Variance(CellReading):
    """R**2 (E t**2 - (E t)**2) N / (N - 1) from the Bernstein cells of t, with N their sum, at least 2.

    ``pooled``: R**2 times the sum over groups of N_j (E t**2 - (E t)**2), over the sum of N_j less the number of groups.
    """

    width: float
    root: bool = False
    pooled: bool = False
    shape: tuple[int, ...] = (3,)
    labels: Axes = ()

    @property
    def over_deviation(self) -> bool:
        return self.root

    def compute(self, cells: Floats) -> Floats:
        degree = cells.shape[-1] - 1
        total = np.maximum(cells.sum(-1), 0.0 if self.pooled else 2.0)
        some = np.where(total > 0, total, 1.0)
        first, second = (cells @ cell_weights(np.eye(j + 1)[j], (degree,)) / some for j in (1, 2))
        spread = np.clip(second - first**2, 0.0, 0.25)
        if self.pooled:
            rest = np.maximum(total.sum(-1) - total.shape[-1], 1.0)
            value = self.width**2 * (total * spread).sum(-1) / rest
        else:
            value = self.width**2 * spread * total / (total - 1)
        return np.asarray(np.sqrt(value) if self.root else value)


@readings("population_variance")
@dataclass(frozen=True)
class PopulationVariance(Variance, PopulationReading):
    """The variance, its root, or the pooled variance, from the five cells of degree 4 of every group.

    L = sum over groups of (sum of (t - m_g)**2 - v N_g + v + nu_g / N_g), with m_g the group's own mean: v and nu_g /
    N_g give back what sampling and the noise of m_g (of variance nu_g / N_g**2) take away. V = sum of ((t - m_g)**2 -
    v)**2. Where a group has no rows left nothing can be said: the whole range, 0 to R**2 / 4.
    """

    rows: int = 1

    @property
    def range(self) -> tuple[float, float]:
        return 0.0, self.width / 2 if self.root else self.width**2 / 4

    @property
    def inner(self) -> int:
        return 2 if self.pooled else 1

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        groups = cells.reshape(-1, cells.shape[-1])
        ends, found = (0.0, 0.25), variance_score(groups, noise, self.rows)
        if found is not None:
            score, estimate = found
            ends = score.interval(cells, noise, estimate, (0.0, 0.25), level, strict)
        low, high = (self.width**2 * end for end in ends)
        return (math.sqrt(low), math.sqrt(high)) if self.root else (low, high)


def variance_score(groups: Floats, noise: NoiseLaw, rows: int) -> tuple[Score, float] | None:
    """The score of a variance within groups (one line of cells each) and its root; None where a group has no rows left."""
    degree = groups.shape[-1] - 1
    first = cell_weights(np.array([0.0, 1.0]), (degree,))
    sizes = groups.sum(-1)
    if (sizes <= 0).any():
        return None
    parts, known = [], 0.0
    for place, (own, size) in enumerate(zip(groups, sizes, strict=True)):
        mean = float(np.clip(own @ first / size, 0.0, 1.0))
        parts.append(Score.of(np.array([mean**2, -2 * mean, 1.0]), np.array([-1.0]), (degree,), rows))
        own_noise = noise.at(slice(place * (degree + 1), (place + 1) * (degree + 1)))
        known += float(noise_variance((first - mean)[None], own_noise)[0]) / size
    return joined(parts, known, groups)
