"""Duchi's mean: one bit, told with known odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.local.exact_draws import bits, tilted
from discreet.local.law import Tally, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.local.scalar import ScalarLaw
from discreet.mechanisms.sampling.uniform import Floats, Integers


@local_mechanisms("duchi")
@dataclass(frozen=True)
class Duchi(ScalarLaw):
    """z = +B or -B with B = (R + 1) / (R - 1) and P(+) = 1/2 + t / (2 B) (Duchi, Jordan and Wainwright 2018).

    The value is first rounded to a random end of the range without bias, and the end is told with odds R. Variance
    B^2 - t^2: the best law for small epsilon.

    Proof: the report is randomised response on a bit, so its ratio is at most R however the bit came about.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"answer": Column(0, 1)}

    @property
    def reach(self) -> float:
        """B."""
        return float((self.odds + 1) / (self.odds - 1))

    def draw(self, random: Random, encoded: Floats) -> Columns:
        upper = tilted(random, encoded)
        true = bits(random, self.odds / (self.odds + 1), encoded.size)
        return {"answer": (upper == true).astype(np.int64)}

    def log_chance(self, columns: Columns, t: Any, xp: Any = np) -> Any:
        sign = 2.0 * columns["answer"] - 1
        return xp.log1p(float(self.odds - 1) * (1 + sign * t) / 2) - np.log(float(self.odds + 1))

    def sums(self, columns: Columns) -> Integers:
        return np.array([np.count_nonzero(columns["answer"])], np.int64)

    def moments(self, tally: Tally) -> tuple[float, float]:
        share = int(tally.sums[0]) / tally.count
        return self.reach * (2 * share - 1), self.reach**2

    def variance(self, t: Any) -> Any:
        return self.reach**2 - np.square(t)

    @property
    def worst_variance(self) -> float:
        return self.reach**2
