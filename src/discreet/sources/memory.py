"""A table in memory: NumPy arrays, pandas, Polars or Arrow. Doubles are handed out as they lie, without a copy."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.random import system
from discreet.core.schema import Categories, Schema
from discreet.errors import InvalidRequest
from discreet.sources import cell_meaning, threads
from discreet.sources.base import LocalSource, check_columns
from discreet.sources.batch import Batch, Rules
from discreet.sources.cell_meaning import Codes, Column
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.ids import Identities, identities
from discreet.sources.matrix import MatrixColumns

_NUMBERS_AT_ONCE = 1 << 23  # in all batches at work together, with every label in a column of its own
# Large arrays, because threads meet between one operation and the next; people are sorted, and that is better kept small.
_FEWEST_ROWS, _MOST_ROWS, _MOST_WITH_PEOPLE = 1 << 16, 1 << 19, 1 << 17


class MemorySource(LocalSource):
    """A table in memory. Its version is a random word of its own: every source counts as new data.

    A digest of the content would let anyone who may read the ledger try out guesses of a record against it, and tell
    from a free answer that no record has changed. Pass ``version=`` to say that two sources hold the same table.
    """

    resident = True  # its rows may be gathered once and kept: they are in memory already

    def __init__(self, table: Any, schema: Schema, salt: int = DEFAULT_SALT, batch_rows: int | None = None) -> None:
        super().__init__(schema, salt, batch_rows or _MOST_ROWS)
        self._own_rows = batch_rows
        self._table = _Table(table, self._selection.rules)
        self._own_word = system().words(2).tobytes().hex()

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        table, rules = self._table, self._selection.rules
        numbers = [name for name in columns if name in rules.numeric and name not in rules.moments]
        cells = table.cells(numbers, [name for name in columns if name in rules.private or name in rules.texts])
        ready = {name: table.codes(name) for name in columns if name in rules.category}
        ready |= {name: table.numeric(name) for name in columns if name in rules.moments}
        step = self._room(columns)[1]
        if self.schema.person is None:
            for start in range(0, table.size, step):
                rows = slice(start, min(start + step, table.size))
                yield Batch(rules, _cut(cells, rows), rows.stop - start, None, start, 0, None, _cut(ready, rows))
            return
        people, order, ends = table.people()
        start = 0
        while start < table.size:
            # The last person to begin within the step goes in whole.
            stop = int(ends[np.searchsorted(ends, min(start + step, table.size))])
            rows, who = slice(start, stop), people.take(slice(start, stop))
            if order is None:
                yield Batch(rules, _cut(cells, rows), stop - start, None, start, 0, who, _cut(ready, rows))
            else:
                yield Batch(rules, cells, stop - start, order[rows], start, 0, who, ready)
            start = stop

    def _threads(self, columns: Sequence[str]) -> int:
        room, rows = self._room(columns)
        return max(1, min(threads.available(), room // rows, -(-self._table.size // rows)))

    def _room(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows may be at work together, so that what they hold stays within a public size; and those of a batch."""
        declared = self.schema.columns
        made = [declared[name] for name in self.schema.derivation.made_of(set(columns))]
        width = sum(len(each.labels) if isinstance(each, Categories) else 1 for each in made)
        room = _NUMBERS_AT_ONCE // max(1, width)
        most = _MOST_ROWS if self.schema.person is None else _MOST_WITH_PEOPLE
        return room, self._own_rows or min(max(room, _FEWEST_ROWS), most)

    def _content(self) -> str:
        return self._own_word

    def _read_again(self, columns: Iterable[str]) -> None:
        self._table = self._table.under(self._selection.rules, set(columns))


class _Table:
    """The columns of a table, read when first needed and shared by all sources made from it."""

    def __init__(self, table: Any, rules: Rules) -> None:
        self._rules = rules
        self._given: Mapping[str, Column] = {}
        self._series: dict[str, Column] = {}
        self._known: dict[str, Any] = {}
        self._people: tuple[Identities, npt.NDArray[np.intp] | None, npt.NDArray[np.intp]] | None = None
        schema = rules.schema
        person = [] if schema.person is None or schema.person in schema.stored else [schema.person]
        if isinstance(table, np.ndarray):
            table = _named(table, [*schema.stored, *person])
        if isinstance(table, Mapping):
            check_columns(schema, [str(name) for name in table])
            if isinstance(table, MatrixColumns):
                self._given, sizes = table, table.lengths
            else:
                self._given = {name: _column(table[name], name) for name in [*schema.stored, *person]}
                sizes = {len(column) for column in self._given.values()}
            if len(sizes) > 1:
                raise InvalidRequest(f"the columns of a table must have one length, got {sorted(sizes)}")
            self.size = sizes.pop() if sizes else 0
            self._frame = None
        else:
            self._frame = _in_memory(table)
            check_columns(schema, self._frame.columns)
            for name in [*schema.stored, *person]:
                _check_stored(self._frame[name], name)
            self.size = len(self._frame)

    def under(self, rules: Rules, changed: set[str]) -> _Table:
        """The same table under other declarations of the ``changed`` columns."""
        made = copy.copy(self)
        made._rules = rules
        made._known = {name: known for name, known in self._known.items() if name not in changed}
        return made

    def raw(self, name: str) -> Column:
        """A column as it is stored, as a NumPy or an Arrow array."""
        if self._frame is None:
            return self._given[name]
        if name not in self._series:
            self._series[name] = _series(self._frame[name])
        return self._series[name]

    def cells(self, numbers: Sequence[str], raw: Sequence[str]) -> Mapping[str, Column]:
        """Columns of ``numbers``, in one piece where they are a matrix's, and others as they are stored."""
        others: dict[str, Column] = {name: self.raw(name) for name in raw}
        if not isinstance(self._given, MatrixColumns):
            return {name: self.numeric(name) for name in numbers} | others
        beside = {name: self.numeric(name) for name in numbers if name not in self._given.places}
        return self._given.restricted(numbers, beside | others)

    def numeric(self, name: str) -> npt.NDArray[Any]:
        """A column of numbers: numbers as they lie, made unwritable; anything else is read once and kept."""
        if name not in self._known:
            raw = self.raw(name)
            plain = isinstance(raw, np.ndarray) and not isinstance(raw, np.ma.MaskedArray) and raw.dtype.kind in "fiub"
            if not plain or name in self._rules.moments:
                raw = self._rules.read(name, raw)
            view = raw.view(np.ndarray)
            view.flags.writeable = False
            self._known[name] = view
        known: npt.NDArray[Any] = self._known[name]
        return known

    def codes(self, name: str) -> Codes:
        """A column of categories, read once and kept."""
        if name not in self._known:
            made = cell_meaning.codes(self.raw(name), *self._rules.category[name], self._rules.schema.dialect)
            made.flags.writeable = False
            self._known[name] = made
        known: Codes = self._known[name]
        return known

    def people(self) -> tuple[Identities, npt.NDArray[np.intp] | None, npt.NDArray[np.intp]]:
        """Who the rows belong to person by person, the order of rows that puts them so (None: as they lie), the ends."""
        if self._people is None:
            schema = self._rules.schema
            who = identities(self.raw(schema.person or ""), self._rules.salt, schema.dialect.missing)
            order = None
            if len(who.keys) and (who.keys[1:] < who.keys[:-1]).any():
                order = np.argsort(who.keys, kind="stable")
                who = who.take(order)
            ends = np.append(np.flatnonzero(who.keys[1:] != who.keys[:-1]) + 1, len(who.keys))
            self._people = who, order, ends
        return self._people


