"""Writing a table file so that it is there whole or not at all, also when the power fails in between."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.sources.files import DELIMITERS, PARQUET


@contextmanager
def writer(path: str | Path, *, replace: bool = False) -> Iterator[Callable[[pa.Table], int]]:
    """A function that takes rows, and a file that appears whole at the end or not at all."""
    from pyarrow.parquet import ParquetWriter

    path = Path(path)
    kind = suffix(path)
    if kind.endswith(".gz"):
        raise UnsupportedFormat(f"a new file must end in .csv, .tsv, .parquet or .pq, got {path.name!r}; compress it later")
    if path.exists() and not replace:
        raise InvalidRequest(f"the file to write must not exist yet, got {str(path)!r}; choose another name or remove it")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    sink: list[Any] = []

    def put(rows: pa.Table) -> int:
        rows = compact(rows)
        if not sink:
            sink.append(ParquetWriter(name, rows.schema) if kind in PARQUET else _CsvWriter(name, DELIMITERS[kind]))
        sink[0].write_table(rows)
        return int(rows.num_rows)

    try:
        yield put
        if sink:
            sink[0].close()
        sync(name)
        if path.exists():
            os.chmod(name, path.stat().st_mode & 0o777)
        else:
            os.chmod(name, 0o600)
        os.replace(name, path)
        sync(path.parent)
    except BaseException:
        if sink:
            sink[0].close()
        Path(name).unlink(missing_ok=True)
        raise


class _CsvWriter:
    """CSV with quotes only where they are needed, so that a row that stays is written as it was read."""

    def __init__(self, name: str, delimiter: str) -> None:
        self._out = Path(name).open("wb")  # noqa: SIM115  closed by ``close``
        self._delimiter = delimiter
        self._started = False

    def write_table(self, rows: pa.Table) -> None:
        import pyarrow.csv

        rows = settled(rows)
        if not self._started:
            self._plainly([rows.column_names])
            self._started = True
        texts = [
            column for column in rows.columns if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        ]
        special = f'["\r\n{self._delimiter}]|^ | $'
        if any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts):
            self._plainly(zip(*(column.to_pylist() for column in rows.columns), strict=True))
            return
        options = pyarrow.csv.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style="none")
        pyarrow.csv.write_csv(rows, self._out, options)

    def _plainly(self, rows: Iterable[Sequence[Any]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=self._delimiter, lineterminator="\n").writerows(rows)
        self._out.write(text.getvalue().encode("utf-8"))

    def close(self) -> None:
        self._out.close()


def sync(path: str | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, *, shared: bool) -> Iterator[None]:
    """Nobody else rewrites a file of this folder meanwhile, nor reads one unless ``shared``.

    The lock goes with the process, however it ends.
    """
    try:
        import fcntl
    except ImportError as problem:
        raise DiscreetError("rewriting files in place needs POSIX file locks; run it on Linux or macOS") from problem
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def suffix(path: Path) -> str:
    """The ending of a table file that this package reads."""
    for known in (*DELIMITERS, *PARQUET):
        if path.name.lower().endswith(known):
            return known
    raise UnsupportedFormat(f"a table file must end in one of {', '.join((*DELIMITERS, *PARQUET))}, got {path.name!r}")


def settled(table: pa.Table) -> pa.Table:
    """Dictionary columns written out and nothing left without a type: CSV and Spark know neither."""
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.value_type))
        elif pa.types.is_null(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(pa.string()))
    return table


def compact(table: pa.Table) -> pa.Table:
    """The same rows and types; no dictionary holds a value that no row has, such as one that was just taken out."""
    for place, column in enumerate(table.schema):
        if _dictionaries(column.type):
            made = pa.chunked_array([_compacted(chunk) for chunk in table.column(place).chunks], column.type)
            table = table.set_column(place, column, made)
    return table


def _dictionaries(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return True
    return any(_dictionaries(kind.field(place).type) for place in range(kind.num_fields))


def _compacted(chunk: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(chunk.type):  # a dictionary inside nested cells
        return pa.array(chunk.to_pylist(), chunk.type)
    used = pc.unique(chunk.indices.drop_null())
    kept = pc.take(used, pc.array_sort_indices(used))  # in their old order, which may mean something
    places = pc.index_in(chunk.indices, kept).cast(chunk.type.index_type)
    return pa.DictionaryArray.from_arrays(places, pc.take(chunk.dictionary, kept), ordered=chunk.type.ordered)
