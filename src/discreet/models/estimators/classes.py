"""Classifiers with any number of declared classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.core.schema import Categories, Column
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.protocol import Columns


@dataclass(kw_only=True, eq=False, repr=False)
class ManyClasses(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A model that tells two or more declared ``classes`` apart; what it fitted has a ``predictor`` that decides."""

    classes: Any = None
    score = PrivateModel.score  # refused: ahead of the score of scikit-learn's mixin

    def _classes(self) -> tuple[Any, ...]:
        """The public labels of arrays."""
        if self.classes is None:
            raise InvalidRequest(
                f"{type(self).__name__} needs public classes=[...]; they are never read off the data", key="classes"
            )
        labels = tuple(np.asarray(self.classes).tolist())
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise InvalidRequest(f"classes must be at least two different labels, got {list(labels)}")
        return labels

    def _target(self, y: Any) -> tuple[Any, Column]:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d

        labels = np.array(self._classes())
        goal = column_or_1d(y, warn=True)
        if goal.dtype.kind == "f" and not np.isfinite(goal).all():
            found = "NaN" if np.isnan(goal).any() else "infinity"
            raise InvalidRequest(
                f"Input y contains {found}: it must hold the declared classes {labels.tolist()} only; leave out rows "
                "without a label"
            )
        check_classification_targets(goal)
        strange = ~np.isin(goal, labels)
        if strange.any():
            raise InvalidRequest(
                f"y must hold the declared classes {labels.tolist()} only, got {goal[strange][:1].tolist()[0]!r}; declare "
                "classes=[...] as they are written in y, or convert y"
            )
        order = np.argsort(labels)
        return order[np.searchsorted(labels, goal, sorter=order)].astype(np.int64), Categories(tuple(range(len(labels))))

    def accept(self, fitted: Any, columns: Columns) -> None:
        super().accept(fitted, columns)
        if columns.arrays:
            # Inside, the classes of arrays are 0, 1, ...: labels may be of kinds that no schema declares.
            self.classes_ = np.array(self._classes())

    @property
    def predictor(self) -> Any:
        """What predicts: all of a model that is published."""
        raise InvalidRequest(f"{type(self).__name__} has nothing that predicts")

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        rows = self.columns_of(X)
        found: Floats = self.predictor.predict_proba(rows)
        return found

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        rows = self.columns_of(X)
        return self.predictor.predict(rows)

    def paid_score(
        self, X: Any, y: Any, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None
    ) -> Result:
        """The share of right predictions on private rows: a release that costs what is given, at ``ledger`` if there is one.

        A model does better on the rows it was fitted to than on others: judge it on others.
        """
        table, schema, question = self.judged_on(X, y, RightDecisions)
        return self.desk(table, schema).run(accuracy_of(question, Price(epsilon, delta, rho), schema.neighbors))

    def score_procedure(self, schema: Schema, price: Price) -> Procedure[Result]:
        """The paid score on a table with a schema, for a session."""
        return accuracy_of(self.judged_in(schema, RightDecisions), price, schema.neighbors)

    def judged_on(self, X: Any, y: Any, kind: type[J]) -> tuple[dict[str, Any], Schema, J]:
        """Arrays as a table, its schema, and the question how the model decides on it."""
        fresh = clone(self).set_params(classes=self.classes_.tolist(), bounds=self._declared_bounds)
        fresh.__dict__.update({k: v for k, v in vars(self).items() if k in ("feature_names_in_", "n_features_in_")})
        rows_of(fresh, X)
        table, columns = fresh.read_arrays(X, y, None)
        names = (*columns.features, columns.target)
        rule = self.fitted_
        coded = dict(zip(rule.columns, (table[name] for name in names), strict=True))
        declared = {mine: columns.schema[name] for mine, name in zip(rule.columns, names, strict=True)}
        schema = Schema(declared, neighbors=columns.schema.neighbors)
        return coded, schema, kind(rule.columns, rule.classes, 1, rule.digest, rule)

    def judged_in(self, schema: Schema, kind: type[J]) -> J:
        """The question how the model decides on a table that is declared as the one it was fitted to."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        rule = self.fitted_
        rule.check_declared(schema)
        return kind(rule.columns, rule.classes, schema.max_rows or 1, rule.digest, rule)

    def public_score(self, X: Any, y: Any) -> float:
        """The share of right predictions on rows that are public: it is exact, and not private."""
        return float(np.mean(np.asarray(self.predict(X)) == np.asarray(y)))
