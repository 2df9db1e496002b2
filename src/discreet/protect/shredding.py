"""Rows in copies that cannot be rewritten, such as backups: sealed under a key of each person, shredded with the key.

Nothing in a token itself can be shredded: it can be computed again from the identity. A random key cannot.
"""

from __future__ import annotations

import os
import sqlite3
import time
from typing import Any

from sqlalchemy import Connection

from discreet.errors import InvalidRequest, UnknownName
from discreet.protect.private import database_path
from discreet.protect.vault_log import VaultLog
from discreet.protect.wrapping import KeyRing

_NONCE = 12
_GLANCE = 0.05  # seconds, where nobody should wait


class Shredder:
    """The random keys of people, one wrapped row each in the vault's database.

    Destroying a key helps only if the database with the keys is not in the same backups: keep it apart from them.
    """

    def __init__(self, log: VaultLog, ring: KeyRing) -> None:
        self._log = log
        self._ring = ring

    def seal(self, subject: str, data: bytes) -> bytes:
        """Encrypt under the person's key, which is made on first use (AES-256-GCM with a random nonce)."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        with self._log.database.transaction(write=True) as connection:
            self._log.lock(connection)
            key = self._ring.get(connection, self._log.id, subject)
            if key is None:
                key = os.urandom(32)
                self._ring.put(connection, self._log.id, subject, key)
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(key).encrypt(nonce, data, subject.encode())

    def unseal(self, subject: str, sealed: bytes) -> bytes:
        """What was sealed for the person."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        with self._log.database.transaction(write=False) as connection:
            key = self._ring.get(connection, self._log.id, subject)
        if key is None:
            raise UnknownName("there is no key for this identity: nothing was sealed for it, or it was erased")
        try:
            return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], subject.encode())
        except (InvalidTag, ValueError):
            raise InvalidRequest(
                "sealed data must be whole and this person's, and this is not; check where it is from"
            ) from None

    def holds(self, subject: str) -> bool:
        """Whether there is a key for the person."""
        with self._log.database.transaction(write=False) as connection:
            return self._ring.get(connection, self._log.id, subject) is not None

    def shred(self, connection: Connection, subject: str) -> bool:
        """Destroy the person's key inside a writing transaction; whether there was one."""
        return self._ring.drop(connection, self._log.id, subject)

    def emptied(self, *, wait: bool = True) -> bool:
        """Empty SQLite's write-ahead log, which holds pages as they were; whether no other user of the file was in the way.

        PostgreSQL looks after its own log and its dead rows: they go with its next checkpoints and VACUUM.
        """
        database = self._log.database
        path = database_path(database)
        if path is None:
            return True
        raw = database._engine.raw_connection()
        deadline = time.monotonic() + (database.timeout if wait else _GLANCE)
        try:
            raw.cursor().execute(f"PRAGMA busy_timeout={round(1000 * (database.timeout if wait else _GLANCE))}")
            while not (emptied := _truncated(raw)) and time.monotonic() < deadline:
                time.sleep(0.005)
        finally:
            raw.close()
        return emptied


def _truncated(raw: Any) -> bool:
    """Try once. SQLite waits for readers and writers, but gives up at once where a ledger is being settled just now."""
    try:
        busy, *_ = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
