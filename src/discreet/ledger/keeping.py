"""What a custodian does with a ledger as a file: copy it, bring a copy back, and bring one of an earlier version up to date.

A copy is made by the database, whole and of one moment (``backup``), with the key of its digests and without a head file.
Without one it can be read and checked and not spent: two files of one ledger would spend its budget twice. ``adopt`` says
that a file is the one that counts from now on.

Proof that nothing is answered twice after a restore: an entry without an answer in the copy may have been answered after
the copy was made, so ``adopt`` takes all of them out of those that wait; what is not waiting is never redeemed. Nothing is
refunded. What was charged after the copy was made is not in it, and only documents released since can tell: see the page on
backups.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from discreet.core import whole_files
from discreet.core.cost import Cost
from discreet.errors import InvalidRequest, LedgerCorrupt, LedgerUnavailable
from discreet.ledger import checks, digest_key, event_tables
from discreet.ledger.beside import write_private
from discreet.ledger.creation import check_layout, names_at
from discreet.ledger.database import Database
from discreet.ledger.events import Draft, canonical, founded
from discreet.ledger.layout import create_tables
from discreet.ledger.ledger import Ledger
from discreet.ledger.replay import verify


def backup(url: str, copy: Path) -> list[str]:
    """Copy an SQLite ledger to ``copy`` and its key to ``copy.key``; the names of the ledgers in it, all checked.

    A key that is lost, or is not the one of these ledgers, is not copied: there is then no ``copy.key``. A ledger on
    PostgreSQL is copied by the server's own means.
    """
    database, its_key = _file(url), copy.with_name(copy.name + ".key")
    try:
        for each in (copy, its_key):
            if each.exists():
                raise InvalidRequest(f"a backup is a file of its own, and {each} exists already; choose another name")
        assert database.beside is not None
        with database.transaction(write=False) as connection:
            check_layout(connection, database)  # what cannot be checked afterwards is not copied
            for row in _rows(connection):
                checks.known(row)
            keyed = connection.execute(select(event_tables.ledgers.c.keyed)).scalars().all()
        _copy(database, copy)
        key = database.beside.read_key()
        if key is not None and digest_key.fits(database, keyed):
            write_private(its_key, key)
    finally:
        database.close()
    return _check(copy)


def _copy(database: Database, copy: Path) -> None:
    """By SQLite's own copying, which takes pages from the log as well and sees one moment."""
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with database.undisturbed(), closing(database.open_file()) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        descriptor = os.open(copy, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except (sqlite3.Error, OSError) as problem:
        copy.unlink(missing_ok=True)
        room = "make room on its disk; " if whole_files.is_full(problem, copy.absolute().parent) else ""
        raise LedgerUnavailable(f"the copy {copy} could not be written: {problem}; {room}nothing else was changed") from None
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


def _rows(connection: Connection) -> Sequence[Mapping[Any, Any]]:
    """The ledgers of a file: what each is called, and which version wrote it."""
    columns = event_tables.ledgers.c
    return connection.execute(select(columns.id, columns.name, columns.schema)).mappings().all()


def _check(path: Path) -> list[str]:
    """Verify every ledger of a file; their names."""
    database = Database(f"sqlite:///{path}", 30.0)
    try:
        with database.transaction(write=False) as connection:
            if connection.exec_driver_sql("PRAGMA quick_check").scalar() != "ok":
                raise LedgerCorrupt(f"the file {path} is damaged; restore another copy")
            rows = _rows(connection)
            for row in rows:
                verify(connection, row["id"])
            return [row["name"] for row in rows]
    finally:
        database.close()


def adopt(url: str) -> dict[str, int]:
    """Make this file the one that counts: check it, note its heads, and give up what waits for an answer.

    Returns the entries given up by ledger. A key that is missing is made anew; answers stored before are then not found.
    """
    database = _file(url)
    try:
        _check(Path(str(database.url.database)))
        given_up = {}
        for name in names_at(url):
            with Ledger(url, name=name) as ledger:
                given_up[name] = _adopt(ledger)
        return given_up
    finally:
        database.close()


def _adopt(ledger: Ledger) -> int:
    """One transaction, and the head after it: whoever ends in between leaves a file that is refused, or an adopted one.

    Were the head noted while entries still wait, a question asked in between would redeem one that may have been answered.
    """
    database, journal = ledger._database, ledger._journal
    beside = database.beside
    assert beside is not None
    with database.transaction(write=True) as connection:
        key = digest_key.find_or_make(database, connection)
    with database.work(write=True) as work:
        books = journal.read_books(work)  # not held against the head: that is what is to be set
        work.write(event_tables.set_key, {"of_ledger": journal.id, "new_keyed": digest_key.fingerprint(key)})
        waiting = work.write(event_tables.delete_all_pending, {"of_ledger": journal.id})
        question = canonical({"name": "adopt", "given_up": waiting})
        work.after.append(lambda: beside.forget(journal.id))
        journal.post(work, books, [Draft(kind="adopt", question=question, relation=ledger.relation, cost=Cost.nothing())])
    return waiting


def upgrade(url: str, copy: Path | None) -> list[str]:
    """Bring ledgers that version 0.1.0 wrote up to date, after a backup to ``copy`` where they are in a file; their names.

    Proof that it changes no total: no event and no sum is touched. A ledger keeps what it was founded with, so its chain of
    hashes begins as before; it is given a key, a head and no unit, which the next question binds. Entries of then without an
    answer may have been answered, so none of them waits for one.
    """
    database = Database(url, 30.0)
    try:
        if database.memory or database.missing:
            raise InvalidRequest(f"there is no ledger at {database}; correct the path")
        with database.transaction(write=False) as connection:
            rows = _rows(connection)
        for row in rows:
            checks.known(row)
        if all(row["schema"] == event_tables.SCHEMA for row in rows):
            return []
        if database.beside is not None:
            if copy is None or copy.exists():
                raise InvalidRequest(f"an upgrade begins with a backup in a new file, got {copy}; choose another name")
            _copy(database, copy)
        with database.transaction(write=True) as connection:
            create_tables(connection)
            keyed = digest_key.fingerprint(digest_key.find_or_make(database, connection))
            old = (
                connection.execute(select(event_tables.ledgers).where(event_tables.ledgers.c.schema < event_tables.SCHEMA))
                .mappings()
                .all()
            )
            for row in old:
                _upgrade(connection, database, dict(row), keyed)
        return [row["name"] for row in old]
    finally:
        database.close()


def _upgrade(connection: Any, database: Database, row: dict[str, Any], keyed: str) -> None:
    values = {"schema": event_tables.SCHEMA, "founded": founded(row["schema"], None), "unit": None, "keyed": keyed}
    connection.execute(event_tables.ledgers.update().where(event_tables.ledgers.c.id == row["id"]).values(**values))
    verify(connection, row["id"])
    if database.beside is not None:
        database.beside.forget(row["id"])
        database.beside.note(row["id"], row["number"], row["head"])


def _file(url: str) -> Database:
    database = Database(url, 30.0)
    if database.beside is None or database.missing:
        database.close()
        raise InvalidRequest(f"this is for a ledger in an SQLite file that exists, got {database}; correct the path")
    return database
