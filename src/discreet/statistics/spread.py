"""Variance and covariance of a table whose number of rows is public: the statistic itself, with noise of its own size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import Relation, SumQuery, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Integers, rounded_product


@queries("spread")
@dataclass(frozen=True)
class Spread(SumQuery):
    """The (pooled) covariance of two columns scaled to [0, 1], n public: of a column with itself, its variance.

    sum over groups j of (sum of s t - (sum of s)(sum of t) / n_j), divided by n - J; one group and n - 1 without groups.

    ``distance`` under replace, for n rows in J groups: 1/n without groups. With groups whose labels are public and whose
    largest has m rows: (1 - 1/m)/(n - J). With private labels 1/(n - J) for a variance, and 2 (1 - 2/(n+1))/(n - J) for a
    covariance, where a row may leave one group and join another.

    Proof: replacing row (s, t) of a group of m rows by (s', t') changes its centred cross-sum by
    (1 - 1/m)(s' t' - s t) minus terms linear in the others' sums; over [0, 1] the extreme is 1 - 1/m, at opposite corners
    with the others at the corner of one of them. Without groups m = n: (1 - 1/n)/(n - 1) = 1/n. A row that leaves a group
    of m rows takes at most (m - 1)/m of one sign with it and brings at most m'/(m' + 1) to the one it joins: for a
    variance both terms have opposite effects and the larger is below 1; for a covariance they may add, and over
    m + m' <= n the sum is largest at equal sizes, 2 (1 - 2/(n + 1)). Whole numbers: products are rounded row by row, so
    that one row adds a change of at most one step of 2**-BITS, and the result is rounded to ``grid``, one step more.
    """

    x: Factor
    y: Factor
    rows: int
    group: Factor | None = None
    public_labels: bool = False
    largest_group: int | None = None

    def __post_init__(self) -> None:
        if self.rows <= self.count_of_groups:
            raise InvalidRequest(
                f"a variance needs more rows than groups, got {self.rows} rows in {self.count_of_groups} groups"
            )

    @property
    def count_of_groups(self) -> int:
        """J: the declared groups, empty ones counted; 1 without groups."""
        return 1 if self.group is None else self.group.size

    @property
    def is_variance(self) -> bool:
        """Whether both columns are the same."""
        return self.x == self.y

    @property
    def columns(self) -> tuple[str, ...]:
        names = [self.x.column, self.y.column, *([] if self.group is None else [self.group.column])]
        return tuple(dict.fromkeys(names))

    @property
    def grid(self) -> Fraction:
        """Far below what one row can change."""
        return Fraction(2) ** (numbers.floor_log2(Fraction(1, self.rows)) - 34)

    def distance(self, relation: Relation) -> Distance:
        if relation != "replace":
            raise InvalidRequest(f"the number of rows is public under replace only, got {relation}; use the sums of cells")
        n, rest = self.rows, self.rows - self.count_of_groups
        if self.group is None:
            ideal = Fraction(1, n)
        elif self.public_labels:
            ideal = (1 - Fraction(1, self.largest_group) if self.largest_group else Fraction(1)) / rest
        else:
            ideal = Fraction(1, rest) if self.is_variance else 2 * (1 - Fraction(2, n + 1)) / rest
        return Distance.of(ideal + quantum.UNIT / rest + self.grid)

    def step(self, batch: Batch) -> Integers:
        x, y = batch.numeric(self.x.column), batch.numeric(self.y.column)
        total = np.zeros((self.count_of_groups, 4))
        place = None if self.group is None else batch.codes(self.group.column)
        for start in range(0, batch.size, quantum.STEP):
            rows = slice(start, start + quantum.STEP)
            s = quantise(x[rows], self.x.lo, self.x.hi)
            t = s if self.is_variance else quantise(y[rows], self.y.lo, self.y.hi)
            both = rounded_product(s, t)
            if place is None:
                total += [s.size, s.sum(), t.sum(), both.sum()]
            else:
                for i, weight in enumerate((np.ones(s.size), s, t, both)):
                    total[:, i] += np.bincount(place[rows], weights=weight, minlength=self.count_of_groups)
        return total.astype(np.int64)

    def finish(self, total: Integers) -> Exact:
        if int(total[:, 0].sum()) != self.rows:  # the number of rows is public here
            raise InvalidRequest(f"the table had {self.rows} rows when it was asked and has others now; open it again")
        one = 1 << quantum.BITS
        centred = Fraction(0)
        for n, s, t, product in total.tolist():
            if n:
                centred += Fraction(product, one) - Fraction(s * t, n * one * one)
        value = centred / (self.rows - self.count_of_groups)
        return Exact(np.asarray(round(value / self.grid), np.int64), self.grid)

    def blank(self, rows: int) -> Exact:
        middle = Fraction(1, 12) if self.is_variance else Fraction(0)
        return Exact(np.asarray(round(middle / self.grid), np.int64), self.grid)
