"""Exact numbers: what a user types is the rational it looks like, and anything inexact is rounded up.

A budget of 1 holds ten charges of 0.1 because 0.1 is read as 1/10, not as the nearest double.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

from discreet.errors import InvalidRequest

Number: TypeAlias = int | float | str | Fraction | Decimal

# A running total keeps at most this many bits below the point: sums of odd denominators would grow without end.
_MOST_DENOMINATOR_BITS = 512
_MOST_DIGITS = 5000
_EXAMPLES = {"epsilon": "0.1", "rho": "0.1", "delta": "1e-6"}


def rational(value: Number, name: str = "value") -> Fraction:
    """The rational a number looks like: ``Fraction(repr(x))`` for a float. Refuses what is not finite."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise _refused(name, f"be a number, got {value!r}")
    try:
        if isinstance(value, str | Decimal):
            return Fraction(_of_sane_size(value))
        if isinstance(value, int):
            return Fraction(value)
        if getattr(value, "ndim", 0):  # an array of one number is a number to older NumPy only
            raise TypeError
        # Exactly representable integers and halves arrive as NumPy scalars too; float() makes them plain.
        plain = float(value)
        return Fraction(Decimal(repr(plain))) if math.isfinite(plain) else Fraction(plain)
    except (TypeError, ValueError, ArithmeticError):
        raise _refused(name, f"be a finite number, got {value!r}") from None


def _refused(name: str, rule: str) -> InvalidRequest:
    word = name.rpartition(" ")[2]
    remedy = f"write a number such as {word} = {_EXAMPLES[word]}" if word in _EXAMPLES else ""
    return InvalidRequest(f"{name} must {rule}", key=word, remedy=remedy)


def _of_sane_size(value: str | Decimal) -> str | Decimal:
    """Refuse a text whose exponent would take hours to write out."""
    text = str(value)
    exponent = Decimal(text).adjusted() if "/" not in text and "e" in text.lower() else 0
    if len(text) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise ValueError
    return value


def check_level(level: Any) -> None:
    """Refuse what is no level of an interval."""
    between: Any = level
    if not isinstance(level, Real) or not 0 < between < 1:
        raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level!r}; write 0.95")


def positive(value: Number, name: str) -> Fraction:
    """``rational``, refusing zero and below."""
    exact = rational(value, name)
    if exact.numerator <= 0:
        raise _refused(name, f"be positive, got {value}")
    return exact


def non_negative(value: Number, name: str) -> Fraction:
    """``rational``, refusing what is below zero."""
    exact = rational(value, name)
    if exact.numerator < 0:
        raise _refused(name, f"not be negative, got {value}")
    return exact


def probability(value: Number, name: str) -> Fraction:
    """``rational``, strictly between 0 and 1."""
    exact = rational(value, name)
    if not 0 < exact < 1:
        raise _refused(name, f"lie strictly between 0 and 1, got {value}")
    return exact


def round_up(value: float) -> Fraction:
    """A rational that is at least the real number a double approximates to within 8 units in the last place."""
    step = abs(value) * 2.0**-49 if value else 5e-324
    return Fraction(math.nextafter(value + step, math.inf))


def sum_up(a: Fraction, b: Fraction) -> Fraction:
    """The exact sum; rounded up to a multiple of 2**-512 once its denominator outgrows that."""
    total = a + b
    if total.denominator.bit_length() <= _MOST_DENOMINATOR_BITS:
        return total
    scaled = total * (1 << _MOST_DENOMINATOR_BITS)
    return Fraction(math.ceil(scaled), 1 << _MOST_DENOMINATOR_BITS)


def square_root_up(value: Fraction, bits: int = 64) -> Fraction:
    """The square root rounded up, exact where it is rational with a small denominator.

    Proof: isqrt gives the floor r of sqrt(p * q * 4**bits); r + 1 (or r, when its square is exact) divided by
    q * 2**bits is at least sqrt(p / q).
    """
    inside = value.numerator * value.denominator << (2 * bits)
    root = math.isqrt(inside)
    return Fraction(root + (root * root < inside), value.denominator << bits)


def floor_log2(value: Fraction) -> int:
    """The largest e with 2**e at most ``value``."""
    top, bottom = value.numerator, value.denominator
    e = top.bit_length() - bottom.bit_length()
    return e if bottom << max(e, 0) <= top << max(-e, 0) else e - 1


def is_power_of_two(value: Fraction) -> bool:
    """Whether ``value`` is 2**k for a whole k of either sign."""
    top, bottom = value.numerator, value.denominator
    return top > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def write(value: Fraction) -> str:
    """A rational as text, ``"1/10"``."""
    return str(value)


def read(text: Any, name: str) -> Fraction:
    """A rational from its text."""
    if not isinstance(text, str):
        raise InvalidRequest(f"{name} must be a rational written as text, such as '1/10', got {text!r}")
    return rational(text, name)
