"""Sums of gradients clipped person by person, from norms of products: no gradient of a single row is ever written down.

With a_i the input of a linear layer (its constant included) and d_i the derivative of the row's loss in its output, the
gradient of the layer is a_i d_i^T, so |g_i|^2 = sum over layers of |a_i|^2 |d_i|^2; for a person with several rows,
sum over layers and pairs of rows of (a_j . a_k)(d_j . d_k). One factor c_i = min(1, C / |g_i|) shortens the whole
gradient, and the sum of shortened gradients is one product A^T (c D) a layer, as it would be without privacy
(Goodfellow 2015; Li, Tramer, Liang and Hashimoto 2022).

A factor depends on the person's own rows alone, to the last bit: people are measured among those with as many rows, each by
products of a shape that is their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from operator import and_
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from discreet.models.gradient import exact_products
from discreet.models.gradient.exact_products import CANCELS
from discreet.models.gradient.network import BLOCK, Network, Room

CHUNK = 4096  # rows at a time: bounds both the memory and the rounding of a sum
_FEW = 32  # rows of a person up to which pairs of them are cheaper than their gradient
_LARGEST = 2.0**400  # a squared norm beyond is as good as infinite, so that no product loses a factor to underflow
_STEEPEST = 2.0**200  # a loss may be this steep in arrays of another library, see ``passes``


class GradientChunk(NamedTuple):
    """A chunk of rows: the inputs of each layer, the derivatives of what it puts out, and the factor of each row.

    The factors are None where they are all 1. For a person with more rows than a chunk holds there is the
    shortened gradient itself.
    """

    ups: list[Any]
    downs: list[Any]
    factors: Any
    whole: Any = None


def clipped_sum(
    network: Network,
    flat: Any,
    x: Any,
    y: Any,
    clip: float,
    *,
    weight: Any = None,
    people: Any = None,
    most: int = 1,
    xp: ModuleType = np,
    room: Room | None = None,
    chunk: int | None = None,
) -> Any:
    """The sum over people of their gradient, shortened to ``clip``; rows of one person must follow one another.

    ``x`` was widened for the network's bias. ``people`` numbers the person of each row, ``most`` is the most rows one has.
    A person whose gradient is not a finite number contributes nothing.
    """
    total = None
    for part in _shortened(network, flat, x, y, clip, weight, people, most, xp, room, chunk):
        made = gradient(network, part.ups, part.downs, part.factors, xp, room) if part.whole is None else part.whole
        total = made if total is None else total + made
    return np.zeros(network.size) if total is None else total


def exact_sum(
    network: Network, flat: Any, x: Any, y: Any, clip: float, *, weight: Any = None, people: Any = None, most: int = 1,
    xp: ModuleType = np, room: Room | None = None, chunk: int | None = None,
) -> Any:  # fmt: skip
    """The same sum in whole numbers, see ``exact``: slower, and free of rounding however many people there are."""
    unit = exact_products.unit(clip, most)
    total = exact_products.nothing(network.size)
    for part in _shortened(network, flat, x, y, clip, weight, people, most, xp, room, chunk):
        if part.whole is not None:
            total += exact_products.digits(part.whole, unit)
            continue
        ups, downs = ([np.asarray(to_numpy(rows)) for rows in each] for each in (part.ups, part.downs))
        if part.factors is not None:
            factors = to_numpy(part.factors)[:, None]
            downs = [d * factors for d in downs]
        total += exact_products.products(network, ups, downs, unit)
    return total


def lengths(network: Network, flat: Any, x: Any, y: Any, *, weight: Any = None, people: Any = None, most: int = 1) -> Any:
    """The norm of each person's gradient, before any clipping; NumPy only."""
    room, found = Room(), []
    for part, mine in _parts(people, x.shape[0], CHUNK):
        factor = None if weight is None else weight[part]
        if part.stop - part.start > CHUNK:
            found.append(np.sqrt(_long(network, flat, x[part], y[part], factor, room)[1][None]))
            continue
        _, _, square = passes(network, flat, x[part], y[part], factor, mine, most, np, room)
        found.append(np.sqrt(square if mine is None else square[_starts(mine)]))
    return np.concatenate(found) if found else np.empty(0)


