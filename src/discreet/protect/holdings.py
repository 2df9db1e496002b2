"""Registered tables: where a person's rows are found, and how they are taken out without leaving half a file."""

from __future__ import annotations

import glob
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import Connection, MetaData, String, Table, Text, and_, cast, collate, func, inspect, select
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.types import NullType

from discreet.core.schema import closest
from discreet.errors import DiscreetError, InvalidRequest, UnknownName
from discreet.ledger.database import Database
from discreet.protect.histogram import texts_of
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.table_files import FileTable
from discreet.protect.writing import compact, locked, writer


@dataclass(frozen=True)
class Found:
    """A person's rows in one table, how many rows have no identity that can be read, and how many hard links it has."""

    rows: pa.Table
    unreadable: int
    links: int = 0


@dataclass(frozen=True)
class Gone:
    """How many rows were taken out of a table; the rest as in ``Found``."""

    rows: int
    unreadable: int
    links: int = 0


@dataclass(frozen=True)
class Finder:
    """Tells which rows are a person's: by identifying columns, or by a token column of a partner and data set."""

    pseudonyms: Pseudonymizer
    columns: tuple[str, ...]
    partner: tuple[str, str] | None = None

    def mask(self, columns: Sequence[Any], person: bytes) -> tuple[npt.NDArray[np.bool_], int]:
        """Which rows are the person's, and how many have no identity that can be read: those match nobody."""
        encoded = [texts_of(column) for column in columns]
        if self.partner is not None:
            newest = self.pseudonyms.keys.version()  # type: ignore[union-attr]
            tokens = {self.pseudonyms.cipher(*self.partner, v).tokens([person])[0] for v in range(1, newest + 1)}
            texts, index = encoded[0]
            here = np.array([text in tokens for text in texts], bool)
            return here[index], int(np.array([text is None for text in texts], bool)[index].sum())
        known: dict[tuple[int, ...], bool | None] = {}
        out, unreadable = [], 0
        for row in zip(*(index.tolist() for _, index in encoded), strict=True):
            if row not in known:
                known[row] = self._matches([texts[code] for (texts, _), code in zip(encoded, row, strict=True)], person)
            out.append(known[row] is True)
            unreadable += known[row] is None
        return np.array(out, bool), unreadable

    def _matches(self, texts: list[str | None], person: bytes) -> bool | None:
        try:
            return self.pseudonyms.digests.texts(texts) == person
        except InvalidRequest:
            return None


class Holding(ABC):
    """A registered table."""

    name: str

    @abstractmethod
    def check(self, connection: Connection) -> None:
        """Refuse a table that is not there or lacks a column."""

    @abstractmethod
    def find(self, person: bytes, database: Database) -> Found:
        """The person's rows."""

    @abstractmethod
    def remove(self, person: bytes, database: Database) -> Gone:
        """Take the person's rows out; doing it again takes out what is left, which is none."""


@dataclass(frozen=True)
class Files(Holding):
    """A table in files. Each file is replaced by one without the person's rows, whole and at once."""

    name: str
    paths: tuple[Path, ...]
    finder: Finder

    def check(self, connection: Connection) -> None:
        FileTable(self.paths).check(self.finder.columns)

    def find(self, person: bytes, database: Database) -> Found:
        parts, unreadable = [], 0
        for path in self.paths:
            with locked(path.parent, shared=True):
                for batch in FileTable([path]).batches():
                    mask, without = self.finder.mask([batch.column(name) for name in self.finder.columns], person)
                    parts.append(compact(batch.filter(pa.array(mask))))
                    unreadable += without
        return Found(pa.concat_tables(parts, promote_options="permissive"), unreadable, self._links())

    def remove(self, person: bytes, database: Database) -> Gone:
        links = self._links()
        parts = [self._remove(path, person) for path in self.paths]
        return Gone(sum(rows for rows, _ in parts), sum(unreadable for _, unreadable in parts), links)

    def _links(self) -> int:
        """Other names of the files: what is written anew here stays as it was under those."""
        return sum(path.stat().st_nlink - 1 for path in self.paths if path.exists())

    def _remove(self, path: Path, person: bytes) -> tuple[int, int]:
        with locked(path.parent, shared=False):
            for stale in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
                stale.unlink()  # nobody else is writing here: a process that was killed left it
            gone = unreadable = 0
            try:
                with writer(path, replace=True) as put:
                    for batch in FileTable([path]).batches():
                        mask, without = self.finder.mask([batch.column(name) for name in self.finder.columns], person)
                        unreadable += without
                        gone += int(mask.sum())
                        put(batch.filter(pa.array(~mask)))
                    if gone == 0:
                        raise _NothingToDo
            except _NothingToDo:
                return 0, unreadable
            return gone, unreadable


