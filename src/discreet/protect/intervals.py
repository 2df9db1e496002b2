"""Numbers in ever wider intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from discreet.core.numbers import Number, positive
from discreet.errors import InvalidRequest
from discreet.protect.numbered import Numbered, exact, plain


@dataclass(frozen=True)
class Intervals(Numbered):
    """[lo, hi] cut into intervals of each width, counted from ``lo``; the last interval ends at ``hi`` and holds it.

    Proof: interval i of width w is [lo + i w, lo + (i + 1) w). With the next width m w, m a whole number, i // m is the
    interval of the next level that contains it, so levels nest; that the last interval is cut at ``hi`` and closed
    changes nothing, for it is the last one on every level.
    """

    lo: Number
    hi: Number
    widths: tuple[Number, ...]
    kind: ClassVar[str] = "intervals"

    def __post_init__(self) -> None:
        lo, hi = self.bounds()
        widths = [positive(width, "a width") for width in self.widths]
        for smaller, larger in pairwise(widths):
            if larger <= smaller or (larger / smaller).denominator != 1:
                raise InvalidRequest(
                    f"each width must be a multiple of the one before it, got {plain(smaller)} then {plain(larger)}: "
                    f"intervals would overlap; take {plain(smaller * max(2, round(larger / smaller)))}"
                )
        if widths and widths[-1] >= hi - lo:
            raise InvalidRequest(
                f"a width must be less than hi - lo = {plain(hi - lo)}, got {plain(widths[-1])}; the top is added anyway"
            )
        for name, value in (("lo", lo), ("hi", hi), ("widths", tuple(widths))):
            object.__setattr__(self, name, value)

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("value", *(f"width {plain(width)}" for width in self._widths), "top")

    @property
    def _widths(self) -> tuple[Fraction, ...]:
        return self.widths  # type: ignore[return-value]

    def index(self, number: Fraction, level: int) -> int:
        inverse, many = self._cuts[level - 1]
        return min(math.floor((number - self.lo) * inverse), many - 1)  # type: ignore[operator]

    def cell(self, level: int, index: int) -> tuple[Fraction, Fraction]:
        lo, width = Fraction(self.lo), self._widths[level - 1]
        return lo + index * width, min(lo + (index + 1) * width, Fraction(self.hi))

    def cells(self, level: int) -> int:
        return self._cuts[level - 1][1]

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "lo": exact(self.lo),
            "hi": exact(self.hi),
            "widths": [exact(width) for width in self.widths],
        }

    @cached_property
    def _cuts(self) -> list[tuple[Fraction, int]]:
        """For every width its inverse and the number of intervals."""
        lo, hi = Fraction(self.lo), Fraction(self.hi)
        return [(1 / width, math.ceil((hi - lo) / width)) for width in self._widths]
