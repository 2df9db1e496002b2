"""Private multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.estimators.arrays import positive_ridge
from discreet.models.estimators.classes import ManyClasses
from discreet.models.estimators.privacy import FittedLinear, asked_ridge_of
from discreet.models.estimators.private_model import LossModel
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.perturbation import free_ridge, objective_law, ridge_of
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NetworkPredictor
from discreet.models.queries.softmax_problem import SoftmaxMinimiser, SoftmaxProblem

METHODS = ("objective", "output")


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedSoftmax(FittedLinear):
    """The coefficients of every class, a line each, on the scale of the design; their sum over classes is 0."""

    lines: Floats

    @property
    def rule(self) -> NetworkRule:
        """How it is judged: a network without a hidden layer."""
        design = replace(self.design, weight=None)
        network = Network((design.width, len(self.lines)), None, bias=False)
        return NetworkRule(design, network, np.ascontiguousarray(self.lines.T).ravel())


@dataclass(kw_only=True, eq=False, repr=False)
class SoftmaxRegression(ManyClasses, LossModel):
    """Multinomial logistic regression of three classes or more with a ridge, private by noise in its objective.

    All classes are fitted together at one price, not one after another at a price each. ``epsilon`` alone, ``epsilon`` and
    ``delta``, or ``rho`` is that price; ``bounds`` are the public (lo, hi) of the features, ``classes`` the public labels.
    ``method`` is "objective" or "output"; ``ridge`` that of the sum of losses over rows of norm at most 1, of the
    coefficients of all classes. With noise in the objective a ridge of 4 / epsilon (8 / epsilon under replace) makes the
    Jacobian free of charge, and is what ``ridge="auto"`` takes. ``radius`` is as for ``LogisticRegression``.
    ``coef_`` has a line for each class, and lines sum to 0. ``random_state`` is for tests only.
    """

    rho: Number | None = None
    ridge: Any = "auto"
    method: Literal["objective", "output"] = "objective"
    fit_intercept: bool = True
    radius: Number | None = None
    reference: Any = None

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedSoftmax]:
        if columns.propensity is not None:
            raise InvalidRequest(f"{type(self).__name__} takes no propensity; an OutcomeWeightedLearner does")
        if self.method not in METHODS:
            raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        design = Design.of(
            columns.schema,
            columns.features,
            columns.target,
            intercept=self.fit_intercept,
            radius=None if self.radius is None else numbers.positive(self.radius, "radius"),
            weight=columns.weight,
            reference=self.reference,
            centred=True,
        )
        if len(design.target.classes) < 3:
            raise InvalidRequest(
                f"{type(self).__name__} is for three declared classes or more, got "
                f"{list(design.target.classes) or 'a number'}; use LogisticRegression for two"
            )
        return self._ask(self._question(design, relation), design, columns)

    def _question(self, design: Design, relation: Relation) -> Ask:
        problem, ridge, price = SoftmaxProblem(design), self._ridge(design, relation), self.price
        if price.is_infinite or self.method == "output":
            outside = SoftmaxMinimiser(design, ridge)
            return Ask(outside, law_in_l2(price, outside.distance(relation), problem.width))
        law = objective_law(problem, ridge, price, relation)
        law.check(problem.width)
        return Ask(problem, law)

    def _ridge(self, design: Design, relation: Relation) -> Fraction:
        """The ridge asked for, or the least at which the Jacobian is free."""
        if self.ridge != "auto":
            return positive_ridge(self.ridge)
        return free_ridge(4, design, self.price, relation)

    def _ask(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedSoftmax]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        return FittedSoftmax(
            design=design, theta=theta, ridge=ridge_of(ask), method=str(self.method), rows=columns.rows,
            releases=(release,), lines=SoftmaxProblem(design).loss.coefficients(theta),
        )  # fmt: skip

    def _set_fitted(self, fitted: FittedSoftmax) -> None:
        design = fitted.design
        table = fitted.lines @ design.lines.T
        features = design.width - design.intercept
        self.coef_ = table[:, :features]
        self.intercept_ = table[:, features] if design.intercept else np.zeros(len(table))
        self.classes_ = np.array(design.target.classes)
        self.feature_names_ = design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = replace(fitted.privacy, asked_ridge=asked_ridge_of(self.ridge, self.ridge_))
        self.fitted_ = fitted

    @property
    def predictor(self) -> NetworkPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        design: Design = self.fitted_.design
        lines = np.array([design.of_labels(line) for line in self.coef_])
        layer = np.vstack([lines.T, self.intercept_])
        classes = tuple(self.classes_.tolist())
        return NetworkPredictor(design.inputs, np.ones(len(layer) - 1), (layer,), classes=classes)

    def decision_function(self, X: Any) -> Floats:
        """The score of every class, for each row."""
        rows = self.columns_of(X)
        return self.predictor.decision_function(rows)
