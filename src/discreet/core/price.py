"""What a question may cost, and what a law was calibrated to: one noun for both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypedDict

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest

Calibration = Literal["analytic", "classical", "probabilistic"]
Noise = Literal["laplace", "gaussian"]


# What DPpack calls the two, and what they are here.
_ELSEWHERE = {"aDP": "; aDP is 'analytic', or 'classical' as it was printed", "pDP": "; pDP is 'probabilistic'"}


class Keywords(TypedDict, total=False):
    """The keywords every statistic takes: a price in one of three currencies, and by which law."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mechanism: Noise | None
    calibration: Calibration


@dataclass(frozen=True, init=False)
class Price:
    """epsilon alone, epsilon and delta, or rho; ``epsilon=math.inf`` buys an answer without noise, for tests.

    A law keeps the price it was made for. A Gaussian for rho = 0.1 has an irrational scale; the scale is rounded up, its
    true cost is a little below 0.1, and ten of them should still add up to 1: so ``cost`` returns the price, after
    checking that it holds.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    mechanism: Noise | None
    calibration: Calibration
    is_infinite: bool

    def __init__(
        self,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mechanism: Noise | None = None,
        calibration: Calibration = "analytic",
    ) -> None:
        infinite = isinstance(epsilon, float) and epsilon == math.inf
        exact = (None, Fraction(0), None) if infinite else _checked(epsilon, delta, rho)
        for name, value in zip(("epsilon", "delta", "rho"), exact, strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "mechanism", mechanism.lower() if isinstance(mechanism, str) else mechanism)
        object.__setattr__(self, "calibration", calibration)
        object.__setattr__(self, "is_infinite", infinite)
        if not infinite:
            self._check_law()

    def _check_law(self) -> None:
        if self.mechanism not in (None, "laplace", "gaussian"):
            why = " (quantiles use the exponential mechanism by themselves)" if str(self.mechanism) == "exponential" else ""
            raise InvalidRequest(f"mechanism must be 'laplace' or 'gaussian', got {self.mechanism!r}{why}; leave it out")
        if self.mechanism == "gaussian" and self.is_pure:
            raise InvalidRequest("mechanism='gaussian' needs delta beside epsilon, or rho; give one, or use 'laplace'")
        if self.mechanism == "laplace" and not self.is_pure:
            raise InvalidRequest("mechanism='laplace' takes epsilon alone; leave delta and rho out, or use 'gaussian'")
        if self.calibration not in ("analytic", "classical", "probabilistic"):
            raise InvalidRequest(
                f"calibration must be 'analytic', 'classical' or 'probabilistic', got {self.calibration!r}"
                f"{_ELSEWHERE.get(self.calibration, '')}"
            )

    @property
    def is_pure(self) -> bool:
        """Whether it is epsilon alone."""
        return not self.is_infinite and self.rho is None and not self.delta

    @property
    def is_gaussian(self) -> bool:
        """Whether it buys Gaussian noise."""
        return self.rho is not None or self.delta > 0

    @property
    def cost(self) -> Cost:
        """The price as a cost."""
        if self.is_infinite:
            return Cost.infinite()
        if self.rho is not None:
            return Cost.zcdp(self.rho)
        assert self.epsilon is not None
        return Cost.approximate(self.epsilon, self.delta) if self.delta else Cost.pure(self.epsilon)

    def share(self, part: Fraction) -> Price:
        """A share of it: of epsilon (and delta), or of rho."""
        if self.is_infinite:
            return self
        epsilon, delta, rho = (None if not v else v * part for v in (self.epsilon, self.delta, self.rho))
        return Price(epsilon, delta, rho, self.mechanism, self.calibration)

    @property
    def pure_epsilon(self) -> Fraction:
        """The epsilon that alone costs no more than this."""
        if self.rho is not None:
            return _pure_within(self.rho)
        assert self.epsilon is not None
        return self.epsilon

    @property
    def choice_epsilon(self) -> Fraction:
        """The epsilon that a choice by the exponential mechanism may cost.

        rho pays for the epsilon with epsilon**2 / 8 = rho; a delta is not needed and not spent.
        """
        if self.is_infinite:
            return Fraction(1 << 20)
        if self.rho is None:
            return self.pure_epsilon
        root = numbers.square_root_up(8 * self.rho)
        return root if root * root <= 8 * self.rho else root - Fraction(1, 2**62)  # rounded down

    def to_dict(self) -> dict[str, Any]:
        said = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {k: numbers.write(v) for k, v in said.items() if v is not None}


def _checked(
    epsilon: Number | None, delta: Number | None, rho: Number | None
) -> tuple[Fraction | None, Fraction, Fraction | None]:
    """The three numbers as rationals, checked to be one of the three prices."""
    pure = None if epsilon is None else numbers.positive(epsilon, "epsilon")
    concentrated = None if rho is None else numbers.positive(rho, "rho")
    if epsilon is None and rho is None and delta is not None:
        raise InvalidRequest(f"delta comes with epsilon, got delta={delta} alone; give epsilon, or rho")
    if (epsilon is None) == (rho is None):
        got = "no price" if epsilon is None else f"epsilon={epsilon}, rho={rho}"
        raise InvalidRequest(f"give either epsilon or rho, got {got}; write epsilon=0.1, say, with a delta or without")
    exact = Fraction(0) if delta is None else numbers.rational(delta, "delta")
    if rho is not None and exact:
        raise InvalidRequest(f"rho takes no delta, got delta={delta}; give epsilon and delta, or rho alone")
    if epsilon is not None and delta is not None:
        if exact == 0:
            remedy = "leave it out for a pure guarantee of epsilon alone"
            raise InvalidRequest("delta must lie strictly between 0 and 1, got 0", key="delta", remedy=remedy)
        numbers.probability(exact, "delta")
    return pure, exact, concentrated


@lru_cache(maxsize=256)
def _pure_within(rho: Fraction) -> Fraction:
    """The largest epsilon, to nine digits, that costs no more than rho: epsilon tanh(epsilon / 2) <= rho."""
    low, high = Fraction(0), rho + 2
    while high - low > high / 10**9:
        middle = Fraction(float((low + high) / 2))
        cost = Cost.pure(middle).rho
        assert cost is not None
        low, high = (middle, high) if cost <= rho else (low, middle)
    return low
