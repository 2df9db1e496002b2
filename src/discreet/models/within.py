"""Newton's method over a convex set, with a certificate, ended by projected gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.models.bounded_descent import descend
from discreet.models.certificate import Held, Minimum
from discreet.models.design import Floats
from discreet.models.objective import Objective
from discreet.models.quadratic import factors, solve
from discreet.models.regions import Region

_ROUNDS = 60
_CLOSER = 2.0**-14  # the model is minimised this much closer than asked for: it costs no pass
_STEPS = 4000  # of the inner method, which does not look at rows


def minimise_within(objective: Objective, region: Region, linear: Floats, ridge: float, tolerance: float) -> Minimum:
    """The point of the set where F = (sum of losses) + b . theta + (ridge / 2) |theta|^2 is least, to the tolerance.

    ``residual`` r promises that the point lies within r / ridge of the true minimiser. A narrow corner is rounded more and
    more sharply: each minimiser is a good start for the next. Doubles come first, extended precision where they certify too
    little, and ``descend`` where Newton's method does not get there.
    """
    held = Held(objective, region, linear, ridge)
    found = _newton(held, tolerance, _start(held, tolerance))
    if found.residual > tolerance:
        finer = _newton(replace(held, fine=True), tolerance, np.asarray(found.theta, np.longdouble))
        found = min(found, finer, key=lambda m: m.residual)
    return found if found.residual <= tolerance else descend(held, tolerance, found)


def _start(held: Held, tolerance: float) -> Floats:
    easier = held.objective.loss.smoother()
    if easier is None:
        return held.region.project(np.zeros(held.objective.width))
    other = replace(held, objective=held.objective.with_loss(easier))
    loose = max(tolerance, held.ridge * 1e-3)
    return _newton(other, loose, _start(other, loose)).theta


def _newton(held: Held, tolerance: float, theta: Any) -> Minimum:
    """A quadratic model of F is minimised over the set; a step that does not help ends where F stops falling along it."""
    best, last, damp = Minimum(theta, np.inf), np.inf, 0.0
    totals, slope = held.at(theta, "second")
    for _ in range(_ROUNDS):
        assert totals.hessian is not None
        hessian = totals.hessian + (held.ridge + damp) * np.eye(len(theta))
        after, pulled = _model(held, theta, np.asarray(slope, theta.dtype), hessian, tolerance * _CLOSER)
        step = after - theta
        totals, slope = held.at(after, "second")
        found = held.certify(after, totals, slope, pulled)
        best = min(best, found, key=lambda m: m.residual)
        if best.residual <= tolerance * _CLOSER or last <= tolerance:
            break  # one round more than needed, which gives some digits more
        share = 1.0
        if found.residual > 0.5 * last and float(slope @ step) > 0.0:
            share = _shortened(held, theta, step)
            after = theta + share * step
            totals, slope = held.at(after, "second")
        # Where the model holds for a short way only the next one bends more, so that its step is as short.
        damp = damp / 16.0 if share > 0.5 else 0.25 * (held.ridge + damp) / share
        theta, last = after, min(last, found.residual)
    return best


def _model(held: Held, theta: Any, gradient: Any, hessian: Floats, tolerance: float) -> tuple[Any, Any]:
    """The minimiser over the set of a quadratic model, and a normal there with how much it changes with the point.

    A step that stays in the set is Newton's. A ball and a box know their own; of other sets only the projection is known,
    and accelerated projected gradients find it.
    """
    region = held.region
    free = theta - solve(factors(hessian.copy()), gradient)
    there = region.project(free)
    if float(np.linalg.norm(there - free)) <= region.wrong(there):
        return there, (np.zeros_like(there), 0.0)
    exact = region.lowest(theta, gradient, hessian)
    if exact is not None:
        return exact, (np.zeros_like(exact), 0.0)
    values = np.linalg.eigvalsh(hessian)
    steep, flat = float(values[-1]), max(float(values[0]), held.ridge)
    momentum = (steep**0.5 - flat**0.5) / (steep**0.5 + flat**0.5)
    point, ahead = theta, theta
    tolerance = max(tolerance, 2.0**-52 * float(np.linalg.norm(gradient)))  # doubles give no more
    for _ in range(_STEPS):
        goal = ahead - (gradient + hessian @ (ahead - theta)) / steep
        fresh = region.project(goal)
        normal = steep * (goal - fresh)
        if float(np.linalg.norm(gradient + hessian @ (fresh - theta) + normal)) <= tolerance:
            break
        moved = fresh - point
        ahead = fresh + (momentum if float((ahead - fresh) @ moved) <= 0.0 else 0.0) * moved
        point = fresh
    return fresh, (normal, steep)


def _shortened(held: Held, theta: Any, step: Any) -> float:
    """Where along the step F stops falling: its slope there is monotone, so bisection finds the sign change.

    Slopes and not values are compared: near the minimum values differ by less than their rounding.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float(held.at(theta + middle * step, "first")[1] @ step) < 0.0:
            low = middle
        else:
            high = middle
        if low > 0.0 and high - low <= 0.02 * high:
            break
    return low or high
