"""More digits for the rare draw whose rounding doubles cannot decide.

A uniform number is known by its first bits. Where the bits seen so far leave a decision open, more are drawn and
everything is computed again in decimal arithmetic, as an interval that is certain to contain the true value, until
both ends agree. The decimal module's ``ln`` is correctly rounded, its other operations are exact to half a unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeVar

from discreet.core.random import Random

FIRST_BITS = 63  # what the fast path reads of each word; the lowest bit is a sign

Interval = tuple[Decimal, Decimal]
_KEPT = 512  # bits of a product of many numbers: far more than is ever read of one of them
T = TypeVar("T")


class Digits:
    """A uniform number in (0, 1) as far as it is known: it lies in [head, head + 1] / 2**bits."""

    def __init__(self, head: int, bits: int = FIRST_BITS) -> None:
        self.head, self.bits = head, bits

    def extend(self, random: Random) -> None:
        """Sixty-four more bits."""
        self.head, self.bits = self.head << 64 | random.word(), self.bits + 64

    def interval(self) -> Interval:
        return _quotient(self.head, 1 << self.bits)[0], _quotient(self.head + 1, 1 << self.bits)[1]


def _quotient(numerator: int, denominator: int) -> Interval:
    with localcontext() as context:
        context.rounding = ROUND_FLOOR
        low = Decimal(numerator) / Decimal(denominator)
        context.rounding = ROUND_CEILING
        return low, Decimal(numerator) / Decimal(denominator)


def exactly(value: Fraction) -> Interval:
    """A rational as the narrowest interval around it."""
    return _quotient(value.numerator, value.denominator)


def _widen(low: Decimal, high: Decimal) -> Interval:
    return low.next_minus(), high.next_plus()


def add(a: Interval, b: Interval) -> Interval:
    return _widen(a[0] + b[0], a[1] + b[1])


def negate(a: Interval) -> Interval:
    return -a[1], -a[0]


def multiply(a: Interval, b: Interval) -> Interval:
    products = [x * y for x in a for y in b]
    return _widen(min(products), max(products))


def divide(a: Interval, b: Interval) -> Interval:
    """Division by an interval above zero."""
    quotients = [x / y for x in a for y in b]
    return _widen(min(quotients), max(quotients))


def root(a: Interval) -> Interval:
    low, high = _widen(max(a[0], Decimal(0)).sqrt(), a[1].sqrt())
    return max(low, Decimal(0)), high


def log(a: Interval) -> Interval:
    """The logarithm; minus infinity at the lower end where the interval reaches zero."""
    low = a[0].ln().next_minus() if a[0] > 0 else Decimal("-Infinity")
    return low, a[1].ln().next_plus()


def log_of_product(factors: Sequence[tuple[int, int]], bits: int) -> Interval:
    """The logarithm of a product of numbers, each between two whole numbers that are not negative, over 2**bits.

    Proof: whole numbers cut to so many bits, down for the lower ends and up for the upper ones, bound the product from both
    sides; what was cut off is counted as powers of two.
    """
    ends = []
    for end in (0, 1):
        made, cut = 1, 0
        for factor in factors:
            made *= factor[end]
            more = made.bit_length() - _KEPT
            if more > 0:
                made, cut = (-(-made >> more) if end else made >> more), cut + more
        if made == 0:
            raise Undecided
        whole = Decimal(made)
        power = multiply((Decimal(cut - bits),) * 2, log((Decimal(2), Decimal(2))))
        ends.append(add(log((whole, whole)), power)[end])
    return ends[0], ends[1]


def exponential(uniform: Digits) -> Interval:
    """The standard exponential -ln U."""
    low, high = negate(log(uniform.interval()))
    return max(low, Decimal(0)), high


def normals(first: Digits, second: Digits) -> tuple[Interval, Interval]:
    """The magnitudes of Marsaglia's polar pair for two numbers inside the quarter disc."""
    v, w = first.interval(), second.interval()
    s = add(multiply(v, v), multiply(w, w))
    if s[1] >= 1 or s[0] <= 0:
        raise Undecided
    stretch = root(divide(multiply((Decimal(2), Decimal(2)), negate(log(s))), s))
    return multiply(v, stretch), multiply(w, stretch)


class Undecided(Exception):
    """The digits seen so far do not settle it."""


def rounded(offset: Fraction, noise: Interval) -> int:
    """The nearest whole number to their sum, halves up, where both ends agree.

    The whole steps of the offset are split off exactly: beside an offset of half a step even the least noise of a huge price
    keeps all the digits that say on which side it lies.
    """
    if not (noise[0].is_finite() and noise[1].is_finite()):
        raise Undecided
    steps, rest = divmod(offset + Fraction(1, 2), 1)
    low, high = (math.floor(end) for end in add(exactly(rest), noise))
    if low != high:
        raise Undecided
    return steps + low


def less(a: Interval, b: Interval) -> bool:
    """Whether a < b, where the intervals settle it."""
    if a[1] < b[0]:
        return True
    if b[1] < a[0]:
        return False
    raise Undecided


def settle(random: Random, uniforms: list[Digits], decide: Callable[[], T]) -> T:
    """Call ``decide`` with ever more digits of ``uniforms`` until it no longer raises ``Undecided``."""
    while True:
        for uniform in uniforms:
            uniform.extend(random)
        bits = max(uniform.bits for uniform in uniforms)
        # Enough precision for the bits; where whole parts are so large that it is too little, the next round has more.
        with localcontext(Context(prec=bits // 3 + 10, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            try:
                return decide()
            except Undecided:
                continue
