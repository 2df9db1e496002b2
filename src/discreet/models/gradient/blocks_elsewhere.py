"""Blocks of rows on a GPU, or in another library's arrays: who stands where in them, so that nobody moves another."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.models.gradient.clipping import passes
from discreet.models.gradient.network import Network
from discreet.models.gradient.places import near, places_drawn, some_of

PLACES = 2048  # of a block in which people draw places
_PARAMETERS = 2  # vectors of them that are tried
_MOVES = (1, 2, 3, 7, 16, 31, 32, 48, 64, 100)


def blocks(network: Network, block: int, people: int, xp: ModuleType, device: Any) -> tuple[Any, int]:
    """Who stands where, -1 for nobody, in whole blocks one after the other; and the rows of a block.

    Leaving one person out moves all later ones by a place. Their gradients must not change with it: not in a last digit,
    because a unit that is just on or off would turn for many of them at once. Where a row gives the same in every place of a
    block of ``block`` rows and in any company, people stand in the order of the lot. Where it depends on the place alone,
    everybody draws a place (see ``places_drawn``). Both are tried on made-up rows, and where neither holds it is refused.
    """
    if steady(network, block, xp, device, moved=True):
        standing = np.full(max(1, -(-people // block)) * block, -1, np.intp)
        standing[:people] = np.arange(people)
        return standing, block
    if steady(network, PLACES, xp, device, moved=False):
        drawn = places_drawn(people, PLACES, Random())
        return (drawn.reshape(-1) if len(drawn) else np.full(PLACES, -1, np.intp)), PLACES
    raise InvalidRequest(
        f"what a row gives must not depend on the other rows of a block, and on {device} it does: a person would show in "
        "the others' gradients; pass NumPy arrays"
    )


@lru_cache(maxsize=64)
def steady(network: Network, rows: int, xp: ModuleType, device: Any, *, moved: bool) -> bool:
    """Whether a row of a block comes out the same to the last bit without some of the others, and with all ``moved``."""
    random = Random(network.size)
    numbers = (random.words(rows * network.widths[0]) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    words = random.words(rows)
    goal = (words & np.uint64(1)) * 2.0 - 1.0 if network.loss is not None else words % np.uint64(network.widths[-1])

    def there(array: Any) -> Any:
        return xp.asarray(array, dtype=xp.float64, device=device)

    x = network.widen(there(numbers.reshape(rows, network.widths[0])), xp)
    y = there(goal.astype(np.float64))
    choices = [xp.asarray(some, device=device)[:, None] for some in some_of((rows,))]
    # Places as data: a library that compiles would compile each move anew if it were told by how much.
    shifts = sorted({*_MOVES, rows // 2, rows - 1}) if moved else []
    moves = [xp.asarray(np.roll(np.arange(rows), by), device=device) for by in shifts]
    flat = network.start(1)
    for _ in range(_PARAMETERS):
        flat = near(flat)
        weights = there(flat)
        known = _lines(network, weights, x, y, xp)
        for places in moves:
            lines = _lines(network, weights, xp.take(x, places, axis=0), xp.take(y, places, axis=0), xp)
            if not all(bool(xp.all(a == xp.take(b, places, axis=0))) for a, b in zip(lines, known, strict=True)):
                return False
        for some in choices:
            lines = _lines(network, weights, xp.where(some, x, xp.zeros_like(x)), y, xp)
            if not all(bool(xp.all((a == b) | ~some)) for a, b in zip(lines, known, strict=True)):
                return False
    return True


def _lines(network: Network, flat: Any, x: Any, y: Any, xp: ModuleType) -> list[Any]:
    """All that a row gives: the inputs and derivatives of each layer, and the square of its gradient's norm."""
    ups, downs, square = passes(network, flat, x, y, None, None, 1, xp, None)
    return [*ups, *downs, square[:, None]]
