"""The average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.result import readings
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import CellReading, Floats, Scaled, labelled


@statistic("mean")
def mean(table: Table, column: str, *, by: str | Sequence[str] | None = None) -> Question:
    """The mean of the clipped values.

    Where the number of rows is public: lo + R S / n with S the noisy sum of t = (x - lo)/R, which moves by R/n. Where it
    is not, the sums of 1 - t and of t are released together and their ratio is read: noise scaled by a private n would
    not be private at any epsilon.
    """
    number = table.number(column)
    if table.rows is not None and by is None:
        width = float(number.hi) - float(number.lo)
        reading = Scaled(float(number.lo), width / table.rows, float(number.lo), float(number.hi))
        return Question(table.cells(table.factor("level", column)), reading)
    groups = table.groups(by)
    query = table.cells(*groups, table.factor("linear", column))
    return Question(query, Ratio(float(number.lo), float(number.hi), query.shape, axes(groups)))


@readings("mean")
@dataclass(frozen=True)
class Ratio(CellReading):
    """lo + R S1 / (S0 + S1), within the bounds; the middle of them where nothing is left to divide by."""

    lo: float
    hi: float
    shape: tuple[int, ...] = (2,)
    labels: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "labels", labelled(self.labels))

    def compute(self, cells: Floats) -> Floats:
        total = cells[..., 0] + cells[..., 1]
        share = np.divide(cells[..., 1], total, out=np.full(np.shape(total), 0.5), where=total > 0)
        return np.asarray(self.lo + (self.hi - self.lo) * np.clip(share, 0.0, 1.0))
