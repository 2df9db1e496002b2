"""CSV and Parquet files of any size, streamed through DuckDB in bounded memory.

Only the needed columns are read. With a person column the rows come in the order of the id (an external sort that
spills to disk), so that a person's rows lie together. A CSV file is read as text and means what text means
everywhere. Neighbouring tables are compared record by record as they are parsed, so a CSV file must come from something
that writes CSV: a quote that one line opens and never closes swallows the lines after it, and is not one person's doing in
a well-written file. A line that is no record, or longer than ten million bytes, contributes
nothing.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import stream
from discreet.sources.base import BATCH_ROWS, LocalSource, check_columns
from discreet.sources.batch import Batch
from discreet.sources.people import DEFAULT_SALT
from discreet.sources.spill import spill_folder

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
Path_ = str | Path
_THREADS = min(4, os.cpu_count() or 1)  # every thread of a sort holds buffers of its own


class FileSource(LocalSource):
    """A table in files of one kind. Its version is their paths, sizes and times of change.

    ``memory`` is DuckDB's share; a batch and what the map makes of it come on top.
    """

    def __init__(
        self,
        paths: Path_ | Sequence[Path_],
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        super().__init__(schema, salt, batch_rows)
        self._memory = memory
        self._paths = find_files(paths)
        self._table, types = _describe(self._paths)
        check_columns(schema, list(types))
        self._types = types

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        import duckdb

        person = self.schema.person
        counted = any(choice.by in ("row", "remainder") for choice in self._selection.choices)
        # A table is never read with no column at all: its rows still have to be counted.
        read = list(columns) or [next(iter(self._types))]
        query = f"SELECT {', '.join(map(_name, read))} FROM {self._table}"  # noqa: S608  names and paths are quoted
        if person is not None:
            query += f" ORDER BY {_one_missing(person, self._types[person])}"
        with spill_folder() as spill:
            limits = {"memory_limit": self._memory, "temp_directory": spill, "threads": _THREADS}
            connection = duckdb.connect(config=limits)
            try:
                connection.execute("SET enable_progress_bar = false")  # how far a scan is, is not for standard output
                # Row numbers mean something only in the order of the file; otherwise order costs memory for nothing.
                connection.execute(f"SET preserve_insertion_order = {str(counted).lower()}")
                # A relation streams; the result of ``execute`` would be copied whole into memory first.
                arrived = _read(connection.sql(query).to_arrow_reader(self._batch_rows), self._paths)
                rules = self._selection.rules
                if person is None:
                    yield from stream.plain(arrived, rules)
                else:
                    yield from stream.whole_people(arrived, rules, self._batch_rows)
            except duckdb.Error:
                raise _damaged(self._paths) from None
            finally:
                connection.close()

    def _content(self) -> str:
        return describe_files(self._paths)


def _read(arrived: Any, paths: Sequence[Path]) -> Iterator[Any]:
    """The record batches of a reader; what goes wrong in it is the file's fault, or the memory's, not a record's."""
    while True:
        try:
            found = arrived.read_next_batch()
        except StopIteration:
            return
        except Exception as problem:
            if "Out of Memory" in str(problem):
                raise InvalidRequest("memory must be larger to put these files in order; pass memory='1GB'") from None
            raise _damaged(paths) from None
        yield found


def find_files(paths: Path_ | Sequence[Path_]) -> list[Path]:
    """The files that paths and patterns name, in a fixed order; all of one kind."""
    found: list[Path] = []
    for given in [paths] if isinstance(paths, str | Path) else paths:
        text = str(given)
        matches = [text] if Path(text).exists() else sorted(glob.glob(text, recursive=True))
        if not matches:
            raise InvalidRequest(f"table must be a file that exists, got {text!r}; check the path")
        found += [Path(match).resolve() for match in matches]
    if not found:
        raise InvalidRequest("table must name at least one file, got none")
    kinds = {_suffix(path) in PARQUET for path in found}
    if len(kinds) > 1:
        raise InvalidRequest("the files of a table must be all CSV or all Parquet, got both; open them one by one")
    for path in found:
        if not path.is_file():
            raise InvalidRequest(f"table must be a file, got the folder {str(path)!r}; write a pattern such as '*.parquet'")
    return found


