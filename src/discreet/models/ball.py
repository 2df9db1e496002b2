"""Least squares in a ball: the problem of private linear regression, and its solution by eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance, Smoothness
from discreet.core.query import Query, Relation, queries
from discreet.models.bounded_descent import descend
from discreet.models.certificate import Held, Minimum
from discreet.models.design import Design, Floats, Rows
from discreet.models.losses import Loss, Squared
from discreet.models.objective import Objective
from discreet.models.regions import Ball

_ROUNDS = (False, False, True, True)  # later ones remove the rounding of the first; the last in extended precision
_STEPS = 100
_CLOSE = 2.0**-48  # what is this close to the sphere is put on it
_UNIT = 2.0**-52 + 8.0 * float(np.finfo(np.longdouble).eps)  # linear term and ridge are doubles for rationals


@queries("ball_problem")
@dataclass(frozen=True)
class BallProblem(Query):
    """The sum over rows of weight * (theta . x - y)^2 / 2 with |theta| <= 1, |x| <= 1 and |y| <= 1.

    ``distance``: with k rows a person and weights up to w, the gradient moves by 2 k w under add/remove. Under replace and
    both it moves by 9/4 k w in one dimension and by (3 sqrt(3) / 2) k w in more. A row bends it by w.

    Proof: a row's gradient g = (theta . x - y) x is at most 2 long. Under replace |g - g'| is convex in theta, so theta
    is a unit vector. (x, y) and (-x, -y) have the same g, so g = s x with 0 <= s <= 1 + theta . x: in one dimension a
    number in [-1/4, 2]; in more, a point of the cardioid r <= 1 + cos(angle to theta), turned about theta. Two points are
    farthest apart in one plane with theta, on opposite sides. There the cardioid is the union of the circles through 0
    around c = cos(b) (cos b, sin b), so that it reaches max_b cos b + (cos(2b - a) + cos a) / 2 in the direction a. Its
    width in that direction is max over b, b' of cos b + cos b' - sin(b + b' - a) sin(b - b') <= 2 cos h + sin 2h with h =
    |b - b'| / 2, which is at most 3 sqrt(3) / 2, at h = 30 degrees. A lighter or missing row has a shorter g in the same
    set, which holds 0 and every multiple below 1 of its members. ``pull``: row by row they move by 2 + 2, not by 3
    sqrt(3) / 2.
    """

    design: Design

    def __post_init__(self) -> None:
        if isinstance(self.design, dict):
            object.__setattr__(self, "design", Design(**self.design))

    @property
    def loss(self) -> Loss:
        """The squared error; a residual is at most 2."""
        return Squared(Fraction(2))

    def distance(self, relation: Relation) -> Distance:
        whole = self.design.most_weight * self.design.rows
        line, added = self.design.width == 1, relation == "add_remove"
        one = Fraction(2) if added else Fraction(9, 4) if line else numbers.square_root_up(Fraction(27, 4))
        pull = Fraction(1) if added or line else 4 / one
        bent = Smoothness(
            self.design.most_weight,
            self.design.rows,
            not added,
            False,
            False,
            pull,
            self.design.width,
            self.design.most_rows,
            reach=Fraction(1),
        )
        return Distance(whole * one * self.design.width, whole * one, whole * one, None, bent)

    def evaluate(self, source: Any) -> LeastSquares:
        return LeastSquares(self.design, self.loss, source)

    def blank(self, rows: int) -> LeastSquares:
        return LeastSquares(self.design, self.loss, rows=[])


class LeastSquares(Objective):
    """The sum of squared errors, minimised over the unit ball."""

    def __init__(self, design: Design, loss: Loss, source: Any = None, rows: Sequence[Rows] | None = None) -> None:
        super().__init__(design, loss, source, rows)

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser in the ball, to within tolerance / ridge and the rounding to doubles."""
        found = minimise_in_ball(self, linear, ridge, tolerance)
        if found.residual > tolerance:
            found = descend(Held(self, Ball(), linear, ridge), tolerance, found)
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
        theta = axes @ _within(bends + ridge, goal)
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


def _within(bends: Floats, goal: Floats) -> Floats:
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
