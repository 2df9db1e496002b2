"""The first two moments of a column whose number of rows is public: the second comes for nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import grid as quantum
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum, Relation, check_rows, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Integers

FOR_LAPLACE = Fraction(1, 2)
FOR_GAUSSIAN = Fraction(1665, 1000)


@queries("two_moments")
@dataclass(frozen=True)
class TwoMoments(FineSum):
    """(sum of u, c times the sum of u**2) with u = 2t - 1 in [-1, 1] and a public number of rows.

    ``distance`` under replace: L1 is max(2, D (1 + c (2 - D)) over D in [0, 2]), 2 for c up to 1/2; L2 is 2 for c up to
    1.665.

    Proof: replacing u by u' moves the sums by D = |u - u'| and c D |u + u'|, and |u + u'| <= 2 - D. So L1 <= D (1 + c (2
    - D)), which for c <= 1/2 grows up to D = 2, where it is 2; for larger c its maximum (1 + 2c)**2 / 4c lies inside. L2
    squared is at most D**2 (1 + c**2 (2 - D)**2): with c = 1.665 its inner maximum is below 4, and at D = 2 it is 4; for
    larger c it would be more, and such c are refused. A row's u is exact on the grid; c u**2 is rounded row by row, by
    less than a step for either row.
    """

    number: Factor
    rows: int
    weight: Fraction = FOR_LAPLACE

    def __post_init__(self) -> None:
        if not 0 < self.weight <= FOR_GAUSSIAN:
            raise InvalidRequest(f"weight must be positive and at most {float(FOR_GAUSSIAN)}, got {self.weight}")
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.number.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Two sums."""
        return (2,)

    def distance(self, relation: Relation) -> Distance:
        if relation != "replace":
            raise InvalidRequest(f"the number of rows is public under replace only, got {relation}; use the sums of cells")
        c = self.weight
        l1 = Fraction(2) if c <= FOR_LAPLACE else (1 + 2 * c) ** 2 / (4 * c)
        step = 2 * self.grid
        return Distance(l1 + step, 2 + step, max(Fraction(2), c) + step)

    def step(self, batch: Batch) -> Integers:
        values = batch.numeric(self.number.column)
        first = second = count = 0
        for start in range(0, batch.size, quantum.STEP):
            code = quantise(values[start : start + quantum.STEP], self.number.lo, self.number.hi)
            u = 2.0 * code - quantum.ONE
            first += int(u.sum())
            u *= u
            u *= float(self.weight) / quantum.ONE
            second += int(np.rint(u, out=u).sum())
            count += u.size
        return np.array([first, second, count], np.int64)

    def finish(self, total: Integers) -> Exact:
        if int(total[2]) != self.rows:  # the number of rows is public here
            raise InvalidRequest(f"the table had {self.rows} rows when it was asked and has others now; open it again")
        return Exact(total[:2], self.grid)

    def blank(self, rows: int) -> Exact:
        """As if values were spread evenly between their bounds."""
        return Exact(np.array([0, round(self.weight * rows / 3 / self.grid)], np.int64), self.grid)
