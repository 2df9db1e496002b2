"""The law of the covariates of a regression: normal, known or with a prior of its own.

Where only a release is known the covariates are latent too, so a regression needs a law for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, NoiseModel, Records, Theta, column_names, normal_within, positive

Known = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]


def check_known(given: Any, features: int) -> Known | None:
    """(mean, covariance) of covariates whose law is known, as tuples; None where it is not."""
    if given is None:
        return None
    try:
        mean, covariance = (np.asarray(part, np.float64) for part in given)
    except (TypeError, ValueError):
        raise InvalidRequest("covariates is None, or (mean, covariance) where their law is known") from None
    if mean.shape != (features,) or covariance.shape != (features, features):
        raise InvalidRequest(
            f"{features} covariates need a mean of shape ({features},) and a covariance of shape ({features}, {features}), "
            f"got {mean.shape} and {covariance.shape}"
        )
    if not (np.allclose(covariance, covariance.T) and np.linalg.eigvalsh(covariance).min() > 0):
        raise InvalidRequest("the covariance of the covariates must be symmetric and positive definite")
    return tuple(mean.tolist()), tuple(tuple(line) for line in covariance.tolist())


@dataclass(frozen=True)
class Covariates:
    """x ~ N(m, V): both known, or m ~ N(0, ``deviation``**2 I) and V inverse Wishart of scale I, ``size`` + 2 degrees."""

    size: int
    known: Known | None
    deviation: float = 10.0

    def __post_init__(self) -> None:
        positive(self.deviation, "deviation")

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the prior of V."""
        return self.size + 2.0

    def moments(self, theta: Theta) -> tuple[Array, Array]:
        """The mean and the Cholesky factor of the covariance."""
        if self.known is not None:
            return jnp.asarray(self.known[0]), jnp.asarray(np.linalg.cholesky(np.asarray(self.known[1])))
        return theta["covariate_mean"], jnp.linalg.cholesky(theta["covariate_covariance"])

    def draw_prior(self, key: Array) -> Theta:
        if self.known is not None:
            return {}
        first, second = jax.random.split(key)
        mean = self.deviation * jax.random.normal(first, (self.size,))
        return {"covariate_mean": mean, "covariate_covariance": _inverse_wishart(second, self.degrees, jnp.eye(self.size))}

    def simulate(self, key: Array, theta: Theta, size: int) -> Array:
        return self.from_noise(jax.random.normal(key, (size, self.size)), theta)

    def update(self, key: Array, theta: Theta, x: Array, weight: Array) -> Theta:
        """Two Gibbs steps: the covariance given the mean, and the mean given the covariance."""
        if self.known is not None:
            return {}
        first, second = jax.random.split(key)
        count, apart = jnp.sum(weight), x - theta["covariate_mean"]
        scale = jnp.eye(self.size) + (apart * weight[:, None]).T @ apart
        covariance = _inverse_wishart(first, self.degrees + count, scale)
        inverse = jnp.linalg.inv(covariance)
        precision = jnp.eye(self.size) / self.deviation**2 + count * inverse
        middle = inverse @ jnp.sum(x * weight[:, None], axis=0)
        return {"covariate_mean": normal_given(second, precision, middle), "covariate_covariance": covariance}

    def to_noise(self, x: Array, theta: Theta) -> Array:
        mean, root = self.moments(theta)
        return jax.scipy.linalg.solve_triangular(root, (x - mean).T, lower=True).T

    def from_noise(self, noise: Array, theta: Theta) -> Array:
        mean, root = self.moments(theta)
        return mean + noise @ root.T

    @property
    def free_size(self) -> int:
        """How many free coordinates the parameters have."""
        return 0 if self.known is not None else self.size + self.size * (self.size + 1) // 2

    def to_free(self, theta: Theta) -> list[Array]:
        """The mean, the logarithms of the diagonal of the Cholesky factor, and what is below it."""
        if self.known is not None:
            return []
        mean, root = self.moments(theta)
        return [mean, jnp.log(jnp.diagonal(root)), root[np.tril_indices(self.size, -1)]]

    def from_free(self, free: Array) -> Theta:
        if self.known is not None:
            return {}
        d = self.size
        root = jnp.diag(jnp.exp(free[d : 2 * d])).at[np.tril_indices(d, -1)].set(free[2 * d :])
        return {"covariate_mean": free[:d], "covariate_covariance": root @ root.T}

    def log_prior(self, free: Array) -> Array:
        """V = L L' has the Jacobian 2**d prod L_ii**(d - i) with i from 0; the logarithm of the diagonal adds prod L_ii."""
        if self.known is not None:
            return 0.0
        d = self.size
        logs = free[d : 2 * d]
        root = jnp.diag(jnp.exp(logs)).at[np.tril_indices(d, -1)].set(free[2 * d :])
        inverse = jax.scipy.linalg.solve_triangular(root, jnp.eye(d), lower=True)
        density = -(self.degrees + d + 1) * jnp.sum(logs) - 0.5 * jnp.sum(inverse**2)
        return density + jnp.sum((d - jnp.arange(d) + 1) * logs) - 0.5 * jnp.sum((free[:d] / self.deviation) ** 2)