def describe_files(paths: Sequence[Path]) -> str:
    """Path, size and time of change of each file."""
    try:
        facts = [(str(path), (state := path.stat()).st_size, state.st_mtime_ns) for path in paths]
    except OSError:
        raise _damaged(paths) from None
    return repr(facts)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for known in (*DELIMITERS, *PARQUET):
        if name.endswith(known):
            return known
    kinds = ", ".join((*DELIMITERS, *PARQUET))
    raise UnsupportedFormat(f"a table file must end in one of {kinds}, got {path.name!r}; rename or convert it")


def _describe(paths: Sequence[Path]) -> tuple[str, dict[str, str]]:
    """The table in SQL and its columns with their types, from headers and footers alone."""
    listed = f"[{', '.join(_text(glob.escape(str(path))) for path in paths)}]"
    kinds = {path: _suffix(path) for path in paths}
    parquet = kinds[paths[0]] in PARQUET
    types = [_footer(path) if parquet else _header(path, DELIMITERS[kinds[path]]) for path in paths]
    for path, found in zip(paths, types, strict=True):
        if found != types[0]:
            raise UnsupportedFormat(f"the files of a table must have the same columns, {path.name!r} differs from the first")
    if parquet:
        return f"read_parquet({listed})", types[0]
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in types[0])
    delimiters = {DELIMITERS[kind] for kind in kinds.values()}
    if len(delimiters) > 1:
        raise InvalidRequest("the files of a table must be all .csv or all .tsv, got both; open them one by one")
    # Everything is said, nothing is guessed from records: a guess could change, or fail, because of one of them.
    options = (
        f"auto_detect=false, header=true, delim={_text(delimiters.pop())}, quote='\"', escape='\"', parallel=false, "
        "null_padding=true, strict_mode=false, ignore_errors=true, max_line_size=10000000"
    )
    return f"read_csv({listed}, columns={{{columns}}}, {options})", types[0]


def _footer(path: Path) -> dict[str, str]:
    import duckdb

    with duckdb.connect() as connection:
        try:
            table = f"read_parquet({_text(glob.escape(str(path)))})"
            rows = connection.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()  # noqa: S608  the path is quoted
        except duckdb.Error as problem:
            raise UnsupportedFormat(
                f"{path.name!r} is not a whole Parquet file ({str(problem).splitlines()[0]}); copy it again or rename it"
            ) from None
    return {str(row[0]): str(row[1]) for row in rows}


def _header(path: Path, delimiter: str) -> dict[str, str]:
    try:
        with path.open("rb") as stored:
            content = gzip.GzipFile(fileobj=stored) if path.suffix.lower() == ".gz" else stored
            # Bytes that are no text are let through here: the buffer reaches past the header, into the records.
            lines = io.TextIOWrapper(content, encoding="utf-8-sig", errors="surrogateescape", newline="")
            names = next(csv.reader(lines, delimiter=delimiter), [])
            "".join(names).encode()
    except (OSError, UnicodeEncodeError, csv.Error, EOFError, zlib.error):
        names = ["\0"]
    if any("\0" in name for name in names):
        raise UnsupportedFormat(f"{path.name!r} is not a CSV file in UTF-8; convert it or give it its proper ending")
    if not names or len(set(names)) != len(names):
        raise UnsupportedFormat(f"{path.name!r} must begin with a header of different column names, got {names}")
    return dict.fromkeys(names, "VARCHAR")


def _one_missing(name: str, kind: str) -> str:
    """The id with all that is missing as one NULL: the empty text and NaN are missing ids too."""
    if kind == "VARCHAR":
        return f"nullif({_name(name)}, '')"
    return f"CASE WHEN isnan({_name(name)}) THEN NULL ELSE {_name(name)} END" if kind in ("FLOAT", "DOUBLE") else _name(name)


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _text(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _damaged(paths: Sequence[Path]) -> UnsupportedFormat:
    # DuckDB's own words may quote a record, and are left out.
    return UnsupportedFormat(f"a file of {[path.name for path in paths[:3]]} is damaged, changed or gone; open it again")
