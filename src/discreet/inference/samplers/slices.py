"""Slice sampling along one direction at a time: a step that needs no tuning.

Under the graph of the density at the current point a height is drawn, an interval around the point is widened until both
ends are below it, and points are drawn inside, shrinking towards the current one, until one is above.

Proof: stepping out with a limit that is split at random between the two sides, and shrinkage, both leave the uniform
law on the region under the graph as it is (Neal 2003, sections 4.1 and 4.2); so the density itself is invariant,
whatever the widths, provided they do not depend on the point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.core.x64 import TINY, jax, jnp

Array = Any

_STEPS_OUT = 8  # intervals are at most this many widths long
_SHRINKS = 200  # by then an interval is as narrow as a double


def slice_along(
    key: Array, log_density: Callable[[Array], Array], point: Array, value: Array, direction: Array
) -> tuple[Array, Array]:
    """One slice along ``direction``, whose length is the width; returns the new point and its log-density."""
    height_key, place_key, split_key, shrink_key = jax.random.split(key, 4)
    height = value + jnp.log(jax.random.uniform(height_key, minval=TINY))
    left = -jax.random.uniform(place_key)
    left_steps = jnp.floor(_STEPS_OUT * jax.random.uniform(split_key))

    def above(place: Array) -> Array:
        return log_density(point + place * direction) > height

    def going(state: tuple[Array, Array, Array]) -> Array:
        return jnp.any(state[2])

    def widen(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Both ends at once, so that the density is compiled once for them: each moves as long as it is above."""
        ends, steps, moving = state
        moving = moving & (steps > 0) & jax.vmap(above)(ends)
        return ends + jnp.asarray([-1.0, 1.0]) * moving, steps - moving, moving

    steps = jnp.stack([left_steps, _STEPS_OUT - 1 - left_steps])
    low, high = jax.lax.while_loop(going, widen, (jnp.stack([left, left + 1.0]), steps, jnp.ones(2, bool)))[0]

    def searching(state: tuple[Array, ...]) -> Array:
        return (state[-1] <= height) & (state[1] < _SHRINKS)

    def shrink(state: tuple[Array, ...]) -> tuple[Array, ...]:
        key, tries, low, high, _, _ = state
        key, draw = jax.random.split(key)
        place = low + (high - low) * jax.random.uniform(draw)
        found = log_density(point + place * direction)
        found = jnp.where(jnp.isnan(found), -jnp.inf, found)
        good = found > height
        low = jnp.where(~good & (place < 0), place, low)
        high = jnp.where(~good & (place >= 0), place, high)
        return key, tries + 1, low, high, place, found

    start = (shrink_key, jnp.asarray(0), low, high, jnp.zeros_like(low), jnp.full_like(value, -jnp.inf))
    *_, place, found = jax.lax.while_loop(searching, shrink, start)
    moved = found > height
    return jnp.where(moved, point + place * direction, point), jnp.where(moved, found, value)


def slice_sweep(key: Array, log_density: Callable[[Array], Array], point: Array, widths: Array) -> tuple[Array, Array]:
    """A slice along each coordinate in turn; the point reached and its log-density."""

    def one(state: tuple[Array, Array], step: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        return slice_along(step[0], log_density, *state, step[1]), None

    keys = jax.random.split(key, point.shape[0])
    reached: tuple[Array, Array] = jax.lax.scan(one, (point, log_density(point)), (keys, jnp.diag(widths)))[0]
    return reached
