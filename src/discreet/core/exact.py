"""An exact value: whole numbers on a public grid. What a query computes and an additive law adds noise to."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.errors import InvalidRequest


@dataclass(frozen=True, eq=False)
class Exact:
    """``counts`` times ``grid``, a power of two. The counts stay whole numbers of 64 bits until noise has been added."""

    counts: npt.NDArray[np.int64]
    grid: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not numbers.is_power_of_two(self.grid):
            raise InvalidRequest(f"grid must be a power of two, got {self.grid}")

    @property
    def value(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """The numbers themselves: whole numbers on the unit grid, on any other the doubles next to them."""
        return self.counts if self.grid == 1 else self.counts.astype(np.float64) * float(self.grid)
