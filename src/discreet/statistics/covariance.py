"""Covariance, pooled covariance and correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.mechanism import NoiseLaw
from discreet.core.reading import Axes, readings
from discreet.statistics.bernstein import cell_weights, multiply
from discreet.statistics.population import PopulationReading
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled
from discreet.statistics.score import Score, joined
from discreet.statistics.spread import Spread
from discreet.statistics.variance import everyone_in_a_group


def _area(table: Table, x: str, y: str) -> float:
    a, b = table.number(x), table.number(y)
    return (float(a.hi) - float(a.lo)) * (float(b.hi) - float(b.lo))


@statistic("covariance")
def covariance(table: Table, x: str, y: str, *, by: str | Sequence[str] | None = None, of: str = "table") -> Question:
    """The covariance with divisor n - 1. ``of="population"`` releases both columns' second moments, at the same price."""
    area = _area(table, x, y)
    if for_population(of):
        cells = table.cells(*table.groups(by), table.factor("square", x), table.factor("square", y))
        return Question(cells, PopulationCovariance(area, False, cells.shape, axes(table.groups(by)), table.most_rows))
    if table.rows is not None and by is None:
        return Question(Spread(table.factor("level", x), table.factor("level", y), table.rows), Scaled(factor=area))
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("linear", x), table.factor("linear", y))
    return Question(query, Covariance(area, False, query.shape, axes(groups)))


@statistic("pooled_covariance")
def pooled_covariance(table: Table, x: str, y: str, *, by: str, of: str = "table") -> Question:
    """The covariance within groups, over n - J; a row that may change its group moves it up to twice as far."""
    area, group = _area(table, x, y), table.groups(by)[0]
    if for_population(of):
        squares = table.cells(group, table.factor("square", x), table.factor("square", y))
        return Question(squares, PopulationCovariance(area, True, squares.shape, (), table.most_rows))
    if table.rows is not None and everyone_in_a_group(table, by):
        levels = table.factor("level", x), table.factor("level", y)
        query = Spread(*levels, table.rows, group, table.public_labels, table.largest_group)
        return Question(query, Scaled(factor=area))
    cells = table.cells(group, table.factor("linear", x), table.factor("linear", y))
    return Question(cells, Covariance(area, True, cells.shape))


@statistic("correlation")
def correlation(table: Table, x: str, y: str, *, by: str | Sequence[str] | None = None, of: str = "table") -> Question:
    """Pearson's correlation, from the nine sums of products of ((1-s)**2, 2s(1-s), s**2) and the same of t.

    ``of="population"`` releases the twenty-five sums of degree 4, at the same price.
    """
    groups = table.groups(by)
    if for_population(of):
        cells = table.cells(*groups, table.factor("quartic", x), table.factor("quartic", y))
        return Question(cells, PopulationCorrelation(cells.shape, axes(groups), table.most_rows))
    query = table.cells(*groups, table.factor("square", x), table.factor("square", y))
    return Question(query, Correlation(query.shape, axes(groups)))


@readings("covariance")
@dataclass(frozen=True)
class Covariance(CellReading):
    """R1 R2 (S11/N - E s E t) N / (N - 1) from the sums of (1-s, s) times (1-t, t), N their sum, at least 2."""

    area: float
    pooled: bool = False
    shape: tuple[int, ...] = (2, 2)
    labels: Axes = ()

    def compute(self, cells: Floats) -> Floats:
        total = np.maximum(cells.sum((-1, -2)), 0.0 if self.pooled else 2.0)
        some = np.where(total > 0, total, 1.0)
        first = _moments(cells, 1)
        s, t = cells.sum(-1) @ first / some, cells.sum(-2) @ first / some
        spread = np.clip(((cells @ first) @ first) / some - s * t, -0.25, 0.25)
        if self.pooled:
            rest = np.maximum(total.sum(-1) - total.shape[-1], 1.0)
            return np.asarray(self.area * (total * spread).sum(-1) / rest)
        return np.asarray(self.area * spread * total / (total - 1))


def _moments(cells: Floats, power: int) -> Floats:
    """The weights of a power of t on the cells of one of two factors of the same degree."""
    return cell_weights(np.eye(power + 1)[power], (cells.shape[-1] - 1,))


