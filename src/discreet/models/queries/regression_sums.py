"""Noisy sums of squares and products: all that a linear regression needs of a table, asked for once.

Columns of numbers are divided by their largest bound, so that every entry of a row lies within [-1, 1]; a category has
one column for each label; a constant 1 and the target stand last. What is released is the upper triangle of the sum of z
z' over rows z. Regressions, intervals and posteriors are made of it without looking again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, queries
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.mechanisms import Gaussian, SphericalLaplace
from discreet.models.design import Design, Floats
from discreet.models.intervals.noise_quantiles import quantiles
from discreet.models.queries.design_sum import DesignSum
from discreet.models.solve import quadratic

Integers = npt.NDArray[np.int64]

_BITS = 16  # an entry is at most 2**16 steps, so products of two are at most 2**32
_RUN = 1 << 20  # rows at a time: 2**52 at most, which doubles add exactly in any order
_MOST = (1 << 62) - 1
_SLACK = Fraction(1, 1 << 15)  # a product of two rounded entries is wrong by less than this


@queries("regression_sums")
@dataclass(frozen=True)
class RegressionSums(DesignSum):
    """The upper triangle of the sum of z z' over rows z = (features, 1, target), with entries in [-1, 1].

    ``distance``, with m columns of the table (target counted, a category once), k rows a person and weights up to w (a
    row with weight counts as sqrt(weight / w) z): L2 is k sqrt((m + 1)(m + 2) / 2) under add/remove. Under replace and
    both it is k (m + 1) for odd and k sqrt(m (m + 2)) for even m where all columns are numbers; k sqrt(m^2 + 3 m + 1)
    where some are categories. Where rows have weights, a slack for rounding.

    Proof: write z = (1, a) in any order and T(z) for its products z_i z_j, i <= j. A category's columns hold a single 1,
    and others one number each, so |a|^2 and the sum of a_i^4 are at most m and |T(z)|^2 = (|z|^4 + sum of z_i^4) / 2 <=
    ((m + 1)^2 + m + 1) / 2. Rounding to the grid keeps entries within [-1, 1] and 1 at 1. Replacing (1, a) by (1, c),
    with A = |a|^2, C = |c|^2 and t = a . c, moves T by the root of D = A + C - 2t + (A^2 + C^2) / 2 - t^2 + sum of (a_i^2
    - c_i^2)^2 / 2. For numbers, as a function of one a_i, D is a_i^4 + b a_i^2 + (linear) with b = 1 + (A - a_i^2) - 2
    c_i^2 >= -1, which over [-1, 1] is largest at an end, for with the linear part not negative f(1) - f(x) >= (1 - x^2)(1
    + x^2 + b) >= 0 for x in [0, 1]; the same holds of c_i. At corners D = m^2 + 2m - 2t - t^2 = (m + 1)^2 - (t + 1)^2
    with t of the parity of m. In general the last sum is at most (A + C) / 2 and -2t - t^2 <= 1, so D <= m^2 + 3m + 1.
    Neither is less than |T(z)|^2, so a row that goes or comes moves no more; with weights u, v in [0, 1] |u T - v T'| is
    convex in each and largest at 0 or 1. A product of entries that were rounded by 2^-17 each is wrong by less than
    2^-15. k rows move k times as much, pair by pair.
    """

    design: Design

    def __post_init__(self) -> None:
        plain = self.design.intercept and self.design.radius is None and self.design.fourier is None
        if not plain or self.design.target.classes:
            raise InvalidRequest("sums for a regression need a constant column, no radius, and a target that is a number")

    @property
    def grid(self) -> Fraction:
        """That of products."""
        return Fraction(1, 1 << (2 * _BITS))

    @property
    def side(self) -> int:
        """The number of entries of a row."""
        return self.design.width + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis with the upper triangle, line by line."""
        return (self.side * (self.side + 1) // 2,)

    def distance(self, relation: Relation) -> Distance:
        m, k = self.design.blocks, Fraction(self.design.rows)  # the constant is a block, as is the target here
        once = Fraction((m + 1) * (m + 2), 2)
        if relation == "add_remove":
            square = once
        elif any(f.labels for f in self.design.features):
            square = Fraction(m * m + 3 * m + 1)
        else:
            square = Fraction((m + 1) ** 2 - (m + 1) % 2)
        twice = 1 if relation == "add_remove" else 2
        slack = twice * _SLACK if self.design.weight is not None else Fraction(0)
        rounded = slack * self.shape[0]
        l2 = numbers.square_root_up(square) + rounded
        return Distance(k * (twice * once + rounded), k * l2, k * (twice + slack))

    def step(self, batch: Any) -> Integers:
        x, y, weight, _ = self.design.block(batch)
        total = np.zeros((self.side, self.side), np.int64)
        for start in range(0, len(x), _RUN):
            part = slice(start, start + _RUN)
            z = np.column_stack([x[part] * self.design.units[-1], y[part]])
            if weight is not None:
                z *= np.sqrt(weight[part] / float(self.design.most_weight))[:, None]
            z = np.rint(np.clip(z, -1.0, 1.0, out=z) * (1 << _BITS))
            total += (z.T @ z).astype(np.int64)
        upper: Integers = total[np.triu_indices(self.side)]
        return upper

    def combine(self, left: Integers, right: Integers) -> Integers:
        # Past 10^9 rows it stands still instead of turning over.
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

    @property
    def size(self) -> int:
        """The number of entries that got noise together."""
        return len(self.raw) * (len(self.raw) + 1) // 2

    @property
    def rows(self) -> float:
        """The (noisy) number of rows."""
        return max(1.0, float(self.raw[-2, -2]))


def read(release: Release, rows: int | None) -> RegressionMoments:
    """The moments in a release; ``rows`` is the number of rows where that is public.

    Noise may leave a matrix that no table has. Its negative eigenvalues are put to 0, which gives the nearest positive
    semi-definite matrix: then residuals have a variance of at least 0, and a direction in which no row varies has no slope.
    """
    query = release.query
    assert isinstance(query, RegressionSums)
    raw: Floats = np.zeros((query.side, query.side))
    raw[np.triu_indices(query.side)] = np.asarray(release.value, np.float64)
    raw = np.asarray(raw + np.triu(raw, 1).T, np.float64)
    known = rows is not None and query.design.weight is None
    if known:
        raw[-2, -2] = float(rows or 0)
    values, vectors = np.linalg.eigh(raw)
    repaired = (vectors * np.maximum(values, 0.0)) @ vectors.T
    law = release.mechanism
    spherical = isinstance(law, SphericalLaplace)
    scale = float(law.scales[0]) if isinstance(law, SphericalLaplace | Gaussian) else 0.0
    return RegressionMoments(raw, repaired, scale, spherical, known)


def solve(moments: RegressionMoments, ridge: float, intercept: bool) -> Floats:
    """The coefficients with the least squared error plus (ridge / 2) |theta|^2, on the scale of entries in [-1, 1]."""
    matrix, goal = _normal(moments, intercept)
    return quadratic.solve(quadratic.factors(matrix + ridge * np.eye(len(goal))), goal)


def _normal(moments: RegressionMoments, intercept: bool) -> tuple[Floats, Floats]:
    kept = len(moments.raw) - (1 if intercept else 2)
    return moments.repaired[:kept, :kept], moments.repaired[:kept, -1]


def half_widths(moments: RegressionMoments, theta: Floats, ridge: float, intercept: bool, level: float) -> Floats:
    """Half the length of an interval around each coefficient, for the noise and for the sampling of the rows.

    With K = (sum of x x') + ridge and f = (-theta, 1), the coefficients are wrong by K^-1 (sum of x (y - theta . x) - its
    mean + E f), to first order. The first has covariance s^2 (sum of x x'), s^2 the variance of the residuals; E is the
    noise, equal entries above and below its diagonal, so that E f has covariance (|f|^2 I + f f' - diag(f^2)) times that
    of one entry.
    """
    if not 0 < level < 1:
        raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
    matrix, goal = _normal(moments, intercept)
    wide = len(goal)
    inverse = quadratic.solve(quadratic.factors(matrix + ridge * np.eye(wide)), np.eye(wide))
    errors = float(moments.repaired[-1, -1] - 2 * theta @ goal + theta @ matrix @ theta)
    variance = max(0.0, errors) / max(1.0, moments.rows - wide)
    whole = np.append(-theta, 1.0)
    noise = whole @ whole * np.eye(wide) + np.outer(theta, theta) - np.diag(theta**2)
    if moments.known_rows and intercept:
        noise[-1, -1] -= theta[-1] ** 2
    sampled = np.diag(inverse @ (variance * matrix) @ inverse)
    noisy = moments.scale**2 * np.maximum(np.diag(inverse @ noise @ inverse), 0.0)
    p = 0.5 + level / 2
    if moments.spherical:
        return quantiles(p, sampled, np.sqrt(noisy), moments.size)
    return quantiles(p, sampled + noisy, np.zeros(wide), moments.size)
