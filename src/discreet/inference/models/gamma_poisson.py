"""Counts of events: Poisson with a Gamma prior on the rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, FiniteModel, Floats, Records, Theta, column_names, positive

_MOST = 20_000  # the most values that the large-n sampler sums over


@dataclass(frozen=True)
class GammaPoisson(FiniteModel):
    """Records x ~ Poisson(rate), rate ~ Gamma(``shape``, ``inverse_scale``).

    rate | records ~ Gamma(shape + sum of x, inverse_scale + n). Records have no end; where a sum over all of them is
    needed (the large-n sampler) it stops where the prior leaves less than 1e-12.
    """

    shape: float = 1.0
    inverse_scale: float = 1.0
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "gamma_poisson"
    samplers: ClassVar[tuple[str, ...]] = ("sweep", "summary")
    variables: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive(self.shape, "shape"))
        object.__setattr__(self, "inverse_scale", positive(self.inverse_scale, "inverse_scale"))
        object.__setattr__(self, "columns", column_names(self.columns, 1))

    def draw_prior(self, key: Array) -> Theta:
        return {"rate": jax.random.gamma(key, self.shape) / self.inverse_scale}

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        return jax.random.poisson(key, theta["rate"], (size,)).astype(float)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        drawn = jax.random.gamma(key, self.shape + jnp.sum(records * weight))
        return {"rate": drawn / (self.inverse_scale + jnp.sum(weight))}

    def column(self, records: Records, position: int) -> Array:
        return records

    def share_within(self, draws: Mapping[str, Any], position: int, low: float, high: float) -> Any:
        from scipy.special import pdtr

        below = np.where(low > 0, pdtr(np.ceil(low) - 1, draws["rate"]), 0.0)
        return pdtr(np.floor(high), draws["rate"]) - below

    @property
    def cells(self) -> int:
        from scipy.stats import nbinom

        most = nbinom.isf(1e-12, self.shape, self.inverse_scale / (1 + self.inverse_scale))
        if not most < _MOST:
            raise InvalidRequest(
                f"the prior allows counts beyond {_MOST}; the summary sampler needs a tighter one, or use sweep"
            )
        return int(most) + 2

    def support(self) -> Records:
        return jnp.arange(self.cells).astype(float)

    def log_cells(self, theta: Theta) -> Any:
        x = self.support()
        logs = x * jnp.log(theta["rate"]) - theta["rate"] - jax.scipy.special.gammaln(x + 1)
        return jax.nn.log_softmax(logs)

    def to_free(self, theta: Theta) -> Array:
        return jnp.log(theta["rate"])[None]

    def from_free(self, free: Array) -> Theta:
        return {"rate": jnp.exp(free[0])}

    def log_prior(self, free: Array) -> Array:
        return self.shape * free[0] - self.inverse_scale * jnp.exp(free[0])

    def prior_quantiles(self, levels: Floats) -> Floats:
        from scipy.special import gammaincinv

        return np.asarray(np.log(gammaincinv(self.shape, levels) / self.inverse_scale))[:, None]
