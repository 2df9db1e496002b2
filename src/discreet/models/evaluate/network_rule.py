"""How a network, or a linear model as one without hidden layers, decides about private rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.source import Batch
from discreet.models.design import Design, Floats
from discreet.models.evaluate.decisions import digest_of
from discreet.models.gradient.network import BLOCK, Network, Room
from discreet.models.publish.predictor import Input


@dataclass(frozen=True, eq=False)
class NetworkRule:
    """A network with its parameters, one vector, and how records become its rows."""

    design: Design
    network: Network
    flat: Floats
    threshold: float = 0.0  # the score above which a row is of the second of two classes

    @property
    def inputs(self) -> Sequence[Input]:
        return self.design.inputs

    @property
    def target(self) -> str:
        return self.design.target.column

    @property
    def classes(self) -> int:
        return len(self.design.target.classes)

    @property
    def digest(self) -> str:
        return digest_of(self.flat, self.threshold) if self.threshold else digest_of(self.flat)

    def decide(self, batch: Batch) -> tuple[Any, Any]:
        truth, scores = self.scores(batch)
        return truth, (scores[:, 0] > self.threshold).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def scores(self, batch: Batch) -> tuple[Any, Floats]:
        """The number of the true class and the scores of every row that counts; rows in blocks of one size, so that
        nobody moves another by where they stand.
        """
        rows = self.design.block(batch)
        x = self.network.widen(rows.x)
        filled = np.zeros((-(-len(x) // BLOCK) * BLOCK, x.shape[1]))
        filled[: len(x)] = x
        scores = self.network.forward(self.flat, filled, np, Room())[-1][: len(x)]
        return ((rows.y > 0) if self.classes == 2 else rows.y).astype(np.intp), scores
