"""Linear models of several classes: a line of coefficients for each, fitted together at one price."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.mechanisms.priced import law_in_l2
from discreet.models.design import Design, Floats
from discreet.models.estimators.privacy import FittedLinear, asked_ridge_of
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.perturbation import objective_law, ridge_of
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NetworkPredictor
from discreet.models.queries.softmax_problem import SoftmaxMinimiser, SoftmaxProblem

METHODS = ("objective", "output")


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedLines(FittedLinear):
    """The coefficients of every class, a line each, on the scale of the design."""

    lines: Floats

    @property
    def rule(self) -> NetworkRule:
        """How it is judged: a network without a hidden layer."""
        design = replace(self.design, weight=None)
        network = Network((design.width, len(self.lines)), None, bias=False)
        return NetworkRule(design, network, np.ascontiguousarray(self.lines.T).ravel())

    def set_on(self, model: Any) -> None:
        """Set what a fitted model shows of it."""
        design = self.design
        table = self.lines @ design.lines.T
        features = design.width - design.intercept
        model.coef_ = table[:, :features]
        model.intercept_ = table[:, features] if design.intercept else np.zeros(len(table))
        model.classes_ = np.array(design.target.classes)
        model.feature_names_ = design.names
        model.ridge_ = float(self.ridge)
        model.privacy_ = replace(self.privacy, asked_ridge=asked_ridge_of(model.ridge, model.ridge_))
        model.fitted_ = self

    def predictor(self, model: Any, probabilities: bool = True) -> NetworkPredictor:
        """What predicts: all of a model that is published."""
        lines = np.array([self.design.of_labels(line) for line in model.coef_])
        layer = np.vstack([lines.T, model.intercept_])
        return NetworkPredictor(
            self.design.inputs, np.ones(len(layer) - 1), (layer,), classes=tuple(model.classes_.tolist()),
            probabilities=probabilities,
        )  # fmt: skip


def lines_design(model: Any, columns: Columns) -> Design:
    """The design of a linear model of several classes: numbers are counted from the middle of their bounds."""
    if columns.propensity is not None:
        raise InvalidRequest(f"{type(model).__name__} takes no propensity; an OutcomeWeightedLearner does")
    return Design.of(
        columns.schema,
        columns.features,
        columns.target,
        intercept=model.fit_intercept,
        radius=None if model.radius is None else numbers.positive(model.radius, "radius"),
        weight=columns.weight,
        reference=model.reference,
        centred=True,
    )


def perturbed_lines(
    model: Any, design: Design, columns: Columns, relation: Relation, ridge: Fraction, width: Fraction | None = None
) -> Procedure[FittedLines]:
    """Minimise a cross-entropy and a ridge with noise; with a ``width`` h the hinge of several classes, rounded over h.

    Divided by h, the hinge with a ridge of the coefficients is a cross-entropy with a margin of 1 / h and h times the ridge
    of the coefficients over h: that is what is minimised (``SoftmaxProblem``), and lines are h times what is released.
    """
    if model.method not in METHODS:
        raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {model.method!r}")
    scale, margin = (Fraction(1), Fraction(0)) if width is None else (width, 1 / width)
    ask = _question(SoftmaxProblem(design, margin), ridge * scale, model.method, model.price, relation)
    return _ask(ask, scale, str(model.method), columns)


def _question(problem: SoftmaxProblem, ridge: Fraction, method: str, price: Price, relation: Relation) -> Ask:
    if price.is_infinite or method == "output":
        outside = SoftmaxMinimiser(problem.design, ridge, margin=problem.margin)
        return Ask(outside, law_in_l2(price, outside.distance(relation), problem.width))
    law = objective_law(problem, ridge, price, relation)
    law.check(problem.width)
    return Ask(problem, law)


def _ask(ask: Ask, scale: Fraction, method: str, columns: Columns) -> Procedure[FittedLines]:
    release: Release = yield ask
    theta, query = np.asarray(release.value, np.float64), ask.query
    problem = query.problem if isinstance(query, SoftmaxMinimiser) else query
    assert isinstance(problem, SoftmaxProblem)
    return FittedLines(
        design=problem.design, theta=theta, ridge=ridge_of(ask) / scale, method=method, rows=columns.rows,
        releases=(release,), lines=float(scale) * problem.loss.coefficients(theta),
    )  # fmt: skip
