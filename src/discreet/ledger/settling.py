"""Bringing an SQLite ledger into its one file: what was committed to the log goes into ``ledger.db`` soon afterwards.

A commit writes to the log and waits for the disk once; waiting for the file as well at every commit was measured to cost
0.5 ms more, a third of an ask. So a thread of its own does it as soon as the ledger has been quiet for 20 milliseconds,
and at least twenty times a second. While it has not, the head file tells of more events than the file holds, so a copy of
the file alone is found out; afterwards the file alone is the whole ledger, and the log is empty: nothing can be lost with
it.

While asks follow one another the log keeps its length and is written over from its beginning: a disk takes half the time to
write over a block than to make a file longer, so a log is begun anew early. Proof that a log cut then is found: every
payment and every answer writes the page with the ledger's row, so whatever part of a log is left that lacks one has a row of
an earlier number than the head file tells of.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from urllib.parse import quote

from discreet.errors import DiscreetError
from discreet.ledger.beside import Beside

_QUIET, _AT_MOST = 0.02, 0.05
_LONG = 200  # pages of a log that is begun anew while it is written to


class Settler:
    """The thread that settles one file. It is started by the first commit and stopped at the end and before a fork."""

    def __init__(self, path: str, files: Beside) -> None:
        self._path = path
        self._files = files
        self._changed = threading.Condition()
        self._last = 0.0
        self._since: float | None = None
        self._stopping = False
        self._thread: threading.Thread | None = None

    def soon(self) -> None:
        """Something was committed."""
        with self._changed:
            now = time.monotonic()
            self._last = now
            if self._since is None:
                self._since = now
                if self._thread is None:
                    self._stopping = False
                    self._thread = threading.Thread(target=self._run, name="discreet-settler", daemon=True)
                    self._thread.start()
                self._changed.notify()

    def stop(self) -> None:
        """Settle what is left and end the thread."""
        thread = self.finish()
        if thread is not None and thread.is_alive():  # whoever was interrupted while starting it has none to wait for
            thread.join()

    def finish(self) -> threading.Thread | None:
        """Tell the thread to settle what is left and to end; not waited for, since the garbage collector calls this too."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._stopping = True
            self._changed.notify()
        return thread

    def _run(self) -> None:
        address = f"file:{quote(self._path)}?mode=rw"  # a file that is gone must not come back empty
        try:
            opened = sqlite3.connect(address, timeout=0.0, isolation_level=None, uri=True)
        except sqlite3.Error:
            with self._changed:
                self._thread, self._since = None, None
            return
        with closing(opened) as connection:
            while True:
                with self._changed:
                    while self._since is None and not self._stopping:
                        self._changed.wait()
                    stopping, busy = self._stopping, False
                    if self._since is None:
                        return
                    if not stopping:
                        now, quiet = time.monotonic(), self._last + _QUIET
                        if (left := min(quiet, self._since + _AT_MOST) - now) > 0:
                            self._changed.wait(left)
                            continue
                        busy = now < quiet
                    self._since = None
                settled = settle(connection, self._files, busy=busy)
                if stopping:
                    return
                if busy or not settled:  # come back when it is quiet, or when no reader looks at an older state
                    with self._changed:
                        self._since = self._since or time.monotonic()
                        self._last = self._last if busy else time.monotonic() + _QUIET


def settle(connection: sqlite3.Connection, files: Beside, *, busy: bool = False) -> bool:
    """Bring all that is committed into the file and to the disk, the head as well; whether all of it came there.

    Where more is to come at once (``busy``) the log is left as long as it is.
    """
    with suppress(OSError):  # the head file only has to be a lower bound
        files.flush()
    try:
        held, logged, settled = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if busy and not held and logged > _LONG:
            # In a writer's turn, or there would always be one more page.
            with files.writing(_QUIET):
                held, logged, settled = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        if busy or held or logged != settled:
            return not held and logged == settled
        # All of it is in the file. An empty log cannot be cut, and none of its pages can stand before newer ones.
        held, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (sqlite3.Error, OSError, DiscreetError):
        return False  # the log keeps what it has; whoever writes next is told what is wrong
    return not held
