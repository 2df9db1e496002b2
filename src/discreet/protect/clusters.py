"""Clusters of at least k rows that lie close together: k-member microaggregation of mixed columns.

The row farthest from the last cluster's seed is the next seed, and the rows nearest to it join until there are k: the
group step of MDAV (Domingo-Ferrer and Torra 2005) from the seeds of k-member clustering (Byun et al. 2007), which need no
centroid and so no number for a category. The distance is the sum over columns of squared distances along the range, or of
the squared share of levels on which two categories differ.

The table is first cut into boxes of some hundred rows, and clusters are made within them: time grows with the rows times
the size of a box over k, and memory beyond the codes is that of one box.

Proof of k: a cluster is closed only when it has k rows; when fewer than k rows of a box are left they join the clusters
nearest to them, and there is one, as every box has k rows. Rows with the same quasi-identifiers are one entry and join
together. Proof of the other rules: the box satisfies them; a cluster that does not is merged with another of its box, until
all do or the box is one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from discreet.protect.boxes import Entries, Fail, boxes
from discreet.protect.diversity import Fails
from discreet.protect.lattice_histogram import Floats, Ints

_ROWS = 1024  # rows of a box within which clusters are made

Apart = Callable[[int], Floats]  # the squared distance from one code of a column to each of them


def clusters(entries: Entries, apart: Sequence[Apart], k: int, fails: Fail | None = None) -> tuple[Ints, int]:
    """The class of each entry, all different in their quasi-identifiers, and how many classes there are."""
    box, many = boxes(entries, max(k, _ROWS // 2), fails)
    order = np.argsort(box, kind="stable")
    edges = np.searchsorted(box[order], np.arange(many + 1))
    known = [_Remembered(column) for column in apart]
    classes = np.zeros(len(box), np.int64)
    made = 0
    for start, stop in pairwise(edges.tolist()):
        here = order[start:stop]
        parts = [column[here] for column in entries.codes]
        found, seeds = _members(parts, known, entries.counts[here], k)
        if fails is not None:
            found = _merged(found, seeds, parts, known, partial(fails, entries=here))
        _, found = np.unique(found, return_inverse=True)
        classes[here] = made + found
        made += int(found.max()) + 1
    return classes, made


class _Remembered:
    """The distances from a code, each computed once."""

    def __init__(self, apart: Apart) -> None:
        self._apart, self._known = apart, dict[int, Floats]()

    def __call__(self, code: int) -> Floats:
        if code not in self._known:
            if len(self._known) > _ROWS:
                self._known.clear()
            self._known[code] = self._apart(code)
        return self._known[code]


def _from(place: int, parts: Sequence[Ints], apart: Sequence[_Remembered], to: Ints) -> Floats:
    """The distance from one entry to others."""
    total = np.zeros(len(to))
    for codes, distances in zip(parts, apart, strict=True):
        total += distances(int(codes[place]))[codes[to]]
    return total


def _members(parts: Sequence[Ints], apart: Sequence[_Remembered], counts: Ints, k: int) -> tuple[Ints, list[int]]:
    """Clusters of at least ``k`` rows, and the seed of each."""
    found = np.full(len(counts), -1)
    left = np.arange(len(counts))
    seed, seeds = 0, list[int]()
    while counts[left].sum() >= k:
        far = _from(seed, parts, apart, left)
        seed = int(left[np.argmax(far)])
        near = _from(seed, parts, apart, left)
        first = np.argpartition(near, min(k, len(left)) - 1)[:k]
        first = first[np.argsort(near[first], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(counts[left[first]]), k)) + 1
        found[left[first[:enough]]] = len(seeds)
        seeds.append(seed)
        left = np.delete(left, first[:enough])
    if len(left):
        nearest = np.stack([_from(other, parts, apart, left) for other in seeds]).argmin(axis=0)
        found[left] = nearest
    return found, seeds


def _merged(
    found: Ints, seeds: list[int], parts: Sequence[Ints], apart: Sequence[_Remembered], fails: Callable[[Ints, int], Fails]
) -> Ints:
    """Clusters that break a rule, joined to the one with the nearest seed until none is left that does."""
    places = np.array(seeds)
    while len(places) > 1:
        bad = np.flatnonzero(fails(found, len(places)))
        if not len(bad):
            break
        target = np.arange(len(places))
        for cluster in bad.tolist():
            far = _from(int(places[cluster]), parts, apart, places)
            far[target == target[cluster]] = np.inf
            if np.isinf(far).all():
                break
            target[target == target[cluster]] = target[int(np.argmin(far))]
        kept, renumbered = np.unique(target, return_inverse=True)
        found, places = renumbered[found], places[kept]
    return found