def _shortened(
    network: Network, flat: Any, x: Any, y: Any, clip: float, weight: Any, people: Any, most: int, xp: Any, room: Any,
    chunk: int | None = None,
) -> Iterator[GradientChunk]:  # fmt: skip
    for part, mine in _parts(people, x.shape[0], chunk or CHUNK):
        factor = None if weight is None else weight[part]
        if part.stop - part.start > (chunk or CHUNK):
            whole, square = _long(network, flat, x[part], y[part], factor, room)
            short = min(1.0, clip / math.sqrt(square)) if 0 < square < math.inf else float(square == 0)
            yield GradientChunk([], [], None, whole * short if short else np.zeros(network.size))
            continue
        yield _chunk(network, flat, x[part], y[part], clip, factor, mine, most, xp, room)


def _long(network: Network, flat: Any, x: Any, y: Any, weight: Any, room: Room | None) -> tuple[Any, Any]:
    """The gradient of one person with many rows, in chunks of them, and its squared norm as ``_person_squares`` has it."""
    whole, reach = np.zeros(network.size), np.zeros(len(network.shapes))
    with np.errstate(all="ignore"):
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            factor = None if weight is None else weight[part]
            ups, downs, square = passes(network, flat, x[part], y[part], factor, None, 1, np, room)
            whole += gradient(network, ups, downs, None, np, room)
            each = [np.sqrt(_squares(a, np) * _squares(d, np)).sum() for a, d in zip(ups, downs, strict=True)]
            reach += each if np.isfinite(square).all() else math.inf
        return whole, np.maximum(np.sum(np.square(whole)), np.sum(np.square(reach)) / CANCELS**2)


def _parts(people: Any, rows: int, chunk: int) -> Iterator[tuple[slice, Any]]:
    """Chunks of rows with whole people in them, and the people of each; one person alone may fill more than a chunk."""
    starts = None if people is None else _starts(people)
    start = 0
    while start < rows:
        stop = min(start + chunk, rows)
        if starts is not None and stop < rows:
            whole = int(starts[np.searchsorted(starts, stop, side="right") - 1])
            after = np.searchsorted(starts, start, side="right")
            stop = whole if whole > start else int(starts[after]) if after < len(starts) else rows
        yield slice(start, stop), None if people is None else people[start:stop]
        start = stop


def passes(
    network: Network, flat: Any, x: Any, y: Any, weight: Any, people: Any, most: int, xp: Any, room: Room | None
) -> tuple[list[Any], list[Any], Any]:
    """Up and down for one chunk: the inputs and derivatives of each layer, and the squared norm of each row's person.

    A squared norm that cannot be measured is infinite, or no number. In arrays of another library all else is finite then,
    so that a factor of zero is enough for such a row to contribute nothing, and nobody has to wait for the answer whether
    there is one.

    Proof: rows there are finite and at most 2**54 of their units long, parameters at most 2**20, layers at most ten and
    2**16 wide with a constant, so a layer makes its inputs at most 2**37 times larger: at most 2**424 on the way up and, as
    slopes that are no number or beyond 2**200 count as zero, 2**570 on the way down.
    """
    rows = x.shape[0]
    x, y = _filled(x, y, room)
    with np.errstate(all="ignore"):  # what is not finite is dropped later, silently
        ups = network.forward(flat, x, xp, room)
        slopes = network.slopes(ups[-1], y, xp)
        if weight is not None and xp is not np:
            slopes = slopes * weight[:, None]
        measured = None
        if xp is not np:
            tame = xp.abs(slopes) < _STEEPEST
            slopes, measured = xp.where(tame, slopes, xp.zeros_like(slopes)), xp.all(tame, axis=1)
        downs = network.backward(flat, ups, slopes, xp, room)
        ups, downs = [a[:rows] for a in ups[:-1]], [d[:rows] for d in downs]
        if weight is not None and xp is np:  # in doubles, so that a weight of two is the same row twice
            downs = [d * weight[:, None] for d in downs]
        above, below = [_squares(a, xp) for a in ups], [_squares(d, xp) for d in downs]
        if people is None or most == 1:
            square = sum(a * d for a, d in zip(above, below, strict=True))
        else:
            square = _person_squares(ups, downs, above, below, people)
        if measured is not None:
            measured = reduce(and_, (each < _LARGEST for each in (*above, *below)), measured)
            return ups, downs, xp.where(measured, square, xp.full_like(square, math.inf))
        for each in (*above, *below):
            if not (each.size == 0 or float(each.max()) < _LARGEST):
                square = np.where(_of_person(each < _LARGEST, people if most > 1 else None), square, math.inf)
    return ups, downs, square


