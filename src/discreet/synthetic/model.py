"""The distribution that fits the measured tables: records with weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidRequest
from discreet.synthetic.measurement import Floats, Measurement
from discreet.synthetic.pair_tree import Codes, tree_of
from discreet.synthetic.public_stream import Stream
from discreet.synthetic.reweighting import reweighted

RECORDS = 40_000  # that stand for all records, where those are more
_TRIES = 50

Possible = Callable[[Codes, Stream], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Model:
    """Records (a line for each column, in levels) and their weights, which sum to 1; ``rows`` is how many rows there are."""

    records: Codes
    weights: Floats
    rows: float

    def counts(self, sizes: Sequence[int], places: Sequence[int]) -> Floats:
        """What the model expects of the table of some columns."""
        line = np.zeros(self.records.shape[1], np.intp)
        for i in places:
            line = line * sizes[i] + self.records[i]
        shape = [sizes[i] for i in places]
        found = np.bincount(line, weights=self.weights, minlength=math.prod(shape))
        return np.asarray(self.rows * found.reshape(shape), np.float64)

    def even_rows(self, rows: int, stream: Stream) -> Codes:
        """Records in proportion to their weights, as evenly as whole numbers allow, in a random order.

        Even steps through sorted records, the column of most levels first, leave every share nearly as it is.
        """
        order = np.lexsort(self.records[np.argsort(self.records.max(1), kind="stable")])
        points = (np.arange(rows) + stream.uniforms(1)) / rows
        sorted_model = Model(self.records[:, order], self.weights[order], self.rows)
        return sorted_model._at(points[np.argsort(stream.uniforms(rows))], sorted_model.weights)

    def sampled_rows(self, rows: int, people: float, stream: Stream) -> Codes:
        """Records of a population that this table may have come from: shares ~ Dirichlet(people x weights), then rows."""
        shares = stream.gammas(np.maximum(people * self.weights, 1e-12))
        return self._at(stream.uniforms(rows), shares / shares.sum())

    def _at(self, points: Floats, shares: Floats) -> Codes:
        edges = np.cumsum(shares)
        found = np.searchsorted(edges, points * edges[-1], side="right")
        return self.records[:, np.minimum(found, len(shares) - 1)]


def fitted(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    rows: float,
    stream: Stream,
    possible: Possible | None = None,
    records: int = RECORDS,
) -> Model:
    """The model of some measurements; records that are not ``possible`` are left out."""
    start = from_tree(sizes, measurements, rows, stream, possible, records)
    return replace(start, weights=reweighted(sizes, start.records, start.weights, measurements, rows))


def from_tree(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    rows: float,
    stream: Stream,
    possible: Possible | None = None,
    records: int = RECORDS,
) -> Model:
    """The tree alone, as records.

    Where there are fewer different records than ``records``, they are all of them, and the model is exact: of all
    distributions that fit as well, the nearest to the tree in relative entropy. Otherwise they are drawn from the tree.
    """
    tree = tree_of(sizes, measurements, rows)
    if math.prod(sizes) <= records:
        drawn = np.indices(sizes).reshape(len(sizes), -1).astype(np.intp)
        start = tree.joint()
        if possible is not None:
            kept = possible(drawn, stream)
            drawn, start = drawn[:, kept], start[kept]
    else:
        drawn = tree.drawn(records, stream)
        if possible is not None:
            drawn = _only_possible(tree.drawn, drawn, records, stream, possible)
        start = np.full(drawn.shape[1], 1.0)
    if not drawn.shape[1] or start.sum() <= 0:
        raise InvalidRequest("no record that fits what was released is possible; leave out a condition of impossible=")
    return Model(drawn, start / start.sum(), rows)


def _only_possible(
    draw: Callable[[int, Stream], Codes], drawn: Codes, records: int, stream: Stream, possible: Possible
) -> Codes:
    """Records that are possible, drawn until there are enough, or often enough."""
    found = [drawn[:, possible(drawn, stream)]]
    for _ in range(_TRIES):
        if sum(part.shape[1] for part in found) >= records // 2:
            break
        more = draw(records, stream)
        found.append(more[:, possible(more, stream)])
    return np.concatenate(found, 1)
