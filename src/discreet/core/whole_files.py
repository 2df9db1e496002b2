"""Files that are written whole or not at all, and are on the disk before anyone is told so."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

PUBLIC, OWN = 0o666, 0o600  # who may read a new file: as the user's umask says, or its owner alone


@contextlib.contextmanager
def replacing(target: str | Path, mode: int = PUBLIC) -> Iterator[Path]:
    """The path of an empty file beside ``target``, which takes its place when the block ends well and is gone otherwise.

    Proof that a reader finds the old file or the new one, whole, also after a power cut: the new file's content is on the
    disk (fsync) before the rename, a rename within a folder is one step, and the folder is written (fsync) after it. A
    file that was there keeps its permissions.
    """
    path = Path(target)
    beside = path.with_name(f".discreet-{secrets.token_hex(8)}")
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        with contextlib.suppress(FileNotFoundError):
            beside.chmod(path.stat().st_mode & 0o777)
        yield beside
        _to_disk(beside, os.O_RDWR)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        with contextlib.suppress(OSError):  # nor on some file systems; the file is whole all the same
            _to_disk(path.parent, os.O_RDONLY)


def write_text(target: str | Path, text: str, mode: int = PUBLIC) -> None:
    """Replace a file by ``text`` in UTF-8, as ``replacing`` does."""
    with replacing(target, mode) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def check_writable(folder: Path) -> None:
    """Raise ``OSError`` where no file can be made in a folder."""
    path = folder / f".discreet-{secrets.token_hex(8)}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWN))
    path.unlink()


def is_full(problem: object, folder: Path | None = None) -> bool:
    """Whether a failure says that a disk is full, in the words of the system, SQLite or PostgreSQL; or ``folder``'s is."""
    if isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    if getattr(problem, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(problem, "sqlstate", "") == "53100":
        return True
    with contextlib.suppress(OSError, AttributeError):  # no such folder, or no such call on this system
        return folder is not None and os.statvfs(folder).f_bavail == 0 and os.access(folder, os.W_OK)
    return False


def _to_disk(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
