"""A registered table in the vault's own database."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, MetaData, String, Table, Text, and_, cast, collate, func, inspect, select
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.exc import IntegrityError, InternalError, NotSupportedError, ProgrammingError, SAWarning
from sqlalchemy.types import Date, DateTime, NullType, Time, TypeEngine

from discreet.core.labels import closest
from discreet.errors import DiscreetError, InvalidRequest, LedgerCorrupt, LedgerUnavailable, UnknownName
from discreet.ledger.database import Database
from discreet.protect.holdings import Chooser, Found, Gone, Holding, under
from discreet.protect.reach import Reached


@dataclass(frozen=True)
class RowHolding(Holding):
    """A table in the vault's own database."""

    name: str
    table: str
    finder: Chooser

    def check(self, connection: Connection) -> None:
        self._checked(connection)

    def _checked(self, connection: Connection) -> Table:
        table = self._table(connection)
        present = [column.name for column in table.columns]
        for name in self.finder.columns:
            if name not in present:
                raise UnknownName(f"the table {self.table!r} has no column {name!r}{closest(name, present)}")
        return table

    def find(self, person: bytes, database: Database) -> Found:
        parts: list[dict[str, Any]] = []
        unreadable, names, seen = 0, list(self.finder.columns), Reached()
        with seen.at(self.place), database.transaction(write=False) as connection:
            table = self._checked(connection)
            names = [column.name for column in table.columns]
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    for row in connection.execute(select(table).where(self._where(table, values))):
                        parts.append(dict(zip(names, _read(table, names, row), strict=True)))
            seen.look(self.place, len(parts))
        return Found(pa.table({name: _column([row[name] for row in parts]) for name in names}), unreadable, 0, seen)

    def remove(self, person: bytes, database: Database) -> Gone:
        gone, unreadable, seen = 0, 0, Reached()
        with seen.at(self.place), self._deleting(database) as connection:
            removed = 0
            table = self._checked(connection)
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    removed += self._deleted(table, connection, values)
            seen.look(self.place, removed)
            gone = removed
        return Gone(0 if seen.missed else gone, unreadable, 0, seen)

    def _deleted(self, table: Table, connection: Connection, values: Sequence[Any]) -> int:
        """Delete one identity's rows; the database's word that it did is not enough, as a trigger may keep them."""
        chosen = self._where(table, values)
        count = connection.execute(table.delete().where(chosen)).rowcount
        if connection.execute(select(func.count()).select_from(table).where(chosen)).scalar_one():
            raise self._kept()
        return count

    def _kept(self) -> DiscreetError:
        return DiscreetError(
            f"rows of the table {self.table!r} cannot be deleted: rows of another table refer to them, a trigger or rule "
            "keeps them, or you may not; nothing was removed here: delete what refers to them first, or let it follow (ON "
            "DELETE CASCADE)"
        )

    @contextmanager
    def _deleting(self, database: Database) -> Iterator[Connection]:
        """A writing transaction in which, and at the end of which, the database may refuse to let rows go."""
        try:
            with database.transaction(write=True) as connection:
                yield connection
        except (LedgerCorrupt, LedgerUnavailable) as problem:
            if not isinstance(problem.__cause__, _REFUSALS):
                raise
            raise self._kept() from None  # the database's own words may quote the person's row

    def tokens_under(self, version: int, database: Database) -> int:
        with database.transaction(write=False) as connection:
            column = self._checked(connection).c[self.finder.columns[0]]
            return under(version, connection.execute(select(column)).scalars(), None)

    @property
    def place(self) -> str:
        """What the table is called where it is told what was gone through."""
        return f"table {self.table}"

    def _identities(
        self, table: Table, connection: Connection, person: bytes
    ) -> Iterator[tuple[tuple[Any, ...], int, bool | None]]:
        """The different identities of the table, how many rows have each, and whether it is the person's."""
        chosen = self._exact(table)
        for *values, rows in connection.execute(select(*chosen, func.count()).group_by(*chosen)).all():
            cells = _read(table, self.finder.columns, values)
            mask, unreadable = self.finder.mask([_column([value]) for value in cells], person)
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
            cells = _read(table, self.finder.columns, row)
            mask, _ = self.finder.mask([_column([value]) for value in cells], person)
            if not mask[0]:
                raise DiscreetError(
                    f"the table {self.table!r} compares identities so that one person's rows match another's; "
                    "nothing was read or removed: give its identifying columns a type that compares exactly"
                )

    def _table(self, connection: Connection) -> Table:
        there = inspect(connection)
        if not there.has_table(self.table):
            raise UnknownName(f"the database has no table {self.table!r}, registered as {self.name!r}; check its name")
        if self.table in there.get_view_names():
            raise InvalidRequest(f"{self.table!r} must be a table, and is a view; register the tables that it shows")
        sqlite = connection.dialect.name == "sqlite"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of a type it does not know: SQLite takes any word for one
            table = Table(self.table, MetaData(), autoload_with=connection, info={"sqlite": sqlite})
        if sqlite:
            # In SQLite a declared type binds no cell: each is fetched as it is stored, numbers with all their digits. Dates
            # and times are stored as texts, and read as what they are where they can be.
            times = [column for column in table.columns if isinstance(column.type, Date | DateTime | Time)]
            table.info["readers"] = {column.name: _reader(column.type, connection) for column in times}
            for column in table.columns:
                column.type = NullType()
        return table


# What a database says of a statement, and will say again; what passes, such as a lost connection, is an OperationalError.
_REFUSALS = (IntegrityError, InternalError, NotSupportedError, ProgrammingError)


def _reader(kind: TypeEngine[Any], connection: Connection) -> Any:
    return kind.dialect_impl(connection.dialect).result_processor(connection.dialect, None)


def _read(table: Table, names: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Cells as the types of their columns say, and as they are stored where they do not fit them."""
    readers = table.info.get("readers", {})
    out = []
    for name, value in zip(names, values, strict=True):
        made = value
        if readers.get(name) is not None:
            with suppress(Exception):  # what a reader of a type does with a cell of another kind is its own affair
                made = readers[name](value)
        out.append(made)
    return out


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
