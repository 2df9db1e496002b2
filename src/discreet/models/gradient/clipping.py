"""Sums of gradients clipped person by person, from norms of products: no gradient of a single row is ever written down.

With a_i the input of a linear layer (its constant included) and d_i the derivative of the row's loss in its output, the
gradient of the layer is a_i d_i^T, so |g_i|^2 = sum over layers of |a_i|^2 |d_i|^2; for a person with several rows,
sum over layers and pairs of rows of (a_j . a_k)(d_j . d_k). One factor c_i = min(1, C / |g_i|) shortens the whole
gradient, and the sum of shortened gradients is one product A^T (c D) a layer, as it would be without privacy
(Goodfellow 2015; Li, Tramer, Liang and Hashimoto 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from discreet.models.gradient.network import BLOCK, Network, Room

CHUNK = 4096  # rows at a time: bounds both the memory and the rounding of a sum
_UNIT = 2.0**-53


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
) -> Any:
    """The sum over people of their gradient, shortened to ``clip``; rows of one person must follow one another.

    ``x`` was widened for the network's bias. ``people`` numbers the person of each row, ``most`` is the most rows one has.
    A person whose gradient is not a finite number contributes nothing.
    """
    total = None
    for part, mine in _parts(people, x.shape[0]):
        factor = None if weight is None else weight[part]
        made = _chunk(network, flat, x[part], y[part], clip, factor, mine, most, xp, room)
        total = made if total is None else total + made
    return np.zeros(network.size) if total is None else total


def lengths(network: Network, flat: Any, x: Any, y: Any, *, weight: Any = None, people: Any = None, most: int = 1) -> Any:
    """The norm of each person's gradient, before any clipping; NumPy only."""
    room, found = Room(), []
    for part, mine in _parts(people, x.shape[0]):
        factor = None if weight is None else weight[part]
        _, _, square = _passes(network, flat, x[part], y[part], factor, mine, most, np, room)
        found.append(np.sqrt(square if mine is None else square[_starts(mine)]))
    return np.concatenate(found) if found else np.empty(0)


def _parts(people: Any, rows: int) -> Iterator[tuple[slice, Any]]:
    """Chunks of rows with whole people in them, and the people of each."""
    starts = None if people is None else _starts(people)
    start = 0
    while start < rows:
        stop = min(start + CHUNK, rows)
        if starts is not None and stop < rows:
            whole = int(starts[np.searchsorted(starts, stop, side="right") - 1])
            after = np.searchsorted(starts, start, side="right")
            stop = whole if whole > start else int(starts[after]) if after < len(starts) else rows
        yield slice(start, stop), None if people is None else people[start:stop]
        start = stop


def _passes(
    network: Network, flat: Any, x: Any, y: Any, weight: Any, people: Any, most: int, xp: Any, room: Room | None
) -> tuple[list[Any], list[Any], Any]:
    """Up and down for one chunk: the inputs and derivatives of each layer, and the squared norm of each row's person."""
    rows = x.shape[0]
    x, y = _filled(x, y, room)
    with np.errstate(all="ignore"):  # what is not finite is dropped later, silently
        ups = network.forward(flat, x, xp, room)
        downs = network.backward(flat, ups, network.slopes(ups[-1], y, xp), xp, room)
        ups, downs = [a[:rows] for a in ups[:-1]], [d[:rows] for d in downs]
        if weight is not None:
            downs = [d * weight[:, None] for d in downs]
        if people is None or most == 1:
            square = sum(_squares(a, xp) * _squares(d, xp) for a, d in zip(ups, downs, strict=True))
        else:
            square = _gram_squares(ups, downs, people, xp)
    return ups, downs, square


def _chunk(
    network: Network, flat: Any, x: Any, y: Any, clip: float, weight: Any, people: Any, most: int, xp: Any, room: Any
) -> Any:
    ups, downs, square = _passes(network, flat, x, y, weight, people, most, xp, room)
    with np.errstate(all="ignore"):
        factors = clip / xp.sqrt(square)
        factors = xp.minimum(factors, xp.ones_like(factors))
    # A norm of zero gave a factor of one. One that is no number, or infinite, is a person who contributes nothing.
    # Elsewhere than in NumPy it is cheaper to do this always than to wait for the answer whether it is needed.
    if xp is not np or not math.isfinite(float(xp.sum(square))):
        good = xp.isfinite(square)
        factors = xp.where(good, factors, xp.zeros_like(factors))
        ups = [_emptied(a, good, xp) for a in ups]
        downs = [_emptied(d, good, xp) for d in downs]
    elif factors.size and factors.min() >= 1.0:
        factors = None  # nobody's is too long
    return gradient(network, ups, downs, factors, xp, room)


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


def _gram_squares(ups: list[Any], downs: list[Any], people: Any, xp: Any) -> Any:
    """The squared norm of each person's gradient, repeated for each of its rows.

    Rows are laid out person by person in a table padded with rows of zeros, whose products are zero. Rows of a person may
    cancel, and then rounding could hide what is left of them: its bound is added to the square.
    """
    starts = _starts(people)
    counts = np.diff(np.append(starts, len(people)))
    line = np.repeat(np.arange(len(starts)), counts)
    place = np.arange(len(people)) - np.repeat(starts, counts)
    most = int(counts.max()) if len(counts) else 1
    where = np.full((len(starts), most), len(people))
    where[line, place] = np.arange(len(people))
    index = xp.asarray(where.reshape(-1), **({} if xp is np else {"device": ups[0].device}))
    square: Any = 0.0
    for up, down in zip(ups, downs, strict=True):
        a = _padded(up, index, where.shape, xp)
        d = _padded(down, index, where.shape, xp)
        square = square + xp.sum((a @ xp.matrix_transpose(a)) * (d @ xp.matrix_transpose(d)), axis=(1, 2))
        lengths = xp.sum(xp.sqrt(xp.sum(a * a, axis=2) * xp.sum(d * d, axis=2)), axis=1)
        square = square + (2 * (a.shape[2] + d.shape[2]) + most * most + 8) * _UNIT * lengths * lengths
    return xp.take(square, xp.asarray(line, **({} if xp is np else {"device": ups[0].device})), axis=0)


def _padded(rows: Any, index: Any, shape: tuple[int, int], xp: Any) -> Any:
    zero = xp.zeros((1, rows.shape[1]), dtype=rows.dtype, **({} if xp is np else {"device": rows.device}))
    return xp.reshape(xp.take(xp.concat([rows, zero], axis=0), index, axis=0), (*shape, rows.shape[1]))


def _starts(people: Any) -> Any:
    """Where each person's rows begin."""
    return np.flatnonzero(np.append(True, people[1:] != people[:-1])) if len(people) else np.empty(0, np.intp)


def _emptied(rows: Any, good: Any, xp: Any) -> Any:
    return xp.where(good[:, None], rows, xp.zeros_like(rows))
