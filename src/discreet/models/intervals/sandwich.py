"""Confidence intervals of private coefficients: sampling and noise together (Wang, Kifer and Lee 2019, tightened).

A released theta differs from the regularised minimiser of the population by -H^-1 (G + b), or by -H^-1 G + b for noise on
the output: G, the gradient of the sample, is nearly normal with covariance C; b is the noise, whose law is known. H and C
are released too, from shares of the same price. The noise of H is known as well: the intervals are quantiles of the mixture
over what H may have been.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.mechanisms import Gaussian, ObjectivePerturbation, SphericalLaplace
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.intervals.noise_quantiles import quantiles
from discreet.models.losses import Loss
from discreet.models.perturbation import Method
from discreet.models.queries.sandwich_sums import CurvatureAt, SlopeAt

Shares = tuple[Fraction, Fraction, Fraction]
COVERS = "the regularised minimiser of the population (the coefficients that this loss and ridge have on all people)"
# Close to what leaves the shortest intervals on a table like Adult with 15,000 rows and six coefficients
# (bench/intervals.py). A loss that bends more than the logistic one has a curvature with more noise, through which noise in
# an objective passes. Noise falls with a share of epsilon but only with the root of a share of rho, so of rho the matrices
# can do with less.
_PURE: dict[Method, tuple[str, str, str]] = {"objective": ("0.8", "0.1", "0.1"), "output": ("0.84", "0.08", "0.08")}
_PURE_BENT: dict[Method, tuple[str, str, str]] = {"objective": ("0.6", "0.25", "0.15"), "output": ("0.84", "0.08", "0.08")}
_APPROXIMATE = ("0.86", "0.07", "0.07")
_CONCENTRATED = ("0.9", "0.05", "0.05")
_BENT = Fraction(1, 2)
# Noise that is drawn to undo that of the curvature is a little wider than its law. Draws of the law itself would do if any
# curvature were as likely as any other; but where columns hardly vary the exact one lies at its least, and of a lone such
# direction they cover too little.
_WIDER = 1.1
_SEED = 0  # public: draws only average over what is not known, and hide nothing


def shares_of(given: Sequence[Number] | None, method: Method, price: Price, loss: Loss) -> Shares:
    """The shares of the price that coefficients, curvature and slopes get."""
    if method not in _PURE:
        raise InvalidRequest(f"intervals are about minimisers; use method='objective' or 'output', got {str(method)!r}")
    if given is None:
        pure = (_PURE_BENT if loss.curvature > _BENT else _PURE)[method]
        given = _CONCENTRATED if price.rho is not None else pure if price.is_pure else _APPROXIMATE
    made = tuple(numbers.positive(s, "share") for s in given)
    if len(made) != 3 or sum(made) != 1:
        raise InvalidRequest(
            "shares must be three numbers that add up to 1 (coefficients, curvature, slopes), "
            f"got {', '.join(str(s) for s in given)}"
        )
    return made[0], made[1], made[2]


def sandwich_asks(
    design: Design, loss: Loss, theta: Floats, prices: tuple[Price, Price], relation: Relation, rows: int | None
) -> tuple[Ask, Ask]:
    """The two questions about how certain a released ``theta`` is: one transaction, one pass."""
    at = tuple(theta.tolist())
    bend, steep = CurvatureAt(design, loss, at), SlopeAt(design, loss, at, rows is None)
    first, second = (law_in_l2(p, q.distance(relation), q.size) for p, q in zip(prices, (bend, steep), strict=True))
    return Ask(bend, first), Ask(steep, second)


@dataclass(frozen=True, eq=False)
class CoefficientIntervals:
    """Confidence intervals, one row (lower, upper) for each coefficient, on the scale of the table, the intercept last.

    They cover the *regularised* minimiser of the population, coefficient by coefficient. ``np.asarray`` gives the rows.
    """

    names: tuple[str, ...]
    lower: Floats
    upper: Floats
    level: float
    ridge: float

    covers = COVERS

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.column_stack((self.lower, self.upper)).astype(dtype or np.float64)

    def __len__(self) -> int:
        return len(self.lower)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        return iter(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def __getitem__(self, place: Any) -> Any:
        return np.asarray(self)[place]

    @property
    def lengths(self) -> Floats:
        """Upper less lower ends."""
        return self.upper - self.lower

    def __repr__(self) -> str:
        wide = max(len(n) for n in self.names)
        rows = [f"{n:<{wide}}  {a: .6g}  {b: .6g}" for n, (a, b) in zip(self.names, self, strict=True)]
        head = f"{100 * self.level:g} % intervals; each covers {COVERS}; ridge {self.ridge:g}"
        return "\n".join([head, *rows])


@dataclass(frozen=True, eq=False)
class Sandwich:
    """What is known of how far a released ``theta`` is from the population's, all of it from releases.

    ``variance`` is that of the normal part of each coefficient, ``laplace`` the scale of the part that is a coordinate of
    spherical Laplace noise; both on the scale of the design, with one row for each curvature that the exact one may have
    been.
    """

    variance: Floats
    laplace: Floats

    @staticmethod
    def read(
        design: Design, fit: Release, ridge: Fraction, pair: Sequence[Release], rows: int | None, along: Floats | None = None
    ) -> Sandwich:
        """From the three releases: of the coefficients, or of the combinations of them that the lines of ``along`` are.

        H = (sum of l'' x x') + ridge I; C = (sum of g g') - ridge^2 theta theta' / n, because at the population's minimiser
        a mean gradient is -ridge theta / n. Where n was released it is taken three deviations too large, so that less is
        taken off. Of both sums the nearest matrix without negative eigenvalues and with the same trace is taken: lifting
        those below 0 alone would add, on the average, curvature that is not there, and to what is uncertain. An error of H
        does not average out, because its inverse is what counts: so noise is drawn again and taken off the released sum, and
        each of the matrices that result has its row. Noise that was added to the minimiser itself does not go through H, and
        is the larger part where H is uncertain: there the released sum is taken as it is. All this is done to what
        was released, and costs nothing.
        """
        bend, steep = pair
        assert isinstance(bend.query, CurvatureAt)
        assert isinstance(steep.query, SlopeAt)
        theta, whole, width = np.asarray(fit.value, np.float64), float(ridge), design.width
        law, released = fit.mechanism, bend.query.matrix(bend.value)
        inside = isinstance(law, ObjectivePerturbation)
        values, vectors = np.linalg.eigh(released - _redrawn_noise(bend) if inside else released[None])
        inverse = (vectors / (_same_sum(values) + whole)[:, None, :]) @ vectors.swapaxes(1, 2)
        n = float(rows) if rows is not None else _at_most(steep)
        about = steep.query.matrix(steep.value) - whole * whole / n * np.outer(theta, theta)
        values, vectors = np.linalg.eigh(about)
        lines = np.eye(width) if along is None else along
        inverse, lengths = lines @ inverse, (lines * lines).sum(1)
        root = inverse @ (vectors * np.sqrt(_same_sum(values)))
        variance = (root * root).sum(2)
        laplace = np.zeros_like(variance)
        if isinstance(law, ObjectivePerturbation):
            scale = float(law.scale) * np.sqrt((inverse * inverse).sum(2))
            variance += (width + 1) * float(law.settling(width).scales[0]) ** 2 * lengths
            if law.noise == "gaussian":
                variance += scale * scale
            else:
                laplace = scale
        elif isinstance(law, Gaussian):
            variance += float(law.scales[0]) ** 2 * lengths
        elif isinstance(law, SphericalLaplace):
            laplace += float(law.scales[0]) * np.sqrt(lengths)
        return Sandwich(variance, laplace)

    def half_lengths(self, level: float) -> Floats:
        """How far an interval of that level reaches to either side, on the scale of the design."""
        if not 0 < level < 1:
            raise InvalidRequest(f"level must lie strictly between 0 and 1, got {level}")
        return quantiles(0.5 + level / 2, self.variance, self.laplace, self.variance.shape[1])


def _redrawn_noise(bend: Release) -> Floats:
    """Matrices of noise like that of a released curvature, and wider: of the law's form, in pairs of opposite signs.

    Lengths of spherical Laplace noise are the quantiles of their law in the middle of as many equal parts.
    """
    from scipy.special import gammaincinv, ndtri

    query, law = bend.query, bend.mechanism
    assert isinstance(query, CurvatureAt)
    width, size = query.design.width, query.size
    if not isinstance(law, (Gaussian, SphericalLaplace)):
        return np.zeros((1, width, width))
    pairs = max(4, min(64, 512 // width))
    words = Random(_SEED).words(pairs * size) >> np.uint64(11)
    noise: Floats = ndtri((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(pairs, size)
    if isinstance(law, SphericalLaplace):
        length = gammaincinv(size, (np.arange(pairs) + 0.5) / pairs)
        noise *= (length / np.sqrt((noise * noise).sum(1)))[:, None]
    rows, columns = np.triu_indices(width)
    made = np.empty((pairs, width, width))
    made[:, rows, columns] = _WIDER * float(law.scales[0]) * np.where(rows == columns, 1.0, math.sqrt(0.5)) * noise
    made[:, columns, rows] = made[:, rows, columns]
    return np.concatenate((made, -made))


def _same_sum(values: Floats) -> Floats:
    """The nearest numbers that are not negative and have the same sum along the last axis (all 0, where it is negative).

    Proof: the nearest point of a simplex is max(v - t, 0) with the t that makes the sum right; t is found among the
    candidates where the k largest stay positive (Held, Wolfe and Crowder 1974). The Frobenius-nearest matrix has the same
    eigenvectors (Higham 1988).
    """
    total = values.sum(-1, keepdims=True)
    falling = np.sort(values, -1)[..., ::-1]
    beyond = (np.cumsum(falling, -1) - total) / np.arange(1, values.shape[-1] + 1)
    last = np.maximum((falling > beyond).sum(-1, keepdims=True) - 1, 0)
    found: Floats = np.maximum(values - np.take_along_axis(beyond, last, -1), 0.0)
    return np.where(total > 0.0, found, 0.0)


def _at_most(steep: Release) -> float:
    """The released number of people and three deviations of its noise, at least 1."""
    query, spread = steep.query, float(steep.mechanism.deviation(np.size(steep.value))[0])
    assert isinstance(query, SlopeAt)
    return max(1.0, query.people(steep.value) + 3.0 * spread / float(query.unit))
