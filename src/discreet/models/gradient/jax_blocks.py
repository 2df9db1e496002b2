"""Sums over people of a function of one person, in blocks of compiled programs in which nobody changes anybody else."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.core.x64 import jax, jnp
from discreet.models.gradient.places import Way, made_up, near, only, places_drawn, same, some_of, taken

_NUMBERS = 1 << 22  # of the results of one block on a CPU, so that they stay near its caches; on a GPU 32 times as many
_PEOPLE = 64, 4096  # in a block at the most, there and there
_PLACES = 512  # in a block where people keep to places: more of them are filled worse
_PASSES = 16  # of such blocks in one call
_EVERY_BIT = 2.0**-200  # a unit in which nothing is rounded
_SUMMED = 38  # bits of the largest number that a sum of made-up ones has, below 2**53 for all of them


class JaxBlocks:
    """The sum of ``whole(values, x, y, weight, clip, unit)``, whole numbers in doubles, over people with as many rows.

    A program for a block of people is compiled, and tried on made-up rows, at ``values`` as they are at first and at others
    about them. If a person comes out the same to the last bit in every place of a block and in any company, lots are cut
    into blocks ("anywhere"). If that depends on the place, as on a GPU, and not on the company, everybody draws a place ("in
    places", see ``places_drawn``). And if it depends on the company, people are worked off one by one.
    """

    def __init__(self, whole: Callable[..., Any], first: Any) -> None:
        self._first = first
        people = jax.vmap(whole, (None, 0, 0, 0, None, None))
        nothing = np.zeros(len(first))

        def one_by_one(values: Any, x: Any, y: Any, weight: Any, clip: Any, unit: Any) -> Any:
            def add(total: Any, person: Any) -> tuple[Any, None]:
                return total + whole(values, *person, clip, unit), None

            return jax.lax.scan(add, jnp.asarray(nothing), (x, y, weight))[0]

        def passes(values: Any, x: Any, y: Any, weight: Any, clip: Any, unit: Any) -> Any:
            def add(total: Any, rows: Any) -> tuple[Any, None]:
                return total + people(values, *rows, clip, unit).sum(0), None

            return jax.lax.scan(add, jnp.asarray(nothing), (x, y, weight))[0]

        self._block, self._one_by_one, self._passes = jax.jit(people), jax.jit(one_by_one), jax.jit(passes)
        # Of whole numbers; apart, so that what runs is the program that was tried.
        self._added = jax.jit(lambda each: each.sum(0))
        self.way_of = lru_cache(maxsize=64)(self._way_of)

    def total(self, values: Any, x: Any, y: Any, weight: Any, clip: float, unit: float) -> Any:
        """The sum over people: row j of person i is ``x[i, j]``."""
        way, people = self.way_of((x.shape[1:], y.shape[1:]), (str(x.dtype), str(y.dtype)))
        total = np.zeros(len(self._first))
        if way == "in places":
            standing = places_drawn(len(x), people, Random())
            for start in range(0, len(standing), _PASSES):
                chosen = _filled(standing[start : start + _PASSES], _PASSES, -1)
                total += np.asarray(self._passes(values, *(taken(each, chosen) for each in (x, y, weight)), clip, unit))
            return total
        for start in range(0, len(x), people):
            rows = [_filled(each[start : start + people], people) for each in (x, y, weight)]
            if way == "anywhere":
                total += np.asarray(self._added(self._block(values, *rows, clip, unit)))
            else:
                total += np.asarray(self._one_by_one(values, *rows, clip, unit))
        return total

    def _way_of(self, shapes: tuple[Any, Any], kinds: tuple[str, str]) -> tuple[Way, int]:
        """The way in which rows of these shapes and types are worked off, and how many people at once."""
        on_gpu = jax.default_backend() != "cpu"
        room = max(1, (_NUMBERS << 5 * on_gpu) // len(self._first))
        people, places = min(_PEOPLE[on_gpu], room), min(_PLACES, 1 << room.bit_length() - 1)
        tried = [self._first, jnp.asarray(near(np.asarray(self._first, np.float64)), self._first.dtype)]
        if same([partial(self._each, values) for values in tried], people, shapes, kinds, anywhere=True):
            return "anywhere", people
        return ("in places", places) if self._same_in_company(tried, places, shapes, kinds) else ("one by one", people)

    def _each(self, values: Any, *rows: Any) -> Any:
        """A line for each person of a block, to the last bit."""
        return np.asarray(self._block(values, *rows, 1.0, _EVERY_BIT))

    def _same_in_company(self, tried: list[Any], places: int, shapes: tuple[Any, Any], kinds: tuple[str, str]) -> bool:
        """Whether what is made of everybody is what is made of some of them, and of all others, in their places.

        In any order of the passes. Numbers are counted in a unit in which sums over everybody are exact.
        """
        made = [each.reshape(_PASSES, places, *each.shape[1:]) for each in made_up(_PASSES * places, shapes, kinds)]
        everybody, told = np.full((_PASSES, places), True), False
        for values in tried:
            largest = np.abs([self._each(values, *(each[i] for each in made)) for i in range(2)]).max()
            unit = float(np.ldexp(_EVERY_BIT, int(np.frexp(largest)[1]) - _SUMMED))

            def of(some: Any, turn: int = 1, values: Any = values, unit: float = unit) -> Any:
                return np.asarray(self._passes(values, *(only(some, each)[::turn] for each in made), 1.0, unit))

            known = of(everybody)
            if not np.array_equal(known, of(everybody, -1)):
                return False
            if not all(np.array_equal(of(some) + of(~some), known) for some in some_of((_PASSES, places))):
                return False
            told = told or bool(known.any())
        return told


def _filled(rows: Any, people: int, value: int = 0) -> Any:
    """A block of ``people``, filled up with a value; rows of zeros weigh nothing."""
    if len(rows) == people:
        return rows
    whole = np.full((people, *rows.shape[1:]), value, rows.dtype)
    whole[: len(rows)] = rows
    return whole
