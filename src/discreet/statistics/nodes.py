"""Counts on a tree of public bins: one release that tells every range of a column with little noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, SumQuery, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Cells, Factor, Integers

Floats = npt.NDArray[np.float64]
_FLAT = 64  # up to here counts of the bins alone are the quietest


@queries("nodes")
@dataclass(frozen=True)
class Nodes(SumQuery):
    """Counts of every node of a tree over bins, group by group, the root left out; ``branches`` from the top down.

    ``distance``: with a tree of h levels and k rows a person, L1 is h k and L2 sqrt(h) k under add/remove; 2 h k and
    sqrt(2h) k under replace and both.

    Proof: a row lies in one node of every level, in one group, so the person's vector v is a sum of at most k vectors with h
    ones in it, one a level. Level by level it is the vector of ``Cells``: not negative with |v_l|_1 <= k and |v_l|_2 <=
    k, and two of them differ by at most 2k and sqrt(2) k. Levels are separate coordinates: L1 adds, squares of L2 add.
    """

    groups: tuple[Factor, ...]
    bins: Factor
    branches: tuple[int, ...]
    rows: int = 1

    def __post_init__(self) -> None:
        if not self.branches or min(self.branches) < 1 or math.prod(self.branches) != self.bins.size:
            raise InvalidRequest(f"branches must multiply to the {self.bins.size} bins, got {self.branches}")

    @property
    def leaves(self) -> Cells:
        """The counts of the bins, which all others are sums of."""
        return Cells((*self.groups, self.bins), self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.leaves.columns

    @property
    def shape(self) -> tuple[int, ...]:
        """Groups, then the nodes of a tree, level by level from the top."""
        return (*(f.size for f in self.groups), nodes_of(self.branches))

    def distance(self, relation: Relation) -> Distance:
        k, h = Fraction(self.rows), len(self.branches)
        both = 1 if relation == "add_remove" else 2
        return Distance(both * h * k, numbers.square_root_up(Fraction(both * h)) * k, k)

    def totals(self, rows: int) -> tuple[float, float]:
        counted = float(rows * len(self.branches))
        return counted, counted

    def step(self, batch: Batch) -> Integers:
        return self.leaves.step(batch)

    def finish(self, total: Integers) -> Exact:
        return Exact(_summed(np.asarray(total), self.branches), self.grid)

    def blank(self, rows: int) -> Exact:
        return Exact(_summed(np.asarray(self.leaves.blank(rows).counts), self.branches), self.grid)


def branches_for(bins: int, gaussian: bool) -> tuple[int, ...]:
    """The quietest tree: flat up to 64 bins, then two even levels for Laplace noise and levels of four for Gaussian."""
    if bins <= _FLAT:
        return (bins,)
    if gaussian:
        levels = []
        while bins % 4 == 0 and bins > 4:
            levels.append(4)
            bins //= 4
        return (*levels, bins) if bins <= _FLAT else branches_for(bins, False) + tuple(levels)
    first = max(a for a in range(1, math.isqrt(bins) + 1) if bins % a == 0)
    return (bins // first, first) if first > 1 else (bins,)


def nodes_of(branches: tuple[int, ...]) -> int:
    """How many nodes a tree has without its root."""
    return sum(math.prod(branches[: i + 1]) for i in range(len(branches)))


def _summed(leaves: Integers, branches: tuple[int, ...]) -> Integers:
    outer = leaves.shape[:-1]
    levels = [leaves.reshape(*outer, math.prod(branches[: i + 1]), -1).sum(-1) for i in range(len(branches))]
    return np.concatenate(levels, -1)


@lru_cache(maxsize=8)
def incidence(branches: tuple[int, ...]) -> Floats:
    """A: a line for each node, with a one for each of its bins."""
    return np.asarray(_summed(np.eye(math.prod(branches), dtype=np.int64), branches).T, np.float64)


@lru_cache(maxsize=8)
def least_squares(branches: tuple[int, ...]) -> Floats:
    """(A'A)**-1 A': from noisy nodes to the bins that fit them best, every node as noisy as any other."""
    if len(branches) == 1:
        return np.eye(branches[0])
    a = incidence(branches)
    return np.asarray(np.linalg.solve(a.T @ a, a.T), np.float64)
