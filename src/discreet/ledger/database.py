"""The database under a ledger: one connection per process, one transaction at a time, errors in our own words.

SQLite files run in WAL mode with ``synchronous=FULL``: when COMMIT returns, the charge is on the disk. PostgreSQL
never runs below ``synchronous_commit=local``, for the same promise.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from discreet.errors import InvalidRequest, LedgerCorrupt, LedgerUnavailable
from discreet.ledger.tables import metadata

_CREATION_LOCK = 0x64697363  # any fixed number: creators of tables on one PostgreSQL server queue up behind it


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
        self.url = _parse(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.memory = self.sqlite and self.url.database in (None, "", ":memory:")
        self.timeout = timeout
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._gone: str | None = None
        self._engine = self._make_engine()
        _open.add(self)

    @property
    def missing(self) -> bool:
        """Whether the file is not there though its folder is: asking SQLite would create it."""
        if not self.sqlite or self.memory:
            return False
        path = Path(self.url.database or "")
        return path.absolute().parent.is_dir() and not path.exists()

    def __str__(self) -> str:
        return self.url.render_as_string(hide_password=True)

    def _make_engine(self) -> Engine:
        options: dict[str, Any] = {"poolclass": NullPool}
        if self.sqlite:
            # The lock above serialises threads; SQLite's own check would only forbid a second one from waiting.
            options["connect_args"] = {"timeout": self.timeout, "check_same_thread": False}
        else:
            options["isolation_level"] = "READ COMMITTED"
        try:
            engine = create_engine(self.url, **options)
        except ImportError as problem:
            raise LedgerUnavailable(
                f"a PostgreSQL ledger needs a driver, and {problem}; install psycopg, or discreet with [postgres]"
            ) from problem
        event.listen(engine, "connect", self._sqlite_connected if self.sqlite else self._postgres_connected)
        event.listen(engine, "begin", _sqlite_begin if self.sqlite else _postgres_begin)
        return engine

    def _sqlite_connected(self, raw: Any, _: Any) -> None:
        raw.isolation_level = None  # the driver must not begin transactions by itself: ``_sqlite_begin`` does
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA fullfsync=ON")  # where fsync alone does not reach the disk
        raw.execute("PRAGMA foreign_keys=ON")
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

    def _postgres_connected(self, raw: Any, _: Any) -> None:
        with raw.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [f"{max(1, round(self.timeout * 1000))}ms"])
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
            )
        raw.commit()

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Connection]:
        """One transaction: committed durably at the end, or rolled back whole by any exception."""
        with self._lock:
            if self._gone:
                raise LedgerUnavailable(self._gone)
            try:
                if self._connection is None:
                    self._connection = self._engine.connect()
                self._connection.info["write"] = write
                with self._connection.begin():
                    yield self._connection
            except IntegrityError as problem:
                self._drop()
                raise LedgerCorrupt(
                    f"an event must have a number of its own, and the database at {self} holds it already: the "
                    "ledger's row was set back; run verify() and restore a copy"
                ) from problem
            except DBAPIError as problem:
                self._drop()
                raise LedgerUnavailable(
                    f"the ledger at {self} must be reachable, writable and free within {self.timeout:g} s, and the "
                    f"database says: {problem.orig}; check the path or the server, or wait for the other user. "
                    "Nothing was looked at"
                ) from problem

    def create_tables(self, connection: Connection) -> None:
        """Make what is missing, inside a writing transaction; of several creators one does and the others see it."""
        if not self.sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
        for table in metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))

    def close(self) -> None:
        """Close the connection for good."""
        with self._lock:
            self._drop()
            self._gone = f"the ledger at {self} was closed; open it again with Ledger(url)"

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # closes what is below at once, without asking a broken server to roll back
            connection.close()

    def before_fork(self) -> None:
        self._lock.acquire()
        if not self.memory:
            self._drop()

    def after_fork(self, *, child: bool) -> None:
        if child and self.memory:
            self._gone = (
                "a ledger in memory belongs to the process that made it: a forked child would spend a copy of its "
                "budget; use a file or a server"
            )
        self._lock.release()


def _parse(text: str) -> URL:
    """The address of a database we know how to lock."""
    known = "'sqlite:///file.db', 'sqlite://' (in memory), 'postgresql://user@host/database' or 'test'"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidRequest(f"a ledger's address must be {known}, got {text!r}") from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        if url.query or (url.database or "").startswith("file:"):
            # Options such as nolock=1 or immutable=1 would turn off what keeps two writers apart.
            raise InvalidRequest(f"an SQLite ledger takes a plain path without options, got {text!r}; drop the options")
        # Connections are opened anew later on, perhaps after a change of folder: they must find the same file.
        return url if url.database in (None, "", ":memory:") else url.set(database=os.path.abspath(url.database))
    raise InvalidRequest(f"a ledger's address must be {known}, got one for {url.drivername!r}")


def _sqlite_begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.info["write"] else "BEGIN")


def _postgres_begin(connection: Connection) -> None:
    if not connection.info["write"]:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


_open: weakref.WeakSet[Database] = weakref.WeakSet()
_forking = threading.Lock()
_held: list[Database] = []


def _before_fork() -> None:
    _forking.acquire()
    _held.extend(_open)
    for database in _held:
        database.before_fork()


def _after_fork(*, child: bool) -> None:
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