class _NothingToDo(Exception):
    """The file holds nothing of the person and is left as it is."""


@dataclass(frozen=True)
class Rows(Holding):
    """A table in the vault's own database."""

    name: str
    table: str
    finder: Finder

    def check(self, connection: Connection) -> None:
        present = [column.name for column in self._table(connection).columns]
        for name in self.finder.columns:
            if name not in present:
                raise UnknownName(f"the table {self.table!r} has no column {name!r}{closest(name, present)}")

    def find(self, person: bytes, database: Database) -> Found:
        parts: list[dict[str, Any]] = []
        unreadable = 0
        with database.transaction(write=False) as connection:
            table = self._table(connection)
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    found = connection.execute(select(table).where(self._where(table, values))).mappings()
                    parts += [{str(key): value for key, value in row.items()} for row in found]
        names = [column.name for column in table.columns]
        return Found(pa.table({name: _column([row[name] for row in parts]) for name in names}), unreadable)

    def remove(self, person: bytes, database: Database) -> Gone:
        gone = unreadable = 0
        with database.transaction(write=True) as connection:
            table = self._table(connection)
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    gone += connection.execute(table.delete().where(self._where(table, values))).rowcount
        return Gone(gone, unreadable)

    def _identities(
        self, table: Table, connection: Connection, person: bytes
    ) -> Iterator[tuple[tuple[Any, ...], int, bool | None]]:
        """The different identities of the table, how many rows have each, and whether it is the person's."""
        chosen = self._exact(table)
        for *values, rows in connection.execute(select(*chosen, func.count()).group_by(*chosen)).all():
            mask, unreadable = self.finder.mask([pa.array([value]) for value in values], person)
            yield tuple(values), rows, None if unreadable else bool(mask[0])

    def _where(self, table: Table, values: Sequence[Any]) -> Any:
        return and_(*(column == value for column, value in zip(self._exact(table), values, strict=True)))

    def _exact(self, table: Table) -> list[Any]:
        """The identifying columns, compared byte by byte: a collation may take two people for one, as NOCASE does."""
        chosen: list[Any] = [table.c[name] for name in self.finder.columns]
        if table.info.get("sqlite"):
            return [collate(column, "BINARY") for column in chosen]
        texts = (String, DOMAIN, NullType)  # also citext, whose own equality ignores case
        return [collate(cast(c, Text), "C") if isinstance(c.type, texts) else c for c in chosen]

    def _verify(self, table: Table, connection: Connection, values: Sequence[Any], person: bytes) -> None:
        """Refuse if the database takes rows of anyone else for this person's."""
        for row in connection.execute(select(*self._exact(table)).where(self._where(table, values))):
            mask, _ = self.finder.mask([pa.array([value]) for value in row], person)
            if not mask[0]:
                raise DiscreetError(
                    f"the table {self.table!r} compares identities so that one person's rows match another's; "
                    "nothing was read or removed: give its identifying columns a type that compares exactly"
                )

    def _table(self, connection: Connection) -> Table:
        if not inspect(connection).has_table(self.table):
            raise UnknownName(f"the database has no table {self.table!r}, registered as {self.name!r}; check its name")
        known = {"sqlite": connection.dialect.name == "sqlite"}
        return Table(self.table, MetaData(), autoload_with=connection, info=known)


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
