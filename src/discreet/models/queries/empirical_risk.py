"""The questions that models ask of a table: an objective to be minimised under noise, or its minimiser."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.query import Query, Relation, queries
from discreet.core.smoothness import Smoothness
from discreet.core.source import Source
from discreet.errors import InvalidRequest
from discreet.mechanisms.objective_perturbation import TOLERANCE, certifiable
from discreet.models.design import Design, Floats
from discreet.models.losses import Loss
from discreet.models.solve.objective import Objective


def check_loss(design: Design, loss: Loss, held: bool = False) -> None:
    """Refuse a loss whose slope nothing bounds, unless coefficients are ``held`` where it is, or not at such targets."""
    target = design.target
    if target.ends[0] < loss.least_target:
        raise InvalidRequest(
            f"the slope of the loss {loss.name!r}, which the guarantee rests on, holds for targets from "
            f"{loss.least_target:g} to 1, got {target.column!r} from {target.ends[0]:g}; declare other bounds, or use "
            "Huber(reach)"
        )
    if not (held or loss.bounded):
        raise InvalidRequest(
            f"the loss {loss.name!r} has no bound on its slope, which the guarantee rests on; use Huber(reach), "
            "or LinearRegression, which bounds the coefficients"
        )


def gradient_distance(design: Design, loss: Loss, relation: Relation, *, free_jacobian: bool, **region: Any) -> Distance:
    """How far a person moves the gradient of a sum of losses, and what is known of its Hessian; ``region`` of the set."""
    twice = 1 if relation == "add_remove" else 2
    move = twice * design.rows * design.most_weight * loss.slope
    bent = Smoothness(
        design.most_weight * loss.curvature,
        design.rows,
        twice == 2,
        loss.one_sided,
        free_jacobian,
        width=design.width,
        most_rows=design.most_rows,
        extended=loss.extended,
        height=design.most_weight * loss.height,
        **region,
    )
    return Distance(move * design.width, move, move, None, bent)


@queries("problem")
@dataclass(frozen=True)
class Problem(Query):
    """The sum over rows of weight * loss(theta . x, y), as something that can be minimised: for objective perturbation.

    ``distance``: the gradient moves by rows * weight * slope under add/remove, twice that under replace and both; a row adds
    weight * curvature to the Hessian.

    Proof: a row has |x| <= 1 (``Design``), so its gradient weight * loss' * x has a norm of at most weight * slope, and its
    Hessian weight * loss'' * x x' is of rank one and size at most weight * curvature. A person has at most ``rows`` rows. A
    classification loss has loss' = -y a with a in [0, slope], along the fixed direction -y x: one-sided.
    """

    design: Design
    loss: Loss

    def __post_init__(self) -> None:
        check_loss(self.design, self.loss)

    @property
    def width(self) -> int:
        """The number of coefficients."""
        return self.design.width

    def distance(self, relation: Relation) -> Distance:
        return gradient_distance(self.design, self.loss, relation, free_jacobian=self.loss.free_jacobian)

    def evaluate(self, source: Source) -> Objective:
        return Objective(self.design, self.loss, source)

    def blank(self, rows: int) -> Objective:
        return Objective(self.design, self.loss, rows=[])


class RidgeMinimiser(Query):
    """The minimiser of a ``problem`` with a ridge; how far one person moves it is proved where it is asked for.

    ``distance``: (gradient's distance + 2 tolerance) / ridge, in L2.
    """

    problem: Any
    ridge: Fraction
    tolerance: Fraction

    def _check_numbers(self) -> None:
        object.__setattr__(self, "ridge", numbers.positive(self.ridge, "ridge"))
        object.__setattr__(self, "tolerance", numbers.positive(self.tolerance, "tolerance"))

    def distance(self, relation: Relation) -> Distance:
        move = self.problem.distance(relation).l2
        far = (move + 2 * self._residual) / self.ridge
        return Distance(far * numbers.square_root_up(Fraction(self.problem.width)), far, far)

    @property
    def _residual(self) -> Fraction:
        distance: Distance = self.problem.distance("add_remove")
        assert distance.problem is not None
        return max(self.tolerance * distance.l2, certifiable(distance.problem, distance.l2, self.ridge, Fraction(0)))

    def evaluate(self, source: Source) -> Floats:
        return self.minimised(self.problem.evaluate(source))

    def blank(self, rows: int) -> Floats:
        return self.minimised(self.problem.blank(rows))

    def minimised(self, objective: Objective) -> Floats:
        """What the query answers of an objective."""
        # The other half of the tolerance is for rounding the minimiser to doubles.
        return objective.minimise(np.zeros(self.problem.width), float(self.ridge), float(self._residual) / 2)


@queries("minimiser")
@dataclass(frozen=True)
class Minimiser(RidgeMinimiser):
    """The minimiser of a ``Problem`` with a ridge: for output perturbation.

    ``distance``: (gradient's distance + 2 tolerance) / ridge, in L2.

    Proof: the objective is ridge-strongly convex, so a move of its gradient by m moves the minimiser by at most m / ridge
    (Chaudhuri, Monteleoni and Sarwate 2011, lemma 7), and a point with a gradient of at most the tolerance lies within
    tolerance / ridge of it, on either side. The guarantee is for tables of up to ``most_rows`` rows, as for
    ``ObjectivePerturbation``.
    """

    design: Design
    loss: Loss
    ridge: Fraction
    tolerance: Fraction = TOLERANCE

    def __post_init__(self) -> None:
        self._check_numbers()

    @property
    def problem(self) -> Problem:
        """What is minimised."""
        return Problem(self.design, self.loss)
