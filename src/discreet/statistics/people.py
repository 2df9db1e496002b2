"""How many people: everybody counts once, however many rows they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import numbers
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.query import Relation, SumQuery, check_rows, queries
from discreet.core.source import Batch
from discreet.statistics.cells import Factor, Integers, places
from discreet.statistics.question import Question, Table, axes, statistic
from discreet.statistics.reading import Scaled


@statistic("count_people")
def count_people(table: Table, *, by: str | Sequence[str] | None = None) -> Question:
    """The number of people with at least one row, in all or by group; with ``where`` those with a row that fits.

    Someone with rows in several groups counts in each of them. Without a person column every row is a person.
    """
    groups = table.groups(by)
    query = People(groups, table.most_rows)
    return Question(query, Scaled(least=0.0, shape=query.shape, labels=axes(groups)))


@queries("people")
@dataclass(frozen=True)
class People(SumQuery):
    """For every cell of the ``groups``, how many people have a row in it; of ``rows`` rows a person at most.

    ``distance``, with c cells and m = min(rows, c): L1 m and L2 sqrt(m) under add/remove; min(2m, c) and its root under
    replace and both; L-infinity is 1. One cell without groups: 1 under every relation, and never the number of rows.

    Proof: a person has at most ``rows`` rows that count, so a row in at most m cells, and adds 1 to each of these: a
    vector v of zeros and ones with at most m ones. Adding or removing it moves the counts by v. Replacing v by w moves them
    by v - w, whose entries are -1, 0 or 1 and are not 0 in at most min(2m, c) cells. Rows without an id are nobody's and are
    not counted. Which rows count is a function of the person's own rows.
    """

    groups: tuple[Factor, ...] = ()
    rows: int = 1

    def __post_init__(self) -> None:
        check_rows(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(factor.column for factor in self.groups)

    @property
    def shape(self) -> tuple[int, ...]:
        """One axis for each group."""
        return tuple(factor.size for factor in self.groups)

    def distance(self, relation: Relation) -> Distance:
        most = min(self.rows, self.size)
        moved = Fraction(most if relation == "add_remove" else min(2 * most, self.size))
        return Distance(moved, numbers.square_root_up(moved), Fraction(1))

    def totals(self, rows: int) -> tuple[float, float] | None:
        return rows / self.rows, float(rows)

    def step(self, batch: Batch) -> Integers:
        person, place, _ = placed(batch, self.groups)
        once = np.unique(person * self.size + place) % self.size
        return np.bincount(once, minlength=self.size).reshape(self.shape)

    def blank(self, rows: int) -> Exact:
        """As if everybody had all their rows in one cell, each as frequent as any other."""
        return Exact(np.full(self.shape, max(1, rows // self.rows) // self.size, np.int64))


def placed(batch: Batch, groups: Sequence[Factor], others: Sequence[str] = ()) -> tuple[Integers, Integers, Any]:
    """Of the rows that count and have a label in every group: the person, the cell, and which rows they are.

    ``others`` are columns that are used besides, for which rows of a person count depends on the columns used.
    """
    kept = batch.kept(tuple(factor.column for factor in groups) + tuple(others))
    place, there = places(groups, {f.column: batch.codes(f.column) for f in groups}, batch.size)
    valid = np.ones(batch.size, bool) if kept is None else kept
    valid = valid if there is None else valid & there
    people = np.arange(batch.size) if batch.people is None else batch.people
    return people[valid], place[valid].astype(np.int64), valid
