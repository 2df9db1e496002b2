"""A stored table in memory, in files or on Spark, seen as Arrow columns: what is counted and what is rewritten.

A change is one function on some columns of some rows. It is the same function for every engine, so an anonymous copy or
a token is the same wherever the table lies. In files, a line that is no record is an error here, never skipped: a copy
or an erasure that loses rows in silence would be worse than none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.dialect import DELIMITERS
from discreet.core.labels import closest
from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.shuffle import Shuffle, forgotten
from discreet.protect.writing import compact, writer
from discreet.sources import cell_meaning

Counts = npt.NDArray[np.int64]
Progress = Callable[[int], None]  # called with the number of rows done so far
COUNT = "rows counted by discreet"  # a name that no column of a user has


@dataclass(frozen=True)
class Changed:
    """New columns in place of old ones or after them, which rows stay (None: all), and columns that go."""

    columns: Mapping[str, Any]
    keep: npt.NDArray[np.bool_] | None = None
    drop: tuple[str, ...] = field(default=())


class Change(Protocol):
    """From the columns it needs to what becomes of the rows."""

    @property
    def needs(self) -> tuple[str, ...]: ...

    def __call__(self, columns: Mapping[str, Any]) -> Changed: ...


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Several changes of one table that leave all its rows, each made from the table as it was."""

    changes: tuple[Change, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for change in self.changes for name in change.needs))

    def __call__(self, columns: Mapping[str, Any]) -> Changed:
        done = [change(columns) for change in self.changes]
        new = {name: column for one in done for name, column in one.columns.items()}
        return Changed(new, None, tuple(dict.fromkeys(name for one in done for name in one.drop)))


@dataclass(frozen=True)
class Delimited:
    """CSV files whose cells are separated by something else than their ending says, such as ``Delimited("a.csv", ";")``.

    It stands wherever a path does, and a copy that is written as ``.csv`` has the same delimiter.
    """

    paths: str | Path | Sequence[str | Path]
    delimiter: str = ";"

    def __post_init__(self) -> None:
        if self.delimiter not in DELIMITERS:
            raise InvalidRequest(f"a delimiter must be one of {', '.join(map(repr, DELIMITERS))}, got {self.delimiter!r}")


