"""Any convex loss of a score, minimised over any convex set: the general form of private empirical risk minimisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.cost import Distance
from discreet.core.query import Query, Relation, queries
from discreet.core.source import Source
from discreet.mechanisms.objective_perturbation import TOLERANCE
from discreet.models.design import Design, DesignRows, Floats
from discreet.models.losses import Loss
from discreet.models.queries.ball_problem import BallProblem
from discreet.models.queries.empirical_risk import RidgeMinimiser, check_loss, gradient_distance
from discreet.models.regions import Ball, Region
from discreet.models.solve.newton_in_region import minimise_within
from discreet.models.solve.objective import Objective


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
        held = isinstance(self.region, Ball) and self.loss.slope >= self.region.radius + 1
        check_loss(self.design, self.loss, held)

    @property
    def width(self) -> int:
        """The number of coefficients."""
        return self.design.width

    def distance(self, relation: Relation) -> Distance:
        region, width = self.region, self.design.width
        facts = {"reach": region.reach(width), "least": region.least(width), "off": Fraction(region.unit(width))}
        return gradient_distance(self.design, self.loss, relation, free_jacobian=False, **facts)

    def evaluate(self, source: Source) -> ConstrainedObjective:
        return ConstrainedObjective(self.design, self.loss, self.region, source)

    def blank(self, rows: int) -> ConstrainedObjective:
        return ConstrainedObjective(self.design, self.loss, self.region, rows=[])


@queries("constrained_minimiser")
@dataclass(frozen=True)
class ConstrainedMinimiser(RidgeMinimiser):
    """The minimiser of a ``ConstrainedProblem`` or a ``BallProblem`` with a ridge: for output perturbation.

    ``distance``: (gradient's distance + 2 tolerance) / ridge, in L2.

    Proof: with M the gradient (with the ridge) of one table's objective, t its minimiser over the set and t' a
    neighbour's, M(t) . (t' - t) >= 0 and M'(t') . (t - t') >= 0; added, ridge |t - t'|^2 <= (M - M')(t') . (t - t') <=
    (distance) |t - t'|, because M is ridge-strongly monotone. A point with residual r lies within r / ridge of the
    minimiser, on either side. The guarantee is for tables of up to ``most_rows`` rows, as for ``ObjectivePerturbation``.
    """

    problem: ConstrainedProblem | BallProblem
    ridge: Fraction
    tolerance: Fraction = TOLERANCE

    def __post_init__(self) -> None:
        self._check_numbers()


class ConstrainedObjective(Objective):
    """A sum of losses that is minimised over a convex set."""

    def __init__(
        self,
        design: Design,
        loss: Loss,
        region: Region,
        source: Source | None = None,
        rows: Sequence[DesignRows] | None = None,
    ) -> None:
        super().__init__(design, loss, source, rows)
        self.region = region

    def minimise(self, linear: Floats, ridge: float, tolerance: float) -> Floats:
        """The minimiser in the set, to within tolerance / ridge and the rounding to doubles."""
        return np.asarray(minimise_within(self, self.region, linear, ridge, tolerance).theta, np.float64)
