"""Variance, standard deviation and pooled variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.release import Release
from discreet.core.result import readings
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled, labelled
from discreet.statistics.spread import Spread


@statistic("variance")
def variance(table: Table, column: str, *, by: str | Sequence[str] | None = None, root: bool = False) -> Question:
    """The variance with divisor n - 1; negative values after noise become 0 (redrawing them would not be private)."""
    number = table.number(column)
    width = float(number.hi) - float(number.lo)
    if table.rows is not None and by is None:
        same = table.factor("level", column)
        return Question(Spread(same, same, table.rows), _scaled(width * width, root))
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("square", column))
    return Question(query, Variance(width, root, False, query.shape, axes(groups)))


@statistic("std")
def std(table: Table, column: str, *, by: str | Sequence[str] | None = None) -> Question:
    """The standard deviation: the root of the variance."""
    return variance(table, column, by=by, root=True)


@statistic("pooled_variance")
def pooled_variance(table: Table, column: str, *, by: str) -> Question:
    """The variance within groups: sum of n_j var_j (population) over n - J, empty groups counted in J."""
    number = table.number(column)
    width = float(number.hi) - float(number.lo)
    group = table.groups(by)[0]
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

    def _answer(self, values: Floats) -> Any:
        return math.sqrt(super()._answer(values))

    def expected_error(self, releases: Sequence[Release]) -> Any:
        """By the slope of the root at the released value; at zero by the root of the error itself."""
        inner = float(super().expected_error(releases))
        value = float(self.value(releases))
        return math.sqrt(inner) if value * value <= inner else inner / (2 * value)


@readings("variance")
@dataclass(frozen=True)
class Variance(CellReading):
    """R**2 (E t**2 - (E t)**2) N / (N - 1) from the sums of (1-t)**2, 2t(1-t), t**2, with N their sum, at least 2.

    ``pooled``: R**2 times the sum over groups of N_j (E t**2 - (E t)**2), over the sum of N_j less the number of groups.
    """

    width: float
    root: bool = False
    pooled: bool = False
    shape: tuple[int, ...] = (3,)
    labels: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "labels", labelled(self.labels))

    def compute(self, cells: Floats) -> Floats:
        middle, top = cells[..., 1], cells[..., 2]
        total = np.maximum(cells.sum(-1), 0.0 if self.pooled else 2.0)
        some = np.where(total > 0, total, 1.0)
        first, second = (middle / 2 + top) / some, top / some
        spread = np.clip(second - first**2, 0.0, 0.25)
        if self.pooled:
            rest = np.maximum(total.sum(-1) - total.shape[-1], 1.0)
            value = self.width**2 * (total * spread).sum(-1) / rest
        else:
            value = self.width**2 * spread * total / (total - 1)
        return np.asarray(np.sqrt(value) if self.root else value)
