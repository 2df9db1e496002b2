"""A book that someone changed behind our back: verify says so, and says where."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from discreet.core.ask import Ask, Open
from discreet.core.budget import Budget
from discreet.core.cost import Cost
from discreet.errors import LedgerCorrupt
from discreet.ledger import Ledger

from .laws import Sevens, eps


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with eight events of every kind, and another ledger beside them."""
    path = tmp_path_factory.mktemp("book") / "ledger.db"
    address = f"sqlite:///{path}"
    with Ledger(address, Budget(epsilon=1)) as ledger, Ledger(address, Budget(epsilon=1), name="z") as other:
        other.charge(eps("0.1"))
        for _ in range(3):
            ledger.charge(eps("0.1"), 1, "count")
        plan = Ask(Sevens(), eps("0.1"))
        (account,) = ledger.open(Open(Cost.pure("0.1"), plan=plan, steps=2), "add_remove")
        reservation = ledger.reserve(Cost.pure("0.2"), "aside")
        for paying in (account, reservation):
            ask = Ask(plan.query, plan.mechanism, paying)
            ledger.pay([(ask, ask.query.distance("add_remove"), Cost.pure("0.1"))], "add_remove")
        ledger.charge(eps("0.2"))
        assert ledger.verify() == 8
    return path


@pytest.fixture
def book(written: Path, tmp_path: Path) -> Iterator[Ledger]:
    """A copy of it to tamper with."""
    copy = shutil.copy(written, tmp_path / "ledger.db")
    for name in (".head", ".key"):
        shutil.copy(f"{written}{name}", f"{copy}{name}")
    with Ledger(f"sqlite:///{copy}", name="default") as ledger:
        yield ledger


def edit(book: Ledger, *statements: str) -> None:
    with closing(sqlite3.connect(book._database.url.database)) as raw, raw:
        for statement in statements:
            assert raw.execute(statement).rowcount > 0, statement


OURS = "ledger = (SELECT id FROM discreet_ledgers WHERE name = 'default')"
EVENT = f"discreet_events SET {{}} WHERE {OURS} AND number = "

ALTERED = {
    column: "UPDATE " + EVENT.format(f"{column} = {value}") + "2"
    for column, value in {
        "time": "'2001-01-01T00:00:00+00:00'",
        "who": "'someone else'",
        "kind": "'draw'",
        "question": "'nothing much'",
        "law": "replace(law, '10', '11')",
        "sensitivity": "replace(sensitivity, '1', '2')",
        "relation": "'both'",
        "cost": "replace(cost, '1/10', '1/20')",
        "account": "1",
        "part": "1",
        "terms": "'{}'",
        "rows": "'{}'",
        "key": "'0'",
        "unit": "'{}'",
        "previous": "'0'",
        "hash": "'0'",
    }.items()
}


@pytest.mark.parametrize("column", ALTERED)
def test_an_altered_event_is_found(book: Ledger, column: str) -> None:
    edit(book, ALTERED[column])
    with pytest.raises(LedgerCorrupt, match="event 2"):
        book.verify()


@pytest.mark.parametrize("number", [1, 4, 8])
def test_a_dropped_event_is_found(book: Ledger, number: int) -> None:
    edit(book, f"DELETE FROM discreet_events WHERE {OURS} AND number = {number}")
    with pytest.raises(LedgerCorrupt, match=f"event {number} is missing|dropped"):
        book.verify()


def test_a_dropped_event_is_found_after_the_others_moved_up(book: Ledger) -> None:
    edit(
        book,
        f"DELETE FROM discreet_events WHERE {OURS} AND number = 2",
        *(f"UPDATE {EVENT.format(f'number = {n - 1}')} {n}" for n in range(3, 9)),
    )
    with pytest.raises(LedgerCorrupt, match="event 2 does not follow"):
        book.verify()


def test_reordered_events_are_found(book: Ledger) -> None:
    moves = [(2, 99), (3, 2), (99, 3)]
    edit(book, *(f"UPDATE {EVENT.format(f'number = {new}')} {old}" for old, new in moves))
    with pytest.raises(LedgerCorrupt, match="event 2 does not follow"):
        book.verify()


@pytest.mark.parametrize(("number", "told"), [(9, "event 9"), (0, "event 1 is missing"), (-5, "event 1 is missing")])
def test_an_inserted_event_is_found(book: Ledger, number: int, told: str) -> None:
    columns = "time, who, kind, question, law, sensitivity, relation, cost, account, part, terms, previous, hash"
    edit(
        book,
        f"INSERT INTO discreet_events (ledger, number, {columns}) "
        f"SELECT ledger, {number}, {columns} FROM discreet_events WHERE {OURS} AND number = 1",
    )
    with pytest.raises(LedgerCorrupt, match=told):
        book.verify()


def forge(book: Ledger, number: int, **changes: object) -> None:
    """Write event ``number`` anew with a hash that is right, as a forger who has read the documentation would."""
    with closing(sqlite3.connect(book._database.url.database)) as raw, raw:
        raw.row_factory = sqlite3.Row
        row = dict(raw.execute(f"SELECT * FROM discreet_events WHERE {OURS} AND number = {number}").fetchone())
        row |= changes
        later = ("rows", "key", "unit")
        body = {k: v for k, v in row.items() if k not in ("ledger", "hash") and not (k in later and v is None)}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        row["hash"] = hashlib.sha256(text.encode()).hexdigest()
        assignments = ", ".join(f"{k} = :{k}" for k in row)
        raw.execute(f"UPDATE discreet_events SET {assignments} WHERE {OURS} AND number = {number}", row)


