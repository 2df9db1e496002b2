"""Minimising a perturbed objective, with a certificate: Newton's method on passes, L-BFGS where features are many.

What is minimised is F(theta) = (sum of losses) + b . theta + (ridge / 2) |theta|^2, which is ridge-strongly convex.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.models.design import Floats
from discreet.models.objective import Objective, Totals, Want

_FEW = 400  # up to this many features the Hessian is formed
_STEPS = 100
_THINNED = 12_000  # rows that a starting point is found on
_GOOD = 0.1  # a Hessian is used again while steps with it shrink the gradient at least this much


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point, and a bound on the norm of the true gradient there: ``residual`` counts the error of doubles too."""

    theta: Floats
    residual: float


@dataclass(frozen=True, eq=False)
class _Tilted:
    """The objective with its linear term and its ridge; ``factor`` multiplies the losses."""

    objective: Objective
    linear: Floats
    ridge: float
    factor: float = 1.0

    def at(self, theta: Floats, want: Want) -> tuple[Totals, Floats]:
        totals = self.objective.at(theta, want)
        return totals, self.factor * totals.gradient + self.linear + self.ridge * theta

    def value(self, theta: Floats) -> float:
        totals = self.objective.at(theta, "value")
        return self.factor * totals.value + float(self.linear @ theta) + 0.5 * self.ridge * float(theta @ theta)

    def residual(self, totals: Totals, gradient: Floats, theta: Floats) -> float:
        """A bound on the norm of the true gradient.

        Proof: the error of the pass, and eight roundings of vectors that are no longer than those added here.
        """
        near = self.ridge * float(np.linalg.norm(theta)) + float(np.linalg.norm(self.linear)) + totals.slopes
        return float(np.linalg.norm(gradient)) * (1 + 1e-12) + self.objective.error(totals, theta) + 2.0**-49 * near

    def hessian(self, totals: Totals) -> Floats:
        assert totals.hessian is not None
        made = self.factor * totals.hessian
        made[np.diag_indices_from(made)] += self.ridge
        return made


def minimise(objective: Objective, linear: Floats, ridge: float, tolerance: float) -> Minimum:
    """A point where the true gradient of F has a norm of at most ``tolerance``, or the best that was found.

    Proof: F is ridge-strongly convex, so a point with |gradient F| <= t lies within t / ridge of the minimiser.
    """
    tilted = _Tilted(objective, linear, ridge)
    theta = np.zeros(objective.width)
    if objective.width > _FEW:
        theta = _quasi_newton(tilted, theta, tolerance)
    else:
        thinned = objective.thinned(max(_THINNED, 20 * objective.width))
        if thinned is not None:
            few, factor = thinned
            theta = _newton(_Tilted(few, linear, ridge, factor), theta, ridge * 1e-3 + 1e-4 * factor).theta
    return _newton(tilted, theta, tolerance)


def _newton(tilted: _Tilted, theta: Floats, tolerance: float) -> Minimum:
    """Newton's method; the Hessian is formed again when steps with the last one stop shrinking the gradient enough."""
    many = tilted.objective.width > _FEW
    cheap = tilted.objective.width <= 16 and not many  # a Hessian then costs no more than a gradient
    factors: Floats | None = None
    want: Want = "first" if many else "second"
    totals, gradient = tilted.at(theta, want)
    best = Minimum(theta, tilted.residual(totals, gradient, theta))
    for _ in range(_STEPS):
        if best.residual <= tolerance:
            return best
        if totals.hessian is not None:
            factors = np.asarray(np.linalg.cholesky(tilted.hessian(totals)), np.float64)
        step = _conjugate(tilted, theta, gradient) if factors is None else _solve(factors, gradient)
        size, before = 1.0, float(np.linalg.norm(gradient))
        after = theta - step
        totals, gradient = tilted.at(after, "second" if cheap else "first")
        now = float(np.linalg.norm(gradient))
        if now > 0.5 * before:
            stalled = now < 2.0 * before and best.residual < 100.0 * tilted.objective.error(totals, after)
            if not stalled:
                size = _line_search(tilted, theta, step, before)
                after = theta - size * step
            totals, gradient = tilted.at(after, "first" if many else "second")
        elif now > _GOOD * before and not cheap and not many:
            totals, gradient = tilted.at(after, "second")
        theta = after
        found = Minimum(theta, tilted.residual(totals, gradient, theta))
        best = min(best, found, key=lambda m: m.residual)
    return best


def _solve(factors: Floats, gradient: Floats) -> Floats:
    from scipy.linalg import cho_solve

    found: Floats = cho_solve((factors, True), gradient, check_finite=False)
    return found


def _line_search(tilted: _Tilted, theta: Floats, step: Floats, slope: float) -> float:
    """Halve a step until the value falls by a share of what its slope promises (Armijo)."""
    start = tilted.value(theta)
    _, gradient = tilted.at(theta, "first")
    promise = float(gradient @ step)
    size = 1.0
    for _ in range(60):
        if tilted.value(theta - size * step) <= start - 1e-4 * size * promise:
            return size
        size /= 2.0
    return size


def _conjugate(tilted: _Tilted, theta: Floats, gradient: Floats) -> Floats:
    """Newton's step by conjugate gradients, without a Hessian: differences of gradients stand for its products.

    They need not be accurate: the certificate is computed where the step leads, and a poor step is shortened.
    """
    step = np.zeros_like(theta)
    left = gradient.copy()
    along = left.copy()
    square = float(left @ left)
    for _ in range(40):
        small = 1e-6 / max(1e-300, float(np.linalg.norm(along)))
        _, moved = tilted.at(theta + small * along, "first")
        product = (moved - gradient) / small
        bend = float(along @ product)
        if bend <= 0.0:
            break
        size = square / bend
        step += size * along
        left = left - size * product
        fresh = float(left @ left)
        if fresh <= 1e-4 * float(gradient @ gradient):
            break
        along = left + (fresh / square) * along
        square = fresh
    return step if step.any() else gradient / (tilted.ridge + float(tilted.objective.loss.curvature))


def _quasi_newton(tilted: _Tilted, theta: Floats, tolerance: float) -> Floats:
    """A starting point by L-BFGS."""
    from scipy.optimize import minimize

    def both(point: Floats) -> tuple[float, Floats]:
        return tilted.value(point), tilted.at(point, "first")[1]

    found = minimize(
        both, theta, jac=True, method="L-BFGS-B", options={"maxcor": 30, "maxiter": 500, "ftol": 0.0, "gtol": tolerance / 2}
    )
    near: Floats = np.asarray(found.x)
    return near
