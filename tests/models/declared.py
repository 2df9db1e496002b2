"""Models for scikit-learn's own checks, which bring arrays and know nothing of public facts.

Whoever runs the checks made the data and may declare about it what they like: these classes declare bounds and classes
from each check's own arrays. Users cannot: bounds and classes are never read off data. Without noise (``epsilon=inf``,
which only tests may ask for), as the checks ask whether a model learns at all.

A model joins with one line in ``CHECKED``: an instance, and the checks it is excused from with the reason. All models
together may be excused from ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.errors import InvalidRequest
from discreet.models.estimators.additive_classifier import AdditiveClassifier
from discreet.models.estimators.constrained_models import ConstrainedRegression
from discreet.models.estimators.gamma_regressor import GammaRegressor
from discreet.models.estimators.gaussian_nb import GaussianNB
from discreet.models.estimators.kernel_svc import KernelSVC
from discreet.models.estimators.kmeans import KMeans
from discreet.models.estimators.linear_regression import LinearRegression
from discreet.models.estimators.linear_svc import LinearSVC
from discreet.models.estimators.logistic_regression import LogisticRegression
from discreet.models.estimators.outcome_weighted import OutcomeWeightedLearner
from discreet.models.estimators.pca import PCA
from discreet.models.estimators.poisson_regressor import PoissonRegressor
from discreet.models.estimators.random_forest import RandomForestClassifier
from discreet.models.estimators.softmax_regression import SoftmaxRegression
from discreet.models.estimators.standard_scaler import StandardScaler
from discreet.models.losses import Huber
from discreet.models.regions import Ball


class Declared:
    """Declares for each fit what is true of its arrays."""

    def _fit_arrays(self, X: Any, y: Any, sample_weight: Any) -> Any:
        with self._declaring(X, y):
            return super()._fit_arrays(X, y, sample_weight)  # type: ignore[misc]

    @contextmanager
    def _declaring(self, X: Any, y: Any) -> Iterator[None]:
        before = vars(self).get("_arrays")
        self._arrays = X, y
        try:
            yield
        finally:
            del self._arrays
            if before is not None:
                self._arrays = before

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The rows of a check are public, so what is refused on private ones (see the tests of scores) is answered."""
        return float(self.public_score(X, y)) if hasattr(self, "public_score") else float(np.mean(self.transform(X)))  # type: ignore[attr-defined]

    def _bounds(self, features: int) -> list[tuple[float, float]]:
        X = np.asarray(self._arrays[0], np.float64)
        most = float(np.abs(X).max()) or 1.0
        return [(-most, most)] * features

    def _classes(self) -> tuple[Any, Any]:
        found = np.unique(np.asarray(self._arrays[1])).tolist() if self._arrays[1] is not None else [0, 1]
        if len(found) < 2:
            raise InvalidRequest("these checks declare the classes that they have, and there is 1 class only")
        return found[0], found[1]


class CheckedLogisticRegression(Declared, LogisticRegression):
    """Declared."""


class CheckedAdditiveClassifier(Declared, AdditiveClassifier):
    """Declared."""


class CheckedKernelSVC(Declared, KernelSVC):
    """Declared: the classes alone, as it needs no bounds."""

    def _bounds(self, features: int) -> None:  # type: ignore[override]
        return None


class CheckedOutcomeWeightedLearner(Declared, OutcomeWeightedLearner):
    """Declared, with a benefit of 1 for everybody where a check brings none."""

    def fit(self, X: Any, y: Any, benefit: Any = 1.0, propensity: Any = None) -> Any:
        with self._declaring(X, y):
            return super().fit(X, y, benefit, propensity)


class DeclaredNumber(Declared):
    """Declares the bounds of the target too."""

    def _target(self, y: Any) -> Any:
        numbers = np.asarray(y if y is not None else [], np.float64)
        most = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)) or 1.0
        declared, self.target_bounds = self.target_bounds, (-most, most)
        try:
            return super()._target(y)  # type: ignore[misc]
        finally:
            self.target_bounds = declared


class CheckedLinearRegression(DeclaredNumber, LinearRegression):
    """Declared."""


