"""The number of rows, the sums and the sums of squares of columns, of every class or of all rows together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.price import Price
from discreet.core.query import FineSum, Relation, queries
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_of_sums
from discreet.models.design import Floats
from discreet.statistics.bounded_rows import BoundedRows
from discreet.statistics.cells import Cells, Factor, Integers
from discreet.statistics.joint import Bundle

_RUN = 1 << 20  # rows at a time: 2**50 at most, which doubles add exactly
_FINE = 1 << 10  # the weight of a count is a whole number of these parts


class NoisyClassMoments(NamedTuple):
    """Noisy numbers of rows, sums of s and sums of s^2 of every class, and the deviations of their noise."""

    counts: Floats
    sums: Floats
    squares: Floats
    deviation: tuple[float, float, float]


@queries("class_moments")
@dataclass(frozen=True)
class ClassMoments(FineSum):
    """For every class the sums over its rows of (w, s_1 .. s_d, s_1^2 - 1/2 .. s_d^2 - 1/2), s in [-1, 1].

    Without a target all rows are of one class. ``weight`` is w: what a row counts for beside its numbers.

    ``distance`` in L2, with k rows a person: k sqrt(w^2 + 5d/4) under add/remove, k sqrt(max(4d, 2 w^2 + 5d/2)) under
    replace and both, and d steps of the grid.

    Proof: s^2 + (s^2 - 1/2)^2 = s^4 + 1/4 <= 5/4, so a row's vector v has |v|^2 <= w^2 + 5d/4. Another row of another
    class has coordinates of its own: |v - v'|^2 <= 2 (w^2 + 5d/4). In the same class the counts agree, and each column
    moves by (s - t)^2 (1 + (s + t)^2), which for D = |s - t| is at most D^2 (1 + (2 - D)^2), growing in D up to 4 at D = 2:
    |v - v'|^2 <= 4d. A person who goes moves less than either. Squares are rounded to the grid row by row, by half a step
    at most, which moves two rows' vectors apart by at most sqrt(d) <= d steps. k rows move k times as much.
    """

    bounded: BoundedRows
    weight: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", numbers.positive(self.weight, "weight"))
        if (self.weight * _FINE).denominator != 1:
            raise InvalidRequest(f"weight must be a whole number of {_FINE}ths, got {self.weight}")

    @staticmethod
    def of(bounded: BoundedRows, relation: Relation) -> ClassMoments:
        """With the weight of a count that costs least: sqrt(d) / 2, and under replace sqrt(3 d) / 2, where it is free."""
        square = bounded.size / 4 if relation == "add_remove" else 3 * bounded.size / 4
        return ClassMoments(bounded, Fraction(max(1, math.isqrt(int(square * _FINE * _FINE))), _FINE))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.bounded.columns

    @property
    def classes(self) -> int:
        """The number of classes."""
        return 1 if self.bounded.target is None else len(self.bounded.target.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Classes, and what is summed over the rows of each."""
        return (self.classes, 1 + 2 * self.bounded.size)

    def distance(self, relation: Relation) -> Distance:
        d, k, w = self.bounded.size, Fraction(self.bounded.rows), self.weight
        one = w * w + Fraction(5 * d, 4)
        square = one if relation == "add_remove" else max(Fraction(4 * d), 2 * one)
        times = 1 if relation == "add_remove" else 2
        rounded = d * self.grid
        l1 = times * (w + Fraction(3 * d, 2)) + rounded
        return Distance(k * l1, k * (numbers.square_root_up(square) + rounded), k * (max(w, Fraction(times)) + self.grid))

    def step(self, batch: Batch) -> Integers:
        codes, labels = self.bounded.read(batch, quantum.ONE)
        total = np.zeros(self.shape, np.int64)
        one, d = int(self.weight * int(quantum.ONE)), self.bounded.size
        for start in range(0, len(codes), _RUN):
            part, mine = codes[start : start + _RUN], labels[start : start + _RUN]
            total[:, 0] += one * np.bincount(mine, minlength=self.classes)
            for column in range(d):
                s = part[:, column]
                square = np.rint(s * (s / quantum.ONE)) - quantum.ONE / 2
                total[:, 1 + column] += np.bincount(mine, s, self.classes).astype(np.int64)
                total[:, 1 + d + column] += np.bincount(mine, square, self.classes).astype(np.int64)
        return total

    def blank(self, rows: int) -> Exact:
        """As if values were spread evenly between their bounds, and classes were as frequent as one another."""
        each = rows / self.classes / float(self.grid)
        d = self.bounded.size
        line = np.array([float(self.weight) * each, *[0.0] * d, *[-each / 6] * d])
        return Exact(np.tile(np.rint(line).astype(np.int64), (self.classes, 1)), self.grid)

    def moments(self, value: Any, deviation: float) -> NoisyClassMoments:
        """What a released value says; ``deviation`` is that of its noise in a coordinate."""
        d, w = self.bounded.size, float(self.weight)
        cells = np.asarray(value, np.float64).reshape(self.shape)
        counts = cells[:, 0] / w
        half = counts[:, None] / 2
        return NoisyClassMoments(
            counts, cells[:, 1 : 1 + d], cells[:, 1 + d :] + half, (deviation / w, deviation, deviation)
        )


def ask_moments(bounded: BoundedRows, price: Price, relation: Relation) -> Procedure[tuple[Release, NoisyClassMoments]]:
    """The noisy moments of every class, in the form that has less noise at this price; only public numbers decide."""
    query = ClassMoments.of(bounded, relation)
    if not price.is_infinite:
        cells = class_cells(bounded)
        pure: Any = law_of_sums(Price(price.pure_epsilon), cells.distance(relation), cells.grid, [1] * bounded.size)
        noise = float(np.max(pure.expected_error))
    if price.is_gaussian or price.is_infinite:
        law: Any = law_of_sums(price, query.distance(relation), query.grid)
        deviation = float(np.max(law.expected_error))
        if price.is_infinite or deviation <= math.sqrt(2) * noise:
            release: Release = yield Ask(query, law)
            return release, query.moments(release.value, deviation)
    release = yield Ask(cells, pure)
    return release, moments_of_cells(bounded, release.value, noise)


def class_cells(bounded: BoundedRows) -> Bundle:
    """The same for a pure price: of each column the sums of (1-t)^2, 2t(1-t), t^2 by class, side by side.

    A row adds 1 to the cells of each column, so d columns move by d in L1, which no other form of these sums is below.
    """
    of = () if bounded.target is None else (bounded.target,)
    return Bundle(tuple(Cells((*of, Factor("square", f.column, f.lo, f.hi)), bounded.rows) for f in bounded.numbers))


def moments_of_cells(bounded: BoundedRows, value: Any, deviation: float) -> NoisyClassMoments:
    """What released ``class_cells`` say: s = 2t - 1, and the number of rows is averaged over the columns."""
    d, classes = bounded.size, 1 if bounded.target is None else len(bounded.target.labels)
    low, middle, high = np.moveaxis(np.asarray(value, np.float64).reshape(d, classes, 3), 2, 0)
    counts = (low + middle + high).mean(axis=0)
    return NoisyClassMoments(
        counts,
        (high - low).T,
        (high - middle + low).T,
        (deviation * math.sqrt(3 / d), deviation * math.sqrt(2), deviation * math.sqrt(3)),
    )
