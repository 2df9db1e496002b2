"""A published change of columns: centred, scaled, turned. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.models.publish.class_predictor import read_array, read_inputs
from discreet.models.publish.predictor import Floats, Predictor, register, row_scores


@register("affine")
@dataclass(frozen=True, eq=False)
class AffinePredictor(Predictor):
    """New columns (x - ``centre``) ``directions``, of x clipped to the bounds."""

    centre: Floats
    directions: Floats

    @np.errstate(all="ignore")  # a document may hold numbers whose products no double holds
    def transform(self, X: Any) -> Floats:
        """The new columns of each row, the same to the last bit whoever else is there: a private model may read them."""
        x, used = self.rows(X) - self.centre, [np.flatnonzero(line) for line in self.directions.T]
        made = [row_scores(x[:, some], line[some]) for some, line in zip(used, self.directions.T, strict=True)]
        return np.column_stack(made)

    def predict(self, X: Any) -> Floats:
        """The new columns of each row."""
        return self.transform(X)

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        doc = {"kind": "affine", "inputs": written(self.inputs)}
        return doc | {"centre": self.centre.tolist(), "directions": self.directions.tolist()}

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> AffinePredictor:
        inputs = read_inputs(doc)
        wide = sum(i.size for i in inputs)
        centre, directions = read_array(doc["centre"], (wide,)), read_array(doc["directions"], (wide, -1))
        return cls(inputs, centre, directions, document=document)
