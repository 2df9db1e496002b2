"""Gaussian noise: for (epsilon, delta) and concentrated guarantees, and for vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost, Distance
from discreet.core.mechanism import Sensitivity, VectorNoise, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.mechanisms.additive import Additive, Scale, how_many, one_per_coordinate, scales_by_block, shared, some
from discreet.mechanisms.hockey_stick import analytic_ratio, epsilon_at, hockey_stick
from discreet.mechanisms.sampling import normal_draws
from discreet.mechanisms.sampling.uniform import Floats, Integers

Calibration = Literal["analytic", "classical", "probabilistic"]
_NARROW = 1e-3  # half a cell, in scales
_LEAST_DELTA = Fraction(1, 10**290)  # below, the profile leaves the range of doubles and nothing can be confirmed


@mechanisms("gaussian")
@dataclass(frozen=True, init=False)
class Gaussian(Additive):
    """Noise with standard deviation ``scale``, rounded to the grid.

    ``cost``: with t**2 = sum of (sensitivity / scale)**2 over coordinates, rho = t**2 / 2, the Rényi curve a t**2 / 2,
    and the (epsilon, delta) of ``claim`` where the profile HS(epsilon; t) <= delta confirms it.

    Proof: dividing each coordinate by its scale turns the pair into N(v, I) and N(0, I) with |v|_2 = t, which by
    rotation is N(t, 1) against N(0, 1): Rényi divergence a t**2 / 2 (Bun and Steinke 2016) and profile HS exactly
    (Balle and Wang 2018). Both grow in t, so every neighbour within the distance is covered. A claim is only repeated
    after it was checked against the profile at 1 + 1e-9 times t, beyond the error of the doubles there.
    """

    words = (
        "Gaussian noise: the bell curve. Large amounts are rarer than with Laplace noise, which is why its guarantee "
        "carries a δ or is stated as ρ."
    )
    tails = "gaussian"

    claim: Price | None

    def __init__(
        self,
        scale: Scale,
        grid: Number | None = None,
        claim: Price | None = None,
        coordinates: int | None = None,
    ) -> None:
        super().__init__(scale, grid, coordinates)
        if claim is not None and claim.epsilon is not None and claim.delta < _LEAST_DELTA:
            raise InvalidRequest(
                f"Gaussian noise with an epsilon needs a delta of at least {float(_LEAST_DELTA):g}, "
                f"got {float(claim.delta):g}; give delta, or rho, or use Laplace"
            )
        object.__setattr__(self, "claim", claim)

    @classmethod
    def costing(
        cls,
        sensitivity: Sensitivity = 1,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        calibration: Calibration = "analytic",
        shares: Sequence[Number] | None = None,
        grid: Number | None = None,
    ) -> Self:
        """The law that costs (epsilon, delta), or rho.

        Where one statistic needs the scale k D, a vector of sensitivities gets k D_i / sqrt(w_i) with shares that sum
        to 1 (equal by default): one joint calibration, no split of epsilon and delta.
        """
        claim = Price(epsilon, delta, rho)
        cls(1, claim=claim)  # refuses a claim that no Gaussian can keep before its ratio is asked for
        ratio = _ratio(claim, calibration)
        distance = Distance.of(sensitivity)
        if distance.blocks is None:
            if shares is not None:
                shared(distance, shares)
            return cls(ratio * some(distance.l2), grid, claim)
        pairs = shared(distance, shares or [1] * len(distance.blocks))
        scales = [ratio * some(block.l2) * numbers.square_root_up(1 / share) for block, share in pairs]
        return cls(one_per_coordinate(distance, scales), grid, claim, how_many(sensitivity))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        square = squared_shift(self.scales, Distance.of(sensitivity))
        rho, claim = square / 2, self.claim
        epsilon, delta = None, Fraction(0)
        if claim is not None and claim.rho is not None and rho <= claim.rho <= rho * (1 + Fraction(1, 10**8)):
            rho = claim.rho
        if claim is not None and claim.epsilon is not None:
            epsilon, delta = _confirmed(claim.epsilon, claim.delta, math.sqrt(square)), claim.delta
        return Cost(epsilon, delta, rho, Fraction(0), Cost.zcdp(rho).curve)

    def _log_density(self, d: Any) -> Any:
        return -0.5 * d * d - 0.5 * math.log(2 * math.pi)

    def _log_mass(self, steps: Any, scale: Floats, xp: Any) -> Any:
        """log of Phi(d + h) - Phi(d - h) with d = steps / s >= 0 and h = 1 / 2s, far tails included."""
        d, h = steps / scale, 1 / (2 * scale)
        narrow = h < _NARROW
        if narrow.all():
            return self._narrow(d, h, xp)
        wide = _wide(d, h, xp)
        return xp.where(narrow, self._narrow(d, h, xp), wide) if narrow.any() else wide

    def _narrow(self, d: Any, h: Floats, xp: Any) -> Any:
        """The integral of exp(-d s - s**2 / 2) over [-h, h] as that of exp(-d s) times 1 - (mean of s**2) / 2.

        That is exact to h**4 / 8.
        """
        x = xp.maximum(d * h, 1e-8)
        with np.errstate(over="ignore"):
            log_sinhc = xp.where(x < 1e-3, x * x / 6, x + xp.log(-xp.expm1(-2 * x)) - xp.log(2 * x))
            mean_square = xp.where(x < 1e-2, 1 / 3 + 2 * x * x / 45, 1 + 2 / (x * x) - 2 / (x * xp.tanh(x)))
        curved = xp.log1p(-0.5 * np.minimum(h, 1.0) ** 2 * mean_square)
        return self._log_density(d) + log_sinhc + curved + np.log(2 * h)

    def _noise(self, random: Random, scales: list[Fraction], size: int, offset: Floats | float) -> Integers:
        return normal_draws.gaussian(random, scales, size, offset)

    def _tail(self, steps: Floats, scale: float) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((0.5 - steps) / scale))

    def _quantile(self, p: float, scale: float) -> float:
        from scipy.special import ndtri

        return scale * float(ndtri(p))

    @property
    def vector_noise(self) -> VectorNoise:
        if len(self.scales) > 1:
            return super().vector_noise
        return VectorNoise(float(self.scales[0]))

    def _spread(self, scale: float) -> float:
        return scale

    def _log_characteristic(self, t: Floats, scale: Floats) -> Floats:
        """-s**2 t**2 / 2."""
        return -0.5 * (scale * t) ** 2


def squared_shift(scales: tuple[Fraction, ...], d: Distance) -> Fraction:
    """t**2: the squared distance in units of the scales."""
    return sum(((b.l2 / s) ** 2 for b, s in scales_by_block(scales, d)), Fraction(0))


def _ratio(claim: Price, calibration: Calibration) -> Fraction:
    """Scale over sensitivity, rounded up."""
    if claim.rho is not None:
        return numbers.square_root_up(1 / (2 * claim.rho))
    e, d = float(claim.epsilon or 0), float(claim.delta)
    if calibration == "analytic":
        return Fraction(analytic_ratio(e, d))
    if calibration == "classical":
        if e >= 1:
            raise InvalidRequest(f"the classical calibration holds for epsilon below 1 only, got {e}; use 'analytic'")
        return numbers.round_up(math.sqrt(2 * math.log(1.25 / d)) / e)
    if calibration == "probabilistic":
        from scipy.special import ndtri

        z = float(ndtri(d / 2))
        return numbers.round_up((math.sqrt(z * z + 2 * e) - z) / (2 * e))
    raise InvalidRequest(f"calibration must be 'analytic', 'classical' or 'probabilistic', got {calibration!r}")


def _confirmed(epsilon: Fraction, delta: Fraction, t: float) -> Fraction:
    """The epsilon claimed if it holds at ``delta`` for this shift, else the least that does."""
    if hockey_stick(float(epsilon), t * (1 + 5e-10)) <= float(delta):
        return epsilon
    return numbers.round_up(epsilon_at(delta, t))


def _wide(d: Any, h: Floats, xp: Any) -> Any:
    """By the difference of the tails."""
    log_ndtr = import_module("scipy.special" if xp is np else "jax.scipy.special").log_ndtr
    upper, lower = log_ndtr(h - d), log_ndtr(-h - d)
    return upper + xp.log(-xp.expm1(xp.minimum(lower - upper, -1e-300)))
