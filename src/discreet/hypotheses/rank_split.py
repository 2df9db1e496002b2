"""Whether several groups differ in rank, from one number: the largest rank sum over all ways to split them in two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.mechanism import NoiseLaw
from discreet.core.query import Relation, queries
from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.hypotheses.draws import noise, normals, stream_of
from discreet.hypotheses.monte_carlo import MonteCarloTest
from discreet.hypotheses.ordered_groups import OrderedGroups, sizes_of
from discreet.hypotheses.rank_sums import rank_sums
from discreet.hypotheses.tally import Integers
from discreet.statistics.equation import noise_variance
from discreet.statistics.reading import Floats

_BETA = 0.8416212  # the normal quantile of .8


@queries("rank_split")
@dataclass(frozen=True)
class RankSplit(OrderedGroups):
    """T = the largest C_A over sets A of groups, C_A the sum of their C_g of ``RankSums``; and the weighted sizes.

    C_A is the rank sum of the people of A against all others. The C_g add to 0, so T is the sum of those above 0, half of
    the sum of |C_g|: Couch, Kazan, Shi, Bray and Groce (2019) test with four times as much.

    ``distance`` with w = ``weight``: L1 is 1/2 + w under add/remove and 1 + 2w under replace and both; L2 is
    sqrt(1/4 + w**2), and sqrt(1 + 2w**2). One step of the grid is added for the rounding of T.

    Proof: every C_A is the rank sum of two groups, A and the rest, which a person moves by at most 1/2 by joining and by
    1 - 1/N by replacing another (``RankSums``), and the largest of several numbers moves no further than the one that moves
    most.
    One group grows by one; a replacement moves two sizes by w each if the groups differ. Someone whose value or group is
    missing counts nowhere: then replacing is add/remove. T lies on multiples of 1/2N, which is private, and is rounded to
    the public grid: half a step for each of two neighbours.
    """

    def distance(self, relation: Relation) -> Distance:
        w, most, times = self.weight, *((Fraction(1, 2), 1) if relation == "add_remove" else (Fraction(1), 2))
        l2 = numbers.square_root_up(most**2 + times * w * w)
        return Distance(most + times * w + self.grid, l2 + self.grid, max(most, w) + self.grid)

    def of_order(self, counts: Integers) -> list[Fraction]:
        return [sum((max(c, Fraction(0)) for c in rank_sums(counts, self.group.size)), Fraction(0))]


@readings("rank_split")
@dataclass(frozen=True)
class RankSplitTest(MonteCarloTest):
    """4 T / N: the largest of 4 p (1 - p) |P(X > Y) + P(X = Y)/2 - 1/2| over the ways to split the groups in two, X of one
    side and Y of the other, p the share of one side; and the p-value of all groups' having one distribution.

    ``statistic`` is T in units of sqrt(s**2 + nu), s**2 the sum of n_g (1 - n_g / N) / 12 and nu the variance of the noise
    of T. Its law under the hypothesis is drawn: rank sums are normal with covariance N/12 (diag p - p p'), p the shares of
    the groups, and the noise of the release moves T and the sizes. Where fewer than one is left in all p is 1.

    One number has less noise than one for each group, and sees less of a few groups among many: in large tables of many
    groups the sums of ``RankSums`` find more.
    """

    groups: int
    weight: float
    draws: int
    effect: ClassVar[str] = "Distance of P(X > Y) from 1/2 between two sides, weighted by their sizes"

    @property
    def shape(self) -> tuple[int, ...]:
        return (1 + self.groups,)

    @property
    def method(self) -> str:
        return (
            f"Monte Carlo: {self.draws} largest rank sums of normal ones, with the noise of the release, without a "
            "correction for ties"
        )

    def compute(self, cells: Floats) -> Floats:
        people = np.maximum(sizes_of(cells, self.weight, self.groups).sum(-1), 1.0)
        return np.asarray(np.clip(4 * cells[..., 0] / people, 0.0, 0.5))

    def statistic(self, releases: Sequence[Release]) -> float:
        cells = self.cells(releases)
        return float(cells[0] / self._unit(cells, releases[0].noise))

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        sizes = sizes_of(cells, self.weight, self.groups)
        people = float(sizes.sum())
        if people < 1:
            return None
        stream = stream_of(cells)
        steps = normals(self.draws, self.groups, stream) * np.sqrt(sizes / 12)
        sums = steps - steps.sum(-1, keepdims=True) * (sizes / people)
        made = noise(law, self.draws, cells.size, stream) + np.append(0.0, cells[1:])
        made[:, 0] += np.abs(sums).sum(-1) / 2
        return np.asarray(made[:, 0] / self._unit(made, law))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """How far one group's P(X > Y) is from 1/2 against all others, of groups as large as these are on average."""
        cells, law = self.cells(releases), releases[0].noise
        drawn, people = self.under_hypothesis(cells, law), float(sizes_of(cells, self.weight, self.groups).sum())
        if drawn is None:
            return None
        least, share = float(np.quantile(drawn, 0.95) * self._unit(cells, law)), 1 / self.groups
        spread = people / 12 * share * (1 - share) + self._noise(law)
        return min((least + _BETA * math.sqrt(spread)) / (people * share * (1 - share)), 0.5)

    def _unit(self, cells: Floats, law: NoiseLaw) -> Floats:
        sizes = sizes_of(cells, self.weight, self.groups)
        people = np.maximum(sizes.sum(-1, keepdims=True), 1.0)
        return np.asarray(np.sqrt(np.maximum((sizes * (1 - sizes / people)).sum(-1) / 12 + self._noise(law), 1e-12)))

    def _noise(self, law: NoiseLaw) -> float:
        return float(noise_variance(np.eye(1 + self.groups)[:1], law)[0])
