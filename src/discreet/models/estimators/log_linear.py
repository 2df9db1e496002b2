"""Private regressions of a number whose logarithm is linear in the features, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.core.schema import Column
from discreet.errors import InvalidRequest
from discreet.models.estimators.arrays import check_penalty, positive_ridge
from discreet.models.estimators.coefficients import Coefficients, Known
from discreet.models.estimators.linear_classifier import FittedClassifier
from discreet.models.estimators.perturbed_classifier import PerturbedMinimiser
from discreet.models.estimators.privacy import asked_ridge_of
from discreet.models.estimators.regressor import Regressor
from discreet.models.intervals.coefficient_intervals import CoefficientIntervals
from discreet.models.intervals.sandwich import shares_of
from discreet.models.intervals.wald import CoefficientTest, classifier_test
from discreet.models.perturbation import ask_for
from discreet.models.protocol import Columns
from discreet.models.publish.rate_predictor import RatePredictor

METHODS = ("objective", "output")
_PURE, _OUTPUT = ("0.6", "0.25", "0.15"), ("0.84", "0.08", "0.08")
_APPROXIMATE = ("0.6", "0.2", "0.2")
_CONCENTRATED = ("0.9", "0.05", "0.05")


@dataclass(kw_only=True, eq=False, repr=False)
class LogLinear(Coefficients, PerturbedMinimiser, Regressor):
    """A regression with a ridge in which the logarithm of the expected number is linear in the features.

    Its loss says what a score predicts, over the largest number (``Loss.predicted``): the score 0 is the ``offset_``.
    """

    method: Literal["objective", "output"] = "objective"
    shares: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    _numbers: ClassVar[str]  # what the target holds
    _positive: ClassVar[bool]  # whether it may not be 0 either

    def _check_lowest(self, lo: float, where: str) -> None:
        """Refuse numbers below 0, or 0 itself where the model has no place for it."""
        if lo < 0 or (self._positive and lo == 0):
            word = "be positive" if self._positive else "not be negative"
            raise InvalidRequest(f"{self._numbers} must {word}, got {lo:g} in {where}; use LinearRegression")

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        check_penalty(self.penalty)
        if self.method not in METHODS:
            raise InvalidRequest(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        design = self._design(columns, centred=True)
        self._check_lowest(design.target.lo, f"the bounds of {columns.target!r}")
        design = replace(design, target=replace(design.target, centred=False))
        loss, ridge, price = self._loss_of(design), positive_ridge(self.ridge), self.price
        if not self.intervals:
            if self.shares is not None:
                raise InvalidRequest("shares are for fits with intervals=True; leave them out, or ask for intervals")
            return self._ask(ask_for(design, loss, ridge, self.method, price, relation), design, columns)
        given = self._usual_shares(price) if self.shares is None else self.shares
        first, *rest = (price.share(s) for s in shares_of(given, self.method))
        ask = ask_for(design, loss, ridge, self.method, first, relation)
        return self._ask_more(ask, design, columns, relation, (rest[0], rest[1]))

    def _usual_shares(self, price: Price) -> tuple[str, str, str]:
        """The shares that a fit has when none are asked for: of epsilon more for the matrices than a classifier needs.

        Slopes of counts are small beside the bound that their noise is made for: with less, lengths of intervals vary by
        half, and they cover too little (study/glm_intervals.py).
        """
        if price.rho is not None:
            return _CONCENTRATED
        return _APPROXIMATE if price.delta else _PURE if self.method == "objective" else _OUTPUT

    def _set_fitted(self, fitted: FittedClassifier) -> None:  # type: ignore[override]
        design = fitted.design
        table, features = design.lines @ fitted.theta, design.width - design.intercept
        self.coef_ = table[:features]
        self.offset_ = math.log(design.target.unit * float(fitted.loss.predicted(0.0)))
        self.intercept_ = self.offset_ + (float(table[features]) if design.intercept else 0.0)
        self.feature_names_ = design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = replace(fitted.privacy, asked_ridge=asked_ridge_of(self.ridge, self.ridge_))
        self.fitted_: Any = fitted

    def _target(self, y: Any) -> tuple[Any, Column]:
        made = super()._target(y)
        self._check_lowest(float(made[1].lo), "target_bounds")  # type: ignore[union-attr]
        self._check_lowest(float(made[0].min()), "y")
        return made

    @property
    def predictor(self) -> RatePredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        design = self.fitted_.design
        features, unit = design.of_labels(self.coef_), design.target.unit
        return RatePredictor(design.inputs, features, self.intercept_, unit, unit * self.fitted_.loss.least_predicted)

    def confidence_intervals(self, level: float = 0.95) -> CoefficientIntervals:
        """An interval for each coefficient of the logarithm of the rate: rows as ``coef_``, the intercept last.

        Each covers, with probability ``level`` over the sample and the noise, the *regularised* minimiser of the population.
        It does not rest on numbers having the law of the name: slopes vary as they do. Costs nothing where the fit paid for
        ``intervals=True``.
        """
        return super().confidence_intervals(level)

    def rate_ratios(self, level: float = 0.95) -> CoefficientIntervals:
        """Intervals of exp(coefficient): how many times larger the rate is for one unit more."""
        return self.confidence_intervals(level).exponentiated()

    def _known(self) -> Known:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedClassifier = self.fitted_
        design = fitted.design
        names = (*design.names, *(["intercept"] if design.intercept else []))
        estimates = np.array([*self.coef_, *([self.intercept_] if design.intercept else [])])
        return Known(names, estimates, fitted.paid_error_law.along(design.lines), float(fitted.ridge))

    def test(self, coefficients: Any, value: Any = 0.0) -> CoefficientTest:
        """Whether a coefficient, or a combination such as ``{"dose": 1, "age": -1}``, has a given value (Wald's test)."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return classifier_test(self, coefficients, value, self.offset_)
