"""What is asked of the records: tables of counts, and how far each of several is from what is expected of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact, add
from discreet.core.query import FoldQuery, Relation, SumQuery, check_rows, distance_of_weights, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Cells
from discreet.synthetic.domain import Attribute, Domain

Integers = npt.NDArray[np.int64]


@queries("marginal")
@dataclass(frozen=True)
class Marginal(SumQuery):
    """How many rows have every combination of levels; a missing value is a level where the attribute has one for it.

    ``beside`` are the other columns of the synthetic table: the rows of a person that count are chosen by all of them, so
    that every table of counts is about the same rows.

    ``distance``: with k rows a person, L1 and L2 are k under add/remove; 2k and sqrt(2) k under replace and both.

    Proof: a row adds one to one cell, or nothing, by what it holds itself; a person has at most k rows that count
    (``Batch.kept``), so the person's part is a vector of counts, not negative, that sum to at most k:
    ``distance_of_weights``.
    """

    attributes: tuple[Attribute, ...]
    beside: tuple[str, ...] = ()
    rows: int = 1

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if not self.attributes:
            raise InvalidRequest("a table of counts needs at least one attribute, got none")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(a.name for a in self.attributes), *self.beside)

    @property
    def shape(self) -> tuple[int, ...]:
        """The levels of each attribute."""
        return tuple(a.size for a in self.attributes)

    @property
    def as_cells(self) -> Cells:
        """The same counts as cells of factors, which is how posteriors read them; a missing value is one more label."""
        return Cells(tuple(a.levels for a in self.attributes), rows=self.rows)

    def distance(self, relation: Relation) -> Distance:
        return distance_of_weights(self.rows, relation)

    def step(self, batch: Batch) -> Integers:
        return _counted(batch, self.attributes, [range(len(self.attributes))], batch.kept(self.columns))[0].reshape(
            self.shape
        )

    def blank(self, rows: int) -> Exact:
        """As if every combination were as frequent as any other."""
        return Exact(np.full(self.shape, round(rows / self.size), np.int64))


@queries("misfit")
@dataclass(frozen=True)
class Misfit(FoldQuery):
    """Of each of several tables of counts: weight (|counts - expected|_1 - penalty), the utility of measuring it.

    ``tables`` are places in ``attributes``; ``expected`` are whole numbers, made of what was released before, and
    ``penalty`` is what counts against a table for its noise. All of them are public.

    ``distance``: with k rows a person and w the largest weight, L-infinity is w k under add/remove, 2 w k otherwise.

    Proof: expected and penalty do not depend on the records. A person moves a table of counts by at most k in L1 under
    add/remove and 2k under replace and both (``Marginal``), and |x - e|_1 moves no further than x does. Counts are held at
    2**62 over the number of cells before they are compared, which moves no two of them further apart and keeps sums whole.
    """

    attributes: tuple[Attribute, ...]
    tables: tuple[tuple[int, ...], ...]
    expected: tuple[tuple[int, ...], ...]
    penalty: tuple[int, ...]
    weights: tuple[int, ...]
    rows: int = 1

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if not self.tables or not len(self.tables) == len(self.expected) == len(self.penalty) == len(self.weights):
            raise InvalidRequest("a choice needs as many expected tables, penalties and weights as tables, at least one")
        sizes = [math.prod(self.attributes[i].size for i in places) for places in self.tables]
        if sizes != [len(each) for each in self.expected] or min(self.weights) < 1:
            raise InvalidRequest("every table of a choice has as many expected numbers as cells, and a weight of at least 1")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def shape(self) -> tuple[int, ...]:
        """One utility for each table."""
        return (len(self.tables),)

    def distance(self, relation: Relation) -> Distance:
        moved = distance_of_weights(self.rows, relation).l1 * max(self.weights)
        many = Fraction(len(self.tables))
        return Distance(moved * many, moved * numbers.square_root_up(many), moved)

    def step(self, batch: Batch) -> Integers:
        return np.concatenate(_counted(batch, self.attributes, self.tables, batch.kept(self.columns)))

    def combine(self, left: Integers, right: Integers) -> Integers:
        return add(left, right)

    def finish(self, total: Integers) -> Integers:
        ends = np.cumsum([len(each) for each in self.expected])
        made = []
        for counts, expected, penalty, weight in zip(
            np.split(total, ends[:-1]), self.expected, self.penalty, self.weights, strict=True
        ):
            most = (1 << 62) // (len(expected) * max(self.weights))
            apart = np.abs(np.minimum(counts, most) - np.minimum(np.array(expected, np.int64), most))
            made.append(weight * (int(apart.sum()) - penalty))
        return np.array(made, np.int64)

    def blank(self, rows: int) -> Integers:
        return np.zeros(len(self.tables), np.int64)


def marginal(domain: Domain, places: Sequence[int]) -> Marginal:
    """The table of counts of some attributes of a domain."""
    beside = tuple(a.name for i, a in enumerate(domain.attributes) if i not in places) if domain.rows > 1 else ()
    return Marginal(tuple(domain.attributes[i] for i in places), beside, domain.rows)


def _counted(
    batch: Batch, attributes: Sequence[Attribute], tables: Sequence[Sequence[int]], kept: npt.NDArray[np.bool_] | None
) -> list[Integers]:
    """The counts of several tables of one batch, each as one line."""
    used = sorted({i for places in tables for i in places})
    levels = {i: attributes[i].places(batch) for i in used}
    made = []
    for places in tables:
        line, valid = np.zeros(batch.size, np.intp), kept
        for i in places:
            codes, known = levels[i]
            line = line * attributes[i].size + codes
            if known is not None:
                valid = known if valid is None else valid & known
        cells = math.prod(attributes[i].size for i in places)
        made.append(np.bincount(line if valid is None else line[valid], minlength=cells))
    return made
