"""How many rows have one label: by itself, or beside how many have any other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, SumQuery, check_rows, distance_of_weights, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Factor, Integers


@queries("label_counts")
@dataclass(frozen=True)
class LabelCounts(SumQuery):
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
        if isinstance(self.place, bool) or not 0 <= self.place < len(self.column.labels):
            raise InvalidRequest(f"place must be that of one of {len(self.column.labels)} labels, got {self.place}")
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """One number, or two."""
        return (1,) if self.alone else (2,)

    def distance(self, relation: Relation) -> Distance:
        return Distance.of(self.rows) if self.alone else distance_of_weights(self.rows, relation)

    def totals(self, rows: int) -> tuple[float, float] | None:
        return None if self.alone else (float(rows), float(rows))

    def step(self, batch: Batch) -> Integers:
        kept, codes = batch.kept(self.columns), batch.codes(self.column.column)
        codes = codes if kept is None else codes[kept]
        mine = int(np.count_nonzero(codes == self.place))
        return np.array([mine] if self.alone else [mine, int(np.count_nonzero(codes >= 0)) - mine], np.int64)

    def blank(self, rows: int) -> Exact:
        """As if every label were as frequent as any other."""
        mine = rows // len(self.column.labels)
        return Exact(np.array([mine] if self.alone else [mine, rows - mine], np.int64), self.grid)
