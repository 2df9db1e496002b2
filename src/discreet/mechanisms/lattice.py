"""What the discrete laws share: exact values and noise both live on the grid, by default the whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.exact import Exact
from discreet.core.numbers import Number
from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.mechanisms.additive import Additive
from discreet.mechanisms.sampling.uniform import Floats, Integers

_OFF = 1e-6


@dataclass(frozen=True, init=False)
class Lattice(Additive):
    """An additive law whose noise is itself a whole number of grid steps; one scale for all coordinates."""

    def __init__(self, scale: Number, grid: Number | None = None, coordinates: int | None = None) -> None:
        super().__init__(scale, grid, coordinates)

    @staticmethod
    def _default_grid(scales: tuple[Fraction, ...]) -> Fraction:
        return Fraction(1)

    def _regrid(self, exact: Exact) -> tuple[Integers, Floats | float]:
        return self._whole(*super()._regrid(exact))

    def _split(self, values: Floats) -> tuple[Integers, Floats | float]:
        return self._whole(*super()._split(values))

    def _whole(self, whole: Integers, offset: Floats | float) -> tuple[Integers, Floats | float]:
        if not isinstance(offset, float):
            raise InvalidRequest(
                f"a discrete law takes values on its grid of {self.grid}; round them, or use the continuous law"
            )
        return whole, offset

    def _release_one(self, exact: float, random: Random) -> Any:
        return self.release(np.asarray(exact), seed=random)


def on_lattice(steps: Any, value: Any, xp: Any) -> Any:
    """``value`` at whole steps, minus infinity between them; the totals of a sampler may be off by what doubles round."""
    return xp.where(xp.abs(steps - xp.rint(steps)) <= (0.0 if xp is np else _OFF), value, -np.inf)
