"""The tree of pairs that explains most, and records drawn from it: where the fit of all measured tables starts.

Every column's shares are averaged over the tables that hold it, each by the inverse of its variance, and projected onto the
simplex. A maximum spanning tree joins the columns by the pairs that are furthest from independence; the table of each pair
is shrunk towards independence by as much as noise explains, projected, and scaled to the shares of its columns (Sinkhorn).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.synthetic.measurement import Floats, Measurement
from discreet.synthetic.public_stream import Stream

Codes = npt.NDArray[np.intp]

_SCALINGS = 50
_FLOOR = 1e-4  # of independence in every table, so that no level of a column is cut off


@dataclass(frozen=True, eq=False)
class PairTree:
    """Shares of every column, and for each edge (parent, child) the counts of the pair; parents come before children."""

    shares: tuple[Floats, ...]
    edges: tuple[tuple[int, int, Floats], ...]
    order: tuple[int, ...]

    def drawn(self, rows: int, stream: Stream) -> Codes:
        """Records drawn from the tree, as evenly as whole numbers allow: a line for each column."""
        made = np.zeros((len(self.shares), rows), np.intp)
        parents = {child: (parent, counts) for parent, child, counts in self.edges}
        for column in self.order:
            if column not in parents:
                made[column] = _spread(self.shares[column], rows, stream)
                continue
            parent, counts = parents[column]
            sorted_rows = np.argsort(made[parent], kind="stable")
            sizes = np.bincount(made[parent], minlength=counts.shape[0])
            for level, here in enumerate(np.split(sorted_rows, np.cumsum(sizes)[:-1])):
                if here.size:
                    made[column][here] = _spread(counts[level], here.size, stream)
        return made

    def joint(self) -> Floats:
        """The probability of every record, in the order of ``numpy.indices``; for few cells only."""
        sizes = tuple(len(s) for s in self.shares)
        found = np.ones(sizes)
        parents = {child: (parent, counts) for parent, child, counts in self.edges}
        for column in self.order:
            if column not in parents:
                found = found * _along(self.shares[column] / self.shares[column].sum(), (column,), len(sizes))
                continue
            parent, counts = parents[column]
            given = counts / np.maximum(counts.sum(1, keepdims=True), 1e-300)
            found = found * _along(given, (parent, column), len(sizes))
        flat = found.ravel()
        return np.asarray(flat / flat.sum())


def _along(table: Floats, axes: tuple[int, ...], dimensions: int) -> Floats:
    """A table as one that broadcasts along the axes of the whole."""
    order = np.argsort(axes)
    made = np.transpose(table, order)
    shape = [1] * dimensions
    for axis, size in zip(sorted(axes), made.shape, strict=True):
        shape[axis] = size
    return made.reshape(shape)


def _spread(weights: Floats, rows: int, stream: Stream) -> Codes:
    """Levels in proportion to weights: one random start and even steps, then in a random order."""
    edges = np.cumsum(weights)
    if edges[-1] <= 0:
        edges = np.arange(1.0, len(weights) + 1)
    points = (np.arange(rows) + stream.uniforms(1)) * (edges[-1] / rows)
    levels = np.minimum(np.searchsorted(edges, points, side="right"), len(weights) - 1)
    return np.asarray(levels[np.argsort(stream.uniforms(rows))], np.intp)


def simplex(values: Floats, total: float) -> Floats:
    """The nearest table without negative cells that sums to ``total``, in squared distance (Held et al. 1974)."""
    flat = np.sort(values.ravel())[::-1]
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    last = int(np.flatnonzero(flat > excess)[-1])
    return np.asarray(np.maximum(values - excess[last], 0.0))


def shares_of(sizes: Sequence[int], measurements: Sequence[Measurement], rows: float) -> tuple[Floats, ...]:
    """The counts of every column's levels; even where no table holds the column by itself."""
    made = []
    for column, size in enumerate(sizes):
        seen = [m.margin((column,)) for m in measurements if m.direct and column in m.places]
        if not seen:
            made.append(np.full(size, rows / size))
            continue
        mean = np.average([counts for counts, _ in seen], axis=0, weights=[1 / variance for _, variance in seen])
        made.append(simplex(mean, rows))
    return tuple(made)


def tree_of(sizes: Sequence[int], measurements: Sequence[Measurement], rows: float) -> PairTree:
    """The tree that fits the measured tables best."""
    shares = shares_of(sizes, measurements, rows)
    strengths: dict[tuple[int, int], tuple[float, Floats]] = {}
    for m in measurements:
        for i, first in enumerate(m.places if m.direct else ()):
            for second in m.places[i + 1 :]:
                counts, variance = m.margin((first, second))
                alone = np.outer(shares[first], shares[second]) / rows
                apart = float(np.abs(counts - alone).sum()) - math.sqrt(2 / math.pi * variance) * counts.size
                known = strengths.get((first, second))
                if known is None or apart > known[0]:
                    strengths[first, second] = apart, _fitted(counts, variance, alone, shares[first], shares[second])
    chosen = _spanning(len(sizes), {pair: strength for pair, (strength, _) in strengths.items()})
    return _rooted(shares, {pair: strengths[pair][1] for pair in chosen})


def _fitted(counts: Floats, variance: float, alone: Floats, first: Floats, second: Floats) -> Floats:
    """A pair's table: towards independence by as much as noise explains (James and Stein), projected, scaled."""
    rest = counts - alone
    spread = float((rest**2).sum())
    kept = max(0.0, 1 - counts.size * variance / spread) if spread > 0 else 0.0
    made = simplex(alone + kept * rest, float(alone.sum())) + _FLOOR * alone
    for _ in range(_SCALINGS):
        made *= (first / np.maximum(made.sum(1), 1e-12))[:, None]
        made *= second / np.maximum(made.sum(0), 1e-12)
    return made


def _spanning(columns: int, strengths: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """A maximum spanning forest (Kruskal 1956)."""
    group = list(range(columns))
    chosen = []
    for first, second in sorted(strengths, key=lambda pair: (-strengths[pair], pair)):
        one, other = group[first], group[second]
        if one != other:
            chosen.append((first, second))
            group = [one if g == other else g for g in group]
    return chosen


def _rooted(shares: tuple[Floats, ...], tables: dict[tuple[int, int], Floats]) -> PairTree:
    """Every tree of the forest from its first column down."""
    order: list[int] = []
    edges: list[tuple[int, int, Floats]] = []
    for root in range(len(shares)):
        if root in order:
            continue
        order.append(root)
        waiting = [root]
        while waiting:
            parent = waiting.pop(0)
            for (first, second), table in sorted(tables.items(), key=lambda item: item[0]):
                child = second if first == parent else first
                if parent in (first, second) and child not in order:
                    edges.append((parent, child, table if first == parent else table.T))
                    order.append(child)
                    waiting.append(child)
    return PairTree(shares, tuple(edges), tuple(order))
