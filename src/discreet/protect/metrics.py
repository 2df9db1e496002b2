"""How much a node damages the table, so that the least harmful of the safe ones can be chosen.

Nodes are compared by a loss from 0 (nothing) to 1 (all at the top); ``value`` gives the metric as it is usually written.

Let n be the rows, s those suppressed, m the quasi-identifiers. All but two metrics are sums over rows and columns of
a loss e that depends on the leaf and the level, with a suppressed row counted at the top:

    loss = [sum over kept rows and columns of e(leaf, level) + sum over suppressed ones of e(leaf, top)] / (all at the top)

With e = level / height this is 1 - precision, with the hierarchy's own loss it is NCP, and with log2(#same generalised /
#same original) it is the non-uniform entropy. The value without suppression is a sum of one number for each column and
level, and a lower bound of the value with it. So nodes are taken in the order of that bound, and those whose bound
exceeds the best loss are never computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.core.numbers import positive
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.incognito import HistogramView, Mask, Node
from discreet.protect.lattice_histogram import CountedColumn, Floats, Histogram

_TIE = 1e-12  # scores closer than this are equal: they are sums of doubles in different orders


@dataclass(frozen=True, eq=False)
class Metric(ABC):
    """A loss on the nodes of a lattice, for one table."""

    base: Histogram
    weights: tuple[float, ...]
    name: ClassVar[str]

    @abstractmethod
    def floor(self, shape: Sequence[int]) -> Floats:
        """For every node a number that its loss does not fall below; its loss, where nothing is suppressed."""

    @abstractmethod
    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        """The loss of a node, and a number that the losses of all its generalisations do not fall below."""

    def exact(self, limit: int) -> bool:
        """Whether ``floor`` is the loss itself."""
        return limit == 0

    def value(self, loss: float) -> float:
        """The metric as it is defined in the literature, from the loss it is compared by."""
        return loss


class Summed(Metric):
    """A loss that is a sum over rows and columns."""

    @abstractmethod
    def losses(self, place: int, column: CountedColumn, level: int) -> Floats:
        """e for every leaf of a column at a level."""

    def floor(self, shape: Sequence[int]) -> Floats:
        per_column = [w * np.array(sums[:n]) for w, sums, n in zip(self.weights, self._sums, shape, strict=True)]
        total: Floats = np.zeros(tuple(shape)) + sum(np.ix_(*per_column))
        return total / self._worst

    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        ids, bad, _ = view.entries(node)
        gone = np.flatnonzero(bad[ids])
        rows = self.base.counts[gone]
        total = 0.0
        for place, level in enumerate(node):
            column = self.base.columns[place]
            extra = self._table[place][column.height] - self._table[place][level]
            total += self.weights[place] * float(rows @ extra[self.base.codes[place][gone]] + self._sums[place][level])
        return total / self._worst, 0.0

    @cached_property
    def _table(self) -> list[list[Floats]]:
        """The losses of every column, level and leaf."""
        columns = enumerate(self.base.columns)
        return [[self.losses(place, column, level) for level in range(column.height + 1)] for place, column in columns]

    @cached_property
    def _sums(self) -> list[list[float]]:
        """Their sums over all rows, for every column and level."""
        return [[float(self._leaf_rows(p) @ at) for at in losses] for p, losses in enumerate(self._table)]

    @cached_property
    def _worst(self) -> float:
        # A table in which all rows are alike loses nothing, whatever is done to it.
        return sum(weight * sums[-1] for weight, sums in zip(self.weights, self._sums, strict=True)) or 1.0

    def _leaf_rows(self, place: int) -> Floats:
        rows = np.bincount(self.base.codes[place], self.base.counts, self.base.columns[place].size(0))
        return rows.astype(float)


class Precision(Summed):
    """1 - precision: [(n - s) sum level/height + s m] / (n m) (Sweeney 2002)."""

    name = "precision"

    def losses(self, place: int, column: CountedColumn, level: int) -> Floats:
        return np.full(column.size(0), level / column.height, float)

    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        # The same for every row: how many are suppressed is all that matters.
        share = view.suppressed(node) / max(1, self.base.rows)
        heights = [column.height for column in self.base.columns]
        kept = sum(w * x / h for w, x, h in zip(self.weights, node, heights, strict=True)) / sum(self.weights)
        return kept + share * (1 - kept), 0.0

    def value(self, loss: float) -> float:
        return 1 - loss


class CertaintyPenalty(Summed):
    """NCP: the mean share of its column's range that a cell stands for, 1 where it is suppressed (Xu et al. 2006)."""

    name = "ncp"

    def losses(self, place: int, column: CountedColumn, level: int) -> Floats:
        return column.losses[level]


class NonUniformEntropy(Summed):
    """Sum of -log2(#same original / #same generalised) over rows and columns, over the top's (Gionis and Tassa 2009)."""

    name = "entropy"

    def losses(self, place: int, column: CountedColumn, level: int) -> Floats:
        rows = self._leaf_rows(place)
        together = np.bincount(column.maps[level], rows, column.size(level))[column.maps[level]]
        return np.log2(together / np.maximum(rows, 1))


