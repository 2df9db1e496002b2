"""Counts of classes in the leaves of random trees, whose splits never looked at the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core import grid as quantum
from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import Relation, SumQuery, check_rows, queries
from discreet.core.random import Random
from discreet.core.schema import Categories, Schema
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.models.design import Floats
from discreet.statistics.cells import Factor, Integers

_MOST_LEAVES = 1 << 22


class Splits(NamedTuple):
    """One tree: of each inner node, from the root down, the column and where it is cut.

    A number goes right where its place t between the bounds is above the ``cut``; a category where its label's number is
    the ``cut``.
    """

    column: npt.NDArray[np.int64]
    cut: Floats


@dataclass(frozen=True)
class RandomTrees:
    """Complete binary trees of ``depth``: each node cuts a random column, a number at a random place of what is left of
    it, a category at a random label. Made public by ``key``.
    """

    trees: int
    depth: int
    key: int

    def __post_init__(self) -> None:
        for name, value in (("trees", self.trees), ("depth", self.depth)):
            if isinstance(value, bool) or value < 1:
                raise InvalidRequest(f"{name} must be a whole number of at least 1, got {value}")
        if self.trees << self.depth > _MOST_LEAVES:
            raise InvalidRequest(f"a forest has at most {_MOST_LEAVES} leaves, got {self.trees} trees of 2**{self.depth}")

    def draw(self, features: Sequence[Factor]) -> tuple[Splits, ...]:
        """The splits of every tree: the same for the same key. They are public."""
        random, inner = Random(self.key), (1 << self.depth) - 1
        words = random.words(2 * self.trees * inner) >> np.uint64(11)
        uniform = (words.astype(np.float64) * 2.0**-53).reshape(self.trees, 2, inner)
        made = []
        for which, where in uniform:
            column = np.minimum((which * len(features)).astype(np.int64), len(features) - 1)
            low, high = np.zeros((inner, len(features))), np.ones((inner, len(features)))
            cut = np.empty(inner)
            for node in range(inner):
                c = column[node]
                if features[c].kind == "category":
                    cut[node] = math.floor(where[node] * features[c].size)
                else:
                    cut[node] = low[node, c] + where[node] * (high[node, c] - low[node, c])
                for child in (2 * node + 1, 2 * node + 2):
                    if child < inner:
                        low[child], high[child] = low[node], high[node]
                        if features[c].kind != "category":
                            (high if child == 2 * node + 1 else low)[child, c] = cut[node]
            made.append(Splits(column, cut))
        return tuple(made)


@queries("leaf_counts")
@dataclass(frozen=True)
class LeafCounts(SumQuery):
    """For each of T random trees the number of rows of every class in every leaf.

    ``distance``, with k rows a person: k T in L1 and k sqrt(T) in L2 under add/remove, 2 k T and k sqrt(2 T) under replace
    and both; no count moves by more than k.

    Proof: the trees are drawn from a public key. A row lies in one leaf of every tree, with one class, or counts nowhere
    where a value is missing: tree by tree it is a vector with a single 1, as of ``Cells``, which moves by k in L1 and L2,
    by 2k and sqrt(2) k when it is replaced. Trees are separate coordinates: L1 adds, squares of L2 add.
    """

    features: tuple[Factor, ...]
    target: Factor
    forest: RandomTrees
    rows: int = 1

    def __post_init__(self) -> None:
        if not self.features:
            raise InvalidRequest("a forest needs at least one feature, got none")
        if len(set(self.columns)) != len(self.columns):
            raise InvalidRequest(f"features and target must be different columns, got {list(self.columns)}")
        check_rows(self.rows)

    @staticmethod
    def of(schema: Schema, features: Sequence[str], target: str, forest: RandomTrees) -> LeafCounts:
        """With the bounds and labels that a schema declares."""

        def factor(name: str) -> Factor:
            declared = schema[name]
            if isinstance(declared, Categories):
                return Factor("category", name, labels=declared.labels)
            return Factor("level", name, float(declared.lo), float(declared.hi))

        goal = factor(target)
        if goal.kind != "category":
            raise InvalidRequest(f"the target {target!r} must be declared as Categories, got a number")
        return LeafCounts(tuple(map(factor, features)), goal, forest, schema.max_rows or 1)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(f.column for f in self.features), self.target.column)

    @property
    def shape(self) -> tuple[int, ...]:
        """Trees, leaves and classes."""
        return (self.forest.trees, 1 << self.forest.depth, len(self.target.labels))

    @cached_property
    def splits(self) -> tuple[Splits, ...]:
        """The trees."""
        return self.forest.draw(self.features)

    def distance(self, relation: Relation) -> Distance:
        k, trees = Fraction(self.rows), self.forest.trees
        times = 1 if relation == "add_remove" else 2
        return Distance(times * trees * k, k * numbers.square_root_up(Fraction(times * trees)), k)

    def step(self, batch: Batch) -> Integers:
        values, classes = self.read(batch)
        total = np.empty(self.shape, np.int64)
        wide = self.shape[1] * self.shape[2]
        for tree, leaf in enumerate(self.leaves(values)):
            total[tree] = np.bincount(leaf * self.shape[2] + classes, minlength=wide).reshape(self.shape[1:])
        return total

    def read(self, batch: Batch) -> tuple[Floats, Integers]:
        """Places of numbers in steps and numbers of labels, and the class, of every row that counts."""
        there = np.ones(batch.size, np.bool_)
        values = np.empty((batch.size, len(self.features)))
        for place, feature in enumerate(self.features):
            if feature.kind == "category":
                values[:, place] = batch.codes(feature.column)
                there &= values[:, place] >= 0
            else:
                quantise(batch.numeric(feature.column), feature.lo, feature.hi, out=values[:, place])
                there &= ~np.isnan(values[:, place])
        classes = batch.codes(self.target.column).astype(np.int64)
        there &= classes >= 0
        kept = batch.kept(self.columns)
        if kept is not None:
            there &= kept
        return values[there], classes[there]

    def leaves(self, values: Floats) -> Iterator[Integers]:
        """Tree by tree the leaf of each row."""
        labels, every = np.array([f.kind == "category" for f in self.features]), np.arange(len(values))
        for column, cut in self.splits:
            node = np.zeros(len(values), np.int64)
            steps = np.where(labels[column], cut, np.floor(cut * quantum.ONE))
            for _ in range(self.forest.depth):
                mine = column[node]
                own = values[every, mine]
                node = 2 * node + 1 + np.where(labels[mine], own == steps[node], own > steps[node])
            yield node - (self.shape[1] - 1)

    def blank(self, rows: int) -> Exact:
        """As if every leaf held the same number of every class."""
        return Exact(np.full(self.shape, rows // (self.shape[1] * self.shape[2]), np.int64))
