"""Private logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.models.design import Floats
from discreet.models.linear_classifier import LinearClassifier
from discreet.models.losses import Logistic, Loss
from discreet.models.perturbation import Method


class LogisticRegression(LinearClassifier):
    """Logistic regression with a ridge, private by noise in its objective or on its coefficients.

    ``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho`` is the price of one fit. ``bounds`` are the public (lo,
    hi) of the features, ``classes`` the two public labels. ``method`` is "objective", "output", or under
    replace "opera" (``Opera(steps, rate)`` to say how far it goes); ``ridge`` that of
    the sum of losses over rows of norm at most 1; ``radius`` a public norm, on the scale of columns divided by their
    largest bound, to which longer rows are clipped (less noise relative to shorter rows). ``intervals`` pays for
    ``confidence_intervals`` out of the same price, in three ``shares`` (coefficients, curvature, slopes); they cover the
    regularised minimiser of the population. ``neighbors`` is "add_remove", "replace" or "both". ``sample_weight`` in
    ``fit`` lies within [0, ``weight_bound``]; ``penalty`` is always a ridge. ``random_state`` is for tests only: what it
    makes is not private.
    """

    _probabilities: ClassVar[bool] = True

    def __init__(
        self,
        *,
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

    @property
    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        rows = self._columns_of(X)
        return self.predictor.predict_proba(rows)
