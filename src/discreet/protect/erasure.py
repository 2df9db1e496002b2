"""Erasures that are finished, whatever happens: intent, removal from every table, receipt."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Connection, func, inspect, select

from discreet.ledger import event_tables as ledger_tables
from discreet.ledger.database import Database
from discreet.ledger.journal import now
from discreet.protect.finding import find_now
from discreet.protect.holding_files import Files
from discreet.protect.holding_rows import RowHolding
from discreet.protect.holdings import Finder, Gone
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.reach import Reached
from discreet.protect.receipts import Receipt
from discreet.protect.shredding import Shredder
from discreet.protect.tokens import Cipher
from discreet.protect.vault_log import LogRow, VaultLog


def holding(facts: dict[str, Any], pseudonyms: Pseudonymizer) -> Files | RowHolding:
    """The registered table that these facts describe."""
    partner = None if facts["partner"] is None else (facts["partner"][0], facts["partner"][1])
    finder = Finder(pseudonyms, tuple(facts["columns"]), partner)
    if facts["database"] is None:
        # 0.1.0 kept the files that a pattern stood for on the day, and not the pattern.
        given = facts.get("given") or [{"path": path} for path in facts["paths"]]
        return Files(facts["name"], tuple(given), finder)
    return RowHolding(facts["name"], facts["database"], finder)


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

    def touched(self, connection: Connection, names: Sequence[str], before: int | None = None) -> dict[str, Any]:
        """Who was given rows of these tables and has to be told, and what was released from them and remains."""
        known = (self.tables(connection, before) if before is not None else {}) | self.tables(connection)
        here = [name for name in names if name in known]
        told = {recipient for name in here for recipient in known[name]["recipients"]}
        for use in self.log.read(connection, ("use", "copy")):
            if use.document["table"] in here and use.document["recipient"]:
                told.add(use.document["recipient"])
        ledgers = sorted({known[name]["ledger"] for name in here if known[name]["ledger"]})
        return {"recipients": sorted(told), "releases": [_released(connection, name) for name in ledgers]}

    def holdings(self) -> list[Files | RowHolding]:
        """The tables themselves."""
        with self.log.database.transaction(write=False) as connection:
            return [holding(facts, self.pseudonyms) for facts in self.tables(connection).values()]


@dataclass(frozen=True)
class Removals:
    """Rows that are taken out of every registered table, and keys with them: intent, removal, signed receipt.

    ``intent`` and ``receipt`` are the kinds of the two rows of the log; a receipt names the number of its intent under
    ``of``.
    """

    intent: ClassVar[str]
    receipt: ClassVar[str]
    of: ClassVar[str]

    log: VaultLog
    register: Register
    shredder: Shredder
    cipher: Cipher
    seed: bytes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.log.name!r})"

    def unfinished(self, connection: Connection | None = None) -> list[LogRow]:
        """Every intent without a receipt."""
        kinds = (self.intent, self.receipt)
        rows = self.log.rows(kinds) if connection is None else self.log.read(connection, kinds)
        done = {row.document[self.of] for row in rows if row.kind == self.receipt}
        return [row for row in rows if row.kind == self.intent and row.number not in done]

    def _removed(self, intent: LogRow, gone: Mapping[str, Gone]) -> dict[str, int]:
        """How many rows are gone from each table: those removed now, or as many as the intent found, if they are more.

        What was found then in a table that was gone through now is gone: a removal that a crash cut off from its count must
        not read as none. A place that could not be gone through is not counted.
        """
        found: Mapping[str, int] = intent.document["tables"]
        whole = {name for name, part in gone.items() if not part.seen.missed}
        return {name: max(found.get(name, 0) if name in whole else 0, part.rows) for name, part in gone.items()}


def raise_trouble(gone: Mapping[str, Gone]) -> None:
    """Raise what was in the way of a removal and may not be the next time: memory, disk or a busy file."""
    for part in gone.values():
        for trouble in part.seen.trouble:
            raise trouble


@dataclass(frozen=True, repr=False)
class Erasures(Removals):
    """Erasures of single people: what was begun, and how it is brought to its end."""

    intent, receipt, of = "erase", "receipt", "erasure"

    def finish(self, intent: LogRow) -> Receipt:
        """Remove the person from every registered table, and write the receipt. Harmless to do again, or twice at once.

        A place that is lost or damaged is told in the receipt. Where memory, disk or a busy file was in the way, the rest
        is done, the refusal is raised and the erasure stays begun: it is finished by asking again or at the next opening.
        """
        person = self.cipher.digest(intent.subject or "")
        gone = {table.name: table.remove(person, self.log.database) for table in self.register.holdings()}
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            sealed = self.shredder.shred(connection, intent.subject or "") or intent.document.get("sealed", False)
        emptied = self.shredder.emptied()
        raise_trouble(gone)
        with self.log.database.transaction(write=True) as connection:
            self.log.lock(connection)
            for row in self.log.read(connection, ("receipt",), intent.subject):
                if row.document["erasure"] == intent.number:
                    return receipt_of(row)
            receipt = Receipt.sign(self._document(connection, intent, gone, sealed=sealed, emptied=emptied), self.seed)
            self.log.append(connection, "receipt", {"erasure": intent.number, **receipt.facts()}, intent.subject)
        return receipt

    def again(self) -> list[LogRow]:
        """New erasures of people who were erased while a place could not be reached that can be now and holds their rows.

        Where it holds none, that is written down, and the place is not gone through again for them.
        """
        last: dict[str, LogRow] = {}
        done: set[tuple[int, str]] = set()
        for row in self.log.rows(("refuse", "receipt", "looked")):
            if row.kind == "looked":
                done |= {(row.document["receipt"], name) for name in row.document["tables"]}
            else:
                last[row.subject or ""] = row
        with self.log.database.transaction(write=False) as connection:
            known = self.register.tables(connection)
        made = []
        for subject, row in last.items():
            missed = row.document["receipt"].get("missed", {}) if row.kind == "receipt" else {}
            found = {
                name: self._back(known[name], places, self.cipher.digest(subject))
                for name, places in missed.items()
                if name in known and (row.number, name) not in done
            }
            if counts := {name: rows for name, rows in found.items() if rows}:
                facts = {"tables": counts, "sealed": False, "hard_links": {}, "override": False, "after": row.number}
                made.append(self.log.write("erase", facts, subject))
            elif clear := [name for name, rows in found.items() if rows == 0]:
                self.log.write("looked", {"receipt": row.number, "tables": clear}, subject)
        return made

    def _back(self, facts: dict[str, Any], places: list[dict[str, Any]], person: bytes) -> int | None:
        """The person's rows in a table of which places could not be gone through; None where some still cannot be.

        A place that was not there may come back as old as it was, as a disk does that is mounted again, so what is in it is
        looked at; one that was read and was no good has to have changed.
        """
        table, seen = holding(facts, self.register.pseudonyms), Reached()
        if isinstance(table, Files):
            find_now(table.given, seen)
        gone = {place["place"] for place in seen.missed}
        same = {place["place"] for place in places if place["place"] in gone or not _may_differ(place)}
        if all(place["place"] in same for place in places):
            return None
        found = table.find(person, self.log.database)
        rows: int = sum(look["rows"] for look in found.seen.looked if look["place"] not in same)
        return rows or (None if found.seen.missed or same else 0)

    def _document(
        self, connection: Connection, intent: LogRow, gone: dict[str, Gone], *, sealed: bool, emptied: bool
    ) -> dict[str, Any]:
        found: dict[str, int] = intent.document["tables"]
        removed = self._removed(intent, gone)
        left = {name: rows - removed.get(name, 0) for name, rows in found.items() if rows > removed.get(name, 0)}
        links = dict(intent.document.get("hard_links", {}))
        links |= {name: max(links.get(name, 0), part.links) for name, part in gone.items() if part.links}
        touched = [name for name, rows in (removed | left).items() if rows]
        return {
            "vault": self.log.name,
            "subject": intent.subject,
            "requested": intent.time,
            "requested_by": intent.who,
            "erased": now(),
            "tables": removed,
            "looked_at": {name: part.seen.looked for name, part in gone.items()},
            "missed": {name: part.seen.missed for name, part in gone.items() if part.seen.missed},
            "not_reached": left,
            "rows_without_identity": {name: part.unreadable for name, part in gone.items() if part.unreadable},
            "hard_links": {name: links[name] for name in links if removed.get(name)},
            "sealed_key_destroyed": sealed and emptied,
            "database": database_words(self.log.database, emptied=emptied),
            **self.register.touched(connection, touched, intent.number),
            "budget_refunded": "none",
        }


IN_USE = "its write-ahead log holds pages as they were: another program has it open; emptied at the next opening without one"


def database_words(database: Database, *, emptied: bool) -> str:
    """What may be left of erased rows and keys in the vault's own database."""
    if not database.sqlite:
        return "dead rows stay until VACUUM, and the server's write-ahead log and its archives as long as it is told to"
    if not emptied:
        return IN_USE
    return "freed bytes are overwritten and the write-ahead log is empty; what other programs freed stays until VACUUM"


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


def _may_differ(place: dict[str, Any]) -> bool:
    """Whether a place that was missed may be gone through by now; one that was read and was no good has to have changed."""
    try:
        state = os.stat(place["place"])
    except OSError:  # a table of the database, or a pattern
        return not place.get("read")
    if not os.access(place["place"], os.R_OK):
        return False
    return not place.get("read") or state.st_ctime > datetime.fromisoformat(place["at"]).timestamp()


def receipt_of(row: LogRow) -> Receipt:
    """The receipt a row of the log holds."""
    return Receipt(row.document["receipt"], row.document["signature"], row.document["public_key"])
