"""Numbers in ever wider intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from discreet.core.numbers import Number, positive, rational
from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import TOP
from discreet.protect.measured import Measured

_EDGE = 1e-9  # a share of the range closer than this to its ends is computed with fractions


@dataclass(frozen=True)
class Intervals(Measured):
    """[lo, hi] cut into intervals of each width, counted from ``lo``; the last interval ends at ``hi`` and holds it.

    Proof: interval i of width w is [lo + i w, lo + (i + 1) w). With the next width m w, m a whole number, i // m is the
    interval of the next level that contains it, so levels nest; that the last interval is cut at ``hi`` and closed
    changes nothing, for it is the last one on every level. The arithmetic is rational, so no value sits on two sides.
    """

    lo: Number
    hi: Number
    widths: tuple[Number, ...]
    kind: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        lo, hi = rational(self.lo, "lo"), rational(self.hi, "hi")
        if not lo < hi:
            raise InvalidRequest(f"intervals need lo < hi, got ({self.lo}, {self.hi})")
        widths = [positive(width, "a width") for width in self.widths]
        for smaller, larger in pairwise(widths):
            if larger <= smaller or (larger / smaller).denominator != 1:
                raise InvalidRequest(
                    f"each width must be a multiple of the one before it, got {_plain(smaller)} then {_plain(larger)}: "
                    f"intervals would overlap; take {_plain(smaller * max(2, round(larger / smaller)))}"
                )
        if widths and widths[-1] >= hi - lo:
            raise InvalidRequest(
                f"a width must be less than hi - lo = {_plain(hi - lo)}, got {_plain(widths[-1])}; the top is added anyway"
            )
        for name, value in (("lo", lo), ("hi", hi), ("widths", tuple(widths))):
            object.__setattr__(self, name, value)

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("value", *(f"width {_plain(width)}" for width in self._widths), "top")

    @property
    def _widths(self) -> tuple[Fraction, ...]:
        return self.widths  # type: ignore[return-value]

    def path(self, value: str) -> tuple[str, ...]:
        number = self._number(value)
        return (value, *(self._name(level, self._index(number, level)) for level in range(1, self.height)), TOP)

    def stretch(self, value: str, level: int) -> tuple[float, float]:
        low, high = self._ends(level, self._index(self._number(value), level))
        whole = Fraction(self.hi) - Fraction(self.lo)
        return float((low - self.lo) / whole), float((high - self.lo) / whole)  # type: ignore[operator]

    def place(self, value: str) -> Fraction:
        return self._number(value)

    def positions(self, values: Sequence[str]) -> list[float]:
        """As doubles: quickly for what lies well within the bounds, exactly for the rest, which may be refused."""
        try:
            numbers = (
                np.asarray(values, str).astype(np.float64) if "_" not in "".join(values) else np.full(len(values), np.nan)
            )
        except ValueError:  # 1/3 is a number here, and a word is refused below
            numbers = np.full(len(values), np.nan)
        shares = (numbers - float(self.lo)) / float(Fraction(self.hi) - Fraction(self.lo))
        for place in np.flatnonzero(~((shares > _EDGE) & (shares < 1 - _EDGE))).tolist():
            shares[place] = (self._number(values[place]) - self.lo) / (self.hi - self.lo)  # type: ignore[operator]
        found: list[float] = shares.tolist()
        return found

    def plain(self, value: str) -> str:
        whole = value.isascii() and value.isdecimal() and (value == "0" or value[0] != "0")
        if whole or ("." in value and not value.endswith(".0") and _spelt(value)):
            return value
        return _plain(self._number(value))

    def centre(self, mean: float, frequent: str) -> str:
        return f"{float(self.lo) + mean * (float(self.hi) - float(self.lo)):.6g}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "lo": _number(self.lo),
            "hi": _number(self.hi),
            "widths": [_number(width) for width in self.widths],
        }

    def _number(self, value: str) -> Fraction:
        try:
            number = Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            raise InvalidRequest(f"a hierarchy of intervals needs numbers, got {value!r}; clean it or use a tree") from None
        if not self.lo <= number <= self.hi:  # type: ignore[operator]
            raise InvalidRequest(
                f"a value must lie within the hierarchy's bounds [{_plain(self.lo)}, {_plain(self.hi)}], got {value!r}; "
                "widen the bounds or clip it"
            )
        return number

    @cached_property
    def _cuts(self) -> list[tuple[Fraction, int]]:
        """For every width its inverse and the number of the last interval."""
        lo, hi = Fraction(self.lo), Fraction(self.hi)
        return [(1 / width, math.ceil((hi - lo) / width) - 1) for width in self._widths]

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        return {}

    def _index(self, number: Fraction, level: int) -> int:
        inverse, last = self._cuts[level - 1]
        return min(math.floor((number - self.lo) * inverse), last)  # type: ignore[operator]

    def _ends(self, level: int, index: int) -> tuple[Fraction, Fraction]:
        lo, width = Fraction(self.lo), self._widths[level - 1]
        return lo + index * width, min(lo + (index + 1) * width, Fraction(self.hi))

    def _name(self, level: int, index: int) -> str:
        if (level, index) not in self._names:
            low, high = self._ends(level, index)
            self._names[level, index] = f"[{_plain(low)}, {_plain(high)}{']' if high == self.hi else ')'}"
        return self._names[level, index]


def _spelt(value: str) -> bool:
    """Whether a text is a number as Python spells it: then it is spelt so already."""
    try:
        return repr(float(value)) == value
    except ValueError:
        return False


def _number(value: Any) -> int | float | str:
    exact = Fraction(value)
    if exact.denominator == 1:
        return exact.numerator
    return float(exact) if Fraction(repr(float(exact))) == exact else str(exact)


def _plain(value: Any) -> str:
    return str(_number(value))
