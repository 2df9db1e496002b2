"""Numbers with a normal law: mean unknown, variance known or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.inference.models.base import (
    Array,
    Floats,
    NoiseModel,
    Records,
    Theta,
    column_names,
    finite,
    known_or_prior,
    normal_within,
    positive,
)


@dataclass(frozen=True)
class Normal(NoiseModel):
    """Records x ~ N(mean, variance), mean ~ N(``mean``, ``deviation``**2).

    ``variance`` is a number where it is known, or (shape, scale) of an inverse-gamma prior. Given records, the variance is
    drawn from its inverse gamma and then the mean from its normal law: two Gibbs steps.
    """

    mean: float = 0.0
    deviation: float = 10.0
    variance: float | tuple[float, float] = (2.0, 1.0)
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "normal"
    samplers: ClassVar[tuple[str, ...]] = ("interweaving", "sweep", "summary")
    variables: ClassVar[int] = 1
    noise_size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", finite(self.mean, "mean"))
        object.__setattr__(self, "deviation", positive(self.deviation, "deviation"))
        object.__setattr__(self, "variance", known_or_prior(self.variance, "variance"))
        object.__setattr__(self, "columns", column_names(self.columns, 1))

    def _variance(self, theta: Theta) -> Any:
        return theta["variance"] if isinstance(self.variance, tuple) else self.variance

    def draw_prior(self, key: Array) -> Theta:
        first, second = jax.random.split(key)
        theta = {"mean": self.mean + self.deviation * jax.random.normal(first)}
        if isinstance(self.variance, tuple):
            theta["variance"] = self.variance[1] / jax.random.gamma(second, self.variance[0])
        return theta

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        return theta["mean"] + jnp.sqrt(self._variance(theta)) * jax.random.normal(key, (size,))

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        first, second = jax.random.split(key)
        count = jnp.sum(weight)
        new: Theta = {}
        variance = self.variance
        if isinstance(variance, tuple):
            squares = jnp.sum(weight * (records - theta["mean"]) ** 2)
            new["variance"] = (variance[1] + squares / 2) / jax.random.gamma(second, variance[0] + count / 2)
        each = self._variance(new)
        precision = 1 / self.deviation**2 + count / each
        middle = (self.mean / self.deviation**2 + jnp.sum(weight * records) / each) / precision
        new["mean"] = middle + jax.random.normal(first) / jnp.sqrt(precision)
        return new

    def column(self, records: Records, position: int) -> Array:
        return records

    def to_free(self, theta: Theta) -> Array:
        parts = [theta["mean"]] + ([jnp.log(theta["variance"])] if isinstance(self.variance, tuple) else [])
        return jnp.stack(parts)

    def from_free(self, free: Array) -> Theta:
        return {"mean": free[0]} | ({"variance": jnp.exp(free[1])} if isinstance(self.variance, tuple) else {})

    def log_prior(self, free: Array) -> Array:
        value = -0.5 * ((free[0] - self.mean) / self.deviation) ** 2
        if isinstance(self.variance, tuple):
            value += log_inverse_gamma(free[1], self.variance)
        return value

    def prior_quantiles(self, levels: Floats) -> Floats:
        from scipy.special import gammainccinv, ndtri

        found = [self.mean + self.deviation * ndtri(levels)]
        if isinstance(self.variance, tuple):  # scale over a gamma number
            found.append(np.log(self.variance[1] / gammainccinv(self.variance[0], levels)))
        return np.stack(found, axis=1)

    def to_noise(self, key: Array, records: Records, theta: Theta) -> Array:
        return (records - theta["mean"]) / jnp.sqrt(self._variance(theta))

    def from_noise(self, noise: Array, theta: Theta) -> Records:
        return theta["mean"] + jnp.sqrt(self._variance(theta)) * noise

    def share_within(self, draws: Mapping[str, Any], position: int, low: float, high: float) -> Any:
        return normal_within(draws["mean"], np.sqrt(self._variance(dict(draws))), low, high)

    def noise_at(self, normal: Array) -> Array:
        return normal[:, 0]


def log_inverse_gamma(log_value: Array, prior: tuple[float, float]) -> Array:
    """The log-density of the logarithm of an inverse-gamma number, up to a constant."""
    shape, scale = prior
    return -shape * log_value - scale * jnp.exp(-log_value)
