"""The signed sum of ranks of a column, or of the differences of two, with the number of people: Wilcoxon's statistic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum, Relation, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.hypotheses.ordered_groups import held
from discreet.hypotheses.tally import Runs, combined, doubled_midranks, product, tally, whole
from discreet.statistics.cells import Factor


@queries("signed_rank_sum")
@dataclass(frozen=True)
class SignedRankSum(FineSum):
    """(T, ``weight`` times N) with T = sum of sgn(d_i) R_i / N, R the midranks of |d|, one row a person.

    d is the column less ``centre``, or one column less the other, as whole numbers on a public grid. Zeros are ranked and
    have no sign.

    ``distance`` with w = ``weight``: L1 is 3/2 + w under add/remove and max(2, 3/2 + w) under replace and both; L2 is
    sqrt(9/4 + w**2), and max(2, sqrt(9/4 + w**2)). One step of the grid is added for the rounding of T.

    Proof: let a person of sign s join N others, l of whom have a smaller |d|; a tie is the average of both orders, and all
    that follows is linear in them, so let there be none. Those above gain one rank, the new rank is l + 1, and N + 1
    divides: T moves by 1/(N + 1) times (s (l + 1) + sum over those above of s_i - T), T the sum of s_i i / N. Its size is
    at most l + 1 + sum over i <= l of i/N + sum over i > l of (1 - i/N) = (N + 1)/2 + l (l + 1)/N, at most 3 (N + 1)/2
    because l <= N. Replacing a person with l below by one with l' >= l below, N fixed, moves N T by at most (l + 1) + (l'
    + 1) + (l' - l), at most 2N because l' <= N - 1; N is then the same. Someone whose value is missing counts nowhere:
    then it is add/remove. T lies on multiples of 1/2N, which is private, and is rounded to the public grid: half a step
    for each of two neighbours.
    """

    number: Factor
    other: Factor | None
    centre: float
    weight: Fraction

    def __post_init__(self) -> None:
        if self.weight <= 0 or (self.weight / self.grid).denominator != 1:
            raise InvalidRequest(f"weight must be positive and on a grid of {self.grid}, got {self.weight}")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.number.column,) if self.other is None else (self.number.column, self.other.column)

    @property
    def shape(self) -> tuple[int, ...]:
        """T, and the weighted number of people."""
        return (2,)

    def distance(self, relation: Relation) -> Distance:
        w, l1 = self.weight, Fraction(3, 2)
        square = l1 * l1 + w * w
        if relation == "add_remove":
            return Distance(l1 + w + self.grid, numbers.square_root_up(square) + self.grid, max(l1, w) + self.grid)
        two = Fraction(2)
        l2 = max(two, numbers.square_root_up(square))
        return Distance(max(two, l1 + w) + self.grid, l2 + self.grid, max(two, w) + self.grid)

    def step(self, batch: Batch) -> Runs:
        lo, hi = self.number.lo, self.number.hi
        codes = quantise(batch.numeric(self.number.column), lo, hi)
        if self.other is None:
            codes -= quantise(np.array([self.centre]), lo, hi)
        else:
            codes -= quantise(batch.numeric(self.other.column), lo, hi)
        kept = batch.kept(self.columns)
        valid = ~np.isnan(codes) if kept is None else kept & ~np.isnan(codes)
        signed = codes[valid].astype(np.int64)
        return tally(np.abs(signed), np.sign(signed) + 1, 3)

    def combine(self, left: Runs, right: Runs) -> Runs:
        return combined(left, right)

    def finish(self, total: Runs) -> Exact:
        _, counts = whole(total)
        people = int(counts.sum())
        ranks = doubled_midranks(counts.sum(1))
        signed = Fraction(product(counts[:, 2] - counts[:, 0], ranks), 2 * max(people, 1))
        return self._exact(signed, people)

    def blank(self, rows: int) -> Exact:
        """As if as many were above as below."""
        return self._exact(Fraction(0), rows)

    def _exact(self, signed: Fraction, people: int) -> Exact:
        return Exact(held([round(signed / self.grid), round(self.weight * people / self.grid)]), self.grid)