@readings("population_covariance")
@dataclass(frozen=True)
class PopulationCovariance(Covariance, PopulationReading):
    """The (pooled) covariance from the nine cells of two squares in every group.

    L = sum over groups of (sum of (s - m_g)(t - m'_g) - c N_g + c + nu_g / N_g) with the group's own means, nu_g the
    covariance of their noise; V = sum of ((s - m_g)(t - m'_g) - c)**2. Where a group has no rows left: the whole range.
    """

    rows: int = 1

    @property
    def range(self) -> tuple[float, float]:
        return -self.area / 4, self.area / 4

    @property
    def inner(self) -> int:
        return 3 if self.pooled else 2

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        score = covariance_score(cells.reshape(-1, *cells.shape[-2:]), noise, self.rows)
        ends = (-0.25, 0.25)
        if score is not None:
            ends = score[0].interval(cells, noise, score[1], (-0.25, 0.25), level, strict)
        return self.area * ends[0], self.area * ends[1]


def covariance_score(groups: Floats, noise: NoiseLaw, rows: int) -> tuple[Score, float] | None:
    """The score of a covariance within groups and its root; None where a group has no rows left."""
    first, size = _moments(groups, 1), groups[0].size
    totals = groups.sum((-1, -2))
    if (totals <= 0).any():
        return None
    parts, known = [], 0.0
    for place, (own, total) in enumerate(zip(groups, totals, strict=True)):
        s, t = (float(np.clip(own.sum(axis) @ first / total, 0.0, 1.0)) for axis in (1, 0))
        psi = np.outer([-s, 1.0], [-t, 1.0])
        parts.append(Score.of(psi, np.array([[-1.0]]), (2, 2), rows))
        own_noise = noise.at(slice(place * size, (place + 1) * size))
        deviation = np.broadcast_to(np.asarray(own_noise.expected_error, np.float64), (size,)).reshape(own.shape)
        known += float(((first - s)[:, None] * (first - t)[None, :] * deviation**2).sum()) / total
    return joined(parts, known, groups)


@readings("population_correlation")
@dataclass(frozen=True)
class PopulationCorrelation(PopulationReading):
    """Pearson's correlation from the twenty-five cells of two factors of degree 4.

    psi = z z' - rho (z**2 + z'**2) / 2 with z = (s - m)/d and z' likewise; where a variance is not positive: -1 to 1.
    """

    shape: tuple[int, ...] = (5, 5)
    labels: Axes = ()
    rows: int = 1

    @property
    def inner(self) -> int:
        return 2

    def compute(self, cells: Floats) -> Floats:
        return correlate(cells)

    def score(self, cells: Floats) -> Score | None:
        """The score of rho; None where a variance is not positive."""
        total = float(cells.sum())
        if total <= 0:
            return None
        first, second = _moments(cells, 1), _moments(cells, 2)
        means = [float(np.clip(cells.sum(axis) @ first / total, 0.0, 1.0)) for axis in (1, 0)]
        spreads = [float(cells.sum(axis) @ second / total) - m * m for axis, m in zip((1, 0), means, strict=True)]
        if min(spreads) <= 0:
            return None
        z, other = (np.array([-m, 1.0]) / np.sqrt(v) for m, v in zip(means, spreads, strict=True))
        half = np.zeros((3, 3))
        half[:, 0] += multiply(z, z) / 2
        half[0, :] += multiply(other, other) / 2
        return Score.of(np.outer(z, other), -half, (4, 4), self.rows)

    def population_of(self, cells: Floats, noise: NoiseLaw, level: float, strict: bool) -> tuple[float, float]:
        score = self.score(cells)
        if score is None:
            return -1.0, 1.0
        return score.interval(cells, noise, float(correlate(cells)), (-1.0, 1.0), level, strict)


@readings("correlation")
@dataclass(frozen=True)
class Correlation(CellReading):
    """cov / sqrt(var var) within [-1, 1], 0 where a variance is not positive: from the nine cells of two squares."""

    shape: tuple[int, ...] = (3, 3)
    labels: Axes = ()

    def compute(self, cells: Floats) -> Floats:
        return correlate(cells)


def correlate(cells: Floats) -> Floats:
    """Pearson's correlation from Bernstein cells of two numbers in the last two axes."""
    first, second = _moments(cells, 1), _moments(cells, 2)
    total = np.maximum(cells.sum((-1, -2)), 2.0)
    s, t = cells.sum(-1) @ first / total, cells.sum(-2) @ first / total
    cross = ((cells @ first) @ first) / total - s * t
    left, right = cells.sum(-1) @ second / total - s**2, cells.sum(-2) @ second / total - t**2
    usable = (left > 0) & (right > 0)
    spread = np.sqrt(np.where(usable, left * right, 1.0))
    value = np.divide(cross, spread, out=np.zeros(np.shape(cross)), where=usable)
    return np.asarray(np.clip(value, -1.0, 1.0))