class DeclaredPositive(Declared):
    """Declares numbers from ``lowest`` of the largest up to it."""

    lowest = 0.0

    def _target(self, y: Any) -> Any:
        numbers = np.asarray(y if y is not None else [], np.float64)
        most = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)) or 1.0
        declared, self.target_bounds = self.target_bounds, (self.lowest * most, most)
        try:
            return super()._target(y)  # type: ignore[misc]
        finally:
            self.target_bounds = declared


class CheckedPoissonRegressor(DeclaredPositive, PoissonRegressor):
    """Declared."""


class CheckedGammaRegressor(DeclaredPositive, GammaRegressor):
    """Declared."""

    lowest = 0.05


class CheckedConstrainedRegression(DeclaredNumber, ConstrainedRegression):
    """Declared."""


class DeclaredClasses(Declared):
    """Declares all classes that there are."""

    def _classes(self) -> tuple[Any, ...]:  # type: ignore[override]
        found = np.unique(np.asarray(self._arrays[1])).tolist() if self._arrays[1] is not None else [0, 1]
        if len(found) < 2:
            raise InvalidRequest("these checks declare the classes that they have, and there is 1 class only")
        return tuple(found)


class CheckedLinearSVC(DeclaredClasses, LinearSVC):
    """Declared."""


class CheckedSoftmaxRegression(DeclaredClasses, SoftmaxRegression):
    """Declared; where a check brings fewer classes than a softmax has, others are declared that nobody is of."""

    def _classes(self) -> tuple[Any, ...]:  # type: ignore[override]
        found = list(super()._classes())
        more = [f"none{i}" for i in range(3)] if isinstance(found[0], str) else [max(found) + 1, max(found) + 2]
        return (*found, *more[: max(0, 3 - len(found))])


class CheckedGaussianNB(DeclaredClasses, GaussianNB):
    """Declared."""


class CheckedRandomForestClassifier(DeclaredClasses, RandomForestClassifier):
    """Declared."""


class CheckedKMeans(Declared, KMeans):
    """Declared."""


class CheckedPCA(Declared, PCA):
    """Declared."""


class CheckedStandardScaler(Declared, StandardScaler):
    """Declared."""


_PLAIN = {"epsilon": math.inf, "ridge": 0.01}
CHECKED: list[tuple[Any, dict[str, str]]] = [
    (CheckedLogisticRegression(**_PLAIN, weight_bound=10), {}),
    (CheckedAdditiveClassifier(epsilon=math.inf, ridge=1, weight_bound=10), {}),
    (CheckedLinearSVC(**_PLAIN, weight_bound=10), {}),
    (CheckedKernelSVC(**_PLAIN, weight_bound=10), {}),
    (CheckedOutcomeWeightedLearner(**_PLAIN, propensity=0.5, weight_bound=2), {}),
    (
        CheckedLinearRegression(**_PLAIN, weight_bound=10),
        {"check_sample_weight_equivalence_on_dense_data": "weighted rows are rounded to a grid: sums agree to five digits"},
    ),
    (
        CheckedLinearRegression(**_PLAIN, weight_bound=10, method="objective"),
        {"check_regressors_train": "coefficients are held to a ball, and the line of this check lies outside it"},
    ),
    (CheckedPoissonRegressor(**_PLAIN, weight_bound=10), {}),
    (CheckedGammaRegressor(**_PLAIN, weight_bound=10), {}),
    (CheckedGaussianNB(epsilon=math.inf), {}),
    (
        CheckedSoftmaxRegression(**_PLAIN, weight_bound=10),
        dict.fromkeys(
            ("check_classifiers_classes", "check_classifiers_train", "check_decision_proba_consistency"),
            "where these checks bring two classes, a softmax has a score for the third that was declared too",
        ),
    ),
    (CheckedRandomForestClassifier(epsilon=math.inf, key=1), {}),
    (CheckedKMeans(epsilon=math.inf, n_clusters=3), {}),
    (CheckedPCA(epsilon=math.inf), {}),
    (CheckedStandardScaler(epsilon=math.inf), {}),
    (CheckedConstrainedRegression(**_PLAIN, weight_bound=10, loss=Huber(), region=Ball(100)), {}),
]
