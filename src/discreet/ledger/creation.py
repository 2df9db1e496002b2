"""Finding a ledger in a database, or making it there: of several processes that try at once, one makes it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, inspect

from discreet.accounting.filters import Filter
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.registry import SCHEMA_VERSION
from discreet.errors import InvalidRequest
from discreet.ledger import tables
from discreet.ledger.database import Database
from discreet.ledger.events import canonical, origin, write_cost
from discreet.ledger.journal import now


def find_or_create(
    database: Database, name: str, budget: Budget | None, relation: Relation, *, test: bool
) -> dict[str, Any]:
    """The row of the ledger ``name``; made with these facts if there is none. Without a budget nothing is made."""
    row = _look(database, name)
    if row is not None:
        return row
    if budget is None and not test:
        raise InvalidRequest(
            f"a new ledger needs a budget, and there is none called {name!r} at {database} yet; "
            "give budget=Budget(epsilon=...), or correct the address or the name"
        )
    with database.transaction(write=True) as connection:
        database.create_tables(connection)
        # Another process may have made it since we looked; whoever was first decides, and the caller compares.
        found = _find(connection, name)
        if found is None:
            connection.execute(tables.ledgers.insert(), _facts(name, budget, relation, test=test))
            found = _find(connection, name)
    assert found is not None
    return found


def _look(database: Database, name: str) -> dict[str, Any] | None:
    if database.missing:
        return None
    with database.transaction(write=False) as connection:
        return _find(connection, name) if inspect(connection).has_table(tables.ledgers.name) else None


def _find(connection: Connection, name: str) -> dict[str, Any] | None:
    found = connection.execute(tables.find_ledger, {"of_name": name}).mappings().one_or_none()
    return None if found is None else dict(found)


def _facts(name: str, budget: Budget | None, relation: Relation, *, test: bool) -> dict[str, Any]:
    nothing = write_cost(Cost.nothing())
    row: dict[str, Any] = {
        "name": name,
        "schema": SCHEMA_VERSION,
        "relation": relation,
        "filter": None if budget is None else canonical(Filter.of(budget).to_dict()),
        "test": test,
        "created": now(),
        "number": 0,
        "spent": nothing,
        "reserved": nothing,
    }
    return row | {"head": origin(row)}
