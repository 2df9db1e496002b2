"""Tables of categories of any shape, with a Dirichlet prior on the cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.core.x64 import jax, jnp
from discreet.errors import InvalidRequest
from discreet.inference.models.base import Array, Floats, Records, TableModel, Theta, column_names, positive


@dataclass(frozen=True)
class DirichletMultinomial(TableModel):
    """Every record falls into one cell of a table, with probabilities theta ~ Dirichlet(alpha).

    ``alpha`` is one number for all cells or a list with one for each (in the order of the table, last axis fastest).
    ``shape`` is the shape of the table; None takes it from the release. ``columns`` names the axes where a release does
    not come in their order.

    theta | records ~ Dirichlet(alpha + counts).
    """

    alpha: float | tuple[float, ...] = 1.0
    shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None

    name: ClassVar[str] = "dirichlet_multinomial"
    samplers: ClassVar[tuple[str, ...]] = ("counts", "gibbs", "sweep", "whole_table", "independent", "summary")

    def __post_init__(self) -> None:
        if self.shape is not None:
            sizes = (self.shape,) if isinstance(self.shape, int) else tuple(int(s) for s in self.shape)
            if not sizes or any(s < 1 for s in sizes) or math.prod(sizes) < 2:
                raise InvalidRequest(f"shape must be the sizes of a table of at least two cells, got {self.shape!r}")
            object.__setattr__(self, "shape", sizes)
        many = np.ndim(self.alpha) > 0
        given = np.ravel(np.asarray(self.alpha, dtype=object)) if many else np.array([self.alpha], dtype=object)
        alpha = tuple(positive(a, "alpha") for a in given)
        if many and self.shape is None:
            object.__setattr__(self, "shape", tuple(np.shape(self.alpha)))
        if many and self.shape is not None and len(alpha) != math.prod(self.shape):
            raise InvalidRequest(f"alpha has {len(alpha)} numbers and the table of shape {self.shape} has other cells")
        object.__setattr__(self, "alpha", alpha if many else alpha[0])
        if self.shape is not None:
            object.__setattr__(self, "columns", column_names(self.columns, len(self.shape)))

    def with_shape(self, shape: tuple[int, ...]) -> DirichletMultinomial:
        """The model for a table of this shape."""
        return replace(self, shape=shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, once it is known."""
        if self.shape is None:
            raise InvalidRequest("the shape of the table is not known; give DirichletMultinomial(shape=...)")
        return self.shape

    @property
    def variables(self) -> int:
        return len(self.sizes)

    @property
    def cells(self) -> int:
        return math.prod(self.sizes)

    @property
    def weights(self) -> Floats:
        """Alpha of every cell."""
        return np.broadcast_to(np.asarray(self.alpha, np.float64), (self.cells,))

    def draw_prior(self, key: Array) -> Theta:
        return self._theta(jax.random.dirichlet(key, jnp.asarray(self.weights)))

    def _theta(self, flat: Array) -> Theta:
        return {"theta": jnp.reshape(flat, (*jnp.shape(flat)[:-1], *self.sizes))}

    def simulate(self, key: Array, theta: Theta, size: int) -> Records:
        edges = jnp.cumsum(jnp.ravel(theta["theta"]))
        draws = jax.random.uniform(key, (size,)) * edges[-1]
        return jnp.minimum(jnp.sum(draws[:, None] >= edges, axis=1), self.cells - 1)

    def update(self, key: Array, theta: Theta, records: Records, weight: Array) -> Theta:
        counts = jnp.sum((records[:, None] == jnp.arange(self.cells)) * weight[:, None], axis=0)
        return self.from_counts(key, counts)

    def from_counts(self, key: Array, counts: Array) -> Theta:
        """theta ~ Dirichlet(alpha + counts), for counts in the last axis."""
        drawn = jax.random.loggamma(key, jnp.asarray(self.weights) + counts)
        return self._theta(jax.nn.softmax(drawn, axis=-1))

    def column(self, records: Records, position: int) -> Array:
        return jnp.unravel_index(records, self.sizes)[position]

    def log_cells(self, theta: Theta) -> Array:
        return jnp.log(jnp.ravel(theta["theta"]))

    def support(self) -> Records:
        return jnp.arange(self.cells)

    def to_free(self, theta: Theta) -> Array:
        logs = self.log_cells(theta)
        return logs[:-1] - logs[-1]

    def from_free(self, free: Array) -> Theta:
        return self._theta(jax.nn.softmax(jnp.append(free, 0.0)))

    def log_prior(self, free: Array) -> Array:
        """The additive log-ratio has the Jacobian prod theta, so that the density is prod theta**alpha."""
        return jnp.sum(jnp.asarray(self.weights) * jax.nn.log_softmax(jnp.append(free, 0.0)))

    def prior_quantiles(self, levels: Floats) -> Floats:
        """A cell's share of what it has together with the last one is a beta number, and its logit the coordinate."""
        from scipy.special import betaincinv, logit

        return np.asarray(logit(betaincinv(self.weights[:-1], self.weights[-1], levels[:, None])))
