"""The density of what was released, given the exact total: every law of noise as a JAX function.

A law that rounds to a grid has the probability of the whole cell, per unit of its width, as ``Mechanism.log_prob`` has it
(a test holds the two against each other). Where the grid is far finer than the scale the cell's probability is the density
to twelve digits, and the density is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from discreet.core.cost import Cost
from discreet.core.mechanism import Mechanism, Sensitivity
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.inference._jax import jax, jnp
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
    SphericalLaplace,
    Tulap,
)
from discreet.mechanisms.discrete_gaussian import total_weight

Array = Any
Floats = npt.NDArray[np.float64]

_FINE = 2.0**-20  # grids below this share of the scale are as good as none
_OFF = 1e-6  # how far from a whole step a float may be and still count as on it


@dataclass(frozen=True)
class LogDensity(Mechanism):
    """A law of one's own: ``function(released, exact)`` is its log-density in ``jax.numpy``, for data from elsewhere.

    ``released`` and ``exact`` arrive as flat arrays; the result is one number, or one for each coordinate (they are added).
    """

    function: Callable[[Array, Array], Array]
    name = "log_density"

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        raise InvalidRequest("a law known by its log-density alone cannot draw; use a law of discreet to release")

    def log_prob(self, released: Any, exact: Any) -> Any:
        return np.asarray(self.function(jnp.asarray(released), jnp.asarray(exact)))

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        return Cost.infinite()

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "function": getattr(self.function, "__name__", "log_density")}


@dataclass(frozen=True, eq=False)
class Density:
    """A law ready for a sampler.

    ``log_prob(released, exact)`` for flat arrays. ``each`` the same for every coordinate by itself, None where coordinates
    are not independent. ``deviation`` is the noise's standard deviation and ``scale`` its scale, per coordinate.
    """

    log_prob: Callable[[Array, Array], Array]
    each: Callable[[Array, Array], Array] | None
    shape: Literal["laplace", "gaussian", "other"]
    scale: Floats
    deviation: Floats


def density(law: Mechanism, size: int) -> Density:
    """The density of a law over ``size`` numbers; refuses laws that have none a sampler can use, and says why."""
    if isinstance(law, LogDensity):
        return Density(lambda r, e: jnp.sum(law.function(r, e)), None, "other", np.full(size, np.nan), np.full(size, np.nan))
    if isinstance(law, SphericalLaplace):
        return _spherical(law, size)
    if not isinstance(law, Laplace | Gaussian | DiscreteLaplace | DiscreteGaussian):
        raise InvalidRequest(f"the law {law.name!r} has no density that a posterior can use: {_WHY.get(law.name, _UNKNOWN)}")
    if len(law.scales) not in (1, size):
        raise InvalidRequest(f"the law has {len(law.scales)} scales and the statistic has {size} numbers; they must match")
    scale = np.broadcast_to(np.array([float(s) for s in law.scales]), (size,)).astype(np.float64)
    deviation = np.broadcast_to(np.asarray(law.expected_error, np.float64), (size,))
    each = _EACH[type(law)](scale, float(law.grid))
    kind: Literal["laplace", "gaussian"] = "laplace" if isinstance(law, Laplace | DiscreteLaplace) else "gaussian"
    return Density(lambda r, e: jnp.sum(each(r, e)), each, kind, scale, deviation)


_UNKNOWN = "describe it by LogDensity(function)"
_WHY = {
    "exponential": "it chose among candidates by the utilities of all of them, which are ranks over the whole table and no "
    "sum over records; release a histogram, a mean or a table instead of a quantile",
    "no_noise": "it adds no noise, so no latent table but the true one would fit; use a law with a very small scale",
    "randomized_response": "reports of single people are read with a table model (BetaBernoulli, DirichletMultinomial)",
}


def _laplace(scale: Floats, grid: float) -> Callable[[Array, Array], Array]:
    h = grid / (2 * scale)

    def each(released: Array, exact: Array) -> Array:
        d = jnp.abs(released - exact) / scale
        if (2 * h < _FINE).all():
            return -d - np.log(2 * scale)
        away = h + np.log(-np.expm1(-2 * h)) - math.log(2) - d
        inside = jnp.minimum(d, h)
        around = jnp.log(-jnp.expm1(-h) - 2 * jnp.exp(-h) * jnp.sinh(inside / 2) ** 2)
        return jnp.where(d >= h, away, around) - math.log(grid)

    return each


def _gaussian(scale: Floats, grid: float) -> Callable[[Array, Array], Array]:
    h = grid / (2 * scale)

    def each(released: Array, exact: Array) -> Array:
        d = jnp.abs(released - exact) / scale
        if (2 * h < _FINE).all():
            return -0.5 * d * d - 0.5 * math.log(2 * math.pi) - np.log(scale)
        upper, lower = jax.scipy.stats.norm.logcdf(h - d), jax.scipy.stats.norm.logcdf(-h - d)
        return upper + jnp.log(-jnp.expm1(jnp.minimum(lower - upper, -1e-300))) - math.log(grid)

    return each


def _discrete_laplace(scale: Floats, grid: float) -> Callable[[Array, Array], Array]:
    s = scale / grid
    at_zero = np.log(-np.expm1(-1 / s)) - np.log1p(np.exp(-1 / s)) - math.log(grid)

    def each(released: Array, exact: Array) -> Array:
        steps = jnp.abs(released - exact) / grid
        return _on_lattice(steps, at_zero - steps / s)

    return each


def _tulap(scale: Floats, grid: float) -> Callable[[Array, Array], Array]:
    at_zero = np.log(-np.expm1(-1 / scale)) - np.log1p(np.exp(-1 / scale))
    return lambda released, exact: at_zero - jnp.floor(jnp.abs(released - exact) + 0.5) / scale


def _discrete_gaussian(scale: Floats, grid: float) -> Callable[[Array, Array], Array]:
    s = scale / grid
    at_zero = -np.array([math.log(total_weight(float(x))) for x in s]) - math.log(grid)

    def each(released: Array, exact: Array) -> Array:
        steps = jnp.abs(released - exact) / grid
        return _on_lattice(steps, at_zero - 0.5 * (steps / s) ** 2)

    return each


def _on_lattice(steps: Array, value: Array) -> Array:
    return jnp.where(jnp.abs(steps - jnp.rint(steps)) <= _OFF, value, -jnp.inf)


_EACH: dict[type[Mechanism], Callable[[Floats, float], Callable[[Array, Array], Array]]] = {
    Laplace: _laplace,
    Gaussian: _gaussian,
    DiscreteLaplace: _discrete_laplace,
    Tulap: _tulap,
    DiscreteGaussian: _discrete_gaussian,
}


def _spherical(law: SphericalLaplace, size: int) -> Density:
    s = float(law.scales[0])
    surface = math.log(2) + size / 2 * math.log(math.pi) - math.lgamma(size / 2)
    constant = -surface - math.lgamma(size) - size * math.log(s)

    def log_prob(released: Array, exact: Array) -> Array:
        return constant - jnp.sqrt(jnp.sum((released - exact) ** 2)) / s

    spread = np.full(size, law.expected_error(dimension=size))
    return Density(log_prob, None, "other", np.full(size, s), spread)


def response_matrix(law: RandomizedResponse) -> Floats:
    """P(report | truth), one line for each report, one column for each truth; both in the order of the categories."""
    k = len(law.categories)
    return np.where(np.eye(k, dtype=bool), float(law.keep), float(law.swap))