def _in_memory(table: Any) -> Any:
    """A table as narwhals reads it; refuses what is computed only when it is read, since a record could make that fail."""
    try:
        found = nw.from_native(table, eager_only=True)
        if isinstance(found, nw.DataFrame):
            return found
    except (TypeError, ValueError):
        pass
    try:
        lazy = isinstance(nw.from_native(table), nw.LazyFrame)
    except (TypeError, ValueError):
        lazy = False
    if lazy:
        raise InvalidRequest(
            f"a table must be in memory or in files, got {type(table).__name__}, a plan: what is computed only when a "
            "question is answered could fail because of a record, after the question was paid",
            key="table",
            remedy="compute it first and pass what came of it, as by table.collect() or table.to_arrow_table()",
        )
    raise InvalidRequest(
        "table must be a dict of arrays, a NumPy array, a pandas, Polars or Arrow table in memory, or the path of a CSV or "
        f"Parquet file, got {type(table).__name__}"
    )


def _check_stored(series: Any, name: str) -> None:
    """Refuse a column of pandas of a type that neither pandas nor NumPy brings: its cells are what its code makes."""
    if not series.implementation.is_pandas():
        return
    kind = type(series.to_native().dtype)
    if kind.__module__.partition(".")[0] not in ("pandas", "numpy"):
        raise InvalidRequest(
            f"column {name!r} must be of a type of pandas, NumPy or Arrow, got {kind.__name__}; convert it first", key=name
        )


def _cut(columns: Mapping[str, Column], rows: slice) -> Mapping[str, Column]:
    """Some rows of columns, without a copy: of arrays of NumPy and of Arrow alike."""
    if isinstance(columns, MatrixColumns):
        return columns.cut(rows)
    return {name: column[rows] for name, column in columns.items()}


def _named(array: npt.NDArray[Any], names: list[str]) -> Mapping[str, Column]:
    """The columns of an array in the order of the schema, the person's id last."""
    if array.dtype.names is not None or array.ndim not in (1, 2):
        raise InvalidRequest(f"an array must have one or two dimensions and no fields, got shape {array.shape}; pass a dict")
    wide = array.reshape(len(array), -1) if array.ndim == 1 else array
    if wide.shape[1] != len(names):
        raise InvalidRequest(
            f"an array must have one column for each of {', '.join(names)}, got {wide.shape[1]} columns; pass a dict"
        )
    if type(wide) is np.ndarray and wide.dtype == np.float64 and wide.dtype.isnative:
        return MatrixColumns.named(wide, names, {})
    return {name: wide[:, place] for place, name in enumerate(names)}


def _column(given: Any, name: str) -> Column:
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise InvalidRequest(f"column {name!r} must have one dimension, got shape {given.shape}")
        return given
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return cell_meaning.arrow(given)
    if isinstance(given, list | tuple):
        return cell_meaning.objects(given)
    try:
        series = nw.from_native(given, series_only=True)
        _check_stored(series, name)
        return _series(series)
    except TypeError:
        raise InvalidRequest(f"column {name!r} must be an array, a list or a series, got {type(given).__name__}") from None


def _series(series: Any) -> Column:
    if series.dtype == nw.Float64:
        return series.to_numpy()
    native = series.to_native()
    pandas = series.implementation.is_pandas_like()
    if series.dtype == nw.Object or (pandas and native.dtype == object):
        return cell_meaning.objects(series.to_list())  # a type that Arrow infers is one that cells decide for each other
    if pandas and native.dtype == "category" and native.cat.categories.dtype == object:
        labels = cell_meaning.objects([*native.cat.categories.tolist(), None])
        return labels[native.cat.codes.to_numpy()]  # the code of a missing cell is -1
    try:
        return cell_meaning.arrow(series.to_arrow())
    except Exception:  # cells that Arrow cannot hold: read one at a time
        return cell_meaning.objects(series.to_list())
