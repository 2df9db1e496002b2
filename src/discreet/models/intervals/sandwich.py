"""Confidence intervals of private coefficients: sampling and noise together (Wang, Kifer and Lee 2019, tightened).

A released theta differs from the regularised minimiser of the population by -H^-1 (G + b), or by -H^-1 G + b for noise on
the output: G, the gradient of the sample, is nearly normal with covariance C; b is the noise, whose law is known. H and C
are released too, from shares of the same price. The noise of H is known as well: the intervals are quantiles of the mixture
over what H may have been.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.random import Random
from discreet.core.release import Release
from discreet.errors import InvalidRequest
from discreet.mechanisms import ObjectivePerturbation
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.intervals.error_law import ErrorLaw
from discreet.models.losses import Loss
from discreet.models.perturbation import Method
from discreet.models.queries.sandwich_sums import CurvatureAt, SlopeAt

Shares = tuple[Fraction, Fraction, Fraction]
# Shares of coefficients, curvature and slopes, close to what leaves the shortest intervals (bench/intervals.py,
# study/collinear_intervals.py). Noise in an objective passes through the inverse of the curvature, ridge included: where the
# noise of the curvature at the first shares would be beyond once, or four times, the ridge, it gets more. Noise falls with a
# share of epsilon but only with the root of a share of rho, so of rho the matrices can do with less.
_OUTPUT = ("0.84", "0.08", "0.08")
_BEYOND = (1.0, 4.0)
_PURE = (("0.8", "0.1", "0.1"), ("0.58", "0.32", "0.1"), ("0.34", "0.58", "0.08"))
_APPROXIMATE = (("0.86", "0.07", "0.07"), ("0.58", "0.32", "0.1"), ("0.34", "0.58", "0.08"))
_CONCENTRATED = (("0.9", "0.05", "0.05"), ("0.65", "0.27", "0.08"), ("0.65", "0.27", "0.08"))
# Noise that is drawn to undo that of the curvature is a little narrower than its law: what results is repaired where it is
# no curvature, which adds to the spread of the least eigenvalues, those that count.
_NARROWER = 0.6
_SEED = 0  # public: draws only average over what is not known, and hide nothing


def shares_of(given: Sequence[Number], method: Method) -> Shares:
    """The shares of the price that coefficients, curvature and slopes get."""
    if method not in ("objective", "output"):
        raise InvalidRequest(f"intervals are about minimisers; use method='objective' or 'output', got {str(method)!r}")
    shares = tuple(numbers.positive(s, "share") for s in given)
    if len(shares) != 3 or sum(shares) != 1:
        raise InvalidRequest(
            "shares must be three numbers that add up to 1 (coefficients, curvature, slopes), "
            f"got {', '.join(str(s) for s in given)}"
        )
    return shares[0], shares[1], shares[2]


def usual_shares(
    design: Design, loss: Loss, ridge: Fraction, method: Method, price: Price, relation: Relation
) -> tuple[str, str, str]:
    """The shares that a fit has when none are asked for; only public numbers decide."""
    ways = _CONCENTRATED if price.rho is not None else _PURE if price.is_pure else _APPROXIMATE
    if method != "objective":
        return _OUTPUT if price.is_pure else ways[0]
    bend = CurvatureAt(design, loss, (0.0,) * design.width)
    law = law_in_l2(price.share(Fraction(ways[0][1])), bend.distance(relation), bend.size)
    noise = float(law.deviation(bend.size)[0])
    return ways[sum(noise > times * float(ridge) for times in _BEYOND)]


def sandwich_asks(
    design: Design, loss: Loss, theta: Floats, prices: tuple[Price, Price], relation: Relation, rows: int | None
) -> tuple[Ask, Ask]:
    """The two questions about how certain a released ``theta`` is: one transaction, one pass."""
    at = tuple(theta.tolist())
    bend, steep = CurvatureAt(design, loss, at), SlopeAt(design, loss, at, rows is None)
    first, second = (law_in_l2(p, q.distance(relation), q.size) for p, q in zip(prices, (bend, steep), strict=True))
    return Ask(bend, first), Ask(steep, second)


def sandwich(design: Design, fit: Release, ridge: Fraction, pair: Sequence[Release], rows: int | None) -> ErrorLaw:
    """What is known of how far a released theta is from the population's, from the three releases; on the design's scale.

    H = (sum of l'' x x') + ridge I; C = (sum of g g') - ridge^2 theta theta' / n, because at the population's minimiser
    a mean gradient is -ridge theta / n. Where n was released it is taken three deviations too large, so that less is
    taken off. Of both sums the nearest matrix without negative eigenvalues and with the same trace is taken: lifting
    those below 0 alone would add, on the average, curvature that is not there, and to what is uncertain. An error of H
    does not average out, because its inverse is what counts: so noise is drawn again and taken off the released sum, and
    each of the matrices that result is a state of the law. Noise that was added to the minimiser itself does not go
    through H, and is the larger part where H is uncertain: there the released sum is taken as it is. All this is done to
    what was released, and costs nothing.
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
    root = inverse @ (vectors * np.sqrt(_same_sum(values)))
    normal = root @ root.swapaxes(1, 2)
    laplace, alone, noise = np.zeros_like(normal), np.eye(width), law.vector_noise
    if isinstance(law, ObjectivePerturbation):
        normal += (width + 1) * float(law.settling(width).scales[0]) ** 2 * alone
    through = inverse if inside else alone
    covariance = laplace if noise.spherical else normal
    covariance += noise.scale**2 * through @ through
    return ErrorLaw(normal, laplace, width)


def _redrawn_noise(bend: Release) -> Floats:
    """Matrices of noise like that of a released curvature, and narrower: of the law's form, in pairs of opposite signs.

    Lengths of spherical Laplace noise are the quantiles of their law in the middle of as many equal parts.
    """
    from scipy.special import gammaincinv, ndtri

    query, law = bend.query, bend.mechanism.vector_noise
    assert isinstance(query, CurvatureAt)
    width, size = query.design.width, query.size
    if not law.scale:
        return np.zeros((1, width, width))
    pairs = max(4, min(64, 512 // width))
    words = Random(_SEED).words(pairs * size) >> np.uint64(11)
    noise: Floats = ndtri((words.astype(np.float64) + 0.5) * 2.0**-53).reshape(pairs, size)
    if law.spherical:
        length = gammaincinv(size, (np.arange(pairs) + 0.5) / pairs)
        noise *= (length / np.sqrt((noise * noise).sum(1)))[:, None]
    rows, columns = np.triu_indices(width)
    matrices = np.empty((pairs, width, width))
    matrices[:, rows, columns] = _NARROWER * law.scale * np.where(rows == columns, 1.0, math.sqrt(0.5)) * noise
    matrices[:, columns, rows] = matrices[:, rows, columns]
    return np.concatenate((matrices, -matrices))


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
    nearest: Floats = np.maximum(values - np.take_along_axis(beyond, last, -1), 0.0)
    return np.where(total > 0.0, nearest, 0.0)


def _at_most(steep: Release) -> float:
    """The released number of people and three deviations of its noise, at least 1."""
    query, spread = steep.query, float(steep.mechanism.deviation(np.size(steep.value))[0])
    assert isinstance(query, SlopeAt)
    return max(1.0, query.people(steep.value) + 3.0 * spread / float(query.unit))
