"""Multinomial logistic regression as a question: an objective to be minimised under noise, or its minimiser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.cost import Distance
from discreet.core.query import Query, Relation, queries
from discreet.core.smoothness import Smoothness
from discreet.core.source import Source
from discreet.errors import InvalidRequest
from discreet.mechanisms.objective_perturbation import TOLERANCE
from discreet.models.design import Design, DesignRows, Floats
from discreet.models.queries.empirical_risk import RidgeMinimiser
from discreet.models.softmax import Softmax, pass_over
from discreet.models.solve.objective import FINE_UNIT, UNIT, Objective, Totals


@queries("softmax_problem")
@dataclass(frozen=True)
class SoftmaxProblem(Query):
    """The sum over rows of weight times the cross-entropy of a softmax of K scores, as something that can be minimised.

    With a ``margin`` it is the loss of a support vector machine of several classes (see ``discreet.models.softmax``).

    ``distance``: the gradient moves by rows * weight * sqrt(2) under add/remove, twice that under replace and both.

    Proof: a row has |x| <= 1 (``Design``), so its gradient weight (p - e_y) x' is at most weight sqrt(2) long
    (``Softmax``); B keeps lengths. A person has at most ``rows`` rows. What a row adds to the Hessian is said at
    ``ObjectivePerturbation``.
    """

    design: Design
    margin: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "margin", self.loss.margin)  # exact, and checked
        if len(self.design.target.classes) < 3:
            raise InvalidRequest("a softmax is of three classes or more; of two it is a LogisticRegression")

    @property
    def loss(self) -> Softmax:
        """The loss of a row."""
        return Softmax(max(2, len(self.design.target.classes)), self.margin)

    @property
    def width(self) -> int:
        """The number of coefficients that are minimised over."""
        return (self.loss.classes - 1) * self.design.width

    def distance(self, relation: Relation) -> Distance:
        twice, loss, weight = 1 if relation == "add_remove" else 2, self.loss, self.design.most_weight
        move = twice * self.design.rows * weight * loss.slope
        bent = Smoothness(
            weight * loss.curvature,
            self.design.rows,
            twice == 2,
            True,
            True,
            width=self.width + 2 * loss.classes + 2,  # what scores of several classes are wrong by beyond those of one
            most_rows=self.design.most_rows,
            height=weight * loss.height,
            classes=loss.classes,
        )
        return Distance(move * self.width, move, move, None, bent)

    def evaluate(self, source: Source) -> SoftmaxObjective:
        return SoftmaxObjective(self.design, self.loss, source)

    def blank(self, rows: int) -> SoftmaxObjective:
        return SoftmaxObjective(self.design, self.loss, rows=[])


@queries("softmax_minimiser")
@dataclass(frozen=True)
class SoftmaxMinimiser(RidgeMinimiser):
    """The minimiser of a ``SoftmaxProblem`` with a ridge: for output perturbation.

    ``distance``: (gradient's distance + 2 tolerance) / ridge, in L2.

    Proof: that of ``Minimiser``, which needs the gradient's distance and strong convexity alone.
    """

    design: Design
    ridge: Fraction
    tolerance: Fraction = TOLERANCE
    margin: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        self._check_numbers()
        object.__setattr__(self, "margin", self.problem.margin)

    @property
    def problem(self) -> SoftmaxProblem:
        """What is minimised."""
        return SoftmaxProblem(self.design, self.margin)


class SoftmaxObjective(Objective):
    """A sum of cross-entropies over rows."""

    over = staticmethod(pass_over)

    def __init__(
        self, design: Design, loss: Softmax, source: Source | None = None, rows: Sequence[DesignRows] | None = None
    ) -> None:
        super().__init__(design, loss, source, rows)
        self.width = (loss.classes - 1) * design.width

    def like(self, rows: Sequence[DesignRows]) -> SoftmaxObjective:
        return SoftmaxObjective(self.design, self.loss, rows=rows)

    def _terms(self, fine: bool) -> int:
        return self.width

    def error(self, totals: Totals, theta: Floats, fine: bool = False) -> float:
        """The most by which a pass got its gradient wrong, in L2.

        Proof: that of ``Objective`` with vectors of slopes in the place of slopes. Scores of K classes are sums of K - 1
        terms more, wrong by K u |theta| each, which moves the shares by as much in L1; a sum of K shares, and a product
        with B, are wrong by 2 K u each, of slopes that add up to at most 2. Taking the margin off one score is wrong by
        (|theta| + 4 margin) u, as the margin itself is rounded, and moves the shares by less. With up to 150 classes and a
        margin of up to 50 all constants together are below the 1040 sqrt(2) that ``certifiable`` counts.
        """
        unit, classes = FINE_UNIT if fine else UNIT, float(self.loss.classes)
        more = (classes + 1) * float(np.linalg.norm(np.asarray(theta, np.float64))) + 4.0 * classes * float(self.loss.slope)
        more += 4.0 * float(self.loss.margin)
        return super().error(totals, theta, fine) + unit * more * totals.weights
