"""Making the tables of a ledger's database, and giving those of an earlier version what came later."""

from __future__ import annotations

from sqlalchemy import Connection, Table, inspect
from sqlalchemy.schema import CreateIndex, CreateTable

from discreet.ledger.event_tables import ADDED, metadata

_CREATION_LOCK = 0x64697363  # any fixed number: creators of tables on one PostgreSQL server queue up behind it


def create_tables(connection: Connection) -> None:
    """Make what is missing, inside a writing transaction; of several creators one does and the others see it."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        _add_columns(connection, table)
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _add_columns(connection: Connection, table: Table) -> None:
    """Give a table of an earlier schema the columns that came later."""
    wanted = ADDED.get(table, ())
    if not wanted:
        return
    there = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for name in wanted:
        if name not in there:
            kind = table.c[name].type.compile(connection.dialect)
            quoted = connection.dialect.identifier_preparer.quote(name)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {quoted} {kind}")
