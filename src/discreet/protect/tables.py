"""A stored table in memory, in files or on Spark, seen as Arrow columns: what is counted and what is rewritten.

A change is one function on some columns of some rows. It is the same function for every engine, so an anonymous copy or
a token is the same wherever the table lies. In files, a line that is no record is an error here, never skipped: a copy
or an erasure that loses rows in silence would be worse than none.
"""

from __future__ import annotations

import csv
import glob
import gzip
import tempfile
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.schema import closest
from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.protect.writing import settled, suffix, writer
from discreet.sources import cells
from discreet.sources.files import DELIMITERS, PARQUET, describe_files, find_files

Counts = npt.NDArray[np.int64]
Progress = Callable[[int], None]  # called with the number of rows done so far
_ROWS = 1 << 17
_COUNT = "rows counted by discreet"  # a name that no column of a user has


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


class Table(ABC):
    """A table whose rows can be counted by their values and rewritten."""

    columns: Sequence[str]

    @abstractmethod
    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        """Columns as Arrow or NumPy arrays, with how many rows each entry stands for (None: one each)."""

    @abstractmethod
    def rewrite(self, change: Change) -> Any:
        """The changed table, of the kind that was given; an Arrow table for files."""

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

    def write(self, change: Change, path: str | Path, progress: Progress | None = None, expected: int | None = None) -> int:
        """The changed table in a new file, CSV or Parquet by its ending, and how many rows it has.

        The file appears whole or not at all: it is written beside its place under another name and moved there. Where
        the number of rows is ``expected``, another one means that the table changed meanwhile, and nothing appears.
        """
        with writer(path) as put:
            rows = sum(put(apply(change, batch)) for batch in self.batches(progress))
            if expected is not None and rows != expected:
                raise InvalidRequest(
                    f"the table must not change while it is copied: {expected} rows became {rows}; start again"
                )
        return rows


def open_table(table: Any, spark: Any = None) -> Table:
    """A dict of arrays, a pandas, Polars or Arrow table, paths of CSV or Parquet files, or a Spark DataFrame."""
    if spark is not None or type(table).__module__.startswith("pyspark."):
        return SparkTable(table if spark is None else _spark_read(table, spark))
    if isinstance(table, str | Path):
        return FileTable([table])
    if isinstance(table, list | tuple) and table and all(isinstance(path, str | Path) for path in table):
        return FileTable(table)
    return MemoryTable(table)


def apply(change: Change, batch: pa.Table) -> pa.Table:
    """A change applied to Arrow rows."""
    done = change({name: cells.arrow(batch.column(name)) for name in change.needs})
    for name, column in done.columns.items():
        place = batch.schema.get_field_index(name)
        made = cells.arrow(column)
        batch = batch.append_column(name, made) if place < 0 else batch.set_column(place, name, made)
    if done.keep is not None:
        batch = batch.filter(pa.array(done.keep))
    return batch.drop_columns(list(done.drop)) if done.drop else batch


class MemoryTable(Table):
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
        self.columns = list(self._frame.columns)
        self._known: dict[str, Any] = {}

    def counted(self, names: Sequence[str]) -> tuple[list[Any], None]:
        return [self._column(name) for name in names], None

    def rewrite(self, change: Change) -> Any:
        done = change({name: self._column(name) for name in change.needs})
        frame = self._frame
        backend = nw.get_native_namespace(frame)
        made = []
        for name, column in done.columns.items():
            if column is not self._known.get(name):
                # Through Arrow for Arrow and Polars, as objects for pandas: no library then guesses a type.
                values = pa.chunked_array([cells.arrow(column)])
                made.append(nw.new_series(name, values.to_pylist(), backend=backend))
        if made:
            if frame.implementation.is_pandas():
                made = [nw.from_native(s.to_native().set_axis(frame.to_native().index), series_only=True) for s in made]
            frame = frame.with_columns(*made)
        if done.keep is not None:
            frame = frame.filter(done.keep.tolist())
        native = frame.drop(list(done.drop)).to_native()
        return {name: native[name].to_numpy() for name in native.column_names} if self._plain else native

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        yield self._frame.to_arrow()
        if progress is not None:
            progress(len(self._frame))

    def _column(self, name: str) -> Any:
        if name not in self._known:
            series = self._frame[name]
            try:
                self._known[name] = cells.arrow(series.to_arrow())
            except Exception:  # cells that Arrow cannot hold together: read one at a time
                self._known[name] = cells.objects(series.to_list())
        return self._known[name]


