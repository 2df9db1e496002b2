"""A column of a table as a model reads it: numbers between public bounds, whole or in bins, or declared labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.publish.predictor import Input

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Feature:
    """A column of the table that a model reads: numbers between public bounds, or declared labels.

    A ``raw`` one is read as it is, without bounds: for random features alone, which are bounded whatever they are made of.
    ``reference`` is the place of the label that has no column: beside a constant the columns of all labels would say one
    thing twice, and each coefficient would be a difference from nothing. ``centred`` numbers are counted from the middle
    of their bounds, which is public and costs nothing where there is a constant. ``cuts`` are public numbers between the
    bounds at which the column falls into bins, each with a column of its own; a number at a cut lies in the bin above it.
    """

    column: str
    lo: float = 0.0
    hi: float = 1.0
    labels: tuple[Any, ...] = ()
    raw: bool = False
    reference: int | None = None
    centred: bool = False
    cuts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.reference is not None and not 0 <= self.reference < len(self.labels):
            raise InvalidRequest(f"the reference of {self.column!r} must be the place of a label, got {self.reference}")
        if not self.labels and not (math.isfinite(self.lo) and math.isfinite(self.hi) and self.lo < self.hi):
            raise InvalidRequest(
                f"bounds of {self.column!r} must be two finite numbers lo < hi, got ({self.lo}, {self.hi}); "
                "leave out a column that is always the same"
            )
        if self.cuts and (self.labels or self.raw or not all(a < b for a, b in pairwise((self.lo, *self.cuts, self.hi)))):
            raise InvalidRequest(
                f"the cuts of {self.column!r} must be numbers that rise between its bounds ({self.lo:g}, {self.hi:g}), "
                f"got {list(self.cuts)}"
            )

    @property
    def places(self) -> int:
        """The number of labels or bins; 1 of a number."""
        return len(self.labels) or len(self.cuts) + 1

    @cached_property
    def size(self) -> int:
        """How many columns of the design it makes."""
        return self.places - (self.reference is not None and self.places > 1)

    @cached_property
    def coded(self) -> list[int]:
        """The places that have a column."""
        return [place for place in range(self.places) if place != self.reference]

    @property
    def middle(self) -> float:
        """What numbers are counted from."""
        return self.lo / 2 + self.hi / 2 if self.centred else 0.0

    @property
    def unit(self) -> float:
        """What its values are divided by."""
        if self.labels or self.raw or self.cuts:
            return 1.0
        return self.hi / 2 - self.lo / 2 if self.centred else max(abs(self.lo), abs(self.hi))

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        if self.labels:
            return [f"{self.column}={self.labels[place]}" for place in self.coded]
        if not self.cuts:
            return [self.column]
        ends = [f"{end:g}" for end in (self.lo, *self.cuts, self.hi)]
        return [f"{self.column} {a} to {b}" for a, b in pairwise(ends)]

    @property
    def input(self) -> Input:
        """The column as a prediction reads it."""
        return Input(self.column, None if self.raw or self.labels else (self.lo, self.hi), self.labels, self.cuts)

    def read(self, batch: Batch, out: Floats) -> None:
        """Its columns of a batch; NaN where a value is missing."""
        if not self.labels and not self.cuts:
            self.clip(batch.numeric(self.column), out[:, 0])
            return
        if self.labels:
            codes = batch.codes(self.column)
            missing = codes < 0
        else:
            values = batch.numeric(self.column)
            codes, missing = np.searchsorted(np.array(self.cuts), values, side="right"), np.isnan(values)
        out[:] = codes[:, None] == np.array(self.coded)
        out[missing, 0] = np.nan

    def clip(self, values: Any, out: Floats) -> None:
        """Values within the bounds; raw ones as they are, of which an infinite one has no cosine and counts as missing."""
        if self.raw:
            out[:] = values
            return
        np.clip(values, self.lo, self.hi, out=out, dtype=np.float64)
        if self.centred:
            out -= self.middle
            np.clip(out, -self.unit, self.unit, out=out)  # the middle of far bounds is rounded
