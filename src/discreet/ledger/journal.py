"""One ledger's rows in the database: read and locked, and written as one transaction."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from discreet.accounting.filters import Filter
from discreet.core.ask import Account
from discreet.core.release import Entry
from discreet.errors import AccountClosed, LedgerCorrupt
from discreet.ledger import beside, event_tables
from discreet.ledger.books import PARTS, PLAN, Books, Standing
from discreet.ledger.database import Database
from discreet.ledger.events import Draft, Terms, read_cost, write_cost, write_row
from discreet.ledger.stored_releases import StoredRow
from discreet.ledger.transaction import Transaction


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

    @property
    def place(self) -> str:
        """A word that tells this ledger from all others that the process has open, also from those of the same name."""
        return f"{self.database.serial}/{self.id}"

    @cached_property
    def typed(self) -> str:
        """The ledger as arguments of our commands: its address and its name."""
        return f"{self.database.typed} --name {shlex.quote(self.name)}"

    def lock(self, work: Transaction) -> Books:
        """Lock the ledger's row until the transaction ends, read the totals in it, and hold them against the head file."""
        books = self._books(work.row(event_tables.lock_totals, {"of_ledger": self.id}))
        self.check_head(work, books)
        return books

    def read(self) -> Books:
        """The totals as they are now."""
        with self.database.work(write=False) as work:
            return self.read_books(work)

    def read_books(self, work: Transaction) -> Books:
        """The totals as a transaction sees them."""
        return self._books(work.row(event_tables.read_totals, {"of_ledger": self.id}))

    def opening(self, work: Transaction, account: Account) -> str | None:
        """The hash of the event that opened an account, if there is such an event."""
        event = work.row(event_tables.hash_of_event, {"of_ledger": self.id, "of_number": account.number})
        return None if event is None else str(event[0])

    def part_that_paid(self, work: Transaction, account: Account) -> tuple[int, int] | None:
        """The number and part of the account on a part of the people that opened an account, if one did."""
        payer = work.row(event_tables.payer_of_event, {"of_ledger": self.id, "of_number": account.number})
        if payer is None or payer[0] is None:
            return None
        number, part = int(payer[0]), int(payer[1] or 0)
        row = work.row(event_tables.read_account, {"of_ledger": self.id, "of_account": number, "of_part": part})
        return (number, part) if row is not None and _standing(row).status == PARTS else None

    def _books(self, row: tuple[Any, ...] | None) -> Books:
        if row is None:
            raise LedgerCorrupt(f"the row of the ledger {self.name!r} at {self.database} is gone; restore a copy")
        number, head, spent, reserved, unit = row
        return Books(self.filter, self.test, number, head, read_cost(spent), read_cost(reserved), unit=unit)

    def check_head(self, work: Transaction, books: Books) -> None:
        """Refuse a ledger that has fewer events than were seen before, or other ones."""
        why = self.doubt(work, lambda: books)
        if why is not None:
            raise LedgerCorrupt(f"{why}. {work.outcome.before}")

    def doubt(self, work: Transaction, books: Callable[[], Books]) -> str | None:
        """Why this file may not be the ledger that counts; None where it is, and where a server keeps it.

        Proof: the head file tells of an event of this ledger. If the book holds that very event, it is the book that was
        seen or one that goes on from it, because each event has the hash of the one before it. The head is read first:
        others may write while a transaction that only reads has yet to see the book.
        """
        files = self.database.beside
        if files is None:
            return None
        noted = files.noted(self.id)
        if noted.state == beside.OWN and noted.last is not None:
            return self.lack(work, books(), *noted.last)
        typed = self.database.typed
        if noted.state == beside.DAMAGED:
            return (
                f"the head file {files.head} is damaged; check the ledger against a head noted elsewhere (discreet ledger "
                f"verify {typed} --head HASH), and then run: discreet ledger adopt {typed}"
            )
        if noted.state == beside.CLOSED:
            return f"the head file {files.head} cannot be read, and it alone tells a copy from the ledger; check its owner"
        # A ledger is noted when it is made, so also one without events that is not known here is a copy.
        said = {beside.LOST: "is gone or empty", beside.COPY: "is itself a copy"}
        return (
            f"the head file {files.head} {said.get(noted.state, f'knows nothing of the ledger {self.name!r}')}: this is a "
            "copy, or it was restored, and spending it would spend one budget twice; if it is the one that counts, run: "
            f"discreet ledger adopt {typed}"
        )

    def lack(self, work: Transaction, books: Books, number: int, head: str) -> str | None:
        """What is wrong with a ledger that does not hold the event ``number`` with the hash ``head``; None, if it does."""
        if number == books.number:
            own: str | None = books.head
        elif number > books.number:
            own = None
        else:
            # The origin has no event of its own: the first one has its hash.
            event = work.row(event_tables.previous_of_event, {"of_ledger": self.id, "of_number": number + 1})
            own = None if event is None else event[0]
        if own == head:
            return None
        return (
            f"the ledger {self.name!r} at {self.database} was set back or replaced: it has {books.number} events, and "
            f"{number} were seen (head {head}); restore the newest copy and run: discreet ledger adopt {self.database.typed}"
        )

    def load(self, work: Transaction, books: Books, account: Account) -> Standing:
        """Bring an account into the books. One whose parts differ is refused: it would be asked of other people."""
        key = account.number, account.part
        if key not in books.accounts:
            place = {"of_ledger": self.id, "of_account": account.number, "of_part": account.part}
            row = work.row(event_tables.read_account, place)
            if row is not None:
                books.accounts[key] = _standing(row)
        if key not in books.accounts or books.accounts[key].terms.parts != account.parts:
            raise AccountClosed(
                f"an account must be one that this ledger opened, got number {account.number}, part {account.part} of "
                f"{account.parts}; use the account that open or reserve returned"
            )
        if books.accounts[key].status == PLAN and self.part_that_paid(work, account) != _part(account.of):
            raise AccountClosed(
                f"a plan on a part of the people is asked of that part by the run that opened it, got {account.number}; use "
                "the account that open returned"
            )
        return books.accounts[key]

    def load_reservations(self, work: Transaction, books: Books) -> None:
        """Bring every open reservation into the books."""
        for row in work.rows(event_tables.read_reservations, {"of_ledger": self.id}):
            books.accounts[row[1], row[2]] = _standing(row)

    def post(self, work: Transaction, books: Books, drafts: Iterable[Draft]) -> list[Entry]:
        """Admit and write events; any refusal undoes the whole transaction."""
        time, before, rows = now(), {k: (s.status, s.left, s.drawn) for k, s in books.accounts.items()}, []
        for draft in drafts:
            books.admit(draft)
            row = write_row(draft, books.number + 1, time, self.who, books.head)
            books.apply(draft, row["number"], row["hash"])
            row["ledger"] = self.id
            rows.append(row)
        if not rows:
            return []
        work.write_all(event_tables.insert_event, rows)
        totals = {
            "of_ledger": self.id,
            "new_number": books.number,
            "new_head": books.head,
            "new_spent": write_cost(books.spent),
            "new_reserved": write_cost(books.reserved),
            "new_unit": books.unit,
        }
        work.write(event_tables.update_ledger, totals)
        fresh, changed = [], []
        for (number, part), s in books.accounts.items():
            state = {"status": s.status, "left": s.left, "drawn": write_cost(s.drawn)}
            if (number, part) not in before:
                fresh.append({"ledger": self.id, "number": number, "part": part, **state})
            elif before[number, part] != (s.status, s.left, s.drawn):
                place = {"of_ledger": self.id, "of_account": number, "of_part": part}
                changed.append(place | {f"new_{k}": v for k, v in state.items()})
        work.write_all(event_tables.insert_account, fresh)
        work.write_all(event_tables.update_account, changed)
        files = self.database.beside
        if files is not None:
            last, head = books.number, books.head
            work.durable.append(lambda: files.note(self.id, last, head))
        return [Entry(self.name, row["number"], row["hash"]) for row in rows]

    def rows(self, after: int = 0) -> Iterator[Mapping[Any, Any]]:
        """The rows of events in order, read a page at a time so that no transaction stays open in between."""
        while True:
            with self.database.transaction(write=False) as connection:
                page = (
                    connection.execute(event_tables.page_of_events, {"of_ledger": self.id, "after": after}).mappings().all()
                )
            yield from page
            if not page:
                return
            after = page[-1]["number"]

    def last_rows(self, most: int, without: str) -> Sequence[Mapping[Any, Any]]:
        """The rows of the last events in order, without those of one kind."""
        values = {"of_ledger": self.id, "upto": -event_tables.BEFORE_ALL, "without": without, "most": most}
        with self.database.transaction(write=False) as connection:
            return list(connection.execute(event_tables.last_events, values).mappings().all())[::-1]

    def documents(self) -> Iterator[str]:
        """Every stored release, a page at a time."""
        after = ""
        while True:
            with self.database.transaction(write=False) as connection:
                values = {"of_ledger": self.id, "after": after}
                page = list(connection.execute(event_tables.page_of_releases, values).mappings().all())
            yield from (str(row["document"]) for row in page)
            if not page:
                return
            after = page[-1]["key"]

    def find_release(self, work: Transaction, key: str, known: StoredRow | None = None) -> StoredRow | None:
        """A stored release, checked against its hash unless it is the row ``known``; ``verify`` alone checks the chain."""
        found = work.row(event_tables.find_document, {"of_ledger": self.id, "of_key": key})
        if found is None:
            return None
        row = StoredRow(*found)
        if row != known and row != StoredRow.of(key, row.number, row.document):
            raise LedgerCorrupt(f"the stored release of event {row.number} was altered; run verify() and restore a copy")
        return row


def _part(account: Account | None) -> tuple[int, int] | None:
    return None if account is None else (account.number, account.part)


def _standing(row: tuple[Any, ...]) -> Standing:
    _, _, _, status, left, drawn, terms = row
    return Standing(Terms.from_json(terms), status, left, read_cost(drawn))