class FileTable(Table):
    """CSV or Parquet files, counted and streamed by DuckDB in bounded memory."""

    def __init__(self, paths: Sequence[str | Path], memory: str = "800MB") -> None:
        self.paths = find_files(paths)
        self._memory = memory
        self._version = describe_files(self.paths)
        self._table, self.columns = _describe(self.paths)

    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        listed = ", ".join(map(_name, names))
        query = f"SELECT {listed}, count(*) AS {_name(_COUNT)} FROM {self._table} GROUP BY {listed}"  # noqa: S608
        found = pa.Table.from_batches(list(self._read(query, ordered=False)) or [], schema=None) if names else None
        if found is None:
            raise InvalidRequest("at least one column must be counted, got none")
        counts = found.column(_COUNT).cast(pa.int64()).to_numpy()
        return [cells.arrow(found.column(name)) for name in names], counts

    def rewrite(self, change: Change) -> Any:
        return pa.concat_tables([apply(change, batch) for batch in self.batches()], promote_options="permissive")

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        done = 0
        for batch in self._read(f"SELECT * FROM {self._table}", ordered=True):  # noqa: S608  paths are quoted
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
            if progress is not None:
                progress(done)
        if self._version != describe_files(self.paths):
            raise InvalidRequest(
                f"the files must not change while they are read, and one of {self._listed} did; start again"
            )

    @property
    def _listed(self) -> list[str]:
        return [path.name for path in self.paths[:3]]

    def _read(self, query: str, *, ordered: bool) -> Iterator[Any]:
        import duckdb

        with tempfile.TemporaryDirectory(prefix="discreet-") as spill:
            connection = duckdb.connect(config={"memory_limit": self._memory, "temp_directory": spill, "threads": 2})
            try:
                connection.execute("SET enable_progress_bar = false")
                connection.execute(f"SET preserve_insertion_order = {str(ordered).lower()}")
                reader = connection.sql(query).to_arrow_reader(_ROWS)
                empty = True
                while True:
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        break
                    empty = False
                    yield batch
                if empty:
                    yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            except (duckdb.Error, pa.ArrowException) as problem:
                # The engine's own words may quote a record, and are left out.
                kind = "memory ran out" if "Out of Memory" in str(problem) else "a line is no record, or bytes are no UTF-8"
                raise UnsupportedFormat(
                    f"a file of {self._listed} cannot be read whole: {kind}; repair or convert it"
                ) from None
            finally:
                connection.close()


class SparkTable(Table):
    """A Spark DataFrame: counted by Spark, changed by workers, which need this package."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.columns = list(frame.columns)

    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        from pyspark.sql import functions

        grouped = self._frame.groupBy(*map(_tick, names)).agg(functions.count(functions.lit(1)).alias(_COUNT))
        with _quiet():
            found = grouped.toArrow()
        counts = found.column(_COUNT).cast(pa.int64()).to_numpy()
        return [cells.arrow(found.column(name)) for name in names], counts

    def rewrite(self, change: Change) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        # The types of the result are what the change makes of no rows at all.
        empty = to_arrow_schema(self._frame.schema).empty_table()
        schema = from_arrow_schema(settled(apply(change, empty)).schema)
        with _quiet():
            return self._frame.mapInArrow(_Worker(change), schema)

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        raise InvalidRequest("a Spark table is written by Spark: use the DataFrame in .table and its own writer")


@dataclass(frozen=True)
class _Worker:
    change: Change

    def __call__(self, arrived: Any) -> Iterator[Any]:
        for batch in arrived:
            yield from settled(apply(self.change, pa.Table.from_batches([batch]))).combine_chunks().to_batches()


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # PySpark 4 says so of every pandas 3; records come here as Arrow and never meet pandas.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _describe(paths: Sequence[Path]) -> tuple[str, list[str]]:
    """The table in SQL, and its columns."""
    import pyarrow.parquet

    listed = f"[{', '.join(_text(glob.escape(str(path))) for path in paths)}]"
    kinds = {suffix(path).removesuffix(".gz") for path in paths}
    if len(kinds) > 1:
        raise InvalidRequest(f"the files of a table must be of one kind, got {sorted(kinds)}; open them one by one")
    kind = kinds.pop()
    try:
        headers = [pyarrow.parquet.read_schema(p).names if kind in PARQUET else _header(p, DELIMITERS[kind]) for p in paths]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        raise UnsupportedFormat(f"{paths[0].name!r} and its like cannot be read as {kind}; check the files") from None
    for path, names in zip(paths, headers, strict=True):
        if names != headers[0] or len(set(names)) != len(names) or not names:
            raise UnsupportedFormat(f"the files of a table need one header of different names, {path.name!r} has {names}")
    if kind in PARQUET:
        return f"read_parquet({listed})", headers[0]
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in headers[0])
    options = f"auto_detect=false, header=true, delim={_text(DELIMITERS[kind])}, quote='\"', escape='\"', strict_mode=true"
    return f"read_csv({listed}, columns={{{columns}}}, {options})", headers[0]


def _header(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])


def _spark_read(path: Any, session: Any) -> Any:
    name = str(path)
    for ending, delimiter in DELIMITERS.items():
        if name.lower().endswith(ending):
            options = {
                "header": True,
                "inferSchema": False,
                "sep": delimiter,
                "quote": '"',
                "escape": '"',
                "mode": "FAILFAST",
            }
            return session.read.csv(name, **options)
    return session.read.parquet(name)


def _arrow(column: Any) -> Any:
    if isinstance(column, list | tuple):
        column = cells.objects(column)
    made = cells.arrow(column if isinstance(column, np.ndarray | pa.Array | pa.ChunkedArray) else np.asarray(column))
    if isinstance(made, np.ndarray):  # cells of several kinds: their canonical texts
        return pa.array([cells.label(cell) for cell in made], pa.string())
    return made


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _text(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _tick(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
