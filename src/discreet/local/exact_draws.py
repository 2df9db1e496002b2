"""Exact draws that local reports are made of. Probabilities are rationals; nothing here rounds one.

``odds(epsilon)`` is the one number in which every law of this package is written: a rational just below e^epsilon. A
law whose largest ratio of probabilities is exactly that rational costs at most epsilon, and epsilon to sixteen digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.mechanisms.sampling import digits, uniform
from discreet.mechanisms.sampling.uniform import Booleans, Floats, Integers

LEAST_EPSILON, MOST_EPSILON = Fraction(1, 2**30), Fraction(64)
_DIGITS = 64  # significant bits of e^epsilon - 1
_BELOW_ONE = 1.0 - 2.0**-53
_ENOUGH = 1 << 53
_SMALL = 1 << 10
_WIDE = 1 << 11


def read_epsilon(value: Number) -> Fraction:
    """epsilon as a rational within the range where every formula here keeps its digits."""
    exact = numbers.positive(value, "epsilon")
    if not LEAST_EPSILON <= exact <= MOST_EPSILON:
        raise InvalidRequest(f"epsilon must lie between 2**-30 and 64, got {value}; beyond it a report says nothing or all")
    return exact


@lru_cache(maxsize=256)
def odds(epsilon: Fraction) -> Fraction:
    """A rational R with R <= e^epsilon and R - 1 >= (e^epsilon - 1)(1 - 2**-60).

    Proof: ``Decimal.exp`` is correctly rounded, so one unit below it is a lower bound; the excess over one is then
    rounded down to 64 significant bits.
    """
    with localcontext(Context(prec=100)):
        excess = Fraction(digits.exactly(epsilon)[0].exp().next_minus()) - 1
    step = Fraction(2) ** (numbers.floor_log2(excess) - _DIGITS)
    return 1 + (excess // step) * step


def bits(random: Random, p: Fraction, size: int) -> Booleans:
    """Bernoulli(p), from sixteen bits each; the few draws that these leave open take what they need."""
    whole, rest = divmod(p.numerator << 16, p.denominator)
    drawn = random.words(-(-size // 4)).view(np.uint16)[:size]
    answer: Booleans = drawn < whole
    open_ = np.flatnonzero(drawn == whole)
    answer[open_] = uniform.bernoulli(random, Fraction(rest, p.denominator), open_.size)
    return answer


def below(random: Random, bound: int, size: int) -> npt.NDArray[Any]:
    """Uniform whole numbers in 0 .. bound - 1; from sixteen bits each where the bound is small.

    Proof: of the 2^16 products x bound, those whose lower half is at least 2^16 mod bound fall to every upper half equally
    often (Lemire 2019); the others are drawn again.
    """
    if bound > _SMALL:
        return uniform.below(random, bound, size)
    drawn = random.words(-(-size // 4)).view(np.uint16)[:size].astype(np.uint32)
    drawn *= np.uint32(bound)
    over = (1 << 16) % bound
    while over and (bad := np.flatnonzero(drawn.astype(np.uint16) < over)).size:
        drawn[bad] = random.words(bad.size).astype(np.uint16).astype(np.uint32) * np.uint32(bound)
    drawn >>= np.uint32(16)
    return drawn


def fair(random: Random, size: int) -> Booleans:
    """Fair coins, one bit each."""
    drawn = np.unpackbits(random.words(-(-size // 64)).view(np.uint8), count=size)
    return drawn.view(np.bool_)


def tilted(random: Random, x: Floats) -> Booleans:
    """True with probability (1 + x) / 2, for doubles x in [-1, 1], each read to a multiple of 2**-63."""
    words = random.words(x.size).view(np.int64).reshape(x.shape)
    limit = (np.minimum(x, _BELOW_ONE) * 2.0**63).astype(np.int64)
    return (words < limit) | (x >= 1.0)


def uniforms(random: Random, size: int) -> Floats:
    """Uniform numbers in (0, 1] as doubles, right to a relative 2**-52 however small they are.

    Proof: a word of at least 2**53 leaves open less than 2**-53 of itself, and so does the conversion; a smaller one is
    continued until it is that large.
    """
    words = random.words(size)
    values = np.ldexp(words.astype(np.float64), -64)
    for i in np.flatnonzero(words < _ENOUGH):
        head, length = int(words[i]), 64
        while head < _ENOUGH:
            head, length = head << 64 | random.word(), length + 64
        values[i] = float(Fraction(head, 1 << length))
    return values


class WeightedLaw:
    """A law on 0 .. len - 1 with probabilities proportional to whole numbers of any size.

    Proof: a uniform number U is compared with the boundaries c_i / total of the cumulative law. Its first 64 bits w
    decide unless a boundary lies in the same cell [w, w + 1) / 2**64; within the cell the boundaries are multiples of
    1 / total of its width, so one uniform whole number below total decides.
    """

    def __init__(self, weights: Sequence[int]) -> None:
        *inner, self.total = accumulate(weights)
        places = [divmod(c << 64, self.total) for c in inner]
        # A boundary at one belongs to entries of no weight at the end: it is never passed.
        kept = [place for place in places if place[0] >> 64 == 0]
        self._edges = np.array([edge for edge, _ in kept], np.uint64)
        self._rests = [rest for _, rest in kept]

    def draw(self, random: Random, size: int) -> Integers:
        words = random.words(size)
        index = np.searchsorted(self._edges, words, side="right")
        if self._edges.size:
            for i in np.flatnonzero((index > 0) & (self._edges[np.maximum(index, 1) - 1] == words)):
                index[i] = self._settle(random, words[i])
        return index.astype(np.int64, copy=False)

    def _settle(self, random: Random, word: np.uint64) -> int:
        first, after = (int(np.searchsorted(self._edges, word, side=side)) for side in ("left", "right"))
        part = random.below(self.total)
        return first + sum(part >= self._rests[i] for i in range(first, after))


def subsets_around(random: Random, size: int, width: int, places: Integers, held: Booleans) -> Booleans:
    """Uniform subsets of ``size`` of 0 .. width - 1 that hold, or do not hold, the given place of their row.

    Proof: the other places have independent uniform keys, and the ``size - 1`` smallest are taken where the place is held,
    the ``size`` smallest where it is not. A row is drawn again if equal keys share *either* of the two boundaries: given
    that they do not, every subset is equally likely, and how often it happens depends on neither the place nor ``held``.
    """
    kind = _keys(width)
    marks = np.empty((places.size, width), np.bool_)
    ends = [i for i in (size - 1, size, size + 1) if 0 < i < width]
    todo: slice | npt.NDArray[np.intp] = slice(None)
    while True:
        mine, inside = places[todo], held[todo]
        keys = random.words(-(-mine.size * width * kind.itemsize // 8)).view(kind)[: mine.size * width].reshape(-1, width)
        rows = np.arange(mine.size)
        keys[rows, mine] = 0  # first in the order, whatever the value: the others follow from rank 1
        ordered = np.sort(keys, axis=1) if width <= _WIDE else np.partition(keys, ends, axis=1)
        with_, without = ordered[:, size], ordered[:, min(size + 1, width - 1)]
        row = keys < np.where(inside, with_, without)[:, None]
        # Without it and with all others there is no boundary.
        row |= (~inside & (size + 1 == width))[:, None]
        row[rows, mine] = inside
        marks[todo] = row
        tied = [ordered[:, a] == ordered[:, b] for a, b in pairwise(ends)]
        bad = np.flatnonzero(np.logical_or.reduce(tied)) if tied else rows[:0]
        if not bad.size:
            return marks
        todo = bad if isinstance(todo, slice) else todo[bad]


def _keys(width: int) -> np.dtype[Any]:
    """Keys so long that few of ``width`` are equal."""
    return np.dtype(np.uint16 if width <= 256 else np.uint32)


def subsets(random: Random, sizes: Integers, width: int) -> Booleans:
    """For each size a uniform subset of 0 .. width - 1 of that size, as a row of marks.

    Proof: mark the places of the ``size`` smallest of independent uniform keys. Keys are exchangeable, so given that the
    last one taken and the first one left differ, every subset is equally likely; rows where they are equal are drawn
    again. How often that happens depends on the size only.
    """
    kind = _keys(width)
    per_word = 8 // kind.itemsize
    marks = np.empty((sizes.size, width), np.bool_)
    todo: slice | npt.NDArray[np.intp] = slice(None)
    while True:
        wanted = sizes[todo]
        keys = random.words(-(-wanted.size * width // per_word)).view(kind)[: wanted.size * width].reshape(-1, width)
        last, first = _around_rank(keys, wanted)
        # With nothing wanted no key lies below the smallest; with everything wanted all are taken.
        marks[todo] = (keys < first[:, None]) | (wanted == width)[:, None]
        bad = np.flatnonzero((last == first) & (wanted > 0) & (wanted < width))
        if not bad.size:
            return marks
        todo = bad if isinstance(todo, slice) else todo[bad]


def _around_rank(keys: npt.NDArray[Any], ranks: Integers) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """For each row the last of its ``rank`` smallest keys, and the first of the others."""
    width = keys.shape[1]
    low, high = np.maximum(ranks, 1) - 1, np.minimum(ranks, width - 1)
    if width <= _WIDE:
        ordered, rows = np.sort(keys, axis=1), np.arange(len(keys))
        return ordered[rows, low], ordered[rows, high]
    # Selection is linear where sorting is not, and pays for the loop once rows are long.
    parts = [np.partition(row, k) for row, k in zip(keys, high, strict=True)]
    firsts = np.array([part[k] for part, k in zip(parts, high, strict=True)], keys.dtype)
    lasts = np.array([part[: max(k, 1)].max() for part, k in zip(parts, high, strict=True)], keys.dtype)
    return lasts, firsts