class Height(Metric):
    """The sum of levels, over the top's; blind to suppression (Samarati 2001)."""

    name = "height"

    def floor(self, shape: Sequence[int]) -> Floats:
        steps = [weight * np.arange(float(levels)) for weight, levels in zip(self.weights, shape, strict=True)]
        total: Floats = np.zeros(tuple(shape)) + np.asarray(sum(np.ix_(*steps)), float)
        return total / sum(w * c.height for w, c in zip(self.weights, self.base.columns, strict=True))

    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        heights = [column.height for column in self.base.columns]
        top = sum(w * h for w, h in zip(self.weights, heights, strict=True))
        return sum(w * x for w, x in zip(self.weights, node, strict=True)) / top, 0.0

    def exact(self, limit: int) -> bool:
        return True

    def value(self, loss: float) -> float:
        return round(loss * sum(column.height for column in self.base.columns))


class Discernibility(Metric):
    """[sum |E|^2 over released groups + s n] / n^2 (Bayardo and Agrawal 2005); weights make no difference to it.

    Proof that sum |E|^2 over *all* groups of a node bounds its generalisations from below: a group that is released adds its
    |E|^2, one that is suppressed |E| n >= |E|^2, and merging groups a and b turns a^2 + b^2 into more.
    """

    name = "discernibility"

    def floor(self, shape: Sequence[int]) -> Floats:
        return np.zeros(tuple(shape))

    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        _, bad, sizes = view.entries(node)
        n, squares = max(1, self.base.rows), sizes.astype(float) ** 2
        return float(squares[~bad].sum() + float(sizes[bad].sum()) * n) / n**2, float(squares.sum()) / n**2

    def exact(self, limit: int) -> bool:
        return False

    def value(self, loss: float) -> float:
        return round(loss * self.base.rows**2)


@dataclass(frozen=True, eq=False)
class OwnMetric(Metric):
    """A loss of one's own: ``function(levels, sizes, suppressed)`` of the level of each quasi-identifier, the sizes of the
    released groups and the number of rows left out; every safe node is judged by it."""

    function: Callable[[dict[str, int], Floats, int], float]
    name = "own"

    def floor(self, shape: Sequence[int]) -> Floats:
        return np.full(tuple(shape), -np.inf)

    def score(self, node: Node, view: HistogramView) -> tuple[float, float]:
        _, bad, sizes = view.entries(node)
        levels = {column.name: level for column, level in zip(self.base.columns, node, strict=True)}
        try:
            loss = float(self.function(levels, np.sort(sizes[~bad]).astype(np.float64), int(sizes[bad].sum())))
        except (TypeError, ValueError) as problem:
            raise InvalidRequest(
                f"a metric of one's own returns a number for levels, sizes and suppressed rows: {problem}"
            ) from None
        if not np.isfinite(loss):
            raise InvalidRequest(f"a metric must be a finite number, got {loss} at the levels {levels}")
        return loss, -np.inf

    def exact(self, limit: int) -> bool:
        return False


Chosen = str | Callable[[dict[str, int], Floats, int], float]
METRICS: dict[str, type[Metric]] = {
    metric.name: metric for metric in (Precision, Height, Discernibility, CertaintyPenalty, NonUniformEntropy)
}


def metric_named(name: Chosen, base: Histogram, weights: Mapping[str, float] | None = None) -> Metric:
    """A metric of a table, with a weight for each column (1 where none is given); or a function of one's own."""
    if callable(name):
        if weights:
            raise InvalidRequest("weights are for the metrics that have a name; write them into your own")
        return OwnMetric(base, (), name)
    if name not in METRICS:
        raise UnknownName(f"no metric is called {name!r}; known: {', '.join(METRICS)}")
    given = dict(weights or {})
    names = [column.name for column in base.columns]
    for column in given:
        if column not in names:
            raise UnknownName(f"a weight must be for a quasi-identifier, got {column!r}; known: {', '.join(names)}")
    if given and name == Discernibility.name:
        raise InvalidRequest("discernibility has no column weights; use precision, height, ncp or entropy")
    return METRICS[name](base, tuple(_weight(given.get(column, 1), column) for column in names))


_MOST_WEIGHT = 10**100  # and its inverse the least: sums and products of weights stay finite in doubles


def _weight(value: Any, column: str) -> float:
    """The weight of a column as a double; refuses one that doubles do not hold."""
    weight = positive(value, f"the weight of {column!r}")
    if not 1 / weight <= _MOST_WEIGHT >= weight:
        raise InvalidRequest(f"the weight of {column!r} must lie within 1e-100 and 1e100, got one of another size")
    return float(weight)


def choose(metric: Metric, safe: Mask, view: HistogramView, limit: int) -> tuple[Node, float]:
    """The safe node of least loss; of equal ones the lowest, then the first in the order of levels.

    Proof: a node is left out only when a number that its loss does not fall below exceeds the least loss found.
    """
    floor = metric.floor(safe.shape)
    nodes = np.argwhere(safe)
    exact = metric.exact(limit)
    best: tuple[float, int, Node] | None = None
    first = floor[safe]
    for place in np.lexsort((nodes.sum(axis=1), first)):
        if best is not None and first[place] > best[0] + _TIE:
            break
        node = tuple(int(level) for level in nodes[place])
        after = (sum(node), node)
        if best is not None and floor[node] > best[0] - _TIE and (floor[node] > best[0] + _TIE or after > best[1:]):
            continue
        score, least = (float(floor[node]), 0.0) if exact else metric.score(node, view)
        above = tuple(slice(level, None) for level in node)
        floor[above] = np.maximum(floor[above], least)
        if best is None or score < best[0] - _TIE or (score <= best[0] + _TIE and after < best[1:]):
            best = (score, *after)
    assert best is not None
    return best[2], best[0]
