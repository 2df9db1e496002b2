"""A released table of counts as a model reads it: a linear function of the table of some columns, plus noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.core.random import Random
from discreet.core.release import Release

Floats = npt.NDArray[np.float64]

_LEAST = 0.5  # a table without noise counts as one with a little, so that weights stay finite


@dataclass(frozen=True, eq=False)
class Measurement:
    """``value`` = (the counts of the columns at ``places``, mapped level by level) + noise of deviation ``sigma`` a cell.

    ``maps`` has, for every place, the matrix from levels to the cells that were released (None where they are the same):
    wider bins, nodes of a tree, or the moments behind a mean. Without places it is the number of rows.
    """

    places: tuple[int, ...]
    maps: tuple[Floats | None, ...]
    value: Floats
    sigma: float
    release: Release

    @property
    def direct(self) -> bool:
        """Whether the counts themselves were released."""
        return all(each is None for each in self.maps)

    @property
    def disjoint(self) -> bool:
        """Whether every cell counts rows, and no row is in two of them."""
        return all(m is None or (((m == 0) | (m == 1)).all() and m.sum(0).max() <= 1) for m in self.maps)

    def expected(self, counts: Floats) -> Floats:
        """The cells that a table with these ``counts`` of its columns would have without noise."""
        for axis, matrix in enumerate(self.maps):
            if matrix is not None:
                counts = np.moveaxis(np.tensordot(matrix, counts, (1, axis)), 0, axis)
        return counts

    @property
    def mass(self) -> float | None:
        """How often every row is counted in the value; None where rows count differently."""
        sums = [np.ones(1) if each is None else each.sum(0) for each in self.maps]
        if any(float(np.ptp(each)) > 1e-9 or each[0] <= 0 for each in sums):
            return None
        return math.prod(float(each[0]) for each in sums)

    @property
    def counted(self) -> tuple[float, float] | None:
        """How many rows it counts, and the variance of that; None where rows count differently."""
        mass = self.mass
        return None if mass is None else (float(self.value.sum()) / mass, self.value.size * (self.sigma / mass) ** 2)

    def margin(self, kept: Sequence[int]) -> tuple[Floats, float]:
        """The counts of some of its columns, in the order of ``kept``, and the variance of their noise."""
        inside = [self.places.index(i) for i in kept]
        other = tuple(axis for axis in range(len(self.places)) if axis not in inside)
        summed = self.value.sum(other)
        left = sorted(inside)
        made = np.transpose(summed, [left.index(axis) for axis in inside])
        return made, self.sigma**2 * (self.value.size / made.size)

    def again(self, random: Random) -> Measurement:
        """The same with fresh noise of its law added: what a release of the released numbers would have been."""
        noise = self.release.mechanism.release(np.zeros(self.value.shape), seed=random)
        return replace(self, value=self.value + np.asarray(noise, np.float64))


def measured(
    release: Release, places: tuple[int, ...], maps: tuple[Floats | None, ...], shape: Sequence[int]
) -> Measurement:
    """A release as a measurement; ``shape`` is that of its cells."""
    value = np.asarray(release.value, np.float64).reshape(shape)
    sigma = float(np.max(release.mechanism.deviation(value.size)))
    return Measurement(places, maps, value, max(_LEAST, sigma), release)


def total(measurements: Sequence[Measurement]) -> float:
    """How many rows there are, from all tables that count each once, by the inverse of their variance; NaN without any."""
    known = [each for each in (m.counted for m in measurements) if each is not None]
    if not known:
        return math.nan
    return max(1.0, float(np.average([rows for rows, _ in known], weights=[1 / variance for _, variance in known])))
