"""How many rows have one label: by itself, or beside how many have any other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import FoldQuery, Relation, queries
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Integers, add


@queries("label_counts")
@dataclass(frozen=True)
class LabelCounts(FoldQuery):
    """The rows with the label at ``place``, and, unless ``alone``, those with any other declared label.

    ``distance``, with k rows a person: k in every norm under add/remove, and alone under any relation; for both numbers
    under replace and both, L1 is 2k and L2 sqrt(2) k.

    Proof: a row adds (1, 0), (0, 1) or, without a declared label, nothing; a person has at most k rows, so the person's
    part v is not negative with v_1 + v_2 <= k. Adding or removing it moves the counts by v. Replacing v by w moves either
    count by at most k, for both lie between 0 and k, and the two together by |v - w|_1 <= 2k and |v - w|_2 <= sqrt(2) k,
    because neither is negative.
    """

    column: Factor
    place: int
    alone: bool = False
    rows: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.column, dict):
            object.__setattr__(self, "column", Factor(**self.column))
        if isinstance(self.place, bool) or not 0 <= self.place < len(self.column.labels):
            raise InvalidRequest(f"place must be that of one of {len(self.column.labels)} labels, got {self.place}")
        if isinstance(self.rows, bool) or self.rows < 1:
            raise InvalidRequest(f"rows must be a whole number of at least 1, got {self.rows}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number, or two."""
        return (1,) if self.alone else (2,)

    @property
    def grid(self) -> Fraction:
        """Whole numbers."""
        return Fraction(1)

    def distance(self, relation: Relation) -> Distance:
        k = Fraction(self.rows)
        if self.alone or relation == "add_remove":
            return Distance(k, k, k)
        return Distance(2 * k, numbers.square_root_up(Fraction(2)) * k, k)

    def step(self, batch: Any) -> Integers:
        kept, codes = batch.kept(self.columns), batch.codes(self.column.column)
        codes = codes if kept is None else codes[kept]
        mine = int(np.count_nonzero(codes == self.place))
        return np.array([mine] if self.alone else [mine, int(np.count_nonzero(codes >= 0)) - mine], np.int64)

    def combine(self, left: Integers, right: Integers) -> Integers:
        return add(left, right)

    def finish(self, total: Integers) -> Exact:
        return Exact(total, self.grid)

    def blank(self, rows: int) -> Exact:
        """As if every label were as frequent as any other."""
        mine = rows // len(self.column.labels)
        return Exact(np.array([mine] if self.alone else [mine, rows - mine], np.int64), self.grid)
