"""Private Gaussian naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.numbers import Number
from discreet.core.query import Relation
from discreet.core.runner import Procedure
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.models.estimators.classes import ManyClasses
from discreet.models.estimators.from_sums import FittedSums, FromSums
from discreet.models.evaluate.decisions import DecisionRule, digest_of
from discreet.models.protocol import Columns
from discreet.models.publish.gaussian_predictor import GaussianPredictor
from discreet.models.publish.predictor import Input
from discreet.models.queries.class_moments import NoisyClassMoments, ask_moments
from discreet.statistics.bounded_rows import BoundedRows

_LEAST = 1e-3  # of the variance of s in [-1, 1]: a column that does not vary decides nothing by itself
_LEAST_SHARED = 2e-2  # the same of the variance that classes share


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedGaussians(FittedSums):
    """Priors, and means and variances of s in [-1, 1], a line for each class."""

    bounded: BoundedRows
    priors: Floats
    means: Floats
    variances: Floats

    @property
    def declared(self) -> BoundedRows:
        return self.bounded

    @property
    def rule(self) -> DecisionRule:
        """How it is judged."""
        return GaussianRule(self.bounded, self.predictor(range(len(self.priors))))

    def predictor(self, classes: Sequence[Any]) -> GaussianPredictor:
        """What predicts from rows of the table."""
        inputs = tuple(Input(f.column, (f.lo, f.hi)) for f in self.bounded.numbers)
        means = self.bounded.middles + self.bounded.halves * self.means
        return GaussianPredictor(inputs, tuple(classes), means, self.bounded.halves**2 * self.variances, self.priors)


@dataclass(frozen=True, eq=False)
class GaussianRule:
    """How Gaussian densities decide about private rows."""

    bounded: BoundedRows
    predictor: GaussianPredictor

    @property
    def inputs(self) -> Sequence[Input]:
        return self.predictor.inputs

    @property
    def target(self) -> str:
        assert self.bounded.target is not None
        return self.bounded.target.column

    @property
    def classes(self) -> int:
        return len(self.predictor.classes)

    @property
    def digest(self) -> str:
        return digest_of(self.predictor.means, self.predictor.variances, self.predictor.priors)

    def decide(self, batch: Batch) -> tuple[Any, Any]:
        codes, truth = self.bounded.read(batch, quantum.ONE)
        x = self.bounded.middles + self.bounded.halves * (codes / quantum.ONE)
        return truth, self.predictor.scores(x).argmax(axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(ManyClasses, FromSums):
    """Gaussian naive Bayes: in every class each feature is normal, by itself.

    One release of every class's number of rows, sums and sums of squares, with Gaussian noise, or Laplace noise for a
    pure price. ``bounds`` are the public (lo, hi) of the features, ``classes`` the public labels. Noise is reckoned with:
    a variance is that of the class drawn towards the one all classes share as far as noise blurs it, plus that of the
    noise of its mean, so that a rare class is not believed to be narrow. ``pooling`` draws variances towards the shared ones
    even without noise (Friedman 1989): 0 not at all, 1 wholly, which helps where columns are not normal, those of 0 and 1
    above all. It does well on small tables. ``neighbors`` is "add_remove", "replace" or "both". ``random_state`` is for
    tests only: what it makes is not private.
    """

    pooling: Number = 0.5

    def procedure(self, columns: Columns, relation: Relation) -> Procedure[FittedGaussians]:
        pooling = numbers.non_negative(self.pooling, "pooling")
        if pooling > 1:
            raise InvalidRequest(f"pooling must be at most 1, got {self.pooling}; 1 shares all variances")
        return self._ask(BoundedRows.of(columns.schema, columns.features, columns.target), relation, float(pooling))

    def _ask(self, bounded: BoundedRows, relation: Relation, pooling: float) -> Procedure[FittedGaussians]:
        release, moments = yield from ask_moments(bounded, self.price, relation)
        priors, means, variances = _gaussians(moments, pooling)
        return FittedGaussians(
            releases=(release,), relation=relation, bounded=bounded, priors=priors, means=means, variances=variances
        )

    def _set_fitted(self, fitted: FittedGaussians) -> None:
        super()._set_fitted(fitted)
        bounded = fitted.bounded
        assert bounded.target is not None
        self.classes_ = np.array(bounded.target.labels)
        self.feature_names_ = [f.column for f in bounded.numbers]
        self.class_prior_ = fitted.priors
        self.theta_ = bounded.middles + bounded.halves * fitted.means
        self.var_ = bounded.halves**2 * fitted.variances

    @property
    def predictor(self) -> GaussianPredictor:
        """What predicts: all of a model that is published."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        fitted: FittedGaussians = self.fitted_
        return fitted.predictor(self.classes_.tolist())


def _gaussians(found: NoisyClassMoments, pooling: float) -> tuple[Floats, Floats, Floats]:
    """Priors, means and variances of s from noisy moments.

    With n rows in a class and noise of deviation e in a sum, a mean is wrong by e / n and a mean square by about e / n. A
    variance v read off the class weighs against the pooled one, w, as the prior w (1 +- 1/2) says: by w^2 / 4 against
    (e / n)^2, and by 1 - ``pooling`` of that. All of it is read off what was released.
    """
    counts, (count_noise, sum_noise, square_noise) = found.counts, found.deviation
    least = max(1.0, count_noise)
    total = max(float(np.maximum(counts, 0.0).sum()), len(counts) * least)
    some = np.maximum(counts, least)[:, None]
    centre = np.clip(found.sums.sum(axis=0) / total, -1.0, 1.0)
    blur = (sum_noise / some) ** 2
    between = 1.0 / 3.0
    means = np.clip(centre + (found.sums / some - centre) * between / (between + blur), -1.0, 1.0)
    own = found.squares / some - means**2
    inside = (found.squares.sum(axis=0) - (some * means**2).sum(axis=0)) / total
    pooled = np.clip(inside, _LEAST_SHARED, 1.0)
    trust = pooled**2 / 4
    doubt = (square_noise / some) ** 2 + 4 * means**2 * blur
    variances = pooled + (1.0 - pooling) * (np.clip(own, 0.0, 1.0) - pooled) * trust / (trust + doubt)
    return some[:, 0] / some.sum(), means, np.maximum(variances, _LEAST) + np.minimum(blur, 1.0)
