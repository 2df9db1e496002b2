"""Logistic regression whose covariates are latent too; its step on the coefficients is NUTS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.core.x64 import jax, jnp
from discreet.inference.models.base import Array, Records, Theta
from discreet.inference.models.covariates import Known, Regression, with_constant

_NEWTON = 8
_STEP = 0.7


@dataclass(frozen=True)
class LogisticRegression(Regression):
    """y is 1 with probability sigmoid(beta_0 + beta_1 x_1 + ...), beta ~ N(0, ``deviation``**2 I), x normal.

    As ``LinearRegression`` otherwise. The step on beta given records is one transition of NUTS (Hoffman and Gelman 2014).

    Proof: NUTS leaves p(beta | records) as it is for any mass matrix and step size that do not depend on beta. Here
    both come from the records alone: a fixed number of Newton steps from zero finds about the mode, and the curvature
    there is the mass matrix, so that a step size of about 1 suits every table and nothing has to be adapted.
    """

    features: int = 1
    deviation: float = 2.5
    covariates: Known | None = None
    covariate_deviation: float = 10.0
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "logistic_regression"

    @property
    def noise_size(self) -> int:
        return self.features

    def draw_prior(self, key: Array) -> Theta:
        first, second = jax.random.split(key)
        beta = self.deviation * jax.random.normal(first, (self.features + 1,))
        return {"beta": beta} | self._x.draw_prior(second)

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        first, second = jax.random.split(key)
        x = self._x.simulate(first, theta, size)
        chance = jax.nn.sigmoid(with_constant(x) @ theta["beta"])
        return {"x": x, "y": (jax.random.uniform(second, (size,)) < chance).astype(float)}

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        from blackjax.mcmc import nuts  # type: ignore[import-untyped]

        first, second = jax.random.split(key)
        x, y = with_constant(records["x"]), records["y"]

        def log_density(beta: Array) -> Array:
            slope = x @ beta
            fit = jnp.sum(weight * (y * slope - jax.nn.softplus(slope)))
            return fit - 0.5 * jnp.sum((beta / self.deviation) ** 2)

        inverse = self._curvature(x, y, weight)
        state = nuts.init(theta["beta"], log_density)
        state, _ = nuts.build_kernel()(first, state, log_density, _STEP, inverse)
        return {"beta": state.position} | self._x.update(second, theta, records["x"], weight)

    def _curvature(self, x: Array, y: Array, weight: Array) -> Array:
        """The inverse of the log-density's curvature near its mode, from the records alone."""
        ridge = jnp.eye(x.shape[1]) / self.deviation**2

        def curvature(beta: Array) -> Array:
            chance = jax.nn.sigmoid(x @ beta)
            return (x * (weight * chance * (1 - chance))[:, None]).T @ x + ridge

        def step(beta: Array, _: Any) -> tuple[Array, None]:
            slope = x.T @ (weight * (y - jax.nn.sigmoid(x @ beta))) - beta / self.deviation**2
            move = jnp.linalg.solve(curvature(beta), slope)
            return beta + move / jnp.maximum(1.0, jnp.linalg.norm(move) / self.deviation), None

        mode, _ = jax.lax.scan(step, jnp.zeros(x.shape[1]), None, length=_NEWTON)
        return jnp.linalg.inv(curvature(mode))

    def to_free(self, theta: Theta) -> Array:
        return jnp.concatenate([theta["beta"], *self._x.to_free(theta)])

    def from_free(self, free: Array) -> Theta:
        stop = self.features + 1
        return {"beta": free[:stop]} | self._x.from_free(free[stop:])

    def log_prior(self, free: Array) -> Array:
        stop = self.features + 1
        return -0.5 * jnp.sum((free[:stop] / self.deviation) ** 2) + self._x.log_prior(free[stop:])

    def to_noise(self, key: Array, records: Records, theta: Theta) -> Array:
        """y = 1 where a uniform number lies below its chance: given y it is uniform on its side."""
        chance = jax.nn.sigmoid(with_constant(records["x"]) @ theta["beta"])
        drawn = jax.random.uniform(key, chance.shape)
        uniform = jnp.where(records["y"] > 0, drawn * chance, chance + drawn * (1 - chance))
        return jnp.column_stack([self._x.to_noise(records["x"], theta), uniform])

    def from_noise(self, noise: Array, theta: Theta) -> Records:
        x = self._x.from_noise(noise[:, :-1], theta)
        return {"x": x, "y": (noise[:, -1] < jax.nn.sigmoid(with_constant(x) @ theta["beta"])).astype(float)}

    def branches(self, noise: Array, theta: Theta) -> list[tuple[Array, Records]]:
        x = self._x.from_noise(noise[:, :-1], theta)
        chance = jax.nn.sigmoid(with_constant(x) @ theta["beta"])
        ones = jnp.ones_like(chance)
        return [(1 - chance, {"x": x, "y": 0 * ones}), (chance, {"x": x, "y": ones})]

    def noise_at(self, normal: Array) -> Array:
        return jnp.column_stack([normal, jnp.full(normal.shape[0], 0.5)])
