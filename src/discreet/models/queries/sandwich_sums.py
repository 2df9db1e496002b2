"""What a table says about how certain a fit is: two sums over rows, taken at the coefficients that were released.

The curvature of the loss, sum of l'' x x', and the products of the gradients of people, sum of g g'. Both are whole
numbers on a grid, so that every engine agrees to the bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import FoldQuery, Relation, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.design import Design, DesignRows, Floats, scores
from discreet.models.losses import Loss
from discreet.models.queries.empirical_risk import check_loss

_BITS = 16  # a factor is at most 2**16 steps long, and products of two are whole numbers of at most 2**32
_RUN = 1 << 13  # rows at a time: 2**45 at most, well inside what doubles add exactly
_FAR = 1 << 62
_COUNT = 8  # a count that rides along may move this many times less than the matrix


class _Totals(NamedTuple):
    """Upper triangles in steps of their grids, as Python's whole numbers, and the number of people."""

    curvature: npt.NDArray[np.object_]
    slope: npt.NDArray[np.object_]
    people: int


@dataclass(frozen=True)
class SandwichSum(FoldQuery):
    """A symmetric matrix that rows add up to at public coefficients ``theta`` (on the scale of the design).

    The value is the upper triangle with off-diagonals times sqrt(2), whose L2 norm is the Frobenius norm of the matrix.
    """

    design: Design
    loss: Loss
    theta: tuple[float, ...]

    of: ClassVar[str]

    def __post_init__(self) -> None:
        if self.design.fourier is not None:
            raise InvalidRequest("coefficients of random features have no meaning of their own, and no intervals")
        check_loss(self.design, self.loss)
        if len(self.theta) != self.design.width:
            raise InvalidRequest(
                f"theta must have one number for each of {self.design.width} columns, got {len(self.theta)}"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.design.columns

    @property
    def step_key(self) -> Any:
        return (self.design, self.loss, self.theta)

    @property
    def size(self) -> int:
        """The number of coordinates of the matrix."""
        return self.design.width * (self.design.width + 1) // 2

    @cached_property
    def _curvature(self) -> tuple[Fraction, Fraction]:
        """The most that a row adds to the trace of the curvature, and the grid of its factor."""
        most = self.design.most_weight * self.loss.curvature
        return most, _grid(numbers.square_root_up(most))

    @cached_property
    def _slope(self) -> tuple[Fraction, Fraction]:
        """The longest gradient of a person, and its grid."""
        reach = numbers.square_root_up(sum((Fraction(t) ** 2 for t in self.theta), Fraction(0)))
        most = self.design.rows * self.design.most_weight * self.loss.slope_within(reach)
        return most, _grid(most)

    def step(self, batch: Batch) -> _Totals:
        rows = self.design.block(batch)
        width = self.design.width
        first = np.zeros((2, width, width), dtype=object)
        people = len(rows.x)
        if rows.people is not None:
            rows, people = _sorted(rows)
        whole = np.zeros((2, width, width), np.int64)
        theta, left = np.array(self.theta), np.empty((0, width))
        for start in range(0, len(rows.x), _RUN):
            part = slice(start, start + _RUN)
            x, weight = rows.x[part], None if rows.weight is None else rows.weight[part]
            slope, bend = self.loss.both(scores(x, theta), rows.y[part])
            if weight is not None:
                slope, bend = slope * weight, bend * weight
            curved = np.trunc(x * (np.sqrt(bend) / float(self._curvature[1]))[:, None])
            steep = np.trunc(x * (slope / float(self._slope[1]))[:, None])
            if rows.people is not None:
                steep, left = _by_person(steep, rows.people, start, left)
            whole[0] += (curved.T @ curved).astype(np.int64)
            whole[1] += (steep.T @ steep).astype(np.int64)
            if start % (_RUN << 16) == 0:
                first, whole = first + whole, np.zeros_like(whole)
        whole[1] += (left.T @ left).astype(np.int64)
        first = first + whole
        upper = np.triu_indices(width)
        return _Totals(first[0][upper], first[1][upper], people)

    def combine(self, left: _Totals, right: _Totals) -> _Totals:
        return _Totals(left.curvature + right.curvature, left.slope + right.slope, left.people + right.people)

    def _moves(self, most: Fraction, relation: Relation, grid: Fraction) -> Fraction:
        """How far one person moves a sum of positive semi-definite matrices of Frobenius norm at most ``most``."""
        off = self.size - self.design.width
        twice = relation != "add_remove" and self.design.width > 1
        moved = most * numbers.square_root_up(Fraction(2)) if twice else most
        return moved + numbers.square_root_up(Fraction(off)) * grid

    def _vector(self, upper: npt.NDArray[np.object_]) -> list[int]:
        """Off-diagonals times sqrt(2), cut towards zero to whole steps."""
        rows, columns = np.triu_indices(self.design.width)
        pairs = zip(upper.tolist(), (rows == columns).tolist(), strict=True)
        return [m if on else _times_root(m) for m, on in pairs]

    def matrix(self, value: Any) -> Floats:
        """The symmetric matrix that a released value stands for."""
        width = self.design.width
        rows, columns = np.triu_indices(width)
        entries = np.asarray(value, np.float64)[: self.size] * np.where(rows == columns, 1.0, math.sqrt(0.5))
        made = np.zeros((width, width))
        made[rows, columns] = entries
        made[columns, rows] = entries
        return made

    def _made_up(self, rows: int, most: Fraction, grid: Fraction) -> list[int]:
        """A table whose rows are spread over all directions, at half of the most that they may add."""
        each = int(rows * most / (2 * self.design.width) / grid)
        upper = np.triu_indices(self.design.width)
        return [each if i == j else 0 for i, j in zip(*upper, strict=True)]


@queries("curvature_at")
@dataclass(frozen=True)
class CurvatureAt(SandwichSum):
    """The sum over rows of weight * loss'' * x x' at ``theta``.

    ``distance``: rows * weight * curvature in L2 under add/remove, sqrt(2) times that under replace and both (once it in one
    dimension), and sqrt(off-diagonals) steps of the grid.

    Proof: a row adds v v' with v = sqrt(weight * loss'') x. Doubles make v too long by less than 2^-45 of itself, rows are
    shorter than 1 by 2^-40 (``Design``), and v is cut towards zero to the grid, so that |v|^2 <= weight * curvature. A
    person's rows add a positive semi-definite matrix A whose Frobenius norm is at most its trace, rows * weight * curvature.
    Replaced by B, the sum moves by |A - B|^2 = |A|^2 + |B|^2 - 2 tr(A B) <= |A|^2 + |B|^2, because tr(A B) >= 0; two numbers
    of one sign differ by no more than the larger. The value is an isometric image of the matrix, but for off-diagonals that
    are cut to whole steps, which moves two values apart by less than a step each. Factors are at most 2^16 steps, so sums of
    2^13 products stay below 2^45 and doubles add them exactly; longer sums are whole numbers. What a row adds is a function
    of that row alone, to the bit: a score is summed column by column, because a product of matrices may round differently
    where a row stands elsewhere, and a person who shifts all others must not change what they add.
    """

    of: ClassVar[str] = "curvature"

    def distance(self, relation: Relation) -> Distance:
        most, grid = self._curvature
        return _in_l2(self._moves(self.design.rows * most, relation, grid**2), self.size)

    def finish(self, total: _Totals) -> Exact:
        return _exact(self._vector(total.curvature), self._curvature[1])

    def blank(self, rows: int) -> Exact:
        most, grid = self._curvature
        return _exact(self._made_up(rows, most, grid**2), grid)


@queries("slope_at")
@dataclass(frozen=True)
class SlopeAt(SandwichSum):
    """The sum over people of g g' at ``theta``, g = sum over a person's rows of weight * loss' * x.

    With ``counted`` the number of people rides along as one more coordinate, in units that a person moves by at most an
    eighth of what the matrix moves.

    ``distance``: (rows * weight * slope)^2 in L2 under add/remove, the slope being the largest at scores within |theta|;
    sqrt(2) times that under replace and both (once it in one dimension), and sqrt(off-diagonals) steps of the grid; with
    a count, joined to its unit.

    Proof: |theta . x| <= |theta|, so a row's gradient is at most weight * slope long, up to what ``CurvatureAt`` says of
    doubles; cut towards zero to the grid it is no longer, and a person's gradients are added as whole numbers. g g' is
    positive semi-definite with Frobenius norm |g|^2; the rest is as for ``CurvatureAt``. One person more, less or replaced
    changes the number of people that count by at most one.
    """

    counted: bool = False

    of: ClassVar[str] = "slope"

    @cached_property
    def unit(self) -> Fraction:
        """What one person counts for in the last coordinate: a power of two."""
        return Fraction(2) ** numbers.floor_log2(self._slope[0] ** 2 / _COUNT)

    def distance(self, relation: Relation) -> Distance:
        most, grid = self._slope
        moved = self._moves(most**2, relation, grid**2)
        if self.counted:
            moved = numbers.square_root_up(moved**2 + self.unit**2)
        return _in_l2(moved, self.size + self.counted)

    def finish(self, total: _Totals) -> Exact:
        return self._whole(self._vector(total.slope), total.people)

    def blank(self, rows: int) -> Exact:
        most, grid = self._slope
        return self._whole(self._made_up(rows, most**2, grid**2), rows)

    def _whole(self, entries: list[int], people: int) -> Exact:
        grid = self._slope[1]
        return _exact([*entries, *([people * int(self.unit / grid**2)] if self.counted else [])], grid)

    def people(self, value: Any) -> float:
        """The released number of people."""
        return float(np.asarray(value, np.float64)[-1]) / float(self.unit)


def _grid(most: Fraction) -> Fraction:
    """The power of two of which ``most`` is at most 2**16."""
    up = numbers.floor_log2(most)
    return Fraction(2) ** (up + (Fraction(2) ** up < most) - _BITS)


def _in_l2(moved: Fraction, size: int) -> Distance:
    return Distance(moved * numbers.square_root_up(Fraction(size)), moved, moved)


def _exact(steps: list[int], grid: Fraction) -> Exact:
    return Exact(np.array([min(max(s, -_FAR), _FAR) for s in steps], np.int64), grid**2)


def _times_root(m: int) -> int:
    return math.isqrt(2 * m * m) if m >= 0 else -math.isqrt(2 * m * m)


def _sorted(rows: DesignRows) -> tuple[DesignRows, int]:
    """Rows with those of a person next to one another, and the number of people."""
    assert rows.people is not None
    order = np.argsort(rows.people, kind="stable")
    people = rows.people[order]
    weight = None if rows.weight is None else rows.weight[order]
    number = int(len(people) > 0) + int(np.count_nonzero(people[1:] != people[:-1]))
    return DesignRows(rows.x[order], rows.y[order], weight, people), number


def _by_person(steep: Floats, people: Any, start: int, left: Floats) -> tuple[Floats, Floats]:
    """Rows added up person by person: those that are complete, and the last, whose rows may go on (``left`` before)."""
    own = people[start : start + len(steep)]
    ends = np.flatnonzero(own[1:] != own[:-1]) + 1
    sums = np.add.reduceat(steep, np.concatenate(([0], ends)), axis=0)
    if start and people[start - 1] == own[0]:
        sums[0] += left[0]
    elif len(left):
        sums = np.concatenate((left, sums))
    return sums[:-1], sums[-1:]
