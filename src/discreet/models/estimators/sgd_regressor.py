"""A private linear regression fitted by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.estimators.arrays import check_penalty
from discreet.models.estimators.gradient_descent import Descends
from discreet.models.estimators.regressor import FittedRegression, Regressor
from discreet.models.losses import Huber, Loss, Squared
from discreet.models.protocol import Columns

LOSSES: dict[str, Loss] = {"huber": Huber(), "squared": Squared()}


@dataclass(kw_only=True, eq=False, repr=False)
class SGDRegressor(Descends, Regressor):
    """A linear regression by private stochastic gradient descent: ``loss`` is "squared", "huber" or a Loss of a number.

    ``target_bounds`` are the public (lo, hi) of the target, which is divided by the larger of them: with the Huber loss
    residuals beyond that count linearly. The squared loss has no largest slope; ``clip`` is what bounds it. Everything
    else is as for ``SGDClassifier``.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    loss: Literal["squared", "huber"] | Loss = "squared"
    epochs: float = 20

    @property
    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss) and not self.loss.classifies:
            return self.loss
        if isinstance(self.loss, str) and self.loss in LOSSES:
            return LOSSES[self.loss]
        raise InvalidRequest(f"loss must be one of {', '.join(LOSSES)}, or a Loss of a number, got {self.loss!r}")

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedRegression]:
        check_penalty(self.penalty)
        return self._steps(columns, relation)

    def _steps(self, columns: Columns, relation: Relation) -> Procedure[FittedRegression]:
        fitted = yield from self._descend_linear(self._design(columns), self._loss, columns, relation)
        return FittedRegression(**fitted)
