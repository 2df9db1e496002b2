"""Discrete Laplace noise: whole numbers, for counts under a pure guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Sensitivity, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.mechanisms.additive import how_many, some
from discreet.mechanisms.lattice import Lattice, on_lattice
from discreet.mechanisms.sampling import exponential_draws
from discreet.mechanisms.sampling.uniform import Floats, Integers


@mechanisms("discrete_laplace")
@dataclass(frozen=True, init=False)
class DiscreteLaplace(Lattice):
    """Noise k on the grid with probability proportional to exp(-|k| / scale) (Ghosh et al. 2009).

    ``cost``: epsilon = (L1 distance) / scale, exactly.

    Proof: exact values lie on the grid, so a neighbour shifts the law by whole steps and both have the same support; the
    log-ratio at any point is at most the shift over the scale, and coordinates are independent and add.
    """

    words = "Discrete Laplace noise: the Laplace law on whole numbers, for counts."
    tails = "laplace"

    @classmethod
    def costing(cls, sensitivity: Sensitivity = 1, *, epsilon: Number, grid: Number | None = None) -> Self:
        """The law that costs ``epsilon``: scale (L1 distance) / epsilon."""
        scale = some(Distance.of(sensitivity).l1) / numbers.positive(epsilon, "epsilon")
        return cls(scale, grid, how_many(sensitivity))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Cost.pure(Distance.of(sensitivity).l1 / min(self.scales))

    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        if size == 1:
            return np.array([exponential_draws.one_discrete_laplace(random, scales[0])], np.int64)
        return exponential_draws.discrete_laplace(random, scales[0], size)

    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        """(1 - q) / (1 + q) q^|k| with q = e^(-1/s)."""
        at_zero = np.log(-np.expm1(-1 / scale)) - np.log1p(np.exp(-1 / scale))
        return on_lattice(steps, at_zero - steps / scale, xp)

    def _tail(self, steps: Floats, scale: float) -> Floats:
        return whole_cdf(-steps, math.exp(-1 / scale))

    def _quantile(self, p: float, scale: float) -> float:
        """The least k with P(K <= k) >= p, from P(K > k) = q^(k+1) / (1 + q) for k >= 0."""
        s = scale / float(self.grid)
        q = math.exp(-1 / s)
        if p > 0.5:
            steps = max(0, math.ceil(-s * math.log((1 - p) * (1 + q)) - 1 - 1e-12))
        else:
            steps = -max(0, math.floor(-s * math.log(p * (1 + q)) + 1e-12))
        return steps * float(self.grid)

    def _spread(self, scale: float) -> float:
        q = math.exp(-float(self.grid) / scale)
        return math.sqrt(2 * q) / (1 - q) * float(self.grid)

    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """ln of (1 - q)**2 / (1 - 2q cos t + q**2), in steps: -ln(1 + 4q sin(t/2)**2 / (1 - q)**2)."""
        step = float(self.grid)
        q = np.exp(-step / scale)
        value: Floats = -np.log1p(4 * q * np.sin(t * step / 2) ** 2 / (1 - q) ** 2)
        return value


def whole_cdf(k: Floats, q: float) -> Floats:
    """P(discrete Laplace <= k) for whole k: q**-k / (1 + q) below 0, 1 - q**(k+1) / (1 + q) from 0 on."""
    with np.errstate(over="ignore"):
        return np.asarray(np.where(k < 0, q ** -np.minimum(k, 0) / (1 + q), 1 - q ** (np.maximum(k, 0) + 1) / (1 + q)))
