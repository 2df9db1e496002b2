"""Linear classifiers that minimise a loss and a ridge, private by noise in the objective or on its minimiser."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.ask import Ask
from discreet.core.price import Price
from discreet.core.query import Relation
from discreet.core.release import Release
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.arrays import positive_ridge
from discreet.models.estimators.linear_classifier import FittedClassifier, LinearClassifier
from discreet.models.estimators.private_model import Perturbed
from discreet.models.intervals.sandwich import sandwich, sandwich_asks, shares_of, usual_shares
from discreet.models.losses import Loss
from discreet.models.perturbation import DESCENTS, Method, ask_for, free_ridge, ridge_of
from discreet.models.protocol import Columns


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedMinimiser(Perturbed):
    """A linear model that is the minimiser of a loss and a ridge, released once or with what intervals need."""

    @abstractmethod
    def _loss_of(self, design: Design) -> Loss:
        """The loss of one row."""

    def _ask(self, ask: Ask, design: Design, columns: Columns) -> Procedure[FittedClassifier]:
        release: Release = yield ask
        theta = np.asarray(release.value, np.float64)
        return FittedClassifier(
            design=design,
            loss=self._loss_of(design),
            theta=theta,
            ridge=ridge_of(ask),
            method=str(self.method),
            rows=columns.rows,
            releases=(release,),
        )

    def _ask_more(
        self, ask: Ask, design: Design, columns: Columns, relation: Relation, prices: tuple[Price, Price]
    ) -> Procedure[FittedClassifier]:
        fitted = yield from self._ask(ask, design, columns)
        pair = yield sandwich_asks(design, fitted.loss, fitted.theta, prices, relation, columns.rows)
        law = sandwich(design, fitted.releases[0], fitted.ridge, pair, columns.rows)
        return replace(fitted, releases=(*fitted.releases, *pair), error_law=law)


@dataclass(kw_only=True, eq=False, repr=False)
class PerturbedClassifier(PerturbedMinimiser, LinearClassifier):
    """A linear classifier whose minimiser is perturbed; its parameters are those of ``LogisticRegression``."""

    method: Method = "objective"

    def _loss_of(self, design: Design) -> Loss:
        return self._loss

    @property
    def shares(self) -> Any:
        """How intervals divide the price; None where that is not chosen."""
        return None

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        design = self._two_classes(columns)
        ridge, price = self._asked_ridge(design, relation), self.price
        self._check_intervals()
        if not self.intervals:
            if self.shares is not None:
                raise InvalidRequest("shares are for fits with intervals=True; leave them out, or ask for intervals")
            return self._ask(ask_for(design, self._loss, ridge, self.method, price, relation, columns.rows), design, columns)
        given = self.shares
        if given is None:
            given = usual_shares(design, self._loss, ridge, self.method, price, relation)
        first, *rest = (price.share(s) for s in shares_of(given, self.method))
        if self.method == "objective" and self._loss.free_jacobian and not price.is_infinite:
            # A smaller ridge would be raised too, or leave much of the share to the Jacobian: intervals would be longer.
            ridge = max(ridge, free_ridge(1, design, first, relation))
        ask = ask_for(design, self._loss, ridge, self.method, first, relation)
        return self._ask_more(ask, design, columns, relation, (rest[0], rest[1]))

    def _check_intervals(self) -> None:
        """For a model that has no intervals: refuses to pay for some, with the reason."""

    def _asked_ridge(self, design: Design, relation: Relation) -> Fraction:
        """The ridge asked for. Only a descent does without one."""
        return numbers.non_negative(self.ridge, "ridge") if str(self.method) in DESCENTS else positive_ridge(self.ridge)
