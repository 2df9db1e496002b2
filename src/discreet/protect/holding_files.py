"""A registered table in files, found anew at every request: a file that came later is looked into like all others."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import Connection

from discreet.errors import InvalidRequest, UnknownName, UnsupportedFormat
from discreet.ledger.database import Database
from discreet.protect.finding import find_now
from discreet.protect.holdings import Chooser, Found, Gone, Holding, under
from discreet.protect.reach import Reached
from discreet.protect.records import Records, read_records, whole_rows
from discreet.protect.replacing import rewrite
from discreet.protect.table_files import FileTable, parquet_batches
from discreet.protect.writing import compact, locked, remove_abandoned, rows_to, suffix
from discreet.sources.files import DELIMITERS, PARQUET


@dataclass(frozen=True)
class Files(Holding):
    """A table in files. Each file is replaced by one without the person's rows, whole and at once."""

    name: str
    given: tuple[dict[str, str], ...]
    finder: Chooser

    def check(self, connection: Connection) -> None:
        seen = Reached()
        paths = find_now(self.given, seen)
        if seen.missed:
            raise InvalidRequest(
                f"table must be a file that exists, got {seen.missed[0]['place']!r}: {seen.missed[0]['reason']}; check "
                "the path"
            )
        FileTable(paths).check(self.finder.columns)

    def clean(self) -> None:
        """Remove what killed processes left beside the files, also beside one that is not there any more."""
        for one in self.given:
            named = Path(one["pattern"]) if "pattern" in one else Path(glob.escape(one["path"]))
            linked = Path(glob.escape(os.path.realpath(one["path"]))) if "path" in one else named
            for place in {named, linked}:
                for stale in glob.glob(str(place.with_name(f".{place.name}.*.part")), recursive=True):
                    with suppress(OSError), locked(Path(stale).parent, shared=False):
                        remove_abandoned(Path(stale))

    def find(self, person: bytes, database: Database) -> Found:
        parts: list[pa.Table] = []
        unreadable, links, seen = 0, 0, Reached()
        for path in find_now(self.given, seen):
            with seen.at(str(path)), locked(path.parent, shared=True):
                rows, without = self._found(path, person)
                seen.look(str(path), rows.num_rows)
                parts.append(rows)
                unreadable += without
                links += path.stat().st_nlink - 1
        return Found(together(parts, self.finder.columns), unreadable, links, seen)

    def remove(self, person: bytes, database: Database) -> Gone:
        gone, unreadable, links, seen = 0, 0, 0, Reached()
        for path in find_now(self.given, seen):
            with seen.at(str(path)):
                others = path.stat().st_nlink - 1  # other names: what is written anew here stays as it was under those
                job = _Removal(path, self.finder, person)
                taken = rewrite(path, job, 0)
                seen.look(str(path), taken)
                gone += taken
                unreadable += job.unreadable
                links += others
        return Gone(gone, unreadable, links, seen)

    def tokens_under(self, version: int, database: Database) -> int:
        seen = Reached()
        paths = find_now(self.given, seen)
        for missed in seen.missed:
            raise InvalidRequest(
                f"the tokens in every file of {self.name!r} must be known, got {missed['place']!r}: {missed['reason']}; "
                "bring it back, or unregister the table if it is lost"
            )
        (column,), counts = FileTable(paths).counted(self.finder.columns) if paths else ([pa.array([], pa.string())], None)
        return under(version, column.to_pylist(), None if counts is None else counts.tolist())

    def _found(self, path: Path, person: bytes) -> tuple[pa.Table, int]:
        unreadable = 0
        if suffix(path) in PARQUET:
            parts = []
            with path.open("rb") as source:
                for batch in parquet_batches(source, path):
                    _has_columns(path, self.finder, batch.column_names)
                    mask, without = _mask(self.finder, batch, person)
                    parts.append(compact(batch.filter(pa.array(mask))))
                    unreadable += without
            return pa.concat_tables(parts, promote_options="permissive"), unreadable
        chosen: list[bytes] = []
        names: tuple[str, ...] = ()
        opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
        with opener(path, "rb") as source:
            for records in _records(path, source, self.finder):
                names = records.names
                mask, without = _mask(self.finder, records.cells(self.finder.columns), person)
                unreadable += without
                if mask.any():
                    chosen.append(records.only(mask, blanks=False))
        return whole_rows(chosen, names or self.finder.columns, DELIMITERS[suffix(path)]), unreadable


def _records(path: Path, source: BinaryIO, finder: Chooser) -> Iterator[Records]:
    for piece in read_records(source, DELIMITERS[suffix(path)]):
        if isinstance(piece, Records):
            _has_columns(path, finder, piece.names)
            yield piece


def _has_columns(path: Path, finder: Chooser, names: Sequence[str]) -> None:
    for name in finder.columns:
        if list(names).count(name) != 1:
            raise UnknownName(f"{path.name!r} must have one column {name!r}, and its header has {list(names).count(name)}")


def _mask(finder: Chooser, table: pa.Table, person: bytes) -> tuple[npt.NDArray[np.bool_], int]:
    return finder.mask([table.column(name) for name in finder.columns], person)


@dataclass
class _Removal:
    """Writes a file without a person's rows; how many there were, None for none. Begun again, it counts again."""

    path: Path
    finder: Chooser
    person: bytes
    unreadable: int = 0

    def __call__(self, source: BinaryIO, part: str) -> int | None:
        kind = suffix(self.path)
        if kind.endswith(".gz"):
            raise UnsupportedFormat("rows cannot be taken out of a compressed file; store it as Parquet, or unpack it")
        self.unreadable = 0
        return (self._parquet(source, part, kind) if kind in PARQUET else self._csv(source, part, kind)) or None

    def _parquet(self, source: BinaryIO, part: str, kind: str) -> int:
        gone = 0
        with rows_to(part, kind) as put:
            for batch in parquet_batches(source, self.path):
                mask = self._mask(batch)
                gone += int(mask.sum())
                put(batch.filter(pa.array(~mask)))
        return gone

    def _csv(self, source: BinaryIO, part: str, kind: str) -> int:
        gone = 0
        with Path(part).open("wb") as out:
            for piece in read_records(source, DELIMITERS[kind]):
                if isinstance(piece, bytes):
                    out.write(piece)
                    continue
                _has_columns(self.path, self.finder, piece.names)
                mask = self._mask(piece.cells(self.finder.columns))
                gone += int(mask.sum())
                out.write(piece.only(~mask, blanks=True))
        return gone

    def _mask(self, table: pa.Table) -> npt.NDArray[np.bool_]:
        _has_columns(self.path, self.finder, table.column_names)
        mask, without = _mask(self.finder, table, self.person)
        self.unreadable += without
        return mask


def together(parts: Sequence[pa.Table], columns: Sequence[str]) -> pa.Table:
    """Rows of several files as one table; columns that are of different kinds there become texts."""
    if not parts:
        return pa.table({name: pa.array([], pa.string()) for name in columns})
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables([_texts(part) for part in parts], promote_options="permissive")


def _texts(table: pa.Table) -> pa.Table:
    cells = {name: [None if v is None else str(v) for v in table.column(name).to_pylist()] for name in table.column_names}
    return pa.table({name: pa.array(values, pa.string()) for name, values in cells.items()})
