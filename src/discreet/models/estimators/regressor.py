"""What private regressions share: a number as target, predictions, and scores that are paid for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import check_relation
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimators.privacy import FittedLinear, asked_ridge_of
from discreet.models.estimators.private_model import LossModel, Perturbed
from discreet.models.evaluate.determination import determination_of
from discreet.models.protocol import Columns
from discreet.models.publish.number_predictor import NumberPredictor
from discreet.models.queries.regression_sums import RegressionMoments, RegressionSums


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedRegression(FittedLinear):
    """The coefficients of a regression (the target over its unit), and the sums that intervals are made of."""

    moments: RegressionMoments | None = None

    @property
    def table(self) -> Floats:
        """The coefficients on the scale of the table, the constant last."""
        coefficients: Floats = self.design.target.unit * (self.design.lines @ self.theta)
        if self.design.intercept:
            coefficients[-1] += self.design.target.middle
        return coefficients

    @property
    def entry_lines(self) -> Floats:
        """What turns coefficients of entries in [-1, 1] into those on the scale of the table, the target's middle aside."""
        lines: Floats = self.design.target.unit * self.design.stretch * self.design.lines
        return lines


@dataclass(kw_only=True, eq=False, repr=False)
class NumberModel(RegressorMixin, LossModel):  # type: ignore[misc]
    """A model of a number between public ``target_bounds``."""

    target_bounds: Any = None

    @property
    @abstractmethod
    def predictor(self) -> Any:
        """What predicts: all of a model that is published."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Refused: how well a model does on private rows is itself a release that has to be paid for."""
        raise InvalidRequest(
            "score on private rows is itself a release; pay for a coefficient of determination from noisy sums "
            "(paid_score(X, y, epsilon=...)), or use public_score(X, y) on rows that are public"
        )

    def _check_target(self, columns: Columns) -> None:
        """Refuse a target that is no number, and a propensity."""
        if columns.propensity is not None:
            raise InvalidRequest(f"{type(self).__name__} takes no propensity; an OutcomeWeightedLearner does")
        if isinstance(columns.schema[columns.target], Categories):
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as a number with bounds, got categories; use a classifier"
            )

    def _declarations(self) -> list[Callable[[], Any]]:
        return [lambda: self._target(np.ones(1))]

    def _target(self, y: Any) -> tuple[Any, Column]:
        from sklearn.utils.validation import check_array, column_or_1d

        if self.target_bounds is None:
            raise InvalidRequest(
                f"{type(self).__name__} needs public target_bounds=(lo, hi); they are never read off the data"
            )
        bounds = np.asarray(self.target_bounds, np.float64)
        if bounds.shape != (2,) or not bounds[0] < bounds[1]:
            raise InvalidRequest(f"target_bounds must be (lo, hi) with lo < hi, got {self.target_bounds!r}")
        goal = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
        return goal, Real(float(bounds[0]), float(bounds[1]))

    def predict(self, X: Any) -> Floats:
        """The number predicted for each row. Values outside the bounds are clipped, as in ``fit``."""
        predicted: Floats = self.predictor.predict(self.columns_of(X))
        return predicted

    def _guesses(self, X: Any) -> Floats:
        """What is predicted, of each row to the last bit the same whoever else is there."""
        return self.predict(X)

    def public_score(self, X: Any, y: Any) -> float:
        """The coefficient of determination on rows that are public: it is exact, and not private."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X)))

    def paid_score(
        self, X: Any, y: Any, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
    ) -> Result:
        """The coefficient of determination on private rows, from noisy sums: a release that costs what is given.

        Predictions and targets are clipped to the target's bounds. A model does better on the rows it was fitted to than
        on others: judge it on others.
        """
        guess = self._guesses(X)
        goal, _ = self._target(y)
        if len(goal) != len(guess):
            raise InvalidRequest(f"X and y must have as many rows, got {len(guess)} and {len(goal)}")
        target = self.fitted_.design.target
        declared = {"guess": Real(target.lo, target.hi), "truth": Real(target.lo, target.hi)}
        schema = Schema(declared, neighbors=check_relation(self.neighbors))
        query = RegressionSums(Design.of(schema, ["guess"], "truth"))
        rows = len(goal) if schema.neighbors == "replace" else None
        desk = self.desk({"guess": guess, "truth": goal}, schema)
        return desk.run(determination_of(query, Price(epsilon, delta, rho), schema.neighbors, rows))


@dataclass(kw_only=True, eq=False, repr=False)
class Regressor(NumberModel):
    """A regression that is linear in its features."""

    fit_intercept: bool = True
    penalty: str = "ridge"
    reference: Any = None

    def _design(self, columns: Columns, centred: bool = False) -> Design:
        self._check_target(columns)
        return Design.of(
            columns.schema,
            columns.features,
            columns.target,
            intercept=self.fit_intercept,
            weight=columns.weight,
            centred=centred,
            reference=self.reference,
        )

    def _set_fitted(self, fitted: FittedRegression) -> None:
        features = fitted.design.width - fitted.design.intercept
        self.coef_ = fitted.table[:features]
        self.intercept_ = float(fitted.table[features]) if fitted.design.intercept else 0.0
        self.feature_names_ = fitted.design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = replace(fitted.privacy, asked_ridge=asked_ridge_of(self.ridge, self.ridge_))
        self.fitted_ = fitted

    @property
    def predictor(self) -> NumberPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        design = self.fitted_.design
        return NumberPredictor(design.inputs, design.of_labels(self.coef_), self.intercept_)


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedRegression(Perturbed, Regressor):
    """A regression from one release; its parameters are those of ``LinearRegression``."""

    def _fitted(
        self,
        design: Design,
        theta: Floats,
        ridge: Fraction,
        columns: Columns,
        release: Release,
        moments: RegressionMoments | None = None,
    ) -> FittedRegression:
        """What one release made."""
        return FittedRegression(
            design=design,
            theta=theta,
            ridge=ridge,
            method=self.method,
            rows=columns.rows,
            releases=(release,),
            moments=moments,
        )
