"""Noise inside an objective: a random linear term, a ridge, and the minimiser is what leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Self

import numpy as np

from discreet.core import numbers
from discreet.core.cost import ORDERS, Cost, Distance
from discreet.core.mechanism import Mechanism, Sensitivity, VectorNoise, mechanisms
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.random import Random, chosen
from discreet.core.smoothness import Smoothness
from discreet.errors import InvalidRequest
from discreet.mechanisms import objective_profile as profiles
from discreet.mechanisms import softmax_profile as softmax
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.sampling.uniform import LARGEST_BITS
from discreet.mechanisms.spherical_laplace import SphericalLaplace

Noise = Literal["spherical_laplace", "gaussian"]
# Of the gradient, per unit of the most that a person can move it, where so little can be certified. The noise that hides
# what is missing is judged by the ridge alone while rows make the objective far steeper, so it has to be tiny.
TOLERANCE = Fraction(1, 1 << 25)
_EXTENDED = float(np.finfo(np.longdouble).eps)
_CLOSE = Fraction(1, 1 << 40)
_STEEPEST = 2.0**100  # of the objective over its ridge: more would need more steps than there are numbers for
_LEAST = Fraction(1, 1 << 30)  # of the noise that hides a missed minimum: less would need a grid that large values leave
SETTLED = Fraction(1, 200)  # the share of what is spent that pays for the minimiser not being exact
_MOST_RATIO = 2.0**24  # of scale over distance: more noise than this is no answer
# The linear term lies on a grid at most this many powers of two below its scale times its dimension: what can be drawn.
_FINE = LARGEST_BITS - 1
_LIFTED = Fraction(11, 10)  # a ridge is raised by up to this where that makes the Jacobian of the logistic loss free


@mechanisms("objective_perturbation")
@dataclass(frozen=True, init=False)
class ObjectivePerturbation(Mechanism):
    """The minimiser of (sum of losses) + b . theta + (``ridge`` / 2) |theta|^2, b of density exp(-|b|/``scale``) or normal.

    ``cost``: with J = rows ln(1 + curvature / ridge), spherical Laplace noise costs epsilon = (gradient's distance) /
    scale + J, and no J for the logistic loss where ridge >= scale; normal noise costs what ``objective_profile``
    says. ``settle`` is added to it, for the minimiser is only found to a ``tolerance``.

    Proof: (Chaudhuri, Monteleoni and Sarwate 2011, with one Jacobian instead of two.) theta fixes b = -gradient, which
    two neighbours move by at most their distance; the density of theta is that of b times the determinant of the Hessian.
    Of two neighbours' determinants the ratio is at most that of adding ``rows`` rows to a Hessian of at least ridge: each
    adds a matrix of rank one and size at most ``curvature``, which multiplies the determinant by at most 1 + curvature /
    ridge. For the logistic loss a row with slope s in [0, 1] has curvature s (1 - s): the loss is at most the sum over
    rows of s / scale + ln(1 + s (1 - s) / ridge), concave in s, whose derivative at s = 1 is 1 / scale - 1 / ridge >= 0
    where ridge >= scale, so that it is largest at s = 1, where the Jacobian is 0.

    A softmax of K scores has gradients (p - e_y) x', at most sqrt(2) long, all of them across the equal scores, and a row
    adds (diag p - p p') times x x', with K - 1 eigenvalues whose sum is at most 1 - 1 / K: by concavity of the logarithm
    J = rows (K - 1) ln(1 + 1 / (K ridge)). With q = |p - e_y|, sqrt(2) - q >= (2 - q^2) / (2 sqrt(2)), and 2 - q^2 is at
    least tr(diag p - p p') >= ridge ln det(I + (diag p - p p') / ridge), so that sqrt(2) / scale covers q / scale and the
    Jacobian where ridge >= 2 sqrt(2) scale: then no J. Weights in [0, W] multiply both sides.

    An objective may be minimised over a closed convex set C with projection P (Kifer, Smith and Thakurta 2012, without
    their limit). Its minimiser t has a normal n = -(gradient + b) at t, and z = t + n fixes both, t = P(z). So z -> b =
    -(gradient at P(z)) - (z - P(z)) is one-to-one and Lipschitz both ways; t is post-processing of z. Neighbours move b
    by their distance at P(z), a point of C. With Q the derivative of P, symmetric and between 0 and 1 almost everywhere,
    and H + ridge the Hessian at P(z), the determinant is that of (I - Q) + ridge Q + Q^(1/2) H Q^(1/2): a row adds
    Q^(1/2) h h' Q^(1/2), which multiplies it by at most 1 + curvature times the largest q / (1 - q + ridge q), which is 1
    / ridge, at q = 1. All bounds above hold with these in place of the others. A loss with corners in its slope is a
    limit of smooth ones with the same bounds.

    The minimiser found differs from the ideal one by at most r = (tolerance + rounding of b) / ridge, and given the
    ideal one and the data this difference is fixed. So what leaves is the ideal minimiser, and after it, adaptively,
    the difference plus spherical Laplace noise of scale 2 r / settle: two releases, the second of sensitivity 2 r and
    price ``settle``; their sum is post-processing. This holds of every currency, because each composes adaptively. The
    tolerance is such that of every table of up to ``most_rows`` rows (a public number, a million or four times those
    expected) the minimiser is found to it, in a public number of steps; the guarantee is for these. A law with a smaller
    tolerance is refused.
    """

    noise: Noise
    scale: Fraction
    ridge: Fraction
    settle: Fraction
    tolerance: Fraction
    claim: Price | None

    def __init__(
        self,
        noise: Noise,
        scale: Number,
        ridge: Number,
        settle: Number,
        tolerance: Number = TOLERANCE,
        claim: Price | None = None,
    ) -> None:
        if noise not in ("spherical_laplace", "gaussian"):
            raise InvalidRequest(f"noise must be 'spherical_laplace' or 'gaussian', got {noise!r}")
        given = {"scale": scale, "ridge": ridge, "settle": settle, "tolerance": tolerance}
        object.__setattr__(self, "noise", noise)
        for name, value in given.items():
            object.__setattr__(self, name, numbers.positive(value, name))
        object.__setattr__(self, "claim", claim)

    @classmethod
    def costing(
        cls,
        distance: Distance,
        *,
        ridge: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Self:
        """The law that costs epsilon (spherical Laplace), or (epsilon, delta) or rho (normal), at a ridge of at least this.

        A pure epsilon takes more ridge where J would leave less than half of it, and up to a tenth more where that makes J
        free; a normal law refuses and says which would do.
        """
        problem = _smoothness(distance)
        claim, least = Price(epsilon, delta, rho), numbers.positive(ridge, "ridge")
        limits: tuple[float | None, float | None, float | None]
        if claim.rho is None and not claim.delta:
            assert claim.epsilon is not None
            settle = claim.epsilon * SETTLED
            left = claim.epsilon - settle
            scale = distance.l2 / left
            if problem.logistic and least * _LIFTED >= _free(problem) * scale:
                whole = max(least, _free(problem) * scale)
            else:
                whole = max(least, ridge_for(problem, left / 2))
                scale = distance.l2 / (left - _jacobian(problem, whole))
            return cls("spherical_laplace", scale, whole, settle, _tolerance(distance, scale, whole))
        if claim.rho is None:
            assert claim.epsilon is not None
            settle, left = claim.epsilon * SETTLED, claim.epsilon * (1 - SETTLED)
            limits = float(left), float(claim.delta), None
            wanted = ridge_for(problem, left / 8)
        else:
            # epsilon tanh(epsilon / 2) <= epsilon**2 / 2: the share of rho that spherical Laplace noise takes.
            settle = numbers.square_root_up(2 * claim.rho * SETTLED) * Fraction(999, 1000)
            left = claim.rho - _rho_of(settle)
            limits = None, None, float(left)
            wanted = ridge_for(problem, numbers.square_root_up(left) / 4)
        ratio = _ratio_for(problem, least, *limits)
        if ratio is None and problem.classes > 1 and problem.rows > 1:
            raise InvalidRequest(
                f"normal noise in the objective of a softmax is for one row a person, got {problem.rows}; give epsilon "
                "alone, or use method='output'"
            )
        if ratio is None and _ratio_for(problem, wanted * (1 << 64), *limits) is None:
            raise InvalidRequest(
                f"{_said(claim)} is too little for noise in an objective, whatever its ridge; ask for more, or use "
                "method='output'"
            )
        if ratio is None:
            while _ratio_for(problem, wanted, *limits) is None:  # the last one that is tried was found to do
                wanted *= 2
            raise InvalidRequest(
                f"a ridge of {float(least):.4g} leaves nothing of {_said(claim)} for noise in the objective, because "
                f"a row may bend it by {float(problem.curvature):.4g}; a ridge of {float(wanted):.4g} would do, or use "
                "method='output'"
            )
        scale = ratio * distance.l2
        return cls("gaussian", scale, least, settle, _tolerance(distance, scale, least), claim)

    def cost(self, sensitivity: Sensitivity = 1) -> Cost:
        distance = Distance.of(sensitivity)
        problem = _smoothness(distance)
        least = certifiable(problem, distance.l2, self.ridge, _longest(self.scale, problem.width))
        if self.tolerance < least * (1 - _CLOSE):
            raise InvalidRequest(
                f"tolerance must be at least {float(least):.3g}, to which the minimiser of every table of up to "
                f"{problem.most_rows} rows is found, got {float(self.tolerance):.3g}; leave it to `costing`"
            )
        settle = Cost.pure(self.settle)
        jacobian = _jacobian(problem, self.ridge)
        if self.noise == "spherical_laplace":
            free = problem.logistic and self.ridge >= _free(problem) * self.scale
            return Cost.pure(distance.l2 / self.scale + (0 if free else jacobian)) + settle
        t = float(numbers.round_up(float(distance.l2 / self.scale)))
        j = float(numbers.round_up(float(jacobian)))
        edges, deltas = _profile_nodes(problem, t, j)
        curve = tuple(_renyi(a, problem, t, j, edges, deltas) for a in ORDERS)
        rho = numbers.round_up(_rho(problem, t, j))
        epsilon, delta = None, Fraction(0)
        claim = self.claim
        if claim is not None and claim.epsilon is not None and claim.epsilon > self.settle:
            left = claim.epsilon - self.settle
            if _profile(problem, float(left) * (1 - 1e-12), t * (1 + 1e-9), j) <= float(claim.delta):
                epsilon, delta = left, claim.delta
        if claim is not None and claim.rho is not None and rho + _rho_of(self.settle) <= claim.rho:
            rho = max(rho, claim.rho - _rho_of(self.settle))
        of_noise = Cost.renyi(lambda a: curve[ORDERS.index(a)], epsilon=epsilon, delta=delta, rho=rho)
        return of_noise + settle

    def release(self, exact: Any, *, seed: int | Random | None = None) -> Any:
        """The released minimiser of ``exact``, an objective with ``width`` and ``minimise``."""
        random = chosen(seed)
        zeros = np.zeros(exact.width)
        fine = self._fine(exact.width)
        law = Gaussian(self.scale, fine) if self.noise == "gaussian" else SphericalLaplace(self.scale, fine)
        linear = np.asarray(law.release(zeros, seed=random), np.float64)
        # The other half of the tolerance is for rounding the minimiser to doubles.
        minimiser = exact.minimise(linear, float(self.ridge), float(self.tolerance) / 2)
        return self.settling(exact.width).release(minimiser, seed=random)

    def _fine(self, width: int) -> Fraction:
        """The grid of a linear term of ``width`` coordinates: its rounding, which ``settling`` hides, adds half to the
        tolerance, or more where the noise is so large that no finer grid can be drawn on.

        A finer one would take far longer to draw, because more of its rounding is undecided in doubles.
        """
        size = numbers.floor_log2(self.scale * width)
        return Fraction(2) ** max(size - _FINE, numbers.floor_log2(self.tolerance**2 / width) // 2)

    @property
    def vector_noise(self) -> VectorNoise:
        """That of the gradient; the minimiser has it through the inverse of the Hessian."""
        return VectorNoise(float(self.scale), spherical=self.noise == "spherical_laplace")

    def settling(self, width: int) -> SphericalLaplace:
        """The noise that hides by how far the minimiser was missed."""
        missed = self.tolerance + self._fine(width) * numbers.square_root_up(Fraction(width)) / 2
        scale = max(2 * missed / self.ridge / self.settle, _LEAST)
        return SphericalLaplace(scale, Fraction(2) ** (numbers.floor_log2(scale) - 6))

    def check(self, width: int) -> None:
        """Refuse noise so large that doubles cannot hold a linear term of ``width`` coordinates to the tolerance."""
        most = self.tolerance * (1 << 49) / (width + 32)  # a linear term is longer than four times this once in e^100
        if self.scale > most:
            raise InvalidRequest(
                f"noise of scale {float(self.scale):.3g} in an objective of {width} coefficients is more than doubles can "
                f"hold to the tolerance; spend about {float(self.scale / most):.3g} times as much, or use method='output'"
            )

    def log_prob(self, released: Any, exact: Any) -> float:
        """The log-density of the ideal minimiser at ``released``: that of b there, times the determinant of the Hessian.

        The noise that settles the tolerance is left out: it is some thousand times narrower.
        """
        theta = np.asarray(released, np.float64)
        gradient, hessian = exact.derivatives(theta)
        linear = -(gradient + float(self.ridge) * theta)
        _, volume = np.linalg.slogdet(hessian + float(self.ridge) * np.eye(exact.width))
        d, s = exact.width, float(self.scale)
        if self.noise == "gaussian":
            return float(volume - d / 2 * math.log(2 * math.pi) - d * math.log(s) - linear @ linear / (2 * s * s))
        surface = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        return float(volume - np.linalg.norm(linear) / s - surface - math.lgamma(d) - d * math.log(s))


def _tolerance(distance: Distance, scale: Fraction, ridge: Fraction) -> Fraction:
    """How closely to minimise; where the noise is huge no more closely than doubles hold it, which it hides by far."""
    problem = _smoothness(distance)
    least = certifiable(problem, distance.l2, ridge, _longest(scale, problem.width))
    return max(TOLERANCE * distance.l2, scale / (1 << 36), least)


def _longest(scale: Fraction, width: int) -> Fraction:
    """A length that the linear term passes once in e^100."""
    return scale * (2 * width + 200)


def certifiable(problem: Smoothness, slope: Fraction, ridge: Fraction, linear: Fraction) -> Fraction:
    """A tolerance to which the minimiser of every table of up to ``most_rows`` rows is found, with half of it to spare.

    ``slope`` bounds that of a row, ``linear`` the length of the linear term.

    Proof: with p the shortest point of the set (0 where there is none), the minimiser t is no worse than p and p . (t - p)
    >= 0, so ridge |t - p|^2 / 2 <= rows * (loss at p less its least) + linear |t - p|, and that is at most height + slope
    |p|. So |t - p| is at most 2 linear / ridge + sqrt(2 rows (height + slope |p|) / ridge), and |t| is at most ``far``: that
    and |p|, or what holds it. With u the rounding of extended precision, a sum of at most 2^10 additions, what they lose
    being put back, is wrong by u times that times rows * slope; a score by u (width + 2) far and t itself by u far, which
    moves a slope by curvature times that; computing a slope by 16 u slope. A projection is wrong by ``off`` (1 + far) and
    the points of steps by u far, which counts as often as the objective is steep, rows * curvature + ridge, twice in a
    certificate (``Held.certify``). Linear term and ridge are rounded to doubles, and in the end t is. A loss that has no
    extended precision is computed in doubles. All this is at most a quarter of what is returned.
    """
    n, w, c, g = float(problem.most_rows), problem.width, float(problem.curvature), float(slope)
    big, b, p = float(ridge), float(linear), float(problem.least)
    far = p + 2 * b / big + math.sqrt(2 * n * (max(g, float(problem.height)) + g * p) / big)
    if problem.reach is not None:
        far = min(far, float(problem.reach))
    unit = max(_EXTENDED, 0.0 if problem.extended else 2.0**-52)
    passes = n * ((1024 + 16) * g + c * ((w + 3) * far + 4)) + big * far
    steps = 2 * (n * c + big) * (float(problem.off) * (1 + far) + _EXTENDED * far)
    ends = 2.0**-52 * (big * far + b)
    most = 4 * (unit * passes + steps + ends)
    if not (math.isfinite(most) and n * c / big < _STEEPEST):
        raise InvalidRequest(
            f"an objective of up to {problem.most_rows} rows that each bend it by up to {c:.3g}, with a ridge of {big:.3g}, "
            "is more than doubles can hold; take a larger ridge or smaller weights"
        )
    return numbers.round_up(most)


def ridge_for(problem: Smoothness, jacobian: Fraction) -> Fraction:
    """The least ridge with J at most ``jacobian``: curvature / (e^(jacobian / rows) - 1)."""
    bent, times = _bends(problem)
    steep = math.expm1(min(float(jacobian) / (problem.rows * times), 500.0))
    if not steep > float(bent) * 1e-300:
        raise InvalidRequest(
            f"{float(jacobian):.3g} of epsilon is too little for noise in an objective that a row may bend by "
            f"{float(problem.curvature):.3g}; ask for a larger epsilon, or use method='output'"
        )
    return numbers.round_up(float(bent) / steep) * Fraction(10**9 + 1, 10**9)


def _smoothness(distance: Distance) -> Smoothness:
    if distance.problem is None:
        raise InvalidRequest("this law perturbs an objective; give the distance of a problem, or add noise to the value")
    return distance.problem


def _jacobian(problem: Smoothness, ridge: Fraction) -> Fraction:
    bent, times = _bends(problem)
    return numbers.round_up(math.log1p(float(numbers.round_up(float(bent / ridge))))) * problem.rows * times


def _bends(problem: Smoothness) -> tuple[Fraction, int]:
    """What a row adds to the Hessian at most, spread evenly over so many directions."""
    if problem.classes == 1:
        return problem.curvature, 1
    return 2 * problem.curvature / problem.classes, problem.classes - 1


def _free(problem: Smoothness) -> Fraction:
    """How many times the scale a ridge has to be for the Jacobian to cost nothing."""
    return Fraction(1) if problem.classes == 1 else numbers.square_root_up(Fraction(8))


def _rho_of(epsilon: Fraction) -> Fraction:
    rho = Cost.pure(epsilon).rho
    assert rho is not None
    return rho


def _said(claim: Price) -> str:
    return f"epsilon={float(claim.epsilon):.4g}" if claim.epsilon is not None else f"rho={float(claim.rho or 0):.4g}"


def _profile(problem: Smoothness, epsilon: float, t: float, jacobian: float) -> float:
    """delta(epsilon) of normal noise, t for the whole move of the gradient."""
    if problem.classes > 1:
        return softmax.profile(epsilon, t, jacobian, problem.classes, problem.replaced) if problem.rows == 1 else 1.0
    if problem.rows > 1:
        return min(1.0, *map(_tail, ORDERS, [epsilon] * len(ORDERS), _all_closed(problem, t, jacobian)))
    if not problem.replaced:
        one = profiles.one_row if problem.one_sided else profiles.either_way
        return one(epsilon, t, jacobian)
    plane = profiles.in_a_plane(epsilon, t, jacobian)
    return min(plane, profiles.replaced(epsilon, t / 2, jacobian)) if problem.one_sided else plane


def _tail(order: float, epsilon: float, divergence: float) -> float:
    """The delta at ``epsilon`` that a Rényi divergence implies (Canonne, Kamath and Steinke 2020, proposition 12)."""
    log_delta = (order - 1) * (divergence - epsilon + math.log1p(-1 / order)) - math.log(order)
    return math.exp(min(0.0, log_delta))


@lru_cache(maxsize=256)
def _profile_nodes(problem: Smoothness, t: float, jacobian: float) -> tuple[Any, Any]:
    """Some epsilon and the profile there. At the last it is a form of which ``most_order`` knows how fast it falls."""
    if problem.classes > 1:
        return softmax.nodes(t, jacobian, problem.classes, problem.replaced)
    if problem.rows == 1 and problem.replaced:
        edges = profiles.nodes(lambda e: profiles.in_a_plane(e, t, jacobian), jacobian + 7 * t)
        plane = np.array([profiles.in_a_plane(e, t, jacobian) for e in edges.tolist()])
        if not problem.one_sided:
            return edges, plane
        both = np.minimum(plane, profiles.replaced_at(edges, t / 2, jacobian))
        both[-1] = plane[-1]
        return edges, both
    edges = profiles.nodes(lambda e: _profile(problem, e, t, jacobian), jacobian + 7 * t)
    return edges, np.array([_profile(problem, e, t, jacobian) for e in edges.tolist()])


def _closed(order: float, problem: Smoothness, t: float, jacobian: float) -> float:
    """A Rényi divergence in closed form: row by row, and where one row is replaced also in the plane of both."""
    if problem.classes > 1:
        return softmax.renyi(order, t, jacobian, problem.classes, problem.replaced)
    best = profiles.renyi(order, t * float(problem.pull), jacobian, problem.one_sided)
    if problem.rows == 1 and problem.pull > 1:
        best = min(best, profiles.renyi_in_a_plane(order, t, jacobian))
    return best


@lru_cache(maxsize=256)
def _all_closed(problem: Smoothness, t: float, jacobian: float) -> tuple[float, ...]:
    return tuple(_closed(a, problem, t, jacobian) for a in ORDERS)


def _renyi(order: float, problem: Smoothness, t: float, jacobian: float, edges: Any, deltas: Any) -> float:
    best = _closed(order, problem, t, jacobian)
    most = profiles.most_order(float(edges[-1]), t, jacobian)
    if problem.rows == 1 and order <= most and (order - 1) * float(edges[-1]) < 600:
        best = min(best, math.log1p(order * (order - 1) * profiles.integral(edges, deltas, order)) / (order - 1))
    return best


@lru_cache(maxsize=1024)
def _rho(problem: Smoothness, t: float, jacobian: float) -> float:
    def closed(order: float) -> float:
        return _closed(order, problem, t, jacobian)

    edges, deltas = _profile_nodes(problem, t, jacobian)
    most = profiles.most_order(float(edges[-1]), t, jacobian) if problem.rows == 1 else 1.0
    terms = softmax.terms(problem.classes, problem.replaced)
    rho = profiles.concentrated(edges, deltas, closed, most, t * float(problem.pull), jacobian, terms)
    if problem.classes > 1 and problem.replaced:
        # Two steps of removing and adding: zCDP of a group of two (Bun and Steinke 2016, proposition 27).
        rho = min(rho, 4 * _rho(replace(problem, replaced=False), t / 2, jacobian))
    return rho


@lru_cache(maxsize=256)
def _ratio_for(
    problem: Smoothness, ridge: Fraction, epsilon: float | None, delta: float | None, rho: float | None
) -> Fraction | None:
    """The least scale over gradient distance that keeps the claim, by bisection; None where no scale does.

    Proof: profile and curve fall as the scale grows; the scale that is returned was tested, with a margin of 1e-9.
    """
    if problem.classes > 1 and problem.rows > 1:
        return None  # what normal noise costs is known of one row a person only
    jacobian = float(numbers.round_up(float(_jacobian(problem, ridge))))

    def fits(ratio: float) -> bool:
        t = (1 + 2e-9) / ratio
        if rho is not None:
            return _rho(problem, t, jacobian) <= rho * (1 - 1e-12)
        assert epsilon is not None
        assert delta is not None
        return _profile(problem, epsilon * (1 - 1e-11), t, jacobian) <= delta

    high = 1.0
    if not fits(_MOST_RATIO):
        return None
    while not fits(high):
        high *= 2.0
    while high > 2.0**-20 and fits(high / 2):
        high /= 2.0
    low = high / 2
    while high - low > 2e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return Fraction(high)
