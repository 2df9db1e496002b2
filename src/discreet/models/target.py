"""What a model predicts, and what a row weighs, as they are read from a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.source import Batch
from discreet.errors import InvalidRequest

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Target:
    """What a model predicts: two declared classes (-1 and 1), several (their numbers), or a number between public bounds.

    A number y becomes y / max(|lo|, |hi|), in [-1, 1]; a ``centred`` one (y - middle) / ((hi - lo) / 2).
    """

    column: str
    classes: tuple[Any, ...] = ()
    lo: float = -1.0
    hi: float = 1.0
    centred: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", tuple(self.classes))
        if self.classes:
            if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
                raise InvalidRequest(f"classes must be at least two different labels, got {list(self.classes)}")
        elif not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi):
            raise InvalidRequest(f"bounds of the target must be two finite numbers lo < hi, got ({self.lo}, {self.hi})")

    @property
    def unit(self) -> float:
        """What a number is divided by."""
        if self.classes:
            return 1.0
        return self.hi / 2 - self.lo / 2 if self.centred else max(abs(self.lo), abs(self.hi))

    @property
    def middle(self) -> float:
        """What a number is counted from."""
        return self.lo / 2 + self.hi / 2 if self.centred else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds of a number as it is read."""
        return (-1.0, 1.0) if self.centred else (self.lo / self.unit, self.hi / self.unit)

    def read(self, batch: Batch) -> tuple[Floats, npt.NDArray[np.bool_] | None]:
        """The targets of a batch, and which rows have one (None: all)."""
        if not self.classes:
            values = np.clip(batch.numeric(self.column), self.lo, self.hi, dtype=np.float64)
            values = np.clip((values - self.middle) / self.unit, -1.0, 1.0)
            there = ~np.isnan(values)
            return values, None if there.all() else there
        codes = batch.codes(self.column)
        there = codes >= 0
        values = codes.astype(np.float64)
        if len(self.classes) == 2:
            values = 2.0 * values - 1.0
        return values, None if there.all() else there


@dataclass(frozen=True)
class Weight:
    """A column of weights, clipped to [0, ``most``]. Each must be a function of its own record alone.

    ``over`` is what the column is divided by before the clip: another column, or a public number. A quotient that is
    no number (0 / 0) counts as missing.
    """

    column: str
    most: float
    over: str | float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.most) and self.most > 0):
            raise InvalidRequest(f"the bound of weights must be positive and finite, got {self.most}")
        if isinstance(self.over, int | float) and not (math.isfinite(self.over) and self.over > 0):
            raise InvalidRequest(f"weights must be divided by a positive number, got {self.over}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it reads."""
        return (self.column, self.over) if isinstance(self.over, str) else (self.column,)

    def read(self, batch: Batch) -> Floats:
        """The weights of a batch; NaN where there is none."""
        values = batch.numeric(self.column)
        if self.over is not None:
            below = batch.numeric(self.over) if isinstance(self.over, str) else self.over
            with np.errstate(all="ignore"):  # what a record holds never warns
                values = np.divide(values, below, dtype=np.float64)
        clipped: Floats = np.clip(values, 0.0, self.most, dtype=np.float64)
        return clipped
