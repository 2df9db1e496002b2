"""What lies beside an SQLite ledger: its head, its locks and its key.

``ledger.db.head`` holds, for each ledger of the file, the number and the hash of its last event. A file that was set back,
by a copy put in its place or a lost log, then has fewer events than were seen, and is refused. Two records take turns, each
with a checksum, so a record torn by a power cut leaves the one before it: the head is a lower bound, and a lower bound is
all it has to be. An event is noted once the disk has it, so no power cut leaves a head beyond the ledger; what was paid and
not yet on the disk was not looked for, and is lost without harm. The same file carries the locks: one byte for whoever
writes, and one for each living claimant.

The file begins with its own number on its disk (the inode and its generation), which no copy has. So a folder that was
copied or restored whole, head and all, is told from the one that counts, and is not spent until it is adopted. One that was
renamed is the same.

``ledger.db.key`` is the key of the digests by which stored answers are found (``Keys``).

Both are readable by their owner alone.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from discreet.errors import LedgerCorrupt, LedgerUnavailable
from discreet.ledger.outcomes import CHARGED, Outcome

_RECORD = 128
_BEGINS = re.compile(rb"discreet heads 2, file \d+ \d+\n *")
_GET_GENERATION = 0x80087601  # FS_IOC_GETVERSION of Linux
_WRITER = 1 << 40  # the byte that a writer locks; claimants lock bytes further out, and nothing is ever written there
_CLAIMS = 1 << 61
KEY_BYTES = 32


class Noted(NamedTuple):
    """What a head file tells of one ledger: whose it is (OWN and so on), and the last event that it knows of, if any."""

    state: str
    last: tuple[int, str] | None = None


OWN, COPY, DAMAGED, LOST, CLOSED = "own", "copy", "damaged", "lost", "closed"


class Beside:
    """The files beside one SQLite ledger, shared by all connections of this process.

    Locks are POSIX record locks: they belong to a process, not to a connection, are not inherited by a fork, and the kernel
    drops them when the process ends in whatever way. Closing any descriptor of the file would drop them too, so there is one
    descriptor for the whole process, and threads are kept apart by a lock of their own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = path.with_name(path.name + ".head")
        self.key = path.with_name(path.name + ".key")
        self._threads = threading.Lock()
        self._descriptor: int | None = None
        self._begins = b""  # how the head file begins that is open
        self._inode = (0, 0)
        self._name = str(self.head)
        self._process = 0

    def close(self) -> None:
        """Close the head file, and with it every lock that this process holds there."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None and self._process == os.getpid():
            os.close(descriptor)

    def _file(self, outcome: Outcome = CHARGED) -> int:
        """The one descriptor of the head file, which is made empty where there is none."""
        if self._process != os.getpid():  # after a fork: the locks stayed with the parent
            self._descriptor, self._process = None, os.getpid()
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self.head, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT, 0o600)
            except OSError as problem:
                raise LedgerUnavailable(
                    f"the head file {self.head} must be readable and writable: {problem.strerror}; check its owner and the "
                    f"folder. {outcome.before}"
                ) from None
            held = os.fstat(self._descriptor)
            self._inode = held.st_dev, held.st_ino
            self._begins = _beginning(self._descriptor)
        return self._descriptor

    @contextmanager
    def writing(self, timeout: float, outcome: Outcome = CHARGED) -> Iterator[None]:
        """The turn of one writer among all processes; SQLite's own lock stays below it for whoever does not know this one.

        A head file that was taken away or put in another's place took its locks with it: nobody goes on then.
        """
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=max(timeout, 0.001)):
            raise self._busy(timeout, outcome)
        try:
            descriptor = self._file(outcome)
            try:
                there = os.stat(self._name)
            except FileNotFoundError:
                there = None
            if there is None or (there.st_dev, there.st_ino) != self._inode:
                raise LedgerCorrupt(
                    f"the head file {self.head} was removed or replaced while the ledger was open; close everything that "
                    f"uses the ledger, and run: discreet ledger adopt {self.path}. {outcome.before}"
                )
            self._wait(descriptor, deadline, timeout, outcome)
            try:
                yield
            finally:
                with suppress(OSError):  # what was done is done, and the lock ends with the process
                    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _WRITER)
        finally:
            self._threads.release()

    def _wait(self, descriptor: int, deadline: float, timeout: float, outcome: Outcome) -> None:
        pause = 0.0001
        while True:
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _WRITER)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise self._busy(timeout, outcome) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.002)

    def _busy(self, timeout: float, outcome: Outcome) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"the ledger at {self.path} must be free within {timeout:g} s, and another process writes to it; wait for the "
            f"other user. {outcome.before}"
        )

    def claim(self, holder: int) -> None:
        """Hold the claimant's byte for as long as this process lives, or until ``unclaim``."""
        fcntl.lockf(self._file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _CLAIMS + holder)

    def unclaim(self, holder: int) -> None:
        if self._process == os.getpid() and self._descriptor is not None:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _CLAIMS + holder)

    def alive(self, holder: int) -> bool:
        """Whether another process holds a claimant's byte. Of this process's own claimants the caller knows."""
        descriptor = self._file()
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _CLAIMS + holder)
        except OSError:
            return True
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _CLAIMS + holder)
        return False

    def noted(self, ledger: int) -> Noted:
        """What the head file tells of a ledger; it is not made where there is none, and need not be writable."""
        with self._readable() as descriptor:
            if descriptor is None:
                return Noted(CLOSED if self.head.exists() else LOST)
            begins = self._begins if descriptor == self._descriptor else _beginning(descriptor)
            start, records = _records(descriptor, ledger)
        if not start:
            return Noted(LOST)
        known = [f for f in _read_both(records, ledger) if f is not None]
        if (not known and records.strip(b"\0")) or not (start == begins or _BEGINS.fullmatch(start)):
            return Noted(DAMAGED)
        return Noted(OWN if start == begins else COPY, max(known, default=None))

    @contextmanager
    def _readable(self) -> Iterator[int | None]:
        """A descriptor of the head file for reading; None where there is none, or none that we may read.

        Where it can be written to, it is the one that holds the locks; where it cannot, this process has no locks to lose.
        """
        if self._process == os.getpid() and self._descriptor is not None:
            yield self._descriptor
        elif os.access(self.head, os.R_OK | os.W_OK):
            yield self._file()
        else:
            try:
                descriptor = os.open(self.head, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                yield None
                return
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def note(self, ledger: int, number: int, head: str) -> None:
        """Note the last event of a ledger, in a writer's turn. What is known never falls: the larger record stays."""
        descriptor = self._file()
        records = self._own_records(ledger)
        # By turns, not by number: a transaction may have an even number of events, and would write over the last record.
        first, second = _read_both(records, ledger)
        turn = first is not None and (second is None or first > second)
        os.pwrite(descriptor, _write(ledger, number, head), _place(ledger, int(turn)))

    def forget(self, ledger: int) -> None:
        """Take out what was noted of a ledger, so that ``note`` may begin anew."""
        self._own_records(ledger)
        os.pwrite(self._file(), bytes(2 * _RECORD), _place(ledger, 0))

    def _own_records(self, ledger: int) -> bytes:
        """The two records of a ledger, in a file that was made or adopted here; of a copy nothing is kept.

        What it tells of other ledgers is not kept either: they are adopted one by one.
        """
        descriptor = self._file()
        start, records = _records(descriptor, ledger)
        if start == self._begins:
            return records
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, self._begins, 0)
        return b""

    def flush(self) -> None:
        """See to it that the head is on the disk."""
        if self._process == os.getpid() and self._descriptor is not None:
            os.fsync(self._descriptor)

    def read_key(self) -> bytes | None:
        """The key; None where there is no file."""
        try:
            key = self.key.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise LedgerUnavailable(
                f"the key file {self.key} must be readable: {problem.strerror}; check its owner"
            ) from None
        return key

    def make_key(self) -> bytes:
        """A new key, on the disk before it is used; in a writer's turn."""
        key = secrets.token_bytes(KEY_BYTES)
        write_private(self.key, key)
        return key


