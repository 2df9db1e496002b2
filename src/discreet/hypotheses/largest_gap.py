"""Whether two groups have one distribution, from one number: the largest gap of their distribution functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.mechanism import NoiseLaw
from discreet.core.query import Relation, queries
from discreet.core.reading import readings
from discreet.core.release import Release
from discreet.hypotheses.draws import noise, stream_of, uniforms
from discreet.hypotheses.monte_carlo import MonteCarloTest
from discreet.hypotheses.ordered_groups import OrderedGroups, sizes_of
from discreet.hypotheses.reading import LEAST_DRAWS
from discreet.hypotheses.tally import Integers
from discreet.statistics.equation import noise_variance
from discreet.statistics.reading import Floats

_SQUARE = math.pi**2 / 12  # the mean square of Kolmogorov's law
_BETA = 0.8416212  # the normal quantile of .8


@queries("largest_gap")
@dataclass(frozen=True)
class LargestGap(OrderedGroups):
    """K = n1 n2 / N times the largest |F1(t) - F2(t)| over all values t, and ``weight`` times the sizes n1 and n2.

    ``distance`` with w = ``weight``: L1 is 1 + w under add/remove and 1 + 2w under replace and both; L2 is
    sqrt(1 + w**2), and sqrt(1 + 2w**2). One step of the grid is added for the rounding of K.

    Proof: n1 n2 (F1(t) - F2(t)) / N is the sum over people of (u_i - u)(v_i - v), u_i = 1 in the first group and 0 in the
    second, v_i = 1 at or below t and else 0, u and v their means: N times a covariance. One who joins N others of means u
    and v moves it by N/(N + 1) times (u_i - u)(v_i - v), whose size is at most 1. One who takes another's place among N - 1
    others moves it by (N - 1)/N times the difference of two such products. Each is one of (1 - u)(1 - v), -(1 - u) v,
    -u (1 - v) and u v; any two of opposite sign are 1 - u, u, 1 - v or v apart, two of one sign at most 1. That holds at
    every t, whether somebody stands there or not, and the largest size of several numbers moves no further than the one
    that moves most. One group grows by one; a replacement moves two sizes by w each if the groups differ. Someone whose
    value or group is missing counts nowhere: then replacing is add/remove. K lies on multiples of 1/N, which is private, and
    is rounded to the public grid: half a step for each of two neighbours.
    """

    def distance(self, relation: Relation) -> Distance:
        w, times = self.weight, 1 if relation == "add_remove" else 2
        l2 = numbers.square_root_up(1 + times * w * w)
        return Distance(1 + times * w + self.grid, l2 + self.grid, max(Fraction(1), w) + self.grid)

    def of_order(self, counts: Integers) -> list[Fraction]:
        people = int(counts.sum())
        kind: Any = np.int64 if people < 1 << 31 else object  # products beyond 64 bits are made of Python's integers
        below = np.cumsum(counts.astype(kind), axis=0)
        if not people:
            return [Fraction(0)]
        first, whole = below[:, 0], below.sum(1)
        return [Fraction(int(np.abs(people * first - first[-1] * whole).max()), people)]


@readings("largest_gap")
@dataclass(frozen=True)
class LargestGapTest(MonteCarloTest):
    """The largest distance of two groups' distribution functions (Kolmogorov and Smirnov), and the p-value of their having
    one distribution.

    ``statistic`` is K in units of sqrt(pi**2 m / 12 + nu), m = n1 n2 / N and nu the variance of the noise of K. Under the
    hypothesis K / sqrt(m) has Kolmogorov's law where people are many and values do not tie; with fewer people or with ties
    it is smaller, and the test conservative. It is drawn, and the noise of the release moves K and the sizes. Where fewer
    than one is left in a group p is 1.
    """

    weight: float
    draws: int = LEAST_DRAWS
    shape: ClassVar[tuple[int, ...]] = (3,)
    effect: ClassVar[str] = "Largest distance of the distribution functions"

    @property
    def method(self) -> str:
        return f"Monte Carlo: {self.draws} numbers of Kolmogorov's law, with the noise of the release"

    def compute(self, cells: Floats) -> Floats:
        return np.asarray(np.clip(cells[..., 0] / np.maximum(self._pairs(cells), 1.0), 0.0, 1.0))

    def statistic(self, releases: Sequence[Release]) -> float:
        cells = self.cells(releases)
        return float(cells[0] / self._unit(cells, releases[0].noise))

    def under_hypothesis(self, cells: Floats, law: NoiseLaw) -> Floats | None:
        from scipy.special import kolmogi

        if (sizes_of(cells, self.weight, 2) < 1).any():
            return None
        stream = stream_of(cells)
        made = noise(law, self.draws, cells.size, stream) + np.append(0.0, cells[1:])
        made[:, 0] += kolmogi(uniforms(self.draws, 1, stream)[:, 0]) * np.sqrt(self._pairs(cells))
        return np.asarray(made[:, 0] / self._unit(made, law))

    def seen_effect(self, releases: Sequence[Release]) -> float | None:
        """A distance of the two distribution functions: where it is, they differ by a normal number of that mean."""
        cells, law = self.cells(releases), releases[0].noise
        drawn, pairs = self.under_hypothesis(cells, law), float(self._pairs(cells))
        if drawn is None:
            return None
        least = float(np.quantile(drawn, 0.95) * self._unit(cells, law))
        return min((least + _BETA * math.sqrt(pairs / 4 + self._noise(law))) / pairs, 1.0)

    def _pairs(self, cells: Floats) -> Floats:
        """n1 n2 / N."""
        sizes = sizes_of(cells, self.weight, 2)
        return np.asarray(sizes.prod(-1) / np.maximum(sizes.sum(-1), 1.0))

    def _unit(self, cells: Floats, law: NoiseLaw) -> Floats:
        return np.asarray(np.sqrt(np.maximum(_SQUARE * self._pairs(cells) + self._noise(law), 1e-12)))

    def _noise(self, law: NoiseLaw) -> float:
        return float(noise_variance(np.eye(3)[:1], law)[0])
