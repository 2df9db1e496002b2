"""The end of every fit: projected gradients for a public number of steps, which always come close enough.

Newton's method nearly always is there long before. Where it is not, whatever the rows, this is; so no answer depends on
whether a computation went well.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.models.certificate import Held, Minimum
from discreet.models.design import Design
from discreet.models.losses import Loss

_LOOK = 64  # a certificate costs a pass: it is looked for where steps are short, and every so often


def most_steps(design: Design, loss: Loss, ridge: float, linear: float, tolerance: float) -> tuple[int, int]:
    """How many accelerated steps and then plain ones are made at most, from public numbers and the length of b alone.

    Proof: with k = (most_rows * weight * curvature + ridge) / ridge and the first point within (most_rows * weight * slope
    + |b|) / ridge of the minimiser, k ln(4 (most_rows * weight * slope + |b|) / tolerance) plain steps leave a quarter of
    the tolerance over the ridge (``descend``). Of exact accelerated steps 2 sqrt(k) times as many logarithms would do
    (Nesterov 2004, theorem 2.2.3); nothing rests on these.
    """
    whole = design.most_rows * float(design.most_weight)
    k = whole * float(loss.curvature) / ridge * (1 + 1e-6) + 1.0
    logs = math.log(max(2.0, 4.0 * (whole * float(loss.slope) + linear) / tolerance))
    return math.ceil(2.0 * math.sqrt(k) * (logs + math.log(k))), math.ceil(k * logs)


def descend(held: Held, tolerance: float, near: Minimum) -> Minimum:
    """A point within tolerance / ridge of the minimiser over the set, certified or after the last of ``most_steps``.

    Proof: a plain step is t' = P(t - (F'(t) + e) / L) + a with L at least the largest eigenvalue of the Hessian, e the error
    of the pass and a those of the projection and of t. t - F'(t) / L brings two points closer by the factor 1 - ridge / L,
    a projection no two further apart, and the minimiser stays where it is under an exact step. So the distance D to it
    becomes at most (1 - ridge / L) D + |e| / L + |a|, which ends below (|e| + L |a|) / ridge plus (1 - ridge / L)^steps of
    what it began with. ``certifiable`` makes the tolerance such that |e| + L |a| is at most half of it, for every table of
    up to ``most_rows`` rows, and ``most_steps`` leaves at most a quarter for the rest. The first point is the one given,
    or the point of the set nearest to 0, whichever certificate is smaller: D is at most |F'| / ridge there. Longer tables,
    for which nothing is claimed, end at once where rounding alone passes half of the tolerance.
    """
    held = replace(held, fine=True)
    objective, region = held.objective, held.region
    linear = float(np.linalg.norm(held.linear))
    accelerated, plain = most_steps(objective.design, objective.loss, held.ridge, linear, tolerance)
    theta: Any = np.asarray(near.theta, np.longdouble)
    totals, _ = held.at(theta, "first")
    public = objective.design.most_rows * float(objective.design.most_weight * objective.loss.slope) + linear
    if near.residual > public:
        theta = np.asarray(region.project(np.zeros(objective.width, np.longdouble)), np.longdouble)
        totals, _ = held.at(theta, "first")
    if objective.error(totals, theta, True) > 0.5 * tolerance:
        return near
    steep = held.steep(totals)
    ratio = math.sqrt(held.ridge / steep)
    best, theta = _steps(held, tolerance, near, theta, steep, (1 - ratio) / (1 + ratio), accelerated)
    if best.residual > tolerance:
        best, theta = _steps(held, tolerance, best, theta, steep, 0.0, plain)
    return best if best.residual <= tolerance else Minimum(theta, tolerance)


def _steps(
    held: Held, tolerance: float, best: Minimum, theta: Any, steep: float, momentum: float, count: int
) -> tuple[Minimum, Any]:
    """Up to ``count`` projected steps, and what the best of those that were looked at has for a certificate."""
    ahead, pushed = theta, 0.0
    for step in range(count):
        _, slope = held.at(ahead, "first")
        goal = ahead - slope / steep
        fresh = held.region.project(goal)
        moved = fresh - theta
        if step % _LOOK == 0 or step == count - 1 or steep * float(np.linalg.norm(ahead - fresh)) <= tolerance:
            totals, there = held.at(fresh, "first")
            found = held.certify(fresh, totals, there, (steep * (goal - fresh), steep))
            best = min(best, found, key=lambda m: m.residual)
            if best.residual <= tolerance:
                break
        # Momentum that leads uphill is dropped (O'Donoghue and Candes 2015).
        pushed = momentum if float((ahead - fresh) @ moved) <= 0.0 else 0.0
        ahead, theta = fresh + pushed * moved, fresh
    return best, theta
