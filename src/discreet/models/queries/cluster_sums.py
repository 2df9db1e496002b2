"""The number of rows and the sums of columns around every centre: one round of k-means."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import FineSum, Relation, queries
from discreet.core.source import Batch
from discreet.models.design import Floats
from discreet.statistics.bounded_rows import BoundedRows
from discreet.statistics.cells import Integers

_RUN = 1 << 16  # rows at a time, so that their distances from all centres fit into the cache


@queries("cluster_sums")
@dataclass(frozen=True)
class ClusterSums(FineSum):
    """For each of ``clusters`` centres the sums of (w, s_1 .. s_d) over the rows nearest to it, s in [-1, 1].

    ``centres`` are public, on the scale of s: they were made from earlier releases. They are no part of the document, so
    that all rounds of a fit are steps of one plan. ``weight`` is w, about sqrt(d).

    ``distance`` in L2, with k rows a person: k sqrt(w^2 + d) under add/remove, k sqrt(max(4d, 2 w^2 + 2d)) under replace
    and both; in L1 k (w + d), and twice that.

    Proof: a row adds (w, s) to the centre nearest to it, a function of that row and the centres alone, and s^2 <= 1 for
    each column. Another row of another centre has coordinates of its own: the squares add up to at most 2 (w^2 + d). At
    the same centre the counts agree and each column moves by at most 2. A person who goes moves less than either. Numbers
    are whole steps of the grid (``BoundedRows``): nothing is rounded here. k rows move k times as much.
    """

    bounded: BoundedRows
    clusters: int
    weight: Fraction
    centres: Any = field(default=None, compare=False, repr=False)

    @staticmethod
    def of(bounded: BoundedRows, clusters: int) -> ClusterSums:
        """With the weight of a count that costs nothing under replace: sqrt(d), to 1/1024."""
        return ClusterSums(bounded, clusters, Fraction(math.isqrt(bounded.size << 20), 1 << 10))

    def at(self, centres: Floats) -> ClusterSums:
        """The same question at other centres."""
        return replace(self, centres=centres)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.bounded.columns

    @property
    def step_key(self) -> Any:
        return id(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """Centres, and what is summed around each."""
        return (self.clusters, 1 + self.bounded.size)

    def distance(self, relation: Relation) -> Distance:
        d, k, w = self.bounded.size, Fraction(self.bounded.rows), self.weight
        if relation == "add_remove":
            return Distance(k * (w + d), k * numbers.square_root_up(w * w + d), k * max(w, Fraction(1)))
        square = max(Fraction(4 * d), 2 * (w * w + d))
        return Distance(2 * k * (w + d), k * numbers.square_root_up(square), k * max(w, Fraction(2)))

    def step(self, batch: Batch) -> Integers:
        codes, _ = self.bounded.read(batch, quantum.ONE)
        total = np.zeros(self.shape, np.int64)
        one = int(self.weight * int(quantum.ONE))
        for start in range(0, len(codes), _RUN):
            part = codes[start : start + _RUN]
            mine = nearest(part / quantum.ONE, self.centres)
            total[:, 0] += one * np.bincount(mine, minlength=self.clusters)
            for column in range(self.bounded.size):
                total[:, 1 + column] += np.bincount(mine, part[:, column], self.clusters).astype(np.int64)
        return total

    def blank(self, rows: int) -> Exact:
        """As if every centre had as many rows as another, all of them in the middle of the bounds."""
        each = int(self.weight * (rows // self.clusters) / self.grid)
        return Exact(np.tile([each, *[0] * self.bounded.size], (self.clusters, 1)).astype(np.int64), self.grid)


def nearest(rows: Floats, centres: Floats) -> Any:
    """The number of the nearest centre, each row by the same operations wherever it stands; the first of several."""
    apart = np.zeros((len(rows), len(centres)))
    for column in range(rows.shape[1]):
        apart += (rows[:, column, None] - centres[:, column]) ** 2
    return apart.argmin(axis=1)
