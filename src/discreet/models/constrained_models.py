"""Private models with a loss of one's own and coefficients held to a convex set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.constrained import ConstrainedMinimiser, ConstrainedProblem, declared
from discreet.models.design import Design, Floats
from discreet.models.estimator import Columns, check_penalty, positive_ridge
from discreet.models.linear_classifier import Fitted, LinearClassifier
from discreet.models.losses import Loss, Squared
from discreet.models.perturbation import Price, inside, ridge_of
from discreet.models.regions import Ball, FreeLast, Region, region_of
from discreet.models.regressor import FittedNumber, Regressor

METHODS = ("objective", "output")


def ask_within(model: Any, design: Design, price: Price, relation: Relation) -> Ask:
    """The question that fits a model with ``loss``, ``zeta``, ``curvature``, ``region``, ``ridge`` and ``method``."""
    check_penalty(model.penalty)
    if model.intervals:
        raise InvalidRequest(
            "intervals are about minimisers that no set holds back: at its edge their error is not nearly normal; leave "
            "intervals out, or use a model without a region"
        )
    if model.method not in METHODS:
        raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {model.method!r}")
    region = _region(model, design)
    problem, ridge = ConstrainedProblem(design, model._loss, region), positive_ridge(model.ridge)
    if price.is_infinite or model.method == "output":
        outside = ConstrainedMinimiser(problem, ridge)
        return Ask(outside, price.law(outside, relation, design.width))
    law = inside(problem, ridge, price, relation)
    law.check(design.width)
    return Ask(problem, law)


def _region(model: Any, design: Design) -> Region:
    """The set of all coefficients; ``free_intercept`` leaves the last of them out of it."""
    free = bool(model.free_intercept and design.intercept)
    region = Ball() if model.region is None else region_of(model.region, design.width - free)
    return FreeLast(region) if free else region


def _inside(model: Any, release: Release, design: Design) -> Floats:
    """What was released, put back into the set: noise and rounding may have moved it out. Costs nothing."""
    return _region(model, design).project(np.asarray(release.value, np.float64))


def _loss_of(model: Any) -> Loss:
    if not isinstance(model.loss, Loss):
        raise InvalidRequest(f"loss must be a loss of discreet.models.losses, got {model.loss!r}; make one with own_loss")
    loss = model.loss
    if isinstance(loss, Squared) and isinstance(model.region or Ball(), Ball):
        # Scores lie within the radius and targets within 1, so no error is larger than their sum.
        loss = Squared((model.region or Ball()).radius + 1)
    return declared(loss, model.zeta, model.curvature)


class ConstrainedRegression(Regressor):
    """Minimises any convex loss of the predicted number, with a ridge, over any convex set of coefficients.

    ``loss`` takes theta . x and y on the scale of rows of norm at most 1 (columns divided by their largest bound and by
    the root of their number, the constant counted) and of targets divided by their largest bound. ``zeta`` and
    ``curvature`` bound its first and second derivative for coefficients in the set, where that is less than the loss
    declares of all; the guarantee rests on them. ``region`` is a ``Ball`` (of radius 1, where none is given), a ``Box``,
    or a function that projects onto a convex set of one's own; it holds on that scale, for all coefficients, or for all but
    the intercept with ``free_intercept``. What noise moved out of it is put back, at no cost. ``method`` is "objective" or
    "output". Everything else is as for ``LinearRegression``.
    """

    def __init__(
        self,
        *,
        loss: Loss | None = None,
        zeta: Number | None = None,
        curvature: Number | None = None,
        region: Any = None,
        free_intercept: bool = False,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,
        target_bounds: Any = None,
        method: Literal["objective", "output"] = "objective",
        ridge: Number = 1.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        weight_bound: Number = 1.0,
        intervals: bool = False,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.zeta = zeta
        self.curvature = curvature
        self.region = region
        self.free_intercept = free_intercept
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.method = method
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.weight_bound = weight_bound
        self.intervals = intervals
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state

    @property
    def _loss(self) -> Loss:
        return _loss_of(self)

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedNumber]:
        design = self._design(columns)
        return self._fitted(ask_within(self, design, self.price, relation), design, columns)

    def _fitted(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedNumber]:
        release: Release = yield ask
        theta = _inside(self, release, design)
        return FittedNumber(design, theta, ridge_of(ask), self.method, columns.rows, (release,))


class ConstrainedClassifier(LinearClassifier):
    """Minimises any convex loss of the score, with a ridge, over any convex set of coefficients.

    ``loss`` takes theta . x and a target of -1 or 1, on the scale of rows of norm at most 1. ``zeta``, ``curvature``,
    ``region`` and ``free_intercept`` are as for ``ConstrainedRegression``, everything else as for ``LogisticRegression``.
    """

    def __init__(
        self,
        *,
        loss: Loss | None = None,
        zeta: Number | None = None,
        curvature: Number | None = None,
        region: Any = None,
        free_intercept: bool = False,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,
        classes: Any = None,
        method: Literal["objective", "output"] = "objective",
        ridge: Number = 1.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        radius: Number | None = None,
        weight_bound: Number = 1.0,
        intervals: bool = False,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.zeta = zeta
        self.curvature = curvature
        self.region = region
        self.free_intercept = free_intercept
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.radius = radius
        self.weight_bound = weight_bound
        self.intervals = intervals
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state

    @property
    def _loss(self) -> Loss:
        return _loss_of(self)

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[Fitted]:
        design = self._design(columns)
        if len(design.target.classes) != 2:
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as Categories of two labels, "
                f"got {list(design.target.classes) or 'a number'}"
            )
        return self._put_back(ask_within(self, design, self.price, relation), design, columns)

    def _put_back(self, ask: Ask, design: Design, columns: Columns) -> Procedure[Fitted]:
        fitted = yield from self._ask(ask, design, columns)
        return replace(fitted, theta=_inside(self, fitted.releases[0], design))
