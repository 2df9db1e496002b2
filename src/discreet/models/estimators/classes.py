"""Classifiers with any number of declared classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.query import check_relation
from discreet.core.result import Result
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Column, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.arrays import label_codes
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.evaluate.coded_table import check_inputs, coded_columns
from discreet.models.evaluate.decisions import RightDecisions, RuleCounts, accuracy_of
from discreet.models.protocol import Columns

J = TypeVar("J", bound=RuleCounts)


def several_labels(classes: Any, name: str) -> tuple[Any, ...]:
    """Two public labels or more."""
    if classes is None:
        raise InvalidRequest(f"{name} needs public classes=[...]; they are never read off the data", key="classes")
    labels = tuple(np.asarray(classes).tolist())
    if len(labels) < 2 or len(set(labels)) != len(labels):
        raise InvalidRequest(f"classes must be at least two different labels, got {list(labels)}")
    return labels


class JudgedByRule(PrivateModel):
    """A fitted classifier that is judged by a rule: what it decides about each row."""

    classes_: Any

    @property
    def predictor(self) -> Any:
        """What predicts: all of a model that is published."""
        raise InvalidRequest(f"{type(self).__name__} has nothing that predicts")

    @property
    def _rule(self) -> Any:
        """What the fitted model decides by."""
        return self.fitted_.rule

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
        rows = self.predictor.rows(self.columns_of(X))  # refuses what cannot be predicted from before anything is paid
        rule, codes = self._rule, label_codes(y, self.classes_)
        if len(codes) != len(rows):
            raise InvalidRequest(f"X and y must have as many rows, got {len(rows)} and {len(codes)}")
        table, columns = coded_columns(rule.inputs, rows)
        schema = Schema(
            columns | {rule.target: Categories(tuple(range(rule.classes)))}, neighbors=check_relation(self.neighbors)
        )
        return table | {rule.target: codes}, schema, kind.of(rule, 1)

    def judged_in(self, schema: Schema, kind: type[J]) -> J:
        """The question how the model decides on a table that is declared as the one it was fitted to."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        rule = self._rule
        check_inputs(rule.inputs, rule.target, tuple(self.classes_.tolist()), schema)
        return kind.of(rule, schema.max_rows or 1)


@dataclass(kw_only=True, eq=False, repr=False)
class ManyClasses(ClassifierMixin, JudgedByRule):  # type: ignore[misc]
    """A model that tells two or more declared ``classes`` apart; what it fitted has a ``predictor`` that decides."""

    classes: Any = None
    score = PrivateModel.score  # refused: ahead of the score of scikit-learn's mixin

    def _classes(self) -> tuple[Any, ...]:
        """The public labels of arrays."""
        return several_labels(self.classes, type(self).__name__)

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), self._classes]

    def _target(self, y: Any) -> tuple[Any, Column]:
        labels = np.array(self._classes())
        return label_codes(y, labels), Categories(tuple(range(len(labels))))

    def accept(self, fitted: Any, columns: Columns) -> None:
        super().accept(fitted, columns)
        if columns.arrays:
            # Inside, the classes of arrays are 0, 1, ...: labels may be of kinds that no schema declares.
            self.classes_ = np.array(self._classes())

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        rows = self.columns_of(X)
        chances: Floats = self.predictor.predict_proba(rows)
        return chances

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        rows = self.columns_of(X)
        return self.predictor.predict(rows)

    def public_score(self, X: Any, y: Any) -> float:
        """The share of right predictions on rows that are public: it is exact, and not private."""
        return float(np.mean(np.asarray(self.predict(X)) == np.asarray(y)))
