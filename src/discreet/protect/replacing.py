"""Replacing a file by one without some rows: whole at every moment, with its owner and mode, and losing no row that another
program appends meanwhile.

Proof that nothing appended is lost: the new file takes the old one's name only while a lease says that nobody has the old
one open for writing, and while its size and time are what they were when it was read, so all that was written is read.
Whoever opens it for writing after the lease waits for it to be given back; that breaks the lease, which is seen after the
change of names; then the old file, which is kept under a second name until then, gets its name back before anything can be
written, and all is done again. Where there are no leases (other systems, network file systems), the size and the time are
compared before and after alone, so a row may be lost that a program writes later through a handle it holds open.
"""

from __future__ import annotations

import glob
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from discreet.errors import InvalidRequest
from discreet.protect.reach import Busy
from discreet.protect.writing import locked, remove_abandoned, sync

T = TypeVar("T")
PATIENCE = 10.0  # seconds that another program may keep a file busy


def rewrite(path: Path, work: Callable[[BinaryIO, str], T | None], nothing: T) -> T:
    """Let ``work`` read the file and write its successor; where it returns None, the file stays: ``nothing`` was done."""
    deadline = time.monotonic() + PATIENCE
    wait = 0.002
    while True:
        with locked(path.parent, shared=False):
            sweep(path)
            done, result = _once(path, work)
        if done:
            return nothing if result is None else result
        if time.monotonic() > deadline:
            raise Busy(f"another program keeps writing to {str(path)!r}; stop it, or ask again when it is done")
        time.sleep(wait)
        wait = min(2 * wait, 0.5)


def sweep(path: Path) -> None:
    """Remove what a killed process left beside a file; call it with the folder locked: nobody else is writing there."""
    for stale in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        remove_abandoned(stale)


def _once(path: Path, work: Callable[[BinaryIO, str], T | None]) -> tuple[bool, T | None]:
    with path.open("rb") as source:
        before = _state(source.fileno())
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        try:
            result = work(source, part)
            if result is None:
                return _state(source.fileno()) == before, None
            like(part, path, os.fstat(source.fileno()))
            sync(part)
            return _swap(source.fileno(), before, path, part), result
        finally:
            Path(part).unlink(missing_ok=True)


def _swap(source: int, before: tuple[int, ...], path: Path, part: str) -> bool:
    """Give the new file the name of the old one; whether nobody came in between."""
    with _lease(source) as held:
        if not held() or _state(source) != before or not os.path.samestat(os.stat(path), os.fstat(source)):
            return False
        old = part.removesuffix(".part") + ".old.part"
        os.link(path, old)
        try:
            if not os.path.samestat(os.stat(old), os.fstat(source)):  # another program put a new file there just now
                return False
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # Spark's, which would no longer read it
            os.replace(part, path)
            if not held() or _state(source) != before:
                os.replace(old, path)
                return False
        finally:
            Path(old).unlink(missing_ok=True)
        sync(path.parent)
        return True


def _state(handle: int) -> tuple[int, ...]:
    state = os.fstat(handle)
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns


@contextmanager
def _lease(handle: int) -> Iterator[Callable[[], bool]]:
    """A read lease on a file: whoever opens it for writing waits until the end. Yields whether it still holds."""
    import fcntl

    if not hasattr(fcntl, "F_SETLEASE"):
        yield lambda: True
        return
    try:
        # A broken lease is asked for below; the signal that also tells of it is one that is ignored unless somebody cares.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:  # somebody has it open for writing
        yield lambda: False
        return
    except OSError:  # not on this file system, or not ours
        yield lambda: True
        return
    try:
        yield lambda: fcntl.fcntl(handle, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    finally:
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def like(part: str, path: Path, state: os.stat_result) -> None:
    """Give a new file the owner, the group, the mode and the extended attributes (also access lists) of the old one."""
    made = os.stat(part)
    if (made.st_uid, made.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.chown(part, state.st_uid, state.st_gid)
        except PermissionError:
            raise InvalidRequest(
                f"{str(path)!r} must keep its owner, and you may not give files to user {state.st_uid} and group "
                f"{state.st_gid}; ask again as its owner"
            ) from None
    os.chmod(part, state.st_mode & 0o7777)  # after the owner: a change of owner takes bits away
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            for name in os.listxattr(path):
                with suppress(OSError):
                    os.setxattr(part, name, os.getxattr(path, name))
