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
from discreet.models.within import minimise_within


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

    @property
    def height(self) -> Fraction:
        return self.of.height

    def smoother(self) -> Loss | None:
        easier = self.of.smoother()
        return None if easier is None else Declared(easier, self.most_slope, self.most_curvature)

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
            extended=self.loss.extended,
            reach=self.region.reach(self.design.width),
            height=self.design.most_weight * self.loss.height,
            least=self.region.least(self.design.width),
            off=Fraction(self.region.unit(self.design.width)),
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
    minimiser, on either side. The guarantee is for tables of up to ``most_rows`` rows, as for ``ObjectivePerturbation``.
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
        # The other half of the tolerance is for rounding the minimiser to doubles.
        return objective.minimise(np.zeros(self.problem.design.width), float(self.ridge), float(self._residual) / 2)


class WithinRegion(Objective):
    """A sum of losses that is minimised over a convex set."""

    def __init__(
        self, design: Design, loss: Loss, region: Region, source: Any = None, rows: Sequence[Rows] | None = None
    ) -> None:
        super().__init__(design, loss, source, rows)
        self.region = region

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser in the set, to within tolerance / ridge and the rounding to doubles."""
        return np.asarray(minimise_within(self, self.region, linear, ridge, tolerance).theta, np.float64)
