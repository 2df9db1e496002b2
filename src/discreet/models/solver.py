"""Minimising a perturbed objective, with a certificate: Newton's method on passes, L-BFGS where features are many.

What is minimised is F(theta) = (sum of losses) + b . theta + (ridge / 2) |theta|^2, which is ridge-strongly convex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.bounded_descent import descend
from discreet.models.certificate import Held, Minimum
from discreet.models.design import Floats
from discreet.models.objective import Objective, Totals, Want
from discreet.models.quadratic import factors as factors_of
from discreet.models.quadratic import solve
from discreet.models.regions import EVERYWHERE

_FEW = 400  # up to this many features the Hessian is formed
_STEPS = 400
_PATIENCE = 60  # steps without progress after which a pass in doubles has nothing left to give
_THINNED = 12_000  # rows that a starting point is found on
_GOOD = 0.1  # a Hessian is used again while steps with it shrink the gradient at least this much


@dataclass(frozen=True, eq=False)
class _Tilted:
    """The objective with its linear term and its ridge; ``factor`` multiplies the losses."""

    objective: Objective
    linear: Floats
    ridge: float
    factor: float = 1.0
    fine: bool = False  # passes in extended precision, where doubles certify too little

    def at(self, theta: Floats, want: Want) -> tuple[Totals, Floats]:
        totals = self.objective.at(theta, want, fine=self.fine)
        # A large linear term and the ridge all but cancel: in extended precision nothing is lost by that.
        pull = np.asarray(self.linear, np.longdouble) + np.longdouble(self.ridge) * np.asarray(theta, np.longdouble)
        return totals, np.asarray(self.factor * totals.gradient + pull, np.float64)

    def value(self, theta: Floats) -> float:
        totals = self.objective.at(theta, "value")
        return self.factor * totals.value + float(self.linear @ theta) + 0.5 * self.ridge * float(theta @ theta)

    def residual(self, totals: Totals, gradient: Floats, theta: Floats) -> float:
        """A bound on the norm of the true gradient.

        Proof: the error of the pass; the linear term and the ridge are doubles for rationals (half a unit of 2^-52 each),
        their sum is wrong by 4 units of extended precision at most, and the rounding of the gradient to doubles and of its
        norm is less than 1e-12 of it.
        """
        near = self.ridge * float(np.linalg.norm(theta)) + float(np.linalg.norm(self.linear))
        unit = 2.0**-52 + 4.0 * float(np.finfo(np.longdouble).eps)
        return float(np.linalg.norm(gradient)) * (1 + 1e-12) + self.objective.error(totals, theta, self.fine) + unit * near

    def hessian(self, totals: Totals) -> Floats:
        assert totals.hessian is not None
        made = self.factor * totals.hessian
        made[np.diag_indices_from(made)] += self.ridge
        return made


def minimise(objective: Objective, linear: Floats, ridge: float, tolerance: float) -> Minimum:
    """A point within tolerance / ridge of the minimiser, nearly always where the true gradient is at most the tolerance.

    Proof: F is ridge-strongly convex, so a point with |gradient F| <= t lies within t / ridge of the minimiser. Where
    Newton's method ends with a longer one, ``descend`` comes as close in a public number of steps.
    """
    found = _newton_from(objective, linear, ridge, tolerance)
    if found.residual <= tolerance:
        return found
    return descend(Held(objective, EVERYWHERE, linear, ridge), tolerance, found)


def _newton_from(objective: Objective, linear: Floats, ridge: float, tolerance: float) -> Minimum:
    """Newton's method from the best start that few rows, a rounder corner or L-BFGS give."""
    tilted = _Tilted(objective, linear, ridge)
    easier = objective.loss.smoother()
    theta = np.zeros(objective.width)
    if easier is not None:
        # A narrow corner is rounded more and more sharply: each minimiser is a good start for the next.
        theta = _newton_from(objective.with_loss(easier), linear, ridge, max(tolerance, ridge * 1e-3)).theta
        return _certified(tilted, theta, tolerance)
    if objective.width > _FEW:
        theta = _quasi_newton(tilted, theta, tolerance)
    else:
        thinned = objective.thinned(max(_THINNED, 20 * objective.width))
        if thinned is not None:
            few, factor = thinned
            theta = _newton(_Tilted(few, linear, ridge, factor), theta, ridge * 1e-3 + 1e-4 * factor).theta
    return _certified(tilted, theta, tolerance)


def _certified(tilted: _Tilted, theta: Floats, tolerance: float) -> Minimum:
    found = _newton(tilted, theta, tolerance)
    if found.residual > tolerance:
        # Scores so large, or sums so long, that doubles certify too little.
        found = min(found, _newton(replace(tilted, fine=True), found.theta, tolerance), key=lambda m: m.residual)
    return found


def _newton(tilted: _Tilted, theta: Floats, tolerance: float) -> Minimum:
    """Newton's method; the Hessian is formed again when steps with the last one stop shrinking the gradient enough."""
    many = tilted.objective.width > _FEW
    if tilted.fine:
        # Rounded to doubles, a point could miss the tolerance by itself.
        theta = np.asarray(theta, np.longdouble)
    cheap = tilted.objective.width <= 16 and not many  # a Hessian then costs no more than a gradient
    factors: Floats | None = None
    totals, gradient = tilted.at(theta, "first" if many or tilted.fine else "second")
    best = Minimum(theta, tilted.residual(totals, gradient, theta))
    if tilted.fine and not many and best.residual > tolerance:
        totals, gradient = tilted.at(theta, "second")
    since = 0
    for _ in range(_STEPS):
        if best.residual <= tolerance or since > _PATIENCE:
            return best
        hidden = 0.0 if tilted.fine else tilted.objective.error(totals, theta)
        if hidden > tolerance and float(np.linalg.norm(gradient)) < hidden:
            return best  # what is left cannot be told from the rounding of doubles
        if totals.hessian is not None:
            factors = factors_of(tilted.hessian(totals))
        step = _conjugate(tilted, theta, gradient) if factors is None else solve(factors, gradient)
        before = float(np.linalg.norm(gradient))
        after = theta - step
        totals, gradient = tilted.at(after, "second" if cheap else "first")
        now = float(np.linalg.norm(gradient))
        if now > 0.5 * before:
            after = theta - _line_search(tilted, theta, step) * step
            totals, gradient = tilted.at(after, "first" if many else "second")
        elif now > _GOOD * before and not cheap and not many:
            totals, gradient = tilted.at(after, "second")
        theta = after
        found = Minimum(theta, tilted.residual(totals, gradient, theta))
        since = 0 if found.residual < 0.99 * best.residual else since + 1
        best = min(best, found, key=lambda m: m.residual)
    return best


def _line_search(tilted: _Tilted, theta: Floats, step: Floats) -> float:
    """Where along the step the objective stops falling: its slope there is monotone, so bisection finds the sign change.

    Slopes and not values are compared: near the minimum values differ by less than their rounding.
    """

    def slope(size: float) -> float:
        return -float(tilted.at(theta - size * step, "first")[1] @ step)

    low, high = 0.0, 1.0
    while slope(high) < 0.0 and high < 2.0**40:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if slope(middle) < 0.0:
            low = middle
        else:
            high = middle
        if low > 0.0 and high - low <= 0.05 * high:
            break
    return low or high


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
