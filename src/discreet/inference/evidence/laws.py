"""The law of the noise as a sampler uses it: its own ``log_prob`` over JAX arrays, and laws of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.random import Random
from discreet.core.x64 import jnp
from discreet.errors import InvalidRequest
from discreet.mechanisms import RandomizedResponse

Array = Any
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LogDensity(Mechanism):
    """A law of one's own: ``function(released, exact)`` is its log-density in ``jax.numpy``, for data from elsewhere.

    ``released`` and ``exact`` arrive as flat arrays; the result is one number, or one for each coordinate (they are added).
    """

    function: Callable[[Array, Array], Array]
    name = "log_density"
    no_posterior = ""

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        raise InvalidRequest("a law known by its log-density alone cannot draw; use a law of discreet to release")

    def log_prob(self, released: Any, exact: Any) -> Any:
        return self.function(jnp.asarray(released), jnp.asarray(exact))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Cost.infinite()

    def deviation(self, size: int) -> Floats:
        """Not a number: it is not known."""
        return np.full(size, np.nan)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "function": getattr(self.function, "__name__", "log_density")}


@dataclass(frozen=True, eq=False)
class Density:
    """A law of ``size`` numbers, ready for a sampler."""

    law: Mechanism
    size: int

    def log_prob(self, released: Array, exact: Array) -> Array:
        """The log-density of all numbers, for flat arrays."""
        return jnp.sum(self.law.log_prob(jnp.asarray(released), exact))

    @cached_property
    def deviation(self) -> Floats:
        """The standard deviation of each number's noise; not a number where the law does not say."""
        made: Floats = self.law.deviation(self.size)
        return made


def density(law: Mechanism, size: int) -> Density:
    """The density of a law over ``size`` numbers; refuses laws that have none a sampler can use, and says why."""
    if law.no_posterior:
        raise InvalidRequest(f"the law {law.name!r} has no density that a posterior can use: {law.no_posterior}")
    law.deviation(size)  # refuses a law with another number of scales
    return Density(law, size)


def response_matrix(law: RandomizedResponse) -> Floats:
    """P(report | truth), one line for each report, one column for each truth; both in the order of the categories."""
    k = len(law.categories)
    return np.where(np.eye(k, dtype=bool), float(law.keep), float(law.swap))
