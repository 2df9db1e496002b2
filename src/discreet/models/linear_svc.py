"""A private linear support vector machine."""

from __future__ import annotations

from typing import Any

from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.models.linear_classifier import LinearClassifier
from discreet.models.losses import HuberHinge, Loss
from discreet.models.perturbation import Method


class LinearSVC(LinearClassifier):
    """A linear support vector machine: the hinge with its corner rounded over ``width``, and a ridge.

    ``width`` h rounds the corner between margins 1 - h and 1 + h; a smaller one is nearer to the hinge and has the larger
    curvature 1 / (2h), for which objective perturbation needs more ridge or more noise. Everything else is as for
    ``LogisticRegression``; there are scores, and no probabilities.
    """

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        bounds: Any = None,
        classes: Any = None,
        width: Number = 0.5,
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
        self.width = width
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

    @property
    def _loss(self) -> Loss:
        return HuberHinge(self.width)  # type: ignore[arg-type]
