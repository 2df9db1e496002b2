"""What people amount to: each one's rows are added up first, clipped then, and only then added to everybody else's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from discreet.core import grid as quantum
from discreet.core.cost import Distance
from discreet.core.exact import Exact
from discreet.core.grid import quantise
from discreet.core.query import FineSum, Relation, check_rows, queries
from discreet.core.source import Batch
from discreet.errors import InvalidRequest
from discreet.statistics.cells import Cells, Factor, Floats, Integers, codes_of, cut
from discreet.statistics.mean import PopulationMean, Ratio
from discreet.statistics.people import placed
from discreet.statistics.question import Question, Table, axes, for_population, statistic
from discreet.statistics.reading import Scaled

Each = Literal["sum", "mean", "count"]


@statistic("people_sum")
def people_sum(
    table: Table,
    column: str | None = None,
    *,
    each: Each = "sum",
    clip: Sequence[float] | None = None,
    by: str | Sequence[str] | None = None,
) -> Question:
    """The sum over people of what each amounts to, clipped to the public range ``clip``: ``each`` as for ``people_mean``."""
    query = _values(table, column, each, clip, by, "signed")
    largest = max(abs(query.number.lo), abs(query.number.hi))
    return Question(query, Scaled(factor=largest, shape=query.shape[:-1], labels=axes(query.groups)))


@statistic("people_mean")
def people_mean(
    table: Table,
    column: str | None = None,
    *,
    each: Each = "sum",
    clip: Sequence[float] | None = None,
    by: str | Sequence[str] | None = None,
    of: str = "table",
) -> Question:
    """The mean over people of what each amounts to: the ``"sum"`` or ``"mean"`` of a column over the person's rows, or
    their ``"count"``, clipped to the public range ``clip``.

    Where it is left out: the column's bounds for a mean, 0 to ``max_rows`` for a count. Someone with rows in several groups
    of ``by`` counts in each of them with the rows in it.
    """
    population = for_population(of)
    query = _values(table, column, each, clip, by, "square" if population else "linear")
    facts = (query.number.lo, query.number.hi, query.shape, axes(query.groups))
    return Question(query, PopulationMean(*facts, query.most) if population else Ratio(*facts))


def _values(table: Table, column: str | None, each: Any, clip: Any, by: Any, kind: Any) -> PersonValues:
    if each not in get_args(Each):
        raise InvalidRequest(f"each must be one of {', '.join(get_args(Each))}, got {each!r}")
    if column is None and each != "count":
        raise InvalidRequest(f"each={each!r} needs a column of numbers, got none; name one, or use each='count'")
    lo, hi = (0.0, 1.0) if column is None else (float(table.number(column).lo), float(table.number(column).hi))
    if clip is None and each == "sum":
        raise InvalidRequest("clip must be two public numbers for the sum of a person's rows, got none; write clip=[0, 100]")
    least, most = _range(clip) if clip is not None else (lo, hi) if each == "mean" else (0.0, float(table.most_rows))
    name = "" if column is None else column
    number = Factor(kind, name, least, most)
    return PersonValues(table.groups(by), number, lo, hi, each, table.most_rows)


def _range(clip: Any) -> tuple[float, float]:
    try:
        least, most = (float(end) for end in clip)
    except (TypeError, ValueError, OverflowError):
        raise InvalidRequest(f"clip must be two public numbers such as [0, 100], got {clip!r}") from None
    if not (math.isfinite(least) and math.isfinite(most) and least < most):
        raise InvalidRequest(f"clip must be two finite numbers, the smaller first, got {clip!r}")
    return least, most


@queries("person_values")
@dataclass(frozen=True)
class PersonValues(FineSum):
    """The sum over people, and over the groups each has rows in, of the cells of ``number``: one clipped value of a person.

    The value is the sum or the mean of the person's rows, their values between ``lo`` and ``hi``, or their count;
    ``number`` has the bounds it is clipped to. A row without a value in the column is no row here.

    ``distance``: that of ``Cells`` with m = min(rows, number of groups) rows a person: for a sum without groups and clip
    [A, B], in units of max(|A|, |B|), 1 under add/remove and (B - A) / max(|A|, |B|) under replace, whatever ``rows`` is.

    Proof: a person's rows in one group make one value, clipped to the public range after they were added up, so one vector
    of cells that is what a single row of ``Cells`` with this factor adds, or nothing. At most ``rows`` rows of a person
    count, so they make at most m such vectors in different groups, and the proof of ``Cells`` holds with m for k. The value
    is computed from the person's own rows: codes of 2**-30 of the column's range add up exactly in doubles, below 2**53.
    """

    groups: tuple[Factor, ...]
    number: Factor
    lo: float
    hi: float
    each: Each
    rows: int = 1

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if self.each not in get_args(Each):
            raise InvalidRequest(f"each must be one of {', '.join(get_args(Each))}, got {self.each!r}")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in dict.fromkeys((*(f.column for f in self.groups), self.number.column)) if name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The groups, then the cells of the number."""
        return tuple(f.size for f in (*self.groups, self.number))

    @property
    def most(self) -> int:
        """The most groups of one person."""
        return min(self.rows, math.prod(f.size for f in self.groups))

    def distance(self, relation: Relation) -> Distance:
        return Cells((*self.groups, self.number), self.most).distance(relation)

    def totals(self, rows: int) -> tuple[float, float] | None:
        return None if self.number.kind == "signed" else (rows / self.rows, float(rows))

    def step(self, batch: Batch) -> Integers:
        person, place, rows = placed(batch, self.groups, [self.number.column] if self.number.column else [])
        codes = np.zeros(person.size)
        if self.number.column:
            codes = quantise(batch.numeric(self.number.column)[rows], self.lo, self.hi)
            there = ~np.isnan(codes)
            person, place, codes = person[there], place[there], codes[there]
        cells = math.prod(f.size for f in self.groups)
        found, own = np.unique(person * cells + place, return_inverse=True)
        added: Floats = np.bincount(own, codes, minlength=found.size).astype(np.float64)
        values = self._values(np.bincount(own, minlength=found.size), added)
        weights = np.full(found.size, quantum.ONE)
        parts = cut(self.number, weights, codes_of(self.number, values))
        total = [_whole_sums(found % cells, part.astype(np.int64), cells) for part in parts]
        return np.stack(total, -1).reshape(self.shape)

    def _values(self, rows: Integers, codes: Floats) -> Floats:
        """Every person's value, before it is clipped: from the number of rows and the sum of their codes."""
        if self.each == "count":
            return rows.astype(np.float64)
        width = (self.hi - self.lo) / quantum.ONE
        with np.errstate(divide="ignore", invalid="ignore"):
            return rows * self.lo + codes * width if self.each == "sum" else self.lo + codes / rows * width

    def blank(self, rows: int) -> Exact:
        """As if values were spread evenly within the clip, and everybody had all their rows in one group."""
        return Cells((*self.groups, self.number)).blank(max(1, rows // self.rows))


def _whole_sums(place: Integers, part: Integers, cells: int) -> Integers:
    """Whole numbers added up by place, without doubles: a block may hold more than 2**23 people."""
    total = np.zeros(cells, np.int64)
    np.add.at(total, place, part)
    return total
