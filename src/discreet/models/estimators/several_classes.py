"""Linear classifiers of two declared classes that take more of them too: a line of coefficients for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.schema import Categories, Column
from discreet.errors import InvalidRequest
from discreet.models.estimators.arrays import label_codes
from discreet.models.estimators.class_lines import FittedLines
from discreet.models.estimators.classes import JudgedByRule, several_labels
from discreet.models.estimators.coefficients import Known
from discreet.models.estimators.linear_classifier import FittedClassifier, LinearClassifier
from discreet.models.evaluate.network_rule import NetworkRule
from discreet.models.gradient.network import Network
from discreet.models.intervals.wald import CoefficientTest
from discreet.models.losses import Logistic
from discreet.models.protocol import Columns
from discreet.models.publish.network_predictor import NetworkPredictor
from discreet.models.publish.predictor import LinearPredictor


class SeveralClasses(JudgedByRule, LinearClassifier):
    """A linear classifier of any number of declared classes: two have one score, more of them a score each.

    With more than two, ``coef_`` has a line for each class, and there are neither thresholds nor confidence intervals.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _classes(self) -> tuple[Any, ...]:
        return several_labels(self.classes, type(self).__name__)

    def _target(self, y: Any) -> tuple[Any, Column]:
        labels = np.array(self._classes())
        return label_codes(y, labels), Categories(tuple(range(len(labels))))

    @staticmethod
    def _more_than_two(columns: Columns) -> bool:
        declared = columns.schema[columns.target]
        return isinstance(declared, Categories) and len(declared.labels) > 2

    def _set_fitted(self, fitted: FittedClassifier | FittedLines) -> None:
        if isinstance(fitted, FittedLines):
            fitted.set_on(self)
            self.threshold_ = 0.0
        else:
            super()._set_fitted(fitted)

    @property
    def predictor(self) -> LinearPredictor | NetworkPredictor:  # type: ignore[override]
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted = self.fitted_
        if isinstance(fitted, FittedLines):
            return fitted.predictor(self, self._probabilities)
        no, yes = self.classes_.tolist()
        made: LinearPredictor = fitted.predictor((no, yes), self._probabilities, self.threshold_)
        return made

    @property
    def _rule(self) -> NetworkRule:
        fitted = self.fitted_
        if isinstance(fitted, FittedLines):
            return fitted.rule
        design = replace(fitted.design, weight=None)
        return NetworkRule(design, Network((design.width, 1), Logistic(), bias=False), fitted.theta, self.threshold_)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        rows = self.columns_of(X)
        return self.predictor.predict(rows)

    def _known(self) -> Known:
        self._check_two_classes()
        return super()._known()

    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether coefficients, or combinations of them, have given values (Wald's test); of two classes."""
        self._check_two_classes()
        return super().test(coefficients, value)

    def _check_two_classes(self) -> None:
        if isinstance(getattr(self, "fitted_", None), FittedLines):
            raise InvalidRequest(
                f"confidence intervals and tests are for two classes, got {len(self.classes_)}; fit each class against the "
                "others, which pays for each"
            )
