"""What a question may cost, and the law that spends exactly that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypedDict

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.mechanism import Mechanism
from discreet.core.numbers import Number
from discreet.errors import GridOverflow, InvalidRequest
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, NoNoise
from discreet.mechanisms.additive import MOST_COARSER
from discreet.mechanisms.claim import Claim
from discreet.mechanisms.gaussian import Calibration

_FINEST = 36  # a law's grid is at most this many powers of two below its scale


class Keywords(TypedDict, total=False):
    """The keywords every statistic takes: what to spend, in one of three currencies, and by which law."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mechanism: Literal["laplace", "gaussian"] | None
    calibration: Calibration


@dataclass(frozen=True)
class Spend:
    """epsilon alone (Laplace), epsilon and delta, or rho (Gaussian); ``epsilon=math.inf`` adds no noise, for tests."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    mechanism: Literal["laplace", "gaussian"] | None = None
    calibration: Calibration = "analytic"

    def __post_init__(self) -> None:
        if self.is_infinite:
            return
        Claim(self.epsilon, self.delta, self.rho)
        if self.mechanism not in (None, "laplace", "gaussian"):
            raise InvalidRequest(f"mechanism must be 'laplace' or 'gaussian', got {self.mechanism!r}")
        concentrated = self.is_gaussian
        if self.mechanism == "gaussian" and not concentrated:
            raise InvalidRequest("mechanism='gaussian' needs delta beside epsilon, or rho; give one, or use 'laplace'")
        if self.mechanism == "laplace" and concentrated:
            raise InvalidRequest("mechanism='laplace' takes epsilon alone; leave delta and rho out, or use 'gaussian'")
        if self.calibration not in ("analytic", "classical", "probabilistic"):
            raise InvalidRequest(f"calibration must be 'analytic', 'classical' or 'probabilistic', got {self.calibration!r}")

    @property
    def is_infinite(self) -> bool:
        """Whether no noise is asked for: only a test ledger allows it."""
        return isinstance(self.epsilon, float) and self.epsilon == math.inf

    @property
    def is_gaussian(self) -> bool:
        """Whether it buys Gaussian noise."""
        return self.delta is not None or self.rho is not None

    def law(self, distance: Distance, grid: Fraction, shares: Sequence[Number] | None = None) -> Mechanism:
        """The law that costs exactly this for an exact value on ``grid``; ``shares`` divide it between blocks.

        Counts get a discrete law where the guarantee is pure or concentrated; everything else the ideal law, rounded.
        """
        if self.is_infinite:
            return NoNoise(grid)
        whole = grid == 1 and distance.blocks is None
        if self.epsilon is not None and self.delta is None:
            if whole:
                return DiscreteLaplace.costing(distance, epsilon=self.epsilon)
            return _on(grid, Laplace.costing(distance, epsilon=self.epsilon, proportions=shares))
        if self.rho is not None and whole:
            return DiscreteGaussian.costing(distance, rho=self.rho)
        made = Gaussian.costing(
            distance,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            calibration=self.calibration,
            weights=shares,
        )
        return _on(grid, made)

    def pure(self) -> Number:
        """The epsilon that a choice by the exponential mechanism may cost.

        rho pays for the epsilon with epsilon**2 / 8 = rho; a delta is not needed and not spent.
        """
        if self.is_infinite:
            return 1 << 20
        if self.rho is None:
            assert self.epsilon is not None
            return self.epsilon
        share = 8 * numbers.positive(self.rho, "rho")
        root = numbers.square_root_up(share)
        return root if root * root <= share else root - Fraction(1, 2**62)  # rounded down

    def split(self, times: int) -> Spend:
        """An equal share for each of ``times`` questions asked one after another."""
        if self.is_infinite:
            return self

        def share(value: Number | None, name: str) -> Fraction | None:
            return None if value is None else numbers.positive(value, name) / times

        delta = share(self.delta, "delta")
        return Spend(share(self.epsilon, "epsilon"), delta, share(self.rho, "rho"), self.mechanism, self.calibration)


def _on(grid: Fraction, law: Any) -> Mechanism:
    """The same law on the grid of the exact value, or on a coarser one where the scale is out of proportion to it."""
    coarse = Fraction(2) ** (numbers.floor_log2(max(law.scales)) - _FINEST)
    if coarse > grid * (1 << MOST_COARSER):
        raise GridOverflow(
            f"noise of scale {float(max(law.scales)):.3g} is out of proportion to values on a grid of {float(grid):.3g}; "
            "use a larger epsilon or rho"
        )
    fields = {k: getattr(law, k) for k in law.to_dict() if k not in ("name", "grid")}
    made: Mechanism = type(law)(**fields, grid=max(grid, coarse))
    return made
