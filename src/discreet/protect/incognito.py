"""Which nodes of the lattice of levels are safe: Incognito (LeFevre, DeWitt and Ramakrishnan 2005).

A node says how coarse each quasi-identifier is made. The search goes over *subsets* of the quasi-identifiers, small ones
first, because a subset's failures are cheap to find and rule out most of the nodes above them. Within one subset a
passing node marks all its generalisations as passing and a failing one all its specialisations as failing; the
histogram of a subset is rolled up from one that has already been rolled up to the levels that still matter.
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
from discreet.protect.histogram import Histogram, Ints, mixed, numbered, totals

Node: TypeAlias = tuple[int, ...]
Mask: TypeAlias = npt.NDArray[np.bool_]
# Subsets of one and two columns rule out nearly all that any subset does; going through those of three and more costs
# more than it saves, as every node of them is tested on a histogram that is hardly smaller than the whole.
_SIZES = (1, 2)
_CELLS = 1 << 22  # entries of a matrix of groups by sensitive values that are held at once


@dataclass(frozen=True, eq=False)
class View:
    """A histogram to be tested at its own levels or coarser ones."""

    histogram: Histogram
    rules: Sequence[Rule]

    def keys(self, node: Node) -> tuple[Ints, int]:
        """The group of each entry at the levels of ``node``."""
        h = self.histogram
        sizes = [h.columns[column].size(level) for column, level in zip(h.which, node, strict=True)]
        return mixed([self._column(place, level) for place, level in enumerate(node)], sizes)

    @cached_property
    def _moved(self) -> dict[tuple[int, int], Ints]:
        return {}

    def _column(self, place: int, level: int) -> Ints:
        """The codes of a column at a level; kept, because thousands of nodes ask for the same few."""
        if (place, level) not in self._moved:
            h = self.histogram
            low, codes = h.levels[place], h.codes[place]
            step = h.columns[h.which[place]].step(low, level)
            self._moved[place, level] = codes if level == low else step[codes]
        return self._moved[place, level]

    def suppressed(self, node: Node) -> int:
        """How many rows are in groups that fail a rule."""
        keys, space = self.keys(node)
        h = self.histogram
        if h.sensitive is None:
            sizes = totals(keys, space, h.counts)
            bad = self.rules[0].fails(sizes, sizes[:, None])
            return int(sizes[bad].sum())
        ids, groups = numbered(keys, space)
        sizes, bad = judge(self.rules, ids, groups, h.counts, h.sensitive, len(h.values))
        return int(sizes[bad].sum())

    def entries(self, node: Node) -> tuple[Ints, Fails, Ints]:
        """The group of each entry, which groups fail, and their sizes."""
        ids, groups = numbered(*self.keys(node))
        h = self.histogram
        sizes, bad = judge(self.rules, ids, groups, h.counts, h.sensitive, len(h.values))
        return ids, bad, sizes


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
    if all(not rule.sensitive for rule in pruning):
        searched = Histogram(base.columns, base.which, base.levels, base.codes, base.counts, None, (), base.rows)
        searched = searched.rolled(searched.levels) if base.sensitive is not None else searched
    else:
        searched = base
    mask, tested = _search(searched, tuple(shape), pruning, limit)
    if len(pruning) < len(rules):
        view = View(base, rules)
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
    heights = np.indices(maybe.shape).sum(axis=0).ravel()
    root: View | None = None
    tests = 0
    while True:
        left = np.flatnonzero(unknown)
        if not len(left):
            return passing, tests
        if root is None:
            root = View(base.rolled(_corner(maybe), subset), rules)
        # The middle of what is unknown settles most of it, whichever way it falls.
        middle = len(left) // 2
        chosen = left[np.argpartition(heights[left], middle)[middle]]
        node = tuple(int(level) for level in np.unravel_index(chosen, maybe.shape))
        tests += 1
        if root.suppressed(node) <= limit:
            above = tuple(slice(level, None) for level in node)
            passing[above] = True
            unknown[above] = False
        else:
            unknown[tuple(slice(None, level + 1) for level in node)] = False
