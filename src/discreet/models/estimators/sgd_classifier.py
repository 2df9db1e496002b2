"""A private linear classifier fitted by stochastic gradient descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.errors import InvalidRequest
from discreet.models.design import Design, Floats
from discreet.models.estimators.gradient_descent import Descends
from discreet.models.estimators.linear_classifier import FittedClassifier, LinearClassifier
from discreet.models.losses import HuberHinge, Logistic, Loss
from discreet.models.protocol import Columns

LOSSES: dict[str, Loss] = {"logistic": Logistic(), "huber_hinge": HuberHinge()}


@dataclass(kw_only=True, eq=False, repr=False)
class SGDClassifier(Descends, LinearClassifier):
    """A linear classifier by private stochastic gradient descent: ``loss`` is "logistic", "huber_hinge" or a Loss.

    ``epsilon`` and ``delta`` are the price of one fit, ``bounds`` the public (lo, hi) of the features, ``classes`` the
    two public labels. Rows have a norm of at most 1, so with these losses a ``clip`` of 1 shortens nothing. ``ridge``
    is that of the sum of losses. What the other parameters mean is said at ``Descends``: ``expected_rows``,
    ``lot_size``, ``epochs``, ``steps``, ``clip``, ``learning_rate``, ``momentum``, ``iterate``, ``checkpoint``,
    ``checkpoint_every``, ``data_version``. ``verbose`` shows a bar. ``random_state`` is for tests only: what it makes
    is not private.

    Proof: see ``discreet.models.gradient.engine.descend``.
    """

    loss: Literal["logistic", "huber_hinge"] | Loss = "logistic"

    @property
    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss) and self.loss.classifies:
            return self.loss
        if isinstance(self.loss, str) and self.loss in LOSSES:
            return LOSSES[self.loss]
        raise InvalidRequest(f"loss must be one of {', '.join(LOSSES)}, or a Loss of two classes, got {self.loss!r}")

    @property
    def _probabilities(self) -> bool:  # type: ignore[override]
        return isinstance(self._loss, Logistic)

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        return self._steps(self._two_classes(columns), columns, relation)

    def _steps(self, design: Design, columns: Columns, relation: Relation) -> Procedure[FittedClassifier]:
        fitted = yield from self._descend_linear(design, self._loss, columns, relation)
        return FittedClassifier(loss=self._loss, **fitted)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row; with the logistic loss only."""
        if not self._probabilities:
            raise InvalidRequest("this loss gives classes and scores, no probabilities; use loss='logistic'")
        yes = 0.5 * (1.0 + np.tanh(0.5 * self.decision_function(X)))
        return np.column_stack([1.0 - yes, yes])
