"""A loss written in JAX, with Flax or in plain functions, as something that private gradient descent can train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.x64 import doubles, jax, jnp
from discreet.errors import InvalidRequest
from discreet.models.gradient.jax_blocks import JaxBlocks
from discreet.models.gradient.person_loss import PersonLoss


def jax_loss(loss: Callable[[Any, Any, Any], Any], parameters: Any, *, title: str | None = None) -> PersonLoss:
    """``loss(parameters, x, y)`` of one row, for ``OwnNetwork``; ``parameters`` are the public ones to start from.

    ``parameters`` is any tree of arrays. What is to stay as it is does not belong into it: close over frozen layers, or
    train ``low_rank`` adapters of them. Rows come in the precision of the parameters, whole numbers as they are.

    People are worked off in blocks, by programs in which nobody changes anybody else's gradient (see ``JaxBlocks``).

    Example: ``jax_loss(lambda p, x, y: optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y), start)``.
    """
    with doubles():
        flat, unravel = jax.flatten_util.ravel_pytree(parameters)
        if not jnp.issubdtype(flat.dtype, jnp.floating) or not bool(jnp.isfinite(flat).all()):
            raise InvalidRequest("parameters must be a tree of arrays of finite numbers; close over anything else")
        kind = flat.dtype
        first = np.asarray(flat, np.float64)

    def restore(values: Any) -> Any:
        with doubles():
            return unravel(jnp.asarray(values, kind))

    def of_person(values: Any, x: Any, y: Any, weight: Any) -> Any:
        each = jax.vmap(loss, (None, 0, 0))(unravel(values), x, y)
        return jnp.sum(each.reshape(weight.shape) * weight.astype(kind))

    def whole(values: Any, x: Any, y: Any, weight: Any, clip: Any, unit: Any) -> Any:
        """One person's shortened gradient in units, as whole numbers in doubles."""
        found = jax.grad(of_person)(values, x, y, weight).astype(jnp.float64)
        square = jnp.sum(found * found)
        good = jnp.isfinite(square)
        factor = jnp.where(good, jnp.minimum(1.0, clip / jnp.sqrt(square)), 0.0)
        return jnp.rint(jnp.where(good, found, 0.0) * (factor / unit))

    blocks = JaxBlocks(whole, flat)

    def shortened(values: Any, x: Any, y: Any, weight: Any, clip: float, unit: float) -> Any:
        x, y = (each if each.dtype.kind in "iub" else each.astype(kind) for each in (x, y))
        with doubles():
            return blocks.total(jnp.asarray(values, kind), x, y, weight, clip, unit)

    return PersonLoss(title or str(getattr(loss, "__name__", "loss")), len(first), first, shortened, restore)
