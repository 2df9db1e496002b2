"""A model that somebody else wrote, trained by private gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from discreet.core import numbers
from discreet.core.query import Relation, check_relation
from discreet.core.release import Release
from discreet.core.runner import Desk, Procedure
from discreet.core.schema import Column, Real, Schema
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.arrays import checked_weights
from discreet.models.estimators.gradient_descent import Descends, privacy_of
from discreet.models.estimators.private_model import PrivateModel
from discreet.models.gradient.engine import Trained
from discreet.models.gradient.lot_gradient import Gathered
from discreet.models.gradient.person_loss import PersonLoss
from discreet.models.gradient.rows_table import RowsTable
from discreet.models.protocol import Columns


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """What was released: parameters as one vector, and how they were made."""

    trained: Trained
    ridge: Fraction
    relation: Relation
    releases: tuple[Release, ...]


@dataclass(kw_only=True, eq=False, repr=False)
class OwnNetwork(Descends, PrivateModel):
    """Any differentiable model, by private stochastic gradient descent: ``loss`` is made by ``jax_loss`` or ``torch_loss``.

    ``epsilon`` and ``delta`` are the price of one fit. Features need no bounds, since what a person adds is clipped whatever
    it was made of. ``predicting(parameters, X)`` is what ``predict`` calls. What the other parameters mean is said at
    ``Descends``; ``clip`` is a number here. ``random_state`` is for tests only: what it makes is not private.

    ``fit(X, y)`` takes arrays whose first axis is rows, of any further shape and type; ``groups`` names the person of each
    row where people have several, and then a lot holds people. ``Session.fit`` takes columns; classes are then 0, 1, ...
    After ``fit``, ``parameters_`` are the trained ones as the loss has them and ``privacy_`` says what they cost.

    Proof: see ``discreet.models.gradient.engine.descend`` and ``PersonGradients``.

    Example: ``OwnNetwork(loss=jax_loss(f, start), epsilon=2, delta=1e-5, expected_rows=1500, lot_size=128).fit(X, y)``.
    """

    loss: Any = None
    predicting: Callable[[Any, Any], Any] | None = None
    classes: Any = None
    iterate: Literal["last", "average"] = "last"

    def _loss(self) -> PersonLoss:
        if not isinstance(self.loss, PersonLoss):
            raise InvalidRequest(
                f"loss must be made by jax_loss(function, parameters) or torch_loss(module, loss), got {self.loss!r:.60}"
            )
        return self.loss

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedParameters]:
        if columns.propensity is not None:
            raise InvalidRequest("OwnNetwork takes no propensity; an OutcomeWeightedLearner does")
        if not isinstance(self.clip, int | float | str | Fraction):
            raise InvalidRequest(f"clip must be a number for a loss of one's own, got {self.clip!r:.60}")
        loss = self._loss()
        if columns.raw:
            return self._steps(None, loss, columns, relation)
        design = Design.of(
            columns.schema, columns.features, columns.target, intercept=False, radius=None, weight=columns.weight
        )
        return self._steps(design, loss, columns, relation)

    def _steps(
        self, design: Design | None, loss: PersonLoss, columns: Columns, relation: Relation
    ) -> Procedure[FittedParameters]:
        ridge = numbers.non_negative(self.ridge, "ridge")
        trained, bought = yield from self._descend(design, loss, columns, relation, 1.0, ridge=float(ridge))
        return FittedParameters(trained, ridge, relation, bought)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit to arrays, for someone who holds them: their first axis is rows, of which ``groups`` names the people."""
        self._check_declarations(0)
        if hasattr(X, "toarray"):
            raise InvalidRequest("a loss of one's own reads dense arrays, got a sparse X; use X.toarray(), or a part of it")
        x, goal = np.asarray(X), np.asarray(y)
        if x.ndim < 1 or goal.ndim < 1 or len(x) != len(goal) or "O" in (x.dtype.kind, goal.dtype.kind):
            raise InvalidRequest(
                f"X and y must be arrays of numbers with as many rows, got shapes {x.shape} and {goal.shape} of the types "
                f"{x.dtype} and {goal.dtype}"
            )
        weight = None
        if sample_weight is not None:
            weight = checked_weights(sample_weight, len(x), self._most_weight())
        table = RowsTable(_gathered(x, goal, weight, groups), self.data_version)
        relation = check_relation(self.neighbors)
        people = table.rows.people if relation == "replace" else None
        schema = Schema({"y": Real(-1, 1)}, neighbors=relation, expected_rows=people)
        plain = self.desk({"y": np.empty(0)}, schema)
        columns = Columns(schema, (), "y", rows=people, raw=True, arrays=True)
        fitted = Desk(table, plain.ledger, plain.random, relation).run(self.procedure(columns, relation))
        self.accept(fitted, columns)
        return self

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), self._loss]

    def _bounds(self, features: int) -> None:
        """None: what a person adds is clipped, whatever it was made of."""

    def _set_fitted(self, fitted: FittedParameters) -> None:
        restore = self._loss().restore
        assert restore is not None
        self.parameters_ = restore(fitted.trained.flat)
        self.privacy_ = privacy_of(fitted.trained, fitted.releases, fitted.relation, fitted.ridge)
        self.fitted_ = fitted

    def _target(self, y: Any) -> tuple[Any, Column]:
        raise InvalidRequest("arrays of a loss of one's own are read as they are; use fit")

    def predict(self, X: Any) -> Any:
        """What ``predicting`` makes of rows, which are read as they are."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "parameters_")
        if self.predicting is None:
            raise InvalidRequest("OwnNetwork(predicting=...) says how to predict; or use parameters_ with your own function")
        return self.predicting(self.parameters_, X)


def _gathered(x: Any, y: Any, weight: Any, groups: Any) -> Gathered:
    """Rows with those of one person side by side."""
    if groups is None:
        return Gathered(x, y, weight, None, len(x), None)
    people = np.asarray(groups)
    if people.shape != (len(x),):
        raise InvalidRequest(f"groups must name the person of each of {len(x)} rows, got shape {people.shape}")
    _, codes = np.unique(people, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) > 0)[: len(x)])
    return Gathered(x[order], y[order], None if weight is None else weight[order], starts, len(starts), None)
