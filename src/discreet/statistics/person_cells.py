"""Sums over people with several rows each: what a mean over rows needs to know of how rows of one person go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import grid as quantum
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum, Relation, check_rows, distance_of_weights, queries
from discreet.core.source import Batch
from discreet.statistics.cells import Factor, Integers


@queries("person_cells")
@dataclass(frozen=True)
class PersonCells(FineSum):
    """The sum over people of (x**2, y**2, 2xy, 2xz, 2yz, z**2): a person with r of at most k rows and the sum T of t =
    (value - lo)/R over them has x = T/k, z = (k - r)/k and y = (r - T)/k.

    ``distance``: L1 and L2 are 1 under add/remove; 2 and sqrt(2) under replace and both.

    Proof: x, y and z are not negative and sum to 1, so the six cells, the square of that sum, are not negative and sum to 1:
    a person's vector v has v >= 0 and |v|_1 = 1, and the rest is the proof of ``Cells`` with one row a person. On the grid x
    and z are rounded so that x + z <= 1 stays true and y is the rest; the products are cut as whole numbers that are not
    negative and sum to 2**BITS. Someone none of whose rows has a value adds nothing, v = 0, which is within all of these.
    """

    number: Factor
    rows: int

    def __post_init__(self) -> None:
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.number.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Six cells."""
        return (6,)

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(1, relation)

    def totals(self, rows: int) -> tuple[float, float]:
        return rows / self.rows, float(rows)

    def step(self, batch: Batch) -> Integers:
        codes = quantise(batch.numeric(self.number.column), self.number.lo, self.number.hi)
        kept = batch.kept(self.columns)
        valid = ~np.isnan(codes) if kept is None else kept & ~np.isnan(codes)
        people = np.arange(batch.size) if batch.people is None else batch.people
        if not valid.any():
            return np.zeros(6, np.int64)
        present, person = np.unique(people[valid], return_inverse=True)
        total = np.bincount(person, weights=codes[valid], minlength=len(present))
        rows = np.bincount(person, minlength=len(present))
        one = quantum.ONE
        z = np.floor((self.rows - rows) * one / self.rows)
        x = np.minimum(np.floor(total / self.rows), one - z)
        y = one - x - z
        return np.array([int(part.sum()) for part in _squared(x, y, z)], np.int64)

    def blank(self, rows: int) -> Exact:
        """As if everybody had k rows with values in the middle."""
        people = max(1.0, rows / self.rows) / float(self.grid)
        return Exact(np.rint(people * np.array([0.25, 0.25, 0.5, 0, 0, 0])).astype(np.int64), self.grid)


def _squared(x: Any, y: Any, z: Any) -> tuple[Any, ...]:
    """The six cells as whole numbers that are not negative and sum to 2**BITS.

    Each of x, y, z is itself cut into thirds by the shares x, y and z, the last share taking what is left: nine parts
    that are not negative and sum to x + y + z = 2**BITS. Equal products are added.
    """
    one = quantum.ONE
    parts = []
    for whole in (x, y, z):
        to_x = np.floor(whole * (x / one))
        to_y = np.minimum(np.floor(whole * (y / one)), whole - to_x)
        parts.append((to_x, to_y, whole - to_x - to_y))
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = parts
    return xx, yy, xy + yx, xz + zx, yz + zy, zz