def normal_given(key: Array, precision: Array, middle: Array) -> Array:
    """A draw from N(precision**-1 middle, precision**-1)."""
    root = jnp.linalg.cholesky(precision)
    half = jax.scipy.linalg.solve_triangular(root, middle, lower=True)
    drawn = jax.random.normal(key, jnp.shape(middle))
    return jax.scipy.linalg.solve_triangular(root.T, half + drawn, lower=False)


def _inverse_wishart(key: Array, degrees: Array, scale: Array) -> Array:
    """Bartlett: A lower triangular, chi(degrees - i) on its diagonal, normal below; (R A^-T)(R A^-T)' with R R' = scale."""
    d = scale.shape[0]
    first, second = jax.random.split(key)
    chi = jnp.sqrt(2 * jax.random.gamma(first, (degrees - jnp.arange(d)) / 2))
    below = jnp.tril(jax.random.normal(second, (d, d)), -1)
    factor = jnp.diag(chi) + below
    spread = jax.scipy.linalg.solve_triangular(factor, jnp.linalg.cholesky(scale).T, lower=True)
    return spread.T @ spread


class Regression(NoiseModel):
    """What regressions share: covariates and their law, coefficients with a normal prior, y as the last column."""

    features: int
    deviation: float
    covariates: Known | None
    covariate_deviation: float
    columns: tuple[str, ...] | None

    samplers: ClassVar[tuple[str, ...]] = ("interweaving", "sweep", "summary")

    def __post_init__(self) -> None:
        if isinstance(self.features, bool) or not isinstance(self.features, int) or self.features < 1:
            raise InvalidRequest(f"features must be a whole number of at least 1, got {self.features!r}")
        object.__setattr__(self, "deviation", positive(self.deviation, "deviation"))
        object.__setattr__(self, "covariates", check_known(self.covariates, self.features))
        object.__setattr__(self, "columns", column_names(self.columns, self.variables))
        positive(self.covariate_deviation, "covariate_deviation")

    @property
    def variables(self) -> int:
        return self.features + 1

    @property
    def _x(self) -> Covariates:
        return Covariates(self.features, self.covariates, self.covariate_deviation)

    def share_within(self, draws: Mapping[str, Any], position: int, low: float, high: float) -> Any:
        """Of a covariate; that of the target is the model's own to say."""
        if position == self.features:
            return None
        if self.covariates is not None:
            mean, square = self.covariates[0][position], self.covariates[1][position][position]
        else:
            mean, square = (draws["covariate_mean"][:, position], draws["covariate_covariance"][:, position, position])
        return normal_within(mean, np.sqrt(square), low, high)

    def column(self, records: Records, position: int) -> Array:
        return records["y"] if position == self.features else records["x"][..., position]


def with_constant(x: Array) -> Array:
    """The design: a column of ones, then the covariates."""
    return jnp.column_stack([jnp.ones(x.shape[0]), x])
