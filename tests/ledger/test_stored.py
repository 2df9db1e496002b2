"""Stored releases: each lies under the chain of hashes, so that not even its own hash written anew hides a change."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from discreet.core.ask import Ask
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.core.random import Random
from discreet.core.release import Entry, Release
from discreet.core.runner import Bill, Desk
from discreet.errors import InvalidRequest, LedgerCorrupt, Withheld
from discreet.ledger import Ledger

from .laws import People, Sevens, eps

Make = Callable[..., Ledger]
ASK, OTHER = Ask(Sevens(), eps("0.1")), Ask(Sevens("other"), eps("0.2"))


def answer(ledger: Ledger, *asks: Ask) -> tuple[Release, ...]:
    return Desk(People(), ledger, Random(), "add_remove").answer(asks)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(doc: Any) -> str:
    return json.dumps(doc, sort_keys=True, separators=(",", ":"))


def seal(row: dict[str, Any]) -> str:
    return sha(canonical({k: row[k] for k in ("key", "number", "document")}))


@pytest.fixture
def book(file: str) -> Iterator[Ledger]:
    """Events: charge 1 and 2, store 3 and 4, charge 5 of the same question as charge 1."""
    with Ledger(file, Budget(epsilon=1)) as ledger:
        answer(ledger, ASK, OTHER)
        ledger.pay([(ASK, ASK.query.distance("add_remove"), Cost.pure("0.1"))], "add_remove")
        yield ledger


def raw(book: Ledger) -> sqlite3.Connection:
    connection = sqlite3.connect(book._database.url.database)
    connection.row_factory = sqlite3.Row
    return connection


def rewrite(book: Ledger, **changes: Any) -> None:
    """Write the stored release of event 1 anew, with a seal that is right."""
    with closing(raw(book)) as db, db:
        row = dict(db.execute("SELECT * FROM discreet_releases WHERE number = 1").fetchone())
        key = row["key"]
        row |= changes
        row["hash"] = seal(row)
        assignments = ", ".join(f"{k} = :{k}" for k in row)
        assert db.execute(f"UPDATE discreet_releases SET {assignments} WHERE key = :was", row | {"was": key}).rowcount == 1


def document(book: Ledger, number: int = 1) -> dict[str, Any]:
    with closing(raw(book)) as db:
        found = db.execute("SELECT document FROM discreet_releases WHERE number = ?", [number]).fetchone()
    doc: dict[str, Any] = json.loads(found["document"])
    return doc


def test_storing_is_an_event_that_costs_nothing(make: Make) -> None:
    ledger = make(Budget(epsilon=1))
    (release,) = answer(ledger, ASK)
    paid, stored = ledger.events()
    assert (paid.kind, stored.kind, stored.cost, stored.account) == ("charge", "store", Cost.nothing(), None)
    told = json.loads(stored.question)
    assert told.pop("key")
    assert told == {"name": "stored release", "paid_by": 1, "sha256": sha(release.to_json())}
    assert stored.previous == paid.hash
    assert ledger.spent() == Cost.pure("0.1")
    assert ledger.verify(stored.hash) == ledger.verify(paid.hash) == 2
    answer(ledger, ASK)
    assert ledger.head == stored.hash
    assert ledger.verify() == 2


def bill(ask: Ask, version: str = "1") -> Bill:
    distance = ask.query.distance("add_remove")
    return Bill(ask, distance, ask.mechanism.cost(distance), People(version), repeats=True)


def test_of_several_that_ask_the_same_at_once_one_pays_and_all_are_answered(make: Make) -> None:
    ledger, found = make(Budget(epsilon="0.1")), []
    threads = [threading.Thread(target=lambda: found.extend(answer(ledger, ASK))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({release.to_json() for release in found}) == 1
    assert len(found) == 8
    assert [e.kind for e in ledger.events()] == ["charge", "store"]
    assert ledger.verify() == 2


@pytest.mark.parametrize(
    "change",
    [
        {"entry": Entry("default", 2, "")},
        {"query": Sevens("not asked")},
        {"mechanism": eps("0.05")},
        {"cost": Cost.pure("0.09")},
        {"cost": None},
    ],
)
def test_what_was_not_paid_for_is_not_stored(make: Make, change: dict[str, Any]) -> None:
    """Its event could never be taken back out of the chain."""
    ledger, wanted = make(Budget(epsilon=1)), bill(ASK)
    paid = ledger.buy([wanted], "add_remove")
    ledger.look(paid)
    made = Release(7, ASK.mechanism, ASK.query, "add_remove", wanted.distance, wanted.cost, paid[0].entry)
    with pytest.raises(InvalidRequest, match="only what it was paid for"):
        ledger.store(paid, [replace(made, **change)])
    assert ledger.verify() == 1
    assert ledger.store(paid, [made])[0].to_json() == made.to_json()
    with pytest.raises(Withheld):
        ledger.store(paid, [made])
    assert ledger.verify() == 2


@pytest.mark.parametrize(
    "change", ["document = replace(document, '\"value\": 7', '\"value\": 8')", "number = 5", "hash = 'x'"]
)
def test_an_altered_release_is_found(book: Ledger, change: str) -> None:
    assert book.verify() == 5
    with closing(raw(book)) as db, db:
        assert db.execute(f"UPDATE discreet_releases SET {change} WHERE number = 1").rowcount == 1
    with pytest.raises(LedgerCorrupt, match="stored release"):
        book.recall(ASK, People(), book.relation)
    with pytest.raises(LedgerCorrupt, match="stored release"):
        book.verify()


@pytest.mark.parametrize(
    "change",
    [{"value": 8}, {"value": "sieben ä"}, {"cost": Cost.pure("0.01").to_dict()}, {"private": False}, {"extra": 1}],
)
def test_an_altered_release_is_found_though_its_seal_is_right(book: Ledger, change: dict[str, Any]) -> None:
    head = book.head
    rewrite(book, document=json.dumps(document(book) | change, ensure_ascii=False))
    for kept in (None, head):
        with pytest.raises(LedgerCorrupt, match=r"stored release of event 1: it was altered or added"):
            book.verify(kept)


def test_a_release_moved_to_another_question_or_payment_is_found_though_its_seal_is_right(book: Ledger) -> None:
    fifth = list(book.events())[4]
    moved = document(book) | {"entry": {"ledger": "default", "number": 5, "hash": fifth.hash}}
    rewrite(book, document=json.dumps(moved), number=5)
    with pytest.raises(LedgerCorrupt, match="stored release of event 5"):
        book.verify()


def test_a_release_under_another_key_is_found_though_its_seal_is_right(book: Ledger) -> None:
    rewrite(book, key="0" * 64)
    with pytest.raises(LedgerCorrupt, match="stored release of event 1"):
        book.verify()


@pytest.mark.parametrize("number", [1, 2])
def test_a_dropped_release_is_found(book: Ledger, number: int) -> None:
    with closing(raw(book)) as db, db:
        assert db.execute("DELETE FROM discreet_releases WHERE number = ?", [number]).rowcount == 1
    with pytest.raises(LedgerCorrupt, match=rf'stored release was dropped.*"paid_by":{number}'):
        book.verify()
    answer(book, ASK, OTHER)  # asked anew it is paid and stored anew, and what was dropped is still missed
    with pytest.raises(LedgerCorrupt, match="stored release was dropped"):
        book.verify()


@pytest.mark.parametrize("key", ["0" * 64, "f" * 64, ""])
def test_an_added_release_is_found_though_its_seal_is_right(book: Ledger, key: str) -> None:
    """Otherwise what was paid for once would answer for other data too."""
    with closing(raw(book)) as db, db:
        row = dict(db.execute("SELECT * FROM discreet_releases WHERE number = 1").fetchone()) | {"key": key}
        db.execute(
            "INSERT INTO discreet_releases (ledger, key, number, document, hash) VALUES (?, ?, ?, ?, ?)",
            [row["ledger"], key, row["number"], row["document"], seal(row)],
        )
    with pytest.raises(LedgerCorrupt, match=r"stored release .*added"):
        book.verify()


def forge_last(book: Ledger, **changes: Any) -> None:
    """Write the last event anew with a hash that is right, and the ledger's row to match."""
    with closing(raw(book)) as db, db:
        row = dict(db.execute("SELECT * FROM discreet_events ORDER BY number DESC LIMIT 1").fetchone()) | changes
        later = ("rows", "key", "unit")
        body = {k: v for k, v in row.items() if k not in ("ledger", "hash") and not (k in later and v is None)}
        row["hash"] = sha(canonical(body))
        assignments = ", ".join(f"{k} = :{k}" for k in row)
        db.execute(f"UPDATE discreet_events SET {assignments} WHERE number = :number", row)
        db.execute("UPDATE discreet_ledgers SET head = :hash", row)
    book._database.beside.forget(book._journal.id)


