"""How many people of each group stand at each whole-numbered value: what ranks are made from, over any number of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Run = tuple[Integers, Integers]  # values that increase, and a line of counts by group for each
Runs = tuple[Run, ...]

_PART = 1 << 20  # values are taken apart here so that no product of whole numbers leaves 64 bits, below 2**40 people


def tally(codes: Integers, groups: Any, size: int) -> Runs:
    """The counts of one batch: ``codes`` are whole numbers, ``groups`` places 0 .. size - 1."""
    values, place = np.unique(codes, return_inverse=True)
    counts = np.bincount(place * size + groups, minlength=len(values) * size)
    return ((values, counts.reshape(len(values), size).astype(np.int64)),)


def combined(left: Runs, right: Runs) -> Runs:
    """Two tallies as one. Runs of similar length are merged and others kept apart, so that n values cost n log n in all."""
    runs = sorted((*left, *right), key=lambda run: -len(run[0]))
    while len(runs) > 1 and 2 * len(runs[-1][0]) >= len(runs[-2][0]):
        runs.append(_merged(runs.pop(), runs.pop()))
        runs.sort(key=lambda run: -len(run[0]))
    return tuple(runs)


def whole(runs: Runs) -> Run:
    """All of it: every value once."""
    values, counts = runs[0]
    for run in runs[1:]:
        values, counts = _merged((values, counts), run)
    return values, counts


def _merged(one: Run, other: Run) -> Run:
    values, place = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.zeros((len(values), one[1].shape[1]), np.int64)
    first = len(one[0])
    counts[place[:first]] = one[1]
    counts[place[first:]] += other[1]
    return values, counts


def doubled_midranks(totals: Integers) -> Integers:
    """Twice the midrank of every value in order, from how many people stand at each: 2 (fewer) + (as many) + 1."""
    return np.asarray(2 * (np.cumsum(totals) - totals) + totals + 1)


def product(counts: Integers, numbers: Integers) -> int:
    """The sum of counts times whole numbers, exactly, for fewer than 2**40 people."""
    high, low = np.divmod(numbers, _PART)
    return int(counts @ high) * _PART + int(counts @ low)
