"""From a vault of 0.1.0 to one of today: the keys of people, which lay in clear, are wrapped, and the file is private.

0.1.0 kept the key of each sealed copy as plain text in a database that everyone could read. Wrapping the keys now does not
undo that somebody may have read them: where that matters, seal the copies again under new keys.
"""

from __future__ import annotations

import glob
import itertools
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, func, inspect, select

from discreet.errors import InvalidRequest, LedgerUnavailable, UnknownName
from discreet.ledger.database import Database
from discreet.protect.erasure import Register
from discreet.protect.identifiers import VAULT, public_name
from discreet.protect.private import database_path, open_private
from discreet.protect.pseudonyms import Pseudonymizer
from discreet.protect.reach import enough_room
from discreet.protect.shredding import Shredder
from discreet.protect.vault_log import LOG, VaultLog, vaults, wrapped
from discreet.protect.wrapping import KeyRing
from discreet.protect.writing import sync

_old = Table(
    "discreet_vault_subjects",
    MetaData(),
    Column("vault", Integer, primary_key=True),
    Column("subject", String(100), primary_key=True),
    Column("key", String(64)),
)


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade did: the keys it wrapped, the ``backups`` with keys in clear, which are to be destroyed (also those of
    upgrades that were interrupted), whether the old bytes are overwritten already, and the tables of several files, whose
    patterns 0.1.0 did not keep."""

    keys: int
    backups: list[Path]
    overwritten: bool
    several_files: list[str]


def upgrade(
    url: str, pseudonyms: Pseudonymizer, *, name: str = "default", who: str | None = None, timeout: float = 30.0
) -> Upgraded:
    """Bring a vault that 0.1.0 wrote up to date: wrap its keys, and keep a backup of an SQLite file as it was.

    All of it is one transaction: either every key is wrapped and none is in clear, or nothing has changed. The backup is
    readable by its owner alone and holds the keys in clear: destroy it when the upgrade has proved good. On PostgreSQL make
    one yourself before, with pg_dump.
    """
    public_name(name, "the name of a vault")
    database = open_private(url, timeout)
    try:
        _check(database, name)
        derived = pseudonyms.derived("partner-key", VAULT, 1)  # what 0.1.0 made the tokens of people in the log with
        backups = _backup(database)
        ring = KeyRing(pseudonyms, name)
        log = VaultLog(database, name, who, ring.start)
        with database.transaction(write=True) as connection:
            log.lock(connection)
            if ring.get(connection, log.id, LOG) is not None:
                raise InvalidRequest(f"the vault {name!r} was upgraded meanwhile; nothing was changed")
            ring.put(connection, log.id, LOG, derived)
            mine = _moved(connection, log.id, ring)
            log.append(connection, "upgrade", {"from": "0.1.0", "keys": mine})
            known = Register(log, pseudonyms).tables(connection)
        overwritten = Shredder(log, ring).emptied()
    finally:
        database.close()
    return Upgraded(mine, backups, overwritten, [name for name, facts in known.items() if len(facts["paths"]) > 1])


def _moved(connection: Connection, vault: int, ring: KeyRing) -> int:
    """Wrap the keys of one vault that lie in clear, and take them out; how many there were.

    The table of clear keys is that of all vaults of the database, and goes with the last key in it.
    """
    if not _has(connection, _old.name):
        return 0
    mine = connection.execute(select(_old.c.subject, _old.c.key).where(_old.c.vault == vault)).all()
    for subject, key in mine:
        ring.put(connection, vault, subject, bytes.fromhex(key))
    connection.execute(_old.delete().where(_old.c.vault == vault))
    if not connection.execute(select(func.count()).select_from(_old)).scalar_one():
        _old.drop(connection)
    return len(mine)


def _check(database: Database, name: str) -> None:
    with database.transaction(write=False) as connection:
        known = _has(connection, vaults.name)
        found = connection.execute(select(vaults.c.id).where(vaults.c.name == name)).first() if known else None
        if found is None:
            raise UnknownName(f"there is no vault {name!r} at {database}; check the address and the name")
        of_log = (wrapped.c.vault == found.id, wrapped.c.holder == LOG)
        if _has(connection, wrapped.name) and connection.execute(select(wrapped.c.vault).where(*of_log)).first():
            raise InvalidRequest(f"the vault {name!r} at {database} holds no keys in clear; it needs no upgrade")


def _has(connection: Connection, table: str) -> bool:
    return bool(inspect(connection).has_table(table))


def _backup(database: Database) -> list[Path]:
    """A copy of an SQLite file as it is, for its owner alone from the moment it exists; all such copies there are."""
    path = database_path(database)
    if path is None:
        return []
    for number in itertools.count(1):
        place = path.with_name(f"{path.name}.before-upgrade-{number}")
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            continue
    try:
        with enough_room("the backup before the upgrade"):
            source, target = sqlite3.connect(path), sqlite3.connect(place)
            try:
                source.backup(target)
            finally:
                target.close()
                source.close()
            sync(place)
    except BaseException as problem:
        place.unlink(missing_ok=True)
        if isinstance(problem, sqlite3.Error):
            raise LedgerUnavailable(
                f"the backup before the upgrade could not be written ({problem}); nothing changed"
            ) from None
        raise
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.before-upgrade-*"))