def write_private(path: Path, content: bytes) -> None:
    """A file for its owner alone, whole or not at all, and on the disk when this returns."""
    beside = path.with_name(path.name + ".new")
    with suppress(FileNotFoundError):
        beside.unlink()
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(beside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _identity(descriptor: int) -> str:
    """What tells a file from its copies: the number of its inode, and which of the files that had the number it is.

    Some systems do not say the latter; a copy made after the original was deleted may then pass for it.
    """
    generation = bytearray(8)
    with suppress(OSError):
        fcntl.ioctl(descriptor, _GET_GENERATION, generation)
    return f"{os.fstat(descriptor).st_ino} {int.from_bytes(generation[:4], sys.byteorder)}"


def _beginning(descriptor: int) -> bytes:
    """How a head file begins that was made in its place, and is no copy."""
    return f"discreet heads 2, file {_identity(descriptor)}\n".encode().ljust(_RECORD)


def _records(descriptor: int, ledger: int) -> tuple[bytes, bytes]:
    """How the head file begins, which is nothing where it is empty, and the two records of a ledger."""
    place = _place(ledger, 0)
    if place > 32 * _RECORD:  # one read where they lie close together
        return os.pread(descriptor, _RECORD, 0), os.pread(descriptor, 2 * _RECORD, place)
    content = os.pread(descriptor, place + 2 * _RECORD, 0)
    return content[:_RECORD], content[place:]


def _place(ledger: int, turn: int) -> int:
    return _RECORD * (2 * ledger - 1 + turn)


@lru_cache(maxsize=64)
def _write(ledger: int, number: int, head: str) -> bytes:
    text = f"{ledger} {number} {head}"
    return f"{text} {sha256(text.encode()).hexdigest()[:24]}\n".encode().ljust(_RECORD, b"\0")


def _read_both(both: bytes, ledger: int) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
    return _read(both[:_RECORD], ledger), _read(both[_RECORD:], ledger)


@lru_cache(maxsize=64)
def _read(record: bytes, ledger: int) -> tuple[int, str] | None:
    try:
        owner, number, head, _ = record.rstrip(b"\0").decode("ascii").split()
        whole = record == _write(int(owner), int(number), head)
    except ValueError:
        return None
    return (int(number), head) if whole and int(owner) == ledger else None


_known: dict[Path, Beside] = {}
_knowing = threading.Lock()


def beside(path: str, *, fresh: bool, in_use: Collection[Path]) -> Beside:
    """What lies beside the ledger at ``path``: one object for the whole process.

    With ``fresh``, where nobody in this process has the ledger open or it is gone, the head file is opened anew: it may be
    another one by now. Head files of ledgers that are not ``in_use`` any more are closed: whoever dropped a session without
    closing it left them open.
    """
    real = Path(os.path.realpath(path))
    with _knowing:
        shared = _known.setdefault(real, Beside(real))
        if fresh:
            shared.close()
        for other in _known.values():
            if other is not shared and other.path not in in_use:
                other.close()
        return shared


def forget_threads() -> None:
    """In a forked child: locks that threads of the parent held have nobody left to release them."""
    for each in _known.values():
        each._threads = threading.Lock()
