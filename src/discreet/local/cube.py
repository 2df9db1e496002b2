"""The cube: one corner of a cube that agrees with yours in more coordinates than chance would have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.core.random import Random
from discreet.local.exact_draws import WeightedLaw, odds, subsets, tilted
from discreet.local.frequency import counted, packed, unpacked
from discreet.local.law import Tally, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.local.vector import BoxLaw
from discreet.mechanisms.sampling.uniform import Floats, Integers


@local_mechanisms("cube")
@dataclass(frozen=True)
class Cube(BoxLaw):
    """All coordinates at once, one bit each (after Duchi, Jordan and Wainwright 2018, with their sampler made exact).

    The value is rounded to a random corner without bias, P(+) = 1/2 + t_j / 2. A corner that agrees with it in k of d
    coordinates is reported with probability proportional to R if k >= m and to 1 if not: draw k with weights C(d, k)
    times that, then flip a uniform set of d - k coordinates. z = B times the corner, with
    B = (R P_m + 2^d - P_m) / ((R - 1) C(d-1, m-1)), P_m = sum of C(d, k) over k >= m; m is the one with the least B.
    Variance B^2 - t_j^2.

    Proof: every corner has the same normaliser R P_m + 2^d - P_m, so the ratio between two corners is R, 1 or 1/R, and
    rounding to a corner is a mixture. Given the corner, the mean of a coordinate that agrees is the sum of
    (2k - d)/d over the law of k; as C(d,k)(2k - d)/d = C(d-1,k-1) - C(d-1,k) telescopes to C(d-1,m-1), it is 1/B.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"corner": Column.of_marks(self.dimension)}

    @cached_property
    def _table(self) -> tuple[int, Fraction, WeightedLaw]:
        return _table(self.dimension, self.epsilon)

    @property
    def threshold(self) -> int:
        """m: the least number of agreeing coordinates that is favoured."""
        return self._table[0]

    @cached_property
    def reach(self) -> float:
        """B."""
        return float(self._table[1])

    def draw(self, random: Random, encoded: Floats) -> Columns:
        corner = tilted(random, encoded)
        agreeing = self._table[2].draw(random, len(encoded))
        return {"corner": packed(corner ^ subsets(random, self.dimension - agreeing, self.dimension))}

    def _log_prob(self, columns: Columns, t: Floats) -> Floats:
        """ln((1 + (R - 1) P(at least m agree)) / Z); the number that agree is a sum of independent bits."""
        signs = 2.0 * unpacked(columns["corner"], self.dimension) - 1
        agree = (1 + signs * np.broadcast_to(t, signs.shape)) / 2
        law = np.zeros((len(signs), self.dimension + 1))
        law[:, 0] = 1.0
        for j in range(self.dimension):
            p = agree[:, j, None]
            law[:, 1:] = law[:, 1:] * (1 - p) + law[:, :-1] * p
            law[:, :1] *= 1 - p
        whole = Fraction(self._table[2].total, self.odds.denominator)
        value: Floats = np.log1p(float(self.odds - 1) * law[:, self.threshold :].sum(axis=1))
        return value - (math.log(whole.numerator) - math.log(whole.denominator))

    def sums(self, columns: Columns) -> Integers:
        return counted(columns["corner"], self.dimension)

    def moments(self, tally: Tally) -> tuple[Floats, Floats]:
        mean = self.reach * (2 * (tally.sums / tally.count) - 1)
        return mean, np.full(self.dimension, self.reach**2)

    @property
    def worst_variance(self) -> float:
        return self.reach**2


@lru_cache(maxsize=16)
def _table(d: int, epsilon: Fraction) -> tuple[int, Fraction, WeightedLaw]:
    """m, B in units of t, and the law of the number of agreeing coordinates; in whole numbers of any size."""
    ratio = odds(epsilon)
    ways = [1]
    for k in range(d):
        ways.append(ways[-1] * (d - k) // (k + 1))
    every, tail = 1 << d, 0
    best, m = math.inf, 0
    for k in range(d, 0, -1):
        tail += ways[k]
        # C(d-1, k-1) = C(d, k) k / d; whole numbers of any size have logarithms.
        favour = (ratio.numerator - ratio.denominator) * tail + ratio.denominator * every
        size = math.log(favour) - math.log(ways[k] * k // d)
        if size < best:
            best, m = size, k
    above = sum(ways[m:])
    reach = (ratio * above + every - above) / ((ratio - 1) * (ways[m] * m // d))
    weights = [way * (ratio.numerator if k >= m else ratio.denominator) for k, way in enumerate(ways)]
    return m, reach, WeightedLaw(weights)
