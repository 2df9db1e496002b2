"""Checking a ledger: every event is hashed, linked and decided again, and the totals are composed anew.

Finds a row that was altered, dropped, added or moved, a total, an account or a stored release that does not follow from
the events, and a budget changed after creation. Someone who may write to the database can also write a whole new book
that holds together; only a head kept elsewhere shows that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection

from discreet.core.documents import brief
from discreet.errors import DiscreetError, LedgerCorrupt
from discreet.ledger import event_tables
from discreet.ledger.books import Books
from discreet.ledger.checks import read_filter
from discreet.ledger.events import Event, founding, hash_of, origin, read_cost, write_cost
from discreet.ledger.stored_releases import is_paid, seal, stored


def verify(connection: Connection, ledger: int, head: str | None = None) -> int:
    """Check one ledger inside a transaction that sees a single state of it; return how many events it has."""
    row = connection.execute(event_tables.read_ledger, {"of_ledger": ledger}).mappings().one_or_none()
    if row is None:
        raise LedgerCorrupt("the ledger's own row is gone; restore a copy")
    try:
        root, bound = origin(row), founding(row).get("unit")
    except DiscreetError as problem:
        raise LedgerCorrupt(f"the ledger's own facts were altered: {problem}; restore a copy") from problem
    if row["filter"] is None and not row["test"]:
        raise LedgerCorrupt("only a test ledger has no budget, and this one is not; restore a copy")
    try:
        books = Books(read_filter(row["filter"]), bool(row["test"]), 0, root, unit=bound)
    except DiscreetError as problem:
        raise LedgerCorrupt(f"the ledger's budget cannot be read: {problem}; restore a copy") from problem
    seen = head is None or head == root
    for event in _pages(connection, event_tables.page_of_events, ledger, event_tables.BEFORE_ALL, "number"):
        _follow(books, event)
        seen = seen or event["hash"] == head
    stored = {
        "number": books.number,
        "head": books.head,
        "spent": write_cost(books.spent),
        "reserved": write_cost(books.reserved),
        "unit": books.unit,
    }
    for name, value in stored.items():
        if row[name] != value:
            says, give = _told(name, row[name]), _told(name, value)
            differ = " in digits that are not shown here" if says == give else f": {says} and {give}"
            raise LedgerCorrupt(
                f"the ledger's row and its {books.number} events differ in {name}{differ}; the row was altered, or events "
                "at the end were dropped or added; restore a copy"
            )
    if not seen:
        raise LedgerCorrupt(
            f"no event has the hash {head!r} that was given: the book was cut short or written anew; restore a copy"
        )
    _check_accounts(connection, ledger, books)
    _check_releases(connection, ledger, books)
    _check_pending(connection, ledger)
    return books.number


def _told(name: str, value: Any) -> str:
    """A field of a ledger's row for a person: a cost by its guarantee, and the beginning of what is long."""
    if name in ("spent", "reserved"):
        with suppress(DiscreetError, ValueError, TypeError):
            return str(read_cost(value))
    return brief(value)


def _pages(connection: Connection, statement: Any, ledger: int, after: Any, key: str) -> Iterator[Mapping[Any, Any]]:
    while page := connection.execute(statement, {"of_ledger": ledger, "after": after}).mappings().all():
        yield from page
        after = page[-1][key]


def _follow(books: Books, row: Mapping[Any, Any]) -> None:
    """Check the next event and take it into the books."""
    number = books.number + 1
    if row["number"] != number:
        raise LedgerCorrupt(f"event {number} is missing: the next one is number {row['number']}; restore a copy")
    if row["previous"] != books.head:
        culprit = "the ledger's own facts (name, relation, budget) were" if number == 1 else f"event {number - 1} was"
        raise LedgerCorrupt(f"event {number} does not follow on what stands before it: {culprit} altered; restore a copy")
    if row["hash"] != hash_of(row):
        raise LedgerCorrupt(f"event {number} was altered: its hash is not that of its content; restore a copy")
    try:
        event = Event.of(row)
        books.admit(event)
        books.apply(event, number, event.hash)
    except (DiscreetError, KeyError) as problem:
        raise LedgerCorrupt(f"event {number} should never have been written: {problem}; restore a copy") from problem


def _check_accounts(connection: Connection, ledger: int, books: Books) -> None:
    rows = connection.execute(event_tables.all_accounts, {"of_ledger": ledger}).mappings()
    stored = {(r["number"], r["part"]): (r["status"], r["left"], r["drawn"]) for r in rows}
    for key, s in books.accounts.items():
        if stored.pop(key, None) != (s.status, s.left, write_cost(s.drawn)):
            raise LedgerCorrupt(f"account {key[0]} (part {key[1]}) is not what its events left of it; restore a copy")
    if stored:
        raise LedgerCorrupt(f"accounts that no event opened: {sorted(stored)[:5]}; restore a copy")


def _check_pending(connection: Connection, ledger: int) -> None:
    """Every entry that waits for its answer was paid for by an event with the same key, and has no answer."""
    for row in connection.execute(event_tables.check_pending, {"of_ledger": ledger}).mappings():
        if row["key"] is None or row["key"] != row["paid_key"] or row["state"] not in ("paid", "looked") or row["answered"]:
            raise LedgerCorrupt(f"entry {row['number']} waits for an answer that it was not paid for; restore a copy")


def _check_releases(connection: Connection, ledger: int, books: Books) -> None:
    """Every row was stored by one event and paid for by another, and every store event has its row."""
    left, rows = set(books.stored), 0
    for row in _pages(connection, event_tables.page_of_releases, ledger, "", "key"):
        rows += 1
        if row["hash"] != seal(row["key"], row["number"], row["document"]):
            raise LedgerCorrupt(f"the stored release of event {row['number']} was altered; restore a copy")
        event = stored(row["key"], row["number"], row["document"])
        if event not in left:
            raise LedgerCorrupt(
                f"no event stored what stands as the stored release of event {row['number']}: it was altered or added; "
                "restore a copy"
            )
        left.remove(event)
        if not is_paid(row["document"], row):
            raise LedgerCorrupt(f"a stored release is not what event {row['number']} paid for; restore a copy")
    if left:
        raise LedgerCorrupt(f"a stored release was dropped or altered, the one of {min(left)}; restore a copy")
    if rows != connection.execute(event_tables.count_releases, {"of_ledger": ledger}).scalar_one():
        raise LedgerCorrupt("a stored release without a key was added; restore a copy")  # no page begins before ""
