"""A published regression. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.errors import UnsupportedFormat
from discreet.models.publish.predictor import Floats, Input, Predictor, register, row_scores


@register("number")
@dataclass(frozen=True, eq=False)
class NumberPredictor(Predictor):
    """Predicts a number that is linear in columns."""

    coefficients: Floats
    intercept: float

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict(self, X: Any) -> Floats:
        """The number predicted for each row."""
        return row_scores(self.rows(X), self.coefficients) + self.intercept

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return {
            "kind": "number",
            "inputs": written(self.inputs),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
        }

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> NumberPredictor:
        inputs = tuple(Input.read(i) for i in doc["inputs"])
        numbers = np.asarray([*doc["coefficients"], doc["intercept"]], np.float64)
        if numbers.shape != (sum(i.size for i in inputs) + 1,) or not np.isfinite(numbers).all():
            raise UnsupportedFormat(f"expected one finite coefficient for each number, got shape {numbers.shape}")
        return cls(inputs, numbers[:-1], float(numbers[-1]), document=document)
