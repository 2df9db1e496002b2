"""CSV and Parquet files of any size, read a batch at a time in bounded memory.

Only the needed columns are read. With a person column the rows of a person are brought together on disk, see ``together``.
The cells of a CSV file are bytes and mean what bytes mean everywhere; ``csv_lines`` says what its records are. Neighbouring
tables are compared record by record as they are parsed.
"""

from __future__ import annotations

import glob
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.core.dialect import Dialect
from discreet.core.schema import Schema
from discreet.errors import InvalidRequest, UnsupportedFormat
from discreet.sources import cell_meaning, csv_lines, stream
from discreet.sources.base import BATCH_ROWS
from discreet.sources.choosing import DEFAULT_SALT
from discreet.sources.resting import RestingFiles

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
Path_ = str | Path


class FileSource(RestingFiles):
    """A table in files of one kind on this machine."""

    def __init__(
        self,
        paths: Path_ | Sequence[Path_],
        schema: Schema,
        salt: int = DEFAULT_SALT,
        batch_rows: int = BATCH_ROWS,
        memory: str = "400MB",
    ) -> None:
        self._paths = find_files(paths)
        super().__init__(schema, salt, batch_rows, memory, self._paths[0].name)
        otherwise = ""
        if _suffix(self._paths[0]) in DELIMITERS:
            otherwise = f"declare the delimiter if it is not {delimiter_of(self._paths[0], schema.dialect)!r}, or "
        self._opened(otherwise)

    @property
    def names(self) -> list[str]:
        """The columns of the files, from header or footer."""
        return list(self._types.names)

    def _described(self) -> Any:
        return _describe(self._paths, self.schema.dialect)

    def _arrived(self, read: Sequence[str], types: Any, *, coded: bool) -> Iterator[Any]:
        return stream.guarded(self._records(read, types, coded), lambda: _damaged(self._paths))

    def _records(self, read: Sequence[str], types: Any, coded: bool) -> Iterator[Any]:
        if _suffix(self._paths[0]) in DELIMITERS:
            dialect = self.schema.dialect
            delimiter = delimiter_of(self._paths[0], dialect)
            yield from csv_lines.batches(self._paths, types.names, read, delimiter, dialect.quote, dialect.encoding)
            return
        from pyarrow import parquet

        texts = [name for name in read if coded and cell_meaning.is_text(types.field(name).type)]
        for path in self._paths:
            with parquet.ParquetFile(path, read_dictionary=texts) as stored:
                yield from record_batches(stored, self._batch_rows, list(read))

    def _content(self) -> str:
        return describe_files(self._paths)


def record_batches(stored: Any, rows: int, read: list[str]) -> Iterator[Any]:
    """The record batches of an open Parquet file, a few row groups at a time.

    A reader of several groups holds what it has read of all of them until it ends; one of a few holds as much as a batch.
    """
    groups: list[int] = []
    count = 0
    for place in range(stored.num_row_groups):
        groups.append(place)
        count += stored.metadata.row_group(place).num_rows
        if count >= rows or place == stored.num_row_groups - 1:
            for found in stored.iter_batches(rows, row_groups=groups, columns=read):
                yield found.select(read)
            groups, count = [], 0


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


def delimiter_of(path: Path, dialect: Dialect) -> str:
    """What separates the cells of a CSV file: what is declared, or else what its ending says."""
    return dialect.delimiter or DELIMITERS[_suffix(path)]


def _describe(paths: Sequence[Path], dialect: Dialect) -> Any:
    """The columns of the files with their types, from headers and footers alone: nothing is guessed from records."""
    kinds = [_suffix(path) for path in paths]
    if dialect.delimiter is None and len({DELIMITERS.get(kind) for kind in kinds}) > 1:
        raise InvalidRequest("the files of a table must be all .csv or all .tsv, got both; open them one by one")
    types = [_footer(path) if kind in PARQUET else _header(path, dialect) for path, kind in zip(paths, kinds, strict=True)]
    for path, found in zip(paths, types, strict=True):
        if found != types[0]:
            raise UnsupportedFormat(f"the files of a table must have the same columns, {path.name!r} differs from the first")
    return types[0]


def _footer(path: Path) -> Any:
    from pyarrow import parquet

    try:
        found = parquet.read_schema(path).remove_metadata()
    except (OSError, pa.ArrowException):
        raise UnsupportedFormat(f"{path.name!r} is not a whole Parquet file; copy it again or rename it") from None
    return named_once(found, path.name)


def named_once(found: Any, shown: str) -> Any:
    """The columns of a footer with their types; refuses a name that stands there twice."""
    if len(set(found.names)) != len(found.names):
        raise UnsupportedFormat(f"the columns of {shown!r} must have different names, got one name twice; rename one")
    return pa.schema([field.remove_metadata() for field in found])


def _header(path: Path, dialect: Dialect) -> Any:
    """The columns of a CSV file. Refusals show nothing of its first line: without a header that is a record."""
    try:
        names = csv_lines.header(path, delimiter_of(path, dialect), dialect.quote, dialect.encoding)
    except (OSError, ValueError, EOFError, zlib.error):
        names = ["\0"]
    if any("\0" in name for name in names):
        raise UnsupportedFormat(
            f"{path.name!r} is not a CSV file in {dialect.encoding.upper()}; declare its encoding (cp1252 from Excel on "
            "Windows, in a schema or as --encoding), convert it or give it its proper ending"
        )
    if names == [""] or len(set(names)) != len(names):
        raise UnsupportedFormat(f"{path.name!r} must begin with a line of different column names; write one")
    return pa.schema([pa.field(name, pa.binary()) for name in names])


def _damaged(paths: Sequence[Path]) -> UnsupportedFormat:
    # A reader's own words may quote a record, and are left out.
    return UnsupportedFormat(f"a file of {[path.name for path in paths[:3]]} is damaged, changed or gone; open it again")
