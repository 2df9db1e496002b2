"""Laplace noise: the plain choice for a pure guarantee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.mechanisms.additive import Additive, how_many, one_per_coordinate, scales_by_block, shared, some
from discreet.mechanisms.sampling import exponential_draws
from discreet.mechanisms.sampling.uniform import Floats, Integers


@mechanisms("laplace")
@dataclass(frozen=True, init=False)
class Laplace(Additive):
    """Noise with density exp(-|x| / scale) / (2 scale), rounded to the grid (Dwork et al. 2006).

    ``cost``: epsilon = sum of (sensitivity / scale) over coordinates, exactly.

    Proof: moving coordinate i by D_i changes its log-density by at most D_i / b_i, and coordinates are independent, so
    the log-ratio is at most the sum. With one scale b that is (L1 distance) / b; with different scales the sum of each
    block's L1 over its least scale where the blocks are known, else L1 over the least of all. The Rényi curve is the one
    of a scalar moved by t = epsilon scales, ln((a e^((a-1)t) + (a-1) e^(-a t)) / (2a-1)) / (a-1) (Mironov 2017): its
    logarithm is a log-sum-exp of linear functions of t that is zero at zero, hence convex and superadditive, so moving
    several coordinates costs no more than moving one by the sum.
    """

    words = (
        "Laplace noise: a random amount, small ones most likely, equally often up and down. What one person can change "
        "moves the true number so little that no result becomes more than e^ε times as likely."
    )
    tails = "laplace"

    @classmethod
    def costing(
        cls,
        sensitivity: Sensitivity = 1,
        *,
        epsilon: Number,
        shares: Sequence[Number] | None = None,
        grid: Number | None = None,
    ) -> Self:
        """The law that costs ``epsilon``: scale (L1 distance) / epsilon, or D_i / (p_i epsilon) with shares p."""
        e, distance = numbers.positive(epsilon, "epsilon"), Distance.of(sensitivity)
        if shares is None:
            return cls(some(distance.l1) / e, grid, how_many(sensitivity))
        scales = [some(block.l1) / (share * e) for block, share in shared(distance, shares)]
        return cls(one_per_coordinate(distance, scales), grid, how_many(sensitivity))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        pairs = scales_by_block(self.scales, Distance.of(sensitivity))
        epsilon = sum((block.l1 / scale for block, scale in pairs), Fraction(0))
        return _cost(epsilon)

    def _log_density(self, d: Any) -> Any:
        return -d - math.log(2)

    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        """With d = steps / s, h = 1 / 2s: away from the exact value e^-d sinh h, around it 1 - e^-h cosh d."""
        d, h = steps / scale, 1 / (2 * scale)
        away = h + np.log(-np.expm1(-2 * h)) + self._log_density(d)
        with np.errstate(over="ignore", divide="ignore"):
            around = xp.log(-np.expm1(-h) - 2 * np.exp(-h) * xp.sinh(xp.minimum(d, h) / 2) ** 2)
        return xp.where(d >= h, away, around)

    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        return exponential_draws.laplace(random, scales, size, offset)

    def _one_noise(self, random: Random, offset: float) -> int:
        return exponential_draws.one_laplace(random, *self._one_scale, offset)

    @cached_property
    def _one_scale(self) -> tuple[Fraction, float]:
        return self._steps[0], float(self._steps[0])

    def _tail(self, steps: Floats, scale: float) -> Floats:
        away = (steps - 0.5) / scale
        half = np.exp(-np.abs(away)) / 2
        return np.asarray(np.where(away > 0, half, 1 - half))

    def _quantile(self, p: float, scale: float) -> float:
        return scale * (math.log(2 * p) if p < 0.5 else -math.log(2 * (1 - p)))

    def _spread(self, scale: float) -> float:
        return math.sqrt(2) * scale

    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """-ln(1 + b**2 t**2)."""
        return -np.log1p((scale * t) ** 2)


def _renyi(order: float, t: float) -> float:
    """ln((a e^((a-1)t) + (a-1) e^(-a t)) / (2a-1)) / (a-1), as t and a log1p, which never overflow; from above."""
    if t == 0.0:
        return 0.0
    a = order
    value = t + math.log1p((a - 1) / (2 * a - 1) * math.expm1(-(2 * a - 1) * t)) / (a - 1)
    # The two terms cancel for small t: allow for the last digits of either.
    return max(value, 0.0) + 2.0**-49 * t * a / (a - 1)


@lru_cache(maxsize=1024)
def _cost(epsilon: Fraction) -> Cost:
    pure, t = Cost.pure(epsilon), float(epsilon)
    own = Cost.renyi(lambda a: _renyi(a, t))
    return Cost(pure.epsilon, pure.delta, pure.rho, pure.slack, tuple(map(min, pure.curve, own.curve)))
