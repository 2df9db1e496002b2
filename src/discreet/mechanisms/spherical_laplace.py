"""Spherical Laplace noise: a pure guarantee for a vector measured in L2, as output and objective perturbation need it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.exact import Exact
from discreet.core.mechanism import Sensitivity, VectorNoise, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.errors import GridOverflow, InvalidRequest
from discreet.mechanisms.additive import Gridded, how_many, namespace, some
from discreet.mechanisms.sampling import sphere
from discreet.mechanisms.sampling.uniform import LARGEST, LARGEST_BITS, Floats, Integers


@mechanisms("spherical_laplace")
@dataclass(frozen=True, init=False)
class SphericalLaplace(Gridded):
    """Vector noise with density proportional to exp(-|b|_2 / scale), every coordinate rounded to the grid.

    ``cost``: epsilon = (L2 distance) / scale, exactly. The rate of the literature is 1 / scale.

    Proof: by the triangle inequality a shift by v changes the log-density by at most |v|_2 / scale (Chaudhuri, Monteleoni
    and Sarwate 2011); rounding is post-processing.
    """

    words = "Spherical Laplace noise: Laplace noise for a whole vector, the same in every direction."
    no_posterior = ""

    def __init__(self, scale: Number, grid: Number | None = None, coordinates: int | None = None) -> None:
        super().__init__(scale, grid, coordinates)

    @staticmethod
    def _default_grid(scales: tuple[Fraction, ...]) -> Fraction:
        """Coarser than that of scalar laws: a coordinate's noise is sqrt(d + 1) times the scale, and d may be large."""
        return Fraction(2) ** (numbers.floor_log2(min(scales)) - 16)

    @classmethod
    def costing(cls, sensitivity: Sensitivity = 1, *, epsilon: Number, grid: Number | None = None) -> Self:
        """The law that costs ``epsilon``: scale (L2 distance) / epsilon."""
        scale = some(Distance.of(sensitivity).l2) / numbers.positive(epsilon, "epsilon")
        return cls(scale, grid, how_many(sensitivity))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Cost.pure(Distance.of(sensitivity).l2 / min(self.scales))

    def log_prob(self, released: Any, exact: Any) -> Any:
        """The log-density of the whole vector (last axis), which is that of its cell to within sqrt(d) grid / (2 scale).

        |S| = 2 pi^(d/2) / Gamma(d/2) is the surface of the unit sphere: the density is e^(-r/s) / (|S| Gamma(d) s^d).
        """
        xp = namespace(released, exact)
        apart = xp.atleast_1d(
            xp.asarray(released, float) - xp.asarray(exact.value if isinstance(exact, Exact) else exact, float)
        )
        d, s = apart.shape[-1], float(self.scales[0])
        surface = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        value = -xp.sqrt((apart**2).sum(-1)) / s - surface - math.lgamma(d) - d * math.log(s)
        return value if value.ndim or xp is not np else float(value)

    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        if scales[0] * size > LARGEST:
            raise GridOverflow(
                f"scale times dimension is at most 2**{LARGEST_BITS} grid steps, got {size} dimensions; use a coarser grid"
            )
        return sphere.spherical_laplace(random, scales[0], size, offset)

    def error(self, level: float = 0.95, *, dimension: int) -> float:
        """The length of the noise in ``dimension`` dimensions stays within this with probability at least ``level``."""
        from scipy.special import gammaincinv

        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        rounding = math.sqrt(dimension) * float(self.grid) / 2
        return float(self.scales[0]) * float(gammaincinv(dimension, level)) + rounding

    def expected_error(self, *, dimension: int) -> float:
        """The root mean square of one coordinate in ``dimension`` dimensions: scale sqrt(d + 1)."""
        return float(self.scales[0]) * math.sqrt(dimension + 1)

    def deviation(self, size: int) -> Floats:
        return np.full(size, self.expected_error(dimension=size))

    def margin(self, level: float, size: int) -> float:
        return self.quantile(0.5 + level / 2, dimension=size) + float(self.grid) / 2

    @property
    def vector_noise(self) -> VectorNoise:
        return VectorNoise(float(self.scales[0]), spherical=True)

    def quantile(self, p: float, *, dimension: int) -> float:
        """The p-quantile of one coordinate in ``dimension`` dimensions.

        One coordinate is the difference of two Gamma((d+1)/2) variables, which is a normal of variance 2 G with G again
        Gamma((d+1)/2): P(X <= x) is the mean of Phi(x / sqrt(2 G)).
        """
        from scipy.optimize import brentq
        from scipy.special import gammaln, ndtr

        if not 0 < p < 1:
            raise InvalidRequest(f"p must lie strictly between 0 and 1, got {p}")
        shape, tail = (dimension + 1) / 2, min(p, 1 - p)
        # The trapezoidal rule over ln G, whose density falls off at both ends, is exact to the last digits.
        log_g = np.linspace(math.log(shape) - 45 / shape - 9, math.log(shape + 12 * math.sqrt(shape) + 60), 2001)
        weight = np.exp(shape * log_g - np.exp(log_g) - gammaln(shape)) * (log_g[1] - log_g[0])
        deviation = np.sqrt(2 * np.exp(log_g))

        def excess(x: float) -> float:
            return float(weight @ ndtr(-x / deviation)) - tail

        most = 100.0 + 12.0 * math.sqrt(dimension)
        x = 0.0 if tail == 0.5 else float(brentq(excess, 0.0, most, xtol=1e-12))
        return math.copysign(x, p - 0.5) * float(self.scales[0])
