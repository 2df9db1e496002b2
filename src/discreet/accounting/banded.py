"""Correlated noise for lots in turns: less of it than independent noise where people are met seldom.

With G the sums of T steps, one a row, what is released is C G + Z, Z independent noise and C a lower-triangular Toeplitz
matrix of few bands. C^-1 turns it into G + C^-1 Z, whose prefix sums, which are what descent adds up, carry less noise than
those of G + Z (Choquette-Choo et al. 2023; the coefficients are those of the square root of the matrix of prefix sums,
Fichtenberger, Henzinger and Upadhyay 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.errors import InvalidRequest

BITS = 24  # coefficients are whole multiples of 2**-24, so that sums of whole numbers stay whole
MOST_BANDS = 512


@lru_cache(maxsize=64)
def coefficients(band: int) -> tuple[int, ...]:
    """c_j = c_(j-1) (2j - 1) / (2j) from c_0 = 1, in units of 2**-24 and rounded down: any coefficients are private."""
    found, exact = [], Fraction(1)
    for j in range(band):
        found.append(int(exact * (1 << BITS)))
        exact = exact * (2 * j + 1) / (2 * j + 2)
    return tuple(found)


@dataclass(frozen=True)
class Turns:
    """``steps`` steps, of which step t looks at part t mod ``parts`` of the people; C has ``band`` bands, at most ``parts``.

    Proof of ``sensitivity``: a person is in one part, so in at most r = ceil(steps / parts) steps, which lie at least
    ``parts`` >= ``band`` apart. The columns of C at those steps have no row in common, so that zeroing the person out, whose
    vectors g_k have norms of at most 1, moves C G by sqrt(sum of |c|^2 |g_k|^2) <= sqrt(r) |c|. With Gaussian noise that
    also holds where later steps depend on earlier releases (Denisov et al. 2022, theorem 2.1: C is lower-triangular).
    """

    parts: int
    steps: int
    band: int

    def __post_init__(self) -> None:
        if not 1 <= self.band <= self.parts:
            raise InvalidRequest(f"bands must be between 1 and the number of parts {self.parts}, got {self.band}")

    @property
    def participations(self) -> int:
        """How often a person can be met."""
        return -(-self.steps // self.parts)

    @property
    def sensitivity(self) -> Fraction:
        """How far C G moves in L2 when a person whose vectors have norms of at most 1 is zeroed out; rounded up."""
        square = sum(c * c for c in coefficients(self.band))
        return numbers.square_root_up(Fraction(self.participations * square, 1 << 2 * BITS))

    @cached_property
    def inverse(self) -> Any:
        """The first column of C^-1."""
        c = np.array(coefficients(self.band), np.float64) * 2.0**-BITS
        found = np.zeros(self.steps)
        found[0] = 1.0
        for t in range(1, self.steps):
            reach = min(t, self.band - 1)
            found[t] = -(c[1 : reach + 1] @ found[t - reach : t][::-1])
        return found

    @cached_property
    def error(self) -> float:
        """The root of the mean over steps of the variance of a prefix sum, for Z of deviation 1 times the sensitivity."""
        prefix = np.cumsum(np.cumsum(self.inverse) ** 2)
        return float(self.sensitivity) * math.sqrt(float(prefix.sum()) / self.steps)


@lru_cache(maxsize=64)
def best_turns(parts: int, steps: int) -> Turns:
    """The number of bands of the least error, out of powers of two and the largest that is allowed."""
    most = min(parts, steps, MOST_BANDS)
    tried = {1 << k for k in range(most.bit_length())} | {most}
    return min((Turns(parts, steps, band) for band in sorted(tried)), key=lambda turns: turns.error)
