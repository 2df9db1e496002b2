"""Erasures that are finished, whatever happens: intent, removal from every table, receipt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, inspect, select

from discreet.ledger import tables as ledger_tables
from discreet.ledger.journal import now
from discreet.protect.holdings import Files, Finder, Holding, Rows
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.receipts import Receipt
from discreet.protect.shredding import Shredder
from discreet.protect.tokens import Cipher
from discreet.protect.vault_log import Row, VaultLog


def holding(facts: dict[str, Any], pseudonyms: Pseudonymizer) -> Holding:
    """The registered table that these facts describe."""
    partner = None if facts["partner"] is None else (facts["partner"][0], facts["partner"][1])
    finder = Finder(pseudonyms, tuple(facts["columns"]), partner)
    if facts["database"] is None:
        return Files(facts["name"], tuple(map(Path, facts["paths"])), finder)
    return Rows(facts["name"], facts["database"], finder)


@dataclass(frozen=True)
class Register:
    """The tables a vault looks after, as its log says."""

    log: VaultLog
    pseudonyms: Pseudonymizer

    def tables(self, connection: Connection) -> dict[str, dict[str, Any]]:
        """The facts of every registered table."""
        known: dict[str, dict[str, Any]] = {}
        for row in self.log.read(connection, ("register", "unregister")):
            if row.kind == "register":
                known[row.document["name"]] = row.document
            else:
                known.pop(row.document["name"], None)
        return known

    def holdings(self) -> list[Holding]:
        """The tables themselves."""
        with self.log.database.transaction(write=False) as connection:
            return [holding(facts, self.pseudonyms) for facts in self.tables(connection).values()]


@dataclass(frozen=True)
class Erasures:
    """What was begun, and how it is brought to its end."""

    log: VaultLog
    register: Register
    shredder: Shredder
    cipher: Cipher
    seed: bytes

    def __repr__(self) -> str:
        return f"Erasures({self.log.name!r})"

    def unfinished(self) -> list[Row]:
        """Every intent without a receipt."""
        rows = self.log.rows(("erase", "receipt"))
        done = {row.document["erasure"] for row in rows if row.kind == "receipt"}
        return [row for row in rows if row.kind == "erase" and row.number not in done]

    def finish(self, intent: Row) -> Receipt:
        """Remove the person from every registered table, and write the receipt. Harmless to do again, or twice at once."""
        person = self.cipher.digest(intent.subject or "")
        # The intent says what was found then: a removal that a crash cut off from its count must not read as none.
        removed: dict[str, int] = dict(intent.document["tables"])
        for table in self.register.holdings():
            removed[table.name] = max(removed.get(table.name, 0), table.remove(person, self.log.database))
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            for row in self.log.read(connection, ("receipt",), intent.subject):
                if row.document["erasure"] == intent.number:
                    return receipt_of(row)
            sealed = self.shredder.shred(connection, intent.subject or "")
            receipt = Receipt.sign(self._document(connection, intent, removed, sealed=sealed), self.seed)
            facts = {"receipt": receipt.document, "signature": receipt.signature, "public_key": receipt.public_key}
            self.log.append(connection, "receipt", {"erasure": intent.number, **facts}, intent.subject)
        return receipt

    def _document(self, connection: Connection, intent: Row, removed: dict[str, int], *, sealed: bool) -> dict[str, Any]:
        known = self.register.tables(connection)
        touched = [name for name, rows in removed.items() if rows and name in known]
        told = {recipient for name in touched for recipient in known[name]["recipients"]}
        for use in self.log.read(connection, ("use",)):
            if use.document["table"] in touched and use.document["recipient"]:
                told.add(use.document["recipient"])
        ledgers = sorted({known[name]["ledger"] for name in touched if known[name]["ledger"]})
        return {
            "vault": self.log.name,
            "subject": intent.subject,
            "requested": intent.time,
            "requested_by": intent.who,
            "erased": now(),
            "tables": removed,
            "sealed_key_destroyed": sealed,
            "recipients": sorted(told),
            "releases": [_released(connection, name) for name in ledgers],
            "budget_refunded": "none",
        }


def _released(connection: Connection, name: str) -> dict[str, Any]:
    """What was released under a ledger and remains: how many paid questions, and the numbers of stored answers."""
    out: dict[str, Any] = {"ledger": name, "questions": 0, "stored": []}
    if not inspect(connection).has_table(ledger_tables.ledgers.name):
        return out
    found = connection.execute(ledger_tables.find_ledger, {"of_name": name}).one_or_none()
    if found is None:
        return out
    events, releases = ledger_tables.events, ledger_tables.releases
    asked = select(func.count()).where(events.c.ledger == found.id, events.c.kind.in_(("charge", "step", "draw")))
    kept = select(releases.c.number).where(releases.c.ledger == found.id).order_by(releases.c.number).distinct()
    out["questions"] = connection.execute(asked).scalar_one()
    out["stored"] = list(connection.execute(kept).scalars())
    return out


def receipt_of(row: Row) -> Receipt:
    """The receipt a row of the log holds."""
    return Receipt(row.document["receipt"], row.document["signature"], row.document["public_key"])
