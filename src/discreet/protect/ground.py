"""How far sensitive values are from one another, and the earth mover's distance between two shares of them.

Values are the leaves of a tree whose edges have lengths; two values are as far apart as the way between them is long:

- *equal*: any two values are 1 apart, a star with edges of 1/2;
- *ordered* (a list, or numbers by size): neighbours of v values are 1/(v - 1) apart, a path;
- *by a hierarchy* of height H: values that first meet on level h are h/H apart, edges of 1/(2H) (Li et al. 2007).

Proof of the distance: without one edge the values fall into a set S and the rest. Whatever carries the shares p into P
carries |p(S) - P(S)| over this edge, and what carries the surplus of each subtree upwards and its deficit downwards carries
no more over any. So the distance is the sum over edges of their length times |p(S) - P(S)|. Values are arranged so that
every S is a stretch of them, and p(S) a difference of two cumulated shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import InvalidRequest
from discreet.protect.hierarchies import Hierarchy
from discreet.protect.lattice_histogram import Floats, Ints
from discreet.sources.cell_meaning import label

Ranking = Sequence[object] | str | Hierarchy | None


@dataclass(frozen=True, eq=False)
class Ground:
    """The edges of the tree: the values below each, from ``starts`` to before ``stops``, and the length of all edges."""

    starts: Ints
    stops: Ints
    length: float

    def distance(self, sizes: Ints, matrix: Ints, shares: Floats) -> Floats:
        """The earth mover's distance of each group from the table's shares."""
        apart = matrix / np.maximum(sizes, 1)[:, None] - shares
        below = np.zeros((len(matrix), matrix.shape[1] + 1))
        np.cumsum(apart, axis=1, out=below[:, 1:])
        return np.asarray(np.abs(below[:, self.stops] - below[:, self.starts]).sum(axis=1) * self.length)


def ground(values: Sequence[str | None], order: Ranking) -> Ground:
    """The distances between values that are ``arranged`` already."""
    many = len(values)
    each = np.arange(many)
    if isinstance(order, Hierarchy):
        ways = [_way(value, order) for value in values]
        runs = [run for level in range(order.height) for run in _runs([way[level] for way in ways])]
        starts, stops = np.array(runs, np.int64).reshape(-1, 2).T
        return Ground(starts, stops, 1 / (2 * order.height))
    if order is None:
        return Ground(each, each + 1, 1 / 2)
    return Ground(np.zeros(max(0, many - 1), np.int64), each[1:], 1 / max(1, many - 1))


def arranged(values: Sequence[str | None], order: Ranking) -> list[int]:
    """The places of the sensitive values in their order: ``"numeric"``, a list of all of them, or branch by branch."""
    if order is None:
        return list(range(len(values)))
    if isinstance(order, Hierarchy):
        try:
            ways = [_way(value, order)[::-1] for value in values]
        except InvalidRequest:
            raise InvalidRequest(
                "order must cover every sensitive value, and some are not in the hierarchy; add them"
            ) from None
        return sorted(range(len(values)), key=lambda i: [(word is not None, word or "") for word in ways[i]])
    if order == "numeric":
        try:
            return sorted(range(len(values)), key=lambda i: Fraction(values[i] or ""))
        except ValueError:
            raise InvalidRequest(
                "order='numeric' needs a sensitive column of numbers without gaps; list the order"
            ) from None
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise InvalidRequest(
            f"order must be 'numeric', a list of the sensitive values from low to high, or a hierarchy, got {order!r}"
        )
    ranks = {label(value): rank for rank, value in enumerate(order)}
    if not set(values) <= set(ranks):
        raise InvalidRequest("order must list every sensitive value, and some are not in it; add them")
    return sorted(range(len(values)), key=lambda i: ranks[values[i]])


def ranked(values: Sequence[str | None], order: Ranking) -> tuple[tuple[str | None, ...], Ints]:
    """The values in their order, and the place in it of each as they were given."""
    places = arranged(values, order)
    ranks = np.empty(len(places), np.int64)
    ranks[places] = np.arange(len(places))
    return tuple(values[place] for place in places), ranks


def _way(value: str | None, hierarchy: Hierarchy) -> tuple[str | None, ...]:
    return hierarchy.missing if value is None else hierarchy.path(value)


def _runs(words: Sequence[str | None]) -> list[tuple[int, int]]:
    """The stretches of equal words."""
    ends = [i for i in range(1, len(words)) if words[i] != words[i - 1]]
    return list(zip([0, *ends], [*ends, len(words)], strict=True)) if words else []
