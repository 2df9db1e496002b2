"""What private regressions share: a number as target, predictions, and scores that are paid for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from discreet.core.cost import Cost
from discreet.core.numbers import Number
from discreet.core.query import check_relation
from discreet.core.release import Release
from discreet.core.result import Result
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.determination import determination_of
from discreet.models.estimator import Columns, Privacy, PrivateModel, raised_from, rows_of
from discreet.models.number_predictor import NumberPredictor
from discreet.models.perturbation import Price
from discreet.models.predictor import Input
from discreet.models.sufficient import Moments, RegressionSums


@dataclass(frozen=True, eq=False)
class FittedNumber:
    """What was released: coefficients on the scale of the design (target over its unit), and how they were made."""

    design: Design
    theta: Floats
    ridge: Fraction
    method: str
    rows: int | None
    releases: tuple[Release, ...]
    moments: Moments | None = None

    @property
    def certainty(self) -> Moments | None:
        """What intervals are made of, where there is something."""
        return self.moments

    @property
    def table(self) -> Floats:
        """The coefficients on the scale of the table, the constant last."""
        return self.theta * self.design.target.unit / self.design.units

    @property
    def privacy(self) -> Privacy:
        """What it cost."""
        cost = sum((r.cost for r in self.releases if r.cost is not None), Cost.nothing())
        relation = self.releases[0].relation or "add_remove"
        private = all(r.private for r in self.releases)
        return Privacy(cost, relation, private, self.method, float(self.ridge), self.releases)


class Regressor(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """A regression that is linear in its features."""

    target_bounds: Any
    ridge: Any
    fit_intercept: bool

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Refused: how well a model does on private rows is itself a release that has to be paid for."""
        raise InvalidRequest(
            "score on private rows is itself a release; pay for a coefficient of determination from noisy sums "
            "(paid_score(X, y, epsilon=...)), or use public_score(X, y) on rows that are public"
        )

    def _design(self, columns: Columns) -> Design:
        if columns.propensity is not None:
            raise InvalidRequest(f"{type(self).__name__} takes no propensity; an OutcomeWeightedLearner does")
        if isinstance(columns.schema[columns.target], Categories):
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as a number with bounds, got categories; use a classifier"
            )
        return Design.of(
            columns.schema, columns.features, columns.target, intercept=self.fit_intercept, weight=columns.weight
        )

    def _accept(self, fitted: FittedNumber) -> None:
        features = fitted.design.width - fitted.design.intercept
        self.coef_ = fitted.table[:features]
        self.intercept_ = float(fitted.table[features]) if fitted.design.intercept else 0.0
        self.feature_names_ = fitted.design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = replace(fitted.privacy, asked_ridge=raised_from(self.ridge, self.ridge_))
        self.fitted_ = fitted

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

    @property
    def predictor(self) -> NumberPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        inputs = tuple(Input(f.column, None if f.labels else (f.lo, f.hi), f.labels) for f in self.fitted_.design.features)
        return NumberPredictor(inputs, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Floats:
        """The number predicted for each row. Values outside the bounds are clipped, as in ``fit``."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return self.predictor.predict(X if getattr(self, "fitted_to_table_", False) else rows_of(self, X))

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
        guess = self.predict(X)
        goal, _ = self._target(y)
        if len(goal) != len(guess):
            raise InvalidRequest(f"X and y must have as many rows, got {len(guess)} and {len(goal)}")
        target = self.fitted_.design.target
        declared = {"guess": Real(target.lo, target.hi), "truth": Real(target.lo, target.hi)}
        schema = Schema(declared, neighbors=check_relation(self.neighbors))
        query = RegressionSums(Design.of(schema, ["guess"], "truth"))
        rows = len(goal) if schema.neighbors == "replace" else None
        desk = self._desk({"guess": guess, "truth": goal}, schema)
        return desk.run(determination_of(query, Price(epsilon, delta, rho), schema.neighbors, rows))
