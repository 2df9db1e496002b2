"""A quasi-identifier as an ordered scale of codes: what local recoding cuts, and what it writes for a stretch of it.

A hierarchy says the order of its values (numbers and days by size, categories branch by branch), how far along its range
each lies, and what stands for all values from one to another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.protect.hierarchies import Hierarchy, covering
from discreet.protect.lattice_histogram import Floats, Ints


@dataclass(frozen=True, eq=False)
class Scale:
    """The values of one column in the order of its hierarchy, a missing one first; codes are places in ``values``."""

    name: str
    values: tuple[str | None, ...]
    hierarchy: Hierarchy

    @staticmethod
    def of(name: str, leaves: Sequence[str | None], hierarchy: Hierarchy) -> tuple[Scale, Ints]:
        """The scale of the leaves of a table, and the code of each leaf; a value that is not covered is refused unnamed."""
        known = [leaf for leaf in leaves if leaf is not None]
        with covering(name):
            told = _ordered(known, hierarchy)
        values: tuple[str | None, ...] = (*([None] if None in leaves else []), *told)
        code = {value: place for place, value in enumerate(values)}
        return Scale(name, values, hierarchy), np.array([code[leaf] for leaf in leaves], np.int64)

    @cached_property
    def gap(self) -> bool:
        """Whether a missing value is on the scale; it has code 0."""
        return bool(self.values) and self.values[0] is None

    @cached_property
    def positions(self) -> Floats:
        """How far along the range each value lies, from 0 to 1; a missing one a whole range before all others."""
        shares = self.hierarchy.positions(self._told)
        return np.array([*([-1.0] if self.gap else []), *shares], float)

    def cover(self, low: Ints, high: Ints) -> tuple[list[str | None], Floats]:
        """The word for each stretch of codes and the share of the range it stands for; each different one is made once."""
        pairs, which = np.unique(low * len(self.values) + high, return_inverse=True)
        for pair in pairs.tolist():
            if pair not in self._known:
                self._known[pair] = self._stretch(*divmod(pair, len(self.values)))
        made = [self._known[pair] for pair in pairs.tolist()]
        losses = np.array([loss for _, loss in made], float)
        return [made[place][0] for place in which.tolist()], losses[which]

    @cached_property
    def _known(self) -> dict[int, tuple[str | None, float]]:
        return {}

    def _stretch(self, low: int, high: int) -> tuple[str | None, float]:
        if low == high:
            return self.values[low], 0.0
        if self.gap and low == 0:
            return self.hierarchy.top, 1.0
        first = int(self.gap)
        return self.hierarchy.cover(self._told, low - first, high - first, self._told_positions)

    def points(self) -> tuple[Floats, Floats]:
        """Where each code lies on the range, as a stretch without length; a missing one lies before it."""
        if self.hierarchy.measured:
            return self.positions, self.positions
        many = len(self._told_positions)
        at = (np.arange(len(self.values)) - int(self.gap) + 0.5) / max(1, many)
        return at, at

    def between(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        """The stretches from one code to another: from value to value, or from the beginning of a branch to its end."""
        points, _ = self.points()
        half = 0.0 if self.hierarchy.measured else 0.5 / max(1, len(self._told_positions))
        wide = np.where(low < high, half, 0.0)
        return points[low] - wide, points[high] + wide

    def at(self, level: int) -> tuple[Ints, Floats, Floats]:
        """The cell of each code at a level, and the stretch of the range that each cell stands for."""
        ways = [self.hierarchy.missing if value is None else self.hierarchy.path(value) for value in self.values]
        words = {word: number for number, word in enumerate(dict.fromkeys(way[level] for way in ways))}
        which = np.array([words[way[level]] for way in ways], np.int64)
        codes = np.arange(len(which))
        low, high = np.full(len(words), len(which)), np.full(len(words), -1)
        np.minimum.at(low, which, codes)
        np.maximum.at(high, which, codes)
        if level == self.hierarchy.height:  # all of the range, whatever of it is there
            return which, np.zeros(len(words)), np.ones(len(words))
        starts, stops = self.between(low, high)
        if self.hierarchy.measured and level > 0:
            ends = [self.hierarchy.ends(value, level) if (value := self.values[c]) is not None else (-1, -1) for c in low]
            starts, stops = (np.array(side, float) for side in zip(*ends, strict=True))
        return which, starts, stops

    def centres(self, classes: Ints, many: int, codes: Ints, counts: Ints) -> list[str | None]:
        """What stands for each class in its middle: a mean where the hierarchy has one, else the most frequent value."""
        told = codes > 0 if self.gap else np.ones(len(codes), bool)
        here, code, rows = classes[told], codes[told], counts[told]
        weight = np.bincount(here, rows, many)
        means = np.bincount(here, rows * self.positions[code], many) / np.maximum(weight, 1)
        often = self.most_frequent(here, many, code, rows)
        known: dict[tuple[float, int], str | None] = {}
        out = []
        for mean, place, rows_here in zip(means.tolist(), often.tolist(), weight.tolist(), strict=True):
            if (mean, place) not in known:
                frequent = None if place < 0 else self.values[place]
                known[mean, place] = None if frequent is None else self.hierarchy.centre(mean, frequent)
            out.append(known[mean, place] if rows_here else None)
        return out

    def most_frequent(self, classes: Ints, many: int, codes: Ints, rows: Ints | Floats) -> Ints:
        """The code that most rows of each class have, of equal ones the first on the scale; -1 for a class without rows."""
        pairs, which = np.unique(classes * len(self.values) + codes, return_inverse=True)
        times = np.bincount(which, rows, len(pairs))
        often = np.full(many, -1)
        order = np.lexsort((-pairs, times))  # the most frequent last
        often[pairs[order] // len(self.values)] = pairs[order] % len(self.values)
        return often

    def apart(self, code: int) -> Floats:
        """The squared distance from one code to every code: of positions, or of branches; 1 from a missing one."""
        if self.gap and code == 0:
            return np.where(np.arange(len(self.values)) == 0, 0.0, 1.0)
        value = self.values[code]
        assert value is not None
        told = self.hierarchy.apart(value, self._told, self._told_positions)
        return np.concatenate(([1.0], told)) if self.gap else told

    @cached_property
    def _told_positions(self) -> Floats:
        return self.positions[1:] if self.gap else self.positions

    @cached_property
    def _told(self) -> list[str]:
        return [value for value in self.values if value is not None]


def _ordered(leaves: list[str], hierarchy: Hierarchy) -> list[str]:
    """The leaves by their places; what is measured by position first, which is quick, and exactly where these are equal."""
    if not hierarchy.measured:
        places = {leaf: hierarchy.place(leaf) for leaf in leaves}
        return sorted(leaves, key=lambda leaf: (places[leaf], leaf))
    positions = np.array(hierarchy.positions(leaves), float)
    order = np.argsort(positions, kind="stable")
    told, at = [leaves[place] for place in order.tolist()], positions[order]
    starts = np.flatnonzero(np.append(True, at[1:] != at[:-1])) if len(at) else np.zeros(0, np.int64)
    lengths = np.diff(np.append(starts, len(at)))
    for start, length in zip(starts[lengths > 1].tolist(), lengths[lengths > 1].tolist(), strict=True):
        told[start : start + length] = sorted(told[start : start + length], key=lambda leaf: (hierarchy.place(leaf), leaf))
    return told
