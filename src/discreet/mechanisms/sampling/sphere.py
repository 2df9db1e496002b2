"""Spherical Laplace noise: a uniform direction, a Gamma-distributed length, every coordinate rounded to the grid."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from discreet.core.random import Random, Words
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Digits, Interval
from discreet.mechanisms.sampling.exponential_draws import exponentials
from discreet.mechanisms.sampling.normal_draws import Pairs
from discreet.mechanisms.sampling.uniform import (
    SPAN,
    ULPS,
    UNIT,
    Floats,
    Integers,
    digits_of,
    magnitudes,
    undecided,
)


def spherical_laplace(random: Random, scale: Fraction, dimension: int, offset: Floats | float = 0.0) -> Integers:
    """round(offset + s B) for one B in ``dimension`` dimensions with density proportional to exp(-|B|_2).

    Proof: in polar coordinates that density is a uniform direction and a length with density proportional to
    r**(d-1) e**-r, the Gamma(d) law, which is the sum of d standard exponentials; a normal vector divided by its
    length has a uniform direction.
    """
    pairs = _enough_pairs(random, -(-dimension // 2))
    words = random.words(dimension)
    normal = pairs.values.T.reshape(-1)[:dimension]
    length = math.sqrt(math.fsum(normal * normal))
    uniform = magnitudes(words)
    least = float(uniform.min())
    unseen = float((SPAN / uniform).sum()) if least > 0 else math.inf
    total = math.fsum(exponentials(uniform, least))
    # Each normal is within its own error, so the length within that of all together; fsum adds no error of its own.
    own = np.repeat(pairs.errors, 2)[:dimension]
    together = math.sqrt(math.fsum(own * own)) * (1 + 8 * UNIT) + 4 * UNIT * length
    length_error = (ULPS + 2) * UNIT * total + 2 * UNIT * dimension + 2 * unseen
    near = float(scale)
    with np.errstate(all="ignore"):
        share = np.abs(normal) / length
        astray = (own + share * together) / (length - together) + 8 * UNIT * share
        if not together < length:  # the direction is not known at all
            astray = np.full(dimension, math.inf)
        error = near * (total * astray + length_error * (share + astray) + 8 * UNIT * total * share) + 4 * UNIT
        value = normal * (near * total / length) + offset
    nearest = np.rint(value)
    doubtful = undecided(nearest, value, float(error.max()), error.item)
    settled = _settle(random, pairs, words, scale, dimension, offset, doubtful) if doubtful else []
    nearest[doubtful] = 0.0  # where nothing was known yet they may be no numbers
    steps = nearest.astype(np.int64)
    steps[doubtful] = settled
    return steps


def _enough_pairs(random: Random, count: int) -> Pairs:
    """At least ``count`` pairs from one draw; a draw with too few inside the disc is thrown away whole.

    The number inside says nothing about the values of those that are, so throwing away does not change their law.
    """
    while True:
        pairs = Pairs(random, int(count * 1.4) + 12)
        if pairs.count >= count:
            return pairs


def _settle(
    random: Random, pairs: Pairs, words: Words, scale: Fraction, dimension: int, offset: Floats | float, doubtful: list[int]
) -> list[int]:
    """The coordinates whose rounding doubles leave open, from more digits of everything.

    A sum of exponentials -ln U is -ln of the product of the U, and the two normals of a polar pair have v**2 + w**2 = r and
    squares that add up to -2 ln r: so the length of the noise and that of the normal vector take one logarithm each.
    """
    halves = [pairs.digits(i) for i in range(-(-dimension // 2))]
    waits = [digits_of(word) for word in words]
    offsets = np.broadcast_to(np.asarray(offset, np.float64), (dimension,))

    def decide() -> list[int]:
        square = digits.multiply((Decimal(2), Decimal(2)), digits.negate(_log_of_discs(halves[: dimension // 2])))
        if dimension % 2:
            last, _ = pairs.intervals(dimension // 2)
            square = digits.add(square, digits.multiply(last, last))
        length = digits.root(square)
        if length[0] <= 0:
            raise digits.Undecided
        reach = digits.multiply(digits.exactly(scale), digits.negate(_log_of_all(waits)))
        stretch = digits.divide(reach, length)
        return [
            digits.rounded(Fraction(float(offsets[i])), digits.multiply(pairs.intervals(i // 2)[i % 2], stretch))
            for i in doubtful
        ]

    return digits.settle(random, [*(d for half in halves for d in half), *waits], decide)


def _log_of_all(uniforms: list[Digits]) -> Interval:
    """The sum of the logarithms of uniform numbers."""
    return digits.log_of_product([(u.head, u.head + 1) for u in uniforms], sum(u.bits for u in uniforms))


def _log_of_discs(halves: list[tuple[Digits, Digits]]) -> Interval:
    """The sum of the logarithms of the v**2 + w**2 of pairs, whose numbers are known to as many bits each."""
    squares = [(v.head**2 + w.head**2, (v.head + 1) ** 2 + (w.head + 1) ** 2) for v, w in halves]
    return digits.log_of_product(squares, sum(2 * v.bits for v, _ in halves))
