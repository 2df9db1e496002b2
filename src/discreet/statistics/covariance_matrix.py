"""The covariance matrix of several columns, from one release of all their sums of squares and products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, SumQuery, queries
from discreet.core.reading import Axes, readings
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.bounded_rows import BoundedRows
from discreet.statistics.cells import Integers
from discreet.statistics.question import Question, Table, statistic
from discreet.statistics.reading import CellReading, Floats

_STEPS = 1 << 14  # a number is at most so many steps, so that a product of two is at most 2**28
_RUN = 1 << 20  # rows at a time: 2**48 at most, which doubles add exactly in any order


@queries("scatter")
@dataclass(frozen=True)
class Scatter(SumQuery):
    """The upper triangle of the sum over rows of u u', u = (a, s), with s in [-1, 1] for each column and a constant a.

    It holds the number of rows (a^2 N), the sums (a times those of s) and all sums of squares and products. ``constant``
    is a, about sqrt(d / 2) for d columns: a larger one makes number and sums quieter and the products louder. Without
    ``number`` the first entry is left out, for tables whose number of rows is public.

    ``distance``, with R = a^2 + d and k rows a person: L2 is k sqrt((R^2 + a^4 + d) / 2) under add/remove and
    k sqrt(R^2 + d / 2) under replace and both; L1 is k A, A = ((a + d)^2 + a^2 + d) / 2, under every relation. Without the
    number, L2 is k sqrt((R^2 - a^4 + d) / 2) under add/remove, and L1 is k (A - a^2) there and otherwise k times the larger
    of that and B, B = d (a + d + 1)^2 / (2 (d + 1)) for a <= d + 1 and 2 a d beyond.

    Proof: a symmetric matrix M has a triangle T with |T|^2 = (|M|_F^2 + |diag M|^2) / 2. For M = u u' these are |u|^4 <=
    R^2 and sum of u_i^4 <= a^4 + d. Replacing u by w, M = u u' - w w' has |M|_F^2 = |u|^4 + |w|^4 - 2 (u . w)^2 <= 2 R^2,
    its diagonal s_i^2 - v_i^2 in [-1, 1], and 0 for the constant: |T|^2 <= R^2 + d / 2. The entries of a triangle of u u'
    add up to ((sum of |u_i|)^2 + |u|^2) / 2 <= A. Of two rows s = p + q and v = p - q, with y = |q| and |p_i| <= 1 - y_i,
    they differ by 2 a y_i beside the constant, by 4 y_i (1 - y_i) at most on the diagonal, and by 2 y_i (1 - y_j) +
    2 y_j (1 - y_i) off it; with S the sum of y, where sum of y_i^2 >= S^2 / d, that adds up to 2 (a + d + 1) S - 2 (1 + 1/d)
    S^2 at most. Its maximum over S in [0, d] is at S = d (a + d + 1) / (2 (d + 1)), or at d where that is larger: B, which
    is A - a^2 (d + 2) / (2 (d + 1)) for a <= d + 1 and less than A for every a. The first entry is a^2 of a row that counts,
    and the same in all of them: without it one row moves A - a^2 and two rows what they did, also where one of them does
    not count. No entry of one row is larger than max(a^2, a, 1), and two rows differ in an entry by at most max(2a, 2).
    Sums are of whole numbers, rounded in ``BoundedRows`` before they are multiplied, so nothing is rounded here. k rows move
    k times as much, pair by pair; a person of fewer rows than another, or with a row that does not count, moves no more,
    because R^2 + d / 2 >= (R^2 + a^4 + d) / 2.
    """

    bounded: BoundedRows
    constant: int = 1
    number: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.constant, bool) or not 1 <= self.constant <= 1 << 12:
            raise InvalidRequest(f"constant must be a whole number from 1 to 4096, got {self.constant!r}")
        if self.bounded.target is not None:
            raise InvalidRequest("a scatter matrix is of columns of numbers, got a category beside them")

    @staticmethod
    def of(bounded: BoundedRows, rows: int | None = None) -> Scatter:
        """With the constant that suits the number of columns, and the number of rows where it is not public already."""
        return Scatter(bounded, max(1, round(math.sqrt(bounded.size / 2))), rows is None)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.bounded.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis with the triangle, line by line."""
        return (len(_triangle(self.bounded.size, number=self.number)[0]),)

    @property
    def grid(self) -> Fraction:
        return Fraction(1, _STEPS * _STEPS)

    def distance(self, relation: Relation) -> Distance:
        d, a, k = self.bounded.size, self.constant, Fraction(self.bounded.rows)
        most = a * a + d
        first = 0 if self.number else a * a
        alone = Fraction((a + d) ** 2 + most, 2) - first
        if relation == "add_remove":
            square, largest = Fraction(most**2 + a**4 + d, 2) - first**2, max(a if first else a * a, 1)
            return Distance(k * alone, k * numbers.square_root_up(square), k * largest)
        two = Fraction(d * (a + d + 1) ** 2, 2 * (d + 1)) if a <= d + 1 else Fraction(2 * a * d)
        # A row may not count, and several rows of a person be fewer of another: then the constant's own entry moves too.
        largest = max(0 if first else a * a, 2 * a, 2)
        square = most**2 + Fraction(d, 2)
        return Distance(k * max(alone, two), k * numbers.square_root_up(square), k * largest)

    def step(self, batch: Batch) -> Integers:
        codes, _ = self.bounded.read(batch, float(_STEPS))
        side = self.bounded.size + 1
        total = np.zeros((side, side), np.int64)
        for start in range(0, len(codes), _RUN):
            part = codes[start : start + _RUN]
            products, sums = part.T @ part, part.sum(axis=0)
            total[1:, 1:] += products.astype(np.int64)
            total[0, 1:] += sums.astype(np.int64) * (self.constant * _STEPS)
            total[0, 0] += len(part) * (self.constant * _STEPS) ** 2
        return total[_triangle(self.bounded.size, number=self.number)]

    def blank(self, rows: int) -> Exact:
        """As if values were spread evenly between their bounds, and independent."""
        diagonal = np.full(self.bounded.size + 1, rows / 3)
        diagonal[0] = rows * self.constant**2
        steps = np.rint(np.diag(diagonal) * float(_STEPS) ** 2).astype(np.int64)
        return Exact(steps[_triangle(self.bounded.size, number=self.number)], self.grid)