def test_a_forged_event_breaks_the_next_link(book: Ledger) -> None:
    forge(book, 2, question="nothing much")
    with pytest.raises(LedgerCorrupt, match=r"event 3 does not follow.*event 2 was altered"):
        book.verify()


def test_a_forged_last_event_is_not_the_head(book: Ledger) -> None:
    forge(book, 8, question="nothing much")
    with pytest.raises(LedgerCorrupt, match="head"):
        book.verify()


@pytest.mark.parametrize("kind", ["step", "nonsense", "cancel"])
def test_an_event_that_breaks_the_rules_is_found_though_its_hash_is_right(book: Ledger, kind: str) -> None:
    forge(book, 8, kind=kind)
    with pytest.raises(LedgerCorrupt, match="event 8 should never have been written"):
        book.verify()


def test_an_overspending_event_is_found_though_its_hash_is_right(book: Ledger) -> None:
    cost = Cost.pure(5).to_dict()
    forge(book, 8, cost=json.dumps(cost, sort_keys=True, separators=(",", ":")))
    with pytest.raises(LedgerCorrupt, match="event 8 should never have been written: the total must stay within"):
        book.verify()


@pytest.mark.parametrize(
    "change",
    ['spent = replace(spent, \'"epsilon":"3/5"\', \'"epsilon":"1/5"\')', "reserved = spent", "number = 7", "head = '0'"],
)
def test_an_altered_total_is_found(book: Ledger, change: str) -> None:
    before = book._journal.read()
    edit(book, f"UPDATE discreet_ledgers SET {change} WHERE name = 'default'")
    assert book._journal.read() != before
    with pytest.raises(LedgerCorrupt, match=f"row and its 8 events differ in {change.split(maxsplit=1)[0]}"):
        book.verify()


@pytest.mark.parametrize(
    "change",
    [
        'filter = replace(filter, \'"epsilon":"1"\', \'"epsilon":"9"\')',
        "filter = NULL",
        "filter = '{}'",
        "relation = 'replace'",
        "test = 1",
        "created = '2001'",
        "founded = '{\"schema\":1}'",
        "founded = NULL",
        "unit = '{}'",
        "name = 'renamed'",
    ],
)
@pytest.mark.parametrize("events", [8, 0])
def test_altered_founding_facts_are_found(book: Ledger, tmp_path: Path, change: str, events: int) -> None:
    with Ledger(f"sqlite:///{tmp_path}/empty.db", Budget(epsilon=1)) as empty:
        ledger = book if events else empty
        assert ledger.verify() == events
        edit(ledger, f"UPDATE discreet_ledgers SET {change} WHERE name = 'default'")
        with pytest.raises(LedgerCorrupt, match=r"budget|altered"):
            ledger.verify()


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE discreet_accounts SET "left" = 2 WHERE number = 4',
        "UPDATE discreet_accounts SET drawn = replace(drawn, '1/10', '0') WHERE number = 5",
        "UPDATE discreet_accounts SET status = 'cancelled' WHERE number = 5",
        "DELETE FROM discreet_accounts WHERE number = 4",
        'INSERT INTO discreet_accounts SELECT ledger, 3, part, status, "left", drawn FROM discreet_accounts LIMIT 1',
    ],
)
def test_an_altered_account_is_found(book: Ledger, change: str) -> None:
    edit(book, change)
    with pytest.raises(LedgerCorrupt, match="account"):
        book.verify()


def test_a_head_kept_elsewhere_shows_a_book_cut_short(book: Ledger) -> None:
    """Without the head, dropping the last event and setting the row back to match leaves a book that holds."""
    kept = book.head
    assert book.verify(kept) == 8
    seventh = [e.hash for e in book.events()][6]
    assert book.verify(seventh) == 8
    earlier = Cost.nothing()
    for _ in range(4):
        earlier += Cost.pure("0.1")
    text = json.dumps(earlier.to_dict(), sort_keys=True, separators=(",", ":"))
    edit(
        book,
        f"DELETE FROM discreet_events WHERE {OURS} AND number = 8",
        f"UPDATE discreet_ledgers SET number = 7, head = '{seventh}', spent = '{text}' WHERE name = 'default'",
    )
    with pytest.raises(LedgerCorrupt, match=r"set back or replaced: it has 7 events, and 8 were seen"):
        book.verify()
    book._database.beside.forget(book._journal.id)  # whoever can write everything writes the head file too
    assert book.verify() == 7
    assert book.verify(seventh) == 7
    with pytest.raises(LedgerCorrupt, match="cut short or written anew"):
        book.verify(kept)


def test_a_ledger_whose_row_is_gone_says_so(book: Ledger) -> None:
    with closing(sqlite3.connect(book._database.url.database)) as raw, raw:
        raw.execute("DELETE FROM discreet_ledgers WHERE name = 'default'")
    for act in (book.verify, book.spent, lambda: book.charge(eps("0.1"))):
        with pytest.raises(LedgerCorrupt, match="gone"):
            act()
