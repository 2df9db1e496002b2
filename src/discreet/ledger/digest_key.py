"""The key of the digests by which stored answers are found.

A question asked again is found by a digest of the question, its law, the relation and the version of the table; and the
version of a file is its path, its size and its time of change. From a digest without a key anyone who may read a ledger
could try out paths and times until one fits. So the digest is keyed (HMAC-SHA256).

What it protects against: whoever has the ledger, a copy of it, an export or a released document, but not the key, can
neither test a guess of the version nor tell that two ledgers tell of one table. The key of an SQLite ledger lies beside it
in a file for its owner alone, ``ledger.db.key``; hand out the ledger without it. On PostgreSQL it is a row of the table
``discreet_keys``, which is in no export and which the owner may close to other roles; someone who may read that table is
not kept out. It does not protect against whoever can read the custodian's files, and it need not: they can read the table
too.

A lost key loses no budget and no answer already given. Stored answers can then not be found, and the ledger says so instead
of charging for them a second time, until the custodian decides on a new key (``adopt``).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection
from hashlib import sha256

from sqlalchemy import Connection, select

from discreet.errors import LedgerCorrupt
from discreet.ledger import event_tables
from discreet.ledger.beside import KEY_BYTES
from discreet.ledger.database import Database


def digest_with(key: bytes, text: str) -> str:
    """The keyed digest of a text, in hexadecimal."""
    return hmac.digest(key, text.encode(), "sha256").hex()


def fingerprint(key: bytes) -> str:
    """What a ledger keeps of its key: enough to know it again."""
    return sha256(b"the key of a ledger's digests\0" + key).hexdigest()


def find_or_make(database: Database, connection: Connection) -> bytes:
    """The key of a database, made where there is none; inside a writing transaction."""
    if database.beside is not None:
        known = database.beside.read_key()
        # One that was cut short is no key any more.
        return known if known is not None and len(known) == KEY_BYTES else database.beside.make_key()
    secret = connection.execute(select(event_tables.keys.c.secret)).scalar()
    if secret is None:
        secret = secrets.token_hex(32)
        connection.execute(event_tables.keys.insert(), {"id": 1, "secret": secret})
    return bytes.fromhex(secret)


def for_another(database: Database, connection: Connection) -> bytes:
    """The key of a ledger to be made; beside others it is theirs, and where that is lost or damaged none is made.

    A new one would be written over what is left of it, and a backup of it would then fit some ledgers and not the rest.
    """
    if database.beside is not None:
        for keyed in connection.execute(select(event_tables.ledgers.c.keyed).distinct()).scalars():
            if keyed is not None:
                find(database, keyed)
    return find_or_make(database, connection)


def find(database: Database, keyed: str | None) -> bytes:
    """The key of a database, which must be the one a ledger was made with."""
    if database.beside is not None:
        key = database.beside.read_key()
        where = str(database.beside.key)
    else:
        with database.transaction(write=False) as connection:
            secret = connection.execute(select(event_tables.keys.c.secret)).scalar()
        key, where = None if secret is None else bytes.fromhex(secret), "the table discreet_keys"
    if key is None or fingerprint(key) != keyed:
        state = "missing" if key is None else "another one, or damaged"
        remedy = "restore it from a backup"
        if database.beside is not None:
            remedy += (
                f", or, if it is lost for good, run: discreet ledger adopt {database.typed}, which makes a new one; what "
                "was asked before is then paid for again when it is asked again, and entries without an answer are given up"
            )
        raise LedgerCorrupt(
            f"the key of the ledger's digests, {where}, is {state}: answers stored before cannot be found, and would be "
            f"paid for again; {remedy}. Nothing was charged"
        )
    return key


def fits(database: Database, fingerprints: Collection[str | None]) -> bool:
    """Whether the key beside a file is there and is that of the ledgers with these fingerprints."""
    key = None if database.beside is None else database.beside.read_key()
    return key is not None and all(fingerprint(key) == each for each in fingerprints)
