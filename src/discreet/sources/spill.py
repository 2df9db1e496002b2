"""Folders for what does not fit in memory: private while they are used, and gone afterwards, also after a crash.

A process that is killed cannot clean up. Every folder holds a lock that goes with its process, however that ends; whoever
needs a folder next removes those of its own user that nobody holds any more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "discreet-spill-"
_LOCK = "lock"


@contextmanager
def spill_folder() -> Iterator[str]:
    """A new folder that only its owner can enter, removed at the end."""
    sweep()
    made = tempfile.mkdtemp(prefix="discreet-")  # mode 0700
    lock = _locked(os.path.join(made, _LOCK))
    folder = os.path.join(os.path.dirname(made), _PREFIX + os.path.basename(made).removeprefix("discreet-"))
    os.rename(made, folder)  # only now, with its lock held, does it have a name that others look for
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def sweep() -> list[str]:
    """Remove what killed processes of this user left behind; the folders that are gone."""
    gone = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process may be faster
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = _locked(str(folder / _LOCK), existing=True)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)
                gone.append(str(folder))
    return gone


def _locked(path: str, *, existing: bool = False) -> int | None:
    """A handle that holds the lock of a folder; None where another process holds it or locks are not known here."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        handle = os.open(path, os.O_RDWR if existing else os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
