"""How far private rows are from the nearest of several released centres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core import grid as quantum
from discreet.core.source import Batch
from discreet.models.design import Floats
from discreet.models.evaluate.decisions import digest_of
from discreet.models.publish.predictor import Input
from discreet.models.queries.cluster_sums import nearest
from discreet.statistics.bounded_rows import BoundedRows


@dataclass(frozen=True, eq=False)
class CentresRule:
    """Centres on the scale of s in [-1, 1], and how records become rows of it."""

    bounded: BoundedRows
    centres: Floats
    target: str = ""
    classes: int = 0

    @property
    def inputs(self) -> Sequence[Input]:
        return tuple(Input(f.column, (f.lo, f.hi)) for f in self.bounded.numbers)

    @property
    def digest(self) -> str:
        return digest_of(self.centres)

    def misses(self, batch: Batch) -> Floats:
        """The distance of every row that counts from the nearest centre, over that of two corners of the bounds."""
        codes, _ = self.bounded.read(batch, quantum.ONE)
        rows = codes / quantum.ONE
        apart = rows - self.centres[nearest(rows, self.centres)]
        total = np.zeros(len(rows))
        for column in range(self.bounded.size):  # each row by the same operations wherever it stands
            total += apart[:, column] ** 2
        return np.minimum(np.sqrt(total) / (2.0 * math.sqrt(self.bounded.size)), 1.0)
