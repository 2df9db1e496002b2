"""A population that goes from a wide normal law to the posterior by degrees, and Metropolis steps along its differences.

The law on the way is wide**(1 - power) posterior**power, with powers that grow from 0 to 1, each as large as leaves half of
the population worth keeping; points are drawn again in proportion to what the new power adds, and move by Metropolis
steps (Del Moral, Doucet and Jasra 2006). The first law is several times as wide as the prior, so that a posterior far out
in a tail of the prior is found too. What is left has about the place, the width and the bends of the posterior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.core.x64 import TINY, jax, jnp

Array = Any
Pair = tuple[Array, Array]
LogDensity = Callable[[Array], Array]

SIZE = 64
_POOL, _WIDE = 1024, 4.0  # points to choose the first from, this many times as wide as the prior
_AFTER = 3  # rounds at the last power
_MOVES = 6  # of every point at each power
_MOST = 80  # powers
_HALVINGS = 30
_LEAST = -60.0  # the logarithm of the smallest first power


def population(key: Array, draw: Callable[[Array], Array], log_density: LogDensity) -> Pair:
    """``SIZE`` points that lie about as a density says, and its logarithm there; ``draw`` makes points from the prior."""
    first, second, key = jax.random.split(key, 3)
    drawn = jax.vmap(draw)(jax.random.split(first, _POOL))
    low, middle, high = jnp.quantile(drawn, jnp.asarray([0.16, 0.5, 0.84]), axis=0)
    width = _WIDE * (high - low) / 2 + 1e-9
    points = middle + width * jax.random.normal(second, drawn.shape)

    def parts(point: Array) -> Pair:
        return -0.5 * jnp.sum(((point - middle) / width) ** 2), log_density(point)

    values = jax.vmap(lambda p: _finite(parts(p)))(points)
    power, chosen = _chosen(values, jnp.zeros(()))

    def going(state: tuple[Any, ...]) -> Array:
        return (state[4] < _AFTER) & (state[5] < _MOST)

    def further(state: tuple[Any, ...]) -> tuple[Any, ...]:
        key, archive, values, power, after, count = state
        key, first, second = jax.random.split(key, 3)

        def between(value: Pair) -> tuple[Pair, Array]:
            return value, (1 - power) * value[0] + power * value[1]

        def one(numbers: Pair, point: Array, value: Pair) -> tuple[Array, tuple[Pair, Array], Array]:
            return walk(numbers, lambda p: between(_finite(parts(p))), point, between(value), archive)

        numbers = walk_numbers(first, second, (SIZE,), _MOVES, archive.shape[1])
        points, (values, _), _ = jax.vmap(one)(numbers, archive, values)
        power, chosen = _chosen(values, power)
        values = jax.tree.map(lambda v: v[chosen], values)
        return key, points[chosen], values, power, after + (power >= 1.0), count + 1

    none = jnp.asarray(0)
    state = (key, points[chosen], jax.tree.map(lambda v: v[chosen], values), power, none, none)
    _, points, values, *_ = jax.lax.while_loop(going, further, state)
    return points, values[1]


def agreed(archives: Array, log_densities: Array) -> Array:
    """For each of several populations of one density the number of one to use: itself, or the best where it was lost.

    A population that ended in a corner of next to no weight has log-densities far below those of the others: further than
    points of one law in d dimensions lie apart.
    """
    middle = jnp.median(log_densities, axis=1)
    allowed = 20.0 + 2.0 * archives.shape[-1]
    return jnp.where(middle < jnp.max(middle) - allowed, jnp.argmax(middle), jnp.arange(middle.size))


def _chosen(values: Pair, power: Array) -> tuple[Array, Array]:
    """The next power, and which points to go on with: each about as often as its weight says."""
    fits = values[1] - values[0]
    after = _next_power(fits, power)
    shares = jnp.cumsum(jax.nn.softmax((after - power) * fits))
    places = (jnp.arange(SIZE) + 0.5) / SIZE
    return after, jnp.minimum(jnp.searchsorted(shares, places), fits.size - 1)


def _next_power(fits: Array, power: Array) -> Array:
    """The largest power at which weights are still worth half of the population."""

    def worth(more: Array) -> Array:
        weight = jax.nn.softmax(more * fits)
        return 1 / jnp.sum(weight**2)

    def halve(_: Array, ends: Pair) -> Pair:
        low, high = ends
        middle = (low + high) / 2
        good = worth(jnp.exp(middle)) >= SIZE / 2
        return jnp.where(good, middle, low), jnp.where(good, high, middle)

    rest = 1 - power
    low, _ = jax.lax.fori_loop(0, _HALVINGS, halve, (jnp.asarray(_LEAST), jnp.log(rest)))
    return jnp.where(worth(rest) >= SIZE / 2, 1.0, power + jnp.exp(low))


def walk_numbers(first: Array, second: Array, many: tuple[int, ...], moves: int, dimension: int) -> Pair:
    """What chance adds to ``walk``, for many walks at once: a program draws random numbers in as few places as it can."""
    uniform = jax.random.uniform(first, (*many, 4, moves), minval=TINY)
    return uniform, jax.random.normal(second, (*many, moves, dimension))


def walk(
    numbers: Pair, there: Callable[[Array], tuple[Any, Array]], point: Array, here: tuple[Any, Array], archive: Array
) -> tuple[Array, tuple[Any, Array], Array]:
    """Metropolis steps on a density along differences of two points of an archive that stays.

    Most are 2.38 / sqrt(2 d) long, which suits a normal law of d dimensions; some are whole differences, some short, and
    all have a little noise in every direction, so that every point can be reached. The lengths do not depend on the
    point, and a difference is as likely as its opposite. ``there`` tells of a point what is worth carrying along and the
    logarithm of the density, ``here`` both at the first point. Returns the point reached, both there, and the share
    accepted.
    """
    size, dimension = archive.shape
    usual = 2.38 / jnp.sqrt(2.0 * dimension)
    uniform, normal = numbers
    little = 0.02 * jnp.std(archive, axis=0) * normal
    pairs = jnp.minimum((uniform[:2] * size).astype(int), size - 1)
    scale = jnp.where(uniform[2] < 0.7, usual, jnp.where(uniform[2] < 0.85, 1.0, usual / 4))
    steps = scale[:, None] * (archive[pairs[0]] - archive[pairs[1]]) + little

    def one(state: tuple[Array, tuple[Any, Array]], move: Pair) -> tuple[tuple[Array, tuple[Any, Array]], Array]:
        now, (_, log_density) = state
        step, log_u = move
        other = now + step
        new = there(other)
        good = log_u < new[1] - log_density  # never where the new one is no number
        after = jax.tree.map(lambda new, old: jnp.where(good, new, old), (other, new), state)
        return after, good

    (point, here), good = jax.lax.scan(one, (point, here), (steps, jnp.log(uniform[3])))
    return point, here, jnp.mean(good * 1.0)


def _finite(values: Pair) -> Pair:
    """What is no number is as good as impossible, yet a finite one: differences of two of them must be numbers."""
    first, second = (jnp.where(jnp.isfinite(v), v, -1e300) for v in values)
    return first, second
