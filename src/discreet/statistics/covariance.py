"""Covariance, pooled covariance and correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.result import readings
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled, labelled
from discreet.statistics.spread import Spread
from discreet.statistics.variance import everyone_in_a_group


def _area(table: Table, x: str, y: str) -> float:
    a, b = table.number(x), table.number(y)
    return (float(a.hi) - float(a.lo)) * (float(b.hi) - float(b.lo))


@statistic("covariance")
def covariance(table: Table, x: str, y: str, *, by: str | Sequence[str] | None = None) -> Question:
    """The covariance with divisor n - 1."""
    area = _area(table, x, y)
    if table.rows is not None and by is None:
        return Question(Spread(table.factor("level", x), table.factor("level", y), table.rows), Scaled(factor=area))
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("linear", x), table.factor("linear", y))
    return Question(query, Covariance(area, False, query.shape, axes(groups)))


@statistic("pooled_covariance")
def pooled_covariance(table: Table, x: str, y: str, *, by: str) -> Question:
    """The covariance within groups, over n - J; a row that may change its group moves it up to twice as far."""
    area, group = _area(table, x, y), table.groups(by)[0]
    if table.rows is not None and everyone_in_a_group(table, by):
        levels = table.factor("level", x), table.factor("level", y)
        query = Spread(*levels, table.rows, group, table.public_labels, table.largest_group)
        return Question(query, Scaled(factor=area))
    cells = table.cells(group, table.factor("linear", x), table.factor("linear", y))
    return Question(cells, Covariance(area, True, cells.shape))


@statistic("correlation")
def correlation(table: Table, x: str, y: str, *, by: str | Sequence[str] | None = None) -> Question:
    """Pearson's correlation, from the nine sums of products of ((1-s)**2, 2s(1-s), s**2) and the same of t."""
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("square", x), table.factor("square", y))
    return Question(query, Correlation(query.shape, axes(groups)))


@readings("covariance")
@dataclass(frozen=True)
class Covariance(CellReading):
    """R1 R2 (S11/N - E s E t) N / (N - 1) from the sums of (1-s, s) times (1-t, t), N their sum, at least 2."""

    area: float
    pooled: bool = False
    shape: tuple[int, ...] = (2, 2)
    labels: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "labels", labelled(self.labels))

    def compute(self, cells: Floats) -> Floats:
        both = cells[..., 1, 1]
        total = np.maximum(cells.sum((-1, -2)), 0.0 if self.pooled else 2.0)
        some = np.where(total > 0, total, 1.0)
        s, t = (cells[..., 1, 0] + both) / some, (cells[..., 0, 1] + both) / some
        spread = np.clip(both / some - s * t, -0.25, 0.25)
        if self.pooled:
            rest = np.maximum(total.sum(-1) - total.shape[-1], 1.0)
            return np.asarray(self.area * (total * spread).sum(-1) / rest)
        return np.asarray(self.area * spread * total / (total - 1))


@readings("correlation")
@dataclass(frozen=True)
class Correlation(CellReading):
    """cov / sqrt(var var) within [-1, 1], 0 where a variance is not positive: from the nine cells of two squares."""

    shape: tuple[int, ...] = (3, 3)
    labels: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "labels", labelled(self.labels))

    def compute(self, cells: Floats) -> Floats:
        half = np.array([0.0, 0.5, 1.0])
        total = np.maximum(cells.sum((-1, -2)), 2.0)
        s = (cells.sum(-1) @ half) / total
        t = (cells.sum(-2) @ half) / total
        cross = ((cells @ half) @ half) / total - s * t
        spread = (cells[..., 2, :].sum(-1) / total - s**2) * (cells[..., :, 2].sum(-1) / total - t**2)
        usable = (spread > 0) & (cells[..., 2, :].sum(-1) / total > s**2)
        value = np.divide(cross, np.sqrt(np.where(usable, spread, 1.0)), out=np.zeros(np.shape(cross)), where=usable)
        return np.asarray(np.clip(value, -1.0, 1.0))
