"""A published Gaussian naive Bayes classifier. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.codec import written
from discreet.errors import UnsupportedFormat
from discreet.models.publish.class_predictor import ClassPredictor, read_array, read_classes, read_inputs
from discreet.models.publish.predictor import Floats, register


@register("gaussian")
@dataclass(frozen=True, eq=False)
class GaussianPredictor(ClassPredictor):
    """Normal densities of every class, one for each column: ``means`` and ``variances`` have a line for each class."""

    means: Floats
    variances: Floats
    priors: Floats

    def scores(self, x: Floats) -> Floats:
        made: Floats = np.tile(np.log(self.priors) - 0.5 * np.log(self.variances).sum(axis=1), (len(x), 1))
        for column in range(x.shape[1]):  # column by column: a product may round a row as its place is
            made -= 0.5 * (x[:, column, None] - self.means[:, column]) ** 2 / self.variances[:, column]
        return made

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return {
            "kind": "gaussian",
            "inputs": written(self.inputs),
            "means": self.means.tolist(),
            "variances": self.variances.tolist(),
            "priors": self.priors.tolist(),
            "classes": list(self.classes),
        }

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> GaussianPredictor:
        inputs, classes = read_inputs(doc), read_classes(doc)
        shape = (len(classes), sum(i.size for i in inputs))
        means, variances = read_array(doc["means"], shape), read_array(doc["variances"], shape)
        priors = read_array(doc["priors"], (len(classes),))
        if not ((variances > 0).all() and (priors > 0).all()):
            raise UnsupportedFormat("variances and priors of a published model must be positive")
        return cls(inputs, classes, means, variances, priors, document=document)
