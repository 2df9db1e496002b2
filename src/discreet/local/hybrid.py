"""The hybrid law: piecewise or Duchi at random, the better of both worlds and the default for means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.local.duchi import Duchi
from discreet.local.exact_draws import bits, odds
from discreet.local.law import Tally, local_mechanisms
from discreet.local.piecewise import MOST_CELLS, Piecewise
from discreet.local.reports import Column, Columns
from discreet.local.scalar import ScalarLaw, quadratic_noise
from discreet.mechanisms.sampling.uniform import Floats, Integers

# Below this epsilon no share of the piecewise law lowers the worst variance (Wang et al. 2019, theorem 1).
THRESHOLD = Fraction("0.609352")


@local_mechanisms("hybrid")
@dataclass(frozen=True)
class Hybrid(ScalarLaw):
    """Piecewise with probability 1 - 1/h, h = e^(epsilon/2), if epsilon > 0.609352, else never; otherwise Duchi.

    With that share the variance is the same for every value, (h + 3) / (3 h (h - 1)) + B^2 / h, and its worst is below
    both (Wang et al. 2019). The report says which law spoke: cells of the piecewise law, or -1 and -2 for Duchi's
    plus and minus.

    Proof: the coin that chooses the law does not look at the value, and both laws have ratio at most R.
    """

    cells: int = MOST_CELLS

    def __post_init__(self) -> None:
        super().__post_init__()
        Piecewise(self.epsilon, cells=self.cells)

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"answer": Column(-2, self.cells - 1 if self.share else -1)}

    @cached_property
    def share(self) -> Fraction:
        """The probability of the piecewise law."""
        return 1 - 1 / odds(self.epsilon / 2) if self.epsilon > THRESHOLD else Fraction(0)

    @cached_property
    def _parts(self) -> tuple[Piecewise, Duchi]:
        return Piecewise(self.epsilon, cells=self.cells), Duchi(self.epsilon)

    def draw(self, random: Random, encoded: Floats) -> Columns:
        piecewise, duchi = self._parts
        minus = 1 - duchi.draw(random, encoded)["answer"]
        if not self.share:
            return {"answer": -1 - minus}
        first = bits(random, self.share, encoded.size)
        return {"answer": np.where(first, piecewise.cell(random, encoded), -1 - minus)}

    def log_chance(self, columns: Columns, t: Any, xp: Any = np) -> Any:
        piecewise, duchi = self._parts
        cell = columns["answer"].astype(np.int64)
        with np.errstate(divide="ignore"):
            first = np.log(float(self.share)) + piecewise.log_chance({"answer": xp.maximum(cell, 0)}, t, xp)
        second = np.log(float(1 - self.share)) + duchi.log_chance({"answer": cell == -1}, t, xp)
        return xp.where(cell >= 0, first, second)

    def sums(self, columns: Columns) -> Integers:
        cell = columns["answer"].astype(np.int64)
        near = cell >= 0
        plus = np.count_nonzero(cell == -1)
        return np.append(self._parts[0].sums({"answer": cell[near]}), [plus, cell.size - np.count_nonzero(near)])

    def moments(self, tally: Tally) -> tuple[float, float]:
        piecewise, duchi = self._parts
        first, second, plus, coins = (int(v) / tally.count for v in tally.sums)
        mean = piecewise.step * first + duchi.reach * (2 * plus - coins)
        return mean, piecewise.step**2 * second + duchi.reach**2 * coins

    @cached_property
    def _quadratic(self) -> tuple[float, float]:
        (a, b), share = self._parts[0].quadratic, float(self.share)
        return share * a + (1 - share) * self._parts[1].reach ** 2, share * b - (1 - share)

    def noise(self, mean: float, square: float) -> float:
        return quadratic_noise(*self._quadratic, mean, square)

    def variance(self, t: Any) -> Any:
        share = float(self.share)
        return share * self._parts[0].variance(t) + (1 - share) * self._parts[1].variance(t)

    @property
    def worst_variance(self) -> float:
        a, b = self._quadratic
        return a + max(b, 0.0)
