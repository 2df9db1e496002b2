"""A published forest of random trees. Needs NumPy and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.codec import written
from discreet.errors import UnsupportedFormat
from discreet.models.publish.class_predictor import ClassPredictor, read_array, read_classes, read_inputs
from discreet.models.publish.predictor import Floats, register


@register("forest")
@dataclass(frozen=True, eq=False)
class ForestPredictor(ClassPredictor):
    """Complete binary trees: a row goes right where its number in ``columns`` is above the cut.

    ``columns`` and ``cuts`` have a line of inner nodes for each tree, from the root down; ``leaves`` hold the logarithms
    of the shares of the classes in each leaf (trees, leaves, classes), whose mean over the trees is the score.
    """

    columns: npt.NDArray[np.int64]
    cuts: Floats
    leaves: Floats

    def scores(self, x: Floats) -> Floats:
        total, every = np.zeros((len(x), len(self.classes))), np.arange(len(x))
        for column, cut, leaf in zip(self.columns, self.cuts, self.leaves, strict=True):
            node = np.zeros(len(x), np.int64)
            while len(node) and node[0] < len(cut):  # all leaves are equally deep
                node = 2 * node + 1 + (x[every, column[node]] > cut[node])
            total += leaf[node - len(cut)]
        return total / len(self.cuts)

    def to_dict(self) -> dict[str, Any]:
        """What a document holds of it."""
        return {
            "kind": "forest",
            "inputs": written(self.inputs),
            "columns": self.columns.tolist(),
            "cuts": self.cuts.tolist(),
            "leaves": self.leaves.tolist(),
            "classes": list(self.classes),
        }

    @classmethod
    def read(cls, doc: Mapping[str, Any], document: Mapping[str, Any]) -> ForestPredictor:
        inputs, classes = read_inputs(doc), read_classes(doc)
        cuts = read_array(doc["cuts"], (-1, -1))
        columns = read_array(doc["columns"], cuts.shape)
        leaves = read_array(doc["leaves"], (len(cuts), cuts.shape[1] + 1, len(classes)))
        wide = sum(i.size for i in inputs)
        deep = (cuts.shape[1] + 1).bit_length() - 1
        if not len(cuts) or 1 << deep != cuts.shape[1] + 1:
            raise UnsupportedFormat(f"trees of a published forest are complete, got {cuts.shape[1]} inner nodes")
        if not ((columns == np.floor(columns)) & (columns >= 0) & (columns < wide)).all():
            raise UnsupportedFormat(f"splits of a published forest are of its {wide} numbers, got others")
        return cls(inputs, classes, columns.astype(np.int64), cuts, leaves, document=document)
