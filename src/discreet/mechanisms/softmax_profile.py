"""What normal noise in the objective of a softmax costs: privacy profiles and Rényi curves for K classes, one row a person.

Notation as in ``objective_profile``. A row moves the gradient by v = (p - e_y) x', which lies in the simplex with the
corners 0 and (e_j - e_y) x', j other than y. The privacy loss L - J = (|v|^2 + 2 b . v) / (2 s^2) is convex in v, so it is
at most its largest value at a corner: the larger of 0 and t^2 / 2 + t z_j over the K - 1 corners, t = sqrt(2) / s, where
the z_j = b . (e_j - e_y) x' / (s sqrt(2)) are standard normal with correlation 1/2.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.mechanisms import objective_profile as profiles
from discreet.mechanisms.hockey_stick import hockey_stick

Floats = npt.NDArray[np.float64]
_LOW, _HIGH, _NODES = -12.0, 38.0, 6000
_PANELS, _POINTS = 24, 24


def terms(classes: int, replaced: bool) -> int:
    """The number of corners beside 0 that a person may move the gradient to: their losses are added up."""
    more = classes - 1
    return more * more + 2 * more if replaced and classes > 1 else max(1, more)


def profile(epsilon: float, t: float, jacobian: float, classes: int, replaced: bool) -> float:
    """delta(epsilon); t is the whole move of the gradient, so that of one row is half of it where a row is replaced.

    Add/remove: E (1 - e^(epsilon - J - t^2/2 - t Z))+ for epsilon >= J, Z the largest of K - 1 normals with correlation
    1/2; 1 - e^(epsilon - J) (1 - delta(J)) below. Replace: (K-1)^2 HS(epsilon - J; t) + 2 (K-1) HS(epsilon - J; t/2), at
    most 1.

    Proof: delta = E (1 - e^(epsilon - L))+ grows in L, and L <= J + (t^2/2 + t Z)+. Integrating by parts, with u =
    (epsilon - J) / t - t / 2, the first is the integral over s > 0 of t e^(-t s) P(Z > u + s). Under replace v is the
    difference of two such rows, a point of the difference of two simplices, whose corners are 0, the K - 1 of either row,
    and their (K-1)^2 differences, no longer than 2 sqrt(2): (1 - e^-(.))+ of a maximum is at most the sum.
    """
    above = epsilon - jacobian
    if replaced:
        if above < 0:
            return 1.0
        more = classes - 1
        return min(1.0, more * more * hockey_stick(above, t) + 2 * more * hockey_stick(above, t / 2))
    if above < 0:
        return -math.expm1(above + math.log1p(-min(_largest(0.0, t, classes), 1 - 1e-16)))
    return _largest(above, t, classes)


def _largest(above: float, t: float, classes: int) -> float:
    """E (1 - e^(above - t^2/2 - t Z))+, no more than the sum over the K - 1 corners."""
    whole = (classes - 1) * hockey_stick(above, t)
    u = above / t - t / 2
    if not u < _HIGH - 2 or u < _LOW + 1:
        return min(1.0, whole)
    # Beyond s = 40 / t, and beyond u + s = 38, nothing is left of the integrand.
    reach = min(40.0 / t, _HIGH - u)
    at, weight = _rule(_POINTS)
    edges = reach * np.linspace(0.0, 1.0, _PANELS + 1) ** 2
    half = np.diff(edges)[:, None] / 2
    s = (edges[:-1, None] + half * (at + 1)).ravel()
    inside = float((half * weight).ravel() @ (t * np.exp(-t * s + _log_tail(classes)(u + s))))
    left = math.exp(-t * reach + float(_log_tail(classes)(u + reach)))
    return min(1.0, whole, (inside + left) * (1 + 1e-9))


@lru_cache(maxsize=4)
def _rule(points: int) -> tuple[Floats, Floats]:
    """The nodes and weights of Gauss's rule on [-1, 1]."""
    at, weight = np.polynomial.legendre.leggauss(points)
    return at, weight


@lru_cache(maxsize=32)
def _log_tail(classes: int) -> Any:
    """ln P(Z > z), Z the largest of K - 1 normals with correlation 1/2: P(Z <= z) is the mean of Phi(sqrt(2) z - W)^(K-1).

    The mean over W by Gauss's rule on [-14, 14], outside of which no double sees anything; between nodes by a cubic spline
    of the logarithm, right to ten digits.
    """
    from scipy.interpolate import CubicSpline
    from scipy.special import log_ndtr

    at, weight = _rule(240)
    w, density = 14.0 * at, 14.0 * weight * np.exp(-98.0 * at**2) / math.sqrt(2 * math.pi)
    z = np.linspace(_LOW, _HIGH, _NODES)
    log_below = (classes - 1) * log_ndtr(math.sqrt(2) * z[:, None] - w)
    # Where nothing but the far side of W counts, the tail is that of the sum of all corners.
    tail = (-np.expm1(log_below)) @ density
    sure = math.log(classes - 1) + log_ndtr(-z)
    with np.errstate(divide="ignore"):
        found = np.where(z > 6.0, sure, np.minimum(np.log(tail), sure))
    return CubicSpline(z, np.minimum(found, 0.0))


@lru_cache(maxsize=256)
def nodes(t: float, jacobian: float, classes: int, replaced: bool) -> tuple[Any, Any]:
    """Some epsilon and the profile there; at the last the sum of corners, which ``most_order`` knows."""

    def sums(epsilon: float) -> float:
        return terms(classes, replaced) * hockey_stick(max(0.0, epsilon - jacobian), t)

    edges = profiles.nodes(sums, jacobian + 7 * t)
    deltas = np.array([profile(e, t, jacobian, classes, replaced) for e in edges.tolist()])
    deltas[-1] = sums(float(edges[-1]))
    return edges, deltas


def renyi(order: float, t: float, jacobian: float, classes: int, replaced: bool) -> float:
    """The Rényi divergence of an order: J + ln(1 + C (m - 1)) / (a - 1), C corners, m the moment of one.

    Proof: e^(s max) - 1 <= the sum over corners of e^(s x_j) - 1 for x_j >= 0, and the moment m of one corner is that of
    ``objective_profile.renyi``; the corners of one row, where one is replaced, have half the length.
    """
    count = terms(classes, replaced)
    top = math.log(count) + profiles.renyi(order, t, 0.0, True) * (order - 1)
    return jacobian + (top + math.log1p((1 - count) * math.exp(-top))) / (order - 1)
