"""Which nodes of the lattice of levels are safe: Incognito (LeFevre, DeWitt and Ramakrishnan 2005).

A node says how coarse each quasi-identifier is made. The search goes over *subsets* of the quasi-identifiers, small ones
first, because a subset's failures are cheap to find and rule out most of the nodes above them. Within one subset a
passing node marks all its generalisations as passing and a failing one all its specialisations as failing; the
histogram of a subset is rolled up from one that has already been rolled up to the levels that still matter. A node is the
pair of its halves, and thousands of nodes are made of a few hundred halves: their keys are made once. What many nodes
are counted from is rolled up to the levels that they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.protect.diversity import Fails, Rule
from discreet.protect.lattice_histogram import CountedColumn, Histogram, Ints, mixed, numbered, totals

Node: TypeAlias = tuple[int, ...]
Mask: TypeAlias = npt.NDArray[np.bool_]
# Subsets of one and two columns rule out nearly all that any subset does; going through those of three and more costs
# more than it saves, as every node of them is tested on a histogram that is hardly smaller than the whole.
_SIZES = (1, 2)
_OFTEN = 100  # tests of a histogram after which smaller ones are made of it
_KEPT = 1 << 23  # keys of half the columns that a view keeps, in cells
_CELLS = 1 << 22  # entries of a matrix of groups by sensitive values that are held at once


@dataclass(frozen=True, eq=False)
class HistogramView:
    """A histogram to be tested at its own levels or coarser ones."""

    histogram: Histogram
    rules: Sequence[Rule]

    def keys(self, node: Node) -> tuple[Ints, int]:
        """The group of each entry at the levels of ``node``, and a number above all of them."""
        half = (len(node) + 1) // 2
        parts = [self._part(start, levels) for start, levels in ((0, node[:half]), (half, node[half:])) if levels]
        return mixed([keys for keys, _ in parts], [space for _, space in parts])

    @cached_property
    def _known(self) -> dict[tuple[int, Node], tuple[Ints, int]]:
        return {}

    def _part(self, start: int, levels: Node) -> tuple[Ints, int]:
        """The keys of half the columns at some levels; kept, because thousands of nodes ask for the same few."""
        found = self._known.get((start, levels))
        if found is None:
            sizes = [self._named(start + p).size(level) for p, level in enumerate(levels)]
            found = mixed([self._column(start + p, level) for p, level in enumerate(levels)], sizes)
            if len(self._known) * len(found[0]) < _KEPT:
                self._known[start, levels] = found
        return found

    @cached_property
    def _moved(self) -> dict[tuple[int, int], Ints]:
        return {}

    def _column(self, place: int, level: int) -> Ints:
        """The codes of a column at a level."""
        low, codes = self.histogram.levels[place], self.histogram.codes[place]
        if level == low:
            return codes
        if (place, level) not in self._moved:
            self._moved[place, level] = self._named(place).step(low, level)[codes]
        return self._moved[place, level]

    def _named(self, place: int) -> CountedColumn:
        return self.histogram.columns[self.histogram.which[place]]

    def suppressed(self, node: Node) -> int:
        """How many rows are in groups that fail a rule."""
        keys, space = self.keys(node)
        h = self.histogram
        if h.sensitive is None:
            rows = totals(keys, space, h.weights)
            return int(rows @ self.rules[0].fails(rows, rows[:, None]).astype(np.float64))
        ids, groups = numbered(keys, space)
        sizes, bad = judge(self.rules, ids, groups, h.counts, h.sensitive, len(h.values))
        return int(sizes[bad].sum())

    def entries(self, node: Node) -> tuple[Ints, Fails, Ints]:
        """The group of each entry, which groups fail, and their sizes."""
        ids, groups = numbered(*self.keys(node))
        h = self.histogram
        sizes, bad = judge(self.rules, ids, groups, h.counts, h.sensitive, len(h.values))
        return ids, bad, sizes


class RolledUp:
    """A view that is asked about many nodes, and smaller ones rolled up from it for the nodes that share a level.

    Rolling up costs as much as some tens of tests and makes all later ones cheaper, so it is done for what is asked often,
    a column at a time in ``order``.
    """

    def __init__(self, view: HistogramView, order: Sequence[int]) -> None:
        self._view, self._order = view, order
        self._asked = 0
        self._coarser: dict[int, RolledUp] = {}

    def suppressed(self, node: Node) -> int:
        """How many rows are in groups that fail a rule."""
        self._asked += 1
        if not self._order or self._asked <= _OFTEN:
            return self._view.suppressed(node)
        level = node[self._order[0]]
        if level not in self._coarser:
            self._coarser[level] = RolledUp(self._rolled(self._order[0], level), self._order[1:])
        return self._coarser[level].suppressed(node)

    def _rolled(self, place: int, level: int) -> HistogramView:
        h = self._view.histogram
        if h.levels[place] == level:
            return self._view
        return HistogramView(h.rolled([level if p == place else low for p, low in enumerate(h.levels)]), self._view.rules)


def judge(
    rules: Sequence[Rule], ids: Ints, groups: int, counts: Ints, sensitive: Ints | None, width: int
) -> tuple[Ints, Fails]:
    """The sizes of groups and which of them fail a rule; the matrix of sensitive values is made a block at a time."""
    sizes = np.bincount(ids, counts, groups).astype(np.int64)
    bad = np.zeros(groups, bool)
    blind = [rule for rule in rules if not rule.sensitive]
    for rule in blind:
        bad |= rule.fails(sizes, sizes[:, None])
    seeing = [rule for rule in rules if rule.sensitive]
    if not seeing or sensitive is None:
        return sizes, bad
    for start, stop, matrix in matrices(ids, groups, sensitive, width, counts):
        for rule in seeing:
            bad[start:stop] |= rule.fails(sizes[start:stop], matrix)
    return sizes, bad


def matrices(ids: Ints, groups: int, sensitive: Ints, width: int, counts: Ints) -> list[tuple[int, int, Ints]]:
    """Groups by sensitive values, in blocks of groups that fit in memory."""
    step = max(1, _CELLS // max(1, width))
    if groups <= step:
        flat = np.bincount(ids * width + sensitive, counts, groups * width)
        return [(0, groups, flat.astype(np.int64).reshape(groups, width))]
    return [_Block(ids, sensitive, width, counts, s, min(s + step, groups)).made() for s in range(0, groups, step)]


@dataclass(frozen=True, eq=False)
class _Block:
    ids: Ints
    sensitive: Ints
    width: int
    counts: Ints
    start: int
    stop: int

    def made(self) -> tuple[int, int, Ints]:
        here = (self.ids >= self.start) & (self.ids < self.stop)
        rows = self.stop - self.start
        places = (self.ids[here] - self.start) * self.width + self.sensitive[here]
        flat = np.bincount(places, self.counts[here], rows * self.width)
        return self.start, self.stop, flat.astype(np.int64).reshape(rows, self.width)


@dataclass(frozen=True, eq=False)
class Safe:
    """The nodes that pass, as a mask over the lattice, and how many nodes were computed to know it."""

    mask: Mask
    tested: int

    def both(self, other: Safe) -> Safe:
        """The nodes that pass here and there."""
        return Safe(self.mask & other.mask, self.tested + other.tested)

    def nodes(self) -> list[Node]:
        """Every passing node, lowest first."""
        found = [tuple(int(level) for level in node) for node in np.argwhere(self.mask)]
        return sorted(found, key=lambda node: (sum(node), node))


def incognito(base: Histogram, shape: Sequence[int], rules: Sequence[Rule], limit: int) -> Safe:
    """Every node of the lattice of ``shape`` at which at most ``limit`` rows are in groups that fail a rule.

    ``shape`` holds the number of levels of each quasi-identifier. The result is that of testing every node.

    Proof, for rules that are monotone, or any of these rules at limit 0: a group at a node is a union of groups at each
    of its specialisations, and at a node of a subset of the columns it is a union of groups at any node of all columns
    that agrees with it. Unions of good groups are good, so the rows in bad groups cannot become more when a node is made
    coarser or a column is left out: a failing node rules out its specialisations, in its own subset and in every
    larger one, and a passing node its generalisations in. Under a limit the other rules do not have this property:
    there the monotone ones are searched and every survivor is tested with all of them.
    """
    pruning = list(rules) if limit == 0 else [rule for rule in rules if rule.monotone]
    searched = base.blind() if all(not rule.sensitive for rule in pruning) else base
    mask, tested = _search(searched, tuple(shape), pruning, limit)
    if len(pruning) < len(rules):
        view = HistogramView(base, rules)
        for node in np.argwhere(mask):
            tested += 1
            mask[tuple(node)] = view.suppressed(tuple(int(level) for level in node)) <= limit
    return Safe(mask, tested)


def _search(base: Histogram, shape: Node, rules: Sequence[Rule], limit: int) -> tuple[Mask, int]:
    many = len(shape)
    sizes = [size for size in _SIZES if size < many] + [many]
    passing: dict[Node, Mask] = {(): np.ones((), bool)}
    smaller, tested = 0, 0
    for size in sizes:
        found: dict[Node, Mask] = {}
        lowest = list(base.levels)
        for subset in combinations(range(many), size):
            # A node of a subset can pass only if it passes in every smaller subset of it ...
            maybe = np.ones([shape[a] for a in subset], bool)
            for places in combinations(range(size), smaller):
                spread = [shape[a] if place in places else 1 for place, a in enumerate(subset)]
                maybe &= passing[tuple(subset[place] for place in places)].reshape(spread)
            # ... and is of use only at levels that pass in some node of every subset seen so far.
            for place, column in enumerate(subset):
                np.moveaxis(maybe, place, 0)[: base.levels[column]] = False
            mask, tests = _explore(base, subset, maybe, rules, limit)
            tested += tests
            found[subset] = mask
            if not mask.any():
                return np.zeros(shape, bool), tested
            for place, level in enumerate(_corner(mask)):
                lowest[subset[place]] = max(lowest[subset[place]], level)
        passing, smaller = found, size
        if size < many and lowest != list(base.levels):
            base = base.rolled(lowest)
    return passing[tuple(range(many))], tested


def _corner(mask: Mask) -> list[int]:
    """The lowest level of each column among the nodes of a mask that is not empty."""
    return [int(np.argmax(mask.any(axis=tuple(q for q in range(mask.ndim) if q != p)))) for p in range(mask.ndim)]


def _explore(base: Histogram, subset: tuple[int, ...], maybe: Mask, rules: Sequence[Rule], limit: int) -> tuple[Mask, int]:
    """Which nodes of one subset pass, of those that may."""
    passing = np.zeros(maybe.shape, bool)
    unknown = maybe.copy()
    nodes = np.indices(maybe.shape).reshape(maybe.ndim, -1).T
    left = np.flatnonzero(maybe)
    left = left[np.argsort(nodes[left].sum(axis=1), kind="stable")]
    flat = unknown.ravel()
    tests = 0
    if len(left):
        root = HistogramView(base.rolled(_corner(maybe), subset), rules)
        # First the columns that spread most: rolling them up merges most.
        counted = RolledUp(root, sorted(range(len(subset)), key=lambda place: -root.histogram.spread(place)))
    while len(left):
        # The middle of what is unknown settles most of it, whichever way it falls.
        node = tuple(nodes[left[len(left) // 2]].tolist())
        tests += 1
        if counted.suppressed(node) <= limit:
            above = tuple(slice(level, None) for level in node)
            passing[above] = True
            unknown[above] = False
        else:
            unknown[tuple(slice(None, level + 1) for level in node)] = False
        left = left[flat[left]]
    return passing, tests
