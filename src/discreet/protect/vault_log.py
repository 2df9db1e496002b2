"""The vault's book: append-only rows in the ledger's database, each holding the hash of the one before it.

Registrations, uses, requests, receipts and refusals are all rows of one log, so what a vault knows is what its log says, and
a row that was altered, dropped or moved shows. People appear in it as tokens only.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    select,
)
from sqlalchemy.schema import CreateIndex, CreateTable, Index

from discreet.errors import LedgerCorrupt
from discreet.ledger.database import Database
from discreet.ledger.events import canonical, digest
from discreet.ledger.journal import now

metadata = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")
_CREATION_LOCK = 0x7661756C  # any fixed number: creators of tables on one PostgreSQL server queue up behind it

vaults = Table(
    "discreet_vaults",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("created", String(40), nullable=False),
    Column("number", BigInteger, nullable=False),  # of the last row
    Column("head", String(64), nullable=False),  # its hash
    UniqueConstraint("name"),
)
log = Table(
    "discreet_vault_log",
    metadata,
    Column("vault", _ID, ForeignKey(vaults.c.id), primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("time", String(40), nullable=False),
    Column("who", Text, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("subject", String(100)),
    Column("document", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("discreet_vault_log_kind", "vault", "kind"),
    Index("discreet_vault_log_subject", "vault", "subject"),
)
wrapped = Table(  # keys, each encrypted under a master key that is not in this database
    "discreet_vault_keys",
    metadata,
    Column("vault", _ID, ForeignKey(vaults.c.id), primary_key=True),
    Column("holder", String(100), primary_key=True),  # a person's token, or LOG
    Column("version", Integer, nullable=False),  # of the master key
    Column("key", String(200), nullable=False),
)
LOG = "log"


@dataclass(frozen=True)
class LogRow:
    """One row of the log; ``document`` is what was recorded."""

    number: int
    time: str
    who: str
    kind: str
    subject: str | None
    document: dict[str, Any]


class VaultLog:
    """The log of one vault."""

    def __init__(self, database: Database, name: str, who: str | None, started: Callable[[Connection, int], None]) -> None:
        """``started`` is called once, with the vault's number, in the transaction that makes a new vault."""
        self.database = database
        self.name = name
        self.who = who or _user()
        with database.transaction(write=True) as connection:
            _create_tables(database, connection)
            found = connection.execute(select(vaults).where(vaults.c.name == name)).one_or_none()
            if found is None:
                created = now()
                row = {"name": name, "created": created, "number": 0, "head": _origin(name, created)}
                connection.execute(vaults.insert(), row)
                found = connection.execute(select(vaults).where(vaults.c.name == name)).one()
                started(connection, found.id)
        self.id: int = found.id

    def append(self, connection: Connection, kind: str, document: Mapping[str, Any], subject: str | None = None) -> LogRow:
        """Write a row inside a writing transaction that has locked the vault."""
        state = connection.execute(select(vaults).where(vaults.c.id == self.id)).one()
        row = {
            "number": state.number + 1,
            "time": now(),
            "who": self.who,
            "kind": kind,
            "subject": subject,
            "document": canonical(dict(document)),
            "previous": state.head,
        }
        row["hash"] = digest(canonical(row))
        connection.execute(log.insert(), {"vault": self.id, **row})
        connection.execute(vaults.update().where(vaults.c.id == self.id).values(number=row["number"], head=row["hash"]))
        return LogRow(row["number"], row["time"], self.who, kind, subject, dict(document))

    def lock(self, connection: Connection) -> None:
        """Lock the vault's row until the transaction ends, so that rows are written one after another."""
        connection.execute(select(vaults.c.id).where(vaults.c.id == self.id).with_for_update()).one()

    def write(self, kind: str, document: Mapping[str, Any], subject: str | None = None) -> LogRow:
        """Write one row in a transaction of its own."""
        with self.database.transaction(write=True) as connection:
            self.lock(connection)
            return self.append(connection, kind, document, subject)

    def rows(self, kinds: Sequence[str] | None = None, subject: str | None = None) -> list[LogRow]:
        """The rows of some kinds, of one person, in order."""
        with self.database.transaction(write=False) as connection:
            return self.read(connection, kinds, subject)

    def read(self, connection: Connection, kinds: Sequence[str] | None = None, subject: str | None = None) -> list[LogRow]:
        """``rows`` inside a transaction."""
        query = select(log).where(log.c.vault == self.id).order_by(log.c.number)
        if kinds is not None:
            query = query.where(log.c.kind.in_(kinds))
        if subject is not None:
            query = query.where(log.c.subject == subject)
        found = connection.execute(query).mappings()
        return [LogRow(r["number"], r["time"], r["who"], r["kind"], r["subject"], json.loads(r["document"])) for r in found]

    def verify(self) -> int:
        """The number of rows, after checking the chain of every one of them."""
        with self.database.transaction(write=False) as connection:
            state = connection.execute(select(vaults).where(vaults.c.id == self.id)).one()
            head, number = _origin(state.name, state.created), 0
            for row in _all(connection, self.id):
                plain = {k: v for k, v in row.items() if k not in ("vault", "hash")}
                if row["number"] != number + 1 or row["previous"] != head or row["hash"] != digest(canonical(plain)):
                    raise LedgerCorrupt(
                        f"row {row['number']} of the vault {self.name!r} was altered or moved; restore a copy"
                    )
                head, number = row["hash"], row["number"]
        if (number, head) != (state.number, state.head):
            raise LedgerCorrupt(f"the vault {self.name!r} counts {state.number} rows and holds {number}; restore a copy")
        return number


def _all(connection: Connection, vault: int) -> Iterator[Mapping[str, Any]]:
    for row in connection.execute(select(log).where(log.c.vault == vault).order_by(log.c.number)).mappings():
        yield {str(k): v for k, v in row.items()}


def _origin(name: str, created: str) -> str:
    return digest(canonical({"kind": "vault", "name": name, "created": created}))


def _create_tables(database: Database, connection: Connection) -> None:
    if not database.sqlite:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run a number without a name
        return f"user {os.getuid()}"
