"""Numbers between two declared bounds, which every level cuts into cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.numbers import Number, rational
from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import TOP
from discreet.protect.measured import Measured

_EDGE = 1e-9  # a share of the range closer than this to its ends is computed with fractions


class Numbered(Measured):
    """[lo, hi] in cells: each holds its lower end and not its upper, but for the last, which holds ``hi``.

    The arithmetic is rational, so no value sits on two sides.
    """

    lo: Number
    hi: Number

    @abstractmethod
    def index(self, number: Fraction, level: int) -> int:
        """The place of the cell that holds a number at a level between its own and the top."""

    @abstractmethod
    def cell(self, level: int, index: int) -> tuple[Fraction, Fraction]:
        """The ends of a cell."""

    @abstractmethod
    def cells(self, level: int) -> int:
        """How many cells a level has."""

    def word(self, level: int, index: int) -> str:
        """What is written for a cell."""
        if (level, index) not in self._words:
            low, high = self.cell(level, index)
            last = index == self.cells(level) - 1
            self._words[level, index] = f"[{plain(low)}, {plain(high)}{']' if last else ')'}"
        return self._words[level, index]

    @cached_property
    def _words(self) -> dict[tuple[int, int], str]:
        return {}

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds as fractions; refuses bounds in which nothing lies."""
        lo, hi = rational(self.lo, "lo"), rational(self.hi, "hi")
        if not lo < hi:
            raise InvalidRequest(f"{self.kind} need lo < hi, got ({self.lo}, {self.hi})")
        return lo, hi

    def path(self, value: str) -> tuple[str, ...]:
        number = self.number(value)
        return (value, *(self.word(level, self.index(number, level)) for level in range(1, self.height)), TOP)

    def stretch(self, value: str, level: int) -> tuple[float, float]:
        low, high = self.cell(level, self.index(self.number(value), level))
        whole = Fraction(self.hi) - Fraction(self.lo)
        return float((low - self.lo) / whole), float((high - self.lo) / whole)  # type: ignore[operator]

    def place(self, value: str) -> Fraction:
        return self.number(value)

    def positions(self, values: Sequence[str]) -> list[float]:
        """As doubles: quickly for what lies well within the bounds, exactly for the rest, which may be refused."""
        numbers = np.full(len(values), np.nan)
        if "_" not in "".join(values):
            with suppress(ValueError):  # 1/3 is a number here, and a word is refused below
                numbers = np.fromiter(map(float, values), float, len(values))
        shares = (numbers - float(self.lo)) / float(Fraction(self.hi) - Fraction(self.lo))
        for place in np.flatnonzero(~((shares > _EDGE) & (shares < 1 - _EDGE))).tolist():
            shares[place] = (self.number(values[place]) - self.lo) / (self.hi - self.lo)  # type: ignore[operator]
        found: list[float] = shares.tolist()
        return found

    def plain(self, value: str) -> str:
        whole = value.isascii() and value.isdecimal() and (value == "0" or value[0] != "0")
        if whole or ("." in value and not value.endswith(".0") and _spelt(value)):
            return value
        return plain(self.number(value))

    def centre(self, mean: float, frequent: str) -> str:
        return f"{float(self.lo) + mean * (float(self.hi) - float(self.lo)):.6g}"

    def number(self, value: str) -> Fraction:
        """The number that a cell of the table says; refuses what is none, or lies outside the bounds."""
        try:
            number = Fraction(value.strip())
        except (ValueError, ZeroDivisionError):
            raise InvalidRequest(
                f"a hierarchy of {self.kind} needs numbers, got {value!r}; clean it or use a tree"
            ) from None
        if not self.lo <= number <= self.hi:  # type: ignore[operator]
            raise InvalidRequest(
                f"a value must lie within the hierarchy's bounds [{plain(self.lo)}, {plain(self.hi)}], got {value!r}; "
                "widen the bounds or clip it"
            )
        return number


def _spelt(value: str) -> bool:
    """Whether a text is a number as Python spells it: then it is spelt so already."""
    try:
        return repr(float(value)) == value
    except ValueError:
        return False


def exact(value: Any) -> int | float | str:
    """A rational as TOML can hold it without loss."""
    number = Fraction(value)
    if number.denominator == 1:
        return number.numerator
    return float(number) if Fraction(repr(float(number))) == number else str(number)


def plain(value: Any) -> str:
    """A rational as a person writes it."""
    return str(exact(value))