def restored(book: Ledger, doc: dict[str, Any]) -> None:
    """What someone who may write everything does: the row, its seal, the last event and the head, all to match."""
    text = json.dumps(doc)
    rewrite(book, document=text)
    question = json.loads(list(book.events())[-1].question)
    forge_last(book, question=canonical(question | {"sha256": sha(text)}))


@pytest.fixture
def short(file: str) -> Iterator[Ledger]:
    """Events: charge 1, store 2."""
    with Ledger(file, Budget(epsilon=1)) as ledger:
        answer(ledger, ASK)
        yield ledger


def test_only_a_head_kept_elsewhere_shows_a_store_event_written_anew(short: Ledger) -> None:
    head = short.head
    restored(short, document(short) | {"value": 8})
    assert short.verify() == 2
    with pytest.raises(LedgerCorrupt, match="cut short or written anew"):
        short.verify(head)


@pytest.mark.parametrize(
    "change",
    [
        {"cost": Cost.pure("0.09").to_dict()},
        {"cost": Cost.nothing().to_dict()},
        {"cost": None},
        {"cost": {}},
        {"cost": Cost.pure("0.1").to_dict() | {"curve": [10**400] * 32}},
        {"query": {"name": "another"}},
        {"query": float("nan")},
        {"entry": None},
    ],
)
def test_a_release_that_claims_other_than_was_paid_is_found_though_every_hash_is_right(
    short: Ledger, change: dict[str, Any]
) -> None:
    restored(short, document(short) | change)
    with pytest.raises(LedgerCorrupt, match="a stored release is not what event 1 paid for"):
        short.verify()


def test_a_release_that_claims_to_have_cost_more_takes_nothing_from_anyone(short: Ledger) -> None:
    restored(short, document(short) | {"cost": Cost.pure("0.2").to_dict()})
    assert short.verify() == 2


def test_a_store_event_that_costs_or_tells_twice_is_found_though_its_hash_is_right(book: Ledger) -> None:
    events = list(book.events())
    nothing = canonical(Cost.nothing().to_dict())
    for cost, question in (
        (nothing, events[2].question),
        (canonical(Cost.pure("0.1").to_dict()), "a release nobody has"),
    ):
        forge_last(book, kind="store", question=question, cost=cost)
        with pytest.raises(LedgerCorrupt, match="event 5 should never have been written: a release is stored once"):
            book.verify()


def test_a_store_event_without_a_row_is_found(short: Ledger) -> None:
    _, stored = short.events()
    told = json.loads(stored.question) | {"key": "0" * 64}
    forge_last(short, question=canonical(told))
    with pytest.raises(LedgerCorrupt, match="stored release"):
        short.verify()
    with closing(raw(short)) as db, db:
        db.execute("DELETE FROM discreet_releases")
    with pytest.raises(LedgerCorrupt, match="stored release was dropped"):
        short.verify()
