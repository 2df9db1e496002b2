"""The vault's own database file: nobody but its owner can read it, from the moment it exists."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.exc import ArgumentError

from discreet.errors import InvalidRequest
from discreet.ledger.database import Database

BESIDE = ("", "-wal", "-shm", "-journal")  # SQLite gives what it makes beside a database the mode of the database


def database_path(database: Database) -> Path | None:
    """The file of an SQLite database; None for a server and for one in memory."""
    return None if not database.sqlite or database.memory else Path(os.path.realpath(database.url.database or ""))


def keep_private(database: Database) -> None:
    """Create the file of a database, and its folder, for the owner alone; take the rights of others from one that is there.

    Proof that there is no window: the file is created with mode 0600 in one call, before SQLite opens it, and SQLite gives
    its log and its shared memory the mode of the database. A file that is there already, such as a ledger's, may have been
    readable; nothing of the vault is in it before this returns.
    """
    path = database_path(database)
    if path is None:
        return
    try:
        if path.parent.parent.is_dir() and not path.parent.exists():
            with suppress(FileExistsError):
                path.parent.mkdir(mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        folder = path.parent.stat()
        if folder.st_mode & 0o002 and not folder.st_mode & stat.S_ISVTX:
            raise InvalidRequest(
                f"a vault must lie in a folder that others cannot write to, got mode {folder.st_mode & 0o7777:04o} of "
                f"{str(path.parent)!r}: they could put another database in its place; chmod o-w, or choose another folder"
            )
        for ending in BESIDE:
            part = Path(f"{path}{ending}")
            if part.exists() and part.stat().st_mode & 0o077:
                part.chmod(0o600)
    except OSError as problem:
        raise InvalidRequest(
            f"the vault's file must be there for its owner alone (mode 0600), and {str(path)!r} cannot be made so: "
            f"{problem.strerror}; check the folder and who owns it"
        ) from None


def open_private(url: str, timeout: float) -> Database:
    """The database of a vault: its file is private, and what is freed in it is overwritten, not only unlinked."""
    try:
        database = Database(url, timeout)
    except ArgumentError:
        raise InvalidRequest(f"a vault's address must be such as 'sqlite:///vault.db', got {url!r}") from None
    if database.sqlite:
        keep_private(database)
        event.listen(database._engine, "connect", lambda raw, _: raw.execute("PRAGMA secure_delete=ON"))
    return database
