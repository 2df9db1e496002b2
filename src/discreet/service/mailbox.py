"""A mailbox: tables that one side writes and the other reads.

On SQLite a mailbox is a file with one writing user. ``front/`` belongs to the front and ``desk/`` to the desk, both with
mode 2750 and a common group, so each can read the other's file and change only its own. On PostgreSQL both are schemas of
one database, and roles do what modes do there (``grant_roles``).

A reader of an SQLite file opens it with ``mode=ro``. That needs the log that a living or crashed writer leaves; after a
clean end there is none, and the file, which nobody writes then, is read as ``immutable``.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, Integer, MetaData, String, Table, create_engine, event, inspect, select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateSchema, CreateTable

from discreet.errors import InvalidRequest, UnsupportedFormat

FOLDER_MODE = 0o2750
_WAIT = 30.0  # seconds for a lock
_KEPT = 4096  # results of statements
_MISSING, _NO_TABLE = "missing", ("42P01", "3F000")  # what PostgreSQL says of tables and schemas that are not there


class Unavailable(InvalidRequest):
    """A mailbox cannot be opened, or not be written by this user."""


class Mailbox:
    """One mailbox at an address, for its writer or for a reader."""

    def __init__(self, address: str, name: str, metadata: MetaData, schema: int, *, write: bool) -> None:
        self.name, self.write = name, write
        self._metadata, self._schema = metadata, schema
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._writes = 0
        self._kept: dict[Any, tuple[Any, list[Any]]] = {}
        self.postgres = address.startswith("postgresql")
        self._path = None if self.postgres else Path(address) / name / f"{'inbox' if name == 'front' else 'outbox'}.db"
        self._engine = _postgres(address, name) if self._path is None else _sqlite(self._path, write)
        if write:
            self._create()

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""
        return self._path

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction, durable at its end; threads of a process take turns."""
        if not self.write:
            raise Unavailable(f"the mailbox {self.name!r} was opened for reading; its other side writes it")
        try:
            with self._transaction() as connection:
                self._writes += 1
                yield connection
        finally:
            self._writes += 1

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._lock:
            try:
                with self._opened().begin():
                    yield self._opened()
            except DBAPIError as problem:
                self._drop()
                raise self._unavailable(problem) from None

    def read(self, statement: Any, values: Any = None) -> list[Any]:
        """The rows of a statement; none where the writer has not made the mailbox yet.

        A reader that finds no log reads the file as it lies.
        """
        if not self.write and self._path is not None and not self._path.exists():
            return []
        try:
            with self._transaction() as connection:
                return list(connection.execute(statement, values or {}))
        except Unavailable as problem:
            if problem.key == _MISSING and not self.write:
                return []
            if self.write or self._path is None:
                raise
        engine = _immutable(self._path)
        try:
            with engine.connect() as connection:
                return list(connection.execute(statement, values or {}))
        except DBAPIError as problem:
            unavailable = self._unavailable(problem)
            if unavailable.key == _MISSING:
                return []
            raise unavailable from None
        finally:
            engine.dispose()

    def unchanged(self, key: Any, statement: Any, values: Any = None, made: Callable[[Any], Any] | None = None) -> list[Any]:
        """The rows of a statement, or what is ``made`` of each, kept under ``key`` for as long as nobody wrote anything.

        Proof that they are never old: SQLite's ``data_version`` is another one after any other connection's commit, our own
        writes are counted, and both are looked at before the rows were. On PostgreSQL they are read each time.
        """
        state = self._state()
        kept = self._kept.get(key)
        if state is not None and kept is not None and kept[0] == state:
            return kept[1]
        rows = self.read(statement, values)
        rows = rows if made is None else [made(row) for row in rows]
        if state is not None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[key] = (state, rows)
        return rows

    def _state(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        with self._lock:
            try:
                raw: Any = self._opened().connection.dbapi_connection
                return int(raw.execute("PRAGMA data_version").fetchone()[0]), self._writes
            except (DBAPIError, sqlite3.Error):
                return None

    def _unavailable(self, problem: DBAPIError) -> Unavailable:
        gone = getattr(problem.orig, "sqlstate", None) in _NO_TABLE or "no such table" in str(problem.orig)
        return Unavailable(f"the mailbox {self.name!r} cannot be used: {problem.orig}", key=_MISSING if gone else "")

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._engine.dispose()

    def _create(self) -> None:
        meta = self._metadata.tables[_qualified(self._metadata, "meta")]
        with self.writing() as connection:
            # A role that may only write rows must not be made to create anything.
            if not inspect(connection).has_table("meta", schema=self._metadata.schema):
                if self.postgres:
                    connection.execute(CreateSchema(self.name, if_not_exists=True))
                for table in self._metadata.sorted_tables:
                    connection.execute(CreateTable(table, if_not_exists=True))
                    for index in table.indexes:
                        connection.execute(CreateIndex(index, if_not_exists=True))
            found = connection.execute(select(meta.c.value).where(meta.c.name == "schema")).scalar()
            if found is None:
                connection.execute(meta.insert(), {"name": "schema", "value": str(self._schema)})
            elif int(found) > self._schema:
                raise UnsupportedFormat(
                    f"the mailbox {self.name!r} has schema {found}, and this package knows up to {self._schema}",
                    remedy="upgrade discreet",
                )
            elif int(found) < self._schema:
                raise UnsupportedFormat(
                    f"the mailbox {self.name!r} has schema {found}, and this package writes {self._schema}",
                    remedy="run discreet serve upgrade",
                )


def upgrade_box(
    address: str, name: str, schema: int, migrations: dict[int, list[str]], *, dry: bool = False
) -> tuple[int, int]:
    """Bring a mailbox up to ``schema`` by numbered steps, in one transaction; the numbers before and after."""
    postgres = address.startswith("postgresql")
    path = Path(address) / name / f"{'inbox' if name == 'front' else 'outbox'}.db"
    if not postgres and not path.exists():
        return schema, schema
    engine = _postgres(address, name) if postgres else _sqlite(path, write=True)
    meta = meta_table(MetaData(schema=name if postgres else None))
    try:
        with engine.begin() as connection:
            before = int(connection.execute(select(meta.c.value).where(meta.c.name == "schema")).scalar_one())
            if before > schema:
                raise UnsupportedFormat(
                    f"the mailbox {name!r} has schema {before}, newer than {schema}", remedy="upgrade discreet"
                )
            for number in range(before + 1, schema + 1) if not dry else ():
                for statement in migrations[number]:
                    connection.exec_driver_sql(statement)
                connection.execute(meta.update().where(meta.c.name == "schema").values(value=str(number)))
    except DBAPIError as problem:
        raise Unavailable(f"the mailbox {name!r} cannot be brought up to date: {problem.orig}") from None
    finally:
        engine.dispose()
    return before, schema


def meta_table(metadata: MetaData) -> Table:
    """Facts about a mailbox by their names; ``schema`` is the number of its own."""
    return Table(
        "meta", metadata, Column("name", String(40), primary_key=True), Column("value", String(2000), nullable=False)
    )


# SQLite numbers rows by itself only in a column of type INTEGER.
def numbered() -> Column[int]:
    """A column that numbers its rows as they come."""
    return Column("n", Integer, primary_key=True, autoincrement=True)


def prepare_folders(boxes: Path, private: Path, *, front: int = -1, desk: int = -1, group: int = -1) -> None:
    """Make the folders of both mailboxes with their modes and, as root, their owners."""
    for folder, owner, mode in (
        (boxes / "front", front, FOLDER_MODE),
        (boxes / "desk", desk, FOLDER_MODE),
        (private, desk, 0o700),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and owner >= 0:
            os.chown(folder, owner, group)
        if os.geteuid() in (0, folder.stat().st_uid):
            folder.chmod(mode)


def grant_roles(address: str, front: str, desk: str) -> None:
    """On PostgreSQL: what each role may do. Run by the database's owner, once both mailboxes were made."""
    both = {"front": (front, desk), "desk": (desk, front)}
    engine = _postgres(address, "front")
    with engine.begin() as connection:
        for schema, (writer, reader) in both.items():
            for role in (front, desk):
                connection.exec_driver_sql(f'GRANT USAGE ON SCHEMA "{schema}" TO "{role}"')
            connection.exec_driver_sql(
                f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{schema}" TO "{writer}"'
            )
            connection.exec_driver_sql(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA "{schema}" TO "{writer}"')
            connection.exec_driver_sql(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO "{reader}"')
    engine.dispose()


def _qualified(metadata: MetaData, table: str) -> str:
    return table if metadata.schema is None else f"{metadata.schema}.{table}"


def _sqlite(path: Path, write: bool) -> Engine:
    if not path.parent.is_dir():
        raise Unavailable(f"the mailbox {path} has no folder; start discreet serve once, which makes it")

    def connect() -> Any:
        if not write:
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_WAIT, check_same_thread=False)
        before = os.umask(0o027)
        try:
            raw = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False)
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute("PRAGMA synchronous=FULL")
            raw.execute("PRAGMA foreign_keys=ON")
        finally:
            os.umask(before)
        return raw

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def _plain(raw: Any, _: Any) -> None:
        raw.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _immutable(path: Path) -> Engine:
    def connect() -> Any:
        return sqlite3.connect(f"file:{path}?immutable=1", uri=True, check_same_thread=False)

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _postgres(address: str, name: str) -> Engine:
    try:
        url = address.replace("postgresql://", "postgresql+psycopg://", 1)
        return create_engine(url, poolclass=NullPool, isolation_level="READ COMMITTED")
    except (ImportError, OperationalError) as problem:
        raise Unavailable(
            f"mailboxes on PostgreSQL need a driver, and {problem}; install discreet with [postgres]"
        ) from None
