"""A stored table in CSV or Parquet files: counted by DuckDB in bounded memory, streamed from the first row to the last."""

from __future__ import annotations

import csv
import glob
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.protect.tables import COUNT, Change, Counts, Progress, Table, apply
from discreet.protect.writing import compact, suffix
from discreet.sources import cells
from discreet.sources.files import DELIMITERS, PARQUET, describe_files, find_files

_ROWS = 1 << 17


class FileTable(Table):
    """CSV or Parquet files, counted and streamed by DuckDB in bounded memory."""

    def __init__(self, paths: Sequence[str | Path], memory: str = "800MB") -> None:
        self.paths = find_files(paths)
        self._memory = memory
        self._version = describe_files(self.paths)
        self._table, self.columns = _describe(self.paths)

    def counted(self, names: Sequence[str]) -> tuple[list[Any], Counts | None]:
        listed = ", ".join(map(_name, names))
        query = f"SELECT {listed}, count(*) AS {_name(COUNT)} FROM {self._table} GROUP BY {listed}"  # noqa: S608
        found = pa.Table.from_batches(list(self._read(query, ordered=False)) or [], schema=None) if names else None
        if found is None:
            raise InvalidRequest("at least one column must be counted, got none")
        counts = found.column(COUNT).cast(pa.int64()).to_numpy()
        return [cells.arrow(found.column(name)) for name in names], counts

    def rewrite(self, change: Change) -> Any:
        parts = [compact(apply(change, batch)) for batch in self.batches()]
        return pa.concat_tables(parts, promote_options="permissive")

    def batches(self, progress: Progress | None = None) -> Iterator[pa.Table]:
        done = 0
        for batch in self._stream():
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
            if progress is not None:
                progress(done)
        if self._version != describe_files(self.paths):
            raise InvalidRequest(
                f"the files must not change while they are read, and one of {self._listed} did; start again"
            )

    def _stream(self) -> Iterator[Any]:
        import pyarrow.parquet

        if suffix(self.paths[0]) not in PARQUET:
            yield from self._read(f"SELECT * FROM {self._table}", ordered=True)  # noqa: S608  paths are quoted
            return
        for path in self.paths:  # read as it was written, so that a rewritten file keeps its types
            with pyarrow.parquet.ParquetFile(path) as file:
                empty = file.schema_arrow.empty_table()  # not from_pylist, which forgets that a dictionary is ordered
                yield pa.RecordBatch.from_arrays([column.combine_chunks() for column in empty.columns], schema=empty.schema)
                yield from file.iter_batches(_ROWS)

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
    folded: dict[str, str] = {}
    for name in headers[0]:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise UnsupportedFormat(f"columns must differ by more than case, got {other!r} and {name!r}; rename one")
    if kind in PARQUET:
        return f"read_parquet({listed})", headers[0]
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in headers[0])
    options = f"auto_detect=false, header=true, delim={_text(DELIMITERS[kind])}, quote='\"', escape='\"', strict_mode=true"
    return f"read_csv({listed}, columns={{{columns}}}, {options})", headers[0]


def _header(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines, delimiter=delimiter), [])


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _text(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
