"""A published regression of a rate. Needs NumPy and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import UnsupportedFormat
from discreet.models.publish.number_predictor import NumberPredictor
from discreet.models.publish.predictor import Floats, register


@register("rate")
@dataclass(frozen=True, eq=False)
class RatePredictor(NumberPredictor):
    """Predicts a number whose logarithm is linear in columns, no larger than ``most``."""

    most: float

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict(self, X: Any) -> Floats:
        """The number predicted for each row."""
        return np.asarray(np.exp(np.minimum(super().predict(X), math.log(self.most))))

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return super().to_dict() | {"kind": "rate", "most": self.most}

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> RatePredictor:
        plain, most = NumberPredictor.read(doc, document), float(doc["most"])
        if not (math.isfinite(most) and most > 0):
            raise UnsupportedFormat(f"the most that a rate may be is positive and finite, got {doc['most']!r:.60}")
        return cls(plain.inputs, plain.coefficients, plain.intercept, most, document=document)
