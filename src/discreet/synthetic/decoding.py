"""From levels to the cells of a table: a label, a value drawn evenly within its bin, an empty cell; then derived columns.

A column with a formula, or an expression, whose inputs are all in the table is computed from them, row by row, by the code
that reads real tables. A record for which one of the ``impossible`` conditions is true is never written.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.dates_and_times import Date, Datetime
from discreet.core.labels import canonical
from discreet.core.schema import Categories, Column, Integer, Schema
from discreet.errors import InvalidRequest
from discreet.sources import open_source
from discreet.synthetic.domain import Attribute, Domain
from discreet.synthetic.model import Possible
from discreet.synthetic.pair_tree import Codes
from discreet.synthetic.public_stream import Stream

Mask = npt.NDArray[np.bool_]
Arrays = dict[str, npt.NDArray[Any]]
_TRIES = 8  # values tried within the bins of a record before it counts as impossible


def modelled(schema: Schema, columns: Sequence[str]) -> list[str]:
    """Those of some columns that have to be modelled: the others follow from them by their formulas."""
    stored = {name for name in columns if name in schema.columns and schema.columns[name].formula is None}
    return [name for name in columns if name in stored or not {*schema.derivation.inputs(name)} <= stored]


@dataclass(frozen=True, eq=False)
class RecordWriter:
    """Writes records of a domain as tables with the ``columns`` asked for, and refuses ``impossible`` ones."""

    schema: Schema
    domain: Domain
    columns: tuple[str, ...]
    impossible: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for condition in self.impossible:
            self._made.condition(condition)  # refuses one that is none, or reads another column

    def table(self, records: Codes, stream: Stream) -> pa.Table:
        """The records as a table."""
        values = self.values(records, stream)
        return pa.table({name: _arrow(cells, self.schema[name]) for name, cells in values.items()})

    def values(self, records: Codes, stream: Stream) -> Arrays:
        """The cells by column: labels as objects, dates and times in days and seconds since 1970, and NaN where missing.

        A record that is impossible in all its tries is written as another that is not.
        """
        values = self._drawn(records, stream)
        if self.impossible:
            bad = self._impossible(values)
            for _ in range(_TRIES):
                if not bad.any():
                    break
                again = self._drawn(records[:, bad], stream)
                for name, cells in again.items():
                    values[name][bad] = cells
                bad[bad] = self._impossible(again)
            good = np.flatnonzero(~bad)
            if bad.any() and good.size:
                stand_in = good[(stream.uniforms(int(bad.sum())) * good.size).astype(np.intp)]
                for cells in values.values():
                    cells[bad] = cells[stand_in]
        values |= self._computed(values)
        return {name: values[self.schema.name_of(name)] for name in self.columns}

    @property
    def possible(self) -> Possible | None:
        """Which records are possible with some values within their bins; None where all are."""
        if not self.impossible:
            return None

        def judged(records: Codes, stream: Stream) -> Mask:
            found = np.zeros(records.shape[1], bool)
            for _ in range(_TRIES):
                left = np.flatnonzero(~found)
                if not left.size:
                    break
                found[left] = ~self._impossible(self._drawn(records[:, left], stream))
            return found

        return judged

    @cached_property
    def _made(self) -> Schema:
        """The schema of the written table: what is modelled is stored there, what is computed keeps its formula."""
        columns: dict[str, Column] = {}
        for name in (*self.domain.names, *(self.schema.name_of(c) for c in self.columns)):
            if name in self.schema.columns:
                declared = copy.copy(self.schema.columns[name])
                if name in self.domain.names:
                    object.__setattr__(declared, "formula", None)
                columns[name] = declared
        return Schema(columns)

    def _drawn(self, records: Codes, stream: Stream) -> Arrays:
        return {a.name: self._cells(a, line, stream) for a, line in zip(self.domain.attributes, records, strict=True)}

    def _cells(self, attribute: Attribute, levels: npt.NDArray[np.intp], stream: Stream) -> npt.NDArray[Any]:
        """The cells of one column: objects for labels, doubles for numbers, dates and times; None and NaN where missing."""
        factor, declared = attribute.factor, self.schema[attribute.name]
        if factor.kind == "category":
            labels = np.empty(len(factor.labels) + 1, object)
            labels[:-1] = [label if _plain(factor.labels) else canonical(label) for label in factor.labels]
            return np.asarray(labels[levels])
        edges = np.array(factor.edges)
        low, high = np.maximum(edges[:-1], factor.lo), np.minimum(edges[1:], factor.hi)
        inside = np.minimum(levels, factor.size - 1)
        u = stream.uniforms(levels.size)
        if isinstance(declared, Integer | Date):
            first = np.ceil(low)
            last = np.where(np.arange(factor.size) == factor.size - 1, np.floor(high), np.ceil(edges[1:]) - 1)
            last = np.maximum(np.minimum(last, math.floor(factor.hi)), first)
            made = first[inside] + np.floor(u * (last - first + 1)[inside])
        else:
            made = low[inside] + u * (high - low)[inside]
        return np.asarray(np.where(levels < factor.size, made, np.nan))

    def _source(self, values: Arrays) -> Any:
        stored = {name: _arrow(values[name], self._made[name]) for name in self._made.stored}
        size = max(1, len(next(iter(values.values()))))
        return open_source(pa.table(stored), self._made, batch_rows=size)

    def _impossible(self, values: Arrays) -> Mask:
        """Which records a condition is true of."""
        texts = [next(iter(self._made.condition(each))) for each in self.impossible]
        if not len(next(iter(values.values()))):
            return np.zeros(0, bool)
        found = self._source(values).fold(
            lambda batch: np.any([batch.codes(text) == 0 for text in texts], 0), lambda a, b: a, texts
        )
        return np.asarray(found)

    def _computed(self, values: Arrays) -> Arrays:
        """The columns that follow from others."""
        names = [n for n in (self.schema.name_of(c) for c in self.columns) if n not in self.domain.names]
        if not names:
            return {}

        def read(batch: Any) -> Arrays:
            made = {}
            for name in names:
                declared = self._made[name]
                if isinstance(declared, Categories):
                    labels = np.empty(len(declared.labels) + 1, object)
                    labels[:-1] = [label if _plain(declared.labels) else canonical(label) for label in declared.labels]
                    made[name] = labels[batch.codes(name)]
                else:
                    made[name] = np.clip(batch.numeric(name), declared.lo, declared.hi)
            return made

        found: Arrays = self._source(values).fold(read, lambda a, b: a, names)
        return found


def _plain(labels: Sequence[Any]) -> bool:
    """Whether labels are of one kind, and can stand in a column as they are."""
    return len({type(label) for label in labels}) == 1


def _arrow(values: npt.NDArray[Any], declared: Column) -> pa.Array:
    """A column of cells as Arrow has it."""
    if isinstance(declared, Categories):
        return pa.array(values.tolist())
    gone = np.isnan(values)
    if not isinstance(declared, Integer | Date):
        return pa.array(values, mask=gone)
    whole = np.where(gone, 0, np.rint(values)).astype(np.int64)
    if isinstance(declared, Datetime):
        return pa.array(whole, pa.int64(), mask=gone).cast(pa.timestamp("s"))
    if isinstance(declared, Date):
        return pa.array(whole.astype(np.int32), pa.int32(), mask=gone).cast(pa.date32())
    return pa.array(whole, pa.int64(), mask=gone)


def check_possible(writer: RecordWriter, rows: int = 4096) -> None:
    """Refuse conditions that leave no record, before anything is paid: tried on records drawn evenly."""
    if writer.possible is None:
        return
    stream = Stream(0)
    sizes = writer.domain.sizes
    records = np.stack([(stream.uniforms(rows) * size).astype(np.intp) for size in sizes])
    if not writer.possible(records, stream).any():
        raise InvalidRequest(f"impossible must leave some records, and {list(writer.impossible)} leaves none of {rows}")
