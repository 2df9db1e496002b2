"""A stored table in CSV or Parquet files: counted by DuckDB in bounded memory, streamed from the first row to the last."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect.reach import OutOfRoom, enough_room
from discreet.protect.shuffle import Shuffle
from discreet.protect.stored_table import COUNT, Change, Counts, Progress, StoredTable, apply
from discreet.protect.writing import compact, suffix
from discreet.sources import cell_meaning, duck
from discreet.sources.files import DELIMITERS, PARQUET, describe_files, find_files

_ROWS = 1 << 17
_USUAL = (",", ";", "\t", "|")  # what cells of a CSV file are separated by
_PARTS = (1, 8, 64)  # in how many passes groups are counted when they do not fit in one


class FileTable(StoredTable):
    """CSV or Parquet files, counted and streamed by DuckDB in bounded memory."""

    def __init__(self, paths: Sequence[str | Path], memory: str = "800MB", delimiter: str | None = None) -> None:
        self.paths = find_files(paths)
        self.delimiter = delimiter
        self._memory = memory
        self._version = describe_files(self.paths)
        self._table, self.columns = _describe(self.paths, delimiter)

    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        if not names:
            raise InvalidRequest("at least one column must be counted, got none")
        for parts in _PARTS:
            try:
                found = pa.concat_tables([self._counted(names, parts, part) for part in range(parts)])
                break
            except OutOfRoom:
                if parts == _PARTS[-1]:
                    raise
        counts = found.column(COUNT).cast(pa.int64()).to_numpy()
        return [cell_meaning.arrow(found.column(name)) for name in names], counts

    def _counted(self, names: Sequence[str], parts: int, part: int) -> pa.Table:
        """The groups whose hash is ``part`` modulo ``parts``: many groups are counted some at a time, and none on a disk."""
        listed = ", ".join(map(duck.name, names))
        chosen = "" if parts == 1 else f" WHERE hash({listed}) % {parts} = {part}"
        query = f"SELECT {listed}, count(*) AS {duck.name(COUNT)} FROM {self._table}{chosen} GROUP BY {listed}"  # noqa: S608
        return pa.Table.from_batches(list(self._read(query, ordered=False)))

    def rewrite(self, change: Change, shuffle: Shuffle) -> Any:
        parts = [compact(apply(change, batch)) for batch in self.batches()]
        return shuffle.table(pa.concat_tables(parts, promote_options="permissive"))

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        done = 0
        for batch in self._stream():
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(done)
        if self._version != describe_files(self.paths):
            raise InvalidRequest(
                f"the files must not change while they are read, and one of {self._listed} did; start again"
            )

    def _stream(self) -> Iterator[Any]:
        if suffix(self.paths[0]) not in PARQUET:
            yield from map(pa.Table.from_batches, ([batch] for batch in self._read(self._all, ordered=True)))
            return
        for path in self.paths:
            with enough_room(f"reading {path.name!r}"), path.open("rb") as source:
                yield from parquet_batches(source, path)

    @property
    def _all(self) -> str:
        return f"SELECT * FROM {self._table}"  # noqa: S608  paths are quoted

    @property
    def _listed(self) -> list[str]:
        return [path.name for path in self.paths[:3]]

    def _read(self, query: str, *, ordered: bool) -> Iterator[Any]:
        import duckdb

        # Nothing is spilled: what DuckDB writes to a disk is in clear, and a killed process leaves it there.
        with duck.connected("", self._memory, threads=2, ordered=ordered) as connection:
            try:
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
            except (duckdb.Error, pa.ArrowException, OSError, MemoryError) as problem:
                # The engine's own words may quote a record, and are left out.
                if duck.out_of_memory(problem):
                    raise OutOfRoom(
                        f"memory did not suffice for reading {self._listed}: {self._memory} for DuckDB, and what the "
                        "machine has left; the files are not to blame"
                    ) from None
                raise UnsupportedFormat(
                    f"a file of {self._listed} cannot be read whole: a line is no record, or bytes are no UTF-8; repair or "
                    "convert it"
                ) from None


def parquet_batches(source: BinaryIO, path: Path) -> Iterator[pa.Table]:
    """The rows of a Parquet file, read as they were written, so that a rewritten file keeps its types."""
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(source) as file:
            yield file.schema_arrow.empty_table()
            for batch in file.iter_batches(_ROWS):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as problem:
        if isinstance(problem, MemoryError) or getattr(problem, "errno", None):
            raise
        raise UnsupportedFormat(f"{path.name!r} is not a whole Parquet file; copy it again or rename it") from None


def _describe(paths: Sequence[Path], separated: str | None) -> tuple[str, list[str]]:
    """The table in SQL, and its columns."""
    import pyarrow.parquet

    kinds = {suffix(path).removesuffix(".gz") for path in paths}
    if len(kinds) > 1:
        raise InvalidRequest(f"the files of a table must be of one kind, got {sorted(kinds)}; open them one by one")
    kind = kinds.pop()
    if separated is not None and kind in PARQUET:
        raise InvalidRequest(f"a delimiter is for CSV files, got {paths[0].name!r}; leave it out")
    delimiter = separated or DELIMITERS.get(kind, "")
    try:
        headers = [pyarrow.parquet.read_schema(p).names if kind in PARQUET else _header(p, delimiter) for p in paths]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error, pa.ArrowException):
        raise UnsupportedFormat(f"{paths[0].name!r} and its like cannot be read as {kind}; check the files") from None
    for path, names in zip(paths, headers, strict=True):
        if names != headers[0] or len(set(names)) != len(names) or not names:
            raise UnsupportedFormat(f"the files of a table need one header of different names, {path.name!r} has {names}")
    other = next((mark for mark in _USUAL if len(headers[0]) == 1 and mark in headers[0][0]), None)
    if separated is None and kind not in PARQUET and other is not None:
        raise UnsupportedFormat(
            f"a table of one column must not have {other!r} in its header, and {paths[0].name!r} has: its cells seem to be "
            "separated by that; say so (--delimiter, delimiter in a job file, protect.Delimited)"
        )
    folded: dict[str, str] = {}
    for name in headers[0]:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise UnsupportedFormat(f"columns must differ by more than case, got {other!r} and {name!r}; rename one")
    if kind in PARQUET:
        return duck.parquet(paths), headers[0]
    columns = ", ".join(f"{duck.text(name)}: 'VARCHAR'" for name in headers[0])
    options = f"auto_detect=false, header=true, delim={duck.text(delimiter)}, quote='\"', escape='\"', strict_mode=true"
    return f"read_csv({duck.listed(paths)}, columns={{{columns}}}, {options})", headers[0]


def _header(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])
