"""Weights of records under which every measured table is as near to what was released as its noise says.

The weights minimise the sum over tables of |counts - released|**2 / (2 sigma**2) by exponentiated gradient (Kivinen and
Warmuth 1997): they stay positive and sum to one, and what no table speaks of stays as the tree has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from discreet.synthetic.measurement import Floats, Measurement
from discreet.synthetic.pair_tree import Codes

_MOST_STEPS = 300
_ENOUGH = 1e-4  # a step that lowers the loss by a smaller share of it is one of the last
_PATIENCE = 5


def reweighted(
    sizes: Sequence[int], records: Codes, start: Floats, measurements: Sequence[Measurement], rows: float
) -> Floats:
    """The weights of ``records`` (a line for each column) that fit the measurements, from the weights ``start``."""
    tables = _Tables(sizes, records, [m for m in measurements if m.places], rows)
    logs, weights = np.log(np.maximum(start, 1e-300)), start / start.sum()
    loss, rest = tables.loss(weights)
    step, patience = 0.0, _PATIENCE
    for _ in range(_MOST_STEPS):
        slope = tables.slope(rest)
        slope -= float(slope @ weights)
        reach = float(np.abs(slope).max())
        if reach == 0.0:
            break
        step = step * 1.2 if step else 1 / reach
        for _ in range(60):
            tried = logs - step * slope
            tried -= tried.max()
            new = np.exp(tried)
            new /= new.sum()
            new_loss, new_rest = tables.loss(new)
            if new_loss <= loss:
                break
            step /= 2
        else:
            break
        gain = loss - new_loss
        logs, weights, loss, rest = tried, new, new_loss, new_rest
        patience = patience - 1 if gain < _ENOUGH * loss + 1e-9 else _PATIENCE
        if not patience:
            break
    return np.asarray(weights)


class _Tables:
    """All released cells as one linear function of the weights, a sparse matrix, and the precision of each."""

    def __init__(self, sizes: Sequence[int], records: Codes, measurements: Sequence[Measurement], rows: float) -> None:
        self.rows = rows
        self.back = sparse.vstack([_cells_of(sizes, records, m) for m in measurements], format="csr")
        self.forth = self.back.T.tocsr()
        self.value = np.concatenate([m.value.ravel() for m in measurements])
        self.precision = np.concatenate([np.full(m.value.size, m.sigma**-2) for m in measurements])

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """The loss, and of every cell what is too much in it."""
        rest = self.rows * (self.back @ weights) - self.value
        return float(self.precision @ (rest * rest)) / 2, rest

    def slope(self, rest: Floats) -> Floats:
        """The derivative of the loss by every weight."""
        return np.asarray(self.rows * (self.forth @ (self.precision * rest)))


def _cells_of(sizes: Sequence[int], records: Codes, m: Measurement) -> sparse.csr_matrix:
    """A line for every released cell of a measurement: what a record of each kind adds to it."""
    place = np.ravel_multi_index(tuple(records[i] for i in m.places), tuple(sizes[i] for i in m.places))
    many = records.shape[1]
    shape = (math.prod(sizes[i] for i in m.places), many)
    counted = sparse.csc_matrix((np.ones(many), place, np.arange(many + 1)), shape=shape)
    if m.direct:
        return counted.tocsr()
    spread: Any = sparse.identity(1, format="csr")
    for i, matrix in zip(m.places, m.maps, strict=True):
        spread = sparse.kron(spread, sparse.identity(sizes[i]) if matrix is None else sparse.csr_matrix(matrix), "csr")
    return sparse.csr_matrix(spread @ counted)
