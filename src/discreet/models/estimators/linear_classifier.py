"""Linear classifiers: a loss of the margin, a ridge, and noise in the objective or on its minimiser."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Column, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats, Fourier
from discreet.models.estimators.arrays import check_penalty, checked_weights, class_codes, declared_classes
from discreet.models.estimators.coefficients import Coefficients, Known
from discreet.models.estimators.decision import Thresholded
from discreet.models.estimators.privacy import FittedLinear, asked_ridge_of
from discreet.models.estimators.private_model import LossModel, PrivateModel
from discreet.models.evaluate.accuracy import score_of
from discreet.models.evaluate.coded_table import check_declared, coded_table
from discreet.models.intervals.coefficient_intervals import CoefficientIntervals
from discreet.models.intervals.error_law import ErrorLaw
from discreet.models.intervals.wald import CoefficientTest, classifier_test
from discreet.models.losses import Loss
from discreet.models.protocol import Columns
from discreet.models.publish.predictor import LinearPredictor, RandomFeatures
from discreet.models.target import Weight


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedClassifier(FittedLinear):
    """The coefficients of a classifier, its loss, and what intervals are made of where they were paid for."""

    loss: Loss
    error_law: ErrorLaw | None = None

    @property
    def paid_error_law(self) -> ErrorLaw:
        """The law of what the coefficients are wrong by; refuses where it was not paid for."""
        if self.error_law is None:
            raise InvalidRequest(
                "confidence intervals are paid for when a model is fitted; make it with intervals=True and fit again"
            )
        return self.error_law

    def predictor(self, classes: tuple[Any, Any], probabilities: bool, threshold: float = 0.0) -> LinearPredictor:
        """What predicts from rows of the table."""
        design, kernel = self.design, None
        if design.drawn is not None:
            units = np.array([f.unit for f in design.features for _ in range(f.size)])
            kernel = RandomFeatures(units, *design.drawn)
        table = self.theta / design.units
        last = design.width - design.intercept
        constant = float(table[last]) if design.intercept else 0.0
        features = table[:last] if kernel is not None else design.of_labels(table[:last])
        return LinearPredictor(design.inputs, features, constant, classes, probabilities, kernel, threshold)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(Thresholded, Coefficients, ClassifierMixin, LossModel):  # type: ignore[misc]
    """A classifier that is linear in its features. Scores of its second class are positive."""

    classes: Any = None
    fit_intercept: bool = True
    penalty: str = "ridge"
    radius: Number | None = None
    reference: Any = None
    _probabilities: ClassVar[bool] = False
    score = PrivateModel.score  # refused: ahead of the score of scikit-learn's mixin

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of the margin."""

    def _design(self, columns: Columns) -> Design:
        radius = None if self.radius is None else numbers.positive(self.radius, "radius")
        fourier = self._fourier(columns)
        if fourier is not None and radius is None:
            radius = fourier.usual_norm(self.fit_intercept)
        return Design.of(
            columns.schema,
            columns.features,
            columns.target,
            intercept=self.fit_intercept,
            radius=radius,
            weight=self._weight(columns),
            fourier=fourier,
            raw=columns.raw,
            reference=self.reference,
        )

    def _weight(self, columns: Columns) -> str | Weight | None:
        """The column of weights, or the quotient that makes them."""
        if columns.propensity is not None:
            raise InvalidRequest(f"{type(self).__name__} takes no propensity; an OutcomeWeightedLearner does")
        return columns.weight

    def _fourier(self, columns: Columns) -> Fourier | None:
        """Random features, for a model that has them."""
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _two_classes(self, columns: Columns) -> Design:
        """The design of a target with two labels."""
        check_penalty(self.penalty)
        design = self._design(columns)
        if len(design.target.classes) != 2:
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as Categories of two labels, "
                f"got {list(design.target.classes) or 'a number'}; for more of them use SoftmaxRegression, LinearSVC or "
                "GaussianNB"
            )
        return design

    def _set_fitted(self, fitted: FittedClassifier) -> None:
        table = fitted.theta / fitted.design.units
        features = fitted.design.width - self.fit_intercept
        self.coef_ = table[None, :features]
        self.intercept_ = table[features:] if self.fit_intercept else np.zeros(1)
        self.classes_ = np.array(fitted.design.target.classes)
        self.threshold_ = 0.0
        self.feature_names_ = fitted.design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = replace(fitted.privacy, asked_ridge=asked_ridge_of(self.ridge, self.ridge_))
        self.fitted_ = fitted

    def confidence_intervals(self, level: float = 0.95) -> CoefficientIntervals:
        """An interval for each coefficient: rows as ``coef_``, the intercept last, on the scale of the table.

        Each covers, with probability ``level`` over the sample and the noise, the *regularised* minimiser of the population:
        the coefficients that this loss with this ridge (``ridge_``) would have on all people. They say nothing about
        coefficients without a ridge. Costs nothing: what is needed was paid for by a fit with ``intervals=True``.
        """
        return super().confidence_intervals(level)

    def _known(self) -> Known:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedClassifier = self.fitted_
        if fitted.error_law is None and "intervals" not in self.get_params(deep=False):
            raise InvalidRequest(f"{type(self).__name__} has no confidence intervals; a LogisticRegression or LinearSVC has")
        lines = fitted.design.lines
        names = (*fitted.design.names, *(["intercept"] if fitted.design.intercept else []))
        return Known(names, lines @ fitted.theta, fitted.paid_error_law.along(lines), float(fitted.ridge))

    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether a coefficient, or a combination such as ``{"dose": 1, "age": -1}``, has a given value (Wald's test).

        A list of combinations is tested together. It is a statement about what ``confidence_intervals`` covers, the
        regularised minimiser of the population; costs nothing where the fit paid for ``intervals=True``.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return classifier_test(self, coefficients, value)

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), self._classes]

    def _target(self, y: Any) -> tuple[Any, Column]:
        return class_codes(y, self._classes()), Categories((0, 1))

    def _classes(self) -> tuple[Any, Any]:
        """The two public labels of arrays."""
        return declared_classes(self.classes, type(self).__name__)

    def accept(self, fitted: FittedClassifier, columns: Columns) -> None:
        super().accept(fitted, columns)
        if columns.arrays:
            # Inside, the classes of arrays are 0 and 1: labels may be of kinds that no schema declares.
            self.classes_ = np.array(self._classes())

    @property
    def predictor(self) -> LinearPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        no, yes = self.classes_.tolist()
        return self.fitted_.predictor((no, yes), self._probabilities, self.threshold_)

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: positive for the second class. Values outside the bounds are clipped, as in ``fit``."""
        rows = self.columns_of(X)
        return self.predictor.decision_function(rows)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        yes = self.decision_function(X) > self.threshold_
        return self.classes_[yes.astype(int)]

    def public_score(self, X: Any, y: Any) -> float:
        """The share of right predictions on rows that are public: it is exact, and not private."""
        right = np.asarray(self.predict(X)) == np.asarray(y)
        return float(np.mean(right))

    def paid_score(
        self, X: Any, y: Any, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
    ) -> Result:
        """The share of right predictions on private rows: a release that costs what is given, at ``ledger`` if there is one.

        A model does better on the rows it was fitted to than on others: judge it on others.
        """
        return self._score_arrays(X, y, None, Price(epsilon, delta, rho))

    def _score_arrays(self, X: Any, y: Any, weights: tuple[Any, float] | None, price: Price) -> Result:
        """The paid score on arrays, with weights up to a bound where there are some."""
        rows = self.predictor.rows(self.columns_of(X))  # refuses what cannot be predicted from before anything is paid
        no, yes = self.classes_.tolist()
        codes = class_codes(y, (no, yes))
        if weights is not None:
            weights = checked_weights(weights[0], len(codes), weights[1]), weights[1]
        table, schema, design = coded_table(self.fitted_.design, rows, codes, self.neighbors, weights)
        return self.desk(table, schema).run(score_of(design, self.fitted_.theta, price, schema.neighbors))

    def score_procedure(self, schema: Schema, price: Price) -> Procedure[Result]:
        """The paid score on a table with a schema, for a session."""
        design = self._scored_design()
        check_declared(design, schema)
        return score_of(replace(design, rows=schema.max_rows or 1), self.fitted_.theta, price, schema.neighbors)

    def _scored_design(self) -> Design:
        """What is scored: right predictions, each row alike."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        design: Design = self.fitted_.design
        return replace(design, weight=None)
