"""A registered table in the vault's own database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, MetaData, String, Table, Text, and_, cast, collate, func, inspect, select
from sqlalchemy.dialects.postgresql import DOMAIN
from sqlalchemy.types import NullType

from discreet.core.schema import closest
from discreet.errors import DiscreetError, UnknownName
from discreet.ledger.database import Database
from discreet.protect.holdings import Finder, Found, Gone, Holding, under
from discreet.protect.reach import Seen


@dataclass(frozen=True)
class Rows(Holding):
    """A table in the vault's own database."""

    name: str
    table: str
    finder: Finder

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
        unreadable, names, seen = 0, list(self.finder.columns), Seen()
        with seen.at(self.place), database.transaction(write=False) as connection:
            table = self._checked(connection)
            names = [column.name for column in table.columns]
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    found = connection.execute(select(table).where(self._where(table, values))).mappings()
                    parts += [{str(key): value for key, value in row.items()} for row in found]
            seen.look(self.place, len(parts))
        return Found(pa.table({name: _column([row[name] for row in parts]) for name in names}), unreadable, 0, seen)

    def remove(self, person: bytes, database: Database) -> Gone:
        gone, unreadable, seen = 0, 0, Seen()
        with seen.at(self.place), database.transaction(write=True) as connection:
            removed = 0
            table = self._checked(connection)
            for values, rows, mine in self._identities(table, connection, person):
                if mine is None:
                    unreadable += rows
                elif mine:
                    self._verify(table, connection, values, person)
                    removed += connection.execute(table.delete().where(self._where(table, values))).rowcount
            seen.look(self.place, removed)
            gone = removed
        return Gone(0 if seen.missed else gone, unreadable, 0, seen)

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
