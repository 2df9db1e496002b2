"""Minimising a perturbed objective, with a certificate: Newton's method on passes, L-BFGS where features are many.

What is minimised is F(theta) = (sum of losses) + b . theta + (ridge / 2) |theta|^2, which is ridge-strongly convex.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.models.design import Floats
from discreet.models.regions import EVERYWHERE
from discreet.models.solve.certificate import Minimum, PerturbedObjective
from discreet.models.solve.line_search import sign_change
from discreet.models.solve.objective import Objective, Totals, Want
from discreet.models.solve.projected_gradient import descend
from discreet.models.solve.quadratic import factors as factors_of
from discreet.models.solve.quadratic import solve

_FEW = 400  # up to this many features the Hessian is formed
_STEPS = 400
_PATIENCE = 60  # steps without progress after which a pass in doubles has nothing left to give
_THINNED, _EACH = 4000, 10  # rows, and rows for each coefficient, that a starting point is found on
_THINNER, _MORE = 16, 4  # times fewer rows than all, and times more than before, which bring the starting point closer
_GOOD = 0.15  # a Hessian is used again while steps with it shrink the gradient at least this much
_NARROW, _SMALL = 100, 1 << 18  # coefficients, and numbers in the rows, of which a Hessian costs next to nothing
_KEPT = 12  # of the last steps that say how the Hessian differs from the one that was factored
_REMEMBERED = 30  # of the last steps that stand for a Hessian
_CLOSER = 2.0**-10  # of the tolerance, where coming closer costs next to nothing
_FLATTER = 0.7  # of the slope along a step that may be left at its end


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
        if want == "rough" and totals.hessian is not None and not np.isfinite(totals.hessian).all():
            totals = self.objective.at(theta, "second", fine=self.fine)  # weights that single precision does not hold
        # A large linear term and the ridge all but cancel: in extended precision nothing is lost by that.
        pull = np.asarray(self.linear, np.longdouble) + np.longdouble(self.ridge) * np.asarray(theta, np.longdouble)
        return totals, np.asarray(self.factor * totals.gradient + pull, np.float64)

    def both(self, theta: Floats) -> tuple[float, Floats]:
        """The value and the gradient."""
        totals, gradient = self.at(theta, "both")
        return self.factor * totals.value + float(self.linear @ theta) + 0.5 * self.ridge * float(theta @ theta), gradient

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
    return descend(PerturbedObjective(objective, EVERYWHERE, linear, ridge), tolerance, found)


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
        found = _quasi_newton(tilted, theta, tolerance)
        if found.residual <= tolerance:
            return found
        theta = found.theta
    else:
        few_rows = max(_THINNED, _EACH * objective.width)
        more_rows = max(objective.size // _THINNER, _MORE * _EACH * objective.width)
        for most in (few_rows, more_rows) if more_rows * objective.width > _SMALL else (few_rows,):
            thinned = objective.thinned(most)
            if thinned is not None:
                few, factor = thinned
                # Few rows are wrong by more than this.
                rough = ridge * 1e-3 + 0.1 * factor * few.size**0.5
                theta = _newton(_Tilted(few, linear, ridge, factor), theta, rough, start=True).theta
    return _certified(tilted, theta, tolerance)


def _certified(tilted: _Tilted, theta: Floats, tolerance: float) -> Minimum:
    found = _newton(tilted, theta, tolerance)
    if found.residual > tolerance:
        # Scores so large, or sums so long, that doubles certify too little.
        found = min(found, _newton(replace(tilted, fine=True), found.theta, tolerance), key=lambda m: m.residual)
    return found


def _newton(tilted: _Tilted, theta: Floats, tolerance: float, start: bool = False) -> Minimum:
    """Newton's method. The Hessian is formed again when steps with the last one stop shrinking the gradient enough.

    Between, differences of gradients correct it (Broyden, Fletcher, Goldfarb and Shanno). It is formed in single precision
    first, and in doubles where a step with that fails: the end of a step is certified, not the step. Of few numbers it is
    formed at every step, in doubles, and steps go on until they gain nothing more, but where only a ``start`` is wanted.
    """
    many = tilted.objective.width > _FEW
    if tilted.fine:
        # Rounded to doubles, a point could miss the tolerance by itself.
        theta = np.asarray(theta, np.longdouble)
    small = tilted.objective.width <= _NARROW and 0 < tilted.objective.size * tilted.objective.width <= _SMALL
    bent: Want = "second" if small else "rough"
    factors: Floats | None = None
    changes: list[tuple[Floats, Floats]] = []
    totals, gradient = tilted.at(theta, "first" if many or tilted.fine else bent)
    best = Minimum(theta, tilted.residual(totals, gradient, theta))
    if tilted.fine and not many and best.residual > tolerance:
        totals, gradient = tilted.at(theta, bent)
    since = 0
    for _ in range(_STEPS):
        enough = best.residual <= tolerance
        if (enough and (start or not small or since > 0)) or since > _PATIENCE:
            return best
        hidden = tilted.objective.error(totals, theta, tilted.fine)
        if not tilted.fine and hidden > tolerance and float(np.linalg.norm(gradient)) < hidden:
            return best  # what is left cannot be told from the rounding of doubles
        if totals.hessian is not None:
            factors, changes = factors_of(tilted.hessian(totals)), []
        step = _conjugate(tilted, theta, gradient) if factors is None else _corrected(factors, changes, gradient)
        before, last = float(np.linalg.norm(gradient)), gradient
        after = theta - step
        totals, gradient = tilted.at(after, bent if small else "first")
        now = float(np.linalg.norm(gradient))
        if now > 0.5 * before:
            bent = "second"
            after = theta - _line_search(tilted, theta, step) * step
            totals, gradient = tilted.at(after, "first" if many else bent)
        elif now > max(tolerance, _GOOD * before) and not many and not small:
            totals, gradient = tilted.at(after, bent)
        elif not many and not small and before > 1e4 * hidden:  # else the difference is one of roundings
            changes = [*changes[1 - _KEPT :], (-step, gradient - last)]
        theta = after
        found = Minimum(theta, tilted.residual(totals, gradient, theta))
        since = 0 if found.residual < 0.99 * best.residual else since + 1
        best = min(best, found, key=lambda m: m.residual)
    return best


def _corrected(factors: Floats | float, changes: list[tuple[Floats, Floats]], gradient: Floats) -> Floats:
    """The step of a factored Hessian, or of a number in its place, corrected by moves and what the gradient changed along
    them.
    """
    left, sizes = gradient.copy(), []
    for move, change in reversed(changes):
        sizes.append(float(move @ left) / float(move @ change))
        left -= sizes[-1] * change
    step = left / factors if isinstance(factors, float) else solve(factors, left)
    for (move, change), size in zip(changes, reversed(sizes), strict=True):
        step += (size - float(change @ step) / float(move @ change)) * move
    return step


def _line_search(tilted: _Tilted, theta: Floats, step: Floats) -> float:
    """Where along the step the objective stops falling; it may be further than the step."""

    def slope(size: float) -> float:
        return -float(tilted.at(theta - size * step, "first")[1] @ step)

    low, high = 0.0, 1.0
    while slope(high) < 0.0 and high < 2.0**40:
        low, high = high, 2.0 * high
    return sign_change(slope, low, high, 0.05)


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


def _quasi_newton(tilted: _Tilted, theta: Floats, tolerance: float) -> Minimum:
    """L-BFGS (Nocedal 1980), of gradients alone: of a convex function a step is good where the slope along it has shrunk.

    Of few numbers it goes further than it has to.
    """
    totals, gradient = tilted.at(theta, "first")
    best = Minimum(theta, tilted.residual(totals, gradient, theta))
    steep = tilted.ridge + float(tilted.objective.loss.curvature) * totals.weights / len(theta)
    changes: list[tuple[Floats, Floats]] = []
    since, few = 0, tilted.objective.size * len(theta) <= _SMALL
    aim = tolerance * (_CLOSER if few else 1.0)
    while (best.residual > tolerance or float(np.linalg.norm(gradient)) > aim) and since <= _PATIENCE:
        step = _corrected(steep, changes, gradient)
        after = theta - step
        totals, there = tilted.at(after, "first")
        if abs(float(there @ step)) > _FLATTER * float(gradient @ step):
            after = theta - _line_search(tilted, theta, step) * step
            totals, there = tilted.at(after, "first")
        move, change = after - theta, there - gradient
        bend = float(move @ change)
        if bend <= 0.0:
            break  # what is left are roundings
        steep, changes = float(change @ change) / bend, [*changes[1 - _REMEMBERED :], (move, change)]
        theta, gradient = after, there
        found = Minimum(theta, tilted.residual(totals, gradient, theta))
        since = 0 if found.residual < 0.99 * best.residual else since + 1
        best = min(best, found, key=lambda m: m.residual)
    return best
