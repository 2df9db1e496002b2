"""Writing a table file so that it is there whole or not at all, also when the power fails in between."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources.files import DELIMITERS, PARQUET


@contextmanager
def writer(path: str | Path, *, replace: bool = False) -> Iterator[Callable[[pa.Table], int]]:
    """A function that takes rows, and a file that appears whole at the end or not at all."""
    import pyarrow.csv
    import pyarrow.parquet

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
        rows = settled(rows)
        if not sink:
            options = pyarrow.csv.WriteOptions(delimiter=DELIMITERS.get(kind, ","), quoting_style="needed")
            make = pyarrow.parquet.ParquetWriter if kind in PARQUET else pyarrow.csv.CSVWriter
            sink.append(make(name, rows.schema, **({} if kind in PARQUET else {"write_options": options})))
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
        Path(name).unlink(missing_ok=True)
        raise


def sync(path: str | Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def suffix(path: Path) -> str:
    """The ending of a table file that this package reads."""
    for known in (*DELIMITERS, *PARQUET):
        if path.name.lower().endswith(known):
            return known
    raise UnsupportedFormat(f"a table file must end in one of {', '.join((*DELIMITERS, *PARQUET))}, got {path.name!r}")


def settled(table: pa.Table) -> pa.Table:
    """Dictionary columns written out and nothing left without a type: Spark knows neither."""
    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(column.type.value_type))
        elif pa.types.is_null(column.type):
            table = table.set_column(place, column.name, table.column(place).cast(pa.string()))
    return table
