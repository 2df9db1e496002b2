"""Populations that go from a wide normal law to the posterior by degrees, and Metropolis steps along their differences.

The law on the way is wide**(1 - power) posterior**power, with powers that grow from 0 to 1, each as large as leaves half of
the population worth keeping; points are drawn again in proportion to what the new power adds, and move by Metropolis
steps (Del Moral, Doucet and Jasra 2006). The first law is several times as wide as the prior, so that a posterior far out
in a tail of the prior is found too. What is left has about the place, the width and the bends of the posterior.

The populations of all chains go on side by side, in NumPy: only the density is compiled, and a start is not worth more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.x64 import jax, jnp
from discreet.inference.samplers.numpy_draws import Generator

Array = Any
Pair = tuple[Array, Array]
Floats = npt.NDArray[np.float64]
LogDensity = Callable[[Floats], Any]

SIZE = 64
_POOL, _WIDE = 1024, 4.0  # points to choose the first from, this many times as wide as the prior
_AFTER = 3  # rounds at the last power
_MOVES = 6  # of every point at each power
_MOST = 80  # powers
_HALVINGS = 30
_LEAST = -60.0  # the logarithm of the smallest first power


def populations(random: Generator, middle: Floats, width: Floats, log_density: LogDensity) -> tuple[Floats, Floats]:
    """For each line of ``middle`` ``SIZE`` points that lie about as a density says, and its logarithm there.

    ``middle`` and ``width`` say where the prior is. ``log_density`` takes (lines, ``SIZE``, coordinates).
    """
    middle, width = middle[:, None], _WIDE * width[:, None] + 1e-9

    def parts(points: Floats) -> tuple[Floats, Floats]:
        return _finite(-0.5 * np.sum(((points - middle) / width) ** 2, axis=-1)), _finite(np.array(log_density(points)))

    lines, dimension = middle.shape[0], middle.shape[2]
    points = middle + width * random.standard_normal((lines, _POOL, dimension))
    found = [parts(points[:, first : first + SIZE]) for first in range(0, _POOL, SIZE)]
    wide, fits = (np.concatenate(some, axis=1) for some in zip(*found, strict=True))
    power, after = np.zeros(lines), np.zeros(lines)
    for _ in range(_MOST):
        power, chosen = _chosen(fits - wide, power)
        points = np.take_along_axis(points, chosen[..., None], axis=1)
        wide, fits = (np.take_along_axis(some, chosen, axis=1) for some in (wide, fits))
        after += power >= 1
        if np.all(after > _AFTER):
            break
        shape, own = (lines, _MOVES, SIZE), power[:, None]
        steps = np.stack([
            differences(np, (uniform, normal), archive)
            for uniform, normal, archive in zip(
                random.random((lines, 3, *shape[1:])), random.standard_normal((*shape, dimension)), points, strict=True
            )
        ])  # fmt: skip
        log_u = -random.standard_exponential(shape)
        for move in range(_MOVES):
            other = points + steps[:, move]
            new_wide, new_fits = parts(other)
            good = log_u[:, move] < (1 - own) * (new_wide - wide) + own * (new_fits - fits)
            points = np.where(good[..., None], other, points)
            wide, fits = np.where(good, new_wide, wide), np.where(good, new_fits, fits)
    return points, fits


def agreed(log_densities: Floats, dimension: int) -> npt.NDArray[np.int64]:
    """For each of several populations of one density the number of one to use: itself, or the best where it was lost.

    A population that ended in a corner of next to no weight has log-densities far below those of the others: further than
    points of one law in d dimensions lie apart.
    """
    middle = np.median(log_densities, axis=1)
    return np.where(middle < middle.max() - (20.0 + 2.0 * dimension), middle.argmax(), np.arange(middle.size))


def _chosen(fits: Floats, power: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The next power of each line, and which points to go on with: each about as often as its weight says."""
    after = _next_power(fits, power)
    shares = np.cumsum(_weights((after - power)[:, None] * fits), axis=1)
    places = (np.arange(SIZE) + 0.5) / SIZE
    return after, np.stack([np.minimum(np.searchsorted(line, places), line.size - 1) for line in shares])


def _next_power(fits: Floats, power: Floats) -> Floats:
    """The largest power at which weights are still worth half of the population."""

    def enough(more: Floats) -> npt.NDArray[np.bool_]:
        enough: npt.NDArray[np.bool_] = 1 / np.sum(_weights(more[:, None] * fits) ** 2, axis=1) >= SIZE / 2
        return enough

    rest = 1 - power
    low, high = np.full_like(power, _LEAST), np.log(np.maximum(rest, np.exp(_LEAST)))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        good = enough(np.exp(middle))
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(enough(rest), 1.0, power + np.exp(low))


def _weights(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def differences(xp: Any, numbers: Pair, archive: Array) -> Array:
    """Steps along differences of two points of an archive that stays; ``xp`` is NumPy or that of JAX.

    ``numbers`` are uniform ones, three or more for each step along the first axis, and normal ones, one line for each.

    Most are 2.38 / sqrt(2 d) long, which suits a normal law of d dimensions; some are whole differences, some short, and
    all have a little noise in every direction, so that every point can be reached. The lengths do not depend on the
    point, and a difference is as likely as its opposite.
    """
    size, dimension = archive.shape
    usual = 2.38 / np.sqrt(2.0 * dimension)
    uniform, normal = numbers
    pairs = xp.minimum((uniform[:2] * size).astype(int), size - 1)
    scale = xp.where(uniform[2] < 0.7, usual, xp.where(uniform[2] < 0.85, 1.0, usual / 4))
    return scale[..., None] * (archive[pairs[0]] - archive[pairs[1]]) + 0.02 * xp.std(archive, axis=0) * normal


def walk(
    numbers: Pair, there: Callable[[Array], tuple[Any, Array]], point: Array, here: tuple[Any, Array], archive: Array
) -> tuple[Array, tuple[Any, Array], Array]:
    """Metropolis steps on a density along ``differences`` of an archive; the fourth uniform numbers decide on them.

    ``there`` tells of a point what is worth carrying along and the logarithm of the density, ``here`` both at the first
    point. Returns the point reached, both there, and the share accepted.
    """

    def one(state: tuple[Array, tuple[Any, Array]], move: Pair) -> tuple[tuple[Array, tuple[Any, Array]], Array]:
        now, (_, log_density) = state
        step, log_u = move
        other = now + step
        new = there(other)
        good = log_u < new[1] - log_density  # never where the new one is no number
        after = jax.tree.map(lambda new, old: jnp.where(good, new, old), (other, new), state)
        return after, good

    (point, here), good = jax.lax.scan(one, (point, here), (differences(jnp, numbers, archive), jnp.log(numbers[0][3])))
    return point, here, jnp.mean(good * 1.0)


def _finite(values: Floats) -> Floats:
    """What is no number is as good as impossible, yet a finite one: differences of two of them must be numbers."""
    return np.where(np.isfinite(values), values, -1e300)
