"""Linear classifiers: a loss of the margin, a ridge, and noise in the objective or on its minimiser."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.core.schema import Categories, Column
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimator import Columns, Privacy, PrivateModel, declared_classes
from discreet.models.intervals import Certainty, Intervals, certainty_asks, shares_of
from discreet.models.losses import Loss
from discreet.models.perturbation import Price, ask_for, ridge_of


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was released: the coefficients on the scale of the design, and how they were made."""

    design: Design
    loss: Loss
    theta: Floats
    ridge: Fraction
    method: str
    rows: int | None
    releases: tuple[Release, ...]
    certainty: Certainty | None = None

    @property
    def privacy(self) -> Privacy:
        """What it cost."""
        cost = sum((r.cost for r in self.releases if r.cost is not None), Cost.nothing())
        relation = self.releases[0].relation or "add_remove"
        private = all(r.private for r in self.releases)
        return Privacy(cost, relation, private, self.method, float(self.ridge), self.releases)


class LinearClassifier(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A classifier that is linear in its features.

    With ``intervals`` a fit also pays for what ``confidence_intervals`` needs, out of the same price: ``shares`` of it go to
    the coefficients, to the curvature of the loss and to the products of its slopes.
    """

    intervals: bool = False
    shares: Any = None
    method: Any
    ridge: Any
    fit_intercept: bool
    classes: Any
    radius: Any

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of the margin."""

    def _design(self, columns: Columns) -> Design:
        radius = None if self.radius is None else numbers.positive(self.radius, "radius")
        return Design.of(
            columns.schema,
            columns.features,
            columns.target,
            intercept=self.fit_intercept,
            radius=radius,
            weight=columns.weight,
        )

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[Fitted]:
        design = self._design(columns)
        if len(design.target.classes) != 2:
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as Categories of two labels, "
                f"got {list(design.target.classes) or 'a number'}"
            )
        ridge, price = numbers.positive(self.ridge, "ridge"), self.price
        if not self.intervals:
            if self.shares is not None:
                raise InvalidRequest("shares are for fits with intervals=True; leave them out, or ask for intervals")
            return self._ask(ask_for(design, self._loss, ridge, self.method, price, relation), design, columns)
        first, *rest = (price.share(s) for s in shares_of(self.shares, self.method, price))
        ask = ask_for(design, self._loss, ridge, self.method, first, relation)
        return self._ask_more(ask, design, columns, relation, (rest[0], rest[1]))

    def _ask(self, ask: Ask, design: Design, columns: Columns) -> Procedure[Fitted]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        return Fitted(design, self._loss, theta, ridge_of(ask), self.method, columns.rows, (release,))

    def _ask_more(
        self, ask: Ask, design: Design, columns: Columns, relation: Relation, prices: tuple[Price, Price]
    ) -> Procedure[Fitted]:
        fitted = yield from self._ask(ask, design, columns)
        pair = yield certainty_asks(design, fitted.loss, fitted.theta, prices, relation, columns.rows)
        certainty = Certainty.read(design, fitted.releases[0], fitted.ridge, pair, columns.rows)
        return replace(fitted, releases=(*fitted.releases, *pair), certainty=certainty)

    def _accept(self, fitted: Fitted) -> None:
        table = fitted.theta / fitted.design.units
        features = fitted.design.width - self.fit_intercept
        self.coef_ = table[None, :features]
        self.intercept_ = table[features:] if self.fit_intercept else np.zeros(1)
        self.classes_ = np.array(fitted.design.target.classes)
        self.feature_names_ = fitted.design.names
        self.ridge_ = float(fitted.ridge)
        self.privacy_ = fitted.privacy
        self.fitted_ = fitted

    def confidence_intervals(self, level: float = 0.95) -> Intervals:
        """An interval for each coefficient: rows as ``coef_``, the intercept last, on the scale of the table.

        Each covers, with probability ``level`` over the sample and the noise, the *regularised* minimiser of the population:
        the coefficients that this loss with this ridge (``ridge_``) would have on all people. They say nothing about
        coefficients without a ridge. Costs nothing: what is needed was paid for by a fit with ``intervals=True``.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: Fitted = self.fitted_
        if fitted.certainty is None:
            raise InvalidRequest(
                "confidence intervals are paid for when a model is fitted; make it with intervals=True and fit again"
            )
        half = fitted.certainty.half_lengths(level) / fitted.design.units
        table = fitted.theta / fitted.design.units
        names = (*fitted.design.names, *(["intercept"] if fitted.design.intercept else []))
        return Intervals(names, table - half, table + half, level, float(fitted.ridge))

    def _target(self, y: Any) -> tuple[Any, Column]:
        from sklearn.utils.multiclass import check_classification_targets
        from sklearn.utils.validation import column_or_1d

        pair = declared_classes(self.classes, type(self).__name__)
        goal = column_or_1d(y, warn=True)
        check_classification_targets(goal)
        strange = ~np.isin(goal, np.array(pair))
        if strange.any():
            raise InvalidRequest(f"y must hold the declared classes {list(pair)} only, got {goal[strange][0]!r}")
        return (goal == pair[1]).astype(np.int64), Categories((0, 1))

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: positive for the second class."""
        from sklearn.utils.validation import check_is_fitted, validate_data

        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        score: Floats = X @ self.coef_[0] + self.intercept_[0]
        return score

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]
