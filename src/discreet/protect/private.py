"""The vault's own database file: nobody but its owner can read it, from the moment it exists."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.exc import ArgumentError

from discreet.errors import InvalidRequest
from discreet.ledger.address import without_password
from discreet.ledger.database import Database

# SQLite gives what it makes beside a database the mode of the database; the head and the key are the ledger's.
BESIDE = ("", "-wal", "-shm", "-journal", ".head", ".key")


def database_path(database: Database) -> Path | None:
    """The file of an SQLite database; None for a server and for one in memory."""
    return None if not database.sqlite or database.memory else Path(os.path.realpath(database.url.database or ""))


def keep_private(database: Database) -> None:
    """Create the file of a database, and its folder, for the owner alone; take the rights of others from one that is there.

    Proof that there is no window: the file is created with mode 0600 in one call, before SQLite opens it, and SQLite gives
    its log and its shared memory the mode of the database. A file that is there already, such as a ledger's, may have been
    readable; nothing of the vault is in it before this returns. One that another user put there, also beside it, is refused,
    since its owner could read what is written to it, through a handle that is open already: where everyone may make files,
    such as in /tmp, somebody may have been there first. Nobody comes later: the folder is not another's, and others cannot
    replace files in it.
    """
    path = database_path(database)
    if path is None:
        return
    try:
        _link(Path(database.url.database or ""))
        if path.parent.parent.is_dir() and not path.parent.exists():
            with suppress(FileExistsError):
                path.parent.mkdir(mode=0o700)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        folder = path.parent.stat()
        _owned(path.parent, folder)
        if folder.st_mode & 0o002 and not folder.st_mode & stat.S_ISVTX:
            raise InvalidRequest(
                f"a vault must lie in a folder that others cannot write to, got mode {folder.st_mode & 0o7777:04o} of "
                f"{str(path.parent)!r}: they could put another database in its place; chmod o-w, or choose another folder"
            )
        for ending in BESIDE:
            part = Path(f"{path}{ending}")
            try:
                state = part.lstat()
            except FileNotFoundError:
                continue
            _owned(part, state)
            if not stat.S_ISREG(state.st_mode):
                raise InvalidRequest(f"the vault's files must be plain files, and {str(part)!r} is none; remove it")
            if state.st_mode & 0o077:
                part.chmod(0o600)
    except OSError as problem:
        raise InvalidRequest(
            f"the vault's file must be there for its owner alone (mode 0600), and {str(path)!r} cannot be made so: "
            f"{problem.strerror}; check the folder and who owns it"
        ) from None


def _link(path: Path) -> None:
    """Refuse a link that another user made: it leads where they like, and elsewhere later."""
    if path.is_symlink():
        _owned(path, path.lstat())


def _owned(path: Path, state: os.stat_result) -> None:
    if hasattr(os, "geteuid") and state.st_uid not in (os.geteuid(), 0):
        raise InvalidRequest(
            f"a vault and its folder must belong to you, and {str(path)!r} belongs to user {state.st_uid}, who can read and "
            "replace what is there; choose another folder"
        )


def open_private(url: str, timeout: float) -> Database:
    """The database of a vault: its file is private, and what is freed in it is overwritten, not only unlinked."""
    try:
        database = Database(url, timeout)
    except ArgumentError:
        shown = without_password(url)
        raise InvalidRequest(f"a vault's address must be such as 'sqlite:///vault.db', got {shown!r}") from None
    if database.sqlite:
        keep_private(database)
        event.listen(database._engine, "connect", lambda raw, _: raw.execute("PRAGMA secure_delete=ON"))
    return database
