"""Reading an SQLite ledger that cannot be written to: on a read-only disk, or without the permission.

SQLite reads a file with a log only beside two files of its own, which it has to make where they are not there. Where it
cannot, and there is no log that holds anything, the file alone is the ledger, and is read without any lock (``immutable``).
Proof that nothing is told that a log contradicts: every commit goes to the log first and from there into the file. So as
long as no log holds anything, and file and log are the same before a read and after it, nothing was committed in between;
where they are not, what was read is thrown away (``Unlocked.check``).
"""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from discreet.errors import LedgerUnavailable

_LOGS = ("-wal", "-journal")


@dataclass(frozen=True)
class Unlocked:
    """A file that is read without locks, and how it and its logs were when that began."""

    path: str
    state: tuple[Any, ...]

    def check(self) -> None:
        """Refuse what was read where somebody wrote meanwhile."""
        if _state(self.path) != self.state:
            raise LedgerUnavailable(
                f"the ledger at {self.path} can only be read here, and somebody wrote to it meanwhile; run it again. "
                "Nothing was charged"
            )


def is_read_only(path: str) -> bool:
    """Whether there is a file and it, or the log that SQLite keeps in its folder, cannot be written to."""
    if not os.path.exists(path):
        return False
    logged = os.access(os.path.dirname(os.path.abspath(path)), os.W_OK) or all(
        os.access(path + end, os.W_OK) for end in ("-wal", "-shm")
    )
    return not (logged and os.access(path, os.W_OK))


def connect(path: str, timeout: float) -> tuple[sqlite3.Connection, Unlocked | None]:
    """A connection that reads, with SQLite's locks where it can have them."""
    begun = _state(path)
    opened = _open(path, "mode=ro", timeout)
    try:
        opened.execute("SELECT 1 FROM sqlite_master").fetchone()
        return opened, None
    except sqlite3.OperationalError:
        opened.close()
        if any(_size(path + log) for log in _LOGS):
            raise LedgerUnavailable(
                f"the ledger at {path} is read-only here, and its log holds what its file does not and cannot be read "
                f"without writing; copy {path}, {path}-wal and {path}.head to a folder that can be written to, and read it "
                "there. Nothing was charged"
            ) from None
    return _open(path, "mode=ro&immutable=1", timeout), Unlocked(path, begun)


def _open(path: str, how: str, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(path)}?{how}", timeout=timeout, check_same_thread=False, uri=True)


def _state(path: str) -> tuple[Any, ...]:
    return tuple(_stat(path + end) for end in ("", *_LOGS))


def _stat(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
