"""The columns of a synthetic table as public levels: labels, bins of numbers and dates, and a level for a missing value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.dates_and_times import Date
from discreet.core.query import Relation
from discreet.core.schema import Categories, Column, Integer, Schema
from discreet.core.source import Batch
from discreet.errors import InvalidRequest, UnknownName
from discreet.statistics.cells import Factor, places
from discreet.statistics.histogram import bin_edges
from discreet.statistics.question import Table, intervals

Places = npt.NDArray[np.intp]
Bins = Mapping[str, int | Sequence[Any]]

MOST_CELLS = 1 << 22  # of one table of counts
MOST_IN_ALL = 1 << 24  # of all tables that are compared with what is expected of them
_OWN_LEVELS = 128  # a whole-number column of at most so many values has a level for each
MISSING = "(missing)"  # how the level of a missing value is called on pages; in tables the cell is empty


@dataclass(frozen=True)
class Attribute:
    """A column as it is synthesised: the cells of a factor that picks one, and with ``gaps`` one for a missing value."""

    factor: Factor
    gaps: bool = False

    @property
    def name(self) -> str:
        """The column, or the canonical text of the expression that stands for one."""
        return self.factor.column

    @property
    def size(self) -> int:
        """How many levels there are."""
        return self.factor.size + self.gaps

    @property
    def levels(self) -> Factor:
        """The factor with a label for a missing value, where there is a level for it."""
        if not self.gaps:
            return self.factor
        named = self.factor.labels or intervals(self.factor.edges)
        return Factor("category", self.factor.column, labels=(*named, MISSING))

    def labels(self, declared: Column) -> tuple[str, ...]:
        """The levels in words; those of dates by the day that each begins with."""
        named = tuple(map(str, self.factor.labels)) or intervals(self.factor.edges)
        if isinstance(declared, Date):
            named = tuple(f"from {declared.written(edge)}" for edge in self.factor.edges[:-1])
        return (*named, MISSING) if self.gaps else named

    def places(self, batch: Batch) -> tuple[Places, npt.NDArray[np.bool_] | None]:
        """The level of every row, and which rows have one; None for all."""
        name = self.factor.column
        values = batch.codes(name) if self.factor.kind == "category" else batch.numeric(name)
        levels, known = places([self.factor], {name: values}, batch.size)
        if known is None or not self.gaps:
            return levels, known
        return np.where(known, levels, self.factor.size), None


@dataclass(frozen=True)
class Domain:
    """The attributes of a synthetic table, in the order of its columns; ``rows`` of a person count at most."""

    attributes: tuple[Attribute, ...]
    rows: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(a.size for a in self.attributes)

    def cells(self, table: Sequence[int]) -> int:
        """How many cells the table of some attributes has."""
        return math.prod(self.sizes[i] for i in table)

    def pairs(self) -> list[tuple[int, ...]]:
        """Every two attributes."""
        return list(combinations(range(len(self.attributes)), 2))

    def places(self, columns: Sequence[str], schema: Schema) -> tuple[int, ...]:
        """Where columns stand, each once and in order; refuses one that is not synthesised."""
        found = set()
        for column in columns:
            name = schema.name_of(column)
            if name not in self.names:
                raise UnknownName(
                    f"workload names {column!r}, which is not synthesised; columns are {', '.join(self.names)}"
                )
            found.add(self.names.index(name))
        return tuple(sorted(found))


def column_names(columns: Any) -> list[str]:
    """The columns of a request; refuses what is no list of names."""
    if isinstance(columns, str) or not isinstance(columns, Iterable) or not all(isinstance(c, str) for c in columns):
        raise InvalidRequest(f"columns is a list of columns, got {columns!r}", key="columns")
    return list(columns)


def domain_of(schema: Schema, columns: Sequence[str], bins: Bins | None = None) -> Domain:
    """The attributes of declared columns; refuses a number without public bins, and bins of a column that is not there."""
    if isinstance(columns, str) or not columns:
        raise InvalidRequest(f"columns is a list of at least one column, got {columns!r}")
    names = [schema.name_of(column) for column in columns]
    if len(set(names)) < len(names):
        raise InvalidRequest(f"columns must differ, got {list(columns)}; name each once")
    given = bins_by_column(bins)
    for name in given:
        if name not in names:
            raise UnknownName(f"bins are given for {name!r}, which is not synthesised; columns are {', '.join(names)}")
        if isinstance(schema[name], Categories):
            raise InvalidRequest(f"column {name!r} holds categories and takes no bins; leave them out")
    table = Table(schema)
    made = tuple(_attribute(table, column, given.get(name)) for column, name in zip(columns, names, strict=True))
    return Domain(made, table.most_rows)


def bins_by_column(bins: Any) -> dict[str, Any]:
    """The bins of a request by column; refuses what says no column."""
    if bins is not None and not isinstance(bins, Mapping):
        raise InvalidRequest(f"bins must say for each column how many, or their edges, got {bins!r}", key="bins")
    return dict(bins or {})


def _attribute(table: Table, column: str, bins: int | Sequence[Any] | None) -> Attribute:
    declared, relation = table.schema[column], table.schema.neighbors
    if isinstance(declared, Categories):
        gaps = -1 in (declared.fill(relation), declared.stray(relation))
        return Attribute(table.factor("category", column), gaps)
    return Attribute(table.factor("bins", column, _edges(table, column, bins)), _may_be_missing(declared, relation))


def _may_be_missing(declared: Any, relation: Relation) -> bool:
    return declared.fill(relation) is None


def _edges(table: Table, column: str, bins: int | Sequence[Any] | None) -> tuple[float, ...]:
    """Public edges: those given, or one level for each value of a short whole-number column."""
    number = table.number(column)
    whole = isinstance(number, Integer)
    if bins is None:
        if not whole or number.hi - number.lo >= _OWN_LEVELS:
            raise InvalidRequest(
                f"column {column!r} is a number and needs public bins",
                key="bins",
                remedy=f"write bins={{{column!r}: 20}}, or their edges",
            )
        return tuple(float(v) for v in range(int(number.lo), int(number.hi) + 2))
    bins = int(bins) if isinstance(bins, np.integer) else bins
    if isinstance(bins, bool | str) or not isinstance(bins, int | Sequence | np.ndarray):
        raise InvalidRequest(f"bins of {column!r} must be a whole number or a list of edges, got {bins!r}", key="bins")
    if isinstance(bins, int) and bins > MOST_CELLS:
        raise InvalidRequest(f"a column must have at most {MOST_CELLS:,} bins, got {bins:,} for {column!r}", key="bins")
    given = bins if isinstance(bins, int) else [_number(number, edge) for edge in bins]
    edges = bin_edges(table, column, given)
    if not (edges[0] <= number.lo and number.hi <= edges[-1]):
        raise InvalidRequest(
            f"bins of {column!r} must reach from {number.lo} to {number.hi}, its bounds, got {edges[0]:g} to {edges[-1]:g}"
        )
    if whole and any(max(math.ceil(a), number.lo) > min(math.ceil(b) - 1, number.hi) for a, b in _ends(edges)):
        raise InvalidRequest(f"bins of {column!r} must each hold a whole number within its bounds, got {list(edges[:9])}")
    return edges


def _ends(edges: Sequence[float]) -> list[tuple[float, float]]:
    """The ends of each bin; the last one is closed."""
    return [*pairwise(edges[:-1]), (edges[-2], math.floor(edges[-1]) + 1)]


def _number(declared: Any, edge: Any) -> float:
    """An edge as a number; of a date, also as it is written."""
    return float(declared._number(edge, "bins"))


def check_sizes(domain: Domain, tables: Sequence[Sequence[int]]) -> None:
    """Refuse tables of counts that are too large, before anything is paid."""
    sizes = {tuple(each): domain.cells(each) for each in tables}
    for table, cells in sizes.items():
        if cells > MOST_CELLS:
            names = " × ".join(domain.names[i] for i in table)
            raise InvalidRequest(
                f"a table of counts must have at most {MOST_CELLS:,} cells, and {names} has {cells:,}",
                key="bins",
                remedy="use fewer bins, or leave a column out",
            )
    if (total := sum(sizes.values())) > MOST_IN_ALL:
        raise InvalidRequest(
            f"the tables of counts to choose from must have at most {MOST_IN_ALL:,} cells in all, and have {total:,}",
            key="bins",
            remedy="use fewer bins or columns, or name a workload",
        )
