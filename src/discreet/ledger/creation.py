"""Finding a ledger in a database, or making it there: of several processes that try at once, one makes it.

Without a name the ledger is the only one there is, and a new database gets one called ``default``: so everything that opens
a database without a word about names, be it a session, a command or a release file, spends one and the same budget.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, inspect, select

from discreet.accounting.filters import Filter
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.unit import Unit
from discreet.errors import DiscreetError, InvalidRequest, LedgerCorrupt, NoSuchLedger, UnsupportedFormat
from discreet.ledger import beside, digest_key, event_tables
from discreet.ledger.database import Database
from discreet.ledger.events import canonical, founded, origin, write_cost
from discreet.ledger.journal import now
from discreet.ledger.layout import create_tables

DEFAULT = "default"  # what a ledger made without a name is called


def find_or_create(
    database: Database, name: str | None, budget: Budget | None, relation: Relation, unit: Unit | None, *, test: bool
) -> dict[str, Any]:
    """The row of the ledger ``name``; made with these facts if there is none. Without a budget nothing is made.

    Without a name, the row of the only ledger in the database. Proof that no second one is made without a name: under the
    lock of creation the names are read again, and one is made only where there is none.
    """
    row = _look(database, name)
    if row is not None:
        return row
    if budget is None and not test:
        known = _names(database)
        others = f" (there are: {_in_words(known)})" if known else ""
        raise NoSuchLedger(f"called {name or DEFAULT!r} at {database}", others)
    with database.transaction(write=True) as connection:
        create_tables(connection)
        # Another process may have made it since we looked; whoever was first decides, and the caller compares.
        found = _find(connection, name, database)
        if found is None:
            keyed = digest_key.fingerprint(digest_key.for_another(database, connection))
            connection.execute(
                event_tables.ledgers.insert(), _facts(name or DEFAULT, budget, relation, unit, keyed, test=test)
            )
            found = _find(connection, name or DEFAULT, database)
            assert found is not None
            _note(database, found)
    assert found is not None
    return found


def _note(database: Database, row: dict[str, Any]) -> None:
    """Note the new ledger in the head file, unless that tells of one that was here before."""
    if database.beside is None:
        return
    state, seen = database.beside.noted(row["id"])  # a copy's head too: what it tells of was spent somewhere
    if state == beside.DAMAGED:
        raise LedgerCorrupt(
            f"the head file {database.beside.head} is damaged, and may tell of a ledger that was at {database.beside.path}; "
            "restore it, or, to begin anew, choose another path. Nothing was charged"
        )
    if seen is not None and seen[0]:
        raise LedgerCorrupt(
            f"the head file {database.beside.head} tells of a ledger with {seen[0]} events at {database.beside.path}, which "
            "is gone or was replaced; restore it, or, to begin anew, choose another path. Nothing was charged"
        )
    database.beside.forget(row["id"])  # of one that was noted here and, cut off, never made
    database.beside.note(row["id"], 0, row["head"])


def names_at(url: str) -> list[str]:
    """The names of the ledgers in a database; none where it cannot be read."""
    try:
        database = Database(url, 5.0)
    except DiscreetError:
        return []
    try:
        return [] if database.memory else _names(database)
    except DiscreetError:
        return []
    finally:
        database.close()


def _names(database: Database) -> list[str]:
    if database.missing:
        return []
    with database.transaction(write=False) as connection:
        return _listed_in(connection) if inspect(connection).has_table(event_tables.ledgers.name) else []


def _look(database: Database, name: str | None) -> dict[str, Any] | None:
    if database.missing:
        return None
    with database.transaction(write=False) as connection:
        return _find(connection, name, database) if inspect(connection).has_table(event_tables.ledgers.name) else None


def _find(connection: Connection, name: str | None, database: Database) -> dict[str, Any] | None:
    if name is None:
        known = _listed_in(connection)
        if len(known) > 1:
            raise InvalidRequest(
                f"without a name a ledger is the only one in its database, and {database} holds {_in_words(known)}",
                key="name",
                remedy="say which one pays by its name",
            )
        name = known[0] if known else DEFAULT
    check_layout(connection, database)
    row = connection.execute(event_tables.find_ledger, {"of_name": name}).mappings().one_or_none()
    return None if row is None else dict(row)


def check_layout(connection: Connection, database: Database) -> None:
    """Refuse ledgers that version 0.1.0 wrote, and say what upgrades them."""
    oldest = connection.execute(select(func.min(event_tables.ledgers.c.schema))).scalar()
    if oldest is not None and oldest < event_tables.SCHEMA:
        raise UnsupportedFormat(
            f"the ledgers at {database} were written by an earlier version (schema {oldest}, this one writes "
            f"{event_tables.SCHEMA}); nothing is lost: upgrade them, with a backup first, by: discreet ledger upgrade "
            f"{database.typed}. Nothing was charged"
        )


def _listed_in(connection: Connection) -> list[str]:
    return sorted(connection.execute(select(event_tables.ledgers.c.name)).scalars())


def _in_words(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _facts(
    name: str, budget: Budget | None, relation: Relation, unit: Unit | None, keyed: str, *, test: bool
) -> dict[str, Any]:
    nothing = write_cost(Cost.nothing())
    bound = None if unit is None else canonical(unit.to_dict())
    row: dict[str, Any] = {
        "name": name,
        "schema": event_tables.SCHEMA,
        "relation": relation,
        "filter": None if budget is None else canonical(Filter.of(budget).to_dict()),
        "test": test,
        "created": now(),
        "number": 0,
        "spent": nothing,
        "reserved": nothing,
        "founded": founded(event_tables.SCHEMA, bound),
        "unit": bound,
        "keyed": keyed,
    }
    return row | {"head": origin(row)}
