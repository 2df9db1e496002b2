"""Private treatment rules by outcome weighted learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.price import Price
from discreet.core.result import Result
from discreet.core.schema import Categories
from discreet.errors import InvalidRequest
from discreet.models.design import Design
from discreet.models.estimators.arrays import rows_of
from discreet.models.estimators.perturbed_classifier import PerturbedClassifier
from discreet.models.losses import HuberHinge, Loss
from discreet.models.protocol import Columns
from discreet.models.target import Weight


@dataclass(kw_only=True, eq=False, repr=False)
class OutcomeWeightedLearner(PerturbedClassifier):
    """A rule that says who should be treated: a weighted support vector machine on the treatments that were given.

    A row counts with the weight benefit / propensity, clipped to [0, ``weight_bound``]: its benefit (0 or more, larger is
    better) over the probability with which this person had the treatment they did have (Zhao, Zeng, Rush and Kosorok
    2012). A rule that agrees with treatments that did good has a small loss. ``classes`` are the two treatments.
    ``propensity`` is the one of a trial with a public probability, such as 0.5; ``fit`` takes one for each row instead.

    ``weight_bound`` has no default on arrays: where it is too small all rows weigh alike, and the rule learns who was
    treated instead of who should be. Benefits up to 3 in a trial of 0.5 need 6.

    Through a session, ``weight=`` names the column of benefits and ``propensity=`` the one of propensities, and
    ``weight_bound`` is the largest declared benefit over the smallest declared propensity where none is given.

    Proof: a weight is a function of its own row and lies within [0, weight_bound], which multiplies slope and curvature.
    """

    weight_bound: Number | None = None
    width: Number = 0.5
    propensity: float | None = None
    shares: Any = None

    @property
    def _loss(self) -> Loss:
        return HuberHinge(self.width)  # type: ignore[arg-type]

    def fit(self, X: Any, y: Any, benefit: Any = None, propensity: Any = None) -> Self:
        """Fit to arrays: ``y`` holds the treatments, ``benefit`` and ``propensity`` a number for each row."""
        features = rows_of(self, X, reset=True).shape[1]
        self._check_declarations(features, lambda: _given(benefit), lambda: self._chances(propensity))
        return super().fit(X, y, self.weights_of(benefit, propensity))

    def weights_of(self, benefit: Any, propensity: Any = None) -> Any:
        """benefit / propensity of arrays, within [0, ``weight_bound``]."""
        return self._ratio(benefit, propensity, self._most_weight())

    def value(
        self,
        X: Any,
        treatment: Any,
        benefit: Any,
        propensity: Any = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
    ) -> Result:
        """The mean benefit that the rule would have: the mean of benefit / propensity where it agrees with the treatment.

        A paid release on private rows, weights clipped as in ``fit``. Judge a rule on rows it was not fitted to.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        most = float(self.fitted_.design.most_weight)
        weights = self._ratio(benefit, propensity, most)
        return self._score_arrays(X, treatment, (weights, most), Price(epsilon, delta, rho))

    def _scored_design(self) -> Design:
        """In a session the score of a rule is its value."""
        return replace(super()._scored_design(), weight=self.fitted_.design.weight)

    def _most_weight(self) -> float:
        if self.weight_bound is None:
            raise InvalidRequest(
                "a treatment rule needs a public weight_bound=, the largest benefit / propensity (6 for benefits up to 3 in "
                "a trial of 0.5), got none; it is never read off the data"
            )
        return float(numbers.positive(self.weight_bound, "weight_bound"))

    def _ratio(self, benefit: Any, propensity: Any, most: float) -> Any:
        """benefit / propensity within [0, most], from arrays that are checked."""
        good, chance = np.asarray(_given(benefit), np.float64), np.asarray(self._chances(propensity), np.float64)
        if good.ndim > 1 or chance.ndim > 1 or (good.ndim and chance.ndim and good.shape != chance.shape):
            raise InvalidRequest(f"benefit and propensity must be one number for each row, got {good.shape}, {chance.shape}")
        if not (np.isfinite(good).all() and (good >= 0).all()):
            raise InvalidRequest(f"benefit must be finite and 0 or more, got {good.min()}; add a public constant to all")
        if not ((chance > 0) & (chance <= 1)).all():
            raise InvalidRequest(f"propensity must lie within (0, 1], got {chance.min()} to {chance.max()}")
        return np.clip(good / chance, 0.0, most)

    def _declarations(self) -> list[Callable[[], Any]]:
        return [*super()._declarations(), self._most_weight]

    def _chances(self, propensity: Any) -> Any:
        """The probabilities of the treatments of arrays, or the public one."""
        chances = self._public_propensity() if propensity is None else propensity
        if chances is None:
            raise InvalidRequest("a treatment rule needs propensity=, the probability of the treatment that was given")
        return chances

    def _public_propensity(self) -> float | None:
        if self.propensity is None:
            return None
        if not (isinstance(self.propensity, int | float) and 0 < self.propensity <= 1):
            raise InvalidRequest(f"propensity must be a public number within (0, 1], got {self.propensity!r}")
        return float(self.propensity)

    def _weight(self, columns: Columns) -> str | Weight | None:
        if columns.weight is None:
            raise InvalidRequest("a treatment rule needs weight=, the column of benefits; larger is better")
        if columns.arrays:
            return Weight(columns.weight, self._most_weight())  # the quotient of arrays, which were checked
        over = columns.propensity if columns.propensity is not None else self._public_propensity()
        if over is None:
            raise InvalidRequest(
                "a treatment rule needs propensity=: the column of probabilities of the treatments that were given, or "
                "OutcomeWeightedLearner(propensity=0.5) for a trial"
            )
        return Weight(columns.weight, self._most_declared(columns, over), over)

    def _most_declared(self, columns: Columns, over: str | float) -> float:
        """The bound that was given, or what the schema declares: the largest benefit over the smallest propensity."""
        if self.weight_bound is not None:
            return self._most_weight()
        good = columns.schema[str(columns.weight)]
        chance = columns.schema[over] if isinstance(over, str) else None
        if isinstance(good, Categories) or isinstance(chance, Categories):
            raise InvalidRequest(
                "benefits and propensities must be declared as numbers, got categories; declare Real(0, 10)"
            )
        least = float(over) if chance is None else float(chance.lo)
        if not least > 0:
            raise InvalidRequest(
                f"a treatment rule needs a public weight_bound=, as propensities {over!r} are declared from {least:g} on; "
                "give it, or declare a smallest propensity above 0"
            )
        return float(good.hi) / least


def _given(benefit: Any) -> Any:
    if benefit is None:
        raise InvalidRequest("a treatment rule needs benefit=, a number of 0 or more for each row, larger is better")
    return benefit
