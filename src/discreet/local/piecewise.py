"""The piecewise law: a number near yours more often than one elsewhere, on a public grid of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.local.exact_draws import bits, odds, tilted
from discreet.local.law import Tally, local_mechanisms
from discreet.local.reports import Column, Columns
from discreet.local.scalar import ScalarLaw, quadratic_noise
from discreet.mechanisms.sampling import uniform
from discreet.mechanisms.sampling.uniform import Floats, Integers

MOST_CELLS = 1 << 16


@local_mechanisms("piecewise")
@dataclass(frozen=True)
class Piecewise(ScalarLaw):
    """One of N cells; M of them in a row, the band, are R times likelier than the others (Wang et al. 2019).

    The band begins at cell s, which runs from 0 for t = -1 to N - M for t = 1; between two whole numbers it is one of
    them at random, without bias. With M / (N - M) = e^(-epsilon/2) this is the continuous law
    cut into N cells: variance t^2 / (h - 1) + (h + 3) / (3 (h - 1)^2) with h = e^(epsilon/2), to within 1/M of itself.

    Proof: given s, each cell has probability R / Z in the band and 1 / Z elsewhere, Z = R M + N - M for every s. So for
    any two values, s and s' drawn in any way, the ratio lies between 1/R and R; nothing is rounded on the way. The mean
    of the centred cell is linear in s, (R - 1) M (s - (N - M)/2) / Z, and the mean of s is linear in t: dividing by
    the slope leaves no bias.
    """

    cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.cells, int) or not 3 <= self.cells <= MOST_CELLS:
            raise InvalidRequest(f"cells must be a whole number between 3 and {MOST_CELLS}, got {self.cells!r}")

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"answer": Column(0, self.cells - 1)}

    @cached_property
    def band(self) -> int:
        """M: the number of cells in the band."""
        return max(1, round(self.cells / (1 + odds(self.epsilon / 2))))

    @cached_property
    def whole(self) -> Fraction:
        """Z: the weight of all cells."""
        return self.odds * self.band + self.cells - self.band

    @cached_property
    def step(self) -> float:
        """What z gains from one half cell."""
        return float(self.whole / ((self.odds - 1) * self.band * (self.cells - self.band)))

    def draw(self, random: Random, encoded: Floats) -> Columns:
        return {"answer": self.cell(random, encoded)}

    def cell(self, random: Random, t: Floats) -> Integers:
        """The reported cell of each t."""
        start, share = self._start(t)
        start += tilted(random, 2 * share - 1)
        rest = self.cells - self.band
        inside = bits(random, self.odds * self.band / self.whole, t.size)
        # Both draws are made, one is used: the number of draws says nothing.
        near, far = uniform.below(random, self.band, t.size), uniform.below(random, rest, t.size)
        made: Integers = np.where(inside, start + near, far + self.band * (far >= start))
        return made

    def _start(self, t: Any, xp: Any = np) -> tuple[Any, Any]:
        """The whole number below the band's start, and the chance of the one above."""
        place = (self.cells - self.band) / 2 * (1 + t)
        below = xp.floor(place)
        return below.astype(np.int64), place - below

    def log_chance(self, columns: Columns, t: Any, xp: Any = np) -> Any:
        cell, (start, share) = columns["answer"].astype(np.int64), self._start(t, xp)
        covered = xp.where((cell >= start) & (cell < start + self.band), 1 - share, 0.0)
        covered += xp.where((cell > start) & (cell <= start + self.band), share, 0.0)
        return xp.log1p(float(self.odds - 1) * covered) - np.log(float(self.whole))

    def sums(self, columns: Columns) -> Integers:
        centred = 2 * columns["answer"].astype(np.int64) - (self.cells - 1)
        return np.array([centred.sum(), (centred * centred).sum()], np.int64)

    def moments(self, tally: Tally) -> tuple[float, float]:
        first, second = (int(v) / tally.count for v in tally.sums)
        return self.step * first, self.step**2 * second

    @cached_property
    def quadratic(self) -> tuple[float, float]:
        """a and b of the variance a + b t^2, leaving out what the random start of the band adds: below one cell squared."""
        n, m, extra = self.cells, self.band, self.odds - 1
        # In half cells: the sum of squares of all cells, and of the band around its own centre.
        every, own = Fraction(n * (n * n - 1), 3), Fraction(m * (m * m - 1), 3)
        a = (every + extra * own) / self.whole
        b = extra * m * (n - m) ** 2 / self.whole
        unit = Fraction(self.step) ** 2
        return float(unit * a), float(unit * b - 1)

    def noise(self, mean: float, square: float) -> float:
        return quadratic_noise(*self.quadratic, mean, square)

    def variance(self, t: Any) -> Any:
        a, b = self.quadratic
        share = self._start(np.asarray(t, np.float64))[1]
        between = float((self.odds - 1) * self.band / self.whole) * (2 * self.step) ** 2 * share * (1 - share)
        return a + b * np.square(t) + between

    @property
    def worst_variance(self) -> float:
        a, b = self.quadratic
        return a + max(b, 0.0)
