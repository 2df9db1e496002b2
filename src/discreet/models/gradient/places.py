"""Where people stand in the blocks that a program works off, so that nobody's place depends on who else was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np

from discreet.core.random import Random

Way = Literal["anywhere", "in places", "one by one"]


def places_drawn(people: int, places: int, random: Random) -> Any:
    """Who stands where: (passes, places) numbers of people, -1 where nobody stands. ``places`` is a power of two.

    Everybody draws a place, independently of everybody else; those who drew the same one stand there in passes, one after
    the other. With m people for each place about m + 4 sqrt(m) passes are made.

    Proof: let one person more be chosen and let everybody else draw the same, which has the same law with and without that
    person. Then nobody else changes place, and only passes shift. Let a program give the exact sum over places of what
    depends on the place and on who stands there alone, the same program in every pass. Then, for all draws, the sums over
    all passes differ by what the person adds. Laws that are close for every draw of what is independent of the person are
    close in the mean over draws. That the draws are nobody's to know is part of it: places by order in the lot would move.
    """
    drawn = (random.words(people) & np.uint64(places - 1)).astype(np.intp)
    order = np.argsort(drawn, kind="stable")
    sizes = np.bincount(drawn, minlength=places)
    firsts = np.cumsum(sizes) - sizes
    made = np.full((int(sizes.max(initial=0)), places), -1, np.intp)
    made[np.arange(people) - np.repeat(firsts, sizes), drawn[order]] = order
    return made


def some_of(shape: tuple[int, ...]) -> Iterator[Any]:
    """Choices among people in places, to try whether those who are chosen come out the same without the others.

    Every second, the left, the first, every third, one person alone and everybody but one, and four choices at random.
    """
    place = np.arange(np.prod(shape)).reshape(shape)
    words = Random(2).words(place.size).reshape(shape)
    yield place % 2 == 0
    yield place % shape[-1] < shape[-1] // 2
    yield place < place.size // 2
    yield place % 3 == 0
    yield from (place == place.size // 3, place != place.size // 3, place == 0, place == place.size - 1)
    yield from (words >> np.uint64(i) & np.uint64(1) == 0 for i in range(4))


def only(some: Any, rows: Any) -> Any:
    """The rows of those chosen, zeros in the places of the others."""
    return np.where(some.reshape(*some.shape, *[1] * (rows.ndim - some.ndim)), rows, 0).astype(rows.dtype)


def made_up(people: int, shapes: tuple[Any, ...], kinds: tuple[str, ...]) -> list[Any]:
    """Rows, targets and weights of the shapes and types that come, from a public stream."""
    random, made = Random(1), []
    for shape, kind in zip(shapes, kinds, strict=True):
        words = random.words(people * int(np.prod(shape, dtype=int)))
        numbers = words % 2 if np.dtype(kind).kind in "iub" else (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
        made.append(numbers.reshape(people, *shape).astype(kind))
    return [*made, np.ones((people, shapes[0][0]))]


def near(first: Any) -> Any:
    """Made-up parameters about the first ones, none of them zero: where a program starts, much may be hidden by zeros."""
    words = Random(3).words(len(first))
    return first + 0.25 * ((words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0) * (1.0 + np.abs(first))


def taken(rows: Any, chosen: Any) -> Any:
    """The rows of the people chosen, zeros where nobody is."""
    made = rows[chosen]
    made[chosen < 0] = 0
    return made


def same(
    blocks: Sequence[Callable[..., Any]], people: int, shapes: tuple[Any, ...], kinds: tuple[str, ...], *, anywhere: bool
) -> bool:
    """Whether ``block(x, y, weight)``, a line for each person, gives a person the same in any company, or even ``anywhere``.

    Tried on made-up rows for every block, one for each of several parameters. Where all lines are zero nothing is seen;
    where that is so for all of them, the answer is no.
    """
    made, told = made_up(people, shapes, kinds), False
    moves = sorted({0, 1, people // 2, people - 1} - {people}) if anywhere else [0]
    everybody = np.full(people, True)
    for block in blocks:
        known = block(*made)
        for by, some in (*((by, everybody) for by in moves), *zip(cycle(moves), some_of((people,)), strict=False)):
            moved = block(*(np.roll(only(some, each), by, 0) for each in made))
            if not np.array_equal(moved, np.roll(only(some, known), by, 0)):
                return False
        told = told or bool(known.any())
    return told
