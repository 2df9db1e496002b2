"""Centred sums of ranks, group by group, with the sizes of the groups: what Mann-Whitney and Kruskal-Wallis need."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum, Relation, queries
from discreet.errors import InvalidRequest
from discreet.hypotheses.tally import Integers, Runs, combined, doubled_midranks, product, tally, whole
from discreet.statistics.cells import Factor

MOST = (1 << 62) - 1


@queries("rank_sums")
@dataclass(frozen=True)
class RankSums(FineSum):
    """C_g = sum over group g of (R_i - (N + 1)/2) / N with midranks R, and ``weight`` times the size of every group.

    Of two groups C_1 alone is given, because the sums add to 0; of more, all. Values are taken on the public grid of
    ``core.grid``, one row a person. In what follows w is ``weight``.

    ``distance``, two groups: L1 is 1/2 + w under add/remove and max(1, 1/2 + 2w) under replace and both; L2 is
    sqrt(1/4 + w**2) and max(1, sqrt(1/4 + 2w**2)). More groups: L1 is 1 + w, and 2 + 2w; L2 is sqrt(1/2 + w**2), and
    sqrt(2 + 2w**2). One step of the grid is added for every rounded sum.

    Proof: R_i - (N + 1)/2 is half the sum over j of sgn(x_i - x_j), so pairs within a group cancel and the C_g add to 0.
    Let x join group a of a table of N. For g other than a, C_g moves by (D_g - C_g) / (N + 1) with D_g half the sum over
    g of sgn(x_i - x), and C_a by minus the sum of these moves. Claim: the sum over g != a of |D_g - C_g| is at most N/2.
    For signs s_g (and 0 for a) the sum of s_g (D_g - C_g) is linear in the signs of differences, and a tie is the average
    of both orders, so let there be no ties, u people above x and l = N - u below. It is 1/2N times (u S_u + P_u - l S_l +
    P_l) where S_u is the sum of the s of those above, P_u at most the sum of |s_i - s_j| over pairs of them. With p, m
    and z people of s = 1, -1, 0 above x, u S_u + P_u <= (p + m + z)(p - m) + 2pm + z(p + m) = u**2 - (2m**2 + z**2 + 2mz)
    <= u**2; likewise below. So the claim: (u**2 + l**2) / 2N <= N/2. Hence L1 of all C is at most N/(N + 1) < 1, that of a
    single one is half of it, and L2**2 is at most 2 (N / 2(N + 1))**2 < 1/2. N is private, so the distance is 1. One group
    grows by one, which moves w times its size by w.
    Replacing a person is to remove one of N and add one to N - 1: C moves by at most 2(1 - 1/N) in L1, sqrt(2)(1 - 1/N) in
    L2, a single C by 1 - 1/N, and sizes by w twice if the groups differ. With two groups that differ C_1 moves by (D_1(y) +
    D_2(x)) / N, at most (N - 1)/2N, because the C_g of the others add to 0. Someone whose value or group is missing
    counts nowhere: then it is add/remove. C lies on multiples of 1/2N, which is private; it is rounded to the public grid,
    which moves each of two neighbours by half a step at most.
    """

    number: Factor
    group: Factor
    weight: Fraction

    def __post_init__(self) -> None:
        if self.group.size < 2:
            raise InvalidRequest(f"ranks are compared between two groups or more, got {self.group.size}")
        if self.weight <= 0 or (self.weight / self.grid).denominator != 1:
            raise InvalidRequest(f"weight must be positive and on a grid of {self.grid}, got {self.weight}")

    @property
    def sums(self) -> int:
        """How many sums of ranks are given."""
        return 1 if self.group.size == 2 else self.group.size

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.number.column, self.group.column)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sums of ranks, then weighted sizes."""
        return (self.sums + self.group.size,)

    def distance(self, relation: Relation) -> Distance:
        w, half, one = self.weight, Fraction(1, 2), Fraction(1)
        if relation == "add_remove":
            l1 = half + w if self.sums == 1 else 1 + w
            square, linf = (half**2 if self.sums == 1 else half) + w * w, max(half, w)
        else:
            l1 = max(one, half + 2 * w) if self.sums == 1 else 2 + 2 * w
            square = max(one, half**2 + 2 * w * w) if self.sums == 1 else 2 + 2 * w * w
            linf = max(one, w)
        rounding = self.sums * self.grid
        return Distance(l1 + rounding, numbers.square_root_up(square) + rounding, linf + self.grid)

    def step(self, batch: Any) -> Runs:
        codes = quantise(batch.numeric(self.number.column), self.number.lo, self.number.hi)
        places = batch.codes(self.group.column)
        valid = ~np.isnan(codes) & (places >= 0)
        kept = batch.kept(self.columns)
        valid = valid if kept is None else valid & kept
        return tally(codes[valid].astype(np.int64), places[valid].astype(np.int64), self.group.size)

    def combine(self, left: Runs, right: Runs) -> Runs:
        return combined(left, right)

    def finish(self, total: Runs) -> Exact:
        _, counts = whole(total)
        people = int(counts.sum())
        ranks = doubled_midranks(counts.sum(1)) - (people + 1)
        sums = [Fraction(product(counts[:, g], ranks), 2 * max(people, 1)) for g in range(self.sums)]
        return self._exact(sums, [Fraction(int(n)) for n in counts.sum(0)])

    def blank(self, rows: int) -> Exact:
        """As if groups were of one size and nobody ranked higher than others."""
        return self._exact([Fraction(0)] * self.sums, [Fraction(rows, self.group.size)] * self.group.size)

    def _exact(self, sums: list[Fraction], sizes: list[Fraction]) -> Exact:
        steps = [round(s / self.grid) for s in (*sums, *(self.weight * n for n in sizes))]
        return Exact(held(steps), self.grid)


def held(steps: list[int]) -> Integers:
    """Whole numbers of 64 bits; past a few thousand million people they stand still."""
    return np.array([max(-MOST, min(MOST, s)) for s in steps], np.int64)
