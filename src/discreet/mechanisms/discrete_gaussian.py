"""Discrete Gaussian noise: whole numbers, for counts under a concentrated guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.mechanisms.additive import how_many, some
from discreet.mechanisms.gaussian import squared_shift
from discreet.mechanisms.lattice import Lattice, on_lattice
from discreet.mechanisms.sampling import normal_draws
from discreet.mechanisms.sampling.uniform import Floats, Integers

_WIDE = 10_000.0  # from here on a sum over steps and the normal integral agree to 1e-9


@mechanisms("discrete_gaussian")
@dataclass(frozen=True, init=False)
class DiscreteGaussian(Lattice):
    """Noise k on the grid with probability proportional to exp(-k**2 / (2 scale**2)) (Canonne, Kamath and Steinke 2020).

    ``cost``: rho = (L2 distance)**2 / (2 scale**2), exactly. No (epsilon, delta) is claimed beyond what rho implies: the
    scale that makes the continuous Gaussian (epsilon, delta)-private does not do so here.

    Proof: for a shift by whole steps the Rényi divergence is at most a shift**2 / (2 scale**2) (their proposition 5),
    and independent coordinates add, which gives the square of the L2 distance.
    """

    words = "Discrete Gaussian noise: the bell curve on whole numbers, for counts."
    tails = "gaussian"

    claim: Price | None

    def __init__(
        self,
        scale: Number,
        grid: Number | None = None,
        claim: Price | None = None,
        coordinates: int | None = None,
    ) -> None:
        super().__init__(scale, grid, coordinates)
        object.__setattr__(self, "claim", claim)

    @classmethod
    def costing(cls, sensitivity: Sensitivity = 1, *, rho: Number, grid: Number | None = None) -> Self:
        """The law that costs ``rho``: scale (L2 distance) / sqrt(2 rho)."""
        claim = Price(rho=rho)
        ratio = numbers.square_root_up(1 / (2 * numbers.positive(rho, "rho")))
        return cls(some(Distance.of(sensitivity).l2) * ratio, grid, claim, how_many(sensitivity))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        rho = squared_shift(self.scales, Distance.of(sensitivity)) / 2
        if self.claim is not None and self.claim.rho is not None:
            rho = self.claim.rho if rho <= self.claim.rho <= rho * (1 + Fraction(1, 10**8)) else rho
        return Cost.zcdp(rho)

    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        return normal_draws.discrete_gaussian(random, scales[0], size)

    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        return on_lattice(steps, -0.5 * (steps / scale) ** 2 - math.log(total_weight(float(scale[0]))), xp)

    def _tail(self, steps: Floats, scale: float) -> Floats:
        """As ``quantile``: far beyond a step by the normal integral, for a sum over all steps would fill the memory."""
        if scale < _WIDE:
            return super()._tail(steps, scale)
        from scipy.special import ndtr

        return np.asarray(ndtr((0.5 - steps) / scale))

    def _quantile(self, p: float, scale: float) -> float:
        s = scale / float(self.grid)
        if s >= _WIDE:
            from scipy.special import ndtri

            return math.ceil(s * float(ndtri(p)) - 0.5) * float(self.grid)
        places, cumulated = _table(s)
        index = min(int(np.searchsorted(cumulated, p)), len(places) - 1)
        return float(places[index]) * float(self.grid)

    def _spread(self, scale: float) -> float:
        s = scale / float(self.grid)
        if s >= _WIDE:
            return scale
        places, cumulated = _table(s)
        return math.sqrt(float(np.diff(cumulated, prepend=0.0) @ places**2)) * float(self.grid)

    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """By Poisson's sum: exp(-s**2 (t + 2 pi m)**2 / 2) added over all whole m, over the same at t = 0; in steps."""
        s, turn = scale / float(self.grid), 2 * math.pi
        angle = np.remainder(t * float(self.grid) + math.pi, turn) - math.pi
        beside, at_zero = np.zeros(np.broadcast_shapes(t.shape, s.shape)), np.zeros(s.shape)
        reach = math.ceil(2 / float(s.min())) + 1  # further terms are below exp(-2 pi**2 (2 m - 1) s**2) of the first
        for m in (m for k in range(1, reach + 1) for m in (k, -k)):
            beside += np.exp(-0.5 * s**2 * turn * m * (turn * m + 2 * angle))
            at_zero += np.exp(-0.5 * (s * turn * m) ** 2)
        value: Floats = -0.5 * (s * angle) ** 2 + np.log1p(beside) - np.log1p(at_zero)
        return value


def total_weight(scale: float) -> float:
    """The sum of exp(-k**2 / (2 s**2)) over all whole k; for s >= 1/2 by its Poisson dual, which converges at once."""
    k = np.arange(1, 8)
    if scale < 0.5:
        return 1 + 2 * float(np.exp(-0.5 * (k / scale) ** 2).sum())
    return scale * math.sqrt(2 * math.pi) * (1 + 2 * float(np.exp(-2 * (math.pi * scale * k) ** 2).sum()))


@lru_cache(maxsize=16)
def _table(scale: float) -> tuple[Floats, Floats]:
    """Every step out to 40 scales, and the probability of being at or below it."""
    reach = max(3, math.ceil(40 * scale))
    places = np.arange(-reach, reach + 1).astype(np.float64)
    return places, np.cumsum(np.exp(-0.5 * (places / scale) ** 2)) / total_weight(scale)
