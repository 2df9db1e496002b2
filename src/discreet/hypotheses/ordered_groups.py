"""What tests of order share: the values of several groups in one order, and the weighted sizes of the groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.hypotheses.tally import Integers, Runs, combined, tally, whole
from discreet.statistics.cells import Factor
from discreet.statistics.reading import Floats

MOST = (1 << 62) - 1


@dataclass(frozen=True)
class OrderedGroups(FineSum, ABC):
    """Numbers made of the order in which the people of several groups lie, then ``weight`` times the size of every group.

    Values are taken on the public grid of ``core.grid``, one row a person; someone whose value or group is missing counts
    nowhere. Subclasses say which numbers, and how far a person moves them.
    """

    number: Factor
    group: Factor
    weight: Fraction

    def __post_init__(self) -> None:
        if self.group.size < 2:
            raise InvalidRequest(f"ranks are compared between two groups or more, got {self.group.size}")
        if self.weight <= 0 or (self.weight / self.grid).denominator != 1:
            raise InvalidRequest(f"weight must be positive and on a grid of {self.grid}, got {self.weight}")

    @property
    def sums(self) -> int:
        """How many numbers stand before the sizes."""
        return 1

    @abstractmethod
    def of_order(self, counts: Integers) -> list[Fraction]:
        """Those numbers, from how many people of each group (columns) stand at each value in order (lines)."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.number.column, self.group.column)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.sums + self.group.size,)

    def step(self, batch: Batch) -> Runs:
        codes = quantise(batch.numeric(self.number.column), self.number.lo, self.number.hi)
        places = batch.codes(self.group.column)
        valid = ~np.isnan(codes) & (places >= 0)
        kept = batch.kept(self.columns)
        valid = valid if kept is None else valid & kept
        return tally(codes[valid].astype(np.int64), places[valid].astype(np.int64), self.group.size)

    def combine(self, left: Runs, right: Runs) -> Runs:
        return combined(left, right)

    def finish(self, total: Runs) -> Exact:
        _, counts = whole(total)
        return self._exact(self.of_order(counts), [Fraction(int(n)) for n in counts.sum(0)])

    def blank(self, rows: int) -> Exact:
        """As if groups were of one size and nobody ranked higher than others."""
        return self._exact([Fraction(0)] * self.sums, [Fraction(rows, self.group.size)] * self.group.size)

    def _exact(self, sums: list[Fraction], sizes: list[Fraction]) -> Exact:
        steps = [round(s / self.grid) for s in (*sums, *(self.weight * n for n in sizes))]
        return Exact(held(steps), self.grid)


def held(steps: list[int]) -> Integers:
    """Whole numbers of 64 bits; past a few thousand million people they stand still."""
    return np.array([max(-MOST, min(MOST, s)) for s in steps], np.int64)


def sizes_of(cells: Floats, weight: float, groups: int) -> Floats:
    """The released sizes of the groups, not below 0."""
    return np.asarray(np.maximum(cells[..., -groups:] / weight, 0.0))
