"""Writing a table file so that it is there whole or not at all, also when the power fails in between."""

from __future__ import annotations

import csv
import glob
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import DiscreetError, InvalidRequest, UnsupportedFormat
from discreet.protect.reach import enough_room
from discreet.sources.files import DELIMITERS, PARQUET


@contextmanager
def writer(path: str | Path, delimiter: str | None = None) -> Iterator[Callable[[pa.Table], int]]:
    """A function that takes rows, and a new file that appears whole at the end or not at all, readable by its owner."""
    path = Path(path)
    kind = suffix(path)
    if kind.endswith(".gz"):
        raise UnsupportedFormat(f"a new file must end in .csv, .tsv, .parquet or .pq, got {path.name!r}; compress it later")
    if path.exists():
        raise InvalidRequest(f"the file to write must not exist yet, got {str(path)!r}; choose another name or remove it")
    with new_file(path) as name, rows_to(name, kind, delimiter if kind == ".csv" else None) as put:
        yield put


@contextmanager
def new_file(path: Path) -> Iterator[str]:
    """The name to write a new file under; at the end it is on the disk, and moved to its place.

    What is written is locked until then, so that what a killed process left can be told from what another writes now.
    """
    try:
        for stale in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            remove_abandoned(stale)
        handle, name = _held(path)
    except OSError as problem:
        raise InvalidRequest(f"the file {str(path)!r} cannot be written: {problem.strerror}; check its folder") from None
    try:
        with enough_room(f"writing {str(path)!r}"):
            yield name
            sync(name)
            os.replace(name, path)
            sync(path.parent)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _held(path: Path) -> tuple[int, str]:
    """A new file beside a path, with its lock; another process may take it for abandoned before it is locked."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        _hold(handle, wait=True)
        if os.path.exists(name):
            return handle, name
        os.close(handle)


def remove_abandoned(stale: Path) -> None:
    """Remove a file that was being written, unless another process is still writing it."""
    with suppress(OSError), stale.open("rb") as stored:
        if _hold(stored.fileno(), wait=False):
            stale.unlink()


def _hold(handle: int, *, wait: bool) -> bool:
    """Lock a file; whether that could be done at once, or at all on this system."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def rows_to(name: str, kind: str, delimiter: str | None = None) -> Iterator[Callable[[pa.Table], int]]:
    """A function that writes rows to a file, CSV or Parquet by ``kind``; the first rows say the columns."""
    from pyarrow.parquet import ParquetWriter

    sink: list[Any] = []

    def put(rows: pa.Table) -> int:
        rows = compact(rows)
        if not sink:
            sink.append(
                ParquetWriter(name, rows.schema) if kind in PARQUET else _CsvWriter(name, delimiter or DELIMITERS[kind])
            )
        sink[0].write_table(rows)
        return int(rows.num_rows)

    try:
        yield put
    except BaseException:
        with suppress(Exception):  # what went wrong is told already
            sink[0].close()
        raise
    if sink:
        sink[0].close()


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


def write_whole(path: Path, text: str | bytes) -> None:
    """A new file with a text, or bytes, whole or not at all, readable by its owner."""
    if path.exists():
        raise InvalidRequest(f"the text must go into a new file, got {str(path)!r}, which exists; choose another name")
    with new_file(path) as name:
        Path(name).write_bytes(text.encode("utf-8") if isinstance(text, str) else text)


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
