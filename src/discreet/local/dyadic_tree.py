"""A tree of halves: the whole distribution of a number in a public range, and with it any quantile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.local.estimate import Estimate, deviation
from discreet.local.exact_draws import bits
from discreet.local.hadamard import entry, walsh
from discreet.local.law import LocalMechanism, Tally, local_mechanisms
from discreet.local.reports import Column, Columns, Reports
from discreet.local.scalar import as_floats, read_bounds, to_unit
from discreet.mechanisms.sampling import uniform
from discreet.mechanisms.sampling.uniform import Floats, Integers

_MOST_DEPTH = 16


@dataclass(frozen=True, eq=False)
class Distribution(Estimate):
    """The share of people below each of the public ``edges`` inside the range; ``value`` and errors edge by edge."""

    edges: Any = None  # with both ends of the range, where the shares are 0 and 1

    def quantile(self, q: float) -> float:
        """The point below which a share q lies: shares made monotone, and a straight line between two edges."""
        _share(q)
        low, high = np.maximum.accumulate(self.value), np.minimum.accumulate(self.value[::-1])[::-1]
        rising = np.concatenate(([0.0], np.clip((low + high) / 2, 0.0, 1.0), [1.0]))
        cell = int(np.clip(np.searchsorted(rising, q, side="left") - 1, 0, len(rising) - 2))
        width = rising[cell + 1] - rising[cell]
        part = (q - rising[cell]) / width if width > 0 else 0.5
        return float(self.edges[cell] + part * (self.edges[cell + 1] - self.edges[cell]))

    def quantile_interval(self, q: float, level: float = 0.95) -> tuple[float, float]:
        """Edges that the quantile lies between with probability at least ``level``.

        Proof: the true quantile lies in a cell whose lower edge has a share of at most q below it and whose upper edge
        at least q. Each of the two is contradicted by its estimate, at half the error level, with at most that
        probability, so the true cell is among those that neither edge contradicts.
        """
        _share(q)
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * self.standard_error
        lower = np.concatenate(([0.0], self.value - reach, [1.0]))
        upper = np.concatenate(([0.0], self.value + reach, [1.0]))
        cells = np.flatnonzero((lower[:-1] <= q) & (upper[1:] >= q))
        if not cells.size:  # only contradictions: nothing is known
            return float(self.edges[0]), float(self.edges[-1])
        return float(self.edges[cells[0]]), float(self.edges[cells[-1] + 1])


def _share(q: float) -> None:
    if not 0 < q < 1:
        raise InvalidRequest(f"q must lie strictly between 0 and 1, got {q}")


@local_mechanisms("dyadic_tree")
@dataclass(frozen=True)
class DyadicTree(LocalMechanism):
    """A uniform level of a binary tree over the range, and one bit about the value's node (Cormode et al. 2019).

    Level l cuts the range into 2^l nodes; the bit is an entry of the Hadamard matrix of that order, in the row of the
    node and a uniform column, told with odds R. The share below an edge is a sum of at most one node of each level. n
    times its variance is at most the number of these nodes times depth ((R + 1) / (R - 1))^2.

    Proof: level and column are drawn without looking at the value; given them one bit is told with odds R.
    """

    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(1))
    depth: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bounds", read_bounds(self.bounds))
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or not 1 <= self.depth <= _MOST_DEPTH:
            raise InvalidRequest(f"depth must be a whole number between 1 and {_MOST_DEPTH}, got {self.depth!r}")

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"level": Column(1, self.depth), "column": Column(0, 2**self.depth - 1), "answer": Column(0, 1)}

    @property
    def cells(self) -> int:
        return int(2**self.depth)

    @property
    def edges(self) -> Floats:
        """The ends of the cells, from one end of the range to the other."""
        low, high = self.bounds
        return np.array([float(low + (high - low) * i / self.cells) for i in range(self.cells + 1)])

    def check(self, columns: Columns) -> None:
        if (columns["column"].astype(np.int64) >> columns["level"].astype(np.int64)).any():
            raise UnsupportedFormat("the column of a report must lie within the matrix of its level; one does not")

    def encode(self, values: Any) -> Integers:
        """The cell of each value; outside the range the nearest one, the middle one if missing."""
        place = (to_unit(as_floats(values, 1), self.bounds) + 1) / 2 * self.cells
        return np.minimum(place.astype(np.int64), self.cells - 1)

    def draw(self, random: Random, encoded: Integers) -> Columns:
        level = 1 + uniform.below(random, self.depth, encoded.size)
        column = uniform.below(random, self.cells, encoded.size) >> (self.depth - level)
        true = bits(random, self.odds / (self.odds + 1), encoded.size)
        answer = entry(encoded >> (self.depth - level), column) == true
        return {"level": level, "column": column, "answer": answer.astype(np.int64)}

    def log_prob(self, reports: Reports, values: Any) -> Floats:
        self.require(reports.mechanism)
        cell = self.encode(np.atleast_1d(np.asarray(values)))
        level, column, answer = (reports.columns[name].astype(np.int64) for name in self.columns)
        true = entry(cell >> (self.depth - level), column) == (answer == 1)
        odds = self.odds / (self.odds + 1)
        value: Floats = np.where(true, math.log(odds), math.log(1 - odds)) - math.log(self.depth) - level * math.log(2)
        return value

    def sums(self, columns: Columns) -> Integers:
        """For every level and column, the number of yes less the number of no: level l begins at place 2^l."""
        place = columns["column"].astype(np.int64) + (1 << columns["level"].astype(np.int64))
        yes = np.bincount(place[columns["answer"] == 1], minlength=2 * self.cells)
        return 2 * yes - np.bincount(place, minlength=2 * self.cells)

    def conclude(self, tally: Tally) -> Distribution:
        n, reach = tally.count, float((self.odds + 1) / (self.odds - 1))
        inner = np.arange(1, self.cells)
        value, variance = np.zeros(self.cells - 1), np.zeros(self.cells - 1)
        for level in range(1, self.depth + 1):
            shares = self.depth * reach / n * walsh(tally.sums[2**level : 2 ** (level + 1)])
            # The share below edge e is the sum, over the ones in its binary expansion, of the node to the left.
            node = inner >> (self.depth - level)
            used = node & 1 == 1
            value[used] += shares[node[used] - 1]
            variance[used] += self.depth * reach**2 - np.clip(shares[node[used] - 1], 0.0, 1.0) ** 2
        error = deviation(variance, n)
        return Distribution(value, error, error, n, float(self.epsilon), private=tally.private, edges=self.edges)
