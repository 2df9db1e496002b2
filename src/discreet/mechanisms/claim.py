"""What a law was calibrated to, so that its cost is exactly what was asked.

A Gaussian for rho = 0.1 has an irrational scale. The scale is rounded up, its true cost is a little below 0.1, and ten
of them should still add up to 1: so the law remembers the number it was made for, and its ``cost`` returns that number
after checking that it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.errors import InvalidRequest


@dataclass(frozen=True, init=False)
class Claim:
    """(epsilon, delta), or epsilon alone, or rho."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def __init__(self, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None) -> None:
        if (epsilon is None) == (rho is None):
            raise InvalidRequest(f"give either epsilon or rho, got epsilon={epsilon}, rho={rho}")
        if rho is not None and delta is not None and numbers.rational(delta, "delta"):
            raise InvalidRequest(f"rho takes no delta, got delta={delta}; give epsilon and delta, or rho alone")
        exact = Fraction(0) if delta is None else numbers.rational(delta, "delta")
        if epsilon is not None and delta is not None:
            numbers.probability(exact, "delta")
        object.__setattr__(self, "epsilon", None if epsilon is None else numbers.positive(epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact)
        object.__setattr__(self, "rho", None if rho is None else numbers.positive(rho, "rho"))

    def to_dict(self) -> dict[str, Any]:
        said = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {k: numbers.write(v) for k, v in said.items() if v is not None}

    @staticmethod
    def of(value: Claim | dict[str, Any] | None) -> Claim | None:
        """A claim from itself or from ``to_dict``."""
        return Claim(**value) if isinstance(value, dict) else value
