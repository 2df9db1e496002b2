"""Putting the tables and populations of ``serve.toml`` where the front reads them; and what is refused before that.

A new version of a table, another view of it or another name change nothing about what was spent: the ledger is the
population's.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection

from discreet.core.unit import Unit
from discreet.errors import InvalidRequest
from discreet.ledger import Ledger
from discreet.service.config import Config, Population, Served
from discreet.service.hand import opened
from discreet.service.outbox import Outbox


def ledger_of(population: Population, config: Config) -> Ledger:
    """The ledger of a population, made where there is none; its tables must ask about the same unit."""
    tables = [table for table in config.tables.values() if table.population == population.name]
    units = {(Unit.of(table.schema), table.schema.neighbors) for table in tables}
    if len(units) > 1:
        raise InvalidRequest(
            f"the tables of the population {population.name!r} must have one person column, max_rows and neighbors; "
            "their costs would not add up"
        )
    relation = tables[0].schema.neighbors if tables else "add_remove"
    return Ledger(population.ledger, population.budget, name=population.name, neighbors=relation, who="the desk")


def register(connection: Connection, outbox: Outbox, config: Config) -> None:
    """Write every table and population; those that are gone from the file are closed."""
    t, p = outbox.t.tables, outbox.t.populations
    for name in config.populations:
        fresh = {"name": name, "open": True, "overruns": 0, "why": ""}
        _insert_or_leave(connection, p, "name", fresh)
    connection.execute(t.update().values(open=False))
    for table in config.tables.values():
        facts = {
            "population": table.population,
            "schema_json": json.dumps(table.schema.to_dict()),
            "version": table.version,
            "rows": count_rows(table),
            "open": True,
        }
        if not connection.execute(t.update().where(t.c.name == table.name).values(**facts)).rowcount:
            connection.execute(t.insert(), {"name": table.name, **facts})


def count_rows(table: Served) -> int | None:
    """The number of rows where it is public, None where not; refuses a table of more rows than it was declared to have.

    Only the custodian sees that refusal: it is made before the desk takes anything.
    """
    rows = int(opened(table).fold(lambda batch: int(batch.size), lambda a, b: a + b, []))
    if rows > table.most_rows:
        raise InvalidRequest(
            f"the table {table.name!r} has more rows than most_rows = {table.most_rows}, by which its time is measured; "
            "raise most_rows and run discreet serve calibrate"
        )
    return rows if table.schema.neighbors == "replace" and table.schema.person is None else None


def _insert_or_leave(connection: Connection, table: Any, key: str, row: dict[str, Any]) -> None:
    from sqlalchemy import select

    if connection.execute(select(table.c[key]).where(table.c[key] == row[key])).first() is None:
        connection.execute(table.insert(), row)
