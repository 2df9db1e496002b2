"""How a network, or a linear model as one without hidden layers, decides about private rows or predicts their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.source import Batch
from discreet.models.design import Design, Floats
from discreet.models.evaluate.decisions import digest_of
from discreet.models.gradient.blas_threads import one_thread
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
        """The number of the true class and the scores of every row that counts."""
        rows = self.design.block(batch)
        return ((rows.y > 0) if self.classes == 2 else rows.y).astype(np.intp), self._forward(rows.x)

    def misses(self, batch: Batch) -> Floats:
        """By how much of (hi - lo) the number predicted of every row that counts is wrong: within [-1, 1], whatever a row
        holds.
        """
        rows, (lo, hi), loss = self.design.block(batch), self.design.target.ends, self.network.loss
        score = self._forward(rows.x)[:, 0]
        guess = np.clip(score if loss is None else loss.predicted(score), lo, hi)
        return np.clip((guess - np.clip(rows.y, lo, hi)) / (hi - lo), -1.0, 1.0)

    @np.errstate(all="ignore")  # hidden layers are computed in single precision: what a record holds never warns
    def _forward(self, x: Floats) -> Floats:
        """The outputs for every row, in blocks of one size, so that nobody moves another by where they stand.

        What is no number, as layers of large parameters may put out, is 0: no count could place it.
        """
        wide = self.network.widen(x)
        filled = np.zeros((-(-len(wide) // BLOCK) * BLOCK, wide.shape[1]))
        filled[: len(wide)] = wide
        with one_thread:
            scores: Floats = np.nan_to_num(self.network.forward(self.flat, filled, np, Room())[-1][: len(wide)])
        return scores
