"""Noisy sums of squares and products: all that a linear regression needs of a table, asked for once.

Columns of numbers are divided by their largest bound, so that every entry of a row lies within [-1, 1]; a category has
one column for each label; a constant 1 and the target stand last. What is released is the upper triangle of the sum of z
z' over rows z, products with the target times a public factor. Regressions, intervals and posteriors are made of it without
looking again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, queries
from discreet.core.release import Release
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.intervals.error_law import ErrorLaw
from discreet.models.queries.design_sum import DesignSum
from discreet.models.solve import quadratic

Integers = npt.NDArray[np.int64]

_BITS = 16  # an entry is at most 2**16 steps, so products of two are at most 2**32
_RUN = 1 << 20  # rows at a time: 2**52 at most, which doubles add exactly in any order
_MOST = (1 << 62) - 1
_USUAL = 1 / 3  # the squared length of coefficients that is reckoned with
_SLACK = Fraction(1, 1 << 15)  # a product of two rounded entries is wrong by less than this


@queries("regression_sums")
@dataclass(frozen=True)
class RegressionSums(DesignSum):
    """The upper triangle of the sum of z z' over rows z = (x, y), x = (features, 1), y the target, entries in [-1, 1].

    Products x_i y are released ``target_factor`` = f times as large (1 or 3/2). What coefficients are wrong by comes from
    their noise, and from that of the products x_i x_j only as far as coefficients are large, which they seldom are where
    y and x fill their bounds: at 3/2 the noise of the sum of x y is less by a fifth, and that of the others a little more.

    ``distance``, with p columns of the table beside the target (a category once, the constant counted), k rows a person and
    weights up to w (a row with weight counts as sqrt(weight / w) z): L2 is k sqrt(p (p + 1) / 2 + f^2 p + 1) under
    add/remove. Under replace and both it is k sqrt(p^2 - t^2 + 2 f^2 (p + t)) where all columns are numbers, t the
    number from 0 to p of p's parity where that is largest; k sqrt(p^2 + p - 1 + 2 f^2 p + f^4) where some are
    categories. Where rows have weights, a slack for rounding.

    Proof: a category's columns hold at most a single 1, and others one number each, so |x|^2 and the sum of x_i^4 are at
    most p, and a row's triangle T has |T|^2 = (|x|^4 + sum of x_i^4) / 2 + f^2 y^2 |x|^2 + y^4 <= (p^2 + p) / 2 + f^2 p
    + 1. Rounding to the grid keeps entries within [-1, 1] and 1 at 1. Replacing (x, y) by (v, u), t = x . v, moves T by
    the root of D = (|x|^4 + |v|^4) / 2 - t^2 + sum of (x_i^2 - v_i^2)^2 / 2 + f^2 |y x - u v|^2 + (y^2 - u^2)^2. As a
    function of y it is y^4 + b y^2 + (linear), b = f^2 |x|^2 - 2 u^2 >= -1 because x holds a 1 and f >= 1; such a
    function is largest over [-1, 1] at an end, for with the linear part not negative F(1) - F(s) >= (1 - s^2)(1 + s^2 +
    b) >= 0 for s in [0, 1]. So y and u are 1 or -1. As a function of one number x_i it has b = (sum of the other x_j^2)
    + f^2 y^2 - 2 v_i^2 >= -1 likewise. At corners D = p^2 - t^2 + 2 f^2 (p -+ t) with t of the parity of p. In general
    the sum of (x_i^2 - v_i^2)^2 / 2 is at most p - 1, the constant aside, and 2 f^2 |t| - t^2 <= f^4. Neither is less
    than |T|^2, so a row that goes or comes moves no more; with weights a, b in [0, 1] |a T - b T'| is convex in each and
    largest at 0 or 1. A product of entries that were rounded by 2^-17 each is wrong by less than 2^-15. k rows move k
    times as much, pair by pair.
    """

    design: Design
    target_factor: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.target_factor not in (1, Fraction(3, 2)):
            raise InvalidRequest(f"target_factor must be 1 or 3/2, got {self.target_factor}")
        plain = self.design.intercept and self.design.radius is None and self.design.fourier is None
        if not plain or self.design.target.classes:
            raise InvalidRequest("sums for a regression need a constant column, no radius, and a target that is a number")

    @property
    def grid(self) -> Fraction:
        """That of products, in which every factor is a whole number."""
        return Fraction(1, self.target_factor.denominator << (2 * _BITS))

    @property
    def side(self) -> int:
        """The number of entries of a row."""
        return self.design.width + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis with the upper triangle, line by line."""
        return (self.side * (self.side + 1) // 2,)

    @property
    def factors(self) -> Floats:
        """What each entry of the triangle is multiplied by: products of the target with the rest by ``target_factor``."""
        rows, columns = np.triu_indices(self.side)
        with_target = (columns == self.side - 1) & (rows < columns)
        return np.where(with_target, float(self.target_factor), 1.0)

    def distance(self, relation: Relation) -> Distance:
        p, k, f = self.design.blocks, Fraction(self.design.rows), self.target_factor
        if relation == "add_remove":
            square = Fraction(p * (p + 1), 2) + f * f * p + 1
        elif any(each.labels for each in self.design.features):
            square = p * p + p - 1 + 2 * f * f * p + f**4
        else:
            square = max(p * p - t * t + 2 * f * f * (p + t) for t in range(p % 2, p + 1, 2))
        twice = 1 if relation == "add_remove" else 2
        slack = twice * f * _SLACK if self.design.weight is not None else Fraction(0)
        rounded = slack * self.shape[0]
        l1 = twice * (Fraction(p * (p + 1), 2) + f * p + 1) + rounded
        return Distance(k * l1, k * (numbers.square_root_up(square) + rounded), k * (twice * f + slack))

    def step(self, batch: Batch) -> Integers:
        x, y, weight, _ = self.design.block(batch)
        total = np.zeros((self.side, self.side), np.int64)
        for start in range(0, len(x), _RUN):
            part = slice(start, start + _RUN)
            z = np.column_stack([x[part] * self.design.units[-1], y[part]])
            if weight is not None:
                z *= np.sqrt(weight[part] / float(self.design.most_weight))[:, None]
            z = np.rint(np.clip(z, -1.0, 1.0, out=z) * (1 << _BITS))
            total += (z.T @ z).astype(np.int64)
        whole = np.rint(self.factors * self.target_factor.denominator).astype(np.int64)
        upper: Integers = total[np.triu_indices(self.side)] * whole
        return upper

    def combine(self, left: Integers, right: Integers) -> Integers:
        # Past 5 * 10^8 rows it stands still instead of turning over.
        total: Integers = np.clip(left + right, -_MOST, _MOST)
        return total

    def blank(self, rows: int) -> Exact:
        """As if columns were spread evenly between -1 and 1, and independent."""
        diagonal = np.full(self.side, rows / 3)
        diagonal[-2] = rows
        steps = np.diag(np.rint(diagonal / float(self.grid))).astype(np.int64)
        return Exact(steps[np.triu_indices(self.side)], self.grid)


class RegressionMoments(NamedTuple):
    """What a release says: the noisy matrix, the same made positive, and the noise of one entry."""

    raw: Floats
    repaired: Floats
    scale: float
    spherical: bool
    known_rows: bool
    target_factor: float = 1.0  # products with the target have so many times less noise

    @property
    def size(self) -> int:
        """The number of entries that got noise together."""
        return len(self.raw) * (len(self.raw) + 1) // 2

    @property
    def rows(self) -> float:
        """The (noisy) number of rows."""
        return max(1.0, float(self.raw[-2, -2]))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of an entry without the target."""
        return self.scale * (math.sqrt(self.size + 1) if self.spherical else 1.0)


def read(release: Release, rows: int | None) -> RegressionMoments:
    """The moments in a release; ``rows`` is the number of rows where that is public.

    Noise may leave a matrix that no table has. Its negative eigenvalues are put to 0, which gives the nearest positive
    semi-definite matrix: then residuals have a variance of at least 0, and a direction in which no row varies has no slope.
    """
    query = release.query
    assert isinstance(query, RegressionSums)
    raw: Floats = np.zeros((query.side, query.side))
    raw[np.triu_indices(query.side)] = np.asarray(release.value, np.float64) / query.factors
    raw = np.asarray(raw + np.triu(raw, 1).T, np.float64)
    known = rows is not None and query.design.weight is None
    if known:
        raw[-2, -2] = float(rows or 0)
    values, vectors = np.linalg.eigh(raw)
    repaired = (vectors * np.maximum(values, 0.0)) @ vectors.T
    noise = release.mechanism.vector_noise
    return RegressionMoments(raw, repaired, noise.scale, noise.spherical, known, float(query.target_factor))


def solve(moments: RegressionMoments, ridge: float, intercept: bool) -> Floats:
    """The coefficients with the least squared error plus (ridge / 2) |theta|^2, on the scale of entries in [-1, 1].

    A direction in which the sums are a (with the ridge) is read as a / (a^2 + q^2) times the product, not as 1 / a: the
    mean of theta given the product, for noise of deviation s and coefficients of deviation t, q = s / t. It matters
    where a is as small as the noise, and vanishes as q^2 / a^2 where it is larger. t^2 is a third over the number of
    coefficients: |theta|^2 about 1/3. All of it is public, or read off what was released.
    """
    matrix, goal = _normal(moments, intercept)
    values, vectors = np.linalg.eigh(matrix + ridge * np.eye(len(goal)))
    values = np.maximum(values, max(2.0**-50 * float(values[-1]), 1e-100))  # rounding may leave one below 0
    noise = moments.deviation * math.sqrt(1.0 / moments.target_factor**2 + _USUAL)
    theta: Floats = vectors @ (vectors.T @ goal / (values + noise**2 * len(goal) / _USUAL / values))
    return theta


def _normal(moments: RegressionMoments, intercept: bool) -> tuple[Floats, Floats]:
    kept = len(moments.raw) - (1 if intercept else 2)
    return moments.repaired[:kept, :kept], moments.repaired[:kept, -1]


def error_law_of(moments: RegressionMoments, theta: Floats, ridge: float, intercept: bool) -> ErrorLaw:
    """What coefficients of entries in [-1, 1] are wrong by: the sampling of the rows, and the noise.

    With K = (sum of x x') + ridge, the coefficients are wrong by K^-1 (sum of x (y - theta . x) - its mean + e - E
    theta), to first order. The first has covariance s^2 (sum of x x'), s^2 the variance of the residuals; e is the noise
    of the products with the target and E that of the others, equal entries above and below its diagonal, so that E theta
    has covariance (|theta|^2 I + theta theta' - diag(theta^2)) times that of one entry.
    """
    matrix, goal = _normal(moments, intercept)
    wide = len(goal)
    inverse = quadratic.solve(quadratic.factors(matrix + ridge * np.eye(wide)), np.eye(wide))
    errors = float(moments.repaired[-1, -1] - 2 * theta @ goal + theta @ matrix @ theta)
    variance = max(0.0, errors) / max(1.0, moments.rows - wide)
    each = theta @ theta + 1.0 / moments.target_factor**2
    noise = each * np.eye(wide) + np.outer(theta, theta) - np.diag(theta**2)
    if moments.known_rows and intercept:
        noise[-1, -1] -= theta[-1] ** 2
    sampled, noisy = inverse @ (variance * matrix) @ inverse, moments.scale**2 * inverse @ noise @ inverse
    if moments.spherical:
        return ErrorLaw(sampled[None], noisy[None], moments.size)
    return ErrorLaw((sampled + noisy)[None], np.zeros((1, wide, wide)), 1)
