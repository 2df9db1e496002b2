"""One ledger's rows in the database: read and locked, and written as one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from discreet.accounting.filters import Filter
from discreet.core.ask import Account
from discreet.core.cost import Cost
from discreet.core.query import Relation
from discreet.core.release import Entry
from discreet.errors import AccountClosed, InvalidRequest, LedgerCorrupt
from discreet.ledger import tables
from discreet.ledger.books import Books, Standing
from discreet.ledger.database import Database
from discreet.ledger.events import Draft, Terms, read_cost, write_cost, write_row
from discreet.ledger.releases import is_paid, seal, stored


def now() -> str:
    """The time as it is written down: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True)
class Journal:
    """The rows of the ledger ``id``, written in the name of ``who``."""

    database: Database
    id: int
    name: str
    filter: Filter | None
    test: bool
    who: str

    def lock(self, connection: Connection) -> Books:
        """Lock the ledger's row until the transaction ends, and read the totals in it."""
        return self._books(connection.execute(tables.lock_ledger, {"of_ledger": self.id}).one_or_none())

    def read(self) -> Books:
        """The totals as they are now."""
        with self.database.transaction(write=False) as connection:
            return self.read_books(connection)

    def read_books(self, connection: Connection) -> Books:
        """The totals as a transaction sees them."""
        return self._books(connection.execute(tables.read_ledger, {"of_ledger": self.id}).one_or_none())

    def opening(self, connection: Connection, account: Account) -> str | None:
        """The hash of the event that opened an account, if there is such an event."""
        place = {"of_ledger": self.id, "of_number": account.number}
        found = connection.execute(tables.read_payment, place).one_or_none()
        return None if found is None else str(found.paid)

    def _books(self, row: Any) -> Books:
        if row is None:
            raise LedgerCorrupt(f"the row of the ledger {self.name!r} at {self.database} is gone; restore a copy")
        return Books(self.filter, self.test, row.number, row.head, read_cost(row.spent), read_cost(row.reserved))

    def load(self, connection: Connection, books: Books, account: Account) -> Standing:
        """Bring an account into the books. One whose parts differ is refused: it would be asked of other people."""
        key = account.number, account.part
        if key not in books.accounts:
            place = {"of_ledger": self.id, "of_account": account.number, "of_part": account.part}
            row = connection.execute(tables.read_account, place).mappings().one_or_none()
            if row is not None:
                books.accounts[key] = _standing(row)
        if key not in books.accounts or books.accounts[key].terms.parts != account.parts:
            raise AccountClosed(
                f"an account must be one that this ledger opened, got number {account.number}, part {account.part} of "
                f"{account.parts}; use the account that open or reserve returned"
            )
        return books.accounts[key]

    def load_reservations(self, connection: Connection, books: Books) -> None:
        """Bring every open reservation into the books."""
        for row in connection.execute(tables.read_reservations, {"of_ledger": self.id}).mappings():
            books.accounts[row["number"], row["part"]] = _standing(row)

    def post(self, connection: Connection, books: Books, drafts: Iterable[Draft]) -> list[Entry]:
        """Admit and write events; any refusal undoes the whole transaction."""
        time, before, rows = now(), {k: (s.status, s.left, s.drawn) for k, s in books.accounts.items()}, []
        for draft in drafts:
            books.admit(draft)
            row = write_row(draft, books.number + 1, time, self.who, books.head)
            books.apply(draft, row["number"], row["hash"])
            rows.append({"ledger": self.id, **row})
        connection.execute(tables.insert_event, rows)
        totals = {
            "of_ledger": self.id,
            "new_number": books.number,
            "new_head": books.head,
            "new_spent": write_cost(books.spent),
            "new_reserved": write_cost(books.reserved),
        }
        connection.execute(tables.update_ledger, totals)
        fresh, changed = [], []
        for (number, part), s in books.accounts.items():
            state = {"status": s.status, "left": s.left, "drawn": write_cost(s.drawn)}
            if (number, part) not in before:
                fresh.append({"ledger": self.id, "number": number, "part": part, **state})
            elif before[number, part] != (s.status, s.left, s.drawn):
                place = {"of_ledger": self.id, "of_account": number, "of_part": part}
                changed.append(place | {f"new_{k}": v for k, v in state.items()})
        if fresh:
            connection.execute(tables.insert_account, fresh)
        if changed:
            connection.execute(tables.update_account, changed)
        return [Entry(self.name, row["number"], row["hash"]) for row in rows]

    def rows(self) -> Iterator[Mapping[Any, Any]]:
        """The rows of all events in order, read a page at a time so that no transaction stays open in between."""
        after = tables.BEFORE_ALL
        while True:
            with self.database.transaction(write=False) as connection:
                page = connection.execute(tables.page_of_events, {"of_ledger": self.id, "after": after}).mappings().all()
            yield from page
            if not page:
                return
            after = page[-1]["number"]

    def find_release(self, key: str) -> str | None:
        """The document of a stored release, checked against its hash; only ``verify`` checks it against the chain."""
        with self.database.transaction(write=False) as connection:
            found = connection.execute(tables.find_release, {"of_ledger": self.id, "of_key": key}).one_or_none()
        if found is None:
            return None
        if found.hash != seal(key, found.number, found.document):
            raise LedgerCorrupt(f"the stored release of event {found.number} was altered; run verify() and restore a copy")
        document: str = found.document
        return document

    def keep_release(self, key: str, number: int, document: str, relation: Relation) -> None:
        """Store a release, and post that it was stored, unless the question has one already.

        One that event ``number`` did not pay for is refused: the chain would tell of it for ever.
        """
        row = {"ledger": self.id, "key": key, "number": number, "document": document}
        draft = Draft(kind="store", question=stored(key, number, document), relation=relation, cost=Cost.nothing())
        with self.database.transaction(write=True) as connection:
            books = self.lock(connection)
            if connection.execute(tables.find_release, {"of_ledger": self.id, "of_key": key}).first() is not None:
                return
            place = {"of_ledger": self.id, "of_number": number}
            event = connection.execute(tables.read_payment, place).mappings().one_or_none()
            if event is None or not is_paid(document, event):
                raise InvalidRequest(
                    f"a ledger stores only what it was paid for, and event {number} did not pay for this release; "
                    "store a release as the runner made it"
                )
            connection.execute(tables.insert_release, row | {"hash": seal(key, number, document)})
            self.post(connection, books, [draft])


def _standing(row: Mapping[Any, Any]) -> Standing:
    return Standing(Terms.from_json(row["terms"]), row["status"], row["left"], read_cost(row["drawn"]))
