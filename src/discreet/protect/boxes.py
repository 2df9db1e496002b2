"""Boxes of at least k rows that cut the table where it is widest: strict Mondrian (LeFevre, DeWitt, Ramakrishnan 2006).

Every box begins as the whole table. A box is cut in two along the column on which its rows spread widest, between two
values, where the halves are most even; where the halves would break a rule, along the next widest. A box that no column
cuts is a class. All boxes of one depth are cut together: a depth is a few passes over arrays.

Proof of k, and of the other rules: the whole table satisfies them or is refused, and a box is replaced by two only if both
satisfy them. Values of one column are never on both sides of a cut, so rows with the same quasi-identifiers share a class:
the class is a function of the quasi-identifiers. For k alone a class is minimal: the most even cut of a column has the
largest smaller half, so where that has fewer than k rows every cut of the column does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.protect.diversity import Fails
from discreet.protect.lattice_histogram import Floats, Ints


class Fail(Protocol):
    """Which groups of entries break a rule: the group of each of ``entries``, and how many groups there are."""

    def __call__(self, ids: Ints, groups: int, entries: Ints) -> Fails: ...


_BITS = 62
Small = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Entries:
    """Different rows of a table: their codes by column, how far along its range each code lies, and how often each comes."""

    codes: Sequence[Ints]
    positions: Sequence[Floats]  # negative for a missing value, which is the first code
    counts: Ints


def boxes(entries: Entries, k: int, fails: Fail | None = None) -> tuple[Ints, int]:
    """The class of each entry, and how many classes there are."""
    codes = np.stack([column.astype(np.int32) for column in entries.codes])
    classes = np.zeros(len(entries.counts), np.int64)
    made = 0
    rows = np.arange(len(entries.counts))
    lengths = np.array([len(rows)])
    while len(rows):
        many = len(lengths)
        starts = np.cumsum(lengths) - lengths
        box = np.repeat(np.arange(many), lengths)
        column, cut = _cuts(entries, codes, rows, box, starts, k, fails)
        split = column >= 0
        closed = np.cumsum(~split) - 1 + made
        whole = ~split[box]
        classes[rows[whole]] = closed[box[whole]]
        made += int((~split).sum())
        rows, box = rows[~whole], (np.cumsum(split) - 1)[box[~whole]]
        if not len(rows):
            break
        column, cut = column[split], cut[split]
        child = 2 * box + (codes[column[box], rows] > cut[box])
        rows = rows[_order(child, 2 * len(column))]
        lengths = np.bincount(child, minlength=2 * len(column))
    return classes, made


def _cuts(
    entries: Entries, codes: Small, rows: Ints, box: Ints, starts: Ints, k: int, fails: Fail | None
) -> tuple[Ints, Ints]:
    """For every box the column that cuts it and the last code of the lower half; column -1 where none does."""
    many = len(starts)
    spans = np.empty((len(codes), many))
    for place, (column, positions) in enumerate(zip(codes, entries.positions, strict=True)):
        here = column[rows]
        low, high = np.minimum.reduceat(here, starts), np.maximum.reduceat(here, starts)
        spans[place] = np.where(low < high, positions[high] - positions[low], -1.0)
    widest = np.argsort(-spans, axis=0, kind="stable")
    chosen, cut = np.full(many, -1), np.zeros(many, np.int64)
    for attempt in range(len(codes)):
        column = widest[attempt]
        open_ = (chosen < 0) & (spans[column, np.arange(many)] >= 0)
        if not open_.any():
            break
        inside = open_[box]
        number = np.cumsum(open_) - 1
        mine, groups = rows[inside], number[box[inside]]
        values = codes[column[box[inside]], mine]
        gap = np.array([positions[0] < 0 for positions in entries.positions])[column[box[inside]]] & (values == 0)
        passing, at = _even(values, groups, int(open_.sum()), entries.counts[mine], k, gap)
        if fails is not None and passing.any():
            side = 2 * groups + (values > at[groups])
            bad = fails(side, 2 * len(passing), mine).reshape(-1, 2).any(axis=1)
            passing &= ~bad
        which = np.flatnonzero(open_)[passing]
        chosen[which], cut[which] = column[which], at[passing]
    return chosen, cut


def _even(values: Small, groups: Ints, many: int, counts: Ints, k: int, gap: Fails) -> tuple[Fails, Ints]:
    """The most even cut of each group between two values: whether both halves have k rows, and the last value below it.

    Missing values (``gap``) are cut off from the others first where that leaves k rows on both sides.
    """
    order = _order(groups.astype(np.int64) * (int(values.max()) + 1) + values, many * (int(values.max()) + 1))
    values, groups, counts, gap = values[order], groups[order], counts[order], gap[order]
    sums = np.cumsum(counts)
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    before = (sums - counts)[starts]
    totals = np.append(before[1:], sums[-1]) - before
    below = sums - before[groups]
    between = np.append((groups[1:] == groups[:-1]) & (values[1:] != values[:-1]), False)
    smaller = np.where(between, np.minimum(below, totals[groups] - below), -1)
    smaller[gap & (smaller >= k)] = sums[-1]
    best = np.maximum.reduceat(smaller, starts)
    places = np.flatnonzero(smaller == best[groups])[::-1]
    first = np.zeros(many, np.int64)
    first[groups[places]] = places
    return best >= k, values[first].astype(np.int64)


def _order(keys: Ints, bound: int) -> Ints:
    """The stable order of keys: sorted together with their places where both fit in one number, which is far quicker."""
    many = len(keys)
    if bound * many < 1 << _BITS:
        return np.sort(keys.astype(np.int64) * many + np.arange(many)) % many
    return np.argsort(keys, kind="stable")
