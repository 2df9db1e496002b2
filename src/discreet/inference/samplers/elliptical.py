"""Elliptical slices: a whole vector of standard normal numbers moves at once, and nothing is tuned.

A height is drawn under what the normal density is multiplied by, a second vector from the normal law itself, and the point
moves on the ellipse through both: by an angle drawn from a whole turn, then from ever shorter arcs around where it was,
until what is found lies above the height.

Where what was seen says little of each record, as with much noise, a move goes far: the vector holds the noise of all
records and the parameters together, which a slice along one of them, or one record after another, cannot follow.

Proof: point and second vector are independent normal vectors, and a rotation of both by an angle is too: along the ellipse
the density is exp(log_rest) alone, and the move is a slice on a circle with an arc placed at random and shrunk (Neal 2003,
section 4.2; Murray, Adams and MacKay 2010, section 2.3). Given the number of angles tried, the sequence that leads back
is as likely as the one that leads there, so a limit of tries beyond which the point stays does no harm.

Reference: Murray, Adams and MacKay, "Elliptical slice sampling", AISTATS 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.core.x64 import TINY, jax, jnp

Array = Any

_TRIES = 40  # angles: by then they are a millionth of a turn


def elliptical(
    key: Array, log_rest: Callable[[Array], Array], point: Array, value: Array, turns: int
) -> tuple[Array, Array]:
    """``turns`` moves that leave N(0, I) exp(log_rest) as it is; ``value`` is log_rest at the point. Both afterwards."""
    first, second = jax.random.split(key)
    others = jax.random.normal(first, (turns, *point.shape))
    uniform = jax.random.uniform(second, (turns, _TRIES + 2), minval=TINY)

    def turn(state: tuple[Array, Array], chance: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        (point, value), (other, uniform) = state, chance
        height = value + jnp.log(uniform[-1])

        def at(angle: Array) -> Array:
            return jnp.cos(angle) * point + jnp.sin(angle) * other

        def searching(state: tuple[Array, ...]) -> Array:
            return (state[-1] <= height) & (state[0] < _TRIES)

        def shrink(state: tuple[Array, ...]) -> tuple[Array, ...]:
            tried, low, high, _, _ = state
            angle = low + (high - low) * uniform[tried]
            found = log_rest(at(angle))
            low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
            return tried + 1, low, high, angle, jnp.where(jnp.isnan(found), -jnp.inf, found)

        end = 2 * jnp.pi * uniform[-2]  # of a whole turn with 0 in it, cut open at a random place
        begun = (jnp.asarray(0), end - 2 * jnp.pi, end, jnp.zeros_like(end), jnp.full_like(value, -jnp.inf))
        _, _, _, angle, found = jax.lax.while_loop(searching, shrink, begun)
        moved = found > height
        return (jnp.where(moved, at(angle), point), jnp.where(moved, found, value)), None

    (point, value), _ = jax.lax.scan(turn, (point, value), (others, uniform))
    return point, value
