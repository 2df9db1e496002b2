"""The database under a ledger: one connection per process, one transaction at a time, errors in our own words.

SQLite files run in WAL mode with ``synchronous=FULL``: when COMMIT returns, the charge is on the disk. PostgreSQL
never runs below ``synchronous_commit=local``, for the same promise. A transaction may be told not to wait for the disk where
the next one of the same flow will: logs are written in order, so the later wait covers both.

The log of an SQLite file is only a stop on the way: when a file is opened, whenever it has been quiet for a few
milliseconds, at least twenty times a second, before a fork and at the end, its pages go into the one file (``Settler``).
"""

from __future__ import annotations

import itertools
import os
import secrets
import shlex
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool

from discreet.core import whole_files
from discreet.errors import LedgerCorrupt, LedgerUnavailable
from discreet.ledger import beside, read_only
from discreet.ledger.address import parse, shown
from discreet.ledger.outcomes import CHARGED, READ, Outcome
from discreet.ledger.settling import Settler
from discreet.ledger.transaction import Transaction

_serials = itertools.count()


class Database:
    """A connection to where ledgers are kept.

    Proof that transactions do not interleave: a writing transaction begins by taking the one write lock of an SQLite
    file (BEGIN IMMEDIATE) or, on PostgreSQL, is READ COMMITTED and begins with SELECT ... FOR UPDATE on the ledger's
    row; what it reads after that is what the last writer committed, and no other writer gets past the lock before
    this one commits or rolls back. Threads of one process queue up behind a lock of their own. A crash before COMMIT
    leaves nothing; after it, everything.

    Forks: SQLite's locks belong to a process while its bookkeeping of them is inherited, so a connection carried
    across a fork believes in locks it does not hold, and its commits can be lost when the parent closes the file.
    Hence every connection is closed before a fork and each side opens its own.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = parse(url)
        self.serial = next(_serials)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = self.sqlite and self.url.database in (None, "", ":memory:")
        self.timeout = timeout
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._gone: str | None = None
        self._texts: dict[int, tuple[Any, str]] = {}
        self._durable = True
        self._awaited: list[Callable[[], None]] = []  # what is done once the disk has what was not waited for
        self.holder = 0
        self.working: set[int] = set()  # claimed entries that a thread of this process is answering now
        self.beside: beside.Beside | None = None
        self._settler: Settler | None = None
        self._read_only = False
        self._unlocked: read_only.Unlocked | None = None
        if self.sqlite and not self.memory:
            path = str(self.url.database)
            in_use = _paths()
            fresh = Path(os.path.realpath(path)) not in in_use or not Path(path).exists()
            self.beside = beside.beside(path, fresh=fresh, in_use=in_use)
            self._settler = Settler(path, self.beside)
            weakref.finalize(self, self._settler.finish).atexit = False
        self._engine = self._make_engine()
        self._dialect = self._engine.dialect
        self._errors: Any = self._dialect.loaded_dbapi
        _open.add(self)

    @property
    def missing(self) -> bool:
        """Whether the file is not there though its folder is: asking SQLite would create it."""
        if not self.sqlite or self.memory:
            return False
        path = Path(self.url.database or "")
        return path.absolute().parent.is_dir() and not path.exists()

    def __str__(self) -> str:
        return shown(self.url)

    @cached_property
    def typed(self) -> str:
        """It as an argument of our commands: the path of a file, or the address without a password."""
        if self.beside is not None:
            return shlex.quote(str(self.url.database))
        return shlex.quote(str(self) if self.sqlite else shown(self.url.set(drivername="postgresql")))

    def _make_engine(self) -> Engine:
        options: dict[str, Any] = {"poolclass": NullPool}
        if self.sqlite:
            # The lock above serialises threads; SQLite's own check would only forbid a second one from waiting.
            options["connect_args"] = {"timeout": self.timeout, "check_same_thread": False}
            if not self.memory:
                itself = weakref.ref(self)
                options["creator"] = lambda: cast(Database, itself()).open_file()
        else:
            options["isolation_level"] = "READ COMMITTED"
        try:
            engine = create_engine(self.url, **options)
        except ImportError as problem:
            raise LedgerUnavailable(
                f"a PostgreSQL ledger needs a driver, and {problem}; install psycopg, or discreet with [postgres]"
            ) from problem
        # The pool remembers an open connection, and with it its listeners, while the process lives: one that held on
        # to this object would keep a ledger that everybody dropped open for good.
        connected = weakref.WeakMethod(self._sqlite_connected if self.sqlite else self._postgres_connected)
        event.listen(engine, "connect", lambda raw, _: cast(Any, connected())(raw))
        event.listen(engine, "begin", _sqlite_begin if self.sqlite else _postgres_begin)
        return engine

    def open_file(self) -> sqlite3.Connection:
        """A connection to the file; one that only reads, where it cannot be written to."""
        path = os.path.realpath(str(self.url.database))  # SQLite keeps its log beside the file, not beside a link to it
        self._unlocked = None
        self._read_only = read_only.is_read_only(path)
        if not self._read_only:
            return sqlite3.connect(path, timeout=self.timeout, check_same_thread=False)
        opened, self._unlocked = read_only.connect(path, self.timeout)
        return opened

    def _sqlite_connected(self, raw: Any) -> None:
        raw.isolation_level = None  # the driver must not begin transactions by itself: ``_sqlite_begin`` does
        if self._read_only:
            return
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA fullfsync=ON")  # where fsync alone does not reach the disk
        raw.execute("PRAGMA foreign_keys=ON")
        raw.execute("PRAGMA wal_autocheckpoint=0")  # the settler does it
        self._durable = True
        # Several processes may open a new file at once, and turning WAL on does not wait for a lock.
        deadline = time.monotonic() + self.timeout
        while not self.memory:
            try:
                raw.execute("PRAGMA journal_mode=WAL")
                return
            except raw.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _postgres_connected(self, raw: Any) -> None:
        with raw.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{max(1, round(self.timeout * 1000))}ms"])
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
            )
            # A claimant is a session: the server drops its lock when the session ends in whatever way.
            self.holder = secrets.randbits(60)
            cursor.execute("SELECT pg_advisory_lock(%s)", [self.holder])
        raw.commit()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """What is read without locks holds only if nobody wrote meanwhile."""
        try:
            yield
        finally:
            if self._unlocked is not None:
                self._unlocked.check()

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """One transaction: committed durably at the end, or rolled back whole by any exception."""
        with self._lock, self._turn(write):
            connection = self._connected()
            try:
                self._wait_for_disk(True)
                connection.info["write"] = write
                with self.undisturbed(), connection.begin():
                    yield connection
            except IntegrityError as problem:
                raise self._corrupt(CHARGED) from problem
            except DBAPIError as problem:
                raise self._unavailable(problem.orig, (CHARGED if write else READ).during) from problem
            except OSError as problem:
                raise self._unavailable(problem, (CHARGED if write else READ).before) from problem
            if write:
                self._settle_soon()

    @contextmanager
    def work(self, *, write: bool, durable: bool = True, outcome: Outcome | None = None) -> Iterator[Transaction]:
        """One transaction on the driver itself. Without ``durable`` it does not wait for the disk: the next one has to.

        ``outcome`` is what is true where the database or a file beside it fails, for the error to end with.
        """
        outcome = outcome or (CHARGED if write else READ)
        with self._lock, self._turn(write, outcome):
            raw: Any = self._connected(outcome).connection.dbapi_connection
            transaction = Transaction(raw, self._compiled, outcome)
            try:
                try:
                    self._wait_for_disk(durable)
                    if self.sqlite:
                        if raw.in_transaction:  # an interrupt came before its rollback
                            raw.rollback()
                        raw.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                    elif not durable:
                        raw.execute("SET LOCAL synchronous_commit = off")
                    with self.undisturbed():
                        yield transaction
                    transaction.committed = None
                    raw.commit()
                    transaction.committed = True
                except BaseException:
                    if transaction.committed is False:
                        for act in transaction.undone:
                            act()
                    raw.rollback()
                    raise
                if write:
                    self._settle_soon()
                    for act in transaction.after:
                        act()
                    if durable:
                        self._arrived()
                        for act in transaction.durable:
                            act()
                    else:
                        self._awaited += transaction.durable
            except self._errors.IntegrityError as problem:
                raise self._corrupt(transaction.outcome) from problem
            except (self._errors.Error, OSError) as problem:
                stages = {
                    False: transaction.outcome.before,
                    None: transaction.outcome.during,
                    True: transaction.outcome.after,
                }
                raise self._unavailable(problem, stages[transaction.committed]) from problem

    def _connected(self, outcome: Outcome = CHARGED) -> Connection:
        if self._gone:
            raise LedgerUnavailable(f"{self._gone}. {outcome.before}")
        if self._unlocked is not None:  # what was read before tells nothing of the file as it is now
            self._drop()
        if self._connection is None:
            try:
                self._connection = self._engine.connect()
            except DBAPIError as problem:
                raise self._unavailable(problem.orig, outcome.before) from problem
        return self._connection

    def _turn(self, write: bool, outcome: Outcome = CHARGED) -> Any:
        """A writer's turn among the processes that share a file; everyone else goes on at once."""
        if self.beside is None or not write or self._gone:
            return nullcontext()
        if self._connection is None and not self.beside.path.parent.is_dir():
            return nullcontext()  # SQLite says so in its own words
        return self.beside.writing(self.timeout, outcome)

    def _wait_for_disk(self, durable: bool) -> None:
        if self.sqlite and durable != self._durable:
            raw: Any = self._connected().connection.dbapi_connection
            raw.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def _arrived(self) -> None:
        """Do what waited for the disk: a wait covers whatever was committed before it. If it fails, a later one serves."""
        awaited, self._awaited = self._awaited, []
        with suppress(OSError, LedgerUnavailable):
            for act in awaited:
                act()

    def _settle_soon(self) -> None:
        if self._settler is not None:
            self._settler.soon()

    def _compiled(self, statement: Any) -> str:
        """The text of a statement for the driver, kept by the statement."""
        known = self._texts.get(id(statement))
        if known is None:
            kind: Any = type(self._dialect)
            named = kind(paramstyle="named") if self.sqlite else self._dialect
            known = self._texts[id(statement)] = (statement, str(statement.compile(dialect=named)))
        return known[1]

    def _corrupt(self, outcome: Outcome) -> LedgerCorrupt:
        self._drop()
        return LedgerCorrupt(
            f"an event must have a number of its own, and the database at {self} holds it already: the "
            f"ledger's row was set back; run verify() and restore a copy. {outcome.before}"
        )

    def _unavailable(self, problem: Any, otherwise: str) -> LedgerUnavailable:
        self._drop()
        said = " ".join(str(problem).split())  # a server says several lines
        remedy = "check the path or the server, or wait for the other user"
        if whole_files.is_full(problem, None if self.beside is None else self.beside.path.parent):
            remedy = "make room on its disk"
        elif self._read_only:
            remedy = "it is read-only here, and can be shown, verified and backed up, and not be written to"
        return LedgerUnavailable(
            f"the ledger at {self} must be reachable, writable and free within {self.timeout:g} s, and the "
            f"{'system' if isinstance(problem, OSError) else 'database'} says: {said}; {remedy}. {otherwise}"
        )

    def claim(self) -> int:
        """The number under which this process claims what it answers; its lock lives no longer than the process does."""
        if self.sqlite and (self.holder == 0 or _holders.get(self.holder) is not self):
            self.holder = secrets.randbits(60)
            if self.beside is not None:
                self.beside.claim(self.holder)
        _holders[self.holder] = self
        return self.holder

    def alive(self, holder: int, entry: int, work: Transaction) -> bool:
        """Whether somebody living works on an entry that was claimed under the number ``holder``."""
        if holder == 0:
            return False
        mine = _holders.get(holder)
        if mine is not None:
            return entry in mine.working
        if self.sqlite:
            return self.beside is not None and self.beside.alive(holder)
        free = work.row(_TRY, {"holder": holder})
        if free is not None and free[0]:
            work.row(_FREE, {"holder": holder})
            return False
        return True

    def close(self) -> None:
        """Close the connection for good."""
        with self._lock:
            if self._settler is not None:
                self._settler.stop()
            self._drop()
            if self.beside is not None and self.holder:
                self.beside.unclaim(self.holder)
            _holders.pop(self.holder, None)
            self._gone = f"the ledger at {self} was closed; open it again with Ledger(url)"

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # closes what is below at once, without asking a broken server to roll back
            connection.close()

    def before_fork(self) -> None:
        self._lock.acquire()
        if self._settler is not None:
            self._settler.stop()
        if not self.memory:
            self._drop()

    def after_fork(self, *, child: bool) -> None:
        if child and self.memory:
            self._gone = (
                "a ledger in memory belongs to the process that made it: a forked child would spend a copy of its "
                "budget; use a file or a server"
            )
        if child:
            self.holder, self.working = 0, set()
            self._lock = threading.Lock()  # the parent's thread held it, and there is no such thread here
            return
        self._lock.release()


def _sqlite_begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.info["write"] else "BEGIN")


def _postgres_begin(connection: Connection) -> None:
    if not connection.info["write"]:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


_TRY = text("SELECT pg_try_advisory_lock(:holder)")
_FREE = text("SELECT pg_advisory_unlock(:holder)")
_open: weakref.WeakSet[Database] = weakref.WeakSet()
_holders: weakref.WeakValueDictionary[int, Database] = weakref.WeakValueDictionary()


def _paths() -> set[Path]:
    """The files of the ledgers that this process has open."""
    return {each.beside.path for each in _open.copy() if each.beside is not None and not each._gone}


_forking = threading.Lock()
_held: list[Database] = []


def _before_fork() -> None:
    _forking.acquire()
    _held.extend(_open)
    for database in _held:
        database.before_fork()


def _after_fork(*, child: bool) -> None:
    if child:
        beside.forget_threads()
        _holders.clear()
    for database in _held:
        database.after_fork(child=child)
    _held.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):  # everywhere but on Windows, where nothing forks
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