class StoredTable(ABC):
    """A table whose rows can be counted by their values and rewritten; ``delimiter`` separates the cells of a CSV copy."""

    columns: Sequence[str]
    delimiter: str | None = None

    @abstractmethod
    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        """Columns as Arrow or NumPy arrays, with how many rows each entry stands for (None: one each)."""

    @abstractmethod
    def rewrite(self, change: Change, shuffle: Shuffle) -> Any:
        """The changed table in the order of ``shuffle``, of the kind that was given; an Arrow table for files."""

    @abstractmethod
    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        """All rows, some at a time."""

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that are not columns, or that come twice."""
        for name in names:
            if name not in self.columns:
                raise UnknownName(f"the table has no column {name!r}{closest(str(name), self.columns)}")
        if twice := sorted({name for name in names if list(names).count(name) > 1}):
            raise InvalidRequest(f"a column must be named once, got {twice[0]!r} twice; remove one")

    def write(
        self,
        change: Change,
        path: str | Path,
        shuffle: Shuffle,
        progress: Progress | None = None,
        expected: int | None = None,
    ) -> int:
        """The changed table in a new file, CSV or Parquet by its ending, and how many rows it has.

        The file appears whole or not at all: it is written beside its place under another name and moved there. Where
        the number of rows is ``expected``, another one means that the table changed meanwhile, and nothing appears.
        """
        with writer(path, self.delimiter) as put:
            rows = sum(map(put, shuffle.stream(apply(change, batch) for batch in self.batches(progress))))
            if expected is not None and rows != expected:
                raise InvalidRequest(
                    f"the table must not change while it is copied: {expected} rows became {rows}; start again"
                )
        return rows


def open_table(table: Any, spark: Any = None) -> StoredTable:
    """A dict of arrays, a pandas, Polars or Arrow table, paths of CSV or Parquet files, or a Spark DataFrame."""
    table, delimiter = (table.paths, table.delimiter) if isinstance(table, Delimited) else (table, None)
    if spark is not None or type(table).__module__.startswith("pyspark."):
        from discreet.protect.table_spark import SparkTable, spark_read

        return SparkTable(table if spark is None else spark_read(table, spark, delimiter))
    paths = [table] if isinstance(table, str | Path) else table
    if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | Path) for path in paths):
        from discreet.protect.table_files import FileTable

        return FileTable(paths, delimiter=delimiter)
    return MemoryTable(table)


def apply(change: Change, batch: pa.Table) -> pa.Table:
    """A change applied to Arrow rows."""
    done = change({name: cell_meaning.arrow(batch.column(name)) for name in change.needs})
    for name, column in done.columns.items():
        place = batch.schema.get_field_index(name)
        made = cell_meaning.arrow(column)
        batch = batch.append_column(name, made) if place < 0 else batch.set_column(place, name, made)
    if done.keep is not None:
        batch = batch.filter(pa.array(done.keep))
    return bare(batch.drop_columns(list(done.drop)) if done.drop else batch)


def bare(table: pa.Table) -> pa.Table:
    """The table without notes in its schema: whatever they hold, nobody made it coarser."""
    return pa.Table.from_arrays(table.columns, schema=pa.schema([part.remove_metadata() for part in table.schema]))


class MemoryTable(StoredTable):
    """A table in memory; what is not changed keeps its type."""

    def __init__(self, table: Any) -> None:
        self._plain = isinstance(table, Mapping)
        try:
            if self._plain:
                table = pa.table({str(name): _arrow(column) for name, column in table.items()})
            self._frame: Any = nw.from_native(table, eager_only=True)
        except (TypeError, ValueError, pa.ArrowInvalid) as problem:
            raise InvalidRequest(
                "table must be a dict of columns of one length, a pandas, Polars or Arrow table, a Spark DataFrame, or "
                f"the path of a CSV or Parquet file, got {type(table).__name__}: {problem}"
            ) from None
        if self._frame.implementation.is_pandas():  # an index may be a list of names
            self._frame = nw.from_native(_unindexed(self._frame.to_native()), eager_only=True)
        self.columns = list(self._frame.columns)
        self._known: dict[str, Any] = {}

    def counted(self, names: Sequence[str]) -> tuple[list[Any], None]:
        return [self._column(name) for name in names], None

    def rewrite(self, change: Change, shuffle: Shuffle) -> Any:
        done = change({name: self._column(name) for name in change.needs})
        frame = self._frame
        backend = nw.get_native_namespace(frame)
        made = []
        for name, column in done.columns.items():
            same = column is self._known.get(name)
            if not same or self._objects(name):  # among objects, 1 and 1.0 are one value and do not look alike
                # Through Arrow for Arrow and Polars, as objects for pandas: no library then guesses a type.
                values = pa.chunked_array([cell_meaning.arrow(column)])
                series = nw.new_series(name, values.to_pylist(), backend=backend)
                made.append(nw.from_native(series.to_native().astype(object), series_only=True) if same else series)
        if made:
            if frame.implementation.is_pandas():
                made = [nw.from_native(s.to_native().set_axis(frame.to_native().index), series_only=True) for s in made]
            frame = frame.with_columns(*made)
        if done.keep is not None:
            frame = frame.filter(done.keep.tolist())
        if not shuffle.kept:
            frame = frame[shuffle.places(len(frame))]
        native = _compacted(frame.drop(list(done.drop)).to_native())
        if not shuffle.kept:
            native = _forgotten(native)
        return {name: native[name].to_numpy() for name in native.column_names} if self._plain else native

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        yield self._frame.to_arrow()
        if progress is not None:
            progress(len(self._frame))

    def _objects(self, name: str) -> bool:
        return bool(self._frame.implementation.is_pandas() and self._frame[name].to_native().dtype == object)

    def _column(self, name: str) -> Any:
        if name not in self._known:
            series = self._frame[name]
            try:
                self._known[name] = cell_meaning.arrow(series.to_arrow())
            except Exception:  # cells that Arrow cannot hold together: read one at a time
                self._known[name] = cell_meaning.objects(series.to_list())
        return self._known[name]


def _compacted(native: Any) -> Any:
    """The frame without categories that no row has: they could be those of rows that were left out."""
    frame: Any = nw.from_native(native, eager_only=True)
    if frame.implementation.is_pyarrow():
        return bare(compact(native))
    if frame.implementation.is_pandas():
        spare = {name: native[name].cat.remove_unused_categories() for name in _categorical(frame)}
        native = _unindexed(native.assign(**spare) if spare else native)
        if native.attrs:
            native = native.copy(deep=False)
            native.attrs = {}
        return native
    if frame.implementation.is_polars():
        import polars as pl

        for name in _categorical(frame):
            texts = native[name].cast(pl.String)
            kind = native.schema[name]
            if isinstance(kind, pl.Enum):
                here = set(texts.drop_nulls().unique().to_list())
                kind = pl.Enum([text for text in kind.categories.to_list() if text in here])
            native = native.with_columns(texts.cast(kind))
    return native


def _forgotten(native: Any) -> Any:
    """Categories without an order of their own, listed as the rows have them now: they often tell the old order of rows."""
    frame: Any = nw.from_native(native, eager_only=True)
    if frame.implementation.is_pyarrow():
        return forgotten(native)
    if frame.implementation.is_pandas():
        anew = {name: _relisted(native[name]) for name in _categorical(frame) if not native[name].cat.ordered}
        return native.assign(**anew) if anew else native
    return native  # Polars lists them as they come, and an Enum in an order that is declared


def _relisted(series: Any) -> Any:
    codes = series.cat.codes
    return series.cat.reorder_categories(series.cat.categories.take(codes[codes >= 0].unique()))


def _unindexed(native: Any) -> Any:
    """A pandas frame whose index only counts its rows."""
    index = native.index
    counts = type(index).__name__ == "RangeIndex" and (index.start, index.step, index.name) == (0, 1, None)
    return native if counts else native.reset_index(drop=True)


def _categorical(frame: Any) -> list[str]:
    return [name for name, kind in frame.schema.items() if kind in (nw.Categorical, nw.Enum)]


def _arrow(column: Any) -> Any:
    if isinstance(column, list | tuple):
        column = cell_meaning.objects(column)
    made = cell_meaning.arrow(column if isinstance(column, np.ndarray | pa.Array | pa.ChunkedArray) else np.asarray(column))
    if isinstance(made, np.ndarray):  # cells of several kinds: their canonical texts
        return pa.array([cell_meaning.label(cell) for cell in made], pa.string())
    return made
