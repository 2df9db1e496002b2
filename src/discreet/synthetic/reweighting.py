"""Weights of records under which every measured table is as near to what was released as its noise says.

The weights minimise the sum over tables of |counts - released|**2 / (2 sigma**2) by exponentiated gradient (Kivinen and
Warmuth 1997): they stay positive and sum to one, and what no table speaks of stays as the tree has it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.synthetic.measurement import Floats, Measurement
from discreet.synthetic.tree import Codes

_MOST_STEPS = 300
_ENOUGH = 1e-4  # a step that lowers the loss by a smaller share of it is one of the last
_PATIENCE = 5


def reweighted(
    sizes: Sequence[int], records: Codes, start: Floats, measurements: Sequence[Measurement], rows: float
) -> Floats:
    """The weights of ``records`` (a line for each column) that fit the measurements, from the weights ``start``."""
    tables = _Tables(sizes, records, measurements, rows)
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
    """The measured tables as linear functions of the weights: one sparse matrix, and the maps of those that have some."""

    def __init__(self, sizes: Sequence[int], records: Codes, measurements: Sequence[Measurement], rows: float) -> None:
        self.rows, self.parts = rows, []
        places, offset = [], 0
        for m in measurements:
            shape = tuple(sizes[i] for i in m.places)
            place = np.zeros(records.shape[1], np.int64)
            for i in m.places:
                place = place * sizes[i] + records[i]
            places.append(place + offset)
            cells = int(np.prod(shape))
            self.parts.append((slice(offset, offset + cells), shape, m))
            offset += cells
        index = np.stack(places, 1)
        ends = np.arange(0, index.size + 1, index.shape[1])
        shape2 = (records.shape[1], offset)
        self.forth = sparse.csr_matrix((np.ones(index.size), index.ravel(), ends), shape=shape2)
        self.back = self.forth.T.tocsr()

    def loss(self, weights: Floats) -> tuple[float, list[Floats]]:
        """The loss, and of every table what is too much in it."""
        counts = self.rows * (self.back @ weights)
        rest = [_mapped(counts[part].reshape(shape), m) - m.value for part, shape, m in self.parts]
        loss = sum(float((r**2).sum()) / (2 * m.sigma**2) for r, (_, _, m) in zip(rest, self.parts, strict=True))
        return loss, rest

    def slope(self, rest: list[Floats]) -> Floats:
        """The derivative of the loss by every weight."""
        lines = [_mapped_back(r / m.sigma**2, m).ravel() for r, (_, _, m) in zip(rest, self.parts, strict=True)]
        return np.asarray(self.rows * (self.forth @ np.concatenate(lines)))


def _mapped(counts: Floats, m: Measurement) -> Floats:
    for axis, matrix in enumerate(m.maps):
        if matrix is not None:
            counts = np.moveaxis(np.tensordot(matrix, counts, (1, axis)), 0, axis)
    return counts


def _mapped_back(cells: Floats, m: Measurement) -> Floats:
    for axis, matrix in enumerate(m.maps):
        if matrix is not None:
            cells = np.moveaxis(np.tensordot(matrix.T, cells, (1, axis)), 0, axis)
    return cells
