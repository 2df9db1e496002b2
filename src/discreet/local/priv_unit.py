"""PrivUnit: a vector on a sphere that lies in a cap around yours more often than chance would have it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.random import Random
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.local.estimate import Estimate, deviation
from discreet.local.exact_draws import WeightedLaw, fair, odds, tilted, uniforms
from discreet.local.law import LocalMechanism, Tally, local_mechanisms
from discreet.local.reports import Column, Columns, Reports
from discreet.local.vector import read_dimension, read_rows
from discreet.mechanisms import Laplace
from discreet.mechanisms.sampling.uniform import Booleans, Floats, Integers

_GRID = 1 << 15  # steps of the grid to the radius of the sphere
_DITHER = 1 << 7  # the scale of the dither in steps, times sqrt(d)
_ERROR = Fraction(1, 2**40)  # the distance, in radii, that doubles may put between the ideal vector and theirs
_MARGIN = _GRID >> 3  # how far the length of a report may be from the radius
_MOST = _GRID + _MARGIN
_SEGMENTS = 3
_HUGE = 1e100  # entries are clipped to it, in units of the radius
_TINY = 2.0**-400  # a shorter vector is the zero vector


@dataclass(frozen=True, eq=False)
class Cap:
    """The favoured cap around a unit vector u in d dimensions.

    ``share`` c is its part of the sphere; the vector lies in it with probability ``inside`` and is then uniform there,
    elsewhere uniform outside. ``mean`` is the length of its mean, which points along u.
    """

    share: float
    inside: Fraction
    mean: float


@local_mechanisms("priv_unit")
@dataclass(frozen=True)
class PrivUnit(LocalMechanism):
    """A random unit vector V that favours the cap {<v, u> >= g}, divided by the length m of its mean (Bhowmick et al. 2018).

    Vectors live in the ball of ``radius``; longer ones are shortened to it, a missing coordinate counts as 0. Inside
    the ball, u = +-x/|x| with P(+) = 1/2 + |x| / (2 radius). With c the cap's share of the sphere, the cap has
    probability R c / (R c + 1 - c), and g is the fixed point g = m(g), which makes m the largest. Mean squared error
    of the whole vector (1/m^2 - 1) radius^2, from the unit sphere.

    Proof: the ideal V has density R / (R c + 1 - c) in the cap and 1 / (R c + 1 - c) outside, against the uniform law,
    whatever u is: the ratio is R. Doubles cannot draw V, only some V' computed from the same random digits. It lies
    within 2^-40 of V whatever the value and the digits: u is a unit vector to 2^-45 (``directions``), the direction
    around it is that of normal numbers which keep their relative digits (``normals``), and the reflection adds fewer
    than 2^7 units of 2^-53. That SciPy solves for the height to 2^-43 is not proved but measured: against 60 digits,
    up to d = 2^14, the worst error was 2^-47. So what is reported is V' + Laplace noise of scale s in every
    coordinate, drawn exactly. Given the digits, moving V' to V changes the density of that sum by a factor of at most
    e^(|V' - V|_1 / s), hence the law reported is within that factor of the law of V + noise, which is post-processing
    of V; and this holds for both of two values. With |V' - V|_1 <= sqrt(d) 2^-40 the excess is 2 sqrt(d) 2^-40 / s = d
    2^-31 for s = 2^-8 / sqrt(d), and R is made for an epsilon smaller by it. Rounding to the grid is post-processing.
    The dither adds 2 d s^2 = 2^-15 to a squared length of one.

    Every report has a length between 7/8 and 9/8 of the radius, so that the server can refuse any other: a noisy vector
    outside is replaced by the first axis, whatever the value. That is post-processing too, and it is next to never done:
    rounding moves the length by sqrt(d)/2 steps at most, 1/500 of the margin up to d = 256 and 1/64 beyond, and the dither
    has to do the rest. |dither|_2 <= |dither|_1, which is s times a Gamma(d) variable, so for d <= 256 the probability is at
    most that of Gamma(d) > 31.9 ceil(sqrt(d)), below 2^-70. Beyond, the squares of d standard exponentials would have to add
    up to 990 d: either one of them exceeds 190, with probability d e^-190, or they add up to more than 5 d, with
    probability at most e^(-d (4 - ln 5)); together below 2^-250.
    """

    dimension: int
    radius: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dimension", read_dimension(self.dimension, 2))
        object.__setattr__(self, "radius", numbers.positive(self.radius, "radius"))
        if self.epsilon <= 2 * self._excess:
            raise InvalidRequest(f"epsilon must be above {float(2 * self._excess):.3g} in {self.dimension} dimensions")

    @property
    def _root(self) -> int:
        """sqrt(d), rounded up to a whole number."""
        return math.isqrt(self.dimension - 1) + 1

    @property
    def _excess(self) -> Fraction:
        return 2 * self._root**2 * _ERROR * _GRID / _DITHER

    @property
    def odds(self) -> Fraction:
        return odds(self.epsilon - self._excess)

    @property
    def columns(self) -> Mapping[str, Column]:
        return {"vector": Column(-_MOST, _MOST, self.dimension)}

    @property
    def width(self) -> int:
        return self.dimension

    @cached_property
    def cap(self) -> Cap:
        return _cap(self.dimension, self.odds)

    @cached_property
    def _dither(self) -> Laplace:
        return Laplace(Fraction(_DITHER, self._root), grid=1)

    def encode(self, values: Any) -> Floats:
        """Vectors in units of the radius; one shorter than 2^-400 of it counts as zero."""
        with np.errstate(all="ignore"):
            rows = read_rows(values, self.dimension) / float(self.radius)
        np.clip(rows, -_HUGE, _HUGE, out=rows)
        rows[np.isnan(rows)] = 0.0
        # Squares of what is no zero vector are doubles, and so are those of the longest.
        length = np.sqrt(np.square(rows).sum(axis=1))
        rows /= np.maximum(length, 1.0)[:, None]
        rows[length < _TINY] = 0.0
        return rows

    def draw(self, random: Random, encoded: Floats) -> Columns:
        u, length = directions(encoded)
        u *= np.where(tilted(random, np.minimum(length, 1.0)), 1.0, -1.0)[:, None]
        ideal = around(random, u, *self._heights(random, len(u)))
        noisy = self._dither.release(ideal * _GRID, seed=random)
        noisy[~_possible(noisy)] = np.eye(1, self.dimension, dtype=np.int64) * _GRID
        return {"vector": noisy.astype(np.int32)}

    def check(self, columns: Columns) -> None:
        if not _possible(columns["vector"]).all():
            raise UnsupportedFormat(
                "the vector of a report must be as long as the radius, to an eighth of it; one is not, and no client made it"
            )

    def _heights(self, random: Random, size: int) -> tuple[Floats, Floats]:
        """<V, u> and the length of the rest of V: uniform, by area, in the cap, from it to the equator, or below.

        Each segment is measured from its own end of the sphere, so that a small share keeps its digits.
        """
        cap = self.cap
        c = Fraction(cap.share)
        outside = (1 - cap.inside) / (1 - c)
        chances = [cap.inside, outside * (Fraction(1, 2) - c), outside / 2]
        whole = math.lcm(*(p.denominator for p in chances))
        segment = WeightedLaw([int(p * whole) for p in chances]).draw(random, size)
        start, width = np.array([0.0, cap.share, 0.0]), np.array([cap.share, 0.5 - cap.share, 0.5])
        above = start[segment] + width[segment] * uniforms(random, size)
        t, s = height(above, self.dimension)
        return np.where(segment == _SEGMENTS - 1, -t, t), s

    def log_prob(self, reports: Reports, values: Any) -> Floats:
        """The log-density of the direction against the uniform law on the sphere, before the dither."""
        self.require(reports.mechanism)
        rows = np.asarray(values, np.float64)
        x = self.encode(rows if rows.ndim == 2 else rows[None])
        v = reports.columns["vector"] / _GRID
        v = v / np.sqrt(np.square(v).sum(axis=1, keepdims=True))
        u, length = directions(x)
        along = (v * u).sum(axis=1)
        least = float(height(np.array([self.cap.share]), self.dimension)[0][0])
        covered = (1 + length) / 2 * (along >= least) + (1 - length) / 2 * (-along >= least)
        c, r = self.cap.share, float(self.odds)
        value: Floats = np.log1p((r - 1) * covered) - math.log(r * c + 1 - c)
        return value

    def sums(self, columns: Columns) -> Integers:
        rows = columns["vector"].astype(np.int64)
        return np.concatenate((rows.sum(axis=0), (rows * rows).sum(axis=0)))

    def conclude(self, tally: Tally) -> Estimate:
        unit = 1 / (self.cap.mean * _GRID)
        first, second = (tally.sums / tally.count).reshape(2, -1)
        mean, square = unit * first, unit**2 * second
        scale = float(self.radius)
        error = scale * deviation(square - np.minimum(mean * mean, 1.0), tally.count)
        return Estimate(scale * mean, error, error, tally.count, float(self.epsilon), private=tally.private)

    @property
    def worst_variance(self) -> float:
        """The mean squared error of the whole vector from the unit sphere, 1/m^2 - 1; at the centre it is 1/m^2."""
        return 1 / self.cap.mean**2


def _possible(rows: Integers) -> Booleans:
    """Whether each row of grid steps has a length that a client lets out, in whole numbers."""
    steps = rows.astype(np.int64, copy=False)
    square = np.einsum("ij,ij->i", steps, steps)
    inside: Booleans = (square >= (_GRID - _MARGIN) ** 2) & (square <= (_GRID + _MARGIN) ** 2)
    return inside


def height(above: Floats, d: int) -> tuple[Floats, Floats]:
    """The height t >= 0 above which a share ``above`` <= 1/2 of the sphere in d dimensions lies, and sqrt(1 - t^2).

    The share is I_(1-t^2)((d-1)/2, 1/2) / 2. Near the pole that is solved for 1 - t^2, near the equator its complement
    is solved for t^2, so that neither loses digits.
    """
    from scipy.special import betaincinv

    a = (d - 1) / 2
    near_pole = above < 0.25
    aside = betaincinv(a, 0.5, 2 * above[near_pole])
    along = betaincinv(0.5, a, np.maximum(1 - 2 * above[~near_pole], 0.0))
    t, s = np.empty_like(above), np.empty_like(above)
    t[near_pole], s[near_pole] = np.sqrt(1 - aside), np.sqrt(aside)
    t[~near_pole], s[~near_pole] = np.sqrt(along), np.sqrt(1 - along)
    return t, s


def directions(rows: Floats) -> tuple[Floats, Floats]:
    """For each row of finite numbers a unit vector along it (the first axis for zeros), and its length.

    Proof that | |u| - 1 | < 2^-45 whatever the row: divided by its largest entry its squares lie in [0, 1] and one of
    them is 1, so what underflows is below 2^-1000 of the sum. At most 2^14 squares, one after the other in memory, are
    added pairwise in blocks of 128, which is right to 32 units of 2^-53; root and quotients add three.
    """
    largest = np.abs(rows).max(axis=1)
    u = np.divide(rows, np.where(largest > 0, largest, 1.0)[:, None], order="C")
    u[largest == 0, 0] = 1.0
    norm = np.sqrt(np.square(u).sum(axis=1))
    u /= norm[:, None]
    return u, largest * norm


def around(random: Random, u: Floats, t: Floats, s: Floats) -> Floats:
    """For each unit row u a unit vector with <v, u> = t, uniform among those; s = sqrt(1 - t^2).

    (t, s w) with w uniform on the sphere of one dimension less, carried from the first axis to u by a
    Householder reflection, which loses no digits with the sign chosen so that nothing cancels.
    """
    n, d = u.shape
    # On two points w is a coin, which doubles could not weigh exactly.
    w = (np.where(fair(random, n), 1.0, -1.0) if d == 2 else normals(random, n * (d - 1))).reshape(n, d - 1)
    # Squares of normal numbers underflow with probability 2^-1000: sooner would somebody guess the key they come from.
    w *= (s / np.sqrt(np.square(w).sum(axis=1)))[:, None]
    side = np.where(u[:, 0] >= 0, 1.0, -1.0)
    v = np.empty_like(u)
    # side * u takes the place of u; the reflection sends the first axis to minus it.
    v[:, 0], v[:, 1:] = -side * t, -side[:, None] * w
    mirror = u * side[:, None]
    mirror[:, 0] += 1.0
    v -= mirror * ((v * mirror).sum(axis=1) / mirror[:, 0])[:, None]
    return v


def normals(random: Random, size: int) -> Floats:
    """Normal numbers as doubles, by Box and Muller, every one right to a relative 2^-48, however small it is.

    The radius is sqrt(-2 ln V) with V or 1 - V in (0, 1/2]; the angle is at most an eighth of the circle away from an axis,
    and coins choose the eighth. All logarithms, sines and cosines are then of numbers known to a relative 2^-51, where
    they lose less than two bits. So the direction of a vector of these numbers is right to 2^-48, short as it may be.
    """
    pairs = -(-size // 2)
    drawn = uniforms(random, 2 * pairs)
    lower, swap, *signs = fair(random, 4 * pairs).reshape(4, pairs)
    half = 0.5 * drawn[:pairs]
    radius = np.sqrt(-2.0 * np.where(lower, np.log(half), np.log1p(-half)))
    angle = (math.pi / 4) * drawn[pairs:]
    near, off = radius * np.cos(angle), radius * np.sin(angle)
    made = np.empty((2, pairs))
    np.multiply(np.where(swap, off, near), 1.0 - 2.0 * signs[0], out=made[0])
    np.multiply(np.where(swap, near, off), 1.0 - 2.0 * signs[1], out=made[1])
    return made.reshape(-1)[:size]


@lru_cache(maxsize=64)
def _cap(d: int, ratio: Fraction) -> Cap:
    """The cap whose threshold g equals the length m(g) of the mean: there dm/dg = 0, and m is the largest."""
    from scipy.special import betainc, betaln

    a, r = (d - 1) / 2, float(ratio)

    def of(g: float) -> tuple[float, float]:
        c = 0.5 * float(betainc(a, 0.5, 1 - g * g))
        s = math.exp(a * math.log1p(-g * g) - float(betaln(0.5, a))) / (d - 1)
        return c, s * (r - 1) / (r * c + 1 - c)

    low, high = 0.0, 1.0 - 2.0**-40
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle)[1] > middle else (low, middle)
    share, mean = of(low)
    # The law is the one of the double ``share``, exactly; only the length of its mean is computed.
    c = Fraction(share)
    return Cap(share, ratio * c / (ratio * c + 1 - c), mean)
