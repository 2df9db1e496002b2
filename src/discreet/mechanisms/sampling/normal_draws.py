"""Draws made from the standard normal: the Gaussian rounded to a grid, and the discrete Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.random import Random
from discreet.mechanisms.sampling import digits
from discreet.mechanisms.sampling.digits import Digits, Interval
from discreet.mechanisms.sampling.exponential_draws import discrete_laplace, exceeds
from discreet.mechanisms.sampling.uniform import (
    BLOCK,
    SPAN,
    ULPS,
    UNIT,
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


class Pairs:
    """Pairs of independent standard normals by Marsaglia's polar method, in doubles with one bound on the error.

    v, w uniform in the square and kept inside the unit disc, r = v**2 + w**2: then v sqrt(-2 ln r / r) and
    w sqrt(-2 ln r / r) are independent standard normal. ``values[0]`` are the first of each pair, ``values[1]`` the
    second; about pi/4 of the pairs asked for are kept.

    Proof of ``error``: with u = 2**-53, r is read, squared and summed within 4u relative, and bits not seen move it
    by at most 2**-61 / sqrt(r) relative: call the sum d. q = -2 ln r / r has relative error at most
    d (1 + 1/|ln r|) + (2 ULPS + 2) u, its root half of that and ULPS u more; the product with v, itself within
    u and 2**-63, is a normal of size at most z = sqrt(-2 ln r), and z / |ln r| = 2 / z.
    """

    def __init__(self, random: Random, asked: int) -> None:
        words = random.words(2 * asked).reshape(2, asked)
        v = magnitudes(words)
        give_signs(v, words)
        square = v * v
        r = square[0]
        r += square[1]
        self._words, self._known = words, dict[int, tuple[Digits, Digits]]()
        # Places and not a mask: a processor cannot guess who is kept, and a mask makes it guess for each, three times.
        self._kept = np.flatnonzero(r < 1.0 + 16 * UNIT)
        self._squares = r = r.take(self._kept)
        least, most = least_and_most(r) if r.size else (1.0, 1.0)
        if most > 1.0 - 16 * UNIT:
            r, most = self._settle_edge(random, r)
        self.count = r.size
        self.error = _error(least, most) if r.size else 0.0
        stretch = np.log(r)
        stretch /= r
        stretch *= -2.0
        # Abs: a pair next to the edge of the disc, which is settled elsewhere, may have a logarithm above zero here.
        np.sqrt(np.abs(stretch, out=stretch), out=stretch)
        self.values = np.empty((2, r.size))
        for made, given in zip(self.values, v, strict=True):
            given.take(self._kept, out=made, mode="clip")
        self.values *= stretch

    def _settle_edge(self, random: Random, r: Floats) -> tuple[Floats, float]:
        """Leave out pairs that are not inside the disc: next to its edge that depends on bits not yet seen."""
        inside = np.ones(r.size, np.bool_)
        for i in np.flatnonzero(r > 1.0 - 16 * UNIT):
            first, second = self._digits(int(self._kept[i]))
            inside[i] = digits.settle(random, [first, second], partial(_inside, first, second))
        self._kept, self._squares = self._kept[inside], r[inside]
        return self._squares, float(self._squares.max(initial=0.0))

    @property
    def errors(self) -> Floats:
        """The bound for each pair alone; infinite where nothing is known in doubles."""
        r = self._squares
        with np.errstate(all="ignore"):
            size, unseen = np.sqrt(-2.0 * np.log(r)), 4 * SPAN / np.sqrt(r)
            found = (size * ((2 * ULPS + 8) * UNIT + unseen) + (4 * UNIT + unseen) / size) * (1 + 64 * UNIT)
        return np.where((r > 0.0) & (r < 1.0 - 16 * UNIT), found, np.inf)

    def error_of(self, pair: int) -> tuple[float, float]:
        """The bound for one pair alone, and the most that either of the two can be."""
        square = float(self._squares[pair])
        return _error(square, square), math.sqrt(-2 * math.log(square)) if 0 < square < 1 else math.inf

    def _digits(self, place: int) -> tuple[Digits, Digits]:
        if place not in self._known:
            self._known[place] = digits_of(self._words[0, place]), digits_of(self._words[1, place])
        return self._known[place]

    def digits(self, pair: int) -> tuple[Digits, Digits]:
        """What is known of the two magnitudes behind a pair; the same objects every time, so bits are never redrawn."""
        return self._digits(int(self._kept[pair]))

    def signs(self, pair: int) -> tuple[int, int]:
        """The signs of the two."""
        first, second = self._words[:, self._kept[pair]]
        return sign_of(first), sign_of(second)

    def intervals(self, pair: int) -> tuple[Interval, Interval]:
        """The two normals as intervals, from the digits known so far."""
        both = digits.normals(*self.digits(pair))
        signed = zip(both, self.signs(pair), strict=True)
        first, second = (value if sign > 0 else digits.negate(value) for value, sign in signed)
        return first, second


def _inside(first: Digits, second: Digits) -> bool:
    v, w = first.interval(), second.interval()
    one = digits.exactly(Fraction(1))
    return digits.less(digits.add(digits.multiply(v, v), digits.multiply(w, w)), one)


def _error(least: float, most: float) -> float:
    """The bound of ``Pairs`` for all r between ``least`` and ``most``: one part grows with z, the other as it falls."""
    if not 0.0 < least <= most < 1.0 - 16 * UNIT:
        return math.inf
    far, near = math.sqrt(-2 * math.log(least)), math.sqrt(-2 * math.log(most))
    unseen = 4 * SPAN / math.sqrt(least)
    return far * ((2 * ULPS + 8) * UNIT + unseen) + (4 * UNIT + unseen) / near


def gaussian(random: Random, scales: Sequence[Fraction], size: int, offset: Floats | float = 0.0) -> Integers:
    """round(offset + s Z) for independent standard normal Z."""
    out = np.empty(size, np.int64)
    table = Scales(scales)
    filled = 0
    while filled < size:
        pairs = Pairs(random, min(BLOCK // 2, int((size - filled) * 0.66) + 4))
        value = pairs.values.reshape(-1)[: size - filled]
        stop = filled + value.size
        value *= table.near(filled, stop)
        shift = part(offset, filled, stop)
        value += shift
        nearest = np.rint(value)
        block = out[filled:stop]
        block[...] = nearest
        own = partial(_own_error, pairs, table, filled)
        for pair in dict.fromkeys(
            i % pairs.count for i in undecided(nearest, value, _scaled_error(table.largest, pairs.error), own)
        ):
            places = [i for i in (pair, pair + pairs.count) if i < value.size]
            block[places] = _settle(random, pairs, pair, [(table.at(filled + i), at(shift, i)) for i in places])
        filled = stop
    return out


def _scaled_error(near: float, error: float, reach: float = 13.3) -> float:
    """A bound on the error of offset + s Z in doubles, from that of Z, which lies within ``reach``.

    Beside the normal itself: the scale is read to a unit, one product, one sum with an offset within [-1, 1]; no
    magnitude of 63 bits gives a normal beyond 13.3.
    """
    return near * (error + 4.2 * reach * UNIT) + 2 * UNIT


def _own_error(pairs: Pairs, table: Scales, start: int, place: int) -> float:
    return _scaled_error(table.near_at(start + place), *pairs.error_of(place % pairs.count))


def _settle(random: Random, pairs: Pairs, pair: int, moves: list[tuple[Fraction, Fraction]]) -> list[int]:
    """Round the members of one pair, each with its scale and offset; they share their digits, so both at once."""

    def decide() -> list[int]:
        return [
            digits.rounded(offset, digits.multiply(digits.exactly(scale), normal))
            for normal, (scale, offset) in zip(pairs.intervals(pair), moves, strict=False)
        ]

    return digits.settle(random, list(pairs.digits(pair)), decide)


def discrete_gaussian(random: Random, scale: Fraction, size: int) -> Integers:
    """P(k) proportional to exp(-k**2 / (2 s**2)), by rejection from a discrete Laplace (Canonne et al. 2020).

    Proof: with t = floor(s) + 1 and c = s**2 / t, exp(-|k|/t) * exp(-(|k| - c)**2 / (2 s**2)) is proportional to
    exp(-k**2 / (2 s**2)); a proposal k is kept when a standard exponential exceeds (|k| - c)**2 / (2 s**2).
    """
    t = Fraction(math.floor(scale) + 1)
    centre = scale * scale / t
    near_centre, near_scale = float(centre), float(scale)
    out = np.empty(size, np.int64)
    filled = 0
    while filled < size:
        proposal = discrete_laplace(random, t, min(BLOCK, int((size - filled) * 1.6) + 16))
        apart = np.abs(proposal).astype(np.float64)
        far = float(apart.max()) / near_scale
        apart -= near_centre
        apart /= near_scale
        # Each of |k|, c and s is read to a unit, and the square doubles what the difference lost.
        slip = 4 * UNIT * (far + near_centre / near_scale)
        error = 2 * slip * np.abs(apart) + slip * slip
        apart *= apart
        apart *= 0.5
        error += 4 * UNIT * apart
        keep = exceeds(random, apart, error, partial(_threshold, proposal, centre, scale))
        kept = proposal[keep][: size - filled]
        out[filled : filled + kept.size] = kept
        filled += kept.size
    return out


def _threshold(proposal: Integers, centre: Fraction, scale: Fraction, index: int) -> Fraction:
    return (abs(int(proposal[index])) - centre) ** 2 / (2 * scale * scale)
