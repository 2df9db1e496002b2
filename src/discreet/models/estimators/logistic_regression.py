"""Private logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core.query import Relation
from discreet.models.design import Design, Floats
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.intervals.coefficient_intervals import CoefficientIntervals
from discreet.models.losses import Logistic, Loss
from discreet.models.perturbation import free_ridge


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(PerturbedClassifier):
    """Logistic regression with a ridge, private by noise in its objective or on its coefficients.

    ``epsilon`` alone, ``epsilon`` and ``delta``, or ``rho`` is the price of one fit. ``bounds`` are the public (lo,
    hi) of the features, ``classes`` the two public labels. ``method`` is "objective", "output", or under
    replace "opera" (``Opera(steps, rate)`` to say how far it goes) or "outpert" (``OutPert``); ``ridge`` that of
    the sum of losses over rows of norm at most 1, or "auto", the least at which noise in the objective pays nothing for the
    Jacobian: about 1 / epsilon, twice that under replace; ``radius`` a public norm, on the scale of columns divided by their
    largest bound, to which longer rows are clipped (less noise relative to shorter rows). ``intervals`` pays for
    ``confidence_intervals`` out of the same price, in three ``shares`` (coefficients, curvature, slopes); they cover the
    regularised minimiser of the population, and a ridge below where noise in the objective pays no Jacobian (1 / epsilon of
    the first share, twice that under replace) is raised to it. ``neighbors`` is "add_remove", "replace" or "both".
    ``sample_weight`` in ``fit`` lies within [0, ``weight_bound``]; ``penalty`` is always a ridge. ``random_state`` is for
    tests only: what it makes is not private.
    """

    ridge: Any = 1.0
    shares: Any = None
    _probabilities: ClassVar[bool] = True
    _free: ClassVar[int] = 1  # times 1 / epsilon is the ridge that makes the Jacobian free

    @property
    def _loss(self) -> Loss:
        return Logistic()

    def _asked_ridge(self, design: Design, relation: Relation) -> Fraction:
        auto = isinstance(self.ridge, str) and self.ridge == "auto"
        return free_ridge(self._free, design, self.price, relation) if auto else super()._asked_ridge(design, relation)

    def odds_ratios(self, level: float = 0.95) -> CoefficientIntervals:
        """Intervals of exp(coefficient): how many times larger the odds of the second class are for one unit more.

        Of a category, against its reference level. Costs nothing where the fit paid for ``intervals=True``.
        """
        return self.confidence_intervals(level).exponentiated()

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, for each row."""
        rows = self.columns_of(X)
        return self.predictor.predict_proba(rows)
