"""Centred sums of ranks, group by group, with the sizes of the groups: what Mann-Whitney and Kruskal-Wallis need."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import Relation, queries
from discreet.hypotheses.ordered_groups import OrderedGroups
from discreet.hypotheses.tally import Integers, doubled_midranks, product


@queries("rank_sums")
@dataclass(frozen=True)
class RankSums(OrderedGroups):
    """C_g = sum over group g of (R_i - (N + 1)/2) / N with midranks R, and ``weight`` times the size of every group.

    Of two groups C_1 alone is given, because the sums add to 0; of more, all. In what follows w is ``weight``.

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

    @property
    def sums(self) -> int:
        return 1 if self.group.size == 2 else self.group.size

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

    def of_order(self, counts: Integers) -> list[Fraction]:
        return rank_sums(counts, self.sums)


def rank_sums(counts: Integers, groups: int) -> list[Fraction]:
    """C of the first ``groups`` groups."""
    people = int(counts.sum())
    ranks = doubled_midranks(counts.sum(1)) - (people + 1)
    return [Fraction(product(counts[:, g], ranks), 2 * max(people, 1)) for g in range(groups)]
