"""Uniform words as numbers, and the draws that need nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.core.random import Random, Words
from discreet.mechanisms.sampling.digits import Digits

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

BLOCK = 1 << 14  # draws at a time: everything stays in the second-level cache
ULPS = 4.0  # the accuracy asked of NumPy's elementary functions, in units in the last place
UNIT = 2.0**-53
SPAN = 2.0**-63  # what the bits not yet seen of a magnitude can add to it
# The largest scale in grid steps. No 63 bits give more than 43.7 scales, so every whole number in doubles lies below 2**48.
LARGEST_BITS = 42
LARGEST = Fraction(1 << LARGEST_BITS)
_ONE, _TOP = np.uint64(1), np.uint64(63)


def magnitudes(words: Words) -> Floats:
    """The upper 63 bits of each word as a number in [0, 1], to within one unit in the last place."""
    values: Floats = (words >> _ONE).view(np.int64).astype(np.float64)
    values *= SPAN
    return values


def give_signs(values: Floats, words: Words) -> None:
    """Give each value, which is not negative, the sign in the lowest bit of its word."""
    bits = values.view(np.uint64)
    bits ^= words << _TOP


def digits_of(word: np.uint64) -> Digits:
    """The upper 63 bits of a word as the beginning of a uniform number."""
    return Digits(int(word) >> 1)


def sign_of(word: np.uint64) -> int:
    """The sign in the lowest bit of a word."""
    return -1 if int(word) & 1 else 1


class Scales:
    """One scale for all draws, or a row of them repeated: the exact rationals and the doubles next to them."""

    def __init__(self, exact: Sequence[Fraction]) -> None:
        self.exact = exact
        self._near = [float(s) for s in exact]
        self.largest = max(self._near)

    def near(self, start: int, stop: int) -> Floats | float:
        """The doubles for draws start .. stop - 1."""
        if len(self.exact) == 1:
            return self.largest
        return np.array(self._near)[np.arange(start, stop) % len(self.exact)]

    def near_at(self, index: int) -> float:
        """The double for one draw."""
        return self._near[index % len(self._near)]

    def at(self, index: int) -> Fraction:
        """The rational for one draw."""
        return self.exact[index % len(self.exact)]


def part(offset: Floats | float, start: int, stop: int) -> Floats | float:
    """The offsets of draws start .. stop - 1: a slice, or the one number for all."""
    return offset if isinstance(offset, float) else offset[start:stop]


def at(offset: Floats | float, index: int) -> Fraction:
    """One offset as the rational it is."""
    return Fraction(offset if isinstance(offset, float) else float(offset[index]))


def least_and_most(values: Floats) -> tuple[float, float]:
    """The ends of some values. For a handful plain Python is quicker than NumPy's reductions."""
    if values.size > _HANDFUL:
        return float(values.min()), float(values.max())
    listed = values.tolist()
    return min(listed), max(listed)


_HANDFUL = 16


def undecided(nearest: Floats, values: Floats, error: float, own: Callable[[int], float]) -> list[int]:
    """Where ``values`` lie so close to a half that their error could change the rounding.

    ``error`` bounds the errors of all; where it leaves a doubt, ``own(i)`` bounds that of the i-th alone.
    """
    gap = values - nearest
    np.abs(gap, out=gap)
    if gap.size and least_and_most(gap)[1] <= 0.5 - error:
        return []
    return [i for i in np.flatnonzero(~(gap <= 0.5 - error)).tolist() if not gap[i] <= 0.5 - own(i)]


def bernoulli(random: Random, p: Fraction, size: int) -> Booleans:
    """Bernoulli(p) for a rational p.

    Proof: U < p is decided by the first 64 bits of U unless they equal those of p; then the rest of U is compared
    with the rest of p, which is a rational with the same denominator, so a uniform whole number below it decides.
    """
    whole, rest = divmod(p.numerator << 64, p.denominator)
    if whole >> 64:
        return np.ones(size, np.bool_)
    words = random.words(size)
    answer: Booleans = words < np.uint64(whole)
    for i in np.flatnonzero(words == np.uint64(whole)):
        answer[i] = random.below(p.denominator) < rest
    return answer


def below(random: Random, bound: int, size: int) -> Integers:
    """Uniform whole numbers in 0 .. bound - 1; words of the incomplete last run are drawn again."""
    limit = (1 << 64) // bound * bound
    words = random.words(size)
    if limit < 1 << 64:
        while (bad := np.flatnonzero(words >= np.uint64(limit))).size:
            words[bad] = random.words(bad.size)
    return (words % np.uint64(bound)).astype(np.int64)
