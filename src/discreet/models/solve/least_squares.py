"""Least squares over the unit ball, solved by eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.source import Source
from discreet.models.design import Design, DesignRows, Floats
from discreet.models.losses import Loss
from discreet.models.regions import Ball
from discreet.models.solve.certificate import Minimum, PerturbedObjective
from discreet.models.solve.objective import Objective
from discreet.models.solve.projected_gradient import descend

_ROUNDS = (False, False, True, True)  # later ones remove the rounding of the first; the last in extended precision
_STEPS = 100
_CLOSE = 2.0**-48  # what is this close to the sphere is put on it
_UNIT = 2.0**-52 + 8.0 * float(np.finfo(np.longdouble).eps)  # linear term and ridge are doubles for rationals


class LeastSquares(Objective):
    """The sum of squared errors, minimised over the unit ball."""

    def __init__(
        self, design: Design, loss: Loss, source: Source | None = None, rows: Sequence[DesignRows] | None = None
    ) -> None:
        super().__init__(design, loss, source, rows)

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser in the ball, to within tolerance / ridge and the rounding to doubles."""
        found = minimise_in_ball(self, linear, ridge, tolerance)
        if found.residual > tolerance:
            found = descend(PerturbedObjective(self, Ball(), linear, ridge), tolerance, found)
        return np.asarray(found.theta, np.float64)


def minimise_in_ball(objective: Objective, linear: Floats, ridge: float, tolerance: float) -> Minimum:
    """The point of the unit ball where F = (squared errors) + b . theta + (ridge / 2) |theta|^2 is least.

    ``residual`` r promises that the point lies within r / ridge of the true minimiser. The Hessian H is the same
    everywhere: one pass and its eigenvalues give (H + m)^-1 (...) for every m >= 0, and the secular equation |theta(m)| =
    1 the multiplier m (More and Sorensen 1983); a second pass certifies the result, or corrects it.

    Proof: a point t of the ball with F'(t) + m t = e, where m >= 0 and |t| = 1 or m = 0, minimises F - e . theta over the
    ball, and minimisers of a ridge-strongly convex function over a convex set move by at most |e| / ridge when it is
    tilted by e. On the sphere t is what was found divided by its true length, which is away by ``off``: F' and m t change
    by at most that times (sum of weights + ridge + m), and ridge * ``off`` is added for what was found.
    """
    theta = np.zeros(objective.width)
    totals = objective.at(theta, "second")
    assert totals.hessian is not None
    bends, axes = np.linalg.eigh(totals.hessian)
    bends = np.maximum(bends, 0.0)
    gradient = np.asarray(totals.gradient + linear, np.float64)
    best = Minimum(theta, np.inf)
    for fine in _ROUNDS:
        # In the directions of the eigenvectors: (bends + ridge + m) theta = (bends + ridge) last - gradient.
        goal = (bends + ridge) * (axes.T @ theta) - axes.T @ gradient
        theta = axes @ _solution_in_ball(bends + ridge, goal)
        length = float(np.linalg.norm(theta))
        outside = length >= 1.0 - _CLOSE
        theta = theta / length if outside else theta
        totals = objective.at(theta, "first", fine=fine)
        # Linear term, ridge and multiplier may be large and all but cancel: in extended precision nothing is lost by that.
        point = np.asarray(theta, np.longdouble)
        slope = totals.gradient + np.asarray(linear, np.longdouble) + np.longdouble(ridge) * point
        multiplier = max(0.0, -float(slope @ point)) if outside else 0.0
        off = float(abs(np.sqrt(point @ point) - 1)) + 2.0**-58 if outside else 0.0
        left = np.asarray(slope + np.longdouble(multiplier) * point, np.float64)
        residual = float(np.linalg.norm(left)) * (1 + 1e-12) + objective.error(totals, theta, fine)
        residual += _UNIT * (float(np.linalg.norm(linear)) + ridge + multiplier)
        residual += off * (totals.weights + 2 * ridge + multiplier)
        gradient = np.asarray(slope, np.float64)
        best = min(best, Minimum(theta, residual), key=lambda m: m.residual)
        if best.residual <= tolerance:
            break
    return best


def _solution_in_ball(bends: Floats, goal: Floats) -> Floats:
    """goal / (bends + m) with the least m >= 0 that leaves it no longer than 1.

    1 / |goal / (bends + m)| is concave and grows in m, so Newton's method from the left stays on the left.
    """
    m = 0.0
    for _ in range(_STEPS):
        point = goal / (bends + m)
        length = float(np.linalg.norm(point))
        if length <= 1.0:
            break
        step = (length - 1.0) * length**2 / float((point**2 / (bends + m)).sum())
        if m + step == m:
            break
        m += step
    return goal / (bends + m)
