"""A private linear classifier with a loss of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidRequest
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.losses import Loss


@dataclass(kw_only=True, eq=False, repr=False)
class Classifier(PerturbedClassifier):
    """A linear classifier that minimises any convex loss of the score, such as one made by ``own_loss``, and a ridge.

    The guarantee rests on the slope and the curvature that the loss declares. Everything else is as for
    ``LogisticRegression``; there are scores, and no probabilities.
    """

    loss: Loss | None = None
    shares: Any = None

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), lambda: self._loss]

    @property
    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise InvalidRequest(f"loss must be a loss of discreet.models.losses, got {self.loss!r}; make one with own_loss")
        return self.loss