def _triangle(columns: int, *, number: bool) -> tuple[Integers, Integers]:
    """Lines and places of the upper triangle, line by line, with or without the entry of the number of rows."""
    lines, places = np.triu_indices(columns + 1)
    return (lines, places) if number else (lines[1:], places[1:])


@statistic("covariance_matrix")
def covariance_matrix(table: Table, *columns: str, positive: bool = True) -> Question:
    """The covariances of all pairs of columns, divisor n - 1, each column clipped to its bounds.

    One release of N, all sums and all products. ``positive`` puts negative eigenvalues, which only noise can make, to 0
    (on the scale where every column has the same bounds): the nearest matrix that a table can have.
    """
    bounded = BoundedRows.of(table.schema, columns)
    query = Scatter.of(bounded, table.rows)
    reading = CovarianceMatrix(
        tuple(columns), tuple(bounded.halves.tolist()), query.constant, table.rows, bool(positive), query.number
    )
    return Question(query, reading)


@readings("covariance_matrix")
@dataclass(frozen=True)
class CovarianceMatrix(CellReading):
    """(P / N - m m') N / (N - 1) from the triangle of a ``Scatter``, on the scale of the columns; N at least 2.

    ``rows`` is N where that is public, and ``number`` whether its entry was released all the same.
    """

    columns: tuple[str, ...]
    halves: tuple[float, ...]
    constant: int
    rows: int | None = None
    positive: bool = True
    number: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(_triangle(len(self.columns), number=self.number)[0]),)

    @property
    def labels(self) -> Axes:
        return (("line", self.columns), ("column", self.columns))

    def compute(self, cells: Floats) -> Floats:
        _, _, spread = self.moments(cells)
        if self.positive:
            values, vectors = np.linalg.eigh(spread)
            spread = (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return np.asarray(spread * np.outer(self.halves, self.halves))

    def moments(self, cells: Floats) -> tuple[Floats, Floats, Floats]:
        """The number of rows, and the means and the covariance matrix of s in [-1, 1]."""
        side = len(self.columns) + 1
        lines, places = _triangle(len(self.columns), number=self.number)
        whole = np.zeros((*cells.shape[:-1], side, side))
        whole[..., lines, places] = cells
        whole[..., places, lines] = cells
        many = whole[..., 0, 0] / self.constant**2 if self.rows is None else np.full(cells.shape[:-1], float(self.rows))
        number = np.maximum(many, 2.0)[..., None]
        mean = np.clip(whole[..., 0, 1:] / self.constant / number, -1.0, 1.0)
        products = whole[..., 1:, 1:] / number[..., None]
        spread = (products - mean[..., :, None] * mean[..., None, :]) * (number / (number - 1))[..., None]
        return number[..., 0], mean, np.clip(spread, -2.0, 2.0)
