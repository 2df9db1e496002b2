"""The models by gradient descent under scikit-learn's own checks."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from discreet.models import MLPClassifier, SGDClassifier, SGDRegressor
from tests.models.declared import Declared, DeclaredClasses


class CheckedSGDClassifier(DeclaredClasses, SGDClassifier):
    """Declared."""


class CheckedMLPClassifier(Declared, MLPClassifier):
    """Declared, with as many classes as a check has."""

    def _classes(self) -> tuple[Any, ...]:  # type: ignore[override]
        if not hasattr(self, "_arrays"):
            return tuple(self.classes_.tolist())
        found = np.unique(np.asarray(self._arrays[1])).tolist()
        return tuple(found) if len(found) > 1 else super()._classes()


class CheckedSGDRegressor(Declared, SGDRegressor):
    """Declared."""

    def _target(self, y: Any) -> Any:
        goal = np.asarray(y)
        numbers = goal.dtype.kind in "fiu" and goal.size > 0 and bool(np.isfinite(goal).all())
        most = (float(np.abs(goal).max()) if numbers else 0.0) or 1.0
        self.target_bounds, before = (-most, most), self.target_bounds
        try:
            return super()._target(y)
        finally:
            self.target_bounds = before


# Whole lots and one public number of rows for all checks, as they ask what weights and repeated rows do.
PLAIN: dict[str, Any] = {
    "epsilon": math.inf, "iterate": "last", "clip": 100.0, "expected_rows": 100, "lot_size": 100, "weight_bound": 10,
    "learning_rate": 0.6, "momentum": 0.9,
}  # fmt: skip
CHECKED = [
    CheckedSGDClassifier(**PLAIN, steps=200),
    CheckedMLPClassifier(**PLAIN | {"learning_rate": 0.2}, hidden_layer_sizes=(16,), steps=300),
    CheckedSGDRegressor(**PLAIN | {"learning_rate": 0.3}, steps=300),
]


@pytest.mark.parametrize("model", CHECKED, ids=[type(m).__name__ for m in CHECKED])
def test_scikit_learn_accepts_it(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", SkipTestWarning)
        found = check_estimator(model, on_fail="raise")
    assert sum(check["status"] == "passed" for check in found) > 40
