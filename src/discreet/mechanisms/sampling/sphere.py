"""Spherical Laplace noise: a uniform direction, a Gamma-distributed length, every coordinate rounded to the grid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.core.random import Random, Words
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Interval
from discreet.mechanisms.sampling.exponential import exponentials
from discreet.mechanisms.sampling.normal import Pairs
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
    # Each normal is within pairs.error, so the length within sqrt(d) of that; fsum adds no error of its own.
    direction_error = (1 + math.sqrt(dimension)) * pairs.error / length + 8 * UNIT if length > 0 else math.inf
    length_error = (ULPS + 2) * UNIT * total + 2 * UNIT * dimension + 2 * unseen
    near = float(scale)
    error = near * (total * direction_error + length_error * (1 + direction_error) + 8 * UNIT * total) + 4 * UNIT
    with np.errstate(invalid="ignore", divide="ignore"):
        value = normal * (near * total / length) + offset
    nearest = np.rint(value)
    if undecided(nearest, value, error, lambda i: error):
        return _settle(random, pairs, words, scale, dimension, offset)
    return nearest.astype(np.int64)


def _enough_pairs(random: Random, count: int) -> Pairs:
    """At least ``count`` pairs from one draw; a draw with too few inside the disc is thrown away whole.

    The number inside says nothing about the values of those that are, so throwing away does not change their law.
    """
    while True:
        pairs = Pairs(random, int(count * 1.4) + 12)
        if pairs.count >= count:
            return pairs


def _settle(random: Random, pairs: Pairs, words: Words, scale: Fraction, dimension: int, offset: Floats | float) -> Integers:
    halves = [pairs.digits(i) for i in range(-(-dimension // 2))]
    waits = [digits_of(word) for word in words]
    offsets = np.broadcast_to(np.asarray(offset, np.float64), (dimension,))

    def total(terms: list[Interval]) -> Interval:
        result = terms[0]
        for term in terms[1:]:
            result = digits.add(result, term)
        return result

    def decide() -> list[int]:
        normal = [z for i in range(len(halves)) for z in pairs.intervals(i)][:dimension]
        length = digits.root(total([digits.multiply(z, z) for z in normal]))
        if length[0] <= 0:
            raise digits.Undecided
        reach = digits.multiply(digits.exactly(scale), total([digits.exponential(w) for w in waits]))
        stretch = digits.divide(reach, length)
        return [
            digits.rounded(digits.add(digits.exactly(Fraction(float(offsets[i]))), digits.multiply(z, stretch)))
            for i, z in enumerate(normal)
        ]

    settled = digits.settle(random, [*(d for half in halves for d in half), *waits], decide)
    return np.array(settled, np.int64)
