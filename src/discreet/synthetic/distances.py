"""How far a synthetic table is from what was measured, and at most from the real table, without looking at it again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.synthetic.measurement import Measurement
from discreet.synthetic.model import Model


@dataclass(frozen=True)
class Apart:
    """Total variation of one measured table: from the noisy counts, what noise alone explains of it, and a bound.

    ``at_most`` bounds the distance from the real table's shares in 95 of 100 releases.
    """

    columns: tuple[str, ...]
    cells: int
    deviation: float
    measured: float
    noise: float
    at_most: float


def distances(names: Sequence[str], sizes: Sequence[int], model: Model, measurements: Sequence[Measurement]) -> list[Apart]:
    """Of every table of counts that was measured.

    Proof of the bound: with m the model's counts, y the released and x the true ones, |m - x|_1 <= |m - y|_1 + |y - x|_1,
    and the last is the L1 norm of the noise. Its cells have mean absolute value at most sqrt(2/pi) sigma, and absolute
    values of variance at most sigma**2 / 2, under normal and Laplace noise alike; the sum of many is normal.
    """
    made = []
    for m in measurements:
        if not m.places or not m.disjoint:
            continue
        cells, rows = m.value.size, model.rows
        apart = float(np.abs(m.expected(model.counts(sizes, m.places)) - m.value).sum())
        noise = math.sqrt(2 / math.pi) * m.sigma * cells
        most = apart + noise + 1.645 * m.sigma * math.sqrt(cells / 2)
        named = tuple(names[i] for i in m.places)
        shares = (min(1.0, each / (2 * rows)) for each in (apart, noise, most))
        made.append(Apart(named, cells, m.sigma, *shares))
    return made
