"""A share of people: yes or no, with a Beta prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.core.labels import canonical
from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, Floats, Records, TableModel, Theta, column_names, positive

_YES = ("1", "true", "yes", "y", "t")


@dataclass(frozen=True)
class BetaBernoulli(TableModel):
    """Every record is 1 with probability theta ~ Beta(a, b), else 0.

    ``success`` is the label that counts as 1 where a release speaks of categories; labels such as yes, true and 1 are
    known by themselves. theta | records ~ Beta(a + ones, b + zeros).
    """

    a: float = 1.0
    b: float = 1.0
    success: Any = None
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "beta_bernoulli"
    samplers: ClassVar[tuple[str, ...]] = ("counts", "gibbs", "sweep", "whole_table", "independent", "summary")
    sizes: ClassVar[tuple[int, ...]] = (2,)
    cells: ClassVar[int] = 2
    variables: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive(self.a, "a"))
        object.__setattr__(self, "b", positive(self.b, "b"))
        object.__setattr__(self, "columns", column_names(self.columns, 1))

    @property
    def weights(self) -> Floats:
        """Alpha of zeros and ones."""
        return np.array([self.b, self.a])

    def place(self, labels: Sequence[Any]) -> int:
        """Which of two labels counts as 1."""
        if len(labels) != 2:
            raise InvalidRequest(f"BetaBernoulli needs two labels, the release has {len(labels)}; use DirichletMultinomial")
        texts = [canonical(v).lower() for v in labels]
        wanted = [canonical(self.success).lower()] if self.success is not None else [t for t in texts if t in _YES]
        if len(wanted) != 1 or wanted[0] not in texts:
            raise InvalidRequest(
                f"BetaBernoulli(success=...) must name one of the labels {list(labels)}, got {self.success!r}"
            )
        return texts.index(wanted[0])

    def draw_prior(self, key: Array) -> Theta:
        return {"theta": jax.random.beta(key, self.a, self.b)}

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        return (jax.random.uniform(key, (size,)) < theta["theta"]).astype(jnp.int32)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        ones = jnp.sum(records * weight)
        return self.from_counts(key, jnp.stack([jnp.sum(weight) - ones, ones]))

    def from_counts(self, key: Array, counts: Array) -> Theta:
        """theta ~ Beta(a + ones, b + zeros), for (zeros, ones) in the last axis."""
        drawn = jax.random.loggamma(key, jnp.asarray(self.weights) + counts)
        return {"theta": jax.nn.sigmoid(drawn[..., 1] - drawn[..., 0])}

    def column(self, records: Records, position: int) -> Array:
        return records

    def log_cells(self, theta: Theta) -> Array:
        return jnp.log(jnp.stack([1 - theta["theta"], theta["theta"]]))

    def support(self) -> Records:
        return jnp.arange(2)

    def to_free(self, theta: Theta) -> Array:
        return jax.scipy.special.logit(theta["theta"])[None]

    def from_free(self, free: Array) -> Theta:
        return {"theta": jax.nn.sigmoid(free[0])}

    def log_prior(self, free: Array) -> Array:
        return self.a * jax.nn.log_sigmoid(free[0]) + self.b * jax.nn.log_sigmoid(-free[0])

    def prior_quantiles(self, levels: Floats) -> Floats:
        from scipy.special import betaincinv, logit

        return np.asarray(logit(betaincinv(self.a, self.b, levels)))[:, None]
