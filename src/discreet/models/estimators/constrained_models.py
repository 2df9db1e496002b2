"""Private models with a loss of one's own and coefficients held to a convex set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.estimators.arrays import check_penalty, positive_ridge
from discreet.models.estimators.linear_classifier import FittedClassifier
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.estimators.private_model import Perturbed
from discreet.models.estimators.regressor import FittedRegression, PerturbedRegression
from discreet.models.losses import Loss, Squared
from discreet.models.own_losses import declared
from discreet.models.perturbation import objective_law, ridge_of
from discreet.models.protocol import Columns
from discreet.models.queries.constrained_problem import ConstrainedMinimiser, ConstrainedProblem
from discreet.models.regions import Ball, FreeLast, Region, region_of

METHODS = ("objective", "output")


@dataclass(kw_only=True, eq=False, repr=False)
class Constrained(Perturbed):
    """A model with a loss of one's own, minimised over a convex set of coefficients."""

    loss: Loss | None = None
    zeta: Number | None = None
    curvature: Number | None = None
    region: Any = None
    free_intercept: bool = False

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), lambda: self._loss]

    @property
    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise InvalidRequest(f"loss must be a loss of discreet.models.losses, got {self.loss!r}; make one with own_loss")
        loss = self.loss
        if isinstance(loss, Squared) and isinstance(self.region or Ball(), Ball):
            # Scores lie within the radius and targets within 1, so no error is larger than their sum.
            loss = Squared((self.region or Ball()).radius + 1)
        return declared(loss, self.zeta, self.curvature)

    def _ask_within(self, design: Design, relation: Relation) -> Ask:
        """The question that fits the model."""
        if self.intervals:
            raise InvalidRequest(
                "intervals are about minimisers that no set holds back: at its edge their error is not nearly normal; leave "
                "intervals out, or use a model without a region"
            )
        if self.method not in METHODS:
            raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        problem, ridge = ConstrainedProblem(design, self._loss, self._region(design)), positive_ridge(self.ridge)
        if self.price.is_infinite or self.method == "output":
            outside = ConstrainedMinimiser(problem, ridge)
            return Ask(outside, law_in_l2(self.price, outside.distance(relation), design.width))
        law = objective_law(problem, ridge, self.price, relation)
        law.check(design.width)
        return Ask(problem, law)

    def _region(self, design: Design) -> Region:
        """The set of all coefficients; ``free_intercept`` leaves the last of them out of it."""
        free = bool(self.free_intercept and design.intercept)
        region = Ball() if self.region is None else region_of(self.region, design.width - free)
        return FreeLast(region) if free else region

    def _projected(self, release: Release, design: Design) -> Floats:
        """What was released, put back into the set: noise and rounding may have moved it out. Costs nothing."""
        return self._region(design).project(np.asarray(release.value, np.float64))


@dataclass(kw_only=True, eq=False, repr=False)
class ConstrainedRegression(Constrained, PerturbedRegression):
    """Minimises any convex loss of the predicted number, with a ridge, over any convex set of coefficients.

    ``loss`` takes theta . x and y on the scale of rows of norm at most 1 (columns divided by their largest bound and by
    the root of their number, the constant counted) and of targets divided by their largest bound. ``zeta`` and
    ``curvature`` bound its first and second derivative for coefficients in the set, where that is less than the loss
    declares of all; the guarantee rests on them. ``region`` is a ``Ball`` (of radius 1, where none is given), a ``Box``,
    or a function that projects onto a convex set of one's own; it holds on that scale, for all coefficients, or for all but
    the intercept with ``free_intercept``. What noise moved out of it is put back, at no cost. ``method`` is "objective" or
    "output". Everything else is as for ``LinearRegression``.
    """

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedRegression]:
        check_penalty(self.penalty)
        if self._loss.classifies:
            raise InvalidRequest(
                f"the loss {self._loss.name!r} is for two classes; use Huber(reach) for a number, or ConstrainedClassifier"
            )
        design = self._design(columns)
        return self._put_back(self._ask_within(design, relation), design, columns)

    def _put_back(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedRegression]:
        release: Release = yield ask
        return self._fitted(design, self._projected(release, design), ridge_of(ask), columns, release)


@dataclass(kw_only=True, eq=False, repr=False)
class ConstrainedClassifier(Constrained, PerturbedClassifier):
    """Minimises any convex loss of the score, with a ridge, over any convex set of coefficients.

    ``loss`` takes theta . x and a target of -1 or 1, on the scale of rows of norm at most 1. ``zeta``, ``curvature``,
    ``region`` and ``free_intercept`` are as for ``ConstrainedRegression``, everything else as for ``LogisticRegression``.
    """

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        design = self._two_classes(columns)
        return self._put_back(self._ask_within(design, relation), design, columns)

    def _put_back(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedClassifier]:
        fitted = yield from self._ask(ask, design, columns)
        return replace(fitted, theta=self._projected(fitted.releases[0], design))
