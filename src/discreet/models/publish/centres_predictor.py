"""Published clusters. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.errors import UnsupportedFormat
from discreet.models.publish.class_predictor import read_array, read_inputs
from discreet.models.publish.predictor import Floats, Predictor, register


@register("centres")
@dataclass(frozen=True, eq=False)
class CentresPredictor(Predictor):
    """The number of the nearest of ``centres``, columns divided by their ``units`` first."""

    centres: Floats
    units: Floats

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def transform(self, X: Any) -> Floats:
        """The distance of each row from each centre."""
        x = self.rows(X)
        apart = np.zeros((len(x), len(self.centres)))
        for column, unit in enumerate(self.units):
            apart += ((x[:, column, None] - self.centres[:, column]) / unit) ** 2
        return np.sqrt(apart)

    def predict(self, X: Any) -> Any:
        """The number of the cluster of each row."""
        return self.transform(X).argmin(axis=1)

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        doc = {"kind": "centres", "inputs": written(self.inputs)}
        return doc | {"centres": self.centres.tolist(), "units": self.units.tolist()}

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> CentresPredictor:
        inputs = read_inputs(doc)
        wide = sum(i.size for i in inputs)
        centres, units = read_array(doc["centres"], (-1, wide)), read_array(doc["units"], (wide,))
        if not len(centres) or not (units > 0).all():
            raise UnsupportedFormat("published clusters need a centre and positive units")
        return cls(inputs, centres, units, document=document)
