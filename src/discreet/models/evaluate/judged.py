"""How well a fitted classifier does: for nothing on public rows, for a price on private ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.numbers import Number
from discreet.core.query import check_relation
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Weight
from discreet.models.estimators.private_model import PrivateModel, checked_weights
from discreet.models.evaluate.accuracy import score_of
from discreet.models.perturbation import Price


class Judged(PrivateModel):
    """A classifier with two classes whose score is paid for."""

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
        return self._judge(X, y, None, Price(epsilon, delta, rho))

    def _judge(self, X: Any, y: Any, weights: tuple[Any, float] | None, price: Price) -> Result:
        """The paid score on arrays, with weights up to a bound where there are some."""
        x = self.predictor.rows(self._columns_of(X))  # refuses what cannot be predicted from before anything is paid
        no, yes = self.classes_.tolist()
        goal = codes(y, (no, yes))
        if len(goal) != len(x):
            raise InvalidRequest(f"X and y must have as many rows, got {len(x)} and {len(goal)}")
        design: Design = self.fitted_.design
        columns: dict[str, Column] = {}
        table: dict[str, Any] = {design.target.column: goal}
        place = 0
        for f in design.features:
            part = x[:, place : place + f.size]
            table[f.column] = part.argmax(1) if f.labels else part[:, 0]
            bounds = Real(-1e100, 1e100) if f.raw else Real(f.lo, f.hi)
            columns[f.column] = Categories(tuple(range(f.size))) if f.labels else bounds
            place += f.size
        columns[design.target.column] = Categories((0, 1))
        bound = None
        if weights is not None:
            bound = Weight("weight" if "weight" not in columns else "weight of a row", weights[1])
            columns[bound.column] = Real(0, bound.most)
            table[bound.column] = checked_weights(weights[0], len(goal), bound.most)
        schema = Schema(columns, neighbors=check_relation(self.neighbors))
        judged = replace(design, weight=bound, rows=1, target=replace(design.target, classes=(0, 1)))
        return self._desk(table, schema).run(score_of(judged, self.fitted_.theta, price, schema.neighbors))

    def _judging(self, schema: Schema, price: Price) -> Procedure[Result]:
        """The paid score on a table with a schema, for a session."""
        design = self._judged()
        for feature in design.features:
            declared = schema[feature.column]
            known = declared.labels if isinstance(declared, Categories) else (float(declared.lo), float(declared.hi))
            if feature.raw or known != (feature.labels or (feature.lo, feature.hi)):
                raise InvalidRequest(
                    f"{feature.column!r} must be declared as it was for the fit, got {declared}; score the model on a table "
                    "with the same declarations"
                )
        goal = schema[design.target.column]
        if not isinstance(goal, Categories) or goal.labels != design.target.classes:
            raise InvalidRequest(
                f"{design.target.column!r} must be declared with the classes {list(design.target.classes)}, got {goal}"
            )
        return score_of(replace(design, rows=schema.max_rows or 1), self.fitted_.theta, price, schema.neighbors)

    def _judged(self) -> Design:
        """What is scored: right predictions, each row alike."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        design: Design = self.fitted_.design
        return replace(design, weight=None)


def codes(y: Any, pair: tuple[Any, Any]) -> Any:
    """0 or 1 for each label; refuses others than the two."""
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import column_or_1d

    goal = column_or_1d(y, warn=True)
    if goal.dtype.kind == "f" and not np.isfinite(goal).all():
        found = "NaN" if np.isnan(goal).any() else "infinity"
        raise InvalidRequest(
            f"Input y contains {found}: it must hold the declared classes {list(pair)} only; leave out rows without a label"
        )
    check_classification_targets(goal)
    strange = ~np.isin(goal, np.array(pair))
    if strange.any():
        found = np.asarray(goal[strange][:1]).tolist()[0]
        many = " Only binary classification is supported." if type_of_target(goal) == "multiclass" else ""
        raise InvalidRequest(
            f"y must hold the declared classes {list(pair)} only, got {found!r}; declare classes=[...] as they are "
            f"written in y, or convert y.{many}"
        )
    return (goal == pair[1]).astype(np.int64)
