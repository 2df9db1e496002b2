"""Any convex loss of a score, minimised over any convex set: the general form of private empirical risk minimisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance, Smoothness
from discreet.core.numbers import Number
from discreet.core.query import Query, Relation, queries
from discreet.mechanisms.objective_perturbation import TOLERANCE, certifiable
from discreet.models.design import Design, Floats, Rows
from discreet.models.losses import Loss, losses
from discreet.models.objective import Objective
from discreet.models.problem import check_bounded
from discreet.models.regions import Ball, Region, regions
from discreet.models.solver import Minimum

_ROUNDS = 60
_CLOSER = 2.0**-14  # the model is minimised this much closer than asked for: it costs no pass
_STEPS = 20_000  # of the inner method, which does not look at rows
_UNIT = 2.0**-52 + 8.0 * float(np.finfo(np.longdouble).eps)  # linear term and ridge are doubles for rationals


@losses("declared")
@dataclass(frozen=True)
class Declared(Loss):
    """A loss whose derivatives are declared to be smaller on the set that coefficients are held to than anywhere.

    Proof: a score theta . x with theta in the set is where the declaration holds; beyond it the first derivative is cut
    to it, which leaves the loss convex.
    """

    of: Loss
    most_slope: Fraction
    most_curvature: Fraction

    def __post_init__(self) -> None:
        if isinstance(self.of, dict):
            object.__setattr__(self, "of", losses.read(self.of))
        for word in ("most_slope", "most_curvature"):
            object.__setattr__(self, word, numbers.positive(getattr(self, word), word))

    @property
    def described(self) -> bool:
        """Whether a document holds all of it."""
        return getattr(self.of, "described", True) is True

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        return self.of.one_sided

    @property
    def classifies(self) -> bool:  # type: ignore[override]
        return self.of.classifies

    @property
    def extended(self) -> bool:  # type: ignore[override]
        return self.of.extended

    @property
    def slope(self) -> Fraction:
        return self.most_slope

    @property
    def curvature(self) -> Fraction:
        return self.most_curvature

    def value(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return self.of.value(score, target, xp)

    def first(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.clip(self.of.first(score, target, xp), -float(self.most_slope), float(self.most_slope))

    def second(self, score: Any, target: Any, xp: ModuleType = np) -> Any:
        return xp.clip(self.of.second(score, target, xp), 0.0, float(self.most_curvature))

    def to_dict(self) -> dict[str, Any]:
        slope, curvature = numbers.write(self.most_slope), numbers.write(self.most_curvature)
        return {"name": "declared", "of": self.of.to_dict(), "most_slope": slope, "most_curvature": curvature}


def declared(loss: Loss, zeta: Number | None, curvature: Number | None) -> Loss:
    """The loss with what is declared of it on a set, where anything is."""
    if zeta is None and curvature is None:
        return loss
    slope = loss.slope if zeta is None else numbers.positive(zeta, "zeta")
    return Declared(loss, slope, loss.curvature if curvature is None else numbers.positive(curvature, "curvature"))


@queries("constrained_problem")
@dataclass(frozen=True)
class ConstrainedProblem(Query):
    """The sum over rows of weight * loss(theta . x, y) with theta in a convex set, for objective perturbation.

    ``distance`` as for ``Problem``: rows * weight * slope under add/remove, twice that under replace and both; a row
    bends it by weight * curvature. Slope and curvature need to hold for theta in the set only.

    Proof: that of ``Problem`` at every theta of the set; ``ObjectivePerturbation`` looks at no other.
    """

    design: Design
    loss: Loss
    region: Region

    def __post_init__(self) -> None:
        if isinstance(self.design, dict):
            object.__setattr__(self, "design", Design(**self.design))
        if isinstance(self.loss, dict):
            object.__setattr__(self, "loss", losses.read(self.loss))
        if isinstance(self.region, dict):
            object.__setattr__(self, "region", regions.read(self.region))
        held = isinstance(self.region, Ball) and self.loss.slope >= self.region.radius + 1
        if not held:
            check_bounded(self.loss)

    def distance(self, relation: Relation) -> Distance:
        twice = 1 if relation == "add_remove" else 2
        move = twice * self.design.rows * self.design.most_weight * self.loss.slope
        bend = self.design.most_weight * self.loss.curvature
        bent = Smoothness(
            bend,
            self.design.rows,
            twice == 2,
            self.loss.one_sided,
            False,
            width=self.design.width,
            most_rows=self.design.most_rows,
            extended=False,  # points of the set, and their projections, are doubles
            reach=self.region.radius if isinstance(self.region, Ball) else None,
        )
        return Distance(move * self.design.width, move, move, None, bent)

    def evaluate(self, source: Any) -> WithinRegion:
        return WithinRegion(self.design, self.loss, self.region, source)

    def blank(self, rows: int) -> WithinRegion:
        return WithinRegion(self.design, self.loss, self.region, rows=[])


@queries("constrained_minimiser")
@dataclass(frozen=True)
class ConstrainedMinimiser(Query):
    """The minimiser of a ``ConstrainedProblem`` or a ``BallProblem`` with a ridge: for output perturbation.

    ``distance``: (gradient's distance + 2 tolerance) / ridge, in L2.

    Proof: with M the gradient (with the ridge) of one table's objective, t its minimiser over the set and t' a
    neighbour's, M(t) . (t' - t) >= 0 and M'(t') . (t - t') >= 0; added, ridge |t - t'|^2 <= (M - M')(t') . (t - t') <=
    (distance) |t - t'|, because M is ridge-strongly monotone. A point with residual r lies within r / ridge of the
    minimiser, on either side. A table with so many rows that doubles cannot certify the tolerance is answered from the
    public start, 0.
    """

    problem: Any
    ridge: Fraction
    tolerance: Fraction = TOLERANCE

    def __post_init__(self) -> None:
        if isinstance(self.problem, dict):
            object.__setattr__(self, "problem", queries.read(self.problem))
        object.__setattr__(self, "ridge", numbers.positive(self.ridge, "ridge"))
        object.__setattr__(self, "tolerance", numbers.positive(self.tolerance, "tolerance"))

    def distance(self, relation: Relation) -> Distance:
        far = (self.problem.distance(relation).l2 + 2 * self._residual) / self.ridge
        return Distance(far * numbers.square_root_up(Fraction(self.problem.design.width)), far, far)

    @property
    def _residual(self) -> Fraction:
        distance: Distance = self.problem.distance("add_remove")
        assert distance.problem is not None
        return max(self.tolerance * distance.l2, certifiable(distance.problem, distance.l2, self.ridge, Fraction(0)))

    def evaluate(self, source: Any) -> Floats:
        return self._of(self.problem.evaluate(source))

    def blank(self, rows: int) -> Floats:
        return self._of(self.problem.blank(rows))

    def _of(self, objective: Objective) -> Floats:
        found = objective.minimise(np.zeros(self.problem.design.width), float(self.ridge), float(self._residual) / 2)
        return objective.start if found is None else found


class WithinRegion(Objective):
    """A sum of losses that is minimised over a convex set."""

    def __init__(
        self, design: Design, loss: Loss, region: Region, source: Any = None, rows: Sequence[Rows] | None = None
    ) -> None:
        super().__init__(design, loss, source, rows)
        self.region = region

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats | None:
        """The minimiser in the set, certified; None where doubles cannot certify it."""
        found = minimise_within(self, self.region, linear, ridge, tolerance)
        if found.residual > tolerance:
            # Scores so large, or sums so long, that doubles certify too little.
            finer = minimise_within(self, self.region, linear, ridge, tolerance, found.theta)
            found = min(found, finer, key=lambda m: m.residual)
        return found.theta if found.residual <= tolerance else None

    @property
    def start(self) -> Floats:
        return self.region.project(np.zeros(self.width))


def minimise_within(
    objective: Objective, region: Region, linear: Floats, ridge: float, tolerance: float, near: Floats | None = None
) -> Minimum:
    """The point of the set where F = (sum of losses) + b . theta + (ridge / 2) |theta|^2 is least.

    ``residual`` r promises that the point lies within r / ridge of the true minimiser. Newton's method: a quadratic model
    of F is minimised over the set by accelerated projected gradients, which look at no rows, and a step that does not
    help is shortened. From a point that is ``near`` it goes on in extended precision.

    Proof: the last inner step is t = P(u), so n = L (u - t) is normal to the set at t, and t minimises F - e . theta over
    the set with e = F'(t) + n. Minimisers of a ridge-strongly convex function over a convex set move by at most |e| /
    ridge when it is tilted by e. A projection that is wrong by a changes F' and n by at most (curvature * weights + ridge
    + L) a, and what was found by a.
    """
    fine = near is not None
    theta = region.project(np.zeros(objective.width)) if near is None else near
    best, last = Minimum(theta, np.inf), np.inf
    totals = objective.at(theta, "second", fine)
    for _ in range(_ROUNDS):
        gradient = np.asarray(totals.gradient + linear + ridge * theta, np.float64)
        assert totals.hessian is not None
        hessian = totals.hessian + ridge * np.eye(objective.width)
        after, normal, steep, wrong = _model(region, theta, gradient, hessian, ridge, tolerance * _CLOSER)
        step = after - theta
        totals = objective.at(after, "second", fine)
        # Large terms all but cancel: in extended precision nothing is lost by that.
        pull = np.asarray(linear, np.longdouble) + np.longdouble(ridge) * np.asarray(after, np.longdouble)
        left = np.asarray(totals.gradient + pull + normal, np.float64)
        bend = float(objective.loss.curvature) * totals.weights + 2 * ridge + steep
        size = float(np.linalg.norm(linear)) + ridge * float(np.linalg.norm(after)) + float(np.linalg.norm(normal))
        residual = float(np.linalg.norm(left)) * (1 + 1e-12) + objective.error(totals, after, fine)
        residual += _UNIT * size + bend * wrong
        best = min(best, Minimum(after, residual), key=lambda m: m.residual)
        if best.residual <= tolerance * _CLOSER or last <= tolerance:
            break  # one round more than needed, which gives some digits more
        if residual > 0.5 * last:
            after = _shortened(objective, linear, ridge, theta, step, float(gradient @ step))
            totals = objective.at(after, "second", fine)
        theta, last = after, residual
    return best


def _model(
    region: Region, theta: Floats, gradient: Floats, hessian: Floats, ridge: float, tolerance: float
) -> tuple[Floats, Floats, float, float]:
    """The minimiser over the set of a quadratic model: the point, the normal there, the rate, the projection's error."""
    values = np.linalg.eigvalsh(hessian)
    steep, flat = float(values[-1]), max(float(values[0]), ridge)
    momentum = (steep**0.5 - flat**0.5) / (steep**0.5 + flat**0.5)
    point, ahead = theta, theta
    tolerance = max(tolerance, 2.0**-48 * (float(np.linalg.norm(gradient)) + steep))  # doubles give no more
    for _ in range(_STEPS):
        slope = gradient + hessian @ (ahead - theta)
        goal = ahead - slope / steep
        fresh = region.project(goal)
        normal = steep * (goal - fresh)
        if np.linalg.norm(gradient + hessian @ (fresh - theta) + normal) <= tolerance:
            break
        ahead = fresh + momentum * (fresh - point)
        point = fresh
    return fresh, normal, steep, region.accuracy * (1.0 + float(np.linalg.norm(fresh)))


def _shortened(objective: Objective, linear: Floats, ridge: float, theta: Floats, step: Floats, promise: float) -> Floats:
    """The step halved until F falls by a share of what its slope promises; the set is convex, so no halving leaves it."""

    def value(point: Floats) -> float:
        return objective.at(point, "value").value + float(linear @ point) + 0.5 * ridge * float(point @ point)

    start, size = value(theta), 1.0
    for _ in range(40):
        if value(theta + size * step) <= start + 1e-4 * size * promise:
            break
        size /= 2.0
    return theta + size * step
