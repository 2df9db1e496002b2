"""Draws made from the standard exponential -ln U: Laplace, geometric, discrete Laplace, Bernoulli(exp(-x))."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.random import Random, Words
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Digits
from discreet.mechanisms.sampling.uniform import (
    BLOCK,
    SPAN,
    ULPS,
    UNIT,
    Booleans,
    Floats,
    Integers,
    Scales,
    at,
    digits_of,
    give_signs,
    least_and_most,
    magnitudes,
    part,
    sign_of,
    undecided,
)


def laplace(random: Random, scales: Sequence[Fraction], size: int, offset: Floats | float = 0.0) -> Integers:
    """round(offset + s L) for independent standard Laplace L: |L| = -ln U, and a fair sign."""
    out = np.empty(size, np.int64)
    for _ in _blocks(random, Scales(scales), size, offset, signed=True, out=out):
        pass
    return out


def one_laplace(random: Random, scale: Fraction, near: float, offset: float) -> int:
    """``laplace`` for a single draw, without the cost of arrays; ``near`` is the double next to the scale."""
    word = random.word()
    return _one(random, word, -scale if word & 1 else scale, -near if word & 1 else near, offset)


def one_discrete_laplace(random: Random, scale: Fraction) -> int:
    """``discrete_laplace`` for a single draw, by the same words."""
    near = float(scale)
    while True:
        word = random.word()
        magnitude = _one(random, word, scale, near, -0.5)
        if magnitude or not word & 1:
            return -magnitude if word & 1 else magnitude


def _one(random: Random, word: int, scale: Fraction, near: float, offset: float) -> int:
    """round(offset + s E) for the exponential E of one word; a negative scale turns it around."""
    magnitude = (word >> 1) * SPAN
    if magnitude:
        value = offset - math.log(magnitude) * near
        nearest = round(value)
        if abs(value - nearest) <= 0.5 - _error(abs(near), magnitude):
            return nearest
    return _settle(random, Digits(word >> 1), scale, Fraction(offset))


def geometric(random: Random, scale: Fraction, size: int) -> Integers:
    """floor(s E) for a standard exponential E: P(G >= k) = exp(-k / s), k = 0, 1, ..."""
    out = np.empty(size, np.int64)
    for _ in _blocks(random, Scales([scale]), size, -0.5, signed=False, out=out):
        pass
    return out


def discrete_laplace(random: Random, scale: Fraction, size: int) -> Integers:
    """P(k) proportional to exp(-|k| / s): a geometric magnitude and a fair sign; minus zero is drawn again.

    The magnitude reads the upper bits of a word and the sign its lowest, so the two are independent.
    """
    out = np.empty(size, np.int64)
    filled = 0
    again = 0.5 * -math.expm1(-1.0 / float(scale))  # how often minus zero comes up
    while filled < size:
        want = size - filled
        ahead = want if again < 1e-3 else int(want / (1 - again) * 1.02) + 8
        for words, magnitude in _blocks(random, Scales([scale]), ahead, -0.5, signed=False):
            minus = (words & np.uint64(1)).astype(np.bool_)
            np.negative(magnitude, out=magnitude, where=minus)
            dropped = minus & (magnitude == 0)
            kept = magnitude[~dropped] if dropped.any() else magnitude
            kept = kept[: size - filled]
            out[filled : filled + kept.size] = kept
            filled += kept.size
    return out


def exponentials(uniform: Floats, least: float) -> Floats:
    """-log, in place; a zero, of which the first bit is yet to be seen, becomes some large number to be settled."""
    if least == 0.0:
        uniform[uniform == 0.0] = SPAN
    np.log(uniform, out=uniform)
    return np.negative(uniform, out=uniform)


def exponential_error(least: float) -> float:
    """A bound on the error of -log of ``magnitudes`` that are at least ``least``, unseen bits included."""
    if not least > 0:
        return math.inf
    return (ULPS + 2) * UNIT * -math.log(least) + 2 * UNIT + SPAN / least


def _error(near: float, least: float) -> float:
    """A bound on the error of offset + s E in doubles, for a magnitude of at least ``least``.

    Beside the logarithm: the scale is read to a unit, one product, one sum with an offset within [-1, 1].
    """
    reach = -math.log(least) if least > 0 else math.inf
    return near * (exponential_error(least) + 4 * UNIT * reach) + 2 * UNIT


def _blocks(
    random: Random, scales: Scales, size: int, offset: Floats | float, *, signed: bool, out: Integers | None = None
) -> Iterator[tuple[Words, Integers]]:
    """Blocks of round(offset + s E), E exponential or Laplace: (words, rounded); in ``out`` where it is given.

    What doubles decide lies far below 2**53, and what is settled with more digits is kept as the whole number it is: no
    draw is ever rounded to a double.
    """
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        words = random.words(stop - start)
        value = magnitudes(words)
        least = least_and_most(value)[0]
        value = exponentials(value, least)
        value *= scales.near(start, stop)
        if signed:
            give_signs(value, words)
        shift = part(offset, start, stop)
        value += shift
        if not signed:
            # Rounded down: what lies above 0 and below 3/4 is 0 and near no edge, however small the scale is.
            np.maximum(value, -0.25, out=value)
        nearest = np.rint(value)
        if out is None:
            block = nearest.astype(np.int64)
        else:
            block = out[start:stop]
            block[...] = nearest
        own = partial(_own_error, words, scales, start)
        for i in undecided(nearest, value, _error(scales.largest, least), own):
            scale = scales.at(start + i) * (sign_of(words[i]) if signed else 1)
            block[i] = _settle(random, digits_of(words[i]), scale, at(shift, i))
        yield words, block


def _own_error(words: Words, scales: Scales, start: int, place: int) -> float:
    return _error(scales.near_at(start + place), (int(words[place]) >> 1) * SPAN)


def _settle(random: Random, uniform: Digits, scale: Fraction, offset: Fraction) -> int:
    def decide() -> int:
        value = digits.multiply(digits.exactly(scale), digits.exponential(uniform))
        return digits.rounded(offset, value)

    return digits.settle(random, [uniform], decide)


def exceeds(random: Random, near: Floats, error: Floats, exact: Callable[[int], Fraction]) -> Booleans:
    """Whether a fresh standard exponential exceeds each threshold x: Bernoulli(exp(-x)), exactly.

    ``near`` are the thresholds in doubles, ``error`` bounds their errors, ``exact(i)`` is the i-th as a rational.
    """
    words = random.words(near.size)
    value = magnitudes(words)
    least = float(value.min()) if value.size else 1.0
    value = exponentials(value, least)
    value -= near
    answer: Booleans = value > 0
    np.abs(value, out=value)
    doubt = error + (exponential_error(least) + 2 * UNIT * (near + (45 if least > 0 else math.inf)))
    for i in np.flatnonzero(~(value > doubt)):
        answer[i] = _settle_exceeds(random, digits_of(words[i]), exact(int(i)))
    return answer


def _settle_exceeds(random: Random, uniform: Digits, threshold: Fraction) -> bool:
    return digits.settle(random, [uniform], lambda: digits.less(digits.exactly(threshold), digits.exponential(uniform)))


def bernoulli_exp(random: Random, x: Fraction, size: int) -> Booleans:
    """Bernoulli(exp(-x)) for a rational x that is not negative."""
    near = np.full(size, float(x))
    return exceeds(random, near, 2 * UNIT * near, lambda i: x)
