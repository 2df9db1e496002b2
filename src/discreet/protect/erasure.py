"""Erasures that are finished, whatever happens: intent, removal from every table, receipt."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, inspect, select

from discreet.ledger import tables as ledger_tables
from discreet.ledger.journal import now
from discreet.protect.holdings import Files, Finder, Gone, Holding, Rows
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

    def tables(self, connection: Connection, before: int | None = None) -> dict[str, dict[str, Any]]:
        """The facts of every registered table; of those registered ``before`` a row of the log, where one is given."""
        known: dict[str, dict[str, Any]] = {}
        for row in self.log.read(connection, ("register", "unregister")):
            if before is not None and row.number > before:
                break
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

    def unfinished(self, connection: Connection | None = None) -> list[Row]:
        """Every intent without a receipt."""
        kinds = ("erase", "receipt")
        rows = self.log.rows(kinds) if connection is None else self.log.read(connection, kinds)
        done = {row.document["erasure"] for row in rows if row.kind == "receipt"}
        return [row for row in rows if row.kind == "erase" and row.number not in done]

    def finish(self, intent: Row) -> Receipt:
        """Remove the person from every registered table, and write the receipt. Harmless to do again, or twice at once."""
        person = self.cipher.digest(intent.subject or "")
        gone = {table.name: table.remove(person, self.log.database) for table in self.register.holdings()}
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            sealed = self.shredder.shred(connection, intent.subject or "") or intent.document.get("sealed", False)
        emptied = self.shredder.emptied()
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            for row in self.log.read(connection, ("receipt",), intent.subject):
                if row.document["erasure"] == intent.number:
                    return receipt_of(row)
            receipt = Receipt.sign(self._document(connection, intent, gone, sealed=sealed and emptied), self.seed)
            facts = {"receipt": receipt.document, "signature": receipt.signature, "public_key": receipt.public_key}
            self.log.append(connection, "receipt", {"erasure": intent.number, **facts}, intent.subject)
        return receipt

    def _document(self, connection: Connection, intent: Row, gone: dict[str, Gone], *, sealed: bool) -> dict[str, Any]:
        found: dict[str, int] = intent.document["tables"]
        # What was found then in a table that was gone through now is gone: a removal that a crash cut off from its count
        # must not read as none. A table that could not be gone through, because it was unregistered, is not counted.
        removed = {name: max(found.get(name, 0), part.rows) for name, part in gone.items()}
        left = {name: rows for name, rows in found.items() if rows and name not in gone}
        links = dict(intent.document.get("hard_links", {}))
        links |= {name: max(links.get(name, 0), part.links) for name, part in gone.items() if part.links}
        known = self.register.tables(connection, intent.number) | self.register.tables(connection)
        touched = [name for name, rows in (removed | left).items() if rows and name in known]
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
            "not_reached": left,
            "rows_without_identity": {name: part.unreadable for name, part in gone.items() if part.unreadable},
            "hard_links": {name: links[name] for name in links if removed.get(name)},
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
