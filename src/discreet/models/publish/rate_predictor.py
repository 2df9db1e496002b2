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
    """Predicts a number whose logarithm is linear in columns, from ``least`` to ``most``."""

    most: float
    least: float = 0.0

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def predict(self, X: Any) -> Floats:
        """The number predicted for each row."""
        return np.clip(np.exp(super().predict(X)), self.least, self.most)

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return super().to_dict() | {"kind": "rate", "most": self.most, "least": self.least}

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> RatePredictor:
        plain, most, least = NumberPredictor.read(doc, document), float(doc["most"]), float(doc.get("least", 0.0))
        if not (math.isfinite(most) and 0 <= least < most):
            raise UnsupportedFormat(f"a rate lies between 0 and a finite most, got {least:g} to {most:g}")
        return cls(plain.inputs, plain.coefficients, plain.intercept, most, least, document=document)