def _of_person(good: Any, people: Any) -> Any:
    """Whether all rows of a row's person are good."""
    if people is None:
        return good
    starts = _starts(people)
    return np.repeat(np.logical_and.reduceat(good, starts), np.diff(np.append(starts, len(people))))


def _chunk(
    network: Network, flat: Any, x: Any, y: Any, clip: float, weight: Any, people: Any, most: int, xp: Any, room: Any
) -> GradientChunk:
    ups, downs, square = passes(network, flat, x, y, weight, people, most, xp, room)
    with np.errstate(all="ignore"):
        factors = clip / xp.sqrt(square)
        factors = xp.minimum(factors, xp.ones_like(factors))
    # A norm of zero gave a factor of one. One that is no number, or infinite, is a person who contributes nothing.
    if xp is not np:
        return GradientChunk(ups, downs, xp.where(xp.isfinite(square), factors, xp.zeros_like(factors)))
    if not math.isfinite(float(xp.sum(square))):
        good = np.isfinite(square)
        factors = np.where(good, factors, 0.0)
        ups, downs = ([np.where(good[:, None], rows, 0.0) for rows in each] for each in (ups, downs))
    elif factors.size and factors.min() >= 1.0:
        factors = None  # nobody's is too long
    return GradientChunk(ups, downs, factors)


def gradient(network: Network, ups: list[Any], downs: list[Any], factors: Any, xp: Any, room: Any) -> Any:
    """The sum over rows of ``factors`` times their gradients (None: as they are), as one flat vector."""
    if room is None:
        scaled = downs if factors is None else [d * factors[:, None] for d in downs]
        return xp.concat([xp.reshape(a.T @ d, (-1,)) for a, d in zip(ups, scaled, strict=True)])
    flat = np.empty(network.size)
    for made, up, down in zip(network.layers(flat), ups, downs, strict=True):
        if factors is not None:
            np.multiply(down, factors[:, None], out=down)
        np.matmul(up.T, down, out=made)
    return flat


def _filled(x: Any, y: Any, room: Room | None) -> tuple[Any, Any]:
    """Rows with zeros below, so that products come in whole blocks; elsewhere than in NumPy rows come in whole chunks."""
    if room is None:
        return x, y
    rows = x.shape[0]
    whole = -(-rows // BLOCK) * BLOCK
    if rows == whole:
        return x, y
    wide, goal = room.take("x", whole, x.shape[1]), room.take("y", whole, 1)[:, 0]
    wide[:rows], wide[rows:] = x, 0.0
    goal[:rows], goal[rows:] = y, 0.0
    return wide, goal


def _squares(rows: Any, xp: Any) -> Any:
    """The squared norm of each row."""
    return np.vecdot(rows, rows) if xp is np else xp.sum(rows * rows, axis=1)


def _person_squares(ups: list[Any], downs: list[Any], above: list[Any], below: list[Any], people: Any) -> Any:
    """The squared norm of each person's gradient, repeated for each of its rows.

    Rows of a person may cancel, and rounding could then hide what is left of them: the norm counts as no less than a
    64th of the sum of the rows' own norms.
    """
    starts = _starts(people)
    counts = np.diff(np.append(starts, len(people)))
    found = np.zeros(len(starts))
    for rows in np.unique(counts).tolist():
        mine = np.flatnonzero(counts == rows)
        index = starts[mine][:, None] + np.arange(rows)
        square, reach, ones = np.zeros(len(mine)), np.zeros(len(mine)), np.ones(rows)
        for up, down, high, low in zip(ups, downs, above, below, strict=True):
            length = np.vecdot(np.sqrt(high[index] * low[index]), ones)
            reach += length * length
            if rows <= _FEW:
                a, d = up[index], down[index]
                pairs = [np.matmul(r, r.transpose(0, 2, 1)).reshape(len(mine), -1) for r in (a, d)]
                square += np.vecdot(*pairs)
            else:
                for place, start in enumerate(starts[mine].tolist()):
                    whole = np.matmul(up[start : start + rows].T, down[start : start + rows])
                    square[place] += np.sum(np.square(whole))
        found[mine] = np.maximum(square, reach / CANCELS**2)
    return np.repeat(found, counts)


def _starts(people: Any) -> Any:
    """Where each person's rows begin."""
    return np.flatnonzero(np.append(True, people[1:] != people[:-1])) if len(people) else np.empty(0, np.intp)


def to_numpy(array: Any) -> Any:
    """An array of another namespace on the host."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    elif hasattr(array, "get"):
        array = array.get()
    return np.asarray(array, np.float64)
