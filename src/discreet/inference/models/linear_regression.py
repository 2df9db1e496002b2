"""Linear regression whose covariates are latent too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.x64 import jax, jnp
from discreet.inference.models.base import Array, Records, Theta, known_or_prior
from discreet.inference.models.covariates import Known, Regression, normal_given, with_constant
from discreet.inference.models.normal import log_inverse_gamma


@dataclass(frozen=True)
class LinearRegression(Regression):
    """y = beta_0 + beta_1 x_1 + ... + N(0, variance), beta ~ N(0, ``deviation``**2 I), x normal.

    ``features`` is the number of covariates. ``variance`` is a number where it is known, or (shape, scale) of an
    inverse-gamma prior. ``covariates`` is (mean, covariance) where their law is known; else it is modelled, see
    ``Covariates``. Columns are the covariates in order, then y. A record is ``{"x": (features,), "y": ()}``.
    """

    features: int = 1
    deviation: float = 10.0
    variance: float | tuple[float, float] = (2.0, 1.0)
    covariates: Known | None = None
    covariate_deviation: float = 10.0
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "linear_regression"
    correlated: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "variance", known_or_prior(self.variance, "variance"))

    @property
    def noise_size(self) -> int:
        return self.features + 1

    def _variance(self, theta: Theta) -> Any:
        return theta["variance"] if isinstance(self.variance, tuple) else self.variance

    def draw_prior(self, key: Array) -> Theta:
        keys = jax.random.split(key, 3)
        theta: Theta = {"beta": self.deviation * jax.random.normal(keys[0], (self.features + 1,))}
        if isinstance(self.variance, tuple):
            theta["variance"] = self.variance[1] / jax.random.gamma(keys[1], self.variance[0])
        return theta | self._x.draw_prior(keys[2])

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        return self.from_noise(jax.random.normal(key, (size, self.features + 1)), theta)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        keys = jax.random.split(key, 3)
        x, y = with_constant(records["x"]), records["y"]
        new: Theta = {}
        variance = self.variance
        if isinstance(variance, tuple):
            squares = jnp.sum(weight * (y - x @ theta["beta"]) ** 2)
            degrees = variance[0] + jnp.sum(weight) / 2
            new["variance"] = (variance[1] + squares / 2) / jax.random.gamma(keys[0], degrees)
        each = self._variance(new)
        precision = jnp.eye(self.features + 1) / self.deviation**2 + (x * weight[:, None]).T @ x / each
        new["beta"] = normal_given(keys[1], precision, x.T @ (weight * y) / each)
        return new | self._x.update(keys[2], theta, records["x"], weight)

    def to_free(self, theta: Theta) -> Array:
        parts = [theta["beta"]] + ([jnp.log(theta["variance"])[None]] if isinstance(self.variance, tuple) else [])
        return jnp.concatenate(parts + self._x.to_free(theta))

    def from_free(self, free: Array) -> Theta:
        stop = self.features + 1
        theta: Theta = {"beta": free[:stop]}
        if isinstance(self.variance, tuple):
            theta["variance"] = jnp.exp(free[stop])
            stop += 1
        return theta | self._x.from_free(free[stop:])

    def log_prior(self, free: Array) -> Array:
        stop = self.features + 1
        value = -0.5 * jnp.sum((free[:stop] / self.deviation) ** 2)
        if isinstance(self.variance, tuple):
            value += log_inverse_gamma(free[stop], self.variance)
            stop += 1
        return value + self._x.log_prior(free[stop:])

    def to_noise(self, key: Array, records: Records, theta: Theta) -> Array:
        rest = records["y"] - with_constant(records["x"]) @ theta["beta"]
        return jnp.column_stack([self._x.to_noise(records["x"], theta), rest / jnp.sqrt(self._variance(theta))])

    def from_noise(self, noise: Array, theta: Theta) -> Records:
        x = self._x.from_noise(noise[:, :-1], theta)
        return {"x": x, "y": with_constant(x) @ theta["beta"] + jnp.sqrt(self._variance(theta)) * noise[:, -1]}

    def noise_at(self, normal: Array) -> Array:
        return normal
