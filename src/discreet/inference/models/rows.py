"""How many records there are: a known number, or a prior on it.

Under add/remove the number of rows is private. It is then one more unknown, and a release that counts rows says something
about it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, positive


class Rows(ABC):
    """A prior on the number of records, from 0 to ``most``."""

    most: int

    @abstractmethod
    def log_prior(self, n: Array) -> Array:
        """The log-probability of n records, up to a constant; between whole numbers its smooth continuation."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """In plain words and numbers."""


@dataclass(frozen=True)
class PoissonRows(Rows):
    """n ~ Poisson(``mean``), cut off where less than 1e-20 is left."""

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive(self.mean, "mean"))

    @property
    def most(self) -> int:  # type: ignore[override]
        """P(N >= m + x) <= exp(-x**2 / (2 (m + x))) for a Poisson number (Bernstein): below 1e-20 here."""
        return math.ceil(self.mean + 47 + 47 * math.sqrt(1 + self.mean / 23.5))

    def log_prior(self, n: Array) -> Array:
        return n * math.log(self.mean) - jax.scipy.special.gammaln(n + 1.0)

    def describe(self) -> dict[str, Any]:
        return {"law": "poisson", "mean": self.mean}


@dataclass(frozen=True)
class UniformRows(Rows):
    """Every n from ``least`` to ``most`` is as likely as any other."""

    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise InvalidRequest(f"rows lie between two whole numbers 0 <= least <= most, got {self.least} and {self.most}")

    def log_prior(self, n: Array) -> Array:
        return jnp.where((n >= self.least) & (n <= self.most), 0.0, -jnp.inf)

    def describe(self) -> dict[str, Any]:
        return {"law": "uniform", "least": self.least, "most": self.most}


@dataclass(frozen=True)
class OwnRows(Rows):
    """A prior of one's own: ``function(n)`` is its log-probability in ``jax.numpy``, up to a constant."""

    function: Callable[[Array], Array]
    most: int

    def log_prior(self, n: Array) -> Array:
        return jnp.where((n >= 0) & (n <= self.most), self.function(n), -jnp.inf)

    def describe(self) -> dict[str, Any]:
        return {"law": getattr(self.function, "__name__", "own"), "most": self.most}


def check_rows(n: Any) -> int | Rows | None:
    """A number of records, a prior on it, or None."""
    if n is None or isinstance(n, Rows):
        return n
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidRequest(f"n must be a whole number of at least 1, or a prior such as PoissonRows(100), got {n!r}")
    return int(n)
