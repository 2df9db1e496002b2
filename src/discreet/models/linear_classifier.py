"""Linear classifiers: a loss of the margin, a ridge, and noise in the objective or on its minimiser."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

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
from discreet.models.design import Design, Floats, Fourier, Weight
from discreet.models.estimator import (
    Columns,
    Privacy,
    check_penalty,
    declared_classes,
    positive_ridge,
    raised_from,
    rows_of,
)
from discreet.models.intervals import Certainty, Intervals, certainty_asks, shares_of
from discreet.models.judged import Judged, codes
from discreet.models.losses import Loss
from discreet.models.perturbation import Price, ask_for, ridge_of
from discreet.models.predictor import Input, Kernel, LinearPredictor
from discreet.models.wald import CoefficientTest, classifier_test


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

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The columns that a prediction reads."""
        return tuple(Input(f.column, None if f.raw or f.labels else (f.lo, f.hi), f.labels) for f in self.design.features)

    def predictor(self, classes: tuple[Any, Any], probabilities: bool) -> LinearPredictor:
        """What predicts from rows of the table."""
        design, kernel = self.design, None
        if design.drawn is not None:
            units = np.array([f.unit for f in design.features for _ in range(f.size)])
            kernel = Kernel(units, *design.drawn)
        table = self.theta / design.units
        last = design.width - design.intercept
        constant = float(table[last]) if design.intercept else 0.0
        return LinearPredictor(self.inputs, table[:last], constant, classes, probabilities, kernel)


class LinearClassifier(ClassifierMixin, Judged):  # type: ignore[misc]
    """A classifier that is linear in its features. Scores of its second class are positive.

    With ``intervals`` a fit also pays for what ``confidence_intervals`` needs, out of the same price: ``shares`` of it go to
    the coefficients, to the curvature of the loss and to the products of its slopes.
    """

    intervals: bool = False
    shares: Any = None
    method: Any
    ridge: Any
    penalty: Any
    fit_intercept: bool
    classes: Any
    radius: Any
    _probabilities: ClassVar[bool] = False
    score = Judged.score  # refused: ahead of the score of scikit-learn's mixin

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
            weight=self._weight(columns),
            fourier=self._fourier(columns),
            raw=columns.raw,
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

    def _procedure(self, columns: Columns, relation: Relation) -> Procedure[Fitted]:
        check_penalty(self.penalty)
        design = self._design(columns)
        if len(design.target.classes) != 2:
            raise InvalidRequest(
                f"the target {columns.target!r} must be declared as Categories of two labels, "
                f"got {list(design.target.classes) or 'a number'}"
            )
        ridge, price = self._least_ridge, self.price
        self._check_intervals()
        if not self.intervals:
            if self.shares is not None:
                raise InvalidRequest("shares are for fits with intervals=True; leave them out, or ask for intervals")
            return self._ask(ask_for(design, self._loss, ridge, self.method, price, relation, columns.rows), design, columns)
        first, *rest = (price.share(s) for s in shares_of(self.shares, self.method, price, self._loss))
        ask = ask_for(design, self._loss, ridge, self.method, first, relation)
        return self._ask_more(ask, design, columns, relation, (rest[0], rest[1]))

    def _check_intervals(self) -> None:
        """For a model that has no intervals: refuses to pay for some, with the reason."""

    @property
    def _least_ridge(self) -> Fraction:
        """The ridge asked for. Only a descent does without one."""
        return numbers.non_negative(self.ridge, "ridge") if str(self.method) == "opera" else positive_ridge(self.ridge)

    def _ask(self, ask: Ask, design: Design, columns: Columns) -> Procedure[Fitted]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        return Fitted(design, self._loss, theta, ridge_of(ask), str(self.method), columns.rows, (release,))

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
        self.privacy_ = replace(fitted.privacy, asked_ridge=raised_from(self.ridge, self.ridge_))
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

    def test(self, coefficients: Any, value: float = 0.0) -> CoefficientTest:
        """Whether a coefficient, or a combination such as ``{"dose": 1, "age": -1}``, has a given value (Wald's test).

        It is a statement about what ``confidence_intervals`` covers, the regularised minimiser of the population; costs
        nothing where the fit paid for ``intervals=True``.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return classifier_test(self, coefficients, value)

    def _target(self, y: Any) -> tuple[Any, Column]:
        return codes(y, self._classes()), Categories((0, 1))

    def _classes(self) -> tuple[Any, Any]:
        """The two public labels of arrays."""
        return declared_classes(self.classes, type(self).__name__)

    def _accept_arrays(self, fitted: Fitted) -> None:
        super()._accept_arrays(fitted)
        # Inside, the classes of arrays are 0 and 1: labels may be of kinds that no schema declares.
        self.classes_ = np.array(self._classes())

    @property
    def predictor(self) -> LinearPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        no, yes = self.classes_.tolist()
        return self.fitted_.predictor((no, yes), self._probabilities)

    def _columns_of(self, X: Any) -> Any:
        """Columns to predict from: arrays validated as scikit-learn does, tables of a session by their names."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        return X if getattr(self, "fitted_to_table_", False) else rows_of(self, X)

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: positive for the second class. Values outside the bounds are clipped, as in ``fit``."""
        rows = self._columns_of(X)
        return self.predictor.decision_function(rows)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        yes = self.decision_function(X) > 0
        return self.classes_[yes.astype(int)]
