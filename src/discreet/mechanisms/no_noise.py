"""No noise at all: for tests and teaching, and only where a test ledger pays."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Cost
from discreet.core.exact import Exact, Keyed
from discreet.core.mechanism import NoiseLaw, Sensitivity, VectorNoise, mechanisms
from discreet.core.numbers import Number
from discreet.core.random import Random


@mechanisms("no_noise")
@dataclass(frozen=True, init=False)
class NoNoise(NoiseLaw):
    """The exact value itself: the limit of every law as epsilon grows.

    Proof: there is none, and ``cost`` says so: no guarantee. Every ledger but a test ledger refuses it.
    """

    words = "No noise: for tests only. Nothing is protected."
    no_posterior = "it adds no noise, so no latent table but the true one would fit; use a law with a very small scale"

    grid: Fraction

    def __init__(self, grid: Number = 1) -> None:
        object.__setattr__(self, "grid", numbers.positive(grid, "grid"))

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """As the additive laws have them: nothing."""
        return (Fraction(0),)

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        value = np.asarray(exact.value if isinstance(exact, Exact | Keyed) else exact)
        return value if value.ndim else value.item()

    def log_prob(self, released: Any, exact: Any) -> Any:
        true = np.asarray(exact.value if isinstance(exact, Exact | Keyed) else exact)
        with np.errstate(divide="ignore"):
            value = np.log((np.asarray(released) == true).astype(np.float64))
        return value if value.ndim else float(value)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Cost.infinite()

    def quantile(self, p: float) -> float:
        """Zero."""
        return 0.0

    def error(self, level: float = 0.95) -> float:
        """Zero."""
        return 0.0

    @property
    def expected_error(self) -> float:
        """Zero."""
        return 0.0

    def deviation(self, size: int) -> Any:
        return np.zeros(size)

    @property
    def vector_noise(self) -> VectorNoise:
        return VectorNoise(0.0)

    def at_least(self, t: Any) -> Any:
        return np.asarray(np.asarray(t) <= 0, np.float64)

    def log_characteristic(self, t: Any) -> Any:
        """Zero: the noise is 0 for certain."""
        return np.zeros(np.shape(t))

    def at(self, places: Any) -> NoNoise:
        """The same for some of the coordinates."""
        return self
