"""A private linear classifier with a loss of one's own."""

from __future__ import annotations

from typing import Any

from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.errors import InvalidRequest
from discreet.models.linear_classifier import LinearClassifier
from discreet.models.losses import Loss
from discreet.models.perturbation import Method


class Classifier(LinearClassifier):
    """A linear classifier that minimises any convex loss of the score, such as one made by ``own_loss``, and a ridge.

    The guarantee rests on the slope and the curvature that the loss declares. Everything else is as for
    ``LogisticRegression``; there are scores, and no probabilities.
    """

    def __init__(
        self,
        *,
        loss: Loss | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,
        classes: Any = None,
        method: Method = "objective",
        ridge: Number = 1.0,
        fit_intercept: bool = True,
        penalty: str = "ridge",
        radius: Number | None = None,
        weight_bound: Number = 1.0,
        intervals: bool = False,
        shares: Any = None,
        neighbors: Relation = "add_remove",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalty = penalty
        self.radius = radius
        self.weight_bound = weight_bound
        self.intervals = intervals
        self.shares = shares
        self.neighbors = neighbors
        self.ledger = ledger
        self.random_state = random_state
        self.loss = loss

    @property
    def _loss(self) -> Loss:
        if not isinstance(self.loss, Loss):
            raise InvalidRequest(f"loss must be a loss of discreet.models.losses, got {self.loss!r}; make one with own_loss")
        return self.loss
